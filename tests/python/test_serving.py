"""Plans of serving: throughput against interactivity, limits, arrivals."""
import math
import pickle

import numpy as np
import pytest

import fabricost as fc
from by_command import asked, refused, same

def test_answers_of_one_token_have_no_time_per_further_token():
    plan = fc.plan_serve("dgx-h100", "llama3-70b", gpus=8, isl=1024, osl=1)[0]
    assert plan.tpot_seconds == 0 and plan.terms == [] and plan.ttft_seconds > 0
    assert math.isclose(plan.tokens_per_second_per_user * plan.ttft_seconds, 1, rel_tol=1e-9)
    with pytest.raises(fc.RequestError, match="tpot_seconds"):
        fc.plan_serve("dgx-h100", "llama3-70b", gpus=8, osl=1, tpot_seconds=0.03)


def test_what_keeps_no_limit_or_does_not_fit_says_what_comes_nearest():
    with pytest.raises(fc.RequestError, match="nearest") as caught:
        fc.plan_serve("dgx-h100", "llama3-405b", gpus=8, tpot_seconds=1e-4)
    assert "nearest" in refused("plan", "--serve", "--system", "dgx-h100", "--model", "llama3-405b", "--gpus", 8, "--tpot", "0.1ms")
    assert "--" not in str(caught.value)
    assert "ask for tpot_seconds=" in str(caught.value)
    assert caught.value.reason == "limits"
    with pytest.raises(fc.RequestError, match="does not fit") as caught:
        fc.plan_serve("dgx-h100", "llama3-405b", gpus=2)
    assert caught.value.reason == "memory"
    with pytest.raises(fc.RequestError) as caught:
        fc.plan_serve("dgx-h100", "llama3-405b", gpus=0)
    assert caught.value.reason == "request" and pickle.loads(pickle.dumps(caught.value)).reason == "request"


def test_loads_of_experts_may_be_an_array(tmp_path):
    loads = np.linspace(2, 1, 256)
    file = tmp_path / "loads.txt"
    file.write_text("\n".join(map(repr, loads.tolist())))
    wanted = asked("plan", "--serve", "--system", "dgx-h200", "--model", "deepseek-v3", "--gpus", 8, "--routing", f"histogram:{file}")
    same(fc.plan_serve("dgx-h200", "deepseek-v3", gpus=8, routing=loads)[0].tpot_seconds, wanted["layouts"][0]["tpot_s"])


def test_requests_that_arrive_are_answered_within_percentiles():
    ask = {"gpus": 8, "isl": 2048, "osl": 256, "ttft_seconds": 1, "tpot_seconds": 0.04, "top": 2}
    plans = fc.plan_serve("dgx-h100", "llama3-70b", request_rate="3/s", **ask)
    best = plans[0].arrivals
    assert best.meets_limits and best.ttft.p50_seconds <= best.ttft.p90_seconds <= best.ttft.p99_seconds <= 1
    assert plans[0].ttft_seconds == best.ttft.mean_seconds
    assert sum(term.seconds for term in plans[0].terms) == pytest.approx(plans[0].tpot_seconds)
    assert best.rate_within_limits_per_second >= 3
    again = fc.plan_serve("dgx-h100", "llama3-70b", request_rate=3, **ask)
    assert again[0].arrivals == best
    limits = {name: ask[name] for name in ("gpus", "ttft_seconds", "tpot_seconds", "top")}  # lengths are in the trace
    trace = {"timestamp": [0, 400, 900, 1500], "input_length": [2048] * 4, "output_length": [256] * 4}
    assert fc.plan_serve("dgx-h100", "llama3-70b", requests=trace, **limits)[0].arrivals.asked_per_second == pytest.approx(2)
    with pytest.raises(fc.RequestError, match="request 1"):
        fc.plan_serve("dgx-h100", "llama3-70b", requests={**trace, "timestamp": [5, 4, 9, 15]}, **limits)
    with pytest.raises(fc.RequestError, match="requests/s are more than they answer"):
        fc.plan_serve("dgx-h100", "llama3-70b", request_rate=1000, **ask)


def test_a_table_of_plans_has_the_percentiles_as_columns():
    pytest.importorskip("pandas", reason="the plans become a DataFrame")
    plans = fc.plan_serve("dgx-h100", "llama3-8b", gpus=8, request_rate=4, isl=512, osl=64)
    table = plans.to_pandas()
    assert table.arrivals_ttft_p99_seconds[0] == plans[0].arrivals.ttft.p99_seconds
    assert table.arrivals_share_within_limits[0] == plans[0].arrivals.share_within_limits
    assert "arrivals" not in table


def test_pools_tiers_and_routes_are_asked_for_as_in_the_command():
    apart = fc.plan_serve("dgx-h200", "llama3-70b", gpus=8, isl=4096, osl=256, prefill_system=fc.System("dgx-h100"), prefill_gpus=8,
                          ttft_seconds=2, tpot_seconds=0.05)[0]
    assert (apart.prefill_system, apart.prefill_gpus, apart.disaggregated) == ("dgx-h100", 8, True)
    assert apart.dollars_per_million_tokens > 0 and apart.kv_bytes_sent > 1e8
    chat = dict(gpus=2, isl=300, osl=150, request_rate=2, turns=8, turn_gap_seconds=120, top=1)
    chained = fc.plan_serve("dgx-h100", "llama3-70b", prefix_tier="host:4GiB,remote", route="prefix", **chat)[0].arrivals
    assert chained.hit_rate > 0.5 and chained.reloaded > 0
    with pytest.raises(fc.RequestError, match="host, ssd, remote in this order"):
        fc.plan_serve("dgx-h100", "llama3-70b", prefix_tier="remote,host", **chat)
