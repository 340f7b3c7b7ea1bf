"""Published serving runs beside the model: TTFT and TPOT of an engine at a concurrency, rates of static batches, of wide expert parallelism, of weights
in the host's memory. A backend's version names the stack of data/workloads/serving-stacks.yaml, whose `settings` are those of published runs' scripts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

import fabricost as fc

from .. import _core
from ._data import data
from ._fit import AT, NINE_IN_TEN
from ._table import Row, Skipped, number_of, pd
from .machines import load, machine_of

COLUMNS = ["id", "group", "isl", "osl", "metric", "value"]
_FITTED = ("ttft", "tpot", "tokens_per_s", "first_token")
_FIGURES = {"ttft_ms": "ttft", "tpot_ms": "tpot", "output_tokens_per_s_total": "tokens_per_s", "output_tokens_per_s_per_gpu": "tokens_per_s",
            "first_token_latency": "first_token", "decode_tokens_per_s_per_node": "decode_rate", "decode_tokens_per_s_per_gpu": "decode_rate",
            "prefill_tokens_per_s_per_node": "prefill_rate", "prefill_tokens_per_s_per_gpu": "prefill_rate", "kv_transfer_ms": "kv_transfer",
            "kv_cache_kB_per_token": "kv_per_token", "training_gflop_per_token": "training_flops", "ep_comm_time_per_layer_half": "expert_phase",
            "tpot_lower_bound": "expert_bound", "generation_tokens_per_s": "offload"}
_FORMULAS = ("kv_per_token", "training_flops", "expert_phase", "expert_bound")  # no constant of a GPU or an engine is in them
_UNFIGURED = (("deepep", "kernels of dispatch and combine: a table of expert kernels has them"), ("nixl", "storage of caches is not modelled"),
              ("kv_reuse", "storage of caches is not modelled"), ("mooncake_transfer", "a transfer engine alone, on one large block"))
_COUNT = 10**9
_model = cache(fc.load_model)


@cache
def stacks() -> dict[str, Any]:
    return dict(data("workloads/serving-stacks.yaml")["stacks"])


def stack_of(backend: str) -> str:
    """The stack that describes a version: the longest beginning of `published` that fits; vllm if none does."""
    named = backend if " " in backend or "+" in backend else backend + " (no version)"
    fit = [(len(start), name) for name, spec in stacks().items() for start in spec.get("published", []) if named.startswith(start)]
    return max(fit, key=lambda one: one[0])[1] if fit else "vllm"


_OF_TABLES = {"LLaMA-70B": "llama2-70b"}  # names that say less than the command asks for


def _known_model(name: str) -> Any:
    try:
        return _model(_OF_TABLES.get(name, name))
    except fc.RequestError:
        raise Skipped(f'no model known as "{name}"') from None


def _weights(row: Row) -> str:
    """The format of the weights: that of the experts if it differs, since they are most of the model."""
    cell = row["precision_moe"] or row["precision_gemm"]
    return next((name for name in ("int4", "fp4", "fp8") if name in cell), "bf16")


def _unit(cell: str) -> float:
    return {"ms": 1e-3, "us": 1e-6}.get(cell.split(" ")[0], 1e3 if "kB" in cell else 1e9 if "GFLOP" in cell else 1.0)


def _engine(row: Row, prefix: str = "") -> tuple[int, int, int, int]:
    """Tensor ranks, replicas of attention, stages and expert ranks. Some rows count ranks twice: 8 GPUs with experts over all of them appear as 64,
    moe_tp 8 and moe_ep 8 (their ids say tp8_ep8, and nodes have 8 GPUs), or as tp 4, attn_dp 4 and moe_ep 16. One of the two factors is dropped there."""
    tp, pp, replicas, ep, moe_tp = (max(1, row.count(prefix + name, _COUNT)) for name in ("tp", "pp", "attn_dp", "moe_ep", "moe_tp"))
    if not prefix and row["attn_dp"]:
        if moe_tp == ep and ep > 1 and tp * replicas == moe_tp * ep:
            tp, replicas = (tp, ep) if replicas > 1 else (ep, replicas)
        elif tp == replicas and tp > 1 and ep == tp * replicas:
            replicas, ep = 1, tp
    return tp, replicas, pp, min(ep, tp * replicas)


def _settings(row: Row, run: dict[str, Any]) -> dict[str, Any]:
    """The known settings of the run's server, what is stated last winning."""
    out: dict[str, Any] = {}
    tp, replicas, _, ep = run["engine"]
    isl, osl, together = row.count("isl", _COUNT), row.count("osl", _COUNT), run["concurrency"]
    for of in [] if run["prefill"] else stacks()[run["stack"]].get("settings", []):
        fits = (of.get("system", run["system"]) == run["system"] and run["model"].name.startswith(of.get("model", "")) and row["backend"].startswith(str(of.get("version", "")))
                and str(of.get("run", "")) in row["notes"] and of.get("weights", run["weights"]) == run["weights"] and of.get("replicas", replicas > 1) == (replicas > 1)
                and tp <= of.get("tp_most", tp) and ep <= of.get("ep_most", ep) and of.get("isl", isl) == isl and of.get("osl", osl) == osl
                and of.get("from", 0) <= together < of.get("until", math.inf))
        if fits:
            out |= {key: value for key, value in of.items() if key in ("chunk", "poll", "hold_steps", "hold_tokens", "together", "drafts", "acceptance", "memory_share", "kv", "length", "cached")}
            if of.get("chunk_is_prompt"):
                out["chunk"] = isl
    return out


