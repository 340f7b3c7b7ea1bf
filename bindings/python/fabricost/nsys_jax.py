"""Archives of nsys-jax (NVIDIA's JAX-Toolbox) as traces that `fabricost trace` and fc.read_trace take.

    python -m fabricost.nsys_jax proc0.zip proc1.zip ... -o FOLDER
    fabricost trace FOLDER

An archive holds Nsight's projection of XLA's ranges onto the GPU (nvtx_gpu_proj_trace/*.parquet: times of every thunk) and the
compiled modules (dump/*.hlo.pb.xz: shapes and groups of collectives). A thunk is named by its HLO instruction; both together say
operation, bytes, type and ranks. One file a device is written in the format of PyTorch's profiler.
Needs pyarrow: pip install 'fabricost[sweep]'.

Formats: openxla/xla, xla/service/hlo.proto and xla/xla_data.proto; NVIDIA/JAX-Toolbox, nsys_jax.
"""
from __future__ import annotations

import argparse
import json
import lzma
import math
import pathlib
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ._core import RequestError
from ._extras import module

# PrimitiveType of xla_data.proto: name as PyTorch writes it, bytes
_TYPES = {1: ("Bool", 1), 2: ("Char", 1), 3: ("Short", 2), 4: ("Int", 4), 5: ("Long", 8), 6: ("Byte", 1), 7: ("uint16", 2),
          8: ("uint32", 4), 9: ("uint64", 8), 10: ("Half", 2), 11: ("Float", 4), 12: ("Double", 8), 16: ("BFloat16", 2),
          19: ("Float8_e5m2", 1), 20: ("Float8_e4m3fn", 1)}
# opcode: PyTorch's name, the kernel's, and how many times a rank's operand goes in and comes out of n ranks
_COLLECTIVES = {"all-reduce": ("allreduce", "AllReduce", lambda n: 1), "all-gather": ("all_gather", "AllGather", lambda n: n),
                "reduce-scatter": ("reduce_scatter", "ReduceScatter", lambda n: 1 / n),
                "all-to-all": ("all_to_all", "SendRecv", lambda n: 1),
                "collective-broadcast": ("broadcast", "Broadcast", lambda n: 1)}
_MOST_MODULE = 1 << 30  # bytes of an unpacked module


class Collective(NamedTuple):
    """A collective of a compiled module."""

    operation: str
    elements: int  # of a rank's operands
    dtype: str
    groups: list[list[int]]  # of devices; empty: all of them


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """(number, value) of a protobuf message: a whole number, or the bytes of what is longer."""
    at, end = 0, len(data)

    def varint() -> int:
        nonlocal at
        out = shift = 0
        while True:
            if at >= end or shift > 63:
                raise ValueError("a number has no end")
            byte = data[at]
            at += 1
            out |= (byte & 127) << shift
            if byte < 128:
                return out
            shift += 7

    while at < end:
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = varint() if key & 7 == 2 else {1: 8, 5: 4}.get(key & 7, end + 1)
        if size > end - at:
            raise ValueError("a field is longer than its message")
        yield key >> 3, data[at:at + size]
        at += size


def _numbers(values: Sequence[Any]) -> list[int]:
    """Repeated whole numbers, packed or not."""
    out: list[int] = []
    for value in values:
        if isinstance(value, int):
            out.append(value)
            continue
        number = shift = 0
        for byte in value:
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                out.append(number)
                number = shift = 0
    return out


def _message(data: Any) -> dict[int, list[Any]]:
    out: dict[int, list[Any]] = {}
    for number, value in _fields(data):
        out.setdefault(number, []).append(value)
    return out


def _text(values: list[Any]) -> str:
    return bytes(values[-1]).decode("utf-8", "replace") if values else ""


def _elements(shape: Any) -> list[tuple[int, int]]:
    """(elements, type) of a ShapeProto's arrays."""
    fields = _message(shape)
    if fields.get(4):
        return [one for part in fields[4] for one in _elements(part)]
    return [(math.prod(_numbers(fields.get(3, []))), _numbers(fields.get(2, [0]))[-1])]


def _groups(instruction: dict[int, list[Any]]) -> list[list[int]]:
    listed = [_numbers(_message(one).get(1, [])) for one in instruction.get(49, [])]
    for devices in map(_message, instruction.get(87, [])):
        listed += [_numbers(_message(one).get(1, [])) for one in devices.get(1, [])]
        for iota in map(_message, devices.get(2, [])):
            count, size = (_numbers(iota.get(number, [1]))[-1] for number in (1, 2))
            dims, order = _numbers(iota.get(3, [])), _numbers(iota.get(4, []))
            if count * size > 1 << 24 or math.prod(dims) != count * size:
                raise ValueError("groups of devices that do not multiply to their number")
            import numpy as np

            turned = np.arange(count * size).reshape(dims).transpose(order or None).reshape(count, size)
            listed += turned.tolist()
    return [one for one in listed if one]


