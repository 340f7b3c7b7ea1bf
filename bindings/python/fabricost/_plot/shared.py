"""Several curves on one axes: each has its own colour, dashes and name. What they share is drawn and said once: the title, the
legend of the band, the ranges of what runs.

The first call writes on the axes what it drew; further calls add to it. Axes that were cleared in between are new ones. A title
that somebody else wrote stays.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import style
from .. import _core
from .._core import Operation, RequestError, System, load_system
from ..names import operations

BAND = "nine in ten measurements"


def machine_of(system: System | str | os.PathLike[str]) -> System:
    """A machine that was given itself, by its name or by its file. Raises as load_system."""
    return system if isinstance(system, System) else load_system(system)


def operation_of(given: Operation | str) -> Operation:
    """An operation that was given itself, or by its name. Raises TypeError for anything else."""
    if isinstance(given, str):
        if given not in operations:
            raise RequestError(f"operation: {_core._unknown(given, 'an operation', list(operations))}")
        named: Operation = operations[given]()
        return named
    if not isinstance(given, Operation):
        what = f"the class {given.__name__}; write {given.__name__}()" if isinstance(given, type) else type(given).__name__
        raise TypeError(f"operation: an Operation, or its name, is wanted, not {what}")
    return given


@dataclass
class Curve:
    facts: tuple[str, ...]  # machine, operation, ranks, what was forced: as in the title
    label: str | None  # the caller's name for it
    note: str  # in brackets behind a name that is made from the facts
    colour: Any
    number: int  # among the curves of the axes
    line: Any = None
    points: Any = None  # of measurements

    @property
    def dashes(self) -> Any:
        return style.DASHES[self.number % len(style.DASHES)]

    @property
    def marker(self) -> str:
        return style.MARKERS[self.number % len(style.MARKERS)]


@dataclass
class Shared:
    what: tuple[str, str]  # what the two axes show
    curves: list[Curve] = field(default_factory=list)
    title: str | None = None
    span: tuple[float, float] = (np.inf, -np.inf)  # of x
    top: float = 0.0  # of y, with room for what is written there
    regions: list[str] | None = None  # what runs in the shaded ranges
    markers: dict[str, str] = field(default_factory=dict)  # of what runs, where markers say it
    series: list[tuple[Curve, np.ndarray, np.ndarray]] = field(default_factory=list)  # points of each call
    roofs: list[tuple[float, str]] = field(default_factory=list)  # of arithmetic, with their names
    extra: list[Any] = field(default_factory=list)  # further lines of the legend


def shown(ax: Any) -> Shared | None:
    """The state that earlier calls left on these axes; None for new or cleared ones."""
    found: Shared | None = getattr(ax, "_fabricost", None)
    return found if found is not None and found.curves and found.curves[0].line in ax.lines else None


def asked_show(ax: Any, show: str | None, words: Sequence[str], x: str) -> str:
    """The quantity on the vertical axis: as asked, as the axes show already, or the first word. Raises RequestError for other words,
    and for axes that show something else."""
    if show is not None and show not in words:
        raise RequestError(f'show: "{show}" is none of {", ".join(words)}')
    before = shown(ax)
    if before is None:
        return show or words[0]
    if before.what[0] != x or before.what[1] not in words or (show is not None and show != before.what[1]):
        raise RequestError(f"ax: shows {before.what[1]} against {before.what[0]}; draw {show or words[0]} against {x} into other axes")
    return before.what[1]


def start(ax: Any, what: tuple[str, str], facts: Sequence[str], *, label: str | None, color: Any, note: str) -> tuple[Shared, Curve]:
    """The state of the axes with one more curve in it."""
    state = shown(ax)
    if state is None:
        state = ax._fabricost = Shared(what)
    number = len(state.curves)
    curve = Curve(tuple(facts), label, note, style.COLOURS[number % len(style.COLOURS)] if color is None else checked(color), number)
    state.curves.append(curve)
    return state, curve


def checked(color: Any) -> Any:
    """A colour of matplotlib. Raises RequestError for another."""
    from matplotlib.colors import is_color_like

    if not is_color_like(color):
        raise RequestError(f'color: {color!r} is no colour; write a name such as "tab:red", or "#0072B2"')
    return color


def band(ax: Any, curve: Curve, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """The interval of a curve; the legend has it once."""
    ax.fill_between(
        x, low, high, color=curve.colour, alpha=0.22, linewidth=0, label="_band" if curve.number else BAND, zorder=2 - 0.01 * curve.number
    )


def line(ax: Any, curve: Curve, x: np.ndarray, y: np.ndarray) -> None:
    (curve.line,) = ax.plot(x, y, color=curve.colour, linestyle=curve.dashes, linewidth=1.8, zorder=3)


def finish(ax: Any, state: Shared, columns: int = 2, alone: str | None = None) -> None:
    """Names of the curves, title and legend, for the curves there are now. alone: the name of an only curve."""
    facts = [curve.facts for curve in state.curves]
    apart = [i for i in range(len(facts[0])) if len({one[i] for one in facts}) > 1]
    for curve in state.curves:
        own = ", ".join(curve.facts[i] for i in apart if curve.facts[i])
        name = curve.label or (f"{own} ({curve.note})" if own and curve.note else own or alone or f"predicted ({curve.note})")
        curve.line.set_label(name)
        if curve.points is not None:
            only = sum(one.points is not None for one in state.curves) == 1
            curve.points.set_label("measured" if only else f"measured, {curve.label or own or curve.number + 1}")
    title = ", ".join(one for i, one in enumerate(facts[0]) if i not in apart and one)
    entitle(ax, state, title)
    handles = [curve.line for curve in state.curves] + [c for c in ax.collections if c.get_label() == BAND]
    handles += [curve.points for curve in state.curves if curve.points is not None]
    style.legend(ax, columns=columns, handles=handles + state.extra)


def entitle(ax: Any, state: Shared, title: str) -> None:
    """Writes the title over an empty one or one of ours."""
    if state.title is None and not ax.get_title() or ax.get_title() == state.title:
        style.title(ax, title)
        state.title = ax.get_title()


def forced(choice: Mapping[str, Any]) -> str:
    """The forced parts of the choice, as the title names them."""
    return " ".join(str(getattr(value, "value", value)) for value in choice.values() if value is not None)
