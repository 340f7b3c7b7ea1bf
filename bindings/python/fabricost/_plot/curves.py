"""Curves of predictions with their interval: bandwidth or time against size, ranks or nodes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from . import shared, style
from .._core import Operation, RequestError, SendRecv, System, predict
from .._given import numbers

GB = 10**9


def again(operation: Operation, **changed: Any) -> Operation:
    """The same operation with other bytes, ranks or nodes."""
    if isinstance(operation, SendRecv):
        return SendRecv(**{"bytes": operation.bytes, "path": operation.path, "ranks": operation.ranks, **changed})
    if "ranks" in changed:
        changed.setdefault("nodes", 0)
    if "nodes" in changed:
        changed.setdefault("ranks", 0)
    return type(operation)(**{name: changed.get(name, getattr(operation, name)) for name in ("bytes", "ranks", "nodes", "dtype")})


def default_sizes(low: float = 2.0**10, high: float = 2.0**34, per_doubling: int = 4) -> np.ndarray:
    return 2.0 ** np.linspace(np.log2(low), np.log2(high), round(per_doubling * np.log2(high / low)) + 1)


def where(ranks: int, nodes: int) -> str:
    return f"{ranks:,} rank{'' if ranks == 1 else 's'} on {nodes:,} node{'' if nodes == 1 else 's'}"


def _sizes(sizes: Any) -> np.ndarray:
    out = np.unique(numbers(default_sizes() if sizes is None else sizes, "sizes", "byte").astype(float))
    if out.size < 2 or not (out[0] > 0 and np.isfinite(out[-1])):
        raise RequestError("sizes: a curve needs two or more different sizes, in bytes and above 0")
    return out


def _measured(measured: Any, system: System, operation: Operation, ranks: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Bytes and seconds of the points of the same operation; pairs of arrays are returned unchanged."""
    if isinstance(measured, (str, os.PathLike)):
        from .. import read_log

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


def _shade_regions(ax: Any, x: np.ndarray, names: Sequence[str], highest: np.ndarray, log: bool) -> float:
    """Shades runs of one algorithm and protocol and labels each at the top. Returns how high the axis must reach for the labels to lie
    above the curve. `highest`: top at each x; `log`: whether the vertical axis is logarithmic."""
    parts = regions(names)
    tints = dict(zip(dict.fromkeys(name for name, _, _ in parts), ("#E8EEF4", "#F7EFE2", "#E6F2EC", "#F6E9F0", "#FBF8DC", "#EEEEEE") * 9))
    box = ax.get_window_extent()
    width, height = box.width / ax.figure.dpi * 72, box.height / ax.figure.dpi * 72
    edges = [x[0]] + [float(np.sqrt(x[last] * x[last + 1])) for _, _, last in parts[:-1]] + [x[-1]]
    whole, top, bottom = np.log(x[-1] / x[0]), 0.0, float(ax.get_ylim()[0])
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
            near, free = float(highest[max(0, first - 1) : last + 2].max()), max(0.3, 1 - tall - 0.05)
            top = max(top, bottom * (near / bottom) ** (1 / free) if log else near / free)
    return top


SHOWS = ("busbw", "algbw", "time")
Y_LABELS = {"busbw": "bus bandwidth, GB/s", "algbw": "algorithm bandwidth, GB/s", "time": "time"}


def as_shown(show: str, p: Any, seconds: Any) -> np.ndarray:
    """These times of the predicted sizes and ranks as the vertical axis shows them: seconds, or GB/s."""
    if show == "time":
        return np.asarray(seconds, dtype=float)
    rate = p.bus_bytes_per_second if show == "busbw" else p.algorithm_bytes_per_second
    return np.asarray(rate * p.seconds / seconds / GB)


def _vertical(ax: Any, show: str, log: bool) -> None:
    if show == "time":
        style.time_axis(ax)
        if not log:
            ax.set_yscale("linear")
    elif log:
        style.rate_axis(ax, Y_LABELS[show], 1)
    else:
        ax.set_ylabel(Y_LABELS[show])
        ax.tick_params(labelsize=style.SMALL)


