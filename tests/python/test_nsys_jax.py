"""Archives of nsys-jax become traces: shapes and groups out of the compiled module, times out of the projected ranges."""
import io
import json
import lzma
import math
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

import fabricost as fc

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
nsys_jax = pytest.importorskip("fabricost.nsys_jax")


def varint(number):
    out = bytearray()
    while True:
        out.append(number & 127 | (128 if number > 127 else 0))
        number >>= 7
        if not number:
            return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def packed(number, values):
    return field(number, b"".join(map(varint, values)))


def shape(element_type, dims):
    return field(2, element_type) + packed(3, dims)


def instruction(number, name, opcode, of, operands=(), called=(), groups=b""):
    return field(2, field(1, name) + field(2, opcode) + field(3, of) + field(35, number) + packed(36, operands) +
                 b"".join(field(38, one) for one in called) + groups)


BF16, F32 = 16, 11
LISTED = field(49, packed(1, [0, 1])) + field(49, packed(1, [2, 3]))
# two groups of two devices, of which every second belongs together: [0, 2], [1, 3]
IOTA = field(87, field(2, field(1, 2) + field(2, 2) + packed(3, [2, 2]) + packed(4, [1, 0])))


def compiled():
    inner = field(1, "async_computation") + field(5, 7) + instruction(20, "p", "parameter", shape(F32, [1024, 4])) + \
        instruction(21, "scatter", "reduce-scatter", shape(F32, [256, 4]), [20], groups=IOTA)
    entry = field(1, "main") + field(5, 8) + instruction(1, "w", "parameter", shape(BF16, [512, 1024])) + \
        instruction(2, "b", "parameter", shape(BF16, [1024])) + \
        instruction(3, "all-gather-start.1", "all-gather-start", shape(BF16, [1]), [1, 2], groups=LISTED) + \
        instruction(4, "reduce-scatter-start", "async-start", shape(F32, [1]), [1], [7]) + \
        instruction(5, "all-reduce.3", "all-reduce", shape(F32, [1]), [1]) + \
        instruction(6, "gemm_fusion", "fusion", shape(BF16, [1]), [1])
    return field(1, field(1, "jit_step") + field(3, inner) + field(3, entry))


def archive(path, starts):
    """One step: instruction, begin and end in us."""
    rows = [("TSL:XlaModule:#prefix=jit,hlo_module=jit_step,program_id=12#", 0.0, 1e4, ":1")]
    rows += [(f"TSL:Thunk:#name=x,hlo_op={name}#", begin, end, f":1:{10 + i}") for i, (name, begin, end) in enumerate(starts)]
    table = pa.table({"Name": [r[0] for r in rows], "Projected Start": [int(1e3 * r[1]) for r in rows],
                      "Projected Duration": [int(1e3 * (r[2] - r[1])) for r in rows], "RangeStack": [r[3] for r in rows],
                      "TID": [5] * len(rows), "Rank": [0] * len(rows)})
    held = io.BytesIO()
    pq.write_table(table, held)
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("x/nvtx_gpu_proj_trace/trace.parquet", held.getvalue())
        out.writestr("x/dump/module_0012.jit_step.sm_8.0_gpu_after_optimizations.hlo.pb.xz", lzma.compress(compiled()))


def test_collectives_have_their_operands_types_and_groups():
    found = nsys_jax.collectives_of(compiled())
    assert found["all-gather-start.1"] == ("all-gather", 513 * 1024, "BFloat16", [[0, 1], [2, 3]])
    assert found["reduce-scatter-start"] == ("reduce-scatter", 4096, "Float", [[0, 2], [1, 3]])
    assert found["all-reduce.3"] == ("all-reduce", 512 * 1024, "BFloat16", [])
    assert "gemm_fusion" not in found


