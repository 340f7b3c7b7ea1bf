"""Dynamo: one engine's step times for its mocker and its planner, and a trace of requests for its replay.

    mocker.npz                                     prefill_isl, prefill_ttft_ms; decode_active_kv_tokens, decode_context_length,
                                                   decode_itl[kv][context] in ms: batch = kv / context
    selected_prefill_interpolation/raw_data.npz    prefill_isl, prefill_ttft (ms), prefill_thpt_per_gpu (tokens/s)
    selected_decode_interpolation/raw_data.npz     max_kv_tokens, x_kv_usage, y_context_length, z_itl (ms), z_thpt_per_gpu
    engine.json                                    of the mocker: blocks of the cache, limits, and where mocker.npz is
    trace.jsonl                                    timestamp (ms), input_length, output_length, hash_ids of blocks that no request shares

The folder is also a profile-results directory of the planner. Times are a prompt's alone and a step's without prompts of others, since
Dynamo schedules both itself.
"""
from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from .. import _core
from .shared import Format, Made, Option

_GRID = 16  # points of each axis; the mocker takes the nearest, the planner fits a line
_BLOCK = 64  # tokens of a block of the cache


def _npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


class _Engine:
    """One engine of `tp` x `pp` x `dp` GPUs, priced at any prompt, context and batch."""

    def __init__(self, system: Any, model: Any, sizes: dict[str, int], layout: dict[str, Any]) -> None:
        self.system, self.model = system, _core.load_model(model)
        self.gpus = sizes["tp"] * sizes["pp"] * sizes["dp"]
        self.given = {**sizes, **layout}

    def _plan(self, **asked: Any) -> Any:
        return _core.plan_serve(self.system, self.model, gpus=self.gpus, top=1, ttft_seconds=1e9, **self.given, **asked)[0]

    def prompt_seconds(self, tokens: int) -> float:
        return float(self._plan(isl=tokens, osl=1, batch=1).ttft_seconds)

    def step_seconds(self, batch: int, context: int) -> float:
        """A step of `batch` sequences that each see `context` tokens; another worker's prompts do not count."""
        found = self._plan(isl=max(1, context - 1), osl=2, batch=batch)
        return float(found.tpot_seconds) - sum(float(term.seconds) for term in found.terms if term.name in ("prompts_of_others", "waiting_for_a_step"))

    def fits(self, batch: int, context: int) -> bool:
        try:
            self._plan(isl=max(1, context - 1), osl=2, batch=batch)
        except _core.RequestError:
            return False
        return True


