"""Published training steps beside fc.plan: each row names a layout, and its figure becomes seconds per step by its group's convention.

tokens/s; TFLOPS and MFU of 6 N and all scores (Narayanan 2021: equation 3 with recomputation, groups sc21). dp = gpus / (tp pp cp), whatever
the table prints. The stack is the one of data/stacks whose `published:` fits the group.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import fabricost as fc

from .. import _core
from ._data import files
from ._fit import Fit
from ._table import Row, Skipped, header_of, pd
from .machines import load, machine_of, published_peak

COLUMNS = ["id", "group", "measured_metric", "value", "global_batch"]
_READ = ["id", "group", "source", "model", "metric", "fully_specified", "gpus", "skipped", "step", "recompute_stated", "measured", "memory_gib", "model_shape",
         "layout", "stack", "system"]
_UNGATED = ("mpt", "nemotron", "bloom", "megatron", "mt-nlg")


@cache
def _known(name: str) -> Any:
    try:
        return fc.load_model(name) if name else None
    except fc.RequestError:
        return None


@cache
def _made(base: str, layers: int, hidden: int, vocab: int, attention: tuple[tuple[str, int], ...], ffn: tuple[tuple[str, Any], ...],
          experts: tuple[tuple[str, int], ...]) -> Any:
    """A model with these sizes, the others of the one it extends."""
    parts = [f"{name}: {{{', '.join(f'{k}: {v}' for k, v in of)}}}" for name, of in (("attention", attention), ("ffn", ffn), ("experts", experts)) if of]
    origin = [f"extends: {base}"] if base else ["source: the row", "confidence: measured"]
    text = "\n".join(["name: row", *origin, f"layers: {layers}", f"hidden: {hidden}", f"vocab: {vocab}", *parts])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "row.yaml"
        file.write_text(text + "\n")
        return fc.load_model(file)


def _model(row: Row) -> Any:
    """The row's model: its cells come before what the model's file says."""
    wanted = row["model"]
    known = _known(wanted)

    def own(column: str, otherwise: int) -> int:
        return row.count(column, 1e9) or otherwise

    of = (lambda name: getattr(known, name)) if known else (lambda name: 0)
    layers, hidden, vocab, heads = (own(name, of(name)) for name in ("layers", "hidden", "vocab", "heads"))
    if min(layers, hidden, heads, vocab) < 1:
        raise Skipped("shape not stated")
    latent = known is not None and known.kv_rank > 0
    kv_heads = heads if known is None or heads != known.heads else known.kv_heads
    kv_heads = kv_heads if latent else own("kv_heads", kv_heads)
    count, top_k = own("experts", of("experts")), own("top_k", of("top_k"))
    width = own("ffn", of("expert_ffn") if count else of("ffn"))
    first = 1 if known and known.first_dense > 0 and layers < 10 else of("first_dense")  # small test models keep one dense layer
    experts = (("count", count), ("top_k", top_k), ("width", width), *((("first_dense", first),) if first else ())) if count else ()
    attention: tuple[tuple[str, int], ...] = (("heads", heads),) if latent else (
        ("heads", heads), ("kv_heads", kv_heads), ("head_dim", known.head_dim if known else hidden // heads))
    if known:
        same = (layers, hidden, vocab, heads, count, top_k, first) == tuple(
            getattr(known, name) for name in ("layers", "hidden", "vocab", "heads", "experts", "top_k", "first_dense"))
        if same and kv_heads == known.kv_heads and width == (known.expert_ffn if count else known.ffn):
            return known
        return _made(known.name, layers, hidden, vocab, attention, () if count else (("width", width),), experts)

    def shaped(gated: bool) -> Any:
        ffn = (("gated", str(gated).lower()), *((("width", width),) if not count else ()))
        return _made("", layers, hidden, vocab, attention, ffn, experts)

    name, stated = wanted.lower(), 1e9 * row.number("params_b")
    three, two = shaped(True).parameters.total, shaped(False).parameters.total
    if stated > 0 and abs(three / two - 1) > 0.02:
        return shaped(abs(math.log(three / stated)) < abs(math.log(two / stated)))
    return shaped(not (name.startswith("gpt") and not name.startswith("gpt-oss") or any(word in name for word in _UNGATED)))


def _precision(row: Row) -> str:
    """"BF16", "amp_fp8", "FP8-MX", "NVFP4", "FP8 rowwise"; an empty cell is bf16."""
    word = row["precision"].lower()
    for precision in ("fp4", "fp8", "bf16", "fp16"):
        if precision in word:
            return precision
    if word:
        raise Skipped(f'products in "{row["precision"][:40]}" are not priced')
    return "bf16"


def _of_maxtext(cell: str) -> bool:
    return any(word in cell for word in ("minimal", "custom", "offload"))


def _recompute(row: Row) -> str:
    """none, selective or full, also followed by words. MaxText's policies by name are the nearest of the three: custom and those that offload
    keep or move the attention's products and run the feed-forward again, two thirds of a layer or more; minimal keeps the outputs of products."""
    cell = row["recompute"].lower()
    for kind in ("none", "selective", "full"):
        if cell == kind or cell.startswith(kind + " "):
            return kind
    if _of_maxtext(cell):
        return "selective" if "minimal" in cell else "full"
    if cell:
        row.refuse("recompute", "which is not known", "write one of none, selective, full, or leave the cell empty")
    return "none"


