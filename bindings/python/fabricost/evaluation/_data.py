"""The package's own data, read as it lies there."""

from __future__ import annotations

import os
from typing import Any

from .. import _core
from .._extras import module


def data(path: str) -> Any:
    """A YAML file of data/."""
    with open(os.path.join(_core._data_directory(), path), encoding="utf-8") as file:
        return module("yaml").safe_load(file)


def files(folder: str) -> list[tuple[str, Any]]:
    """The YAML files of a folder of data/, by name."""
    names = sorted(name for name in os.listdir(os.path.join(_core._data_directory(), folder)) if name.endswith(".yaml"))
    return [(name.removesuffix(".yaml"), data(f"{folder}/{name}")) for name in names]