def collectives_of(hlo_proto: bytes) -> dict[str, Collective]:
    """Collectives of a serialized xla.HloProto by the name of the instruction that launches them. ValueError for other bytes."""
    computations: dict[int, dict[int, dict[int, list[Any]]]] = {}
    for hlo in _message(memoryview(hlo_proto)).get(1, []):
        for computation in map(_message, _message(hlo).get(3, [])):
            instructions = [_message(one) for one in computation.get(2, [])]
            computations[_numbers(computation.get(5, [0]))[-1]] = {_numbers(one.get(35, [0]))[-1]: one for one in instructions}
    out: dict[str, Collective] = {}

    def launched(instruction: dict[int, list[Any]], inside: dict[int, dict[int, list[Any]]], depth: int = 0) -> Collective | None:
        opcode = _text(instruction.get(2, [])).removesuffix("-start")
        if opcode in _COLLECTIVES:
            operands = [inside[one] for one in _numbers(instruction.get(36, [])) if one in inside]
            arrays = [array for one in operands for shape in one.get(3, []) for array in _elements(shape)]
            if not arrays:
                return None
            kind = max(arrays)[1]
            dtype, width = _TYPES.get(kind, ("Byte", 1))
            size = sum(count * _TYPES.get(type_, ("Byte", 1))[1] for count, type_ in arrays)
            return Collective(opcode, size // width, dtype, _groups(instruction))
        if opcode in ("async", "fusion") and depth < 8:
            for called in _numbers(instruction.get(38, [])):
                for one in computations.get(called, {}).values():
                    if found := launched(one, computations[called], depth + 1):
                        return found
        return None

    for inside in computations.values():
        for instruction in inside.values():
            if found := launched(instruction, inside):
                out[_text(instruction.get(1, []))] = found
    return out


class _Archive:
    """Files of a zip or of a folder, by the ends of their names."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        if path.is_dir():
            self.names = [one.relative_to(path).as_posix() for one in sorted(path.rglob("*")) if one.is_file()]
        elif path.is_file() and zipfile.is_zipfile(path):
            self.zip = zipfile.ZipFile(path)
            self.names = sorted(self.zip.namelist())
        else:
            raise RequestError(f"{path}: is no zip and no folder; name an archive of nsys-jax")

    def read(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes() if self.path.is_dir() else self.zip.read(name)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise RequestError(f"{self.path}: {name}: cannot be unpacked: {error}") from None

    def table(self, name: str) -> dict[str, list[Any]]:
        # ParquetFile without threads starts none, where read_table starts one: a thread that outlives the interpreter aborts the process
        # (apache/arrow#33975).
        held = module("pyarrow").BufferReader(self.read(name))
        try:
            columns: dict[str, list[Any]] = module("pyarrow.parquet").ParquetFile(held).read(use_threads=False).to_pydict()
        except ValueError as error:
            raise RequestError(f"{self.path}: {name}: is no table of Parquet: {error}") from None
        return columns


def _column(table: dict[str, list[Any]], *names: str) -> list[Any] | None:
    return next((table[name] for name in names if name in table), None)


_THUNK = re.compile(r"^(?:TSL:)?Thunk:#.*?hlo_op=([^,#]+)")
_MODULE = re.compile(r"^(?:TSL:)?XlaModule:#.*?hlo_module=([^,#]+)(?:,program_id=(\d+))?")
_LAUNCHER = re.compile(r"^XlaLauncher:#global=(\d+),")


def _devices(archive: _Archive) -> dict[int, int]:
    """Device of each thread that launches work."""
    out: dict[int, int] = {}
    for name in archive.names:
        if not name.endswith("thread-metadata.parquet"):
            continue
        table = archive.table(name)
        for text, thread in zip(table.get("Name", []), table.get("TID", [])):
            if found := _LAUNCHER.match(str(text)):
                out[int(thread)] = int(found[1])
    return out


def _modules(archive: _Archive) -> dict[str, list[tuple[int, str]]]:
    """Compiled modules by name: (program, file)."""
    out: dict[str, list[tuple[int, str]]] = {}
    for name in archive.names:
        if name.endswith("after_optimizations.hlo.pb.xz"):
            program, _, rest = name.rsplit("/", 1)[-1].partition(".")
            digits = program.rsplit("_", 1)[-1]
            out.setdefault(rest.partition(".")[0], []).append((int(digits) if digits.isdigit() else -1, name))
    return out


def _events(archive: _Archive, rank: int) -> dict[int, list[dict[str, Any]]]:
    """Kernels of every device."""
    names = [one for one in archive.names if one.endswith(".parquet") and "nvtx_gpu_proj_trace" in one]
    if not names:
        raise RequestError(f"{archive.path}: holds no nvtx_gpu_proj_trace/*.parquet; name an archive that nsys-jax wrote")
    devices, modules = _devices(archive), _modules(archive)
    known: dict[str, dict[str, Collective]] = {}

    def collectives(name: str, program: int) -> dict[str, Collective]:
        files = modules.get(name, [])
        file = next((path for number, path in files if number == program), files[0][1] if files else "")
        if file not in known:
            try:
                packed = lzma.LZMADecompressor().decompress(archive.read(file), _MOST_MODULE) if file else b""
                known[file] = collectives_of(packed)
            except (ValueError, lzma.LZMAError, EOFError) as error:
                raise RequestError(f"{archive.path}: {file}: is no compiled module of XLA: {error}") from None
        return known[file]

    out: dict[int, list[dict[str, Any]]] = {}
    for name in names:
        table = archive.table(name)
        texts, starts = _column(table, "Name", "Text"), _column(table, "Projected Start", "Start")
        lengths, ends = _column(table, "Projected Duration"), _column(table, "End")
        stacks, threads = _column(table, "RangeStack", "Range Stack"), _column(table, "TID")
        if texts is None or starts is None or stacks is None or (lengths is None and ends is None):
            raise RequestError(f"{archive.path}: {name}: lacks names, times or stacks of ranges; write the archive again")
        parts = [stack.split(":") if isinstance(stack, str) else stack or [] for stack in stacks]
        paths = [[int(one) for one in part if str(one).strip()] for part in parts]
        programs = {path[-1]: (named[1], int(named[2] or -1))
                    for text, path in zip(texts, paths) if path and (named := _MODULE.match(str(text)))}
        thunks = [(place, thunk[1]) for place, text in enumerate(texts) if paths[place] and (thunk := _THUNK.match(str(text)))]
        outer = {one for place, _ in thunks for one in paths[place][:-1]}
        for place, instruction in thunks:
            path = paths[place]
            if path[-1] in outer:
                continue  # what is inside it is the work
            owner, program = next((programs[one] for one in reversed(path) if one in programs), ("", -1))
            length = lengths[place] if lengths is not None else ends[place] - starts[place]  # type: ignore[index]
            device = devices.get(int(threads[place]), rank) if threads else rank
            event: dict[str, Any] = {"ph": "X", "cat": "kernel", "name": instruction, "pid": device, "tid": 0, "ts": starts[place] / 1e3,
                                     "dur": length / 1e3, "args": {"stream": 0}}
            if (found := collectives(owner, program).get(instruction)) is not None:
                operation, kernel, grows = _COLLECTIVES[found.operation]
                event |= {"name": f"ncclDevKernel_{kernel}", "tid": 1}
                group = next((one for one in found.groups if device in one), [])
                event["args"] = {"stream": 1, "Collective name": operation, "dtype": found.dtype, "In msg nelems": found.elements,
                                 "Process Group Name": f"xla {','.join(map(str, sorted(group)))}"[:64].rstrip(" ,"), "size": len(group),
                                 "grows": grows, "Process Group Ranks": sorted(group)}
            out.setdefault(device, []).append(event)
    return out


def convert(archives: Sequence[str | pathlib.Path], folder: str | pathlib.Path) -> list[pathlib.Path]:
    """Writes traces of all devices of the archives, one file each, into a folder that is made if need be; their names.

    The device of a process is in the archive (newer nsys-jax), else the number that its name ends with (proc3.zip), else its place.
    RequestError for what is no archive of nsys-jax, ImportError without pyarrow. Archives that do not fit leave nothing half-written.
    """
    devices: dict[int, list[dict[str, Any]]] = {}
    for place, path in enumerate(map(pathlib.Path, archives)):
        number = re.search(r"(\d+)$", path.stem)
        for device, events in _events(_Archive(path), int(number[1]) if number else place).items():
            if device in devices:
                raise RequestError(f"{path}: device {device} is in another archive, too; name files by their process: proc0.zip, proc1.zip")
            devices[device] = events
    world = max(devices, default=-1) + 1
    target = pathlib.Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    out = []
    for device, events in sorted(devices.items()):
        for event in events:
            if "size" in (args := event["args"]):
                size = args.pop("size") or world
                args |= {"Group size": size, "Out msg nelems": int(args["In msg nelems"] * args.pop("grows")(size))}
                args["Process Group Ranks"] = str(args["Process Group Ranks"] or list(range(world)))
        out.append(target / f"rank{device}.json")
        trace = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": device, "world_size": world}, "traceEvents": events}
        out[-1].write_text(json.dumps(trace), encoding="utf-8")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fabricost.nsys_jax", description="Archives of nsys-jax as traces for fabricost trace")
    parser.add_argument("archives", nargs="+", metavar="ARCHIVE", help="a zip that nsys-jax wrote, or its unpacked folder; one a process")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the traces go")
    given = parser.parse_args()
    try:
        print(f"{len(convert(given.archives, given.output))} traces in {given.output}")
    except (RequestError, ImportError, OSError) as error:
        print(f"fabricost.nsys_jax: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
