"""Style shared by all pictures: colours and patterns for colour-blind readers and grey prints, ticks in the field's
units, legends and titles.

Colours are the eight of M. Okabe and K. Ito (https://jfly.uni-koeln.de/color/), as in B. Wong, "Points of view: Color blindness",
Nature Methods 8:441 (2011); and grey.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from .._core import _rate_text as rate_text, _seconds_text as seconds_text, _size_text as size_text
from .._extras import module

__all__ = ["rate_text", "seconds_text", "size_text"]

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE, GREY = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#999999",
)
COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, YELLOW, BLACK)
MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (7, 2)), (0, (3, 1, 1, 1)))

# One colour per kind of tier, everywhere; an unlisted one gets the next free colour.
TIER_COLOURS = {
    "gpu": GREY,
    "l2": "#BBBBBB",
    "hbm": YELLOW,
    "nvlink": GREEN,
    "xgmi": GREEN,
    "ici": GREEN,
    "ualink": GREEN,
    "c2c": PURPLE,
    "pcie": ORANGE,
    "nic": BLUE,
    "leaf": SKY,
    "spine": VERMILLION,
    "core": BLACK,
}
# One pattern per kind of term.
TERM_HATCHES = {
    "wire": "",
    "launch": "",
    "serial steps": "////",
    "protocol floor": "....",
    "latency growth": "xxxx",
    "local copies": "\\\\\\\\",
    "sends to peers": "++++",
    "kernels": "----",
}

# Units of numbers that are drawn in larger ones: what those are worth, and their name.
DRAWN_IN = {"byte/s": (1e9, "GB/s"), "byte": (1e9, "GB")}

# A picture shown in half the width of a page of letters, 3.25 inches, has its smallest text in 6 points: Nature and the IEEE print no less.
WIDTH, HEIGHT = 4.8, 3.5  # inches
SMALL = 9  # points: ticks, legends and text inside a picture
TEXT = 10  # points: labels and titles


def pyplot() -> Any:
    """matplotlib.pyplot. Raises ImportError saying what to install."""
    return module("matplotlib.pyplot")


def axes(ax: Any, width: float = WIDTH, height: float = HEIGHT) -> Any:
    """The given axes, or those of a new figure of that size in inches whose layout avoids overlapping text."""
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=(width, height), layout="constrained")[1]


def settle(ax: Any) -> None:
    """Lays the figure out as it will be drawn, so that the axes have their size."""
    if ax.figure.get_layout_engine() is not None:
        ax.figure.draw_without_rendering()


def tier_colour(name: str) -> str:
    return TIER_COLOURS.get(name, PURPLE)


def size_axis(ax: Any, low: float, high: float, label: str = "message size") -> None:
    """A logarithmic axis of sizes from low to high with ticks at powers of two, as many as fit."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    room = max(3, int(ax.get_window_extent().width / ax.figure.dpi / 0.62))
    step = next((s for s in (1, 2, 5, 10) if (last - first) / s < room), 20)
    ticks = [2.0**power for power in range(first, last + 1) if power % step == 0]
    ax.set_xscale("log", base=2)
    ax.set_xlim(low, high)
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(value)))
    ax.tick_params(labelsize=SMALL)
    ax.set_xlabel(label)


def time_axis(ax: Any, axis: str = "y", label: str = "time") -> None:
    """Ticks of a logarithmic axis of seconds, each with its own unit."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    which = ax.yaxis if axis == "y" else ax.xaxis
    (ax.set_yscale if axis == "y" else ax.set_xscale)("log")
    low, high = ax.get_ylim() if axis == "y" else ax.get_xlim()
    which.set_major_locator(LogLocator(base=10, subs=(1,) if high > 60 * low else (1, 2, 5), numticks=12))
    which.set_major_formatter(FuncFormatter(lambda value, _: _tick_seconds(value)))
    which.set_minor_formatter(NullFormatter())
    ax.tick_params(labelsize=SMALL)
    (ax.set_ylabel if axis == "y" else ax.set_xlabel)(label)


def _tick_seconds(seconds: float) -> str:
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= 0.999 * scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def count_axis(ax: Any, values: Sequence[float], label: str) -> None:
    """A logarithmic axis of counts with ticks at these values, as many as fit."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ax.set_xscale("log", base=2)
    across, ticks = math.log(values[-1] / values[0]) or 1.0, [values[0]]
    room = ax.get_window_extent().width / ax.figure.dpi * 72
    for value in values[1:]:
        both = text_width(f"{value:,.0f}", SMALL) + text_width(f"{ticks[-1]:,.0f}", SMALL)
        if room * math.log(value / ticks[-1]) / across > 0.55 * both + 4:
            ticks.append(value)
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.tick_params(labelsize=SMALL)
    ax.set_xlabel(label)