def _served(row: Row, run: dict[str, Any]) -> None:
    """An engine at a concurrency, its prompts read by itself or apart."""
    if row["mode"] == "disagg":
        run |= {"engine": _engine(row, "decode_"), "prefill": _engine(row, "prefill_"), "concurrency": row.count("concurrency", _COUNT),
                "workers": (row.count("prefill_workers", _COUNT), row.count("decode_workers", _COUNT))}
        if min(run["workers"]) < 1:
            raise Skipped("how many workers prefill and decode is not stated")
    else:
        batch = row.count("batch", _COUNT)
        run |= {"engine": _engine(row), "concurrency": batch * max(1, row.count("attn_dp", _COUNT)) if batch else row.count("concurrency", _COUNT)}
        if row["gpus"] and row.count("gpus", _COUNT) < 1:
            raise Skipped("the row counts no GPUs")
    nominal = row.count("isl", _COUNT), row.count("osl", _COUNT)
    settings = _settings(row, run)
    length = settings.pop("length", stacks()[run["stack"]].get("length", 1))
    if settings.pop("cached", False):
        raise Skipped("its prompts were found in the prefix cache")
    run |= {"kv": settings.pop("kv", run["kv"]), "settings": settings, "isl": length * nominal[0], "osl": length * nominal[1]}
    if min(run["concurrency"], run["isl"], run["osl"]) < 1:
        raise Skipped("concurrency or lengths not stated")