def busbw(
    system: System | str,
    operation: Operation | str,
    sizes: Any = None,
    *,
    measured: Any = None,
    show: str | None = None,
    log: bool | None = None,
    label: str | None = None,
    color: Any = None,
    ax: Any = None,
    **choice: Any,
) -> Any:
    """Bandwidth or time against message size with its interval, the algorithm and protocol of each range, and measured points.

    busbw = bytes / seconds x bus factor, GB/s of 10^9 byte/s (nccl-tests, doc/PERFORMANCE.md). The band holds nine in ten measurements.
    With ax= of an earlier call the curve is added to that picture: the ranges of the first stay; the legend names each by its differences.

    sizes: bytes; by default 1 KiB to 16 GiB. The operation's own bytes do not matter.
    measured: a log's path, a result of read_log or validate, or (bytes, seconds); from a log, the points of this
    operation, ranks and nodes.
    show: busbw, algbw (bytes / seconds), or time, where small messages can be read.
    log: whether the vertical axis is logarithmic; by default that of time is.
    label: name of the curve; by default its differences from the others. color: by default the next free one.
    choice: algorithm, protocol, choice as in predict.

    Returns the axes. Raises RequestError as predict does, if no measured point matches the operation, and for axes that show something
    else.
    """
    system, operation = shared.machine_of(system), shared.operation_of(operation)
    points = None
    if measured is not None:
        whole = predict(system, again(operation, bytes=1.0), **choice)
        points = _measured(measured, system, operation, whole.ranks, whole.nodes)
        if sizes is None:
            large = points[0][points[0] > 0]
            sizes = default_sizes(2.0 ** np.floor(np.log2(large.min())), 2.0 ** np.ceil(np.log2(large.max() * 1.001)))
    x = _sizes(sizes)
    p = predict(system, again(operation, bytes=x), **choice)
    ax = style.axes(ax)
    show = shared.asked_show(ax, show, SHOWS, "size")
    facts = (system.name, p[0].operation.collective, where(p[0].ranks, p[0].nodes), shared.forced(choice))
    state, curve = shared.start(ax, ("size", show), facts, label=label, color=color, note=p[0].basis)
    middle = as_shown(show, p, p.seconds)
    ends = sorted((as_shown(show, p, p.low_seconds), as_shown(show, p, p.high_seconds)), key=lambda one: one[-1])
    style.grid(ax, "y")
    shared.band(ax, curve, x, *ends)
    shared.line(ax, curve, x, middle)
    highest = ends[1].copy()
    if points is not None:
        size, seconds = points
        factor = p.bus_bytes_per_second[0] / p.algorithm_bytes_per_second[0] if show == "busbw" else 1.0
        value = seconds if show == "time" else size * factor / seconds / GB
        (curve.points,) = ax.plot(
            size,
            value,
            linestyle="none",
            marker=curve.marker,
            markersize=4.5,
            markerfacecolor="white",
            markeredgecolor=curve.colour if curve.number else "black",
            markeredgewidth=0.9,
            zorder=4,
        )
        for one, at in zip(size, value):
            place = min(len(x) - 1, int(np.searchsorted(x, one)))
            highest[place] = max(highest[place], at)
    log = (ax.get_yscale() == "log" if curve.number else show == "time") if log is None else bool(log)
    if log:
        ax.set_yscale("log")
        ax.autoscale(axis="y")
    state.span = min(state.span[0], x[0]), max(state.span[1], x[-1])
    style.size_axis(ax, *state.span)
    _ranges(ax, state, curve, x, [f"{a} {b}" for a, b in zip(p.algorithm, p.protocol)], highest, log)
    _vertical(ax, show, log)
    shared.finish(ax, state)
    return ax


def _ranges(ax: Any, state: shared.Shared, curve: shared.Curve, x: np.ndarray, names: list[str], highest: np.ndarray, log: bool) -> None:
    """The shaded ranges of algorithms, drawn once, from the first curve. If a further curve differs there, the legend names their curve."""
    bottom = ax.get_ylim()[0] if log else 0.0
    if curve.number == 0:
        ax.set_ylim(bottom, None)
        state.regions = list(dict.fromkeys(names))
        state.top = _shade_regions(ax, x, names, highest, log)
    elif state.regions is not None and list(dict.fromkeys(names)) != state.regions:
        from matplotlib.patches import Patch

        state.regions = None
        state.extra.append(Patch(facecolor="#F7EFE2", edgecolor="#BBBBBB", linewidth=0.6, label="shaded: what the first runs"))
    state.top = max(state.top, float(highest.max()) * (1.3 if log else 1.05))
    ax.set_ylim(bottom, state.top)


def _against(system: System, operation: Operation, against: str, values: Any) -> np.ndarray:
    if against not in ("size", "ranks", "nodes"):
        raise RequestError(f'against: "{against}" is none of size, ranks, nodes')
    if against != "size" and operation.bytes is None:
        raise RequestError("how much? Give the operation its bytes, as in AllReduce(bytes=256 * MiB)")
    if values is None:
        each = 1 if against == "nodes" else system.gpus_per_node
        values = 2.0 ** np.arange(10, 35, 2) if against == "size" else each * _whole_groups(system)
    out = np.unique(numbers(values, "values", "byte" if against == "size" else "").astype(float if against == "size" else np.int64))
    if out.size < 2 or out[0] <= 0:
        raise RequestError(f"values: two or more different {against} above 0 are needed")
    return out