def rate_axis(ax: Any, label: str, unit: float = 1e9) -> None:
    """A logarithmic axis of rates in byte/s or another unit, with ticks such as 0.1, 1, 10 and 1,000 of `unit`."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(base=10, numticks=9))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / unit:,.6g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.tick_params(labelsize=SMALL)
    ax.set_ylabel(label)


def plain_log_axis(ax: Any) -> None:
    """Ticks 0.1, 1, 10, 1,000 on a logarithmic horizontal axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.xaxis.set_major_locator(LogLocator(base=10, numticks=9))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def wants_log(values: Any) -> bool:
    """Whether positive values spread over more than three doublings."""
    low, high = min(values, default=0), max(values, default=0)
    return bool(low > 0 and high > 8 * low)


def grid(ax: Any, axis: str = "both") -> None:
    ax.grid(True, axis=axis, color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)


def title(ax: Any, text: str, pad: float | None = None) -> None:
    """A title broken at commas to fit the width, `pad` points above the axes."""
    size = TEXT
    room = max(20, int(_wide(ax) / (0.56 * size)))
    lines: list[str] = []
    for part in text.split(", "):
        if lines and len(lines[-1]) + 2 + len(part) <= room:
            lines[-1] += ", " + part
        else:
            lines.append(part)
    ax.set_title(",\n".join(lines), fontsize=size, pad=pad)


def _wide(ax: Any) -> float:
    """Points across that a title of the axes has: all of the figure for the only axes, else a little more than the axes."""
    alone = len([one for one in ax.figure.axes if one.get_subplotspec() is not None]) < 2
    return float(ax.figure.get_size_inches()[0] if alone else 1.15 * ax.get_window_extent().width / ax.figure.dpi) * 72


def legend(ax: Any, columns: int = 3, handles: Iterable[Any] | None = None, below: float = 38) -> Any:
    """A legend under the axes, where it hides nothing; `below` in points, past the axis' label. As many columns as are not wider than the
    figure. On a figure that nobody lays out it may not fit below; then it lies in the axes where most is free."""
    from matplotlib.transforms import ScaledTranslation

    away = ax.transAxes + ScaledTranslation(0, -below / 72, ax.figure.dpi_scale_trans)
    given = list(handles) if handles is not None else ax.get_legend_handles_labels()[0]
    if not given:
        return None
    looks: dict[str, Any] = {
        "handles": given, "fontsize": SMALL, "handlelength": 2.2, "columnspacing": 1.2, "labelspacing": 0.35,
        "ncols": _columns([text_width(one.get_label(), SMALL) + 3.6 * SMALL for one in given], columns, _wide(ax)),
    }
    found = ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=away, borderaxespad=0, frameon=False, **looks)
    if ax.figure.get_layout_engine() is None and found.get_window_extent().y0 < 0:
        found = ax.legend(loc="best", framealpha=0.85, **{**looks, "ncols": 1})
    return found


def proxy(**looks: Any) -> Any:
    """A line of the legend that stands for several on the axes."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **looks)


def _columns(widths: Sequence[float], most: int, room: float) -> int:
    """The most columns, filled one after the other as matplotlib does, that are not wider than the room."""
    for count in range(min(most, len(widths)), 1, -1):
        long = [len(widths) // count + (i < len(widths) % count) for i in range(count)]
        starts = [sum(long[:i]) for i in range(count)]
        if sum(max(widths[a : a + n]) for a, n in zip(starts, long)) <= 1.06 * room:
            return count
    return 1


def text_width(text: str, points: float) -> float:
    """Approximate width of a line of DejaVu Sans, in points."""
    return 0.62 * points * max(len(line) for line in text.split("\n"))


def ink(colour: Any) -> str:
    """Black or white, whichever is readable on that colour (relative luminance as WCAG 2 defines it)."""
    from matplotlib.colors import to_rgb

    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return BLACK if luminance > 0.18 else "#FFFFFF"
