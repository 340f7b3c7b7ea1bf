"""Published services under requests that arrive beside fc.plan_serve(request_rate=...): TTFT, TPOT and the whole time of a request, in the mean.

A row names its GPU, tensor ranks, rate and mean lengths; notes that say "asked length N" mean the first N tokens of every prompt are in the prefix cache.
Nothing was fitted to such runs. The whole time has the interval of first token and of the tokens after it, both early and both late.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import fabricost as fc

from ._table import Row, Skipped, frame_of, pd
from .machines import machine_of
from .serving import stack_of

COLUMNS = ["id", "group", "model", "gpu", "tp", "rate_per_s", "isl_mean", "osl_mean", "ttft_mean_ms", "tpot_derived_ms", "e2e_mean_ms"]
_FIGURES = COLUMNS[-3:]


def _served(row: Row) -> Any:
    isl, osl = round(row.number("isl_mean")), round(row.number("osl_mean"))
    if min(isl, osl) < 1 or not row.number("rate_per_s") > 0:
        raise Skipped("rate or lengths not stated")
    cached = re.search(r"asked length (\d{1,7})", row["notes"])
    tp = max(1, row.count("tp"))
    return fc.plan_serve(machine_of(row["gpu"])[0], row["model"], gpus=tp, tp=tp, pp=1, isl=isl, osl=osl, request_rate=row.number("rate_per_s"), precision="bf16",
                         kv_precision="bf16", prefix=int(cached[1]) if cached else None, stack=stack_of(row["backend"]), top=1)[0]


def _measured(figure: str, row: Row) -> float:
    value = row.number(figure)
    if not value:
        raise Skipped("not measured")
    return value


def predicted(rows: Sequence[Row]) -> Any:
    """The three figures of every row with their predictions, in ms, each figure a group of its own."""
    served: dict[int, Any] = {}  # by line

    def answer(figure: str, row: Row) -> tuple[float, ...]:
        if row.line not in served:
            served[row.line] = _served(row)
        p = served[row.line]
        first, each = ((p.ttft_seconds, p.low_ttft_seconds, p.high_ttft_seconds), (p.tpot_seconds, p.low_tpot_seconds, p.high_tpot_seconds))
        if figure != "e2e_mean_ms":
            return tuple(1e3 * s for s in (first if figure == "ttft_mean_ms" else each))
        rest = p.arrivals.e2e.mean_seconds - first[0]
        return tuple(1e3 * (start + rest * token / each[0]) for start, token in zip(first, each))

    frames = [frame_of(rows, figure, partial(answer, figure), figure=partial(_measured, figure)) for figure in _FIGURES]
    return pd.concat([one.assign(group=one.group + ":" + figure, metric=figure) for one, figure in zip(frames, _FIGURES)], ignore_index=True)
