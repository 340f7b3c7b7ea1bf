"""Names of argument values, as enums. Members are text, so either form works.

>>> import fabricost as fc
>>> fc.Algorithm.ring == "ring", fc.Protocol("ll128").value
(True, 'll128')
>>> fc.predict(fc.load_system("dgx-h100"), fc.AllReduce(fc.MiB), algorithm=fc.Algorithm.tree).algorithm
'tree'
"""
import enum
from typing import TYPE_CHECKING

from ._core import (AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter, SendRecv,
                    _algorithm_names)

operations = {"all_reduce": AllReduce, "all_gather": AllGather, "reduce_scatter": ReduceScatter, "broadcast": Broadcast,
              "reduce": Reduce, "all_to_all": AllToAll, "send_recv": SendRecv}


class _Name(str, enum.Enum):
    def __str__(self) -> str:
        return str(self.value)


if TYPE_CHECKING:
    class _EveryAlgorithm(enum.EnumMeta):
        def __getattr__(cls, name: str) -> "Algorithm": ...

    class Algorithm(_Name, metaclass=_EveryAlgorithm): ...
else:  # names from the compiled part
    Algorithm = _Name("Algorithm", {name: name for name in _algorithm_names}, module=__name__)
    Algorithm.__doc__ = "Algorithms a prediction can name; `algorithm=` forces one, as NCCL_ALGO does."


class Protocol(_Name):
    """NCCL's protocols; `protocol=` forces one, as NCCL_PROTO does."""

    ll = "ll"
    ll128 = "ll128"
    simple = "simple"


class DataType(_Name):
    """Element types of an operation."""

    int8 = "int8"
    half = "half"
    bfloat16 = "bfloat16"
    fp8 = "fp8"
    float = "float"
    double = "double"
