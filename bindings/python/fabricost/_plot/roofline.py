"""Rooflines: of arithmetic and memory after S. Williams, A. Waterman and D. Patterson, "Roofline: An Insightful Visual Performance
Model for Multicore Architectures", CACM 52(4):65 (2009); of messages, rate against size, as in N. Ding and others, "Evaluating the
Performance of One-sided Communication on CPUs and GPUs" (2023).

    rate(intensity) = min(arithmetic, bytes_per_second x intensity)         flop/s against flop/byte, a line for each tier
    rate(size)      = size / max(latency, size / bytes_per_second)          byte/s against bytes, a line for each tier
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._core import Operation, RequestError, System, predict
from .._given import number
from . import shared, style
from .curves import GB, Y_LABELS, _sizes, again, as_shown, where

TFLOP = 10**12
BEHIND = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}  # of texts on lines


def roofline(
    system: System | str,
    operation: Operation | str | None = None,
    sizes: Any = None,
    *,
    show: str | None = None,
    tiers: Sequence[str] | None = None,
    dtypes: Sequence[str] | None = None,
    points: Mapping[str, float] | None = None,
    label: str | None = None,
    color: Any = None,
    ax: Any = None,
    **choice: Any,
) -> Any:
    """The limits: flop/s against flop/byte for one GPU, or the rate of messages against their size, tier by tier.

    Without an operation and sizes, the roofline of one GPU: flat roofs are its dense arithmetic by type, slopes its tiers, in one
    direction; to be limited by arithmetic, a kernel must do at least as many operations a byte as where they meet. With sizes and no
    operation, one endpoint of each tier: bytes / max(latency, bytes / bytes_per_second). With an operation, the
    predicted rate, and the rate if only one tier took time: the prediction lies below all of them.

    show: flops without an operation and sizes; busbw or algbw (GB/s), or time, with them; by default busbw with an operation, else
    algbw.
    tiers: names of those to draw; by default all. sizes: bytes; by default 1 KiB to 16 GiB.
    dtypes: types of numbers, as in system.flops_per_second; by default bf16 and, without label and color,
    fp8 and fp4.
    points: kernels by name with their operations a byte, marked where they meet the roof of the memory (hbm).
    label, color: name and colour of all lines of this call, to put several machines on one picture with ax=.

    Returns the axes. Raises RequestError for a tier the system does not have, as predict does, and for axes that show something else.
    """
    system = shared.machine_of(system)
    operation = None if operation is None else shared.operation_of(operation)
    for name in tiers or ():
        system.tiers[name]  # its KeyError suggests near names
    flops = operation is None and sizes is None and show in (None, "flops")
    if (points is not None or dtypes is not None) and not flops:
        raise RequestError("points, dtypes: belong to a picture of flop/s, which is without operation and sizes")
    kernels = {name: float(number(one, "points")) for name, one in (points or {}).items()}
    for name, one in kernels.items():
        if not 0 < one < np.inf:
            raise RequestError(f"points: {name} does {one} operations a byte; a number above 0 is needed")
    ax = style.axes(ax)
    style.grid(ax)
    if flops:
        return _of_arithmetic(ax, system, tiers, dtypes, kernels, label, color)
    return _of_messages(ax, system, operation, _sizes(sizes), show, tiers, label, color, choice)


def _of_arithmetic(ax: Any, system: System, tiers: Sequence[str] | None, dtypes: Sequence[str] | None, points: Mapping[str, float],
                   label: Any, color: Any) -> Any:
    shared.asked_show(ax, None, ("flops",), "flop/byte")
    state, curve = shared.start(ax, ("flop/byte", "flops"), (system.name,), label=label, color=color, note="")
    named = bool(curve.number) or label is not None or color is not None
    roofs = _roofs(system, dtypes, named)
    rates = {t.name: t.bytes_per_second for t in system.tiers if t.bytes_per_second > 0 and (tiers is None or t.name in tiers)}
    if not rates:
        raise RequestError("tiers: name one whose rate is known")
    highest = max(roofs)
    low, high = min([1.0, *(one / 2 for one in points.values())]), 3 * highest / min(rates.values())
    state.span = min(state.span[0], low), max(state.span[1], high)
    bottom = min(rates.values()) * low
    for i, (name, rate) in enumerate(rates.items()):
        x = np.geomspace(low, highest / rate, 30)
        colour = curve.colour if named else style.tier_colour(name)
        (line,) = ax.plot(x, rate * x, color=colour, linestyle=style.DASHES[i % len(style.DASHES)], linewidth=1.6, zorder=3,
                          label=f"_{name}")
        line.set_label(f"{label or system.name + ' ' if named else ''}{'' if not label else ' '}{name} {style.rate_text(rate)}".strip())
        state.extra.append(line)
        curve.line = curve.line or line
        ax.plot(highest / rate, highest, marker=style.MARKERS[i % len(style.MARKERS)], color=colour, markersize=5.5,
                markeredgecolor="black", markeredgewidth=0.5, label="_ridge", zorder=4)
    for rate, types in roofs.items():
        ax.plot([rate / max(rates.values()), high], [rate, rate], color=curve.colour if named else "black", linewidth=1.6,
                label="_roof", zorder=3)
        state.roofs.append((rate, f"{f'{label or system.name} ' if named else ''}{', '.join(types)} {rate / TFLOP:,.4g}"))
    for name, intensity in points.items():
        reached = min(highest, rates.get("hbm", max(rates.values())) * intensity)
        ax.plot([intensity] * 2, [bottom, reached], color="#555555", linewidth=1, linestyle=":", label="_point", zorder=2)
        ax.plot(intensity, reached, marker="o", markersize=7, markerfacecolor="white", markeredgecolor="black", label="_point", zorder=6)
        ax.annotate(name, (intensity, reached), (5, -4), textcoords="offset points", ha="left", va="top", fontsize=style.SMALL, zorder=6,
                    bbox=BEHIND)
    ax.set_xscale("log", base=10)
    ax.set_xlim(*state.span)
    style.rate_axis(ax, "attainable, TFLOP/s", TFLOP)
    style.plain_log_axis(ax)
    ax.set_ylim(min(bottom, ax.get_ylim()[0]), 3 * max(highest, state.top))
    state.top = max(highest, state.top)
    ax.set_xlabel("arithmetic intensity, flop/byte")
    _name_roofs(ax, state)
    _title(ax, state, "one GPU, dense, one direction")
    style.legend(ax, columns=2, handles=state.extra)
    return ax


def _roofs(system: System, dtypes: Sequence[str] | None, one: bool) -> dict[float, list[str]]:
    """Types of numbers by their dense rate."""
    known = system.flops_per_second
    if not known:
        raise RequestError(f"system: the arithmetic of {system.gpu} is not known")
    for name in dtypes or ():
        if name not in known:
            raise RequestError(f'dtypes: {system.gpu} has no figure for "{name}"; there are {" ".join(known)}')
    usual = [name for name in ("bf16", "fp8", "fp4") if name in known][: 1 if one else 3]
    wanted = dtypes or usual or [max(known, key=lambda name: known[name])]
    out: dict[float, list[str]] = {}
    for name in wanted:
        out.setdefault(known[name], []).append(name)
    return out


def _name_roofs(ax: Any, state: shared.Shared) -> None:
    """Writes each roof's name on it at the right, further left where the roof below has its name."""
    for text in [one for one in ax.texts if one.get_gid() == "roof"]:
        text.remove()
    low, top = ax.get_ylim()
    tall = 1.5 * style.SMALL / 72 * ax.figure.dpi / ax.get_window_extent().height
    line = (top / low) ** tall  # the factor of a line of text
    below, taken = 0.0, 0.0
    for rate, name in sorted(state.roofs):
        taken = taken if rate < line * below else 0.0
        ax.annotate(name, (state.span[1], rate), (-3 - taken, 1), textcoords="offset points", ha="right", va="bottom",
                    fontsize=style.SMALL, zorder=5, gid="roof", bbox=BEHIND)
        below, taken = rate, taken + style.text_width(name, style.SMALL) + style.SMALL