def _adapters(notes: str) -> dict[str, Any]:
    """"LoRA r=16 alpha 32 on qkv and output, base frozen; ... cuda_graph=1; recompute stated as: full method=block layers=21"."""
    found = re.search(r"LoRA r=(\d{1,5})[^;]* on ([a-z0-9, ]+)", notes)
    if not found:
        if "LoRA" in notes:
            raise Skipped("trains adapters of a rank that is not stated")
        return {}
    modules = {"qkv": "linear_qkv", "output": "linear_proj", "fc1": "linear_fc1", "fc2": "linear_fc2"}
    out: dict[str, Any] = {"lora_rank": int(found[1]), "lora_modules": [name for word, name in modules.items() if word in found[2]],
                           "cuda_graphs": "cuda_graph=1" in notes}
    if again := re.search(r"recompute stated as: full method=block layers=(\d{1,4})", notes):
        out |= {"recompute": "full", "recompute_num_layers": int(again[1])}
    return out


_MODULES = ("core_attn", "layernorm", "moe_act", "mlp", "moe", "mla_up_proj", "shared_experts")


def _layout(row: Row, model: Any) -> dict[str, Any]:
    notes, precision, recompute = row["notes"], _precision(row), _recompute(row)
    size = {name: max(1, row.count(column) or 1) for name, column in (("tp", "tp"), ("pp", "pp"), ("vp", "vpp"), ("cp", "cp"), ("ep", "ep"), ("microbatch", "microbatch"))}
    zero, gpus, batch, sequence = row.count("zero_stage"), row.count("gpus"), row.count("global_batch"), row.count("seq")
    if zero > 3:
        row.refuse("zero_stage", "is no stage of ZeRO", "write 0, 1, 2 or 3")
    if "SHARD_GRAD_OP" in notes:
        zero = 2
    # pipelined jobs keep gradients between microbatches, whatever they call their ZeRO stage: MegaScale's steps (arXiv 2402.15627, ZeRO-2)
    # take half the time of a reduction after each microbatch
    if zero == 2 and size["pp"] > 1:
        zero = 1
    if row["sequence_parallel"].lower() not in ("", "no", "yes"):
        row.refuse("sequence_parallel", "which is not known", "write yes or no, or leave the cell empty")
    out: dict[str, Any] = {**size, "gpus": gpus, "global_batch": batch, "sequence": sequence, "precision": precision, "zero": zero, "recompute": recompute,
                           "sequence_parallel": row["sequence_parallel"].lower() == "yes", "placing": "data_inside", "expert_tp": 1}
    out["cp_comm_type"] = "a2a" if "CP uses a2a" in notes else "all_gather" if "CP uses all-gather" in notes else "p2p"
    if found := re.search(r"full recompute of (\d{1,4}) of", notes):
        out["recompute_num_layers"] = int(found[1])
    if found := re.search(r"expert TP (\d{1,3})", notes):
        out["expert_tp"] = int(found[1])
    # Megatron-Core divides experts like the layer unless told not to (expert_tensor_parallel_size); this recipe does not tell
    # (github.com/NVIDIA/dgxc-benchmarking, whose later table of Grok has a column ETP)
    if model.mixture and "grok1/README_314b" in row["source"]:
        out["expert_tp"] = size["tp"]
    out |= _adapters(notes)
    if out["recompute"] == "selective" and (found := re.search(r"modules[ :=]([^;]*)", notes)):
        out["recompute_modules"] = [word for word in re.findall("[a-z_]+", found[1]) if word in _MODULES]
    if "DualPipe" in row["schedule"]:  # its chunks are its own
        out["schedule"] = "dualpipe"
        del out["vp"]
    word = row["precision"].lower()
    if "mxfp8" in word or "blockwise" in word:
        out["fp8_recipe"] = "mxfp8" if "mxfp8" in word else "blockwise"
    elif precision == "fp8" and "DualPipe" in row["schedule"]:  # DeepSeek's, with the scales that the shipped constants were fitted with
        out["fp8_recipe"] = "tensorwise"
    product = size["tp"] * size["pp"] * size["cp"]
    if min(gpus, batch, sequence) < 1:
        raise Skipped("GPUs, batch or sequence not stated")
    if product > gpus or gpus % product:
        raise Skipped(f"tp x pp x cp = {product} does not divide {gpus} GPUs")
    out["dp"] = gpus // product
    if out["dp"] * size["microbatch"] > batch:
        raise Skipped(f"a batch of {batch} is less than {out['dp']} replicas x microbatch {size['microbatch']}")
    if model.mixture and size["ep"] > model.experts:
        raise Skipped("more expert ranks than experts")
    return out


