"""Picture of prediction errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _plot_style as style
from ._core import RequestError
from ._given import numbers


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


def residuals(errors: Any, *, ax: Any = None) -> Any:
    """Predicted over measured time against message size, one marker per operation, and the distribution of the points at the side.

    Above 1 the prediction is too slow. Shaded: within 10 percent. The axis is logarithmic, so that half and double
    are equally far off; points beyond its range are triangles at its edge.

    errors: a result of validate, calibrate or diagnose, or a table with bytes, measured_seconds, predicted_seconds
    and optionally operation.

    Returns the axes of the points. Raises RequestError if there are none.
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
    reach = float(np.clip(1.12 * furthest, np.log2(1.3), 2))
    ax = style.axes(ax, 6.4, 4.0)
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    style.grid(ax)
    ax.axhspan(1 / 1.1, 1.1, color="#E8EEF4", zorder=0, label="within 10 %")
    ax.axhline(1, color="black", linewidth=0.9, zorder=1)
    shown = np.clip(np.log2(ratio), -reach, reach)
    for i, name in enumerate(sorted(set(table["operation"]))):
        own = table["operation"] == name
        colour, marker = style.COLOURS[i % len(style.COLOURS)], style.MARKERS[i % len(style.MARKERS)]
        ax.plot(
            table["bytes"][own],
            2 ** shown[own],
            linestyle="none",
            marker=marker,
            markersize=4 if own.sum() < 300 else 2.5,
            markerfacecolor=colour,
            markeredgecolor="black",
            markeredgewidth=0.3,
            alpha=0.85,
            label=name,
            zorder=2,
        )
    far = np.abs(np.log2(ratio)) > reach
    for side, marker in ((1, "^"), (-1, "v")):
        out = far & (np.sign(np.log2(ratio)) == side)
        ax.plot(
            table["bytes"][out],
            np.full(int(out.sum()), 2 ** (0.94 * side * reach)),
            linestyle="none",
            marker=marker,
            markersize=8,
            color="black",
            zorder=5,
            label="further off" if out.any() and (side == 1 or not (far & (ratio > 1)).any()) else "_",
        )
    low, high = table["bytes"].min(), table["bytes"].max()
    style.size_axis(ax, low / 1.5, max(high, low * 4) * 1.5)
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
    _histogram(ax, shown, reach)
    systems = sorted(set(table["system"]) - {""})
    off = 100 * np.abs(ratio - 1)
    which = "".join(f"{one}, " for one in systems) if len(systems) <= 3 else f"{len(systems)} systems, "
    style.title(ax, f"{which}{len(ratio):,} points, median error {np.median(off):.2g} %, {100 * np.mean(off <= 10):.0f} % within 10 %")
    style.legend(ax, columns=4)
    return ax


def _histogram(ax: Any, logs: np.ndarray, reach: float) -> None:
    """Histogram of the points at the side."""
    side = ax.inset_axes([1.015, 0, 0.15, 1], sharey=ax)
    counts, edges = np.histogram(logs, bins=31, range=(-reach, reach))
    side.barh(2 ** ((edges[1:] + edges[:-1]) / 2), counts, height=np.diff(2.0**edges), color=style.GREY, edgecolor="white", linewidth=0.3)
    side.axhline(1, color="black", linewidth=0.9)
    side.tick_params(labelleft=False, left=False, labelsize=7)
    side.set_xticks([counts.max()], [f"{counts.max():,}"])
    side.set_xlabel("points", fontsize=8)
    for edge in ("top", "right"):
        side.spines[edge].set_visible(False)
