"""The CSV of NCCL's example tuner plugin: what `fabricost tune -o` writes. Versions 5 and 6 of the interface read the same file."""
from __future__ import annotations

from typing import Any

from .. import _core
from .shared import Format, Made, Option


def table(system: Any, **given: Any) -> Made:
    found = _core.tune(system, **{name: value for name, value in given.items() if value is not None})
    sure = sum(one.sure for one in found.ranges)
    return Made({"": found.config().encode()}, [
        f"{sure} ranges in which NCCL's own choice surely loses, of {len(found.ranges)} in which it may.",
        "NCCL_TUNER_PLUGIN=libnccl-tuner-example.so NCCL_TUNER_CONFIG_FILE=FILE; build the plugin in NCCL's plugins/tuner/example "
        "(ext-tuner/example in older releases) with the change that the file names."])


FORMATS = [Format("nccl-tuner", "NCCL: configuration of its example tuner plugin, interfaces 5 and 6", table, (
    Option("nodes", "counts", "numbers of nodes, as 2,4,8; default one"),
    Option("ranks", "count", "ranks in all, on one node; default all"),
    Option("dtype", "word", "half float double fp8 bfloat16 int8; default half"),
    Option("operation", "word", "all_reduce all_gather reduce_scatter broadcast reduce; default all")),
    example="fabricost export nccl-tuner --system dgx-b200 -o nccl_tuner.conf")]
