"""Figures of experts beside the model: distinct nodes that a token touches, the fullest expert of random routing, bandwidth of dispatch and
combine that send a token once per node (as DeepEP counts it, from NCCL's exchange over the same NICs: nothing is fitted to kernels),
low-latency kernels, NCCL's all_to_all, experts that a node can hold for one copy across. Others give the reason why they are not predicted."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import fabricost as fc

from .. import _core
from ._table import Row, Skipped, frame_of

COLUMNS = ["id", "group", "topic", "experts", "top_k", "hidden", "tokens_per_rank", "gpu", "gpus", "method", "gpus_per_node", "interconnect",
           "quantity", "value", "unit"]

# GPU, words of its interconnect, machine
_MACHINES = (("H800", "", "deepseek-v3-h800"), ("H100", "EFA", "aws-p5"), ("B200", "EFA", "aws-p6-b200"), ("B300", "EFA", "aws-p6-b300"),
             ("H200", "CX7", "nebius-h200"))
_load = cache(fc.load_system)


def _machine(row: Row) -> Any:
    for gpu, wires, system in _MACHINES:
        if row["gpu"] == gpu and wires in row["interconnect"]:
            return _load(system)
    raise Skipped(f"no machine is described for {row['gpu'] or 'a row without GPU'} {row['interconnect']}")


def _shape(row: Row, prefix: str = "") -> tuple[int, int, int, int, float]:
    shape = (row.count("experts"), row.count("top_k"), row.count("hidden"), row.count("gpus"))
    tokens = row.number("tokens_per_rank", 1e12)
    if min(shape[:3]) < 1 or shape[3] < 2 or not tokens > 0:
        raise Skipped(f"{prefix}experts, top_k, hidden, GPUs or tokens not given")
    return *shape, tokens


def _low_latency(row: Row, quantity: str) -> float:
    """DeepEP's low-latency kernels, in microseconds or as the bytes of all copies over the time."""
    experts, top_k, hidden, ranks, tokens = _shape(row, "low-latency: ")
    if ("dispatch" in quantity) == ("combine" in quantity) or row["unit"] not in ("us", "GB/s"):
        raise Skipped("low-latency: dispatch and combine in one figure")
    if "EFA" in row["interconnect"]:
        raise Skipped("low-latency: GPUs cannot start EFA's transfers themselves, as these kernels do")
    phase = fc.MoeDispatch if "dispatch" in quantity else fc.MoeCombine
    asked = phase(tokens, hidden=hidden, experts=experts, top_k=top_k, ranks=ranks, implementation="deepep-low-latency", distribution="balanced")
    found = fc.predict_moe(_machine(row), asked)
    return found.seconds * 1e6 if row["unit"] == "us" else found.algorithm_bytes_per_second / 1e9


def _predict(row: Row) -> float:
    quantity, topic, unit = row["quantity"], row["topic"], row["unit"]
    if topic == "dedup":
        said = re.search(r"top-(\d+) of (\d+) on (\d+) nodes", quantity)
        if not said:
            raise Skipped("says not which experts on which nodes")
        k, experts, nodes = map(int, said.groups())
        return nodes * (1 - math.comb(experts - experts // nodes, k) / math.comb(experts, k))
    if "max expert load over mean" in quantity:
        asked = row.count("experts"), row.count("top_k"), row.number("tokens_per_rank", 1e12)
        if min(asked) < 1:
            raise Skipped("experts, top_k or tokens not given")
        return _core._expert_imbalance(*asked)
    if "experts per node" in quantity:
        system, size = _machine(row), 1e9  # large, so that it shows the rate
        inside = (system.domain - 1) / system.domain * size / fc.predict(system, fc.AllToAll(size, ranks=system.domain)).seconds
        nic = system.tiers["nic"]
        return float(inside / (nic.endpoints * nic.bytes_per_second / system.gpus_per_node))
    if "NCCL all-to-all busbw" in quantity:
        system, ranks = _machine(row), row.count("gpus")
        if ranks < 2:
            raise Skipped("number of GPUs not given")
        return float(fc.predict(system, fc.AllToAll(64 * fc.MiB, ranks=ranks)).bus_bytes_per_second / 1e9)
    kernel = "dispatch" in quantity or "combine" in quantity
    if kernel and ("low-latency" in row["method"] or "low latency" in topic or "low-latency" in topic):
        return _low_latency(row, quantity)
    if kernel and unit == "GB/s":  # fp8 out and bf16 back unless the row says bf16
        experts, top_k, hidden, ranks, tokens = _shape(row)
        token = hidden * (1 + 4 / 128) if "dispatch" in quantity and "bf16" not in row["notes"] else 2 * hidden
        return _core._bandwidth_per_node(_machine(row), experts, top_k, token, ranks, tokens) / 1e9
    if "fraction" in unit or unit == "x":
        raise Skipped("a share or a speed-up without the shape it belongs to")
    raise Skipped("nothing that is modelled")


def predicted(rows: Sequence[Row]) -> Any:
    return frame_of(rows, "quantity", _predict, model="method")
