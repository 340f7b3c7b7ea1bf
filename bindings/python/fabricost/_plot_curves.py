"""Pictures of predictions: bus bandwidth, terms, tiers and scaling, against size, ranks or nodes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from . import _plot_style as style
from ._core import Operation, Prediction, RequestError, SendRecv, System, predict
from ._given import numbers

GB = 10**9


def again(operation: Operation, **changed: Any) -> Operation:
    """The same operation with other bytes, ranks or nodes."""
    if isinstance(operation, SendRecv):
        return SendRecv(**{"bytes": operation.bytes, "path": operation.path, **changed})
    if "ranks" in changed:
        changed.setdefault("nodes", 0)
    if "nodes" in changed:
        changed.setdefault("ranks", 0)
    return type(operation)(**{name: changed.get(name, getattr(operation, name)) for name in ("bytes", "ranks", "nodes", "dtype")})


def default_sizes(low: float = 2.0**10, high: float = 2.0**34, per_doubling: int = 4) -> np.ndarray:
    return 2.0 ** np.linspace(np.log2(low), np.log2(high), round(per_doubling * np.log2(high / low)) + 1)


def where(ranks: int, nodes: int) -> str:
    return f"{ranks:,} rank{'' if ranks == 1 else 's'} on {nodes:,} node{'' if nodes == 1 else 's'}"


def asked_text(system: System, p: Prediction) -> str:
    """System, operation and ranks: the first part of every title."""
    return f"{system.name}, {p.operation.collective}, {where(p.ranks, p.nodes)}"


def _sizes(sizes: Any) -> np.ndarray:
    out = np.unique(numbers(default_sizes() if sizes is None else sizes, "sizes", "byte").astype(float))
    if out.size < 2 or not (out[0] > 0 and np.isfinite(out[-1])):
        raise RequestError("sizes: a curve needs two or more different sizes, in bytes and above 0")
    return out


def _measured(measured: Any, system: System, operation: Operation, ranks: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Bytes and seconds of the points of the same operation; pairs of arrays are returned unchanged."""
    if isinstance(measured, (str, os.PathLike)):
        from . import read_log

        measured = read_log(measured, system=system, ranks=ranks, nodes=nodes)
    measured = getattr(measured, "samples", measured)  # of a Validation
    names = getattr(getattr(measured, "dtype", None), "names", None) or tuple(getattr(measured, "columns", ()))
    if not names:
        size, seconds = (numbers(one, "measured", unit).astype(float) for one, unit in zip(measured, ("byte", "s")))
        if size.shape != seconds.shape:
            raise RequestError(f"measured: {size.size} sizes but {seconds.size} times")
        return size, seconds
    keep = np.ones(len(measured), dtype=bool)
    for name, wanted in (("operation", operation.collective), ("ranks", ranks), ("nodes", nodes)):
        if name in names:
            keep &= np.asarray(measured[name]) == wanted
    if not keep.any():
        raise RequestError(f"measured: no point of {operation.collective} over {where(ranks, nodes)}")
    seconds = measured["measured_seconds" if "measured_seconds" in names else "seconds"]
    return numbers(measured["bytes"], "bytes").astype(float)[keep], numbers(seconds, "seconds").astype(float)[keep]


def regions(names: Sequence[str]) -> list[tuple[str, int, int]]:
    """Runs of equal names: (name, first, last)."""
    out = []
    for name, run in groupby(range(len(names)), key=lambda i: names[i]):
        places = list(run)
        out.append((name, places[0], places[-1]))
    return out


