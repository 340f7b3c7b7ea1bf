"""fabricost goodput, stragglers and cost as people and scripts see them: exit status, streams, the JSON's fields.

    test_reliability_cli.py FABRICOST
"""
import json
import math
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, written

TOOL = os.path.abspath(sys.argv[1])
GOODPUT, STRAGGLERS, COST = Command(TOOL, "goodput"), Command(TOOL, "stragglers"), Command(TOOL, "cost")


def near(value, wanted, share):
    assert abs(value - wanted) <= share * abs(wanted), (value, wanted)


# failures: Llama 3's 54 days
answer = json.loads(GOODPUT.works("--gpus", 16384, "--checkpoint", "30s", "--restart", "10min", "--json"))
near(answer["failures"]["mttf_s"] / 3600, 3.09, 0.002)
near(answer["failures"]["per_1000_node_days"], 3.79, 0.001)
near(sum(cause["per_day"] for cause in answer["causes"]), 419 / 54, 1e-9)
near(answer["checkpoint"]["young_s"], (2 * 30 * answer["failures"]["mttf_s"]) ** 0.5, 1e-9)
near(sum(answer["shares"].values()), 1, 1e-9)
assert answer["goodput"] == answer["shares"]["kept"] and 0.87 < answer["goodput"] < 0.9
assert [row["gpus"] for row in answer["by_scale"]] == sorted(row["gpus"] for row in answer["by_scale"])
kept = [row["goodput"] for row in answer["by_scale"]]
assert kept == sorted(kept, reverse=True)
background = json.loads(GOODPUT.works("--gpus", 16384, "--async", "--json"))
assert background["goodput"] > 0.9, "Llama 3 had more than 90 %"
rsc = json.loads(GOODPUT.works("--gpus", 16384, "--fleet", "rsc-1", "--json"))
near(rsc["failures"]["mttf_s"] / 3600, 1.8, 0.01)
same = json.loads(GOODPUT.works("--gpus", 16384, "--failures-per-node-day", 0.0065, "--json"))
near(same["failures"]["mttf_s"], rsc["failures"]["mttf_s"], 1e-9)
near(json.loads(GOODPUT.works("--gpus", 8, "--mttf-node", "6000h", "--json"))["failures"]["mttf_s"], 6000 * 3600, 1e-12)
stored = json.loads(GOODPUT.works("--gpus", 16384, "--model", "llama3-405b", "--storage", "2TB/s", "--json"))
near(stored["checkpoint"]["stall_s"], 14 * 405.9e9 / 2e12, 0.01)
waiting = json.loads(GOODPUT.works("--gpus", 16384, "--async", "--spares", 0, "--json"))
assert waiting["shares"]["waiting"] > 0.5 and waiting["spares"]["to_wait_a_thousandth"] > 8
jittery = json.loads(GOODPUT.works("--gpus", 1024, "--jitter", "2%", "--json"))["by_scale"][0]
near(jittery["waiting_efficiency"], 1 / (1 + 0.02 * 3.24824), 1e-5)
near(jittery["efficiency"], jittery["waiting_efficiency"] * jittery["goodput"], 1e-12)
text = GOODPUT.works("--gpus", 16384, "--system", "dgx-h100", "--async", "--spares", 8)
for piece in ["work that counts", "Young", "waiting for a node", "3.92 USD", "rsc-2", "131072"]:
    assert piece in text, (piece, text)
