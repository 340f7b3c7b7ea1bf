"""Predicts how long GPU communication takes, and explains why.

Sizes are numbers of bytes, times seconds, rates bytes per second in one direction; k M G are powers of ten, Ki Mi Gi of two.

>>> import fabricost as fc
>>> system = fc.load_system("dgx-h100")
>>> system
dgx-h100: 8 GPUs, tiers l2 hbm nvlink pcie nic
>>> system.tiers["nvlink"].bytes_per_second / fc.GB
450.0
>>> fc.predict(system, fc.AllReduce(bytes=256 * fc.MiB, ranks=64)).bottleneck.tier
'nic'
"""
import os as _os
import sys as _sys

if _sys.argv[:1] == ["-m"] and any(_word.partition(".")[0] == "fabricost" for _word in _sys.orig_argv):
    if not getattr(_sys.flags, "safe_path", False) and _sys.path[:1] in ([""], [_os.getcwd()]):
        del _sys.path[0]  # `python -m fabricost` is the command: it runs no numpy.py of the folder that it is called in

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import _extras, _core, _html  # noqa: F401  (_extras first: it refuses interpreters where _core would hang)
from ._core import *
from ._core import __version__
from .names import Algorithm, DataType, Protocol
from .report import report
from .units import B, GB, GiB, KiB, MB, MiB, TB, TiB, kB

__all__ = ["__version__", "Algorithm", "DataType", "Protocol", "B", "GB", "GiB", "KiB", "MB", "MiB", "TB", "TiB", "kB", "report",
           "Exploration", "Placement", "Sweep", "explore", "explore_serve", "export", "read_placement", "sweep"]
__all__ += _core.__all__

if _TYPE_CHECKING:
    from . import plot as plot
    from ._explore import Exploration, explore, explore_serve
    from ._export import export
    from ._export.placement import Placement, read_placement
    from ._sweep import Sweep, sweep

_later = {"Exploration": "_explore", "explore": "_explore", "explore_serve": "_explore", "Sweep": "_sweep", "sweep": "_sweep",
          "export": "_export", "Placement": "_export.placement", "read_placement": "_export.placement", "plot": "plot"}  # they need numpy or more, so they are imported on first use


def _near(name: str) -> list[str]:
    from difflib import get_close_matches

    meant = {"machines": "systems", "list_systems": "systems", "list_models": "models", "train": "plan", "plan_train": "plan",
             "plan_training": "plan", "serve": "plan_serve"}
    return [meant[name]] if name in meant else get_close_matches(name, [one for one in __dir__() if not one.startswith("_")])


def __getattr__(name: str) -> _Any:
    if name not in _later:
        plain = name.replace("_", "").lower()
        near = [one for one in __dir__() if plain and one.replace("_", "").lower() == plain] or _near(name)
        raise AttributeError(f"module 'fabricost' has no attribute {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
    from importlib import import_module

    module = import_module(f".{_later[name]}", __name__)
    globals()[name] = thing = module if name == _later[name] else getattr(module, name)
    return thing


def __dir__() -> list[str]:
    return sorted({*globals(), *_later})


_core._use_data_directory(_os.path.join(_os.path.dirname(__file__), "data"))  # of a wheel; FABRICOST_DATA takes precedence

for _name in __all__:  # users see one module
    _thing = getattr(_core, _name, None)
    if callable(_thing):
        _thing.__module__ = __name__
del _name, _thing
_html.attach(_core)
