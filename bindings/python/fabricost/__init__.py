"""How long GPU communication takes, and why.

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
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import _core, _html
from ._core import __version__
from ._core import Error, Issue, RequestError, SpecError
from ._core import ListedSystem, System, Tier, Tiers, load_system, system_names, systems
from ._core import AllGather, AllReduce, AllToAll, Broadcast, Operation, Reduce, ReduceScatter, SendRecv
from ._core import Crossover, Crossovers, CrossoversAtCount, Prediction, Predictions, Term, crossovers, explain, predict
from ._core import read_log, read_nccl_log
from ._core import Errors, Validation, WorkloadValidation, validate, validate_workloads
from ._core import Constant, Fit, calibrate
from ._core import ThisMachine, calibrate_machine
from ._core import Diagnosis, Finding, diagnose
from ._core import SlowRange, TunedGroup, Tuning, UnmeasuredChoice, tune
from ._core import Topology, topo
from ._core import Mixer, Model, ParameterCount, Stack, load_model, load_stack, model_names, stack_names
from ._core import Plans, Sensitivity, StepTerm, TrainingPlan, plan
from ._core import ServePlan, ServePlans, plan_serve
from ._core import FusedNorm, MoeCombine, MoeDispatch, MoePrediction, MoePrepare, fused_norm, predict_inference, predict_moe
from ._core import PipelineRun, pipeline
from ._core import Cost, Money, cost
from ._core import FailureCause, Goodput, GoodputAtScale, GoodputOfFleet, SlowRank, Stragglers, StragglersAtRanks, goodput, stragglers
from ._core import Grouped, SharedCollective, SharedRun, Sharer, share
from ._core import AccessTransfer, IncastTransfer, StorageTransfer, transfer_access, transfer_incast, transfer_storage
from ._core import Compared, Comparison, compare
from .names import Algorithm, DataType, Protocol
from .report import report
from .units import B, GB, GiB, KiB, MB, MiB, TB, TiB, kB

__all__ = [
    "__version__",
    # errors
    "Error", "Issue", "RequestError", "SpecError",
    # machines
    "ListedSystem", "System", "Tier", "Tiers", "load_system", "system_names", "systems",
    # operations
    "AllGather", "AllReduce", "AllToAll", "Broadcast", "Operation", "Reduce", "ReduceScatter", "SendRecv",
    # names and units
    "Algorithm", "DataType", "Protocol", "B", "GB", "GiB", "KiB", "MB", "MiB", "TB", "TiB", "kB",
    # answers
    "Crossover", "Crossovers", "CrossoversAtCount", "Prediction", "Predictions", "Term", "crossovers", "explain", "predict",
    # measurements
    "read_log", "read_nccl_log",
    "Errors", "Validation", "WorkloadValidation", "validate", "validate_workloads",
    "Constant", "Fit", "calibrate", "ThisMachine", "calibrate_machine",
    "Diagnosis", "Finding", "diagnose",
    # calibration and inspection
    "SlowRange", "TunedGroup", "Tuning", "UnmeasuredChoice", "tune",
    "Topology", "topo",
    # pages
    "report",
    # workloads
    "Mixer", "Model", "ParameterCount", "Stack", "load_model", "load_stack", "model_names", "stack_names",
    "Plans", "Sensitivity", "StepTerm", "TrainingPlan", "plan", "ServePlan", "ServePlans", "plan_serve",
    "FusedNorm", "MoeCombine", "MoeDispatch", "MoePrediction", "MoePrepare", "fused_norm", "predict_inference", "predict_moe",
    "PipelineRun", "pipeline",
    # money, failures, sharing
    "Cost", "Money", "cost", "Compared", "Comparison", "compare",
    "FailureCause", "Goodput", "GoodputAtScale", "GoodputOfFleet", "SlowRank", "Stragglers", "StragglersAtRanks", "goodput", "stragglers",
    "Grouped", "SharedCollective", "SharedRun", "Sharer", "share",
    "AccessTransfer", "IncastTransfer", "StorageTransfer", "transfer_access", "transfer_incast", "transfer_storage",
    # many answers
    "Sweep", "sweep",
]

if _TYPE_CHECKING:
    from . import plot as plot
    from ._sweep import Sweep, sweep

_later = {"Sweep": "_sweep", "sweep": "_sweep", "plot": "plot"}  # they need numpy or more, so they are imported on first use


def __getattr__(name: str) -> _Any:
    if name not in _later:
        raise AttributeError(f"module 'fabricost' has no attribute {name!r}")
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
