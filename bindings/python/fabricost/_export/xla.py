"""XLA's performance tables, text proto of xla.gpu.DeviceHloInstructionProfiles and xla.GemmPerfTable.

XLA takes the entry whose bytes are nearest, of an equal group and type if there is one, else of the nearest size and then group: so
every group has the same sizes in bytes, and they are dense. Bytes are of the whole buffer: all-reduce's, all-gather's output,
reduce-scatter's input, the sizes of nccl-tests.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core
from ..names import operations
from .shared import Format, Made, Option, powers_up_to

_OPCODES = {"all-reduce": "all_reduce", "all-gather": "all_gather", "reduce-scatter": "reduce_scatter", "all-to-all": "all_to_all"}
_TYPES = {"bf16": ("BF16", "bfloat16", 2), "f16": ("F16", "half", 2), "f32": ("F32", "float", 4)}
# operands and result of a product as XLA spells them, and the precision that prices it
_PRODUCTS = {"bf16xbf16->bf16": "bf16", "f8e4m3fnxf8e4m3fn->bf16": "fp8", "f8e4m3fnxf8e5m2->bf16": "fp8", "f8e5m2xf8e4m3fn->bf16": "fp8"}
_SIDES = (256, 512, 1024, 2048, 4096)  # of XLA's own table of products, which it extends by rules beyond these
_BATCHES = (1, 2, 4)


def device_key(system: Any, key: str | None) -> str:
    """The name by which XLA knows the GPU. Raises RequestError where the machine's file has no architecture."""
    if key:
        return key
    arch = _core._gpu_facts(system)["arch"]
    if not arch:
        raise _core.RequestError(f"key: the file of {system.gpu} names no architecture; give XLA's name of the device as key, as in sm_90 or gfx942")
    return f"{arch}_{system.gpu.partition('-')[0].upper()}" if arch == "sm_100" else arch  # B200 and GB200 share sm_100


def _shape(element: str, *dimensions: int) -> str:
    order = " ".join(f"minor_to_major: {at}" for at in reversed(range(len(dimensions))))
    dims = " ".join(f"dimensions: {size}" for size in dimensions)
    return (f"shape {{ element_type: {element} {dims} layout {{ {order} tail_padding_alignment_in_elements: 1 }} "
            + " ".join(["is_dynamic_dimension: false"] * len(dimensions)) + " }")


def _collective(opcode: str, element: str, elements: int, ranks: int) -> str:
    everyone = "use_global_device_ids: true " if opcode in ("all-reduce", "reduce-scatter", "all-gather") else ""
    return (f'instruction {{ name: "_" opcode: "{opcode}" {_shape(element, elements)} dimensions: 0 channel_id: 1 {everyone}'
            f"iota_collective_device_list {{ num_replica_groups: 1 num_devices_per_group: {ranks} iota_reshape_dims: {ranks} "
            "iota_transpose_perm: 0 } }")


def _table(key: str, entries: list[str]) -> bytes:
    return ('# proto-message: xla.gpu.DeviceHloInstructionProfiles\n# Predicted by fabricost, not measured.\n'
            f'entries {{\n  key: "{key}"\n  value {{\n' + "".join(f"    entries {{ {one} }}\n" for one in entries) + "  }\n}\n").encode()


def _nearest_error(seconds: Any, sizes: Any, exact: Any, asked: Any) -> Any:
    """|time by the nearest entry / time - 1| at the sizes asked."""
    at = np.abs(np.asarray(sizes)[None, :] - asked[:, None]).argmin(axis=1)
    return np.abs(asked * np.asarray(seconds)[at] / np.asarray(sizes)[at] / exact - 1)


