"""ASTRA-sim's analytical network, its system layer, and a Chakra trace of one collective for each rank.

A dimension of ASTRA-sim's `Switch` takes, for each of 2 (n - 1) steps of a ring all-reduce of S bytes, two latencies and S / n bytes
at its bandwidth:

    t(S) = 2 (n - 1) (2 latency + S / n / bandwidth)

Latency and bandwidth are those with which t equals the prediction at `size` and at a quarter of it. A GB is 2^30 bytes there.
"""
from __future__ import annotations

import json
from typing import Any

from .. import _core
from ..names import operations
from .shared import Format, Made, Option

_KINDS = {"all_reduce": 0, "all_gather": 2, "all_to_all": 6, "reduce_scatter": 7}  # CollectiveCommType of Chakra's et_def.proto
_COLLECTIVE_NODE = 7                                                               # COMM_COLL_NODE
_GB = 2**30


def closed_form(ranks: int, latency_ns: float, bandwidth_GBps: float, size: float) -> float:
    """Seconds of ASTRA-sim's ring all-reduce on one Switch dimension."""
    return 2 * (ranks - 1) * (2 * latency_ns * 1e-9 + size / ranks / (bandwidth_GBps * _GB))


_SPAN = [2.0**k for k in range(-4, 5)]  # of the sizes over which the difference is told, around the one asked


def _dimension(ranks: int, sizes: list[float], times: list[float]) -> tuple[float, float]:
    """Latency in ns and bandwidth in GB/s with which the closed form has these times at `size` and at a quarter of it."""
    small, large = _SPAN.index(0.25), _SPAN.index(1)
    slope = (times[large] - times[small]) / (sizes[large] - sizes[small])
    if slope <= 0:
        raise _core.RequestError(f"size: the time of a dimension of {ranks} does not grow up to {sizes[large]:.4g} bytes, which ASTRA-sim's "
                                 "network cannot say; take a larger size")
    fixed = max(0.0, times[large] - slope * sizes[large])  # a curve that steepens has no latency in this form
    return fixed / (4 * (ranks - 1)) * 1e9, 2 * (ranks - 1) / ranks * sizes[large] / (times[large] - fixed) / _GB


def _times(system: Any, sizes: list[float], ranks: int, nodes: int) -> list[float]:
    return [float(one) for one in _core.predict(system, operations["all_reduce"](bytes=sizes, ranks=ranks, nodes=nodes)).seconds]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, value: int | str | bytes) -> bytes:
    """One field of a protobuf message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _delimited(message: bytes) -> bytes:
    return _varint(len(message)) + message


def trace(operation: str, size: float, name: str = "fabricost") -> bytes:
    """A Chakra execution trace with one collective, as each rank has it."""
    def attribute(key: str, field: int, value: int) -> bytes:
        return _field(10, _field(1, key) + _field(field, value))

    node = (_field(1, 1) + _field(2, f"{name}.{operation}") + _field(3, _COLLECTIVE_NODE) + attribute("is_cpu_op", 27, 0)
            + attribute("comm_type", 9, _KINDS[operation]) + attribute("comm_size", 9, round(size)))
    return _delimited(_field(1, "0.0.4")) + _delimited(node)


def chakra(ranks: int, operation: str, size: float) -> Made:
    return Made({f"workload.{rank}.et": trace(operation, size) for rank in range(ranks)},
                [f"One {operation} of {size:.0f} bytes for each of {ranks} ranks."])


def network(system: Any, nodes: int, operation: str, size: float) -> Made:
    """The domain is one dimension, what joins domains a second, which has the time of the whole less that inside a domain."""
    gpus, inside = system.gpus_per_node * nodes, min(system.domain, system.gpus_per_node * nodes)
    if gpus % inside or gpus < 2:
        raise _core.RequestError(f"nodes: {gpus} GPUs are {'too few' if gpus < 2 else f'no whole number of domains of {inside}'}")
    sizes = [size * part for part in _SPAN]
    whole = _times(system, sizes, gpus, nodes)
    dimensions, first = [], [0.0] * len(sizes)
    if inside > 1:
        first = _times(system, sizes, inside, inside // system.gpus_per_node)
        dimensions.append((inside, *_dimension(inside, sizes, first)))
    if gpus > inside:
        dimensions.append((gpus // inside, *_dimension(gpus // inside, [s / inside for s in sizes], [w - f for w, f in zip(whole, first)])))
    away = 0.0
    for s, time in zip(sizes, whole):
        parts, left = 0.0, s
        for n, latency, bandwidth in dimensions:
            parts, left = parts + closed_form(n, latency, bandwidth, left), left / n
        away = max(away, abs(parts / time - 1))
    listed = {"topology": ["Switch"] * len(dimensions), "npus_count": [d[0] for d in dimensions],
              "bandwidth": [round(d[2], 4) for d in dimensions], "latency": [round(d[1], 3) for d in dimensions]}
    text = "".join(f"{key}: [{', '.join(map(str, value))}]\n" for key, value in listed.items())
    rings = ["ring"] * len(dimensions)
    layer = {"scheduling-policy": "LIFO", "endpoint-delay": 0, "active-chunks-per-dimension": 1, "preferred-dataset-splits": 1,
             **{f"{one}-implementation": rings for one in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")},
             "collective-optimization": "baseline", "local-mem-bw": round(system.tiers["hbm"].bytes_per_second / 1e9), "boost-mode": 0}
    return Made({"network.yml": f"# {system.name}, {gpus} GPUs; predicted by fabricost. GB are 2^30 bytes, latency is in ns.\n{text}".encode(),
                 "system.json": (json.dumps(layer, indent=2) + "\n").encode(),
                 "memory.json": (json.dumps({"memory-type": "NO_MEMORY_EXPANSION"}) + "\n").encode(), **chakra(gpus, operation, size).files},
                [f"ASTRA-sim's ring all-reduce over {gpus} GPUs equals the prediction at {size / 2**20:g} MiB, and is within {100 * away:.1f} % of it "
                 "from a sixteenth to 16 times that.",
                 "AstraSim_Analytical_Congestion_Unaware --workload-configuration=FOLDER/workload --system-configuration=FOLDER/system.json "
                 "--network-configuration=FOLDER/network.yml --remote-memory-configuration=FOLDER/memory.json"])


_OPERATION = Option("operation", "word", "all_reduce all_gather all_to_all reduce_scatter; default all_reduce", "all_reduce", tuple(_KINDS))
_SIZE = Option("size", "bytes", "of the buffer; default 256MiB", "256MiB")
FORMATS = [
    Format("astra-sim", "ASTRA-sim: analytical network, system layer, and a Chakra workload", network, (
        Option("nodes", "count", "as nccl-tests counts them; default one", 1), _OPERATION, _SIZE), folder=True,
        example="fabricost export astra-sim --system dgx-h100 --nodes 4 -o astra"),
    Format("chakra", "Chakra: execution traces of one collective", chakra, (
        Option("ranks", "count", "how many traces", needed=True), _OPERATION, _SIZE), folder=True, machine=False,
        example="fabricost export chakra --ranks 8 --size 64MiB -o traces"),
]
