"""Pictures of a design space: the front of two objectives, one value over two parameters, all parameters and objectives side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import shared, style
from .._core import RequestError

HEADINGS = {
    "step_seconds": "step, s",
    "ttft_seconds": "time to the first token, s",
    "tpot_seconds": "time per token, s",
    "dollars_per_million_tokens": "USD per million tokens",
    "joules_per_million_tokens": "J per million tokens",
    "tokens_per_second_per_user": "tokens/s of a user",
    "tokens_per_second_per_gpu": "tokens/s of a GPU",
    "tokens_per_second": "tokens/s",
    "watts": "W of the site",
}


def _drawn(found: Any, name: str) -> tuple[float, str]:
    """The unit in which a column is drawn: what it is worth of the column's own, and its name."""
    unit = {axis.name: axis.unit for axis in found.axes}.get(name, "")
    return style.DRAWN_IN.get(unit, (1.0, unit))


def _label(found: Any, name: str) -> str:
    unit = _drawn(found, name)[1]
    return HEADINGS.get(name) or (f"{name}, {unit}" if unit else name)


def _ticks(found: Any, name: str, values: list[Any]) -> list[str]:
    return [f"{one / _drawn(found, name)[0]:g}" if isinstance(one, float) else str(one) for one in values]


def _column(found: Any, name: str, what: str) -> np.ndarray:
    name = found._name(name)
    if name not in found.columns or not isinstance(found[name], np.ndarray):
        numeric = [one for one, values in found.columns.items() if isinstance(values, np.ndarray) and values.dtype != bool]
        raise RequestError(f"{what}: {name!r} is no column of numbers; there are {' '.join(numeric)}")
    return np.asarray(found[name], dtype=float) / _drawn(found, name)[0]


def _counted(found: Any, fewest: int) -> list[str]:
    names = [objective.name for objective in found.objectives if objective.counts]
    if len(names) < fewest:
        raise RequestError(f"found: {len(names)} objective counts; a picture of a front needs {fewest}, as in objectives=\"step,W\"")
    return names


def front(
    found: Any, *, x: str | None = None, y: str | None = None, label: str | None = None, color: Any = None, ax: Any = None
) -> Any:
    """Points of an Exploration by two of their objectives, the front and its knee marked.

    With ax= of an earlier call the points and their front are added to that picture.

    x, y: columns; default the first two objectives. label: name of the front. color: of the front; by default the next free one.

    Returns the axes. Raises RequestError for other columns, where only one counts, and for axes that show something else.
    """
    names = _counted(found, 1 if x and y else 2)
    x, y = found._name(x or names[0]), found._name(y or names[1])
    across, up = _column(found, x, "x"), _column(found, y, "y")
    ax = style.axes(ax)
    shared.asked_show(ax, None, (y,), x)
    state, curve = shared.start(ax, (x, y), (f"{found.job} {found.model}", f"{len(found.front)} of {len(found):,} points on the front"),
                                label=label, color=color, note="")
    dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 3.5, "alpha": 1 if curve.number == 0 else 0.5}
    star: dict[str, Any] = {"linestyle": "none", "marker": "*", "markersize": 14, "color": style.ORANGE, "markeredgecolor": "black",
                            "markeredgewidth": 0.7}
    runs = np.isfinite(across) & np.isfinite(up)
    meets = runs & found["meets"]
    ax.plot(across[runs & ~meets], up[runs & ~meets], linestyle="none", marker="x", markersize=4, color="#999999",
            label="_outside")
    colour = curve.colour if curve.number else style.SKY
    ax.plot(across[meets], up[meets], color=colour, label="_points", **dots)
    rows = [row for row in found.front if runs[row]]
    ordered = sorted(rows, key=lambda row: across[row])
    (curve.line,) = ax.plot(across[ordered], up[ordered], linestyle=curve.dashes if len(names) == 2 else "none", linewidth=1.4,
                            marker="sD^vPX*o"[curve.number % 8], markersize=5, color=curve.colour, markeredgecolor="black",
                            markeredgewidth=0.5, zorder=3)
    if found.knee is not None and runs[found.knee]:
        ax.plot(across[found.knee], up[found.knee], label="_knee", zorder=4, **star)
    for values, scale in ((across, ax.set_xscale), (up, ax.set_yscale)):
        if style.wants_log(values[runs]):
            scale("log")
    ax.set_xlabel(_label(found, x))
    ax.set_ylabel(_label(found, y))
    style.grid(ax)
    ax.tick_params(labelsize=style.SMALL)
    if not curve.number:
        state.extra = [style.proxy(label="points", color=style.SKY, **dots)]
        if (runs & ~meets).any():
            state.extra.append(style.proxy(label="outside the limits", linestyle="none", marker="x", markersize=4, color="#999999"))
        if found.knee is not None and runs[found.knee]:
            state.extra.append(style.proxy(label="its knee", **star))
    shared.finish(ax, state, alone="the front")
    return ax


