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
from . import _core
from ._core import (AllGather, AllReduce, AllToAll, Broadcast, Error, Issue, Operation, Prediction, Reduce, ReduceScatter, RequestError,
                    SendRecv, SpecError, System, Term, Tier, Tiers, __version__, explain, load_system, predict, sweep, system_names)

B = 1
kB, MB, GB = 10**3, 10**6, 10**9
KiB, MiB, GiB = 2**10, 2**20, 2**30

__all__ = ["AllGather", "AllReduce", "AllToAll", "B", "Broadcast", "Error", "GB", "GiB", "Issue", "KiB", "MB", "MiB", "Operation",
           "Prediction", "Reduce", "ReduceScatter", "RequestError", "SendRecv", "SpecError", "System", "Term", "Tier", "Tiers",
           "__version__", "explain", "kB", "load_system", "predict", "sweep", "system_names"]

for _name in __all__:  # users know one module
    if callable(getattr(_core, _name, None)):
        getattr(_core, _name).__module__ = __name__
del _name
