"""Calls that Python or pybind11 refuse before a function of this package runs, in the words of all its other functions."""
from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from . import _core

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
            return _core._no_such(function.__name__, name, names)
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


_TYPES = {"typing.SupportsInt | typing.SupportsIndex": "int", "typing.SupportsFloat | typing.SupportsIndex": "float",
          "typing.SupportsInt": "int", "typing.SupportsFloat": "float", "collections.abc.": "", "fabricost._core.": ""}


def _plain(types: str) -> str:
    """Types as users write them."""
    for compiled, written in _TYPES.items():
        types = types.replace(compiled, written)
    return types


def _signatures(message: str) -> list[ast.arguments]:
    """Those that pybind11's message lists: `1. (self: T, path: object = '') -> U`, of a constructor `1. T(path: object = '')`."""
    taken = re.findall(r"(?m)^    \d+\. [\w.]*(\(.*?\))(?: -> .*)?$", message)
    functions = [ast.parse(f"def called{arguments}: ...").body[0] for arguments in taken]
    return [one.args for one in functions if isinstance(one, ast.FunctionDef)]


def _types(arguments: ast.arguments) -> dict[str, str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return {one.arg: _plain(ast.unparse(one.annotation)) for one in every if one.annotation and one.arg != "self"}


def reworded(message: str, placed: int, named: list[str], given: list[str]) -> str:
    """pybind11's message about a call that it refused. placed: arguments without a name, self included; named: names of the others;
    given: types of all of them."""
    function, signatures = message.split("(): ", 1)[0], _signatures(message)
    first = signatures[0]
    makes, method = function == "__init__", any(one.arg == "self" for one in [*first.posonlyargs, *first.args])
    if makes:
        function = _plain(message.split("1. ", 1)[1].split("(", 1)[0])
    if makes or method:
        placed, given = max(placed - 1, 0), given[1:]
    names = list(_types(first))
    if not names:
        return f"{function}() takes {'no argument without its name' if first.kwarg else 'no arguments'}"
    for name in named:
        if name not in names:
            return _core._no_such(function, name, names)
        if names.index(name) < placed:
            return f"{function}() was given {name} twice"
    if placed > len(names):
        return f"{function}() takes {len(names)} argument{'' if len(names) == 1 else 's'}, not {placed}"
    needed = len(names) - len(first.defaults) - sum(one is not None for one in first.kw_defaults)
    for name in names[placed:needed]:
        if name not in named:
            return f"{function}() needs {name}"
    taken = [", ".join(f"{name}: {of}" for name, of in _types(one).items()) for one in signatures]
    if function == "__getitem__" and given == ["str"] and all(set(_types(one).values()) <= {"int", "slice"} for one in signatures):
        return "[] takes the place of a row, [0], or of several, [:3], not str; figures are attributes of a row"
    called = "[]" if function == "__getitem__" else f"{function}()"
    return f"{called} takes {' or '.join(filter(None, taken))}, not {_plain(', '.join(given))}"
