"""Services and whole datasets, derived from logs in the public result repositories of MLPerf Inference, beside fc.plan_serve: output tokens/s of a GPU.

Offline, all requests are there from the start: a closed loop of as many as an engine takes together. Server and interactive: the largest rate of arrivals
at which 99 % of requests keep to the stated limits of first and of further tokens. Answers are as long as the run's (tokens over samples), prompts as the
benchmark's mean. Whole datasets can be fitted; services cannot, as their rates are set by hand. Rows count that state tensor ranks, the batch and the
format of the weights; where they don't, the layout is searched.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import fabricost as fc

from . import serving
from ._table import Row, Skipped, frame_of, number_of, pd
from .machines import machine_of
from .serving import stack_of

COLUMNS = ["round", "division", "accelerator", "benchmark", "scenario", "tokens_per_s", "tokens_per_s_per_gpu", "samples_per_s", "tp", "pp", "precision",
           "weight_data_types", "batch_size", "config_note", "ttft_limit_ms", "tpot_limit_ms", "framework"]

# The beginning of a benchmark's name, its model, mean tokens of a prompt. MLCommons, "LLM inference v5" (April 2025), "small LLM inference 5.1" and
# "DeepSeek inference 5.1" (September 2025). Of OpenOrca (the last two) the mean answer is stated; assumed: prompts are as long.
_BENCHMARKS = (("llama3.1-405b", "llama3.1-405b", 9400), ("llama3_1-405b", "llama3.1-405b", 9400), ("llama3.1-8b", "llama3.1-8b", 778),
               ("llama3_1-8b", "llama3.1-8b", 778), ("deepseek-r1", "deepseek-v3", 800), ("llama2-70b", "llama2-70b", 294), ("llama3_1-70b", "llama3.1-70b", 294))
_BOARDS = (("H200-NVL", "h200-nvl-4"), ("H100-NVL", "h100-nvl-pair"), ("RTX PRO 6000", "rtx-pro-6000-pcie"), ("Arc Pro(R) B60", "b60-pcie"))
_NO_MACHINE = ("(x", "PCIe", "GH200")  # two kinds of GPUs, and boards whose servers are not described
_MANY = 2048  # requests of a GPU where the batch is not stated
_ANY_RATE = 0.01  # 1/s: the largest rate within limits does not depend on the one that is asked for
_FORMATS = {"quark": "fp4", "mxfp4": "fp4", "fp4": "fp4", "fp8": "fp8", "int4": "int4", "uint4": "int4"}


def _machine(gpu: str) -> str:
    if any(part in gpu for part in _NO_MACHINE):
        raise Skipped(f'no machine known with a GPU "{gpu[:40]}"')
    return next((system for board, system in _BOARDS if board in gpu), "") or machine_of(gpu)[0]


def _weights(row: Row) -> str:
    return _FORMATS.get(row["precision"].lower()) or _FORMATS.get(row["weight_data_types"].lower(), "bf16" if row["precision"] == "fp16" else "")


def _engine(row: Row) -> dict[str, int]:
    """Its layout where it is stated, and its requests: all that an engine takes together, of eight where nothing is stated."""
    if not _is_stated(row):
        return {"gpus": 8, "concurrency": 8 * _MANY}
    tp, pp, ep = (max(1, row.count(column)) for column in ("tp", "pp", "ep"))
    tp, replicas = (1, tp) if "attention_dp=1" in row["config_note"] else (tp, 1)
    return {"gpus": tp * pp * replicas, "tp": tp, "pp": pp, "dp": replicas, "ep": ep, "concurrency": row.count("batch_size", _MANY**2) * replicas}


def _is_stated(row: Row) -> bool:
    return bool(row["tp"] and row["batch_size"])


@cache
def _best(asked: tuple[tuple[str, Any], ...]) -> Any:
    return fc.plan_serve(top=1, **dict(asked))[0]


def _run_of(row: Row) -> dict[str, Any]:
    """What plan_serve is asked. Raises Skipped where the row says too little."""
    if row["division"] != "closed":
        raise Skipped("an open submission")
    model, prompt = next(((model, prompt) for start, model, prompt in _BENCHMARKS if row["benchmark"].startswith(start)), ("", 0))
    if not model:
        raise Skipped(f"{row['benchmark']}: a model, a search of beams or lengths of prompts that are not known")
    if not (weights := _weights(row)):
        raise Skipped("format of the weights not stated")
    samples = row.number("samples_per_s", 1e12)
    if not samples > 0:
        raise Skipped("length of the answers not stated")
    return {"system": _machine(row["accelerator"]), "model": model, "isl": prompt, "osl": max(1, round(row.number("tokens_per_s", 1e12) / samples)),
            "precision": weights, "stack": stack_of(row["framework"])} | _engine(row)


def _served(row: Row) -> tuple[float, float, float]:
    asked = _run_of(row)
    if row["scenario"] == "Offline":
        p = _best(tuple((asked | {"ttft_seconds": "1d"}).items()))
        return p.tokens_per_second_per_gpu, p.low_tokens_per_second_per_gpu, p.high_tokens_per_second_per_gpu
    first, each = (row.number(f"{time}_limit_ms") / 1e3 for time in ("ttft", "tpot"))
    if not min(first, each) > 0:
        raise Skipped("limits not stated")
    del asked["concurrency"]
    kept = _best(tuple((asked | {"ttft_seconds": first, "tpot_seconds": each, "request_rate": _ANY_RATE}).items())).arrivals
    rates = (kept.rate_within_limits_per_second, kept.low_rate_within_limits_per_second, kept.high_rate_within_limits_per_second)
    most, low, high = (rate * asked["osl"] / asked["gpus"] for rate in rates)
    return most, low, high


def _named(rows: Iterable[Row]) -> list[Row]:
    """With the cells that all tables of published figures have."""
    return [Row(row.file, row.line, {column: row[column] for column in (*COLUMNS, "ep")}
                | {"id": f"{row['round']} {row['accelerator']}", "group": f"{row['scenario'].lower()}_{row['benchmark']}", "model": row["benchmark"],
                   "metric": "tokens_per_s_per_gpu", "value": row["tokens_per_s_per_gpu"], "fully_specified": "yes" if _is_stated(row) else "no"}) for row in rows]


def fitted(rows: Iterable[Row], questions: Any) -> Any:
    """Whole datasets as a fit takes them: serving.runs_of. Services are not fitted, whose rates were set by hand."""
    out = []
    for row in _named(rows):
        one: dict[str, Any] = {"id": row["id"], "group": row["group"], "model": row["model"], "metric": row["metric"], "measured": number_of(row["value"]) or 0.0,
               "fully_specified": row["fully_specified"] == "yes", "figure": "tokens_per_s", "skipped": "", "at": -1, "formula": math.nan}
        try:
            if row["scenario"] != "Offline":
                raise Skipped("requests that arrive")
            run = _run_of(row)
            one |= serving.asked(questions, run["system"], run["stack"], fc.load_model(run["model"]), run["precision"], 2 if run["precision"] == "bf16" else 1,
                                 (run.get("tp", 1), run.get("dp", 1), run.get("pp", 1), run.get("ep", 1)), (run["isl"], run["osl"], run["concurrency"]), "tokens_per_s")
            one["per"] = 1 / run["gpus"]
        except (Skipped, fc.RequestError) as reason:
            one["skipped"] = str(reason)
        if not one["skipped"] and not one["measured"] > 0:
            one["skipped"] = "no figure"
        out.append(one)
    return pd.DataFrame(out, columns=serving.OF_RUNS)


def predicted(rows: Sequence[Row]) -> Any:
    """Output tokens/s of a GPU, by scenario and benchmark."""
    return frame_of(_named(rows), "metric", _served)
