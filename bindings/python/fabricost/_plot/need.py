"""Pictures of questions asked backwards, and of whole runs."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from . import style
from .._core import RequestError

DAY = 86400


def need(found: Any, *, ax: Any = None) -> Any:
    """The search of need: the goal's measure against the unknown, the limit, the answer, and where it moves inside the interval.

    found: a Need, or a NeedMachine, whose machines are bars. Filled: enough. Returns the axes. Raises RequestError where nothing could run.
    """
    return _machines(found, ax) if hasattr(found, "run") else _values(found, ax)


def _values(found: Any, ax: Any) -> Any:
    tried = [one for one in found.tried if one.measure is not None]
    if not tried:
        raise RequestError(f"found: nothing could run: {found.reason}")
    ax = style.axes(ax)
    over, unit = style.DRAWN_IN.get(found.unit, (1.0, found.unit))
    across, up = [one.value / over for one in tried], [one.measure for one in tried]
    ends = [one / over for one in (found.fast_value, found.slow_value) if one is not None]
    if found.value is not None:
        value = found.value / over
        if ends and (min(ends) < value or max(ends) > value):
            low, high = min([*ends, value]), max([*ends, value])
            ax.axvspan(low, high, color=style.ORANGE, alpha=0.18, linewidth=0, label="the answer inside the interval")
        which = "most" if found.most else "least"
        ax.axvline(value, color=style.ORANGE, linewidth=1.6, label=f"{which}: {value:.4g} {unit}")
    ax.plot(across, up, color=style.SKY, linewidth=1, zorder=2)
    for holds, label, marker in ((True, "enough", "o"), (False, "not enough", "x")):
        at = [i for i, one in enumerate(tried) if one.holds == holds]
        ax.plot([across[i] for i in at], [up[i] for i in at], linestyle="none", marker=marker, markersize=4.5, color=style.BLUE,
                label=label, zorder=3)
    ax.axhline(found.limit, color="black", linewidth=0.9, linestyle="--", label="the goal")
    label = f"{found.unknown}, {unit}" if unit else found.unknown
    ax.set_xlabel(label)
    if style.wants_log(across) and all(value == round(value) for value in across):
        style.count_axis(ax, across, label)
    elif style.wants_log(across):
        ax.set_xscale("log")
        style.plain_log_axis(ax)
    if style.wants_log(up):
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_ylabel(found.measured)
    style.grid(ax)
    style.title(ax, textwrap.fill(f"{found.unknown} for {found.goal}", 46))
    style.legend(ax, columns=2)
    return ax


def _machines(found: Any, ax: Any) -> Any:
    tried = [one for one in found.tried if one.measure is not None]
    if not tried:
        raise RequestError(f"found: nothing could run: {found.reason}")
    what, _, unit = found.measured.partition(", ")
    worth, shown = {"USD": (1e6, "million USD"), "W": (1e6, "MW"), "s": (DAY, "days")}.get(unit, (1.0, unit))
    ax = style.axes(ax, style.WIDTH, 1.4 + 0.36 * len(tried))
    places = list(range(len(tried)))[::-1]
    for place, one in zip(places, tried):
        best = one.value == found.value
        ax.barh(place, one.measure / worth, color=style.ORANGE if best else style.SKY if one.holds else "white", height=0.7,
                edgecolor="black", linewidth=0.6, hatch="" if one.holds else "////")
        ax.text(one.measure / worth, place, f" {one.measure / worth:.4g}", va="center", ha="left", fontsize=style.SMALL)
    ax.set_yticks(places, [one.value for one in tried])
    ax.set_xlim(0, 1.15 * max(one.measure for one in tried) / worth)
    ax.set_xlabel(f"{what}, {shown}" if shown else what)
    ax.set_ylabel("machine")
    style.grid(ax, "x")
    style.title(ax, textwrap.fill(f"{found.goal} (hatched: breaks a limit)", 46))
    return ax


def runs(projected: Any, *, ax: Any = None) -> Any:
    """Whole training runs of project, machine by machine: dollars with their interval, of machines whose price is known; days where none is.

    projected: the result of project. Returns the axes. Raises RequestError where no machine can do the job.
    """
    rows = [row for row in projected if not row.trouble]
    if not rows:
        raise RequestError("projected: no machine can do the job")
    dollars = any(row.dollars is not None for row in rows)
    worth = 1e6 if dollars else DAY
    known = [(place, row, row.interval_dollars if dollars else row.interval_seconds) for place, row in enumerate(reversed(rows))
             if not dollars or row.dollars is not None]
    ax = style.axes(ax, style.WIDTH, 1.5 + 0.45 * len(rows))
    values = [(row.dollars if dollars else row.seconds) / worth for _, row, _ in known]
    errors = [[value - low / worth for value, (_, _, (low, _)) in zip(values, known)],
              [high / worth - value for value, (_, _, (_, high)) in zip(values, known)]]
    late = [row.in_time is False for _, row, _ in known]
    ax.barh([place for place, _, _ in known], values, xerr=errors, color=["white" if one else style.SKY for one in late],
            edgecolor="black", linewidth=0.6, height=0.62, error_kw={"elinewidth": 1, "capsize": 3})
    for bar, one in zip(ax.patches, late):
        bar.set_hatch("////" if one else "")
    most = max(high / worth for _, _, (_, high) in known)
    for place, row in enumerate(reversed(rows)):
        if dollars and row.dollars is None:
            ax.text(0.02 * most, place, "price not known", va="center", fontsize=style.SMALL)
    ax.set_yticks(range(len(rows)), [f"{row.system}\n{row.gpus:,} GPUs, {row.seconds / DAY:.3g} days" for row in reversed(rows)])
    ax.set_xlim(0, most * 1.05)
    ax.set_ylim(-0.5, len(rows) - 0.5)
    ax.set_ylabel("machine")
    ax.set_xlabel(f"million USD, {str(projected.price_kind).replace('_', ' ')}" if dollars else "days")
    style.grid(ax, "x")
    hatched = " (hatched: too late)" if any(late) else ""
    tokens = projected.tokens
    power = int(math.log10(tokens) // 3) * 3 if tokens >= 1 else 0
    style.title(ax, f"{projected.model}, {tokens / 10**power:.4g}e{power} tokens{hatched}")
    return ax
