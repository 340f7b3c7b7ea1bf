"""A design space as one HTML file to mail: the front, pictures, what more of each part is worth, every point."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from . import _html as html
from ._plot import explore as plot
from .report import _facts, _Page, _picture, _wide

MOST_ROWS = 2000


def _cell(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        value = float(value)
        return "" if not np.isfinite(value) else f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    return "yes" if value is True or value is np.True_ else "" if value is False or value is np.False_ else str(value)


def _shown(found: Any, name: str, value: Any) -> Any:
    over = plot._drawn(found, name)[0]
    return value / over if over != 1 else value


def _rows(found: Any, rows: list[int], names: list[str]) -> list[list[str]]:
    return [[_cell(_shown(found, name, found[name][row])) for name in names] for row in rows]


def page(found: Any, title: str | None) -> str:
    """The page's text. Raises ImportError without matplotlib."""
    import fabricost as fc

    objectives = [one.name for one in found.objectives]
    counted = [one.name for one in found.objectives if one.counts]
    varied = [axis.name for axis in found.axes]
    shown = varied + [name for name in objectives if name not in varied]
    label = functools.partial(plot._label, found)
    out = _Page(title or f"{found.job} {found.model}: {len(found):,} machines")
    runs = [i for i, trouble in enumerate(found["trouble"]) if not trouble]
    out.section(
        "Asked",
        _facts([("points", f"{len(found):,}"), ("can run", f"{len(runs):,}"), ("within the limits", f"{int(found['meets'].sum()):,}"),
                ("on the front", f"{len(found.front):,}")]),
        _wide(html.table(["varied", "unit", "values"],
                         [[axis.name, plot._drawn(found, axis.name)[1],
                           ", ".join(_cell(_shown(found, axis.name, one)) for one in axis.words or axis.values)] for axis in found.axes])),
        html.line(f"Money: {found.price_kind}.".replace("_", " ") if found.price_kind else f"No money: {found.no_price}."),
        *([html.line(f"Assumed: {found.stack_note}.")] if found.stack_note else []),
        *(html.line(f"Note: {note}.") for note in found.notes),
    )
    if found.front:
        heading = ["number", *map(label, shown), "layout", "largest term besides computing", ""]
        rows = [[f"{row:,}", *cells, found["layout"][row].replace(" ", "\u00a0"), found["binds"][row], "knee" if row == found.knee else ""]
                for row, cells in zip(found.front, _rows(found, found.front, shown))]
        pictures = []
        if len(counted) > 1:
            pictures.append(_picture(lambda: plot.front(found), "points by two objectives, the front marked"))
        out.section("The front", html.line("No other point beats these in all that counts."), _wide(html.table(heading, rows)), *pictures)
    pictures = []
    numeric = [axis for axis in found.axes if len(axis.words or axis.values) > 1]
    if len(numeric) > 1 and found.front:
        pictures.append(_picture(lambda: plot.heat_map(found, rows=numeric[-2].name, columns=numeric[-1].name),
                                 f"{counted[0]} over {numeric[-2].name} and {numeric[-1].name}"))
    if found.front:
        pictures.append(_picture(lambda: plot.parallel(found), "every point as a line through what is varied and what counts"))
    if pictures:
        out.section("The space", *pictures)
    if found.worth:
        rows = [[one.parameter, one.change, f"{100 * one.gain:+.2f} %",
                 "" if one.dollars_per_gpu_hour is None else f"{one.dollars_per_gpu_hour:.3f}"] for one in found.worth]
        out.section("What more of a part gives at the knee" if found.knee is not None else "What more of a part gives at the best point",
                    _wide(html.table(["part", "more", "tokens/s", "worth, USD a GPU-hour"], rows)),
                    html.line("Layouts are searched again. Worth is what the GPU-hour may cost more at equal dollars per token."))
    listed = list(range(len(found)))[:MOST_ROWS]
    names = [*shown, "low_seconds", "high_seconds", "layout", "trouble"]
    more = f" The first {MOST_ROWS:,} of {len(found):,}." if len(found) > MOST_ROWS else ""
    cells = [[f"{row:,}", *texts] for row, texts in zip(listed, _rows(found, listed, names))]
    points = _wide(html.table(["number", *map(label, names)], cells))
    out.section("Every point", html.line("low and high: nine steps, or tokens, in ten fall between." + more),
                f"<details><summary>The table</summary>{points}</details>")
    return out.text(fc.__version__)