def test_four_processes_are_one_job_with_the_late_rank_named(tmp_path):
    for rank in range(4):
        late = 200.0 if rank == 1 else 0.0  # its computing takes longer
        archive(tmp_path / f"proc{rank}.zip", [("gemm_fusion", 0, 100 + late), ("all-gather-start.1", 100 + late, 350 if rank < 2 else 150),
                                               ("reduce-scatter-start", 400, 430), ("all-reduce.3", 500, 560)])
    files = nsys_jax.convert(sorted(tmp_path.glob("*.zip")), tmp_path / "traces")
    assert [one.name for one in files] == [f"rank{rank}.json" for rank in range(4)]
    report = fc.read_trace(str(tmp_path / "traces"), system="dgx-a100")
    by = {(one.operation, one.group): one for one in report}
    gather = by["all_gather", "xla 0,1"]
    assert gather.bytes == 2 * 2 * 513 * 1024  # both ranks' parts, bf16
    assert math.isclose(gather.wire_seconds, 50e-6, rel_tol=0.02) and math.isclose(gather.wait_seconds, 200e-6, rel_tol=0.02)
    assert gather.last_rank == 1
    assert by["all_gather", "xla 2,3"].wait_seconds < 1e-6
    assert by["reduce_scatter", "xla 0,2"].bytes == 4096 * 4 and ("reduce_scatter", "xla 1,3") in by
    assert by["all_reduce", "xla"].bytes == 2 * 512 * 1024


def test_the_command_converts_and_says_what_is_no_archive(tmp_path):
    archive(tmp_path / "proc0.zip", [("gemm_fusion", 0, 100)])
    run = [sys.executable, "-m", "fabricost.nsys_jax"]
    done = subprocess.run([*run, tmp_path / "proc0.zip", "-o", tmp_path / "out"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out" / "rank0.json").read_text())["distributedInfo"]["world_size"] == 1
    (tmp_path / "no.zip").write_text("no")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as out:
        out.writestr("readme", "")
    with zipfile.ZipFile(tmp_path / "damaged.zip", "w") as out:
        out.writestr("nvtx_gpu_proj_trace/a.parquet", "no")
    os.mkfifo(tmp_path / "pipe.zip")
    for name, says in (("no.zip", "is no zip"), ("pipe.zip", "is no zip"), ("empty.zip", "holds no nvtx_gpu_proj_trace"),
                       ("damaged.zip", "a.parquet: is no table of Parquet")):
        done = subprocess.run([*run, tmp_path / name, "-o", tmp_path / "bad"], capture_output=True, text=True)
        assert done.returncode == 2 and says in done.stderr and not (tmp_path / "bad").exists()


def test_broken_modules_are_refused_with_their_name(tmp_path):
    whole = compiled()
    for cut in (10, len(whole) // 2, len(whole) - 1):
        with pytest.raises(ValueError):
            nsys_jax.collectives_of(whole[:cut])
    assert nsys_jax.collectives_of(b"") == {}
    archive(tmp_path / "proc0.zip", [("gemm_fusion", 0, 100)])
    with zipfile.ZipFile(tmp_path / "proc0.zip") as given, zipfile.ZipFile(tmp_path / "proc1.zip", "w") as out:
        for name in given.namelist():
            out.writestr(name, b"x" if name.endswith(".xz") else given.read(name))
    with pytest.raises(fc.RequestError, match="is no compiled module"):
        nsys_jax.convert([pathlib.Path(tmp_path / "proc1.zip")], tmp_path / "out")
    assert not (tmp_path / "out").exists()


FORKED = """
import os, pathlib, sys
import pyarrow.parquet
from fabricost import nsys_jax
failed = 0
for _ in range(8):
    child = os.fork()
    if not child:
        archive = nsys_jax._Archive(pathlib.Path(sys.argv[1]))
        archive.table(archive.names[1])
        sys.exit(0)
    failed += os.waitpid(child, 0)[1] != 0
sys.exit(f"{failed} of 8 failed" if failed else 0)
"""


def test_processes_that_end_right_after_reading_end_well(tmp_path):
    """Arrow's threads outlive the interpreter; one that held a Python object, or was just starting, ended such processes with SIGABRT."""
    archive(tmp_path / "proc0.zip", [("gemm_fusion", 0, 100)])
    done = subprocess.run([sys.executable, "-c", FORKED, tmp_path / "proc0.zip"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
