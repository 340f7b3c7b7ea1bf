"""Exports: what their readers expect of their fields, and the numbers that the model gives. Without Google's protobuf or pyarrow some skip."""
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import fabricost as fc
from fabricost._export import astra_sim, placement

SMALL = {"sizes": "64KiB:16MiB:x1.5", "ranks": [2, 8]}


@pytest.fixture
def folder(tmp_path):
    return tmp_path


def run(*arguments, **kept):
    """The package's command."""
    return subprocess.run([sys.executable, "-m", "fabricost", *map(str, arguments)], capture_output=True, text=True, timeout=300, **kept)


# --- every format

def test_the_command_writes_what_the_function_does(folder):
    done = run("export", "xla", "--system", "dgx-h100", "--ranks", "2,8", "--sizes", SMALL["sizes"], "-o", folder / "a")
    assert done.returncode == 0 and "predicted, not measured" in done.stdout and "XLA_FLAGS" in done.stdout, done.stderr
    fc.export("xla", system="dgx-h100", output=folder / "b", **SMALL)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    for words, said in ((["export", "xla"], "--system"), (["export", "nothing", "-o", "x"], "nothing"), (["export"], "FORMAT"),
                        (["export", "xla", "--system", "dgx-h100", "--ranks", "0", "-o", folder / "c"], "--ranks")):
        done = run(*words)
        assert done.returncode == 2 and done.stdout == "" and said in done.stderr, done


# --- XLA

MESSAGES = {  # of xla_data.proto, hlo.proto and hlo_op_profile.proto: fields by name; r repeated, m map
    "Layout": {"minor_to_major": "int64 r", "tail_padding_alignment_in_elements": "int64"},
    "Shape": {"element_type": "PrimitiveType", "dimensions": "int64 r", "layout": "Layout", "is_dynamic_dimension": "bool r"},
    "Iota": {"num_replica_groups": "int64", "num_devices_per_group": "int64", "iota_reshape_dims": "int64 r", "iota_transpose_perm": "int32 r"},
    "Dot": {key: "int64 r" for key in ("lhs_contracting_dimensions", "rhs_contracting_dimensions", "lhs_batch_dimensions", "rhs_batch_dimensions")},
    "Instruction": {"name": "string", "opcode": "string", "shape": "Shape", "dimensions": "int64 r", "channel_id": "int64",
                    "use_global_device_ids": "bool", "iota_collective_device_list": "Iota", "dot_dimension_numbers": "Dot"},
    "Profile": {"instruction": "Instruction", "operands": "Instruction r", "clock_cycles": "int64", "network_throughput_bytes_per_sec": "int64"},
    "Profiles": {"entries": "Profile r"}, "Device": {"entries": "Profiles m"},
    "Gemm": {"b": "int64", "m": "int64", "n": "int64", "k": "int64", "flops": "int64 m"}, "Gemms": {"entries": "Gemm r"}, "Table": {"entries": "Gemms m"},
}


@pytest.fixture(scope="module")
def messages():
    """Classes of Google's protobuf for these, which refuse text with other fields."""
    pytest.importorskip("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    file = descriptor_pb2.FileDescriptorProto(name="xla.proto", package="x", syntax="proto3")
    kinds = file.enum_type.add(name="PrimitiveType")
    for number, name in enumerate(("INVALID", "BF16", "F16", "F32")):
        kinds.value.add(name=name, number=number)
    F = descriptor_pb2.FieldDescriptorProto
    plain = {"int64": F.TYPE_INT64, "int32": F.TYPE_INT32, "bool": F.TYPE_BOOL, "string": F.TYPE_STRING}

    def typed(field, kind):
        if kind in plain:
            field.type = plain[kind]
        else:
            field.type_name, field.type = f".x.{kind}", F.TYPE_ENUM if kind == "PrimitiveType" else F.TYPE_MESSAGE

    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (key, form) in enumerate(fields.items(), 1):
            kind, _, how = form.partition(" ")
            field = message.field.add(name=key, number=number, label=F.LABEL_REPEATED if how else F.LABEL_OPTIONAL)
            if how == "m":
                entry = message.nested_type.add(name="".join(part.title() for part in key.split("_")) + "Entry")
                entry.options.map_entry = True
                entry.field.add(name="key", number=1, label=F.LABEL_OPTIONAL, type=F.TYPE_STRING)
                typed(entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL), kind)
                field.type_name, field.type = f".x.{name}.{entry.name}", F.TYPE_MESSAGE
            else:
                typed(field, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"x.{name}")) for name in MESSAGES}


def parsed(path, message):
    from google.protobuf import text_format
    return text_format.Parse(path.read_text(), message())