def collectives(system: Any, ranks: list[int] | None, sizes: list[float], types: list[str], key: str | None) -> Made:
    """Groups within one domain, since XLA asks this table for no others."""
    if system.domain < 2:
        raise _core.RequestError(f"system: {system.name} joins no GPUs by links of their own, and XLA asks this table for such groups only")
    groups = ranks or powers_up_to(system.domain)
    if max(groups) > system.domain or min(groups) < 2:
        raise _core.RequestError(f"ranks: XLA asks this table for groups within a domain, which has 2 to {system.domain} GPUs on {system.name}")
    name = device_key(system, key)
    grain = math.lcm(*groups) * 4  # so that each group has the same bytes in whole elements
    grid = np.unique(np.maximum(1, np.rint(np.asarray(sizes) / grain)) * grain)
    asked = np.exp(np.random.default_rng(0).uniform(np.log(grid[0]), np.log(grid[-1]), 200))
    entries, errors = [], []
    for opcode, operation in _OPCODES.items():
        for written in types if opcode in ("all-reduce", "reduce-scatter") else types[:1]:  # XLA looks up the others without a type
            element, dtype, width = _TYPES[written]
            for n in groups:
                def priced(at: Any, operation: str = operation, n: int = n, dtype: str = dtype) -> Any:
                    return np.asarray(_core.predict(system, operations[operation](bytes=at, ranks=n, dtype=dtype)).seconds)

                seconds = priced(grid)
                errors.append(_nearest_error(seconds, grid, priced(asked), asked))
                of_output = n if opcode == "reduce-scatter" else 1
                for size, time in zip(grid, seconds):
                    entries.append(f"{_collective(opcode, element, int(size) // width // of_output, n)} "
                                   f"network_throughput_bytes_per_sec: {round(size / time)}")
    away = 100 * np.concatenate(errors)
    return Made({"": _table(name, entries)}, [
        f"{len(entries)} entries of {name}, groups of {', '.join(map(str, groups))}, {grid.size} sizes; XLA takes the nearest size, which is "
        f"off the prediction by {np.median(away):.1f} % in the median and {away.max():.1f} % at most, where NCCL's choice changes between two sizes.",
        "XLA_FLAGS=--xla_gpu_experimental_collective_perf_table_path=FILE"])


def products(system: Any, form: str, key: str | None) -> Made:
    """Matrix products: the table that a flag replaces, or an entry of the one that XLA is built with."""
    name = device_key(system, key)
    shapes = [(b, m, n, k) for b in _BATCHES for m in _SIDES for k in _SIDES for n in _SIDES]
    b, m, n, k = np.array(shapes, dtype=float).T
    rates = {}
    for types, precision in _PRODUCTS.items():
        if precision in system.flops_per_second or precision == "bf16":
            rates[types] = 2 * b * m * n * k / np.array(_core._product_seconds(system, precision, b * m, n, k, b))
    if form == "embedded":
        rows = [f"    entries {{ b: {b} m: {m} n: {n} k: {k}" + "".join(
            f' flops {{ key: "{types}" value: {round(rate[at])} }}' for types, rate in rates.items()) + " }\n"
            for at, (b, m, n, k) in enumerate(shapes)]
        text = (f'# proto-message: xla.GemmPerfTable\n# Predicted by fabricost, not measured.\nentries {{\n  key: "{name}"\n  value {{\n'
                + "".join(rows) + "  }\n}\n")
        return Made({"": text.encode()}, [f"{len(shapes)} shapes of {name}, {len(rates)} combinations of types; f32 is not predicted.",
                                          "An entry of xla/service/gpu/model/default_matmul_perf_table.txtpb."])
    clock = _core._gpu_facts(system)["clock_hz"]
    if not clock:
        raise _core.RequestError(f"system: the file of {system.gpu} names no clock, in whose cycles this table counts; use form embedded")
    entries = []
    for (b, m, n, k), rate in zip(shapes, rates["bf16xbf16->bf16"]):
        operands = " ".join(f'operands {{ name: "_" opcode: "parameter" {_shape("BF16", b, *dims)} }}' for dims in ((m, k), (k, n)))
        entries.append(f'instruction {{ name: "_" opcode: "dot" {_shape("BF16", b, m, n)} dot_dimension_numbers {{ lhs_contracting_dimensions: 2 '
                       f"rhs_contracting_dimensions: 1 lhs_batch_dimensions: 0 rhs_batch_dimensions: 0 }} }} {operands} "
                       f"clock_cycles: {round(2 * b * m * n * k / rate * clock)}")
    return Made({"": _table(name, entries)}, [
        f"{len(entries)} products in bf16 of {name}, in cycles of {clock / 1e6:.0f} MHz; XLA divides by the clock that the device reports.",
        "XLA_FLAGS=--xla_gpu_experimental_matmul_perf_table_path=FILE"])


_KEY = Option("key", "word", "XLA's name of the device; default from the GPU's file, as sm_90")
FORMATS = [
    Format("xla", "XLA: table of collectives for the latency-hiding scheduler (JAX)", collectives, (
        Option("ranks", "counts", "sizes of groups; default powers of two up to the domain, and the domain"),
        Option("sizes", "sizes", "bytes of the buffer; default 1KiB:4GiB:x1.15", "1KiB:4GiB:x1.15"),
        Option("types", "words", "of elements: bf16 f16 f32; default bf16,f32", "bf16,f32", tuple(_TYPES)), _KEY),
        example="fabricost export xla --system gb200-nvl72 -o table.pbtxt"),
    Format("xla-matmul", "XLA: table of matrix products for its cost model", products, (
        Option("form", "word", "flag: read by a flag; embedded: an entry of XLA's own table; default flag", "flag", ("flag", "embedded")), _KEY),
        example="fabricost export xla-matmul --system gb200-nvl72 --form embedded -o gb200.txtpb"),
]