@cache
def _stacks() -> list[tuple[str, str, tuple[str, ...]]]:
    """Names of stacks with the groups, and words of their rows, that they ran."""
    out = []
    for name, spec in files("stacks"):
        for by in spec.get("published", []):
            group, _, words = by.partition(": ")
            out.append((name, group, tuple(words.split(" + ")) if words else ()))
    return out


def stack_of(row: Row) -> str:
    text = " ".join(row[column] for column in ("model", "gpu", "source", "notes"))
    fit = [(8 * len(group) + min(len(words), 7), name) for name, group, words in _stacks() if row["group"].startswith(group) and all(w in text for w in words)]
    return max(fit, key=lambda one: one[0])[1] if fit else "megatron-core"


def _seconds(row: Row, system: str, layout: dict[str, Any], m: Any) -> float:
    """The row's figure in seconds per step."""
    value, metric = row.number("value"), row["measured_metric"]
    if not value:
        raise Skipped("no figure")
    tokens = layout["global_batch"] * layout["sequence"]
    plain = {"step_time_s": value, "step_time_ms": value * 1e-3, "tokens_per_s_per_gpu": tokens / (value * layout["gpus"]), "tokens_per_s": tokens / value}
    if metric in plain:
        return float(plain[metric])
    if metric not in ("tflops_per_gpu", "model_tflops_per_gpu", "mfu_pct"):
        raise Skipped(f"{metric} is no time of a step")
    peak = published_peak(system, {"fp8": 8, "fp4": 4}.get(layout["precision"], 16))
    if metric == "mfu_pct" and not peak:
        raise Skipped("no peak is known that its MFU divides by")
    s, h, layers = layout["sequence"], m.hidden, m.layers
    if row["group"].startswith("sc21"):  # equation 3 of Narayanan 2021, with recomputation
        flops = 96 * layout["global_batch"] * s * layers * h * h * (1 + s / (6 * h) + m.vocab / (16 * layers * h))
    else:
        flops = model_flops(m, tokens, s)
    return float(flops / ((value / 100 * peak if metric == "mfu_pct" else value * 1e12) * layout["gpus"]))


