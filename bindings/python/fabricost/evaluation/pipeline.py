"""Figures of pipeline schedules: bubbles, throughput, activations (Qi 2023, Korthikanti 2022, Huang 2019) beside fc.pipeline.

    bubble_rate                  bubble / (work + bubble); of zb_2p, whose order is searched, as it runs
    samples_per_gpu_per_s        m b / (p step), step = (1 + stretch) work + bubble + 2 v m C (data/workloads/pipeline.yaml)
    activations_first_stage,
    params_grads_optimizer_per_gpu,
    activation_percent_of_TP_baseline    Korthikanti 2022 (arXiv 2205.05198)
    normalised_throughput        GPipe on even stages over its first row: p m / (m + p - 1)

Stage times that a row lacks are those of the same model, else of the model nearest in width, scaled by layers, FLOPs and tokens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import fabricost as fc

from ._data import data
from ._table import Row, Skipped, frame_of

COLUMNS = ["id", "group", "schedule", "metric", "value"]


@dataclass
class Setting:
    """The pipeline of stage times (forward, backward, weight, exchange in seconds). Counts are 0 if unknown."""

    model: str
    layers: int
    hidden: int
    heads: int
    sequence: int
    stages: int
    microbatch: int
    times: tuple[float, ...]

    @property
    def tokens(self) -> int:
        return self.microbatch * self.sequence

    @property
    def complete(self) -> bool:
        return min(self.layers, self.hidden, self.heads, self.sequence, self.stages, self.microbatch) > 0

    @property
    def stage_layers(self) -> float:
        """The first and last stage have one layer fewer, for the embedding and the logits (Qi 2023)."""
        return (self.layers + 2) / self.stages

    @property
    def layer_work(self) -> float:
        """FLOPs of a layer per token, up to a constant (Narayanan 2021, arXiv 2104.04473, eq. 3)."""
        return self.hidden * self.hidden * (1 + self.sequence / (6 * self.hidden))

    @property
    def held(self) -> float:
        """Fraction of a layer's activations that the weight gradient holds (Qi 2023; Korthikanti 2022)."""
        return 32 / (34 + 5 * self.heads * self.sequence / self.hidden) if self.complete else 32 / 34


def _setting(row: Row) -> Setting:
    layers, hidden, heads, sequence, stages, microbatch = (row.count(column) for column in ("layers", "hidden", "heads", "seq", "p", "microbatch"))
    times = tuple(1e-3 * row.number(column, 1e7) for column in ("t_f_ms", "t_b_ms", "t_w_ms", "t_comm_ms"))
    return Setting(row["model"], layers, hidden, heads, sequence, stages, microbatch, times)


