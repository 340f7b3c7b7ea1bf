"""Names that arguments take, as enums. Their members are text, so either may be written.

>>> import fabricost as fc
>>> fc.Algorithm.ring == "ring", fc.Protocol("ll128").value
(True, 'll128')
>>> fc.predict(fc.load_system("dgx-h100"), fc.AllReduce(fc.MiB), algorithm=fc.Algorithm.tree).algorithm
'tree'
"""
import enum


class _Name(str, enum.Enum):
    def __str__(self) -> str:
        return str(self.value)


class Algorithm(_Name):
    """Algorithms a prediction can name; `algorithm=` forces one, as NCCL_ALGO does."""

    ring = "ring"
    tree = "tree"
    nvls = "nvls"
    nvls_tree = "nvls_tree"
    collnet_direct = "collnet_direct"
    collnet_chain = "collnet_chain"
    pat = "pat"
    halving_doubling = "halving_doubling"
    rabenseifner = "rabenseifner"
    bruck = "bruck"
    pairwise = "pairwise"
    direct = "direct"
    torus_bucket = "torus_bucket"
    one_shot = "one_shot"
    two_shot = "two_shot"
    hierarchical = "hierarchical"
    recursive_doubling = "recursive_doubling"


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
