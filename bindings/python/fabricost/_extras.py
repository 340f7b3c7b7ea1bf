"""Checks the surroundings: the interpreter, and optional dependencies, with the extra that installs each."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

EXTRAS = {
    "matplotlib": "plot",
    "pandas": "pandas",
    "polars": "polars",
    "xarray": "xarray",
    "pyarrow": "sweep",
    "tqdm": "sweep",
    "distributed": "dask",
    "yaml": "export",
    "prometheus_client": "export",
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


def _require_compiled_part() -> None:
    """ImportError where only the Python files are: in a source tree, or a build that was not finished."""
    if importlib.util.find_spec("fabricost._core") is None:
        raise ImportError("the compiled part of fabricost is not built: pip install . in its source tree, "
                          "or build the target fabricost_python and put build/python on PYTHONPATH")


def _refuse_sub_interpreters() -> None:
    """ImportError in a sub-interpreter: the compiled part has one set of classes, and would wait there for itself."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # from Python 3.13 on, before
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError("fabricost can be imported in the main interpreter only, not in a sub-interpreter "
                              "(mod_wsgi: WSGIApplicationGroup %{GLOBAL})")
        return


_refuse_sub_interpreters()
_require_compiled_part()
