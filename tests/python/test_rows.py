"""Answers that are rows: pickled, copied, compared, and written as dicts that json takes."""
import copy
import json
import multiprocessing
import pickle

import pytest

import fabricost as fc

JOB = {"gpus": 16, "global_batch": 64}
ASKED = {
    "plan": lambda: fc.plan("dgx-h100", "llama3-8b", **JOB),
    "plan_serve": lambda: fc.plan_serve("dgx-h100", "llama3-8b", gpus=8),
    "plan_rl": lambda: fc.plan_rl("dgx-h100", "llama3-8b", gpus=16, prompts=64, osl=1000, max_osl=4000),
    "compare": lambda: fc.compare(["dgx-h100", "dgx-b200"], "llama3-8b", train=True, **JOB),
    "project": lambda: fc.project(["dgx-h100"], "llama3-8b", tokens=1e12, **JOB),
    "share": lambda: fc.share("dgx-h100", "all_reduce 1GiB"),
    "crossovers": lambda: fc.crossovers("dgx-b200", fc.AllReduce(), sizes=[fc.KiB, fc.GiB]),
    "constants": lambda: fc.constants(),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED.keys())
def test_answers_of_rows_are_values(ask):
    first, again = ask(), ask()
    assert first == again and hash(first) == hash(again)
    for other in (copy.copy(first), copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert other == first and len(other) == len(first) and repr(other) == repr(first)
    written = json.loads(json.dumps(first.to_dict()))
    rows = [value for value in written.values() if isinstance(value, list) and len(value) == len(first)]
    assert any(row == json.loads(json.dumps(first[0].to_dict())) for row in (each[0] for each in rows if each))


def test_reports_are_copied_and_a_validation_is_pickled():
    rows = {"bytes": [1e6, 2e6, 4e6], "seconds": [30e-6, 40e-6, 60e-6], "ranks": [8] * 3}
    fit = fc.calibrate("dgx-h100", rows)
    for report in (fit, fit.validation):
        assert copy.copy(report) is report and copy.deepcopy([report])[0] is report
    again = pickle.loads(pickle.dumps(fit.validation))
    assert again == fit.validation and hash(again) == hash(fit.validation)
    assert repr(again) == repr(fit.validation) and (again.samples == fit.validation.samples).all()
    residual = next(iter(fit.sets[0].residuals.values()))
    assert repr(residual).startswith(f"Residual(points={residual.points}, median_error=")


def test_another_question_has_another_answer():
    assert ASKED["plan"]() != fc.plan("dgx-h100", "llama3-8b", gpus=16, global_batch=128)


def test_plans_come_back_from_other_processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        plans = pool.apply(fc.plan, ("dgx-h100", "llama3-8b"), JOB)
    assert plans == ASKED["plan"]()
    with pytest.raises(fc.RequestError, match="pickled without its search"):
        plans.sensitivity()


def test_a_routing_that_serves_trains():
    even, steep = (fc.plan("dgx-h100", "moe-1.8t", gpus=512, global_batch=512, top=1, routing=how)[0].step_seconds
                   for how in ("balanced", "zipf:7"))
    assert even < steep