def heat_map(found: Any, *, rows: str | None = None, columns: str | None = None, value: str | None = None, ax: Any = None) -> Any:
    """One column of an Exploration over two things varied: the best over all others, as colour and number. Hatched: nothing can run.

    rows, columns: names of axes; default the last two. value: a column; default the first objective. Returns the axes. Raises
    RequestError for other names.
    """
    names = [axis.name for axis in found.axes]
    if len(names) < 2 and not (rows and columns):
        raise RequestError("found: one thing is varied; a heat map needs two")
    rows, columns = found._name(rows or names[-2]), found._name(columns or names[-1])
    for what, name in (("rows", rows), ("columns", columns)):
        if name not in names:
            raise RequestError(f"{what}: {name!r} is not varied; there are {' '.join(names)}")
    if rows == columns:
        raise RequestError(f"columns: {columns!r} is what the rows show")
    value = found._name(value or _counted(found, 1)[0])
    numbers = _column(found, value, "value")
    more = any(o.name == value and o.more_is_better for o in found.objectives)
    axes = {axis.name: list(axis.words or axis.values) for axis in found.axes}
    cells = np.full((len(axes[rows]), len(axes[columns])), np.nan)
    place = {name: {one: i for i, one in enumerate(axes[name])} for name in (rows, columns)}
    for row, column, number in zip(found[rows], found[columns], numbers):
        at = place[rows][row], place[columns][column]
        if np.isfinite(number) and not (np.isfinite(cells[at]) and (number < cells[at]) == more):
            cells[at] = number
    if not np.isfinite(cells).any():
        raise RequestError(f"value: no point has {value}")
    import matplotlib

    ax = style.axes(ax, max(3.6, 1.3 + 0.5 * cells.shape[1]), 1.7 + 0.36 * cells.shape[0])
    colours = matplotlib.colormaps["cividis" if more else "cividis_r"]
    low, high = np.nanmin(cells), np.nanmax(cells)
    ax.imshow(np.ma.masked_invalid(cells), cmap=colours, vmin=low, vmax=high if high > low else low + 1, aspect="auto")
    for (i, j), number in np.ndenumerate(cells):
        if np.isfinite(number):
            shade = colours((number - low) / (high - low) if high > low else 0.0)
            ax.text(j, i, f"{number:.3g}", ha="center", va="center", fontsize=style.SMALL, color=style.ink(shade))
        else:
            ax.add_patch(matplotlib.patches.Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor="#EEEEEE", edgecolor="#888888", hatch="////",
                                                      linewidth=0))
    ax.set_xticks(range(cells.shape[1]), _ticks(found, columns, axes[columns]))
    ax.set_yticks(range(cells.shape[0]), _ticks(found, rows, axes[rows]))
    ax.tick_params(labelsize=style.SMALL)
    ax.set_xlabel(_label(found, columns))
    ax.set_ylabel(_label(found, rows))
    style.title(ax, f"{found.job} {found.model}: {_label(found, value)}")
    return ax


def parallel(found: Any, *, ax: Any = None) -> Any:
    """Every point of an Exploration as a line through its axes and objectives; those of the front in colour, the knee thick.

    Returns the axes.
    """
    names = [axis.name for axis in found.axes]
    names += [name for name in _counted(found, 1) if name not in names]
    words = {axis.name: list(axis.words) for axis in found.axes if axis.words}
    ax = style.axes(ax, max(style.WIDTH, 1.2 * len(names)))
    heights, ends = [], []
    for name in names:
        values = np.array([words[name].index(one) for one in found[name]], dtype=float) if name in words else _column(found, name, "found")
        finite = values[np.isfinite(values)]
        low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
        logs = style.wants_log(finite) and name not in words
        scaled = (np.log(values) - np.log(low)) / (np.log(high) - np.log(low)) if logs else (values - low) / (high - low or 1.0)
        heights.append(scaled)
        ends.append((words[name][0], words[name][-1]) if name in words else (f"{low:.3g}", f"{high:.3g}"))
    lines = np.stack(heights, axis=1)
    runs = np.isfinite(lines).all(axis=1)
    on = np.zeros(len(lines), dtype=bool)
    on[found.front] = True
    others = np.flatnonzero(runs & ~on)
    for row in others[:: max(1, len(others) // 400)]:
        ax.plot(lines[row], color="#BBBBBB", linewidth=0.5, alpha=0.6)
    for row in np.flatnonzero(runs & on):
        knee = row == found.knee
        ax.plot(lines[row], color=style.ORANGE if knee else style.BLUE, linewidth=2.6 if knee else 1.1, zorder=4 if knee else 3)
    for i, (low, high) in enumerate(ends):
        ax.axvline(i, color="black", linewidth=0.6)
        ax.text(i, -0.03, low, ha="center", va="top", fontsize=style.SMALL)
        ax.text(i, 1.03, high, ha="center", va="bottom", fontsize=style.SMALL)
    ax.set_xticks(range(len(names)), [_label(found, name).replace(", ", "\n") for name in names], fontsize=style.SMALL)
    ax.tick_params(axis="x", pad=14)
    ax.set_xlabel("what is varied, and what counts")
    ax.set_ylabel("from the least to the most")
    ax.set_yticks([])
    ax.set_ylim(-0.02, 1.02)
    for side in ("left", "right", "top", "bottom"):
        ax.spines[side].set_visible(False)
    style.title(ax, f"{found.job} {found.model}: {len(found.front)} on the front of {len(found):,} points", pad=18)
    return ax
