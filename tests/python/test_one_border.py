"""What one interface refuses all refuse: arrays as numbers, classes as instances; an answer holds no infinity; one thing has one name."""
import io
import json
import contextlib
import math
import random

import numpy as np
import pytest

import fabricost as fc

OPERATIONS = (fc.AllReduce, fc.AllGather, fc.ReduceScatter, fc.Broadcast, fc.Reduce, fc.AllToAll)
JOB = {"gpus": 8, "global_batch": 64}


def outcome(ask):
    try:
        return ask()
    except fc.RequestError as error:
        return str(error)


def test_an_array_is_refused_where_its_number_is_and_answered_alike():
    """Random machines, operations, types, ranks and libraries."""
    draw = random.Random(5)
    names = fc.system_names()
    refused = answered = 0
    for _ in range(150):
        system = draw.choice(names)
        kind = draw.choice(OPERATIONS)
        fields = {"dtype": draw.choice(["half", "fp8", "float", "int8"])}
        if draw.random() < 0.5:
            fields["nodes"] = draw.choice([1, 2, 4, 3_000_000])
        how = draw.choice([{}, {}, {"library": "vllm"}, {"library": "nccl"}, {"library": "nccl-2.18"}, {"algorithm": "ring"},
                           {"launch": "queued"}, {"nvls": False}])
        size = draw.choice([0.0, 64.0, 1e6, 256e6])
        one = outcome(lambda: fc.predict(system, kind(bytes=size, **fields), **how).seconds)
        many = outcome(lambda: float(fc.predict(system, kind(bytes=np.array([size]), **fields), **how).seconds[0]))
        if isinstance(one, str):
            refused += 1
            assert many == one, (system, kind, fields, how)
        else:
            answered += 1
            assert many == pytest.approx(one, rel=1e-9), (system, kind, fields, how)
    assert refused > 12 and answered > 50


def test_a_type_that_nccl_does_not_add_is_refused_in_arrays():
    for bytes in (1e6, np.array([1e6])):
        with pytest.raises(fc.RequestError, match="adds fp8 on Hopper and later"):
            fc.predict("dgx-a100", fc.AllReduce(bytes=bytes, dtype="fp8"))


def finite(value, where=""):
    if isinstance(value, dict):
        for name, one in value.items():
            finite(one, f"{where}.{name}")
    elif isinstance(value, (list, tuple)):
        for i, one in enumerate(value):
            finite(one, f"{where}[{i}]")
    elif isinstance(value, float):
        assert math.isfinite(value), where


def test_no_answer_holds_an_infinity():
    answers = {name: outcome(lambda: fc.transfer_access(name)) for name in fc.system_names()}
    answers = {name: one for name, one in answers.items() if not isinstance(one, str)}
    unbounded = [name for name, one in answers.items() if one.in_flight_bytes is None]
    assert len(unbounded) >= 5 and any(name.startswith("tpu") for name in unbounded)
    others = [fc.predict("tpu-v5p", fc.AllReduce(bytes=1e6)), fc.plan("dgx-h100", "llama3-8b", **JOB)[0], fc.goodput(gpus=1024),
              fc.plan_serve("dgx-h100", "llama3-8b", gpus=8)[0], fc.need("dgx-h100", "llama3-8b", "gpus", global_batch=64, step_seconds=1),
              fc.compare(["dgx-h100", "dgx-b200"], "llama3-8b", train=True, **JOB)]
    for one in [*answers.values(), *others]:
        finite(one.to_dict(), repr(one)[:60])
        json.dumps(one.to_dict(), allow_nan=False)
        assert "inf" not in repr(one).replace("infini", "").replace("inference", "")


def test_yes_and_no_are_true_and_false():
    op = fc.AllReduce(bytes=1e8)
    off = fc.predict("dgx-h100", op, nvls=False)
    assert off.algorithm != "nvls" and off == fc.predict("dgx-h100", op, nvls="off")
    assert fc.predict("dgx-h100", op, nvls=True) == fc.predict("dgx-h100", op) == fc.predict("dgx-h100", op, nvls="on")
    found = fc.explore("dgx-h100", "llama3-8b", vary={"nvls": [True, False]}, objectives="step", **JOB)
    assert len(found) == 2
    with pytest.raises(TypeError):
        fc.predict("dgx-h100", op, nvls=1)


def test_every_interval_has_its_ends():
    best = fc.plan("dgx-h100", "llama3-8b", **JOB)[0]
    assert (best.low_seconds, best.high_seconds) == best.interval_seconds
    served = fc.plan_serve("dgx-h100", "llama3-8b", gpus=8)[0]
    assert (served.low_tpot_seconds, served.high_tpot_seconds) == served.interval_tpot_seconds
    one = fc.predict("dgx-h100", fc.AllReduce(bytes=1e6))
    assert (one.low_seconds, one.high_seconds) == one.interval_seconds
    for name in fc.__all__:
        kind = getattr(fc, name)
        for member, text in (vars(kind).get("__annotations__", {}) if isinstance(kind, type) else {}).items():
            if member.startswith("interval") and text.startswith("tuple[float, float]"):
                assert hasattr(kind, member.replace("interval", "low", 1)) and hasattr(kind, member.replace("interval", "high", 1)), (name, member)


# --- progress

SEARCHES = {
    "explore": lambda **more: fc.explore("dgx-h100", "llama3-8b", vary={"domain": [8, 16, 32]}, objectives="step", gpus=64, global_batch=128,
                                         **more),
    "explore_serve": lambda **more: fc.explore_serve("dgx-h100", "llama3-8b", gpus=8, vary={"batch": "1:8:x2"}, **more),
    "need": lambda **more: fc.need("dgx-h100", "llama3-8b", "gpus", global_batch=64, step_seconds=1, **more),
    "need_serve": lambda **more: fc.need_serve("dgx-h100", "llama3-8b", "nodes", tokens_per_second=1000, over="1:4:x2", **more),
    "plan": lambda **more: fc.plan("dgx-h100", "llama3-8b", **JOB, **more),
    "plan_serve": lambda **more: fc.plan_serve("dgx-h100", "llama3-8b", gpus=8, **more),
    "compare": lambda **more: fc.compare(["dgx-h100", "dgx-b200"], "llama3-8b", train=True, **JOB, **more),
    "project": lambda **more: fc.project(["dgx-h100"], "llama3-8b", gpus=64, global_batch=128, tokens=1e12, **more),
}


@pytest.mark.parametrize("search", SEARCHES)
def test_progress_shows_a_bar_and_changes_nothing(search):
    pytest.importorskip("tqdm")
    seen = {}
    for wanted in ({}, {"progress": True}):
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            seen[len(wanted)] = SEARCHES[search](**wanted)
        assert ("fabricost" in shown.getvalue()) == bool(wanted) == bool(shown.getvalue()), shown.getvalue()
    assert repr(seen[0]) == repr(seen[1])
