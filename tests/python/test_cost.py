"""Money, failures and stragglers: the command's figures, None for what is not known."""
import copy
import math
import pickle

import numpy as np
import pytest

import fabricost as fc
from by_command import asked, refused, same


def money(got, wanted):
    for mine, theirs in dict(rented_dollars="rented_usd", owned_dollars="owned_usd", servers_dollars="servers_usd",
                             network_dollars="network_usd",
                             electricity_dollars="electricity_usd", site_dollars="site_usd", joules="joules").items():
        same(getattr(got, mine), wanted[theirs], mine)
    same(got.dollars, wanted["rented_usd"] if wanted["rented_usd"] is not None else wanted["owned_usd"], "paid")


@pytest.mark.parametrize("question, words", [
    (dict(system="dgx-h100", gpus=16384), []),
    (dict(system="dgx-h100", gpus=1024, model="llama3-70b", mfu=0.4, tokens=1e12),
     ["--model", "llama3-70b", "--mfu", "40%", "--tokens", "1T"]),
    (dict(system="gb200-nvl72", gpus=1152, step_seconds=13.1, global_batch=2304, sequence=4096, hours=100, goodput=0.9),
     ["--step-time", "13.1s", "--global-batch", 2304, "--sequence", 4096, "--hours", 100, "--goodput", 0.9]),
    (dict(system="dgx-b200", gpus=64, tokens_per_second_per_gpu=1000, dollars_per_gpu_hour=2.5, dollars_per_server=400000,
          dollars_per_kwh=0.1, pue=1.1, lifetime_years=4, share=0.05, upgrade_dollars=1e6),
     ["--tokens-per-s-per-gpu", 1000, "--price-gpu-hour", 2.5, "--price-server", 400000, "--price-kwh", 0.1, "--pue", 1.1, "--years", 4,
      "--share", "5%", "--upgrade", 1000000]),
    (dict(system="l40s-pcie", gpus=8), []),
])
def test_a_cost_is_the_commands(question, words):
    c = fc.cost(**question)
    wanted = asked("cost", "--system", question["system"], "--gpus", question["gpus"], *words)
    prices, power, capital, share = wanted["prices"], wanted["power"], wanted["capital"], wanted["share"]
    for mine, theirs in dict(dollars_per_gpu_hour="gpu_hour_usd", gpu_hour_source="gpu_hour_source",
                             gpu_hour_confidence="gpu_hour_confidence",
                             server_dollars_per_gpu="server_per_gpu_usd", server_source="server_source",
                             dollars_per_kwh="electricity_usd_per_kwh",
                             pue="pue", load="load", lifetime_years="lifetime_years", prices="file", prices_date="date").items():
        same(getattr(c, mine), prices[theirs], mine, 1e-9)
    for mine, theirs in dict(rated_watts="rated_kW", racks_watts="racks_kW", switches_watts="switches_kW", site_watts="site_kW").items():
        same(getattr(c, mine), power[theirs] if power[theirs] is None else power[theirs] * 1e3, mine)
    assert (c.power_source, c.power_confidence) == (power["source"], power["confidence"])
    for mine, theirs in dict(servers_dollars="servers_usd", network_dollars="network_usd", network_share="network_share",
                             network_tiers="network_tiers").items():
        same(getattr(c, mine), capital[theirs], mine)
    money(c.hour, wanted["hour"])
    for mine, theirs in dict(share_dollars_per_day="usd_per_day", share_dollars_per_30_days="usd_per_30_days",
                             share_dollars_per_year="usd_per_year").items():
        same(getattr(c, mine), share[theirs], mine)
    same(c.payback_days, share.get("payback_days"), "payback")
    same(c.tokens_per_second, wanted.get("tokens_per_s"), "tokens/s")
    assert (c.million_tokens is None) == ("per_million_tokens" not in wanted) and (c.run is None) == ("run" not in wanted)
    if c.million_tokens:
        money(c.million_tokens, wanted["per_million_tokens"])
    if c.run:
        money(c.run, wanted["run"])
        for mine, theirs in dict(run_seconds="seconds", run_tokens="tokens", run_gpu_hours="gpu_hours").items():
            same(getattr(c, mine), wanted["run"][theirs], mine)
    for thing in (c, c.hour):
        for other in (copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
            assert other == thing and hash(other) == hash(thing)


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


@pytest.mark.parametrize("question, words", [
    (dict(gpus=16384, checkpoint_seconds=30, restart_seconds=600), ["--checkpoint", "30s", "--restart", "10min"]),
    (dict(gpus=4096, fleet="rsc-1", background=True, drain_seconds=120, checkpoint_every_seconds=1800, reload_seconds=60),
     ["--fleet", "rsc-1", "--async", "--drain", "120s", "--interval", "30min", "--reload", "60s"]),
    (dict(gpus=1152, system="gb200-nvl72", model="llama3-405b", storage_bytes_per_second=2e12, spares=2, repair_seconds=3600 * 12,
          jitter=0.02, replaced=0.5),
     ["--system", "gb200-nvl72", "--model", "llama3-405b", "--storage", "2TB/s", "--spares", 2, "--repair", "12h", "--jitter", 0.02,
      "--replaced", 0.5]),
    (dict(gpus=512, mttf_node_seconds=6000 * 3600, gpus_per_node=4, dollars_per_gpu_hour=3),
     ["--mttf-node", "6000h", "--gpus-per-node", 4, "--price-gpu-hour", 3]),
    (dict(gpus=512, failures_per_node_day=0.01), ["--failures-per-node-day", 0.01]),
    (dict(gpus=512, failures_per_1000_node_days=6.5), ["--failures-per-1000-node-days", 6.5]),
    (dict(gpus=16384, system="dgx-h100", flaps_per_link_year=2, flap_stall_seconds=10, flap_fatal=0.02, lost_rails=1, network_share=0.2,
          jitter=0.03),
     ["--system", "dgx-h100", "--flaps-per-link-year", 2, "--flap-stall", "10s", "--flap-fatal", 0.02, "--lost-rails", 1,
      "--network-share", "20%", "--jitter", 0.03]),
    (dict(gpus=1024, flaps_per_link_year=3, flap_stall_seconds=5, links=4096, lost_rails=2, rails=4, network_share=0.5,
          checkpoint_every_seconds=1200),
     ["--flaps-per-link-year", 3, "--flap-stall", "5s", "--links", 4096, "--lost-rails", 2, "--rails", 4, "--network-share", 0.5,
      "--interval", "20min"]),
])
def test_goodput_is_the_commands(question, words):
    g = fc.goodput(**question)
    wanted = asked("goodput", "--gpus", question["gpus"], *words)
    failures, checkpoint, shares, spares = (wanted[k] for k in ("failures", "checkpoint", "shares", "spares"))
    assert g.failure_source == failures["source"]
    for mine, theirs in [(g.failures_per_1000_node_days, failures["per_1000_node_days"]), (g.failures_per_day, failures["per_day"]),
                         (g.mttf_seconds, failures["mttf_s"]),
                         (g.checkpoint_every_seconds, checkpoint["interval_s"]), (g.stall_seconds, checkpoint["stall_s"]),
                         (g.drain_seconds, checkpoint["drain_s"]),
                         (g.young_seconds, checkpoint["young_s"]), (g.daly_seconds, checkpoint["daly_s"]),
                         (g.best_seconds, checkpoint["best_s"]),
                         (g.checkpoint_bytes, checkpoint.get("bytes")), (g.recovery_seconds, wanted["recovery_s"]),
                         (g.goodput, wanted["goodput"]),
                         (g.goodput_first_order, wanted["goodput_first_order"]), (g.ettr_meta, wanted["ettr_meta"]),
                         (g.goodput, shares["kept"]),
                         (g.checkpoints_share, shares["checkpoints"]), (g.lost_share, shares["lost"]),
                         (g.recovery_share, shares["recovery"]),
                         (g.waiting_share, shares["waiting"]), (g.spares, spares["spares"]), (g.repair_seconds, spares["repair_s"]),
                         (g.spares_to_wait_a_thousandth, spares["to_wait_a_thousandth"]), (g.kept_per_node, spares["kept_per_node"]),
                         (g.lost_dollars_per_day, wanted.get("lost_usd_per_day")), (g.nodes, wanted["nodes"]),
                         (g.flaps_share, shares["flaps"]), (g.lost_rails_share, shares["lost_rails"]),
                         (g.links, wanted.get("flaps", {}).get("links")), (g.flaps_per_day, wanted.get("flaps", {}).get("per_day")),
                         (g.fatal_flaps_per_day, wanted.get("flaps", {}).get("fatal_per_day")),
                         (g.network_factor, wanted.get("rails", {}).get("network_factor")),
                         (g.step_factor, wanted.get("rails", {}).get("step_factor"))]:
        same(mine, theirs)
    assert abs(sum(shares.values()) - 1) < 1e-9
    assert [(c.cause, c.part) for c in g.causes] == [(c["cause"], c["part"]) for c in wanted.get("causes", [])]
    for mine, theirs in zip(g.by_scale, wanted["by_scale"]):
        for a, b in dict(gpus="gpus", mttf_seconds="mttf_s", checkpoint_every_seconds="interval_s", goodput="goodput",
                         efficiency="efficiency").items():
            same(getattr(mine, a), theirs.get(b), a)
    assert [f.fleet for f in g.by_fleet] == [f["fleet"] for f in wanted["by_fleet"]]
    for mine, theirs in zip(g.by_fleet, wanted["by_fleet"]):
        same(mine.goodput, theirs["goodput"])
    assert pickle.loads(pickle.dumps(g)) == g == copy.deepcopy(g)


@pytest.mark.parametrize("question, words", [
    (dict(ranks=16384, mean_seconds=0.01, deviation_seconds=0.0003), ["--ranks", 16384, "--mean", "10ms", "--deviation", "0.3ms"]),
    (dict(ranks=1024, p50_seconds=0.1, p99_seconds=0.13, barriers=4, slow=[(0.01, 1.1), (0.001, 2)]),
     ["--ranks", 1024, "--p50", "100ms", "--p99", "130ms", "--barriers", 4, "--slow", "1%:1.1", "0.1%:2"]),
    (dict(ranks=64, mean_seconds=1, deviation_seconds=0.2, shape="exponential", rails=8, rails_lost=2, reroute="neighbour",
          network_share=0.2),
     ["--ranks", 64, "--mean", "1s", "--deviation", "200ms", "--shape", "exponential", "--rails", 8, "--rails-lost", 2,
      "--reroute", "neighbour", "--network-share", "20%"]),
])
def test_stragglers_are_the_commands(question, words):
    s = fc.stragglers(**question)
    wanted = asked("stragglers", *words)
    for mine, theirs in dict(mean_seconds="mean_s", deviation_seconds="deviation_s", step_seconds="step_s", efficiency="efficiency",
                             shape="shape", barriers="barriers").items():
        same(getattr(s, mine), wanted[theirs], mine)
    slow, rails = wanted.get("slow", {}), wanted.get("rails", {})
    for mine, theirs in [(s.somebody_late, slow.get("somebody_late")), (s.slow_factor, slow.get("factor")),
                         (s.slow_step_seconds, slow.get("step_s")),
                         (s.network_factor, rails.get("network_factor")), (s.rails_step_seconds, rails.get("step_s"))]:
        same(mine, theirs)
    assert len(s.by_ranks) == len(wanted["by_ranks"])
    for mine, theirs in zip(s.by_ranks, wanted["by_ranks"]):
        for a, b in dict(ranks="ranks", step_seconds="step_s", efficiency="efficiency", slow_factor="slow_factor").items():
            same(getattr(mine, a), theirs[b], a)
    assert pickle.loads(pickle.dumps(s)) == s


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