class _Model:
    def __init__(self, rows: Sequence[Row]) -> None:
        facts = data("workloads/pipeline.yaml")
        self.stretch, self.filling = facts["stretch"], facts["filling_tokens"]
        names = ("model", "layers", "hidden", "heads", "sequence", "stages", "microbatch")
        self.profiles = [Setting(**{name: p[name] for name in names}, times=tuple(1e-3 * p[f"{part}_ms"] for part in ("forward", "backward", "weight", "exchange")))
                         for p in facts["profiles"]]
        self.profiles += [s for s in map(_setting, rows) if s.complete and sum(s.times[:3]) > 0]

    def times(self, s: Setting) -> tuple[float, ...]:
        if sum(s.times[:3]) > 0:
            return s.times
        if not s.complete:
            raise Skipped("neither stage times nor a shape are given")
        near = min(self.profiles, key=lambda p: -1 if p.model == s.model else abs(math.log(p.hidden / s.hidden)))
        work = s.stage_layers / near.stage_layers * s.layer_work / near.layer_work * (s.tokens + self.filling) / (near.tokens + self.filling)
        return *(work * t for t in near.times[:3]), near.times[3] * s.tokens * s.hidden / (near.tokens * near.hidden)

    def run(self, row: Row, s: Setting) -> Any:
        m = row.count("m")
        if not s.stages or not m:
            raise Skipped("p or m is not given")
        if not s.microbatch and row["metric"] != "bubble_rate":
            raise Skipped("microbatch is not given")
        forward, backward, weight, exchange = self.times(s)
        return _run(row, s, m, forward_seconds=forward, backward_seconds=backward, weight_seconds=weight, exchange_seconds=exchange)

    def __call__(self, row: Row) -> float:
        s, metric, m = _setting(row), row["metric"], row.count("m")
        if metric in ("bubble_rate", "samples_per_gpu_per_s"):
            run = self.run(row, s)
            bubble = run.bubble_seconds if run.schedule == "zb_2p" else run.closed_form_bubble_seconds
            if metric == "bubble_rate":
                return float(bubble / (run.work_seconds + bubble))
            waited = 2 * run.chunks * m * self.times(s)[3] if s.stages > 1 else 0
            return float(m * s.microbatch / (s.stages * ((1 + self.stretch) * run.work_seconds + bubble + waited)))
        if metric in ("activations_first_stage", "params_grads_optimizer_per_gpu", "activation_percent_of_TP_baseline"):
            return _memory(row, s)
        if metric == "normalised_throughput":
            if "Transformer" not in row["model"]:
                raise Skipped("its stages are uneven, by how much is not given")
            if not s.stages or not m:
                raise Skipped("p or m is not given")
            return s.stages * m / (m + s.stages - 1)
        raise Skipped(f"{metric} is not predicted from a schedule alone")


def _run(row: Row, s: Setting, m: int, **options: Any) -> Any:
    """Interleaved rows that do not state their chunks have one layer each (Qi 2023)."""
    name: Any = row["schedule"]
    schedule, splits = fc._core._schedule(name)
    interleaved = schedule == "interleaved"
    chunks = row.count("v") if interleaved else 1
    if not chunks:
        if not s.layers or s.stage_layers != int(s.stage_layers):
            raise Skipped("v is not given")
        chunks = int(s.stage_layers)
    if interleaved:
        options["chunks"] = chunks
    if splits:
        options["held"] = s.held
    return fc.pipeline(schedule=name, stages=s.stages, microbatches=m, **options)


def _activations(row: Row, s: Setting, sequence_parallel: bool, selective: bool, full: bool) -> float:
    """Bytes of a layer's activations per s b h (Korthikanti 2022)."""
    t = row.count("tp")
    if full:
        return 2
    return (34 / t if sequence_parallel else 10 + 24 / t) + (0 if selective else 5 * s.heads * s.sequence / (s.hidden * t))


def _memory(row: Row, s: Setting) -> float:
    if not s.complete or not row.count("tp"):
        raise Skipped("the shape or the layout is not complete")
    if row["metric"] == "params_grads_optimizer_per_gpu":  # 18 bytes per parameter, of which a layer has 12 h^2: 2 weight, 4 gradient, 12 optimizer
        return 18 * 12 * s.layers * s.hidden * s.hidden / (row.count("tp") * s.stages) / fc.GiB
    which = row["notes"].partition(";")[0]  # the paper's techniques in use, and then the topic of the table
    none = "no SP" in which or which == "none"
    full, selective, sequence = "full" in which, "selective" in which, not none and "SP" in which
    if not (none or full or selective or sequence):
        raise Skipped("the notes do not say which activations are kept")
    layer = _activations(row, s, sequence, selective, full)
    if row["metric"] == "activation_percent_of_TP_baseline":
        return 100 * layer / _activations(row, s, False, False, False)
    held = _run(row, s, row.count("m") or 2 * s.stages, forward_seconds=1.0).peak_activations[0]
    return float(held * s.layers / s.stages * layer * s.tokens * s.hidden / fc.GiB)


def _figure(row: Row) -> float:
    if row["unit"] == "formula":
        raise Skipped("the value is a formula")
    value = row.number("value", 1e15)
    if not value:
        raise Skipped("the value is 0 or empty")
    return value


def predicted(rows: Sequence[Row]) -> Any:
    return frame_of(rows, "metric", _Model(rows), figure=_figure)
