"""The folder of a sweep: its identity, its complete parts, and atomic writing of files."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import platform
import re
import threading
from typing import Any

from . import _core
from ._extras import module

_MARK = b"fabricost.sweep"  # in the footer of a part
_HOST = re.sub(r"\W", "_", platform.node()) or "host"
_UNFINISHED = re.compile(r"\.(?:part-.*|sweep\.json)\.(\w+)-(\d+)-\d+")  # host, process and thread that write it

_REMEDY = "name another folder, or give overwrite=True"


def part_name(number: int) -> str:
    return f"part-{number:08d}.parquet"


def mark(identity: str, number: int) -> dict[bytes, bytes]:
    """Contents of a part's footer: its sweep and its number."""
    return {_MARK: f"{identity} {number}".encode()}


def put(path: pathlib.Path, content: bytes) -> None:
    """Writes a file under its name only when it is complete and on the disk; removes an incomplete one."""
    unfinished = path.with_name(f".{path.name}.{_HOST}-{os.getpid()}-{threading.get_ident()}")
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def begin(path: pathlib.Path, grid: Any, of: Any, overwrite: bool) -> set[int]:
    """Creates the folder or recognises it, and sets the identity of `grid`; returns the existing parts. Raises
    RequestError for a folder with other content."""
    asked = "fabricost.predict" if of is None else f"{of.__module__}.{of.__qualname__}"
    record = {**grid.described(), "fabricost": _core.__version__, "of": asked}
    text = json.dumps(record, indent=1)
    grid.identity = hashlib.sha256(text.encode()).hexdigest()
    if path.exists() and not path.is_dir():
        raise _core.RequestError(f"out: {str(path)!r} is a file; a sweep writes a folder")
    kept = path / "sweep.json"
    if kept.exists() and not overwrite:
        _check_same(path, kept, record)
        _check_strangers(path, grid.parts)
    elif kept.exists():
        for old in path.glob("part-*.parquet"):
            old.unlink()
    elif path.is_dir() and any(not _UNFINISHED.fullmatch(one.name) for one in path.iterdir()):
        raise _core.RequestError(f"out: {str(path)!r} holds files that are no sweep; name an empty or a new folder")
    path.mkdir(parents=True, exist_ok=True)
    for one in path.iterdir():
        if _is_left_over(one.name):
            one.unlink(missing_ok=True)
    put(kept, text.encode())
    return {number for number in range(grid.parts) if _is_whole(path / part_name(number), grid, number)}


def _check_same(path: pathlib.Path, kept: pathlib.Path, record: dict[str, Any]) -> None:
    try:
        before = json.loads(kept.read_text())
    except ValueError:
        before = {}
    if before == record:
        return
    axes, old = record["axes"], before.get("axes", {})
    changed = [name for name in axes if old.get(name) != axes[name]] + [name for name in old if name not in axes]
    machines = old.get("system", {}).get("machines")
    edited = bool(machines) and {**old["system"], "machines": None} == {**axes.get("system", {}), "machines": None}
    if changed == ["system"] and edited:
        raise _core.RequestError(
            f"out: {str(path)!r} was begun when a machine of the axis system was made of something else; {_REMEDY}"
        )
    differs = [key for key in record if before.get(key) != record[key]]
    said = ", ".join(f"axes: {' '.join(changed)}" if key == "axes" else key for key in differs)
    raise _core.RequestError(f"out: {str(path)!r} holds another sweep (differing in {said}); {_REMEDY}")


def _check_strangers(path: pathlib.Path, parts: int) -> None:
    """Readers of the folder take every part they find: a part of another sweep would add wrong rows."""
    own = re.compile(r"part-(\d{8,})\.parquet")
    for one in sorted(path.glob("part-*.parquet")):
        number = own.fullmatch(one.name)
        if number is None or int(number[1]) >= parts or one.name != part_name(int(number[1])):
            raise _core.RequestError(
                f"out: {str(one)!r} is no part of this sweep, which has {parts:,}; take it away, or give overwrite=True"
            )


def _is_left_over(name: str) -> bool:
    """A temporary file of a process on this host that ended while writing."""
    writer = _UNFINISHED.fullmatch(name)
    if writer is None or writer[1] != _HOST:
        return False
    try:
        os.kill(int(writer[2]), 0)  # tests whether the process exists
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    return False


def _is_whole(path: pathlib.Path, grid: Any, number: int) -> bool:
    """True for a part whose footer matches this sweep. Others are computed again and replaced."""
    if not path.is_file():
        return False
    try:
        footer = module("pyarrow.parquet").read_metadata(path)
    except (OSError, ValueError):  # base classes of pyarrow's own exceptions
        return False
    said = (footer.metadata or {}).get(_MARK)
    return bool(footer.num_rows == grid.rows_of(number) and said == mark(grid.identity, number)[_MARK])