def _shade_regions(ax: Any, x: np.ndarray, names: Sequence[str], highest: np.ndarray) -> None:
    """Shades runs of one algorithm and protocol, labels each at the top, and reserves room. `highest`: top at each x."""
    parts = regions(names)
    tints = dict(zip(dict.fromkeys(name for name, _, _ in parts), ("#E8EEF4", "#F7EFE2", "#E6F2EC", "#F6E9F0", "#FBF8DC", "#EEEEEE") * 9))
    box = ax.get_window_extent()
    width, height = box.width / ax.figure.dpi * 72, box.height / ax.figure.dpi * 72
    edges = [x[0]] + [float(np.sqrt(x[last] * x[last + 1])) for _, _, last in parts[:-1]] + [x[-1]]
    whole, top = np.log(x[-1] / x[0]), 0.0
    for (name, first, last), low, high in zip(parts, edges, edges[1:]):
        ax.axvspan(low, high, color=tints[name], linewidth=0, zorder=0)
        if high < x[-1]:
            ax.axvline(high, color="#BBBBBB", linewidth=0.6, zorder=0.5)
        room = width * np.log(high / low) / whole
        label = name.replace(" ", "\n")
        turned = style.text_width(label, style.SMALL) > room
        tall = (style.text_width(name, style.SMALL) if turned else 2.6 * style.SMALL) / height
        if room > 1.3 * style.SMALL:
            ax.text(
                np.sqrt(low * high),
                0.985,
                name if turned else label,
                transform=ax.get_xaxis_transform(),
                rotation=90 if turned else 0,
                ha="center",
                va="top",
                fontsize=style.SMALL,
                color="#333333",
                zorder=5,
            )
            near = highest[max(0, first - 1) : last + 2]
            top = max(top, float(near.max()) / max(0.3, 1 - tall - 0.05))
    ax.set_ylim(0, max(top, float(highest.max()) * 1.05))


def busbw(system: System, operation: Operation, sizes: Any = None, *, measured: Any = None, ax: Any = None, **choice: Any) -> Any:
    """Bus bandwidth against message size with its interval, the algorithm and protocol of each range, and measured points.

    busbw = bytes / seconds x bus factor, GB/s of 10^9 byte/s (nccl-tests, doc/PERFORMANCE.md). The band holds nine in ten measurements.

    sizes: bytes; by default 1 KiB to 16 GiB. The operation's own bytes do not matter.
    measured: a log's path, a result of read_log or validate, or (bytes, seconds); from a log, the points of this
    operation, ranks and nodes.
    choice: algorithm, protocol, choice as in predict.

    Returns the axes. Raises RequestError as predict does, or if no measured point matches the operation.
    """
    points = None
    if measured is not None:
        whole = predict(system, again(operation, bytes=1.0), **choice)
        points = _measured(measured, system, operation, whole.ranks, whole.nodes)
        if sizes is None:
            large = points[0][points[0] > 0]
            sizes = default_sizes(2.0 ** np.floor(np.log2(large.min())), 2.0 ** np.ceil(np.log2(large.max() * 1.001)))
    x = _sizes(sizes)
    p = predict(system, again(operation, bytes=x), **choice)
    factor = p.bus_bytes_per_second / p.algorithm_bytes_per_second
    ax = style.axes(ax)
    low, high = x * factor / p.high_seconds / GB, x * factor / p.low_seconds / GB
    highest = high.copy()
    style.grid(ax, "y")
    ax.fill_between(x, low, high, color=style.BLUE, alpha=0.22, linewidth=0, label="nine in ten measurements", zorder=2)
    ax.plot(x, p.bus_bytes_per_second / GB, color=style.BLUE, linewidth=1.8, label=f"predicted ({p[0].basis})", zorder=3)
    if points is not None:
        size, seconds = points
        rate = size * factor[0] / seconds / GB
        ax.plot(
            size,
            rate,
            linestyle="none",
            marker="o",
            markersize=4,
            markerfacecolor="white",
            markeredgecolor="black",
            markeredgewidth=0.9,
            label="measured",
            zorder=4,
        )
        for one, value in zip(size, rate):
            place = min(len(x) - 1, int(np.searchsorted(x, one)))
            highest[place] = max(highest[place], value)
    style.size_axis(ax, x[0], x[-1])
    _shade_regions(ax, x, [f"{a} {b}" for a, b in zip(p.algorithm, p.protocol)], highest)
    ax.set_ylabel("bus bandwidth, GB/s")
    style.title(ax, asked_text(system, p[0]))
    style.legend(ax)
    return ax


def _against(system: System, operation: Operation, against: str, values: Any) -> np.ndarray:
    if against not in ("size", "ranks", "nodes"):
        raise RequestError(f'against: "{against}" is none of size, ranks, nodes')
    if against != "size" and operation.bytes is None:
        raise RequestError("how much? Give the operation its bytes, as in AllReduce(bytes=256 * MiB)")
    if values is None:
        values = {
            "size": 2.0 ** np.arange(10, 35, 2),
            "nodes": 2 ** np.arange(0, 11),
            "ranks": system.gpus_per_node * 2 ** np.arange(0, 11),
        }[against]
    out = np.unique(numbers(values, "values", "byte" if against == "size" else "").astype(float if against == "size" else np.int64))
    if out.size < 2 or out[0] <= 0:
        raise RequestError(f"values: two or more different {against} above 0 are needed")
    return out


