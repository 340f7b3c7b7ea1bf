"""PyTorch: predicted times of collectives for inductor's overlap scheduling.

    import torch, fabricost.torch
    config = torch._inductor.config.aten_distributed_optimizations
    config.custom_runtime_estimation = fabricost.torch.runtime_estimation("gb200-nvl72")

Inductor then decides with them what to bucket and how far to prefetch; all ranks get the same numbers without exchanging any. Kernels of
computation it estimates itself.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _core
from .names import operations

# functional collectives: the operation, and where each has its group's name
_NAMES = {"all_reduce": "all_reduce", "all_gather_into_tensor": "all_gather", "reduce_scatter_tensor": "reduce_scatter",
          "all_to_all_single": "all_to_all", "broadcast": "broadcast"}
_TYPES = {"torch.float16": "half", "torch.bfloat16": "bfloat16", "torch.float32": "float", "torch.float64": "double", "torch.int8": "int8",
          "torch.uint8": "int8"}

Estimation = Callable[[Any, "int | None"], "float | None"]


def _ranks_of_torch(name: str) -> Sequence[int]:
    import torch.distributed as dist

    ranks: Sequence[int] = dist.get_process_group_ranks(dist.distributed_c10d._resolve_process_group(name))
    return ranks


def runtime_estimation(system: Any, *, groups: Mapping[str, Sequence[int]] | None = None, ranks_per_node: int | None = None, **choice: Any) -> Estimation:
    """A function (fx.Node, size) -> milliseconds for `custom_runtime_estimation`; None for what is no collective.

    system: a name, a file or a System. groups: ranks of process groups by name, where torch.distributed does not know them yet.
    ranks_per_node: default the system's. choice: algorithm, protocol, choice or library, as of predict.

    size: bytes of the result instead of the node's own, as inductor asks for buckets; 0 is what the smallest message takes.

    Raises RequestError for a group that the machine has no room for.
    """
    machine = system if isinstance(system, _core.System) else _core.load_system(system)
    each = ranks_per_node or machine.gpus_per_node

    @functools.lru_cache(maxsize=65536)
    def milliseconds(operation: str, size: float, ranks: int, nodes: int, dtype: str) -> float:
        return 1e3 * float(_core.predict(machine, operations[operation](bytes=size, ranks=ranks, nodes=nodes, dtype=dtype), **choice).seconds)

    def estimate(node: Any, override_size: int | None = None) -> float | None:
        namespace, _, name = str(node.target).partition(".")  # _c10d_functional.all_reduce.default
        operation = _NAMES.get(_plain(name)) if namespace == "_c10d_functional" else None
        group = _group_name(node)
        value = node.meta.get("val")
        results = list(value) if isinstance(value, (list, tuple)) else [value]  # several of a coalesced call
        if operation is None or group is None or not results or not all(hasattr(one, "element_size") for one in results):
            return None
        ranks = (groups or {}).get(group) or _ranks_of_torch(group)
        width, n = int(results[0].element_size()), len(ranks)
        if n < 2:
            return 0.0
        size = sum(int(one.numel()) * int(one.element_size()) for one in results) if override_size is None else max(override_size, width)
        whole = size * n if operation == "reduce_scatter" else size  # its result is one rank's part, the size is of all
        return milliseconds(operation, float(whole), n, len({rank // each for rank in ranks}), _TYPES.get(str(results[0].dtype), "half"))

    return estimate


def _plain(name: str) -> str:
    """Of "all_gather_into_tensor_out.default", as buckets are gathered, the name without the place of its result."""
    return name.partition(".")[0].rstrip("_").removesuffix("_out").removesuffix("_coalesced")


def _group_name(node: Any) -> str | None:
    """The last text among a functional collective's arguments: (input, ..., group_name)."""
    given = [*node.args, *node.kwargs.values()]
    if "group_name" in node.kwargs:
        return str(node.kwargs["group_name"])
    return next((str(one) for one in reversed(given) if isinstance(one, str)), None)