def _whole_groups(system: System) -> np.ndarray:
    """Numbers of nodes: powers of two in a domain, then domains times powers of two, up to about 1,024 nodes."""
    domain = max(1, system.domain // system.gpus_per_node)
    inside = [2**power for power in range(11) if 2**power < domain]
    return np.array([*inside, *(domain * 2**power for power in range(11) if domain * 2**power <= 1024)], dtype=np.int64)


def _changed(operation: Operation, against: str, values: np.ndarray) -> Operation:
    return again(operation, **{"bytes" if against == "size" else against: values})


def _axis(ax: Any, against: str, values: np.ndarray) -> None:
    if against == "size":
        style.size_axis(ax, values[0], values[-1])
    else:
        style.count_axis(ax, list(values), "ranks (GPUs)" if against == "ranks" else "nodes")


def scaling(
    system: System | str,
    operation: Operation | str,
    against: str = "ranks",
    values: Any = None,
    *,
    show: str | None = None,
    label: str | None = None,
    color: Any = None,
    ax: Any = None,
    **choice: Any,
) -> Any:
    """Time or bandwidth against ranks, nodes or size, with the interval; markers name the algorithm.

    With ax= of an earlier call the curve is added to that picture; the legend names each curve by its differences.

    show: time (or seconds), busbw, algbw (GB/s), or relative = bus bandwidth over that of the first value, percent; above 100
    if another algorithm does better there.
    values: as in terms.
    label: name of the curve; by default its differences from the others. color: by default the next free one.

    Returns the axes. Raises RequestError as predict does, and for axes that show something else.
    """
    system, operation = shared.machine_of(system), shared.operation_of(operation)
    x = _against(system, operation, against, values)
    p = predict(system, _changed(operation, against, x), **choice)
    ax = style.axes(ax)
    show = shared.asked_show(ax, "time" if show == "seconds" else show, ("time", "busbw", "algbw", "relative"), against)
    fixed = where(p[0].ranks, p[0].nodes) if against == "size" else _size_asked(operation)
    facts = (system.name, p[0].operation.collective, fixed, shared.forced(choice))
    state, curve = shared.start(ax, (against, show), facts, label=label, color=color, note=_bases(p))
    scale = 100 * GB / p.bus_bytes_per_second[0] if show == "relative" else 1.0
    what = "busbw" if show == "relative" else show
    middle, one, other = (scale * as_shown(what, p, seconds) for seconds in (p.seconds, p.low_seconds, p.high_seconds))
    style.grid(ax)
    shared.band(ax, curve, x, np.minimum(one, other), np.maximum(one, other))
    shared.line(ax, curve, x, middle)
    for name, first, last in regions([f"{a} {b}" for a, b in zip(p.algorithm, p.protocol)]):
        marker = state.markers.setdefault(name, style.MARKERS[len(state.markers) % len(style.MARKERS)])
        part = slice(first, last + 1)
        looks: dict[str, Any] = {"linestyle": "none", "marker": marker, "markersize": 6, "markeredgecolor": "black", "markeredgewidth": 0.6}
        ax.plot(x[part], middle[part], color=curve.colour, label=f"_{name}", zorder=4, **looks)
        if name not in {extra.get_label() for extra in state.extra}:
            state.extra.append(style.proxy(label=name, color="#DDDDDD", **looks))
    state.span = min(state.span[0], x[0]), max(state.span[1], x[-1])
    _axis(ax, against, np.unique([*x, *(tick for other in ax.lines for tick in other.get_xdata())]))
    if show == "relative":
        ax.set_ylabel(f"busbw, % of that at {_value_text(against, x[0])}")
        ax.tick_params(labelsize=style.SMALL)
    else:
        _vertical(ax, show, show == "time")
    if show != "time":
        state.top = max(state.top, 1.05 * float(np.maximum(one, other).max()))
        ax.set_ylim(0, state.top)
    shared.finish(ax, state)
    return ax


def _size_asked(operation: Operation) -> str:
    return style.size_text(float(operation.bytes))  # type: ignore[arg-type]  # _against has checked that it is there


def _bases(p: Any) -> str:
    return ", ".join(dict.fromkeys(one.basis for one in p))


def _value_text(against: str, value: float) -> str:
    return style.size_text(value) if against == "size" else f"{value:,} {against[:-1] if value == 1 else against}"
