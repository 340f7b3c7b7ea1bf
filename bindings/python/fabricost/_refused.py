"""Calls that Python refuses before a function of this package runs, in the words of all its other functions."""
from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _words(function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> str | None:
    """What is wrong with these arguments; None: nothing."""
    parameters = inspect.signature(function).parameters.values()
    open_ended = any(one.kind is one.VAR_KEYWORD for one in parameters)
    names = [one.name for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    placed = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    called = f"{function.__name__}()"
    if len(args) > len(placed):
        return f"{called} takes {len(placed)} argument{'' if len(placed) == 1 else 's'} without a name, not {len(args)}"
    for name in kwargs:
        if name in placed[:len(args)]:
            return f"{called} was given {name} twice"
        if name not in names and not open_ended:
            near = difflib.get_close_matches(name, names)
            return f"{called} has no {name}; " + (f"did you mean {' or '.join(near)}?" if near else f"it takes {', '.join(names)}")
    given = {*placed[:len(args)], *kwargs}
    missing = [one.name for one in parameters if one.name in names and one.default is one.empty and one.name not in given]
    return f"{called} needs {' and '.join(missing)}" if missing else None


def worded(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, whose arguments are checked first. Raises TypeError for one that it does not have, for one missing and one too many."""

    @functools.wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if wrong := _words(function, args, kwargs):
            raise TypeError(wrong)
        return function(*args, **kwargs)

    return checked