def model_flops(m: Any, tokens: float, sequence: int) -> float:
    """6 N and all scores."""
    return float(tokens * (6 * m.parameters.multiplied + 12 * m.layers * m.heads * (m.head_dim or m.nope_dim + m.rope_dim) * sequence))


def read(*tables: str | os.PathLike[str]) -> Any:
    """The rows of tables, as steps_of."""
    return steps_of([row for table in tables for row in header_of(os.fspath(table))[1]])


def steps_of(rows: Iterable[Row]) -> Any:
    """The rows as a pandas.DataFrame: figures in seconds per step (`measured`), `model_shape`, the named `layout`, its `step` for price and fit;
    `skipped` says why a row has none."""
    out = []
    for row in rows:
        cell, oom = row["recompute"].lower(), row["value"].lower() == "oom"
        one: dict[str, Any] = {column: row[column] for column in ("id", "group", "source", "model")}
        one |= {"metric": row["measured_metric"], "fully_specified": row["fully_specified"] == "yes", "gpus": row.count("gpus"), "skipped": "", "step": None,
                "recompute_stated": bool(cell) and not _of_maxtext(cell), "measured": math.nan, "memory_gib": row.number("memory_gib") or math.nan}
        try:
            shape = _model(row)
            system, overrides, memory_rate = machine_of(row["gpu"], row["interconnect"], row.count("gpus_per_node"))
            layout = _layout(row, shape)
            one |= {"model_shape": shape, "layout": layout, "stack": stack_of(row), "system": system}
            one["measured"] = math.nan if oom else _seconds(row, system, layout, shape)
            plans = fc.plan(load(system, overrides), shape, **layout, stack=one["stack"], top=1)
            chunks = row.count("vpp") if "schedule" in layout else 0
            one["step"] = _core._step(plans, system, list(overrides), memory_rate, one["stack"], chunks)
            one["skipped"] = "ran out of memory" if oom else ""
        except (Skipped, fc.RequestError) as reason:
            one["skipped"] = str(reason)
        out.append(one)
    return pd.DataFrame(out, columns=_READ)


def price(rows: Any, fit: Fit | None = None) -> Any:
    """The rows with `predicted`, `low` and `high`: with the shipped constants, or those of a fit."""
    priced = rows.skipped == ""
    found = pd.DataFrame(_core._predict_steps(rows.step[priced].tolist(), *(fit.known if fit else ())), columns=["predicted", "low", "high"], index=rows.index[priced],
                         dtype=float)
    return rows.drop(columns=["predicted", "low", "high"], errors="ignore").join(found)


def memory(rows: Any) -> Any:
    """The rows that state their layout with its recomputation, and ran or ended out of memory, with bytes of the worst stage: as the framework's
    allocator counts them (`allocated`), in all (`total`), and of the GPU (`capacity`)."""
    its = rows[rows.recompute_stated & rows.step.notna() & rows.skipped.isin(["", "ran out of memory"])]
    return its.join(pd.DataFrame(_core._memory_of_steps(its.step.tolist()), columns=["allocated", "total", "capacity"], index=its.index, dtype=float))


def predicted(rows: Sequence[Row]) -> Any:
    """Every row with its prediction; `fits` of those that state their recomputation, and their peaks beside the prediction, both in GiB."""
    steps = price(steps_of(rows))
    its = memory(steps)
    its = its[its.skipped == ""]
    return steps[["id", "group", "model", "metric", "measured", "predicted", "low", "high", "fully_specified", "skipped"]].join(pd.DataFrame(
        {"fits": its.total <= its.capacity, "memory_gib": its.memory_gib, "predicted_gib": its.allocated / fc.GiB}))