def test_xla_reads_its_table_of_collectives(folder, messages):
    done = fc.export("xla", system="gb200-nvl72", output=folder / "t", ranks=[4, 72], sizes="64KiB:1GiB:x1.2")
    table = parsed(folder / "t", messages["Device"])
    assert list(table.entries) == ["sm_100_GB200"]
    system, grid = fc.load_system("gb200-nvl72"), {}
    for one in table.entries["sm_100_GB200"].entries:
        n = one.instruction.iota_collective_device_list.num_devices_per_group
        size = one.instruction.shape.dimensions[0] * (4 if one.instruction.shape.element_type == 3 else 2)
        whole = size * (n if one.instruction.opcode == "reduce-scatter" else 1)
        grid.setdefault((one.instruction.opcode, one.instruction.shape.element_type, n), {})[whole] = whole / one.network_throughput_bytes_per_sec
    assert {opcode for opcode, _, _ in grid} == {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"}
    assert len({tuple(sizes) for sizes in grid.values()}) == 1, "every group has the same bytes, since XLA takes the nearest bytes first"
    got = grid["all-reduce", 1, 72]
    want = fc.predict(system, fc.AllReduce(bytes=list(got), ranks=72, dtype="bfloat16")).seconds
    assert np.allclose(list(got.values()), want, rtol=1e-6)
    print(done.notes[0])
    assert float(re.search(r"by ([\d.]+) % in the median", done.notes[0])[1]) < 5


def test_products_of_the_embedded_table_stay_below_the_peak(folder, messages):
    fc.export("xla-matmul", system="gb200-nvl72", output=folder / "t", form="embedded")
    table = parsed(folder / "t", messages["Table"])
    peaks = fc.load_system("gb200-nvl72").flops_per_second
    for one in table.entries["sm_100_GB200"].entries:
        assert 0 < one.flops["bf16xbf16->bf16"] < peaks["bf16"] and 0 < one.flops["f8e4m3fnxf8e4m3fn->bf16"] < peaks["fp8"]
    assert len(table.entries["sm_100_GB200"].entries) == 375
    with pytest.raises(fc.RequestError, match="key"):
        fc.export("xla", system="vera-rubin-nvl72", output=folder / "r", **SMALL)
    fc.export("xla", system="vera-rubin-nvl72", output=folder / "r", key="sm_107", **SMALL)


# --- Dynamo

def test_a_profile_is_what_plan_serve_answers(folder):
    fc.export("dynamo", system="dgx-h100", output=folder, model="llama3-8b", tp=1, context=8192)
    with np.load(folder / "mocker.npz") as data:
        isl, ttft, itl = data["prefill_isl"], data["prefill_ttft_ms"], data["decode_itl"]
        assert itl.shape == (data["decode_active_kv_tokens"].size, data["decode_context_length"].size)
    want = fc.plan_serve("dgx-h100", "llama3-8b", gpus=1, tp=1, pp=1, dp=1, isl=8192, osl=1, batch=1, ttft_seconds=1e9)[0]
    assert isl[-1] == 8192 and abs(ttft[-1] / 1e3 / want.ttft_seconds - 1) < 1e-9
    assert (np.diff(ttft) > 0).all() and (np.diff(itl, axis=0) > -1e-9).all(), "longer prompts and fuller caches take longer"
    with pytest.raises(fc.RequestError):
        fc.export("dynamo", system="dgx-h100", output=folder / "none", model="llama3-405b", tp=1)


# --- aiconfigurator

def test_a_database_has_the_columns_and_the_predictions(folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("yaml")
    fc.export("aiconfigurator", system="dgx-h100", output=folder, sizes="1KiB,1MiB")
    table = parquet.read_table(folder / "data/dgx_h100/comm/nccl/2.27.3/nccl_perf.parquet")
    assert table.column_names == ["framework", "version", "device", "op_name", "kernel_source", "nccl_dtype", "num_gpus", "message_size", "latency"]
    row = next(one for one in table.to_pylist() if (one["op_name"], one["num_gpus"], one["message_size"], one["nccl_dtype"]) ==
               ("all_reduce", 8, 1 << 20, "half"))
    assert abs(row["latency"] / 1e3 / fc.predict("dgx-h100", fc.AllReduce(bytes=1 << 20, ranks=8)).seconds - 1) < 1e-12
    assert row["device"].startswith("h100-sxm, predicted by fabricost")


# --- PyTorch

class Tensor:
    """Of torch's tensors what the callable asks."""

    def __init__(self, count, width, dtype):
        self.numel, self.element_size, self.dtype = (lambda: count), (lambda: width), dtype


class Node:
    def __init__(self, target, *args, val=None, **kwargs):
        self.target, self.args, self.kwargs, self.meta = target, args, kwargs, {} if val is None else {"val": val}


def milliseconds(operation):
    return 1e3 * fc.predict("dgx-h100", operation).seconds


def test_torch_gets_predictions_of_functional_collectives():
    """With stand-ins for torch's nodes."""
    import fabricost.torch
    estimate = fabricost.torch.runtime_estimation("dgx-h100", groups={"tp": range(8), "dp": [0, 8, 16, 24], "me": [3]})
    bf16 = lambda count: Tensor(count, 2, "torch.bfloat16")
    gather = Node("_c10d_functional.all_gather_into_tensor.default", "x", 8, "tp", val=bf16(1 << 20))
    assert estimate(gather) == estimate(gather, None) == milliseconds(fc.AllGather(bytes=2 << 20, ranks=8, dtype="bfloat16"))
    assert estimate(gather, 1 << 30) == milliseconds(fc.AllGather(bytes=1 << 30, ranks=8, dtype="bfloat16"))
    assert 0 < estimate(gather, 0) < estimate(gather)
    scatter = Node("_c10d_functional.reduce_scatter_tensor.default", "x", "sum", 8, group_name="tp", val=bf16(1 << 17))
    bucket = Node("_c10d_functional.all_gather_into_tensor_out.default", "x", 8, "tp", out=Node("y"), val=bf16(1 << 20))
    assert estimate(bucket) == estimate(gather)
    assert estimate(scatter) == milliseconds(fc.ReduceScatter(bytes=2 << 20, ranks=8, dtype="bfloat16"))
    across = Node("_c10d_functional.all_reduce.default", "x", "sum", "dp", val=Tensor(1 << 20, 4, "torch.float32"))
    assert estimate(across) == milliseconds(fc.AllReduce(bytes=4 << 20, ranks=4, nodes=4, dtype="float"))
    assert estimate(Node("_c10d_functional.all_reduce.default", "x", "sum", "me", val=bf16(8))) == 0.0
    assert estimate(Node("aten.mm.default", "x", "y", val=bf16(8))) is None
    assert estimate(Node("_c10d_functional.wait_tensor.default", "x", val=bf16(8))) is None


# --- NCCL

def test_the_tuner_s_table_is_tune_s(folder):
    fc.export("nccl-tuner", system="dgx-b200", output=folder / "a")
    assert (folder / "a").read_text() == fc.tune("dgx-b200").config()


# --- ASTRA-sim and Chakra

@pytest.mark.parametrize("system, nodes", [("dgx-h100", 1), ("dgx-h100", 4), ("gb200-nvl72", 18), ("dgx-b200", 2)])
def test_astra_sim_s_closed_form_is_the_prediction(folder, system, nodes):
    size = 256 * 2**20
    made = fc.export("astra-sim", system=system, output=folder, nodes=nodes, size=size)
    network = {key: json.loads(value) if key != "topology" else value.strip("[]").split(", ") for key, value in
               (line.split(": ", 1) for line in (folder / "network.yml").read_text().splitlines() if not line.startswith("#"))}
    assert set(network) == {"topology", "npus_count", "bandwidth", "latency"} and set(network["topology"]) == {"Switch"}
    seconds, left = 0.0, size
    for n, bandwidth, latency in zip(network["npus_count"], network["bandwidth"], network["latency"]):
        seconds += astra_sim.closed_form(n, latency, bandwidth, left)
        left /= n
    ranks = int(np.prod(network["npus_count"]))
    want = fc.predict(system, fc.AllReduce(bytes=size, ranks=ranks, nodes=nodes)).seconds
    print(f"{system} x {nodes}: {seconds / want:.4f}; {made.notes[0]}")
    assert abs(seconds / want - 1) < 0.01
    layer = json.loads((folder / "system.json").read_text())
    assert len(layer["all-reduce-implementation"]) == len(network["npus_count"]) and isinstance(layer["local-mem-bw"], int)
    assert len(list(folder.glob("workload.*.et"))) == ranks


def test_protobuf_reads_a_chakra_trace(folder):
    pytest.importorskip("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    F = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="et.proto", package="c", syntax="proto3")  # of et_def.proto
    for name, fields in {"Attribute": (("name", 1, F.TYPE_STRING), ("int64_val", 9, F.TYPE_INT64), ("bool_val", 27, F.TYPE_BOOL)),
                         "Node": (("id", 1, F.TYPE_UINT64), ("name", 2, F.TYPE_STRING), ("type", 3, F.TYPE_INT32)),
                         "Metadata": (("version", 1, F.TYPE_STRING),)}.items():
        message = file.message_type.add(name=name)
        for key, number, kind in fields:
            message.field.add(name=key, number=number, type=kind, label=F.LABEL_OPTIONAL)
    file.message_type[1].field.add(name="attr", number=10, type=F.TYPE_MESSAGE, type_name=".c.Attribute", label=F.LABEL_REPEATED)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    node, metadata = (message_factory.GetMessageClass(pool.FindMessageTypeByName(f"c.{name}"))() for name in ("Node", "Metadata"))
    fc.export("chakra", output=folder, ranks=2, operation="reduce_scatter", size="64MiB")
    raw = (folder / "workload.1.et").read_bytes()
    assert metadata.ParseFromString(raw[1:1 + raw[0]]) and metadata.version == "0.0.4"
    rest = raw[1 + raw[0]:]
    assert rest[0] < 128 and node.ParseFromString(rest[1:]) == rest[0]
    assert node.type == 7 and {one.name: one.int64_val for one in node.attr if one.name != "is_cpu_op"} == {"comm_type": 7, "comm_size": 64 << 20}


# --- placement

SLURM = """---
- topology: racks
  cluster_default: true
  block:
    block_sizes: [18, 36]
    blocks:
      - {block: b1, nodes: "gb[001-018]"}
      - {block: b2, nodes: "gb[019-035],gb099"}
- topology: fabric
  tree:
    switches:
      - {switch: top, children: "s[1-2]"}
      - {switch: s1, nodes: "gb[001-018]"}
      - {switch: s2, nodes: "gb[019-035],gb099"}
- {topology: all, flat: true}
"""
TOPOGRAPH = """switches:
  core: {labels: {topology.kubernetes.io/region: here}, switches: [s1, s2]}
blocks:
- {switch: s1, nodes: ["gb[001-018]"], labels: {accelerator.topograph.run/domain: b1}}
- {switch: s2, nodes: ["gb[019-035]", gb099], labels: {network.topology.nvidia.com/accelerator: b2, network.topology.nvidia.com/level3: room}}
"""


@pytest.mark.parametrize("text", [SLURM, TOPOGRAPH])
@pytest.mark.parametrize("write", [placement.slurm_text, placement.topograph_text])
def test_a_placement_that_is_written_again_is_the_same(folder, text, write):
    pytest.importorskip("yaml")
    (folder / "a").write_text(text)
    first = fc.read_placement(folder / "a")
    assert first.block_of("gb099") == "b2" and first.leaf_of("gb018") == "s1" and len(first.blocks["b1"]) == 18
    (folder / "b").write_text(write(first))
    again = fc.read_placement(folder / "b")
    assert again == first


@pytest.mark.parametrize("text, says", [("[" * 5000, "is no Slurm"), ("a: 1", "has neither"), (b"\xe9", "is not UTF-8"), (None, "not a regular file")])
def test_what_is_no_placement_is_refused(folder, text, says):
    pytest.importorskip("yaml")
    if text is None:
        os.mkfifo(folder / "a")
    else:
        (folder / "a").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(fc.RequestError, match=says):
        fc.read_placement(folder / "a")


def test_nodes_are_listed_as_slurm_lists_them():
    random = np.random.default_rng(7)
    for _ in range(200):
        width = int(random.integers(1, 4))
        names = [f"n{number:0{width}d}" for number in sorted(random.choice(10**width, random.integers(1, 10**width + 1 if width < 3 else 300), replace=False))]
        assert placement.expanded(placement.folded(names)) == names
    assert placement.expanded("a[1-2]b[08-10],c") == [f"a{i}b{j}" for i in (1, 2) for j in ("08", "09", "10")] + ["c"]
    with pytest.raises(fc.RequestError, match="list of nodes"):
        placement.expanded("n[1-x]")
    with pytest.raises(fc.RequestError, match="more than 1000000 nodes"):
        placement.expanded("n[1-1000000]m[1-1000000]")


def test_a_rack_is_a_block(folder):
    yaml = pytest.importorskip("yaml")
    fc.export("slurm", system="gb200-nvl72", output=folder / "t", nodes=36, leaf=18)
    block, tree = yaml.safe_load((folder / "t").read_text())
    assert block["cluster_default"] is True and block["block"]["block_sizes"] == [18, 36]
    assert [one["nodes"] for one in block["block"]["blocks"]] == ["node[1-18]", "node[19-36]"]
    assert tree["tree"]["switches"][0] == {"switch": "spine", "children": "leaf[1-2]"}
    fc.export("slurm", system="dgx-h100", output=folder / "u", nodes=4)
    assert [set(one) for one in yaml.safe_load((folder / "u").read_text())] == [{"topology", "cluster_default", "tree"}]