# links that drop out: 16,384 of them, 2 a year each, 10 s: share of a year is links x rate x stall / year
plain = json.loads(GOODPUT.works("--gpus", 16384, "--checkpoint", "30s", "--json"))
flaps = json.loads(GOODPUT.works("--gpus", 16384, "--checkpoint", "30s", "--flaps-per-link-year", 2, "--flap-stall", "10s", "--json"))
stalled = 1 - math.exp(-16384 * 2 * 10 / (8766 * 3600))
near(flaps["shares"]["flaps"], stalled, 1e-9)
near(flaps["goodput"], plain["goodput"] * (1 - stalled), 1e-9)
near(sum(flaps["shares"].values()), 1, 1e-9)
near(flaps["flaps"]["per_day"], 16384 * 2 * 24 / 8766, 1e-9)
near(flaps["by_scale"][0]["goodput"], plain["by_scale"][0]["goodput"] * math.exp(-1024 * 2 * 10 / (8766 * 3600)), 1e-9)
fatal = json.loads(GOODPUT.works("--gpus", 16384, "--checkpoint", "30s", "--flaps-per-link-year", 2, "--flap-stall", "10s",
                                 "--flap-fatal", "5%", "--json"))
near(1 / fatal["failures"]["mttf_s"], 1 / plain["failures"]["mttf_s"] + 16384 * 2 * 0.05 / (8766 * 3600), 1e-9)
near(sum(cause["per_day"] for cause in fatal["causes"]), 419 / 54, 1e-9)
assert fatal["goodput"] < flaps["goodput"]
near(json.loads(GOODPUT.works("--gpus", 8, "--system", "dgx-h100", "--flaps-per-link-year", 1, "--flap-stall", "5s",
                              "--json"))["flaps"]["links"], 8, 0)
near(json.loads(GOODPUT.works("--gpus", 8, "--links", 50, "--flaps-per-link-year", 1, "--flap-stall", "5s", "--json"))["flaps"]["links"],
     50, 0)
assert "standing still for links" in GOODPUT.works("--gpus", 16384, "--flaps-per-link-year", 2, "--flap-stall", "10s")
# one rail of eight: a fifth of the step takes 8/7 as long
rail = json.loads(GOODPUT.works("--gpus", 16384, "--checkpoint", "30s", "--system", "dgx-h100", "--lost-rails", 1, "--network-share", "20%",
                                "--json"))
near(rail["goodput"], plain["goodput"] / (0.8 + 0.2 * 8 / 7), 1e-9)
near(sum(rail["shares"].values()), 1, 1e-9)
assert "fewer NICs" in GOODPUT.works("--gpus", 64, "--rails", 8, "--lost-rails", 2, "--network-share", "30%")
GOODPUT.refused("--gpus", 8, "--flaps-per-link-year", "-1", "--flap-stall", "1s", saying=["--flaps-per-link-year"])
GOODPUT.refused("--gpus", 8, "--lost-rails", 1, "--network-share", "10%", saying=["--rails"])
GOODPUT.refused("--gpus", 8, "--mttf-node", "0h", saying=["above 0"])
GOODPUT.refused("--gpus", 8, "--storage", "fast", "--model", "llama3-8b", saying=["--storage"])
GOODPUT.refused("--gpus", 8, "--checkpoint", "0s", saying=["no interval is best"])

# stragglers
answer = json.loads(STRAGGLERS.works("--mean", "100ms", "--deviation", "2ms", "--ranks", 1000, "--slow", "1%:1.1", "--json"))
near(answer["step_s"], 0.1 + 0.002 * 3.24144, 1e-6)
near(answer["slow"]["somebody_late"], 0.99996, 1e-5)
answer = json.loads(STRAGGLERS.works("--p50", "100us", "--p99", "150us", "--ranks", 64, "--rails", 8, "--network-share", "20%", "--json"))
near(answer["rails"]["network_factor"], 8 / 7, 1e-12)
assert answer["shape"] == "lognormal" and 140e-6 < answer["step_s"] < 200e-6
with tempfile.TemporaryDirectory() as folder:
    rows = ["iteration,rank,time_ms"] + [f"{i},{r},{100 + (i * 7 + r * 3) % 5 + (30 if r == 6 else 0)}" for i in range(40)
                                         for r in range(8)]
    measured = written(folder, "times.csv", "\n".join(rows) + "\n")
    answer = json.loads(STRAGGLERS.works(measured, "--ranks", 8, "--json"))
    assert [slow["rank"] for slow in answer["measured"]["slow_ranks"]] == ["6"], answer["measured"]
    assert answer["measured"]["slowest_s"] >= 0.130
    assert "slow all the time" in STRAGGLERS.works(measured, "--ranks", 8)
    STRAGGLERS.refused(written(folder, "bad.csv", "time_ms\n10\nslow\n"), "--ranks", 8, saying=["bad.csv:3:1", '"slow"'])