def _other(row: Row, run: dict[str, Any], figure: str) -> None:
    """A batch, a phase or a transfer; raises Skipped where the row says too little."""
    tp, pp = max(1, row.count("tp", _COUNT)), max(1, row.count("pp", _COUNT))
    batch, isl, osl = run["batch"], row.count("isl", _COUNT), row.count("osl", _COUNT)
    run |= {"isl": isl, "osl": osl, "engine": (tp, 1, pp, 1)}
    if figure in ("decode_rate", "prefill_rate"):
        ep = row.count("moe_ep", _COUNT)
        run |= {"engine": (tp, max(1, ep // tp), pp, max(1, ep)), "weights": "fp8", "kv": 2}
        if not row["backend"] and row["group"].startswith("deepseek"):
            run["stack"] = "large-ep"
        if min(ep, batch, isl) < 1:
            raise Skipped("expert ranks, tokens or context not stated")
    if figure in ("kv_transfer", "kv_per_token"):
        run["kv"] = 2
    if figure == "offload" and "disk" in row["notes"] and "175B" in row["model"]:
        raise Skipped("weights on disk")
    if figure == "offload" and row["backend"] != "FlexGen":
        raise Skipped("loads layers one after another without hiding it, or over other machines")
    if figure in ("tokens_per_s", "offload") and min(isl, osl) < 1:
        raise Skipped("lengths not stated")
    if figure == "offload" and batch < 1:
        raise Skipped("batch not stated")


def _per(run: dict[str, Any], figure: str, metric: str) -> float:
    """What a row's rate is of, over the whole engine's."""
    tp, replicas, pp, _ = run["engine"]
    gpus = tp * replicas * pp
    return (8 if "node" in metric else 1) / gpus if figure.endswith("_rate") else 1 / gpus if metric == "output_tokens_per_s_per_gpu" else 1.0


def _formula(figure: str, run: dict[str, Any]) -> float:
    m = run["model"]
    if figure == "kv_per_token":
        return float(m.kv_bytes_per_token(run["kv"]))
    if figure == "training_flops":
        return float(m.training_flops_per_token(run["isl"], scores="causal"))
    # fp8 out and 16 bit back for `batch` tokens, to the top-k and the shared expert, over one NIC per GPU
    phase = 3.0 * run["batch"] * (m.top_k + m.shared_experts) * m.hidden / load(run["system"]).tiers["nic"].bytes_per_second
    return float(phase if figure == "expert_phase" else 2 * m.layers * phase)


def _run_of(row: Row, figure: str, metric: str) -> dict[str, Any]:
    if not figure:
        why = next((why for start, why in _UNFIGURED if row["group"].startswith(start)), "a share, a gain or a figure of something else than serving")
        raise Skipped("latency of one message: predict send_recv" if metric == "latency_64B" else why)
    run: dict[str, Any] = {"model": _known_model(row["model"]), "system": machine_of(row["gpu"])[0], "weights": _weights(row), "stack": stack_of(row["backend"]),
                           "prefill": None, "workers": (1, 1), "concurrency": 1, "batch": row.count("batch", _COUNT), "settings": {}}
    run["kv"] = 2 if run["weights"] == "bf16" else 1
    if figure in ("ttft", "tpot"):
        _served(row, run)
    else:
        _other(row, run, figure)
    return run


OF_RUNS = ["id", "group", "model", "metric", "measured", "fully_specified", "figure", "skipped", "at", "per", "formula", "generation", "shipped", "described", "stack",
           "system", "served", "of_gpu", "apart", "sequences", "prompt", "answer"]


def asked(questions: Any, system: str, stack: str, model: Any, weights: str, kv: float, engine: tuple[int, int, int, int], load: tuple[float, float, float],
          figure: str, prefill: tuple[int, int, int, int] | None = None, workers: tuple[int, int] = (1, 1), batch: int = 0,
          settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """Adds a question and tells what a fit wants to know of it."""
    generation, shipped, described, gpu = questions.add_serving(system, stack, model, weights, kv, engine, prefill, workers, load, batch, figure, settings or {})
    gpus = math.prod(engine[:3]) * (workers[1] if prefill else 1)
    return {"at": len(questions) - 1, "generation": generation, "shipped": shipped, "described": described, "stack": stack, "system": system, "served": model.name,
            "of_gpu": gpu, "apart": prefill is not None, "sequences": load[2] / gpus, "prompt": load[0], "answer": load[1]}


def runs_of(rows: Iterable[Row], questions: Any) -> Any:
    """The rows as a pandas.DataFrame, a row for each figure of a line: `at` among the questions, whose price times `per` is the figure in its own unit,
    with `shipped` and `described` constants; `skipped` says why a row has none. Figures of different kinds of one group are groups of their own."""
    out = []
    for row in rows:
        figures = [(row["metric"], row["value"], row["unit"])]
        first = _FIGURES.get(row["metric"], "")
        two = first in ("ttft", "tpot") and row["metric2"] in _FIGURES
        if two:
            figures.append((row["metric2"], row["value2"], row["unit2"]))
        for metric, value, unit in figures:
            figure = _FIGURES.get(metric, "")
            measured = number_of(value)
            if measured is not None and measured < 0:
                row.refuse("value" if metric == row["metric"] else "value2", "which is negative", "write a number of at least 0")
            one: dict[str, Any] = {"id": row["id"], "group": f"{row['group']}:{metric}" if two else row["group"], "model": row["model"], "metric": metric,
                                   "measured": measured or 0.0, "fully_specified": row["fully_specified"] == "yes", "figure": figure, "skipped": "", "at": -1, "formula": math.nan}
            try:
                run = _run_of(row, figure, metric)
                if measured is None:
                    raise Skipped("the figure is a range or a word")
                if figure in _FORMULAS:
                    one["formula"] = _formula(figure, run) / _unit(unit)
                else:
                    one |= asked(questions, run["system"], run["stack"], run["model"], run["weights"], run["kv"], run["engine"], (run["isl"], run["osl"], run["concurrency"]), figure,
                                 run["prefill"], run["workers"], run["batch"], run["settings"])
                    one["per"] = _per(run, figure, metric) / _unit(unit)
            except (Skipped, fc.RequestError) as reason:
                one["skipped"] = str(reason)
            if not one["skipped"] and not one["measured"] > 0:
                one["skipped"] = "a figure of 0 has no relative error"
            out.append(one)
    return pd.DataFrame(out, columns=OF_RUNS)


def fitted(rows: Iterable[Row], questions: Any) -> Any:
    """Runs as a fit takes them."""
    its = runs_of(rows, questions)
    return its.assign(skipped=its.skipped.where((its.skipped != "") | its.figure.isin(_FITTED), "nothing of it is fitted"))


def predicted(rows: Sequence[Row]) -> Any:
    """Every figure with its prediction; those that are formulas have no interval."""
    questions: Any = _core._Questions()
    its = runs_of(rows, questions)
    its["predicted"], its["low"], its["high"] = its.formula, 0.0, 0.0
    priced = its.index[(its["at"] >= 0) & (its.skipped == "")]
    if len(priced):
        runs, constants = its.loc[priced], np.array(list(its.shipped[priced]))
        found = questions.price(runs["at"], constants) * runs.per
        wide = np.exp(NINE_IN_TEN * np.where(runs.figure == "ttft", constants[:, AT["spread_ttft"]], constants[:, AT["spread_tpot"]]))
        its.loc[priced, ["predicted", "low", "high"]] = np.array([found, found / wide, found * wide]).T
    return its[["id", "group", "model", "metric", "measured", "predicted", "low", "high", "fully_specified", "skipped"]]