def _changed(operation: Operation, against: str, values: np.ndarray) -> Operation:
    return again(operation, **{"bytes" if against == "size" else against: values})


def _axis(ax: Any, against: str, values: np.ndarray) -> None:
    if against == "size":
        style.size_axis(ax, values[0], values[-1])
    else:
        style.count_axis(ax, list(values), "ranks (GPUs)" if against == "ranks" else "nodes")


def terms(
    system: System,
    operation: Operation,
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
    x = _against(system, operation, against, values)
    p = predict(system, _changed(operation, against, x), **choice)
    share = bool(p.seconds.max() / p.seconds.min() > 20) if share is None else share
    rows = [{(t.name, t.tier): t.seconds for t in one.terms} for one in p]
    seen = list(dict.fromkeys(key for row in rows for key in row))
    kinds = sorted(seen, key=lambda key: (key[0] != "launch", key[0] == "wire", seen.index(key)))
    scale = 100 / p.seconds if share else np.full(len(x), 1e6 if p.seconds.max() < 1e-3 else 1e3)
    ax = style.axes(ax)
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
    _totals(ax, place, floor, p.seconds)
    labels = [style.size_text(v).replace(" ", "\n") for v in x] if against == "size" else [f"{v:,}" for v in x]
    ax.set_xticks(place, labels, fontsize=8)
    ax.set_xlabel({"size": "message size", "ranks": "ranks (GPUs)", "nodes": "nodes"}[against])
    if share:
        ax.set_yticks(range(0, 101, 20))
    ax.set_ylabel("share of the time, %" if share else f"time, {'us' if scale[0] == 1e6 else 'ms'}")
    fixed = where(p[0].ranks, p[0].nodes) if against == "size" else _size_asked(operation)
    style.title(ax, f"{system.name}, {p[0].operation.collective}, {fixed}")
    style.legend(ax, below=46 if against == "size" else 36)
    return ax


def _totals(ax: Any, place: np.ndarray, floor: np.ndarray, seconds: np.ndarray) -> None:
    """Times above the bars; vertical if they would overlap."""
    labels = [style.seconds_text(s) for s in seconds]
    box = ax.get_window_extent()
    turned = max(style.text_width(one, style.SMALL) for one in labels) > box.width / ax.figure.dpi * 72 / len(place)
    tall = (max(style.text_width(one, style.SMALL) for one in labels) if turned else 1.6 * style.SMALL) / (box.height / ax.figure.dpi * 72)
    ax.set_ylim(0, floor.max() / (1 - tall - 0.03))
    for x, y, label in zip(place, floor, labels):
        ax.annotate(
            label, (x, y), (0, 2), textcoords="offset points", ha="center", va="bottom", rotation=90 if turned else 0, fontsize=style.SMALL
        )


def roofline(
    system: System,
    operation: Operation | None = None,
    sizes: Any = None,
    *,
    tiers: Sequence[str] | None = None,
    ax: Any = None,
    **choice: Any,
) -> Any:
    """Time against bytes, tier by tier: each is flat at its latency, then rises at its one-way rate; the highest limits.

    Without an operation, the tiers as described: seconds = max(latency, bytes / bytes_per_second) of one endpoint,
    one direction. With one, the predicted time in each tier, and the total, which is their sum and so never below
    the highest.

    tiers: names of those to draw; by default all. sizes: bytes; by default 1 KiB to 16 GiB.

    Returns the axes. Raises RequestError for a tier the system does not have, and as predict does.
    """
    x = _sizes(sizes)
    ax = style.axes(ax)
    style.grid(ax)
    if operation is None:
        for name in tiers or ():
            system.tiers[name]  # its KeyError suggests near names
        curves = {
            t.name: np.maximum(t.latency_seconds, x / t.bytes_per_second)
            for t in system.tiers
            if t.bytes_per_second > 0 and (tiers is None or t.name in tiers)
        }
        labels = {
            name: f"{name}: {style.rate_text(system.tiers[name].bytes_per_second)}, "
            f"{style.seconds_text(system.tiers[name].latency_seconds) if system.tiers[name].latency_seconds > 0 else 'latency unknown'}"
            for name in curves
        }
        text = f"{system.name}, one endpoint of each tier, one direction"
    else:
        p = predict(system, again(operation, bytes=x), **choice)
        spent: dict[str, np.ndarray] = {}
        for i, one in enumerate(p):
            for term in one.terms:
                spent.setdefault(term.tier, np.zeros(len(x)))[i] += term.seconds
        curves = {name: np.where(values > 0, values, np.nan) for name, values in spent.items() if tiers is None or name in tiers}
        labels = {name: f"spent in {name}" for name in curves}
        text = asked_text(system, p[0])
        ax.plot(x, p.seconds, color="black", linewidth=2.4, alpha=0.85, label="predicted time")
    for i, (name, values) in enumerate(curves.items()):
        ax.plot(x, values, color=style.tier_colour(name), linestyle=style.DASHES[i % len(style.DASHES)], linewidth=1.8, label=labels[name])
        marked = slice(len(x) // 8 + i * 3, None, max(1, len(x) // 5))
        ax.plot(
            x[marked],
            values[marked],
            linestyle="none",
            marker=style.MARKERS[i % len(style.MARKERS)],
            markersize=5,
            color=style.tier_colour(name),
            markeredgecolor="black",
            markeredgewidth=0.5,
        )
    style.size_axis(ax, x[0], x[-1], "bytes through one endpoint" if operation is None else "message size")
    style.time_axis(ax)
    style.title(ax, text)
    style.legend(ax, columns=2)
    return ax


def scaling(
    system: System,
    operation: Operation,
    against: str = "ranks",
    values: Any = None,
    *,
    show: str = "seconds",
    ax: Any = None,
    **choice: Any,
) -> Any:
    """Time and bus bandwidth against ranks, nodes or size, with the interval.

    show: 'seconds', 'busbw' (GB/s) or 'relative' = bus bandwidth over that of the first value, percent; above 100
    if another algorithm does better there.
    values: as in terms.

    Returns the axes. Raises RequestError as predict does.
    """
    if show not in ("seconds", "busbw", "relative"):
        raise RequestError(f'show: "{show}" is none of seconds, busbw, relative')
    x = _against(system, operation, against, values)
    p = predict(system, _changed(operation, against, x), **choice)
    bus = p.bus_bytes_per_second
    scale = np.full(len(x), 1 / GB) if show == "busbw" else np.full(len(x), 100 / bus[0])
    middle, low, high = (
        (p.seconds, p.low_seconds, p.high_seconds)
        if show == "seconds"
        else (bus * scale, bus * scale * p.seconds / p.high_seconds, bus * scale * p.seconds / p.low_seconds)
    )
    ax = style.axes(ax)
    style.grid(ax)
    ax.fill_between(x, low, high, color=style.BLUE, alpha=0.22, linewidth=0, label="nine in ten measurements")
    for i, (name, first, last) in enumerate(regions([f"{a} {b}" for a, b in zip(p.algorithm, p.protocol)])):
        part = slice(first, last + 1)
        ax.plot(
            x[part],
            middle[part],
            linestyle="none",
            marker=style.MARKERS[i % len(style.MARKERS)],
            markersize=6,
            color=style.BLUE,
            markeredgecolor="black",
            markeredgewidth=0.6,
            label=name,
            zorder=3,
        )
    ax.plot(x, middle, color=style.BLUE, linewidth=1.6, label=f"predicted ({_bases(p)})", zorder=2)
    _axis(ax, against, x)
    if show == "seconds":
        style.time_axis(ax)
    else:
        ax.set_ylim(0, None)
        ax.set_ylabel("bus bandwidth, GB/s" if show == "busbw" else f"bus bandwidth, % of that at {_value_text(against, x[0])}")
    fixed = where(p[0].ranks, p[0].nodes) if against == "size" else _size_asked(operation)
    style.title(ax, f"{system.name}, {p[0].operation.collective}, {fixed}")
    style.legend(ax)
    return ax


def _size_asked(operation: Operation) -> str:
    return style.size_text(float(operation.bytes))  # type: ignore[arg-type]  # _against has checked that it is there


def _bases(p: Any) -> str:
    return ", ".join(dict.fromkeys(one.basis for one in p))


def _value_text(against: str, value: float) -> str:
    return style.size_text(value) if against == "size" else f"{value:,} {against[:-1] if value == 1 else against}"
