"""The terms of predicted times as stacked bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import shared, style
from .._core import Operation, System, predict
from .curves import _against, _changed, _size_asked, where


def terms(
    system: System | str,
    operation: Operation | str,
    against: str = "size",
    values: Any = None,
    *,
    share: bool | None = None,
    ax: Any = None,
    **choice: Any,
) -> Any:
    """The terms of a predicted time, stacked, against message size, ranks or nodes: colours are tiers, patterns are kinds of terms.

    share: percent of the time instead of time; the default if times differ by more than a factor of 20. Times are above the bars.
    values: bytes, ranks or nodes; by default 1 KiB to 16 GiB, or one node times powers of two up to 1,024.

    Returns the axes. Raises RequestError as predict does.
    """
    system, operation = shared.machine_of(system), shared.operation_of(operation)
    x = _against(system, operation, against, values)
    p = predict(system, _changed(operation, against, x), **choice)
    share = bool(p.seconds.max() / p.seconds.min() > 20) if share is None else share
    rows = [{(t.name, t.tier): t.seconds for t in one.terms} for one in p]
    seen = list(dict.fromkeys(key for row in rows for key in row))
    kinds = sorted(seen, key=lambda key: (key[0] != "launch", key[0] in ("wire", "kernels"), seen.index(key)))
    scale = 100 / p.seconds if share else np.full(len(x), 1e6 if p.seconds.max() < 1e-3 else 1e3)
    ax = style.axes(ax, height=4.4)
    style.grid(ax, "y")
    place, floor = np.arange(len(x)), np.zeros(len(x))
    for name, tier in kinds:
        part = np.array([row.get((name, tier), 0.0) for row in rows]) * scale
        colour = style.tier_colour(tier)
        ax.bar(
            place,
            part,
            bottom=floor,
            width=0.8,
            color=colour,
            hatch=style.TERM_HATCHES.get(name, "++"),
            edgecolor=style.ink(colour),
            linewidth=0.4,
            label=f"{name} ({tier})",
        )
        floor += part
    labels = [style.size_text(v).replace(" ", "\n") for v in x] if against == "size" else [f"{v:,}" for v in x]
    ax.set_xticks(place, labels)
    ax.tick_params(labelsize=style.SMALL)
    ax.set_xlabel({"size": "message size", "ranks": "ranks (GPUs)", "nodes": "nodes"}[against])
    if share:
        ax.set_yticks(range(0, 101, 20))
    ax.set_ylabel("share of the time, %" if share else f"time, {'us' if scale[0] == 1e6 else 'ms'}")
    fixed = where(p[0].ranks, p[0].nodes) if against == "size" else _size_asked(operation)
    style.title(ax, f"{system.name}, {p[0].operation.collective}, {fixed}")
    style.legend(ax, columns=2, below=50 if against == "size" else 38)
    _totals(ax, place, floor, p.seconds)
    return ax


def _totals(ax: Any, place: np.ndarray, floor: np.ndarray, seconds: np.ndarray) -> None:
    """Times above the bars; vertical if they would overlap."""
    labels = [style.seconds_text(s) for s in seconds]
    style.settle(ax)
    box = ax.get_window_extent()
    turned = max(style.text_width(one, style.SMALL) for one in labels) > box.width / ax.figure.dpi * 72 / len(place)
    tall = (max(style.text_width(one, style.SMALL) for one in labels) if turned else 1.6 * style.SMALL) / (box.height / ax.figure.dpi * 72)
    ax.set_ylim(0, floor.max() / (1 - tall - 0.03))
    for x, y, label in zip(place, floor, labels):
        ax.annotate(
            label, (x, y), (0, 2), textcoords="offset points", ha="center", va="bottom", rotation=90 if turned else 0, fontsize=style.SMALL
        )
