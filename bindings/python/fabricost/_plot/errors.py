"""Picture of prediction errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import shared, style
from .._core import RequestError
from .._given import numbers


def compared(errors: Any) -> dict[str, np.ndarray]:
    """Operation, bytes, measured and predicted seconds of every point of a Validation, Fit, Diagnosis, structured array or DataFrame."""
    errors = getattr(errors, "validation", errors)  # of a Fit
    for name in ("samples", "sizes"):  # of a Validation, of a Diagnosis
        errors = getattr(errors, name, errors)
    columns = getattr(getattr(errors, "dtype", None), "names", None) or tuple(getattr(errors, "columns", ()))
    measured = next((c for c in ("measured_seconds", "seconds") if c in columns), None)
    if measured is None or not {"bytes", "predicted_seconds"} <= set(columns):
        raise TypeError("errors: a validation or a fit is wanted, or a table with bytes, measured_seconds and predicted_seconds")
    operation = np.asarray(errors["operation"]).astype(str) if "operation" in columns else np.full(len(errors["bytes"]), "all")
    system = np.asarray(errors["system"]).astype(str) if "system" in columns else np.full(len(operation), "")
    return {
        "operation": operation,
        "system": system,
        "bytes": numbers(errors["bytes"], "bytes").astype(float),
        "measured": numbers(errors[measured], measured).astype(float),
        "predicted": numbers(errors["predicted_seconds"], "predicted_seconds").astype(float),
    }


def residuals(errors: Any, *, label: str | None = None, color: Any = None, ax: Any = None) -> Any:
    """Predicted over measured time against message size, one marker per operation, and the distribution of the points at the side.

    Above 1 the prediction is too slow. Shaded: within 10 percent. The axis is logarithmic, so that half and double
    are equally far off; points beyond its range are triangles at its edge. With ax= of an earlier call the points are added to that
    picture, as those of a fit to those before it; each call then has one marker and a line at the side.

    errors: a result of validate, calibrate or diagnose, or a table with bytes, measured_seconds, predicted_seconds
    and optionally operation.
    label: name of these points, which then have one marker. color: of these points; by default the next free one.

    Returns the axes of the points. Raises RequestError if there are none, and for axes that show something else.
    """
    table = compared(errors)
    keep = (table["bytes"] > 0) & (table["measured"] > 0) & (table["predicted"] > 0)
    if not keep.any():
        raise RequestError("errors: no point has a size and times above 0")
    table = {name: column[keep] for name, column in table.items()}
    ratio = table["predicted"] / table["measured"]
    distance = np.abs(np.log2(ratio))
    common = 1.3 * float(np.quantile(distance, 0.95))
    furthest = float(distance.max()) if len(ratio) < 20 or distance.max() < 1.5 * common else common
    ax = style.axes(ax)
    shared.asked_show(ax, None, ("predicted / measured",), "size")
    systems = sorted(set(table["system"]) - {""})
    off = 100 * np.abs(ratio - 1)
    which = ", ".join(systems) if len(systems) <= 3 else f"{len(systems)} systems"
    facts = (which, f"{len(ratio):,} points", f"median error {np.median(off):.2g} %", f"{100 * np.mean(off <= 10):.0f} % within 10 %")
    state, curve = shared.start(ax, ("size", "predicted / measured"), facts, label=label, color=color, note="")
    state.top = max(state.top, float(np.clip(1.12 * furthest, np.log2(1.3), 2)))
    state.series.append((curve, table["bytes"], np.log2(ratio)))
    smallest, largest = table["bytes"].min(), table["bytes"].max()
    state.span = min(state.span[0], smallest / 1.5), max(state.span[1], max(largest, smallest * 4) * 1.5)
    if not curve.number:
        style.grid(ax)
        state.extra.append(ax.axhspan(1 / 1.1, 1.1, color="#E8EEF4", zorder=0, label="within 10 %"))
        ax.axhline(1, color="black", linewidth=0.9, zorder=1)
    together = curve.number > 0 or label is not None or color is not None
    for i, name in enumerate([label or ""] if together else sorted(set(table["operation"]))):
        own = np.full(len(ratio), True) if together else table["operation"] == name
        place = curve.number if together else i
        (line,) = ax.plot(
            table["bytes"][own],
            ratio[own],
            linestyle="none",
            marker=style.MARKERS[place % len(style.MARKERS)],
            markersize=4 if own.sum() < 300 else 2.5,
            markerfacecolor=curve.colour if together else style.COLOURS[i % len(style.COLOURS)],
            markeredgecolor="black",
            markeredgewidth=0.3,
            alpha=0.85,
            label=name,
            zorder=2,
        )
        curve.line = curve.line or line
        if not together:
            state.extra.append(line)
    _scale(ax, state)
    if len(state.curves) == 1 and not together:
        shared.entitle(ax, state, ", ".join(fact for fact in facts if fact))
        style.legend(ax, columns=3, handles=state.extra)
    else:
        shared.finish(ax, state, alone="all points")
    return ax


def _scale(ax: Any, state: shared.Shared) -> None:
    """The axes for all points there are now, those beyond as triangles, and the distributions at the side."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    reach = state.top
    for mark in [line for line in ax.lines if line.get_gid() == "beyond"]:
        mark.remove()
    state.extra = [one for one in state.extra if one.get_gid() != "beyond"]
    for side, marker in ((1, "^"), (-1, "v")):
        sizes = np.concatenate([size[side * logs > reach] for _, size, logs in state.series])
        if sizes.size:
            (mark,) = ax.plot(sizes, np.full(sizes.size, 2 ** (0.94 * side * reach)), linestyle="none", marker=marker, markersize=8,
                              color="black", zorder=5, label="further off", gid="beyond")
            if "further off" not in {one.get_label() for one in state.extra}:
                state.extra.append(mark)
    style.size_axis(ax, *state.span)
    ax.set_yscale("log", base=2)
    ax.set_ylim(2**-reach, 2**reach)
    ticks = [
        t
        for t in ((0.25, 0.33, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3, 4) if reach > 0.75 else (0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.4, 1.6))
        if 2**-reach <= t <= 2**reach
    ]
    ax.yaxis.set_major_locator(FixedLocator(ticks))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_ylabel("predicted / measured time")
    _histograms(ax, state, reach)


def _histograms(ax: Any, state: shared.Shared, reach: float) -> None:
    """Distributions of the points at the side: bars of the only ones, an outline for each of several."""
    for side in list(ax.child_axes):
        side.remove()
    side = ax.inset_axes([1.015, 0, 0.15, 1], sharey=ax)
    most = 0
    for curve, _, logs in state.series:
        counts, edges = np.histogram(np.clip(logs, -reach, reach), bins=31, range=(-reach, reach))
        most = max(most, int(counts.max()))
        if len(state.series) == 1:
            heights = np.diff(2.0**edges)
            side.barh(2 ** ((edges[1:] + edges[:-1]) / 2), counts, height=heights, color=style.GREY, edgecolor="white", linewidth=0.3)
        else:
            side.stairs(counts, 2.0**edges, orientation="horizontal", edgecolor=curve.colour, linestyle=curve.dashes, linewidth=1.1)
    side.axhline(1, color="black", linewidth=0.9)
    side.tick_params(labelleft=False, left=False, labelsize=style.SMALL)
    side.set_xticks([most], [f"{most:,}"])
    side.set_xlabel("points", fontsize=style.SMALL)
    for edge in ("top", "right"):
        side.spines[edge].set_visible(False)