def _of_messages(ax: Any, system: System, operation: Operation | None, x: np.ndarray, show: str | None, tiers: Sequence[str] | None,
                 label: Any, color: Any, choice: Mapping[str, Any]) -> Any:
    words = ("algbw", "time") if operation is None else ("busbw", "algbw", "time")
    show = shared.asked_show(ax, show, words, "size")
    curves: dict[str, np.ndarray] = {}  # seconds by tier
    if operation is None:
        curves = {
            t.name: np.maximum(t.latency_seconds, x / t.bytes_per_second)
            for t in system.tiers
            if t.bytes_per_second > 0 and (tiers is None or t.name in tiers)
        }
        facts: tuple[str, ...] = (system.name, "one endpoint of each tier", "one direction")
        names = {
            name: f"{name} {style.rate_text(system.tiers[name].bytes_per_second)}, "
            f"{style.seconds_text(system.tiers[name].latency_seconds) if system.tiers[name].latency_seconds > 0 else 'latency unknown'}"
            for name in curves
        }
    else:
        p = predict(system, again(operation, bytes=x), **choice)
        for i, one in enumerate(p):
            for term in one.terms:
                if tiers is None or term.tier in tiers:
                    curves.setdefault(term.tier, np.zeros(len(x)))[i] += term.seconds
        facts = (system.name, p[0].operation.collective, where(p[0].ranks, p[0].nodes), shared.forced(choice))
        names = {name: f"{name} alone" for name in curves}
    state, curve = shared.start(ax, ("size", show), facts, label=label, color=color, note="")
    named = bool(curve.number) or label is not None or color is not None

    def drawn(seconds: np.ndarray) -> np.ndarray:
        if operation is None:
            return seconds if show == "time" else x / seconds / GB
        with np.errstate(divide="ignore"):
            shown = as_shown(show, p, seconds)
        return np.where(seconds > 0, shown, np.nan)

    if operation is not None:
        whole = label or (f"{system.name}, predicted" if named else "predicted")
        (curve.line,) = ax.plot(x, drawn(p.seconds), color=curve.colour if named else "black", linewidth=2.4, label=whole, zorder=4)
        state.extra.append(curve.line)
    for i, (name, seconds) in enumerate(curves.items()):
        y = drawn(seconds)
        colour = curve.colour if named else style.tier_colour(name)
        looks: dict[str, Any] = {"color": colour, "linestyle": style.DASHES[(i + 1) % len(style.DASHES)], "linewidth": 1.6,
                                 "marker": style.MARKERS[i % len(style.MARKERS)], "markersize": 5, "markeredgecolor": "black",
                                 "markeredgewidth": 0.5, "markevery": (len(x) // 8 + i * 3, max(1, len(x) // 5))}
        own = f"{label or system.name} {names[name]}" if named else names[name]
        (line,) = ax.plot(x, y, label=own, zorder=3, **looks)
        state.extra.append(line)
        curve.line = curve.line or line
    state.span = min(state.span[0], x[0]), max(state.span[1], x[-1])
    style.size_axis(ax, *state.span, "message size")
    if show == "time":
        style.time_axis(ax)
    else:
        style.rate_axis(ax, Y_LABELS[show] if operation is not None else "bytes / time, GB/s", 1)
    if operation is not None and show != "time":  # a tier that takes next to nothing would stretch the axis
        reached = np.concatenate([line.get_ydata() for line in ax.lines if line.get_label().endswith("predicted")] or [drawn(p.seconds)])
        ax.set_ylim(reached.min() / 2, 30 * reached.max())
    _title(ax, state, "")
    style.legend(ax, columns=2, handles=state.extra)
    return ax


def _title(ax: Any, state: shared.Shared, more: str) -> None:
    """The title: the facts that all curves have in common."""
    facts = [curve.facts for curve in state.curves]
    common = [one for i, one in enumerate(facts[0]) if one and len({other[i] for other in facts}) == 1]
    shared.entitle(ax, state, ", ".join([*common, *([more] if more else [])]))
