"""What all formats share: their options, how the values of these are checked, and how files are written whole or not at all."""
from __future__ import annotations

import dataclasses
import numbers
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import _core


class Made(NamedTuple):
    """Files by their path below the output, and sentences for the user; a format of one file has it under the name ""."""

    files: Mapping[str, bytes]
    notes: Sequence[str] = ()


class Exported(NamedTuple):
    """`files` that were written, and `notes`: how far the format can follow the predictions, and how to use it."""

    files: list[Path]
    notes: list[str]


@dataclasses.dataclass(frozen=True)
class Option:
    """One option of a format: `name` in Python, --name with dashes on the command line."""

    name: str
    kind: str  # bytes, sizes, count, counts, number, seconds, word, words
    help: str
    default: Any = None
    choices: tuple[str, ...] = ()
    needed: bool = False

    def checked(self, given: Any, spelled: str) -> Any:
        """The value in SI units. Raises RequestError, whose message begins with `spelled`."""
        try:
            return _KINDS[self.kind](self, given, spelled)
        except (TypeError, OverflowError) as error:
            raise _core.RequestError(f"{spelled}: {given!r} is not {_WANTED[self.kind]}") from error


@dataclasses.dataclass(frozen=True)
class Format:
    """One format: `make(system, **options)` gives its files."""

    name: str
    title: str
    make: Callable[..., Made]
    options: tuple[Option, ...] = ()
    folder: bool = False   # the output is a folder
    machine: bool = True   # it describes a machine
    example: str = ""


def _count(option: Option, given: Any, spelled: str) -> int:
    number = _number(option, given, spelled)
    if number < 1 or number != int(number) or number > 1e9:
        raise _core.RequestError(f"{spelled}: {given!r} is not a whole number from 1 to 1000000000")
    return int(number)


def _number(option: Option, given: Any, spelled: str) -> float:
    if isinstance(given, bool) or not isinstance(given, (str, numbers.Real)):
        raise TypeError
    try:
        number = float(given)
    except ValueError:
        number = float("nan")
    if not 0 < number < float("inf"):
        raise _core.RequestError(f"{spelled}: {given!r} is not a number above 0")
    return number


def _with_unit(read: Callable[[str, str], float]) -> Callable[[Option, Any, str], float]:
    return lambda option, given, spelled: read(given, spelled) if isinstance(given, str) else _number(option, given, spelled)


def _several(one: Callable[[Option, Any, str], Any]) -> Callable[[Option, Any, str], list[Any]]:
    def read(option: Option, given: Any, spelled: str) -> list[Any]:
        each = given.split(",") if isinstance(given, str) else [given] if np.ndim(given) == 0 else list(given)
        if not each:
            raise _core.RequestError(f"{spelled}: name at least one")
        return list(dict.fromkeys(one(option, value, spelled) for value in each))

    return read


def _sizes(option: Option, given: Any, spelled: str) -> list[float]:
    found = _core._sizes_of(given, spelled) if isinstance(given, str) else _several(_with_unit(_core._size_of))(option, given, spelled)
    return sorted(set(found))


def _word(option: Option, given: Any, spelled: str) -> str:
    if not isinstance(given, str):
        raise TypeError
    if option.choices and given not in option.choices:
        raise _core.RequestError(f"{spelled}: " + _core._unknown(given, f"a {option.name.replace('_', ' ')} of this format", list(option.choices)))
    return given


_KINDS: dict[str, Callable[[Option, Any, str], Any]] = {
    "bytes": _with_unit(_core._size_of), "sizes": _sizes, "count": _count, "counts": _several(_count), "number": _number,
    "seconds": _with_unit(_core._seconds_of), "word": _word, "words": _several(_word)}
_WANTED = {"bytes": "a size as 256MiB", "sizes": "sizes as 1KiB:1GiB:x2 or 4KiB,64KiB", "count": "a whole number",
           "counts": "whole numbers as 2,4,8", "number": "a number", "seconds": "a time as 30ms", "word": "a word", "words": "words as a,b"}


def check_output(output: Path, folder: bool) -> None:
    """Raises RequestError before anything is computed."""
    if output.is_dir() != folder and output.exists():
        raise _core.RequestError(f"output {output}: is {'not ' if folder else ''}a folder; name {'one' if folder else 'a file'}, or a path that is free")
    if not output.absolute().parent.is_dir():
        raise _core.RequestError(f"output: there is no folder {output.absolute().parent}")


def write(output: Path, files: Mapping[str, bytes], folder: bool) -> list[Path]:
    """Writes all files, each under a temporary name first, so that a reader sees the old one or the new one. Raises RequestError."""
    written = []
    try:
        for name, content in files.items():
            path = output / name if folder else output
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{os.getpid()}")
            try:
                with temporary.open("xb") as file:
                    file.write(content)
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
            written.append(path)
    except OSError as error:
        raise _core.RequestError(f"output {error.filename or output}: cannot be written: {error.strerror}") from error
    return written


def described(name: str | None = None) -> Any:
    """formats.yaml: of one format, or all of it. Raises ImportError without PyYAML."""
    from .._extras import module

    every = module("yaml").safe_load((Path(__file__).parent / "formats.yaml").read_text(encoding="utf-8"))
    return every if name is None else next(one for one in every if one["format"] == name)


def powers_up_to(most: int) -> list[int]:
    """2, 4, 8, ... up to `most`, and `most` itself: the groups that jobs form."""
    return sorted({*(2**k for k in range(1, most.bit_length()) if 2**k <= most), most} - {1})


def yaml_text(value: Any) -> str:
    """Raises ImportError without PyYAML."""
    from .._extras import module

    return str(module("yaml").safe_dump(value, sort_keys=False, width=10_000))
