"""Exports, read by the programs they are for where these can be had: each test names the package that it needs and skips without it."""
import importlib.util
import json
import os
import pathlib
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
    fc.export("xla", "dgx-h100", output=folder / "b", **SMALL)
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


def hlo(one):
    """An entry's instruction as HLO text."""
    kind = {1: "bf16", 2: "f16", 3: "f32"}[one.instruction.shape.element_type]
    sizes = list(one.instruction.shape.dimensions)
    shape = lambda *dims: f"{kind}[{','.join(map(str, dims))}]"
    if one.instruction.opcode == "dot":
        left, right = (list(operand.shape.dimensions) for operand in one.operands)
        return (f"HloModule m\nENTRY e {{\n a = {shape(*left)} parameter(0)\n b = {shape(*right)} parameter(1)\n ROOT r = {shape(*sizes)} dot(a, b), "
                "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}\n}\n")
    iota, opcode = one.instruction.iota_collective_device_list, one.instruction.opcode
    n = iota.num_devices_per_group
    given = {"all-gather": sizes[0] // n, "reduce-scatter": sizes[0] * n}.get(opcode, sizes[0])
    reduces = opcode in ("all-reduce", "reduce-scatter")
    along = "" if opcode == "all-reduce" else ", dimensions={0}"
    everyone = ", use_global_device_ids=true" if one.instruction.use_global_device_ids else ""
    return (f"HloModule m, num_partitions={n}\nadd {{\n x = {kind}[] parameter(0)\n y = {kind}[] parameter(1)\n ROOT z = {kind}[] add(x, y)\n}}\n"
            f"ENTRY e {{\n p = {shape(given)} parameter(0)\n ROOT r = {shape(sizes[0])} {opcode}(p), channel_id=1, "
            f"replica_groups=[{iota.num_replica_groups},{n}]<=[{iota.iota_reshape_dims[0]}]{everyone}{along}{', to_apply=add' if reduces else ''}\n}}\n")


def test_xla_reads_its_table_of_collectives(folder, messages):
    done = fc.export("xla", "gb200-nvl72", output=folder / "t", ranks=[4, 72], sizes="64KiB:1GiB:x1.2")
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


def test_xla_builds_each_instruction_of_the_tables(folder, messages):
    pytest.importorskip("jaxlib")
    read = pytest.importorskip("jaxlib._hlo").hlo_module_from_text
    fc.export("xla", "dgx-h100", output=folder / "t", **SMALL)
    fc.export("xla-matmul", "dgx-h100", output=folder / "p")
    for name in ("t", "p"):
        entries = parsed(folder / name, messages["Device"]).entries["sm_90"].entries
        for one in entries:
            assert f"{one.instruction.opcode}(" in read(hlo(one)).to_string()
        print(f"{len(entries)} instructions")


def test_jax_takes_the_flags(folder):
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    fc.export("xla", "dgx-h100", output=folder / "t", **SMALL)
    flags = f"--xla_gpu_experimental_collective_perf_table_path={folder / 't'} --xla_gpu_experimental_matmul_perf_table_path={folder / 't'}"
    done = subprocess.run([sys.executable, "-c", "import jax; print(jax.jit(lambda x: x + 1)(1))"], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"})
    assert done.returncode == 0 and done.stdout.split() == ["2"], done.stderr


def test_products_of_the_embedded_table_stay_below_the_peak(folder, messages):
    fc.export("xla-matmul", "gb200-nvl72", output=folder / "t", form="embedded")
    table = parsed(folder / "t", messages["Table"])
    peaks = fc.load_system("gb200-nvl72").flops_per_second
    for one in table.entries["sm_100_GB200"].entries:
        assert 0 < one.flops["bf16xbf16->bf16"] < peaks["bf16"] and 0 < one.flops["f8e4m3fnxf8e4m3fn->bf16"] < peaks["fp8"]
    assert len(table.entries["sm_100_GB200"].entries) == 375
    with pytest.raises(fc.RequestError, match="key"):
        fc.export("xla", "vera-rubin-nvl72", output=folder / "r", **SMALL)
    fc.export("xla", "vera-rubin-nvl72", output=folder / "r", key="sm_107", **SMALL)


# --- Dynamo

def test_dynamo_serves_a_trace_on_the_profile(folder):
    pytest.importorskip("dynamo._core")
    replay = pytest.importorskip("dynamo.replay")
    from dynamo.mocker.config import normalize_mocker_config
    from dynamo.mocker.utils.planner_profiler_perf_data_converter import is_mocker_format_npz, is_profile_results_dir
    fc.export("dynamo", "dgx-h100", output=folder, model="llama3-70b", tp=4, rate=4, requests=400)
    assert is_mocker_format_npz(folder / "mocker.npz") and is_profile_results_dir(folder)
    given = json.loads((folder / "engine.json").read_text())
    given["engine"]["timing_model"]["config"]["path"] = str(folder / "mocker.npz")
    met = {}
    for speed in (1, 4):  # as it arrives, and four times as fast
        report = replay.run_trace_replay(str(folder / "trace.jsonl"), extra_engine_args=normalize_mocker_config(given), sla_ttft_ms=1000,
                                         sla_itl_ms=40, arrival_speedup_ratio=float(speed), trace_block_size=512)
        assert report.summary["completed_requests"] == 400
        met[speed] = report.summary["goodput_completed_requests"]
        print(f"{4 * speed} requests/s: {met[speed]} of 400 within 1 s and 40 ms; median TTFT {report.summary['median_ttft_ms']:.0f} ms, "
              f"ITL {report.summary['median_itl_ms']:.1f} ms")
    assert met[1] > met[4]


def test_dynamo_planner_reads_the_folder(folder):
    reader = pytest.importorskip("dynamo.planner.monitoring.perf_metrics")
    fc.export("dynamo", "dgx-h100", output=folder, model="llama3-70b", tp=4)
    for read in (reader._convert_prefill_profiling, reader._convert_decode_profiling):
        found = read(str(folder))
        assert len(found) > 10 and all(one.wall_time > 0 for one in found)


def test_a_profile_is_what_plan_serve_answers(folder):
    fc.export("dynamo", "dgx-h100", output=folder, model="llama3-8b", tp=1, context=8192)
    with np.load(folder / "mocker.npz") as data:
        isl, ttft, itl = data["prefill_isl"], data["prefill_ttft_ms"], data["decode_itl"]
        assert itl.shape == (data["decode_active_kv_tokens"].size, data["decode_context_length"].size)
    want = fc.plan_serve("dgx-h100", "llama3-8b", gpus=1, tp=1, pp=1, dp=1, isl=8192, osl=1, batch=1, ttft_seconds=1e9)[0]
    assert isl[-1] == 8192 and abs(ttft[-1] / 1e3 / want.ttft_seconds - 1) < 1e-9
    assert (np.diff(ttft) > 0).all() and (np.diff(itl, axis=0) > -1e-9).all(), "longer prompts and fuller caches take longer"
    with pytest.raises(fc.RequestError):
        fc.export("dynamo", "dgx-h100", output=folder / "none", model="llama3-405b", tp=1)


# --- aiconfigurator

def prompt_by_aiconfigurator(folder):
    """Milliseconds of a prompt on 8 tensor ranks."""
    done = subprocess.run([pathlib.Path(sys.executable).parent / "aiconfigurator", "cli", "estimate", "--model", "Qwen/Qwen3-32B", "--system",
                           "vera_rubin_nvl72", "--systems-paths", f"default,{folder}", "--backend", "vllm", "--database-mode", "HYBRID",
                           "--estimate-mode", "static_ctx", "--isl", "2048", "--osl", "256", "--batch-size", "1", "--tp-size", "8"],
                          capture_output=True, text=True, timeout=600, cwd=folder)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return float(re.search(r"TTFT: +([\d.]+) ms", done.stdout)[1])


def test_aiconfigurator_plans_on_a_machine_that_it_lacks(folder):
    for one in ("aiconfigurator", "pyarrow", "yaml"):
        pytest.importorskip(one)
    import pyarrow.parquet as parquet
    fc.export("aiconfigurator", "vera-rubin-nvl72", output=folder / "as-it-is")
    fc.export("aiconfigurator", "vera-rubin-nvl72", output=folder / "dearer")
    for path in (folder / "dearer").rglob("*.parquet"):
        if "allreduce" in path.name or "nccl" in path.name:
            table = parquet.read_table(path)
            at = table.column_names.index("latency")
            dear = [value * (20 if op == "all_reduce" else 1) for value, op in zip(table["latency"].to_pylist(), table["op_name"].to_pylist())]
            parquet.write_table(table.set_column(at, "latency", [dear]), path)
    plain, dear = (prompt_by_aiconfigurator(folder / name) for name in ("as-it-is", "dearer"))
    print(f"TTFT {plain:.1f} ms, with all-reduces 20 times dearer {dear:.1f} ms")
    assert dear > 1.5 * plain


def test_a_database_has_the_columns_and_the_predictions(folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("yaml")
    fc.export("aiconfigurator", "dgx-h100", output=folder, sizes="1KiB,1MiB")
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


def test_torch_itself_asks_for_its_collectives():
    """A graph that torch traced with its own process group of eight, and the function of its overlap scheduler that asks."""
    torch = pytest.importorskip("torch")
    import torch.distributed as dist
    import torch.distributed._functional_collectives as collectives
    from torch._inductor.fx_passes.overlap_scheduling import get_custom_estimation
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.testing._internal.distributed.fake_pg import FakeStore

    import fabricost.torch
    assert hasattr(torch._inductor.config.aten_distributed_optimizations, "custom_runtime_estimation")
    dist.init_process_group("fake", rank=0, world_size=8, store=FakeStore())
    try:
        def step(x):
            whole = collectives.all_reduce(x @ x, "sum", dist.group.WORLD)
            parts = torch.ops._c10d_functional.all_gather_into_tensor_coalesced([x, x], 8, dist.group.WORLD.group_name)
            part = torch.ops._c10d_functional.reduce_scatter_tensor(x, "sum", 8, dist.group.WORLD.group_name)
            return [collectives.wait_tensor(one) for one in (whole, *parts, part)]

        graph = make_fx(step, tracing_mode="fake")(torch.empty(1024, 1024, dtype=torch.bfloat16)).graph
        estimate = fabricost.torch.runtime_estimation("dgx-h100")
        found = {str(node.target).removesuffix(".default"): get_custom_estimation(node, estimate) for node in graph.nodes if node.op == "call_function"}
    finally:
        dist.destroy_process_group()
    assert found["_c10d_functional.all_reduce"] == milliseconds(fc.AllReduce(bytes=2 << 20, ranks=8, dtype="bfloat16"))
    assert found["_c10d_functional.reduce_scatter_tensor"] == milliseconds(fc.ReduceScatter(bytes=2 << 20, ranks=8, dtype="bfloat16"))
    assert found["_c10d_functional.all_gather_into_tensor_coalesced"] == milliseconds(fc.AllGather(bytes=32 << 20, ranks=8, dtype="bfloat16"))
    assert found["aten.mm"] is None and found["_c10d_functional.wait_tensor"] is None


# --- NCCL

def test_nccl_s_own_parser_reads_every_line(folder):
    """NCCL_SOURCE names a checkout of NVIDIA/nccl."""
    source = os.environ.get("NCCL_SOURCE")
    if not source:
        pytest.skip("NCCL_SOURCE names no checkout of NVIDIA/nccl, whose example plugin is compiled here")
    fc.export("nccl-tuner", "dgx-b200", output=folder / "tuner.conf")
    lines = [line for line in (folder / "tuner.conf").read_text().splitlines() if line and not line.startswith("#")]
    example = pathlib.Path(source) / "plugins" / "tuner" / "example"
    (folder / "main.c").write_text('''#include "plugin.c"
#include <stdarg.h>
int main(void) {
  void* context = 0;
  ncclNvlDomainInfo_v5_t domains = {1, 8, 8};
  ncclTunerPlugin_v6.init(&context, 0, 8, 1, 0, &domains, 0);
  TunerContext* read = (TunerContext*)context;
  for (int i = 0; i < read->numConfigs; ++i) {
    TuningConfig* one = &read->configs[i];
    printf("%s,%zu,%zu,%s,%s,%d,%d,%d,%d,%d\\n", collTypeToString(one->collType), one->minBytes, one->maxBytes, algorithmToString(one->algorithm),
           protocolToString(one->protocol), one->nChannels, one->nNodes, one->nRanks, one->numPipeOps, one->regBuff);
  }
  return ncclTunerPlugin_v5.init != ncclTunerPlugin_v6.init;
}
''')
    subprocess.run(["cc", f"-I{example}", f"-I{example / 'nccl'}", "-o", folder / "main", folder / "main.c"], check=True, timeout=120)
    done = subprocess.run([folder / "main"], capture_output=True, text=True, timeout=60, env={**os.environ, "NCCL_TUNER_CONFIG_FILE": str(folder / "tuner.conf")})
    assert lines and done.stdout.splitlines() == lines, done
    print(f"{len(lines)} lines")


def test_the_tuner_s_table_is_tune_s(folder):
    fc.export("nccl-tuner", "dgx-b200", output=folder / "a")
    assert (folder / "a").read_text() == fc.tune("dgx-b200").config()


# --- ASTRA-sim and Chakra

@pytest.mark.parametrize("system, nodes", [("dgx-h100", 1), ("dgx-h100", 4), ("gb200-nvl72", 18), ("dgx-b200", 2)])
def test_astra_sim_s_closed_form_is_the_prediction(folder, system, nodes):
    size = 256 * 2**20
    made = fc.export("astra-sim", system, output=folder, nodes=nodes, size=size)
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


def test_nodes_are_listed_as_slurm_lists_them():
    random = np.random.default_rng(7)
    for _ in range(200):
        width = int(random.integers(1, 4))
        names = [f"n{number:0{width}d}" for number in sorted(random.choice(10**width, random.integers(1, 10**width + 1 if width < 3 else 300), replace=False))]
        assert placement.expanded(placement.folded(names)) == names
    assert placement.expanded("a[1-2]b[08-10],c") == [f"a{i}b{j}" for i in (1, 2) for j in ("08", "09", "10")] + ["c"]
    with pytest.raises(fc.RequestError, match="list of nodes"):
        placement.expanded("n[1-x]")


def test_a_rack_is_a_block(folder):
    yaml = pytest.importorskip("yaml")
    fc.export("slurm", "gb200-nvl72", output=folder / "t", nodes=36, leaf=18)
    block, tree = yaml.safe_load((folder / "t").read_text())
    assert block["cluster_default"] is True and block["block"]["block_sizes"] == [18, 36]
    assert [one["nodes"] for one in block["block"]["blocks"]] == ["node[1-18]", "node[19-36]"]
    assert tree["tree"]["switches"][0] == {"switch": "spine", "children": "leaf[1-2]"}
    fc.export("slurm", "dgx-h100", output=folder / "u", nodes=4)
    assert [set(one) for one in yaml.safe_load((folder / "u").read_text())] == [{"topology", "cluster_default", "tree"}]


# --- traces in other tools

@pytest.fixture
def trace(folder):
    """The trace of a planned step."""
    plans = fc.plan("dgx-h100", "llama3-8b", gpus=8, global_batch=64, tp=2, pp=2, top=1)
    plans.save_trace(folder / "trace")
    return sorted(one for one in (folder / "trace").rglob("*") if one.is_file())


def test_perfetto_opens_our_trace(trace):
    processor = pytest.importorskip("perfetto.trace_processor")
    try:
        opened = processor.TraceProcessor(trace=str(trace[0]))
    except Exception as error:  # it fetches its shell at first use
        pytest.skip(f"perfetto's shell is not here: {type(error).__name__}")
    assert next(iter(opened.query("select count(*) as n from slice"))).n > 10


@pytest.mark.filterwarnings("ignore")  # of pandas, about HTA's own calls
def test_hta_opens_our_trace(trace):
    analysis = pytest.importorskip("hta.trace_analysis")
    found = analysis.TraceAnalysis(trace_dir=str(trace[0].parent))
    spent = found.get_temporal_breakdown(visualize=False)
    print(spent.to_string())
    assert len(spent) == len(trace) > 1 and (spent["compute_time_pctg"] > 0).all()  # a file for each stage, told apart by its rank


def test_tracelens_opens_our_trace(trace):
    lens = pytest.importorskip("TraceLens", reason="TraceLens is on GitHub alone (AMD-AGI/TraceLens); PyPI's tracelens is another project")
    tree = lens.TreePerfAnalyzer.from_file(str(trace[0]))
    print(tree.get_df_gpu_timeline().to_string())
