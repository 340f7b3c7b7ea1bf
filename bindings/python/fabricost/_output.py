"""Output of a page: to a regular file, or to a free path."""

from __future__ import annotations

import os
from pathlib import Path

from . import _core


def checked_output(output: str | os.PathLike[str]) -> Path:
    """The path, if a page can be written there. Raises RequestError before anything is computed."""
    path = Path(output)
    if not path.absolute().parent.is_dir():
        raise _core.RequestError(f"output: there is no folder {path.absolute().parent}")
    if path.exists() and not path.is_file():
        raise _core.RequestError(f"output {path}: is not a regular file; name one, or a path that is free")
    return path


def written(path: Path, text: str) -> Path:
    """Writes the text completely or not at all: readers see the old page or the new one. A link is kept and its target replaced."""
    _core._write_file(path, text, "output")
    return path
