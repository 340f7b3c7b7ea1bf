"""Money, failures and stragglers: the command's figures, None for what is not known."""
import json
import math

import numpy as np
import pytest

import fabricost as fc
from by_command import asked, refused, same


def test_a_plan_brings_its_own_speed():
    plans = fc.plan("dgx-h100", "llama3-8b", gpus=16, global_batch=64)
    plan = plans[0]
    by_plan = fc.cost("dgx-h100", plan=plan, tokens=1e12)
    assert fc.cost("dgx-h100", plan=plans, tokens=1e12) == by_plan  # of many, the fastest
    by_step = fc.cost("dgx-h100", gpus=16, step_seconds=plan.step_seconds, global_batch=64, sequence=4096, tokens=1e12)
    assert math.isclose(by_plan.run.dollars, by_step.run.dollars, rel_tol=1e-12)
    with pytest.raises(fc.RequestError, match="plan"):
        fc.cost("dgx-b200", plan=plan)
    with pytest.raises(fc.RequestError, match="gpus"):
        fc.cost("dgx-h100", plan=plan, gpus=8)


def test_an_answer_says_that_a_network_is_only_billed():
    assert fc.cost("dgx-h100", gpus=1024).network_note == fc.cost("dgx-h100", gpus=1024, network="rail").network_note == ""
    note = fc.cost("dgx-h100", gpus=1024, network="torus").network_note
    assert "torus" in note and "(rail)" in note and "Set nic.bandwidth to" in note
    assert "leaf.oversubscription" in fc.cost("meta-24k-roce", gpus=1024, network="dragonfly").network_note
    assert fc.cost("dgx-h100", gpus=8, network="torus").network_note == ""  # one domain has none
    job = dict(model="llama3-8b", tokens=1e12, gpus=64, global_batch=128)
    own, billed = fc.project("dgx-h100", **job)[0], fc.project("dgx-h100", network="torus", **job)[0]
    assert billed.step_seconds == own.step_seconds and billed.cost.network_dollars != own.cost.network_dollars
    assert billed.cost.network_note == note and own.cost.network_note == ""


def test_measured_times_come_as_a_file_or_an_array(tmp_path):
    times = np.random.default_rng(7).gamma(400, 0.01 / 400, (200, 8))
    times[:, 3] *= 1.2
    path = tmp_path / "times.csv"
    path.write_text("iteration,rank,time_s\n" + "".join(f"{i},{r},{float(times[i, r])!r}\n" for i in range(200) for r in range(8)))
    s = fc.stragglers(path, ranks=4096)
    wanted = asked("stragglers", path, "--ranks", 4096)
    measured = wanted["measured"]
    for mine, theirs in [(s.step_seconds, wanted["step_s"]), (s.times, measured["times"]), (s.p50_seconds, measured["p50_s"]),
                         (s.p99_seconds, measured["p99_s"]),
                         (s.measured_ranks, measured["ranks"]), (s.slowest_seconds, measured["slowest_s"])]:
        same(mine, theirs)
    assert [r.rank for r in s.slow_ranks] == [r["rank"] for r in measured["slow_ranks"]] == ["3"] and s.shape is None
    assert fc.stragglers(times, ranks=4096).step_seconds == pytest.approx(s.step_seconds, rel=1e-12)
    assert refused("stragglers", path)  # --ranks is needed


def test_what_is_looked_for_elsewhere_is_named(tmp_path):
    job = {"gpus": 8, "global_batch": 16}
    plans = fc.plan("dgx-h100", "llama3-8b", **job)
    with pytest.raises(AttributeError, match="did you mean step_seconds"):
        plans[0].seconds  # noqa: B018
    systems = ["dgx-h100", "dgx-b200"]
    for ask, said in [(lambda: fc.plan("dgx-h100", "llama3-8b", sensitivity=True, **job), "Plans.sensitivity"),
                      (lambda: fc.compare(systems, "llama3-8b", train=True, tokens=1e12, **job), "project"),
                      (lambda: fc.compare(systems, "llama3-8b", train=True, prices="x.yaml", **job), "prices_file"),
                      (lambda: fc.project(systems, "llama3-8b", tokens=1e12, prices={"dgx-h100": 2}, **job), "own_prices")]:
        with pytest.raises(TypeError, match=said):
            ask()
    with pytest.raises(fc.RequestError, match="fabricost.torch"):
        fc.export("pytorch", output=tmp_path / "x")
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(asked("plan", "train", "-m", "llama3-8b", "-s", "dgx-h100", "-g", 8, "-b", 16)))
    assert fc.cost(plan=path, tokens=1e9).run_seconds == pytest.approx(fc.cost(plan=plans, tokens=1e9).run_seconds)


def test_a_buyer_reads_money_power_and_goodput_from_what_is_printed():
    compared = fc.compare(["dgx-h100", "dgx-b200"], "llama3-8b", train=True, gpus=8, global_batch=16)
    assert "$/Mtoken" in repr(compared[0]) and "J/token" in repr(compared[0]) and " MW" in repr(compared[0])
    assert compared._repr_html_().count("<p") < 4  # the machines are rows, not paragraphs too
    assert compared.to_pandas().attrs["units"]["watts"] == "W"
    run = fc.project("dgx-h100", "llama3-8b", gpus=64, global_batch=64, tokens=1e10)
    assert "goodput" in repr(run[0]) and "to buy" in repr(run[0])