# cost
answer = json.loads(COST.works("--system", "dgx-h100", "--gpus", 16384, "--price-gpu-hour", 3, "--json"))
near(answer["share"]["usd_per_day"], 11796.48, 1e-9)
near(answer["hour"]["rented_usd"], 49152, 1e-9)
five = json.loads(COST.works("--system", "dgx-h100", "--gpus", 16384, "--price-gpu-hour", 3, "--share", "5%", "--upgrade", "10M", "--json"))
near(five["share"]["usd_per_30_days"], 1769472, 1e-9)
near(five["share"]["payback_days"] / 30, 5.65, 0.001)
run = json.loads(COST.works("--system", "dgx-h100", "--gpus", 1024, "--tokens", "1T", "--step-time", "4s", "--global-batch", 512,
                            "--sequence", 4096, "--goodput", 0.9, "--json"))
near(run["run"]["seconds"], 1e12 / (512 * 4096 / 4 * 0.9), 1e-9)
near(run["run"]["rented_usd"], run["run"]["gpu_hours"] * 3.92, 1e-9)
near(run["per_million_tokens"]["rented_usd"] * 1e6, run["run"]["rented_usd"], 1e-9)
server = json.loads(COST.works("--system", "dgx-h100", "--gpus", 8, "--price-server", 5 * 8766 * 10, "--json"))["hour"]
near(server["servers_usd"], 10, 1e-9)
near(server["rented_usd"], 8 * 3.92, 1e-9)
near(server["owned_usd"], server["servers_usd"] + server["electricity_usd"] + server["site_usd"], 1e-9)
unknown = json.loads(COST.works("--system", "mi355x-8", "--gpus", 8, "--json"))
assert unknown["hour"]["owned_usd"] is None and unknown["prices"]["server_per_gpu_usd"] is None
tpu = json.loads(COST.works("--system", "tpu-v5p-cube", "--gpus", 64, "--price-gpu-hour", 4, "--json"))
assert tpu["power"]["rated_kW"] is None and tpu["hour"]["rented_usd"] == 256 and tpu["hour"]["owned_usd"] is None
assert json.loads(COST.works("--system", "tpu-v5p-cube", "--gpus", 64, "--json"))["share"]["usd_per_day"] is None
assert "unknown" in COST.works("--system", "tpu-v5p-cube", "--gpus", 64)
near(json.loads(COST.works("--system", "tpu-v5p-cube", "--gpus", 64, "--set", "power=20 kW", "--json"))["power"]["rated_kW"], 20, 1e-12)
with tempfile.TemporaryDirectory() as folder:
    plan = written(folder, "plan.json",
                   json.dumps({"system": "dgx-h100", "model": "m", "gpus": 64, "layouts": [{"tokens_per_s_per_gpu": 1000.0}]}))
    from_plan = json.loads(COST.works("--plan", plan, "--tokens", "1B", "--json"))
    near(from_plan["tokens_per_s"], 64000, 1e-12)
    near(from_plan["run"]["seconds"], 1e9 / 64000, 1e-12)
    COST.refused("--plan", plan, "--gpus", 8, saying=["the plan is for 64"])
    mine = written(folder, "mine.yaml", "extends: default\nname: mine\nelectricity: 8 ct/kWh\n")
    COST.refused("--system", "dgx-h100", "--gpus", 8, "--prices", mine, saying=["mine.yaml:3:14", "USD/kWh"])
COST.refused("--system", "dgx-h100", "--gpus", 8, "--model", "no-such-model", saying=["no-such-model"])
print("fabricost goodput, stragglers, cost: as promised")