def _most_sequences(engine: _Engine, context: int, limit: int) -> int:
    """Sequences of that context whose cache fits, at most `limit`."""
    low, high = 0, 1
    while high <= limit and engine.fits(high, context):
        low, high = high, 2 * high
    high = min(high, limit + 1)
    while high - low > max(1, low // 64):
        middle = (low + high) // 2
        low, high = (middle, high) if engine.fits(middle, context) else (low, middle)
    return low


def profile(system: Any, model: str, tp: int, pp: int, dp: int, ep: int | None, precision: str | None, kv_precision: str | None, stack: str,
            context: int, sequences: int, rate: float | None, requests: int, isl: int, osl: int) -> Made:
    layout = {name: value for name, value in (("ep", ep), ("precision", precision), ("kv_precision", kv_precision), ("stack", stack)) if value}
    engine = _Engine(system, model, {"tp": tp, "pp": pp, "dp": dp}, layout)
    prompts = np.unique(np.geomspace(min(64, context), context, _GRID).round().astype(int))
    ttft = np.array([engine.prompt_seconds(int(tokens)) for tokens in prompts]) * 1e3  # RequestError says what does not fit
    contexts = np.unique(np.geomspace(min(128, context), context, _GRID).round().astype(int))
    most = {int(c): _most_sequences(engine, int(c), sequences) for c in contexts}
    capacity = max(c * n for c, n in most.items())
    if capacity < context:
        raise _core.RequestError(f"context: no sequence of {context} tokens fits beside the weights; take a shorter one or more GPUs")
    kv = np.unique(np.concatenate([[0], np.geomspace(contexts[0], capacity, _GRID - 1).round()]).astype(int))
    seen: dict[tuple[int, int], float] = {}

    def step(tokens: float, c: int) -> float:
        batch = int(min(max(1, round(tokens / c)), max(1, most[c])))
        if (batch, c) not in seen:
            seen[batch, c] = engine.step_seconds(batch, c)
        return seen[batch, c]

    itl = np.array([[step(tokens, int(c)) for c in contexts] for tokens in kv]) * 1e3
    usage, length, interval, rates = [], [], [], []
    for (batch, c), seconds in sorted(seen.items()):
        usage.append(batch * c / capacity)
        length.append(float(c))
        interval.append(seconds * 1e3)
        rates.append(batch / seconds / engine.gpus)
    worker = {"engine": {"backend": {"sglang": "sglang", "trtllm": "trtllm"}.get(stack.partition("-")[0], "vllm"), "block_size": _BLOCK,
                         "num_gpu_blocks": max(1, capacity // _BLOCK), "max_num_seqs": max(1, max(most.values())),
                         "timing_model": {"type": "external", "provider": "dynamo_profile", "config": {"path": "mocker.npz"}}}}
    files = {
        "mocker.npz": _npz(prefill_isl=prompts.astype(float), prefill_ttft_ms=ttft, decode_active_kv_tokens=kv.astype(float),
                           decode_context_length=contexts.astype(float), decode_itl=itl),
        "selected_prefill_interpolation/raw_data.npz": _npz(prefill_isl=prompts.astype(float), prefill_ttft=ttft,
                                                            prefill_thpt_per_gpu=prompts / (ttft / 1e3) / engine.gpus),
        "selected_decode_interpolation/raw_data.npz": _npz(max_kv_tokens=np.array([capacity]), x_kv_usage=np.array(usage),
                                                           y_context_length=np.array(length), z_itl=np.array(interval),
                                                           z_thpt_per_gpu=np.array(rates)),
        "engine.json": (json.dumps(worker, indent=2) + "\n").encode()}
    if rate is not None:
        files["trace.jsonl"] = trace(rate, requests, isl, osl)
    return Made(files, [
        f"One engine of {engine.gpus} GPUs: a prompt of {prompts[-1]} tokens takes {ttft[-1]:.4g} ms, a step {itl.min():.4g} to {itl.max():.4g} ms, "
        f"{capacity} tokens fit into its cache.",
        "python -m dynamo.mocker --planner-profile-data FOLDER/mocker.npz; engine.json is the mocker's configuration, whose path to "
        "mocker.npz is from the folder in which it runs; FOLDER itself is the planner's profile_results_dir."])


def trace(rate: float, requests: int, isl: int, osl: int) -> bytes:
    """Requests that arrive at random (a Poisson process) at `rate` a second, all of one shape, in the form of Mooncake's traces."""
    at = np.cumsum(np.random.default_rng(0).exponential(1e3 / rate, requests))
    blocks = -(-isl // 512)  # the form's block of tokens
    return "".join(json.dumps({"timestamp": round(float(ms), 3), "input_length": isl, "output_length": osl,
                               "hash_ids": list(range(n * blocks, (n + 1) * blocks))}) + "\n" for n, ms in enumerate(at)).encode()


FORMATS = [Format("dynamo", "Dynamo: profile of an engine for mocker and planner, and a trace to replay", profile, (
    Option("model", "word", "a name, or a YAML file", needed=True),
    Option("tp", "count", "tensor ranks of the engine; default 1", 1), Option("pp", "count", "pipeline stages; default 1", 1),
    Option("dp", "count", "attention replicas; default 1", 1), Option("ep", "count", "expert ranks"),
    Option("precision", "word", "of weights: bf16 fp8 fp4 int4; default as published, else fp8"),
    Option("kv_precision", "word", "of the cache: bf16 or fp8"), Option("stack", "word", "a serving framework; default vllm", "vllm"),
    Option("context", "count", "the longest prompt and context, tokens; default 16384", 16384),
    Option("sequences", "count", "the most in a batch; default 512", 512),
    Option("rate", "number", "write a trace too, of so many requests a second"),
    Option("requests", "count", "of the trace; default 400", 400), Option("isl", "count", "tokens of its prompts; default 2048", 2048),
    Option("osl", "count", "tokens of its answers; default 256", 256)), folder=True,
    example="fabricost export dynamo --system dgx-h100 --model llama3-70b --tp 4 --rate 4 -o profile")]
