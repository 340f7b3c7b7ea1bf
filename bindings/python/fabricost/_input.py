"""Text of a user's file."""

from __future__ import annotations

import os
from pathlib import Path

from . import _core


def text_of(file: str | os.PathLike[str]) -> str:
    """The text of a regular file (a pipe would be waited for). Raises RequestError for a file that cannot be read as UTF-8."""
    path = Path(file)
    try:
        if path.exists() and not path.is_file():
            raise _core.RequestError(f"{path}: is not a regular file; name one")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise _core.RequestError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise _core.RequestError(f"{path}: is not UTF-8 (byte {error.start + 1}); export it as text first") from None
