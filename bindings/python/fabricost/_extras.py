"""Optional dependencies, with the extra of this package that installs each."""

from __future__ import annotations

import importlib
from typing import Any

EXTRAS = {
    "matplotlib": "plot",
    "pandas": "pandas",
    "polars": "polars",
    "xarray": "xarray",
    "pyarrow": "sweep",
    "tqdm": "sweep",
    "distributed": "dask",
}


def module(name: str) -> Any:
    """The module of that dotted name. Raises ImportError saying what to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        if error.name is not None and error.name.split(".")[0] != package:
            raise  # the module exists, one of its own dependencies does not
        remedy = f"pip install 'fabricost[{EXTRAS[package]}]'"
        raise ImportError(f"{package} is needed for this: {remedy}", name=package) from error
