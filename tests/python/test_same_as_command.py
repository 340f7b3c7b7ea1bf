"""The package's answers are the command's: every number and word of `fabricost ... --json` stands in the answer as a dict, in SI units."""
import math
import re

import numpy as np
import pytest

import fabricost as fc
from by_command import asked

TRAIN = dict(system="dgx-h100", model="llama3-8b", gpus=64, global_batch=128)
TRAINED = ["plan", "--train", "-s", "dgx-h100", "-m", "llama3-8b", "-g", 64, "-b", 128]
EXCHANGE = dict(tokens=512, hidden=7168, experts=256, top_k=8)
EXCHANGED = ["--system", "dgx-h100", "--tokens", 512, "--hidden", 7168, "--experts", 256, "--top-k", 8]
WAIT = ["stragglers", "--ranks", 1024, "--mean", "10ms", "--deviation", "0.3ms"]
QUESTIONS = {
    "all_reduce": (lambda: fc.predict("dgx-h100", fc.AllReduce(256 * fc.MiB, ranks=64)),
                   ["predict", "all_reduce", "--system", "dgx-h100", "--ranks", 64, "--size", "256MiB"]),
    "forced": (lambda: fc.predict("dgx-h100", fc.AllReduce(fc.MiB, nodes=2, dtype="fp8"), algorithm="ring", protocol="ll128"),
               ["predict", "all_reduce", "--system", "dgx-h100", "--nodes", 2, "--dtype", "fp8", "--size", "1MiB", "--algorithm", "ring",
                "--protocol", "ll128"]),
    "fastest": (lambda: fc.predict("dgx-h100", fc.AllToAll(fc.MiB), choice="fastest"),
                ["predict", "all_to_all", "--system", "dgx-h100", "--size", "1MiB", "--choice", "fastest"]),
    "nic": (lambda: fc.predict("mi300x-8", fc.SendRecv(fc.GiB, path="nic")),
            ["predict", "send_recv", "--system", "mi300x-8", "--size", "1GiB", "--path", "nic"]),
    "path": (lambda: fc.predict("dgx-h100", fc.SendRecv(fc.MiB, path="gpu-host")),
             ["predict", "send_recv", "--system", "dgx-h100", "--size", "1MiB", "--path", "gpu-host"]),
    "machine": (lambda: fc.predict(fc.load_system("dgx-h100", ["tiers.nvlink.bandwidth=400 GB/s per direction"], "none"), fc.AllReduce(fc.GiB)),
                ["predict", "all_reduce", "--system", "dgx-h100", "--size", "1GiB", "--set", "tiers.nvlink.bandwidth=400 GB/s per direction",
                 "--calibration", "none"]),
    "lost_rails": (lambda: fc.predict(fc.load_system("dgx-h100").without_rails(3), fc.AllReduce(fc.GiB, nodes=4)),
                   ["predict", "all_reduce", "--system", "dgx-h100", "--nodes", 4, "--size", "1GiB", "--lost-rails", 3]),
    "moe": (lambda: fc.predict_moe("dgx-h100", fc.MoeDispatch(**EXCHANGE)), ["predict", "moe_dispatch", *EXCHANGED]),
    "moe_skewed": (lambda: fc.predict_moe("dgx-h100", fc.MoeCombine(**EXCHANGE, nodes=4, distribution="zipf:0.8", sms=24)),
                   ["predict", "moe_combine", *EXCHANGED, "--nodes", 4, "--distribution", "zipf:0.8", "--sms", 24]),
    "plan": (lambda: fc.plan(**TRAIN), TRAINED),
    "plan_given": (lambda: fc.plan(**TRAIN, tp=8, pp=4, zero=1, microbatch=1, recompute="selective", schedule="1f1b", sequence_parallel=True),
                   [*TRAINED, "--tp", 8, "--pp", 4, "--zero", 1, "--microbatch", 1, "--recompute", "selective", "--schedule", "1f1b",
                    "--sequence-parallel", "yes"]),
    "plan_experts": (lambda: fc.plan(**TRAIN | dict(model="mixtral-8x7b"), routing="zipf:1.1", capacity=1.5, headroom=0.1, stack_scale=1.2, top=3),
                     ["plan", "--train", "-s", "dgx-h100", "-m", "mixtral-8x7b", "-g", 64, "-b", 128, "--routing", "zipf:1.1", "--capacity", 1.5,
                      "--headroom", 0.1, "--stack-scale", 1.2, "--top", 3]),
    "serve": (lambda: fc.plan_serve("dgx-h100", "llama3-405b", gpus=8, ttft_seconds=1.0, tpot_seconds=0.03),
              ["plan", "--serve", "-s", "dgx-h100", "-m", "llama3-405b", "-g", 8, "--ttft", "1s", "--tpot", "30ms"]),
    "serve_given": (lambda: fc.plan_serve("dgx-b200", "llama3-70b", gpus=8, isl=1024, osl=256, precision="fp4", stack="trtllm", concurrency=64,
                                          tp=2), ["plan", "--serve", "-s", "dgx-b200", "-m", "llama3-70b", "-g", 8, "--isl", 1024, "--osl", 256,
                                                  "--precision", "fp4", "--stack", "trtllm", "--concurrency", 64, "--tp", 2]),
    "serve_apart": (lambda: fc.plan_serve("gb200-nvl72", "deepseek-v3", gpus=72, disaggregated=True, routing="uniform", launch="graph"),
                    ["plan", "--serve", "-s", "gb200-nvl72", "-m", "deepseek-v3", "-g", 72, "--disaggregated", "--routing", "uniform", "--graph"]),
    "cost": (lambda: fc.cost("dgx-h100", gpus=1024, model="llama3-70b", mfu=0.4, tokens=1e12),
             ["cost", "--system", "dgx-h100", "--gpus", 1024, "--model", "llama3-70b", "--mfu", "40%", "--tokens", "1T"]),
    "cost_given": (lambda: fc.cost("dgx-b200", gpus=64, tokens_per_second_per_gpu=1000, dollars_per_gpu_hour=2.5, dollars_per_server=400000,
                                   dollars_per_kwh=0.1, pue=1.1, lifetime_years=4, share=0.05, upgrade_dollars=1e6),
                   ["cost", "--system", "dgx-b200", "--gpus", 64, "--tokens-per-s-per-gpu", 1000, "--price-gpu-hour", 2.5, "--price-server",
                    400000, "--price-kwh", 0.1, "--pue", 1.1, "--years", 4, "--share", "5%", "--upgrade", 1000000]),
    "goodput": (lambda: fc.goodput(gpus=1152, system="gb200-nvl72", model="llama3-405b", storage_bytes_per_second=2e12, spares=2, jitter=0.02,
                                   repair_seconds=43200, replaced=0.5),
                ["goodput", "--gpus", 1152, "--system", "gb200-nvl72", "--model", "llama3-405b", "--storage", "2TB/s", "--spares", 2, "--jitter",
                 0.02, "--repair", "12h", "--replaced", 0.5]),
    "goodput_flaps": (lambda: fc.goodput(gpus=1024, flaps_per_link_year=3, flap_stall_seconds=5, links=4096, lost_rails=2, rails=4,
                                         network_share=0.5, checkpoint_every_seconds=1200, background=True, drain_seconds=120, fleet="rsc-1"),
                      ["goodput", "--gpus", 1024, "--flaps-per-link-year", 3, "--flap-stall", "5s", "--links", 4096, "--lost-rails", 2, "--rails",
                       4, "--network-share", 0.5, "--interval", "20min", "--async", "--drain", "120s", "--fleet", "rsc-1"]),
    "stragglers": (lambda: fc.stragglers(ranks=1024, mean_seconds=0.01, deviation_seconds=0.0003, barriers=4, slow=[(0.01, 1.1)], rails=8,
                                         rails_lost=2, reroute="neighbour", network_share=0.2),
                   [*WAIT, "--barriers", 4, "--slow", "1%:1.1", "--rails", 8, "--rails-lost", 2, "--reroute", "neighbour", "--network-share",
                    "20%"]),
    "share": (lambda: fc.share("dgx-h100", [fc.Grouped(fc.AllReduce(fc.GiB), over="dp", algorithm="ring"),
                                            fc.Grouped(fc.AllToAll(64 * fc.MiB), over=8, weight=2)], nodes=4, layout={"tp": 8, "dp": None},
                               pxn=False), ["share", "--system", "dgx-h100", "--nodes", 4, "--layout", "tp=8,dp", "--no-pxn", "--of",
                                            "all_reduce 1GiB over dp by ring", "--of", "all_to_all 64MiB over 8 weight 2"]),
    "project": (lambda: fc.project(["dgx-h100", "dgx-b200"], "llama3-8b", gpus=64, global_batch=128, tokens=1e12, interest=0.08, use=0.5,
                                   network="fat_tree", price_kind="owned", spares=1),
                ["project", "-s", "dgx-h100,dgx-b200", "-m", "llama3-8b", "-g", 64, "-b", 128, "--tokens", "1T", "--interest", "8%", "--use",
                 "50%", "--network", "fat_tree", "--price-kind", "owned", "--spares", 1]),
    "compare": (lambda: fc.compare(["dgx-h100", "dgx-b200"], "llama3-8b", train=True, gpus=64, global_batch=128),
                ["compare", "dgx-h100", "dgx-b200", "--train", "-m", "llama3-8b", "-g", 64, "-b", 128]),
    "rl": (lambda: fc.plan_rl("dgx-h100", "llama3-8b", gpus=16, prompts=64, osl=1000, max_osl=4000),
           ["plan", "--rl", "-s", "dgx-h100", "-m", "llama3-8b", "-g", 16, "--prompts", 64, "--osl", 1000, "--max-osl", 4000]),
    "pipeline": (lambda: fc.pipeline(schedule="zb_h1", stages=4, microbatches=8, forward_seconds=18.5e-3, backward_seconds=18e-3,
                                     weight_seconds=9.3e-3, exchange_seconds=1e-3),
                 ["pipeline", "--schedule", "zb_h1", "--stages", 4, "--microbatches", 8, "--forward", "18.5ms", "--backward", "18ms",
                  "--weight", "9.3ms", "--exchange", "1ms"]),
    "storage": (lambda: fc.transfer_storage("dgx-h100", bytes_per_gpu=fc.GiB, nodes=2, read_bytes_per_second=50e9, store_bytes_per_second=60e9,
                                            latency_seconds=500e-6),
                ["transfer", "storage", "--system", "dgx-h100", "--per-gpu", "1GiB", "--nodes", 2, "--read-rate", "50 GB/s", "--store-rate",
                 "60 GB/s", "--latency", "500 us"]),
    "model": (lambda: fc.models("deepseek-v3"), ["models", "deepseek-v3"]),
}
UNITS = {"us": 1e-6, "ms": 1e-3, "GiB": 2**30, "GBps": 1e9, "kW": 1e3, "MW": 1e6, "megawatts": 1e6, "MWh": 3.6e9, "tflops": 1e12}
# of the question, of how its table is made, or worked out of other fields; each bar of a picture
COMMANDS_OWN = {"operation", "dtype", "bytes", "kernels", "gpus", "rails", "payback_days", "binds", "faster", "head_dim", "expert_layers", "stage", "kind",
                "chunk", "microbatch", "start_s", "end_s", "seconds", "stall_s", "peak_activations", "waits_s"}


def leaves(value, name=""):
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, str(key))
    elif isinstance(value, (list, tuple, np.ndarray)):
        for one in value:
            yield from leaves(one, name)
    else:
        yield name, value


def unit_of(name):
    return 86400 if re.match(r"[a-z_]*\bdays(_interval)?$|[a-z]+_[a-z]+_days$", name) else next((UNITS[part] for part in name.split("_") if part in UNITS), 1.0)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_value_is_the_commands(question):
    ask, words = QUESTIONS[question]
    answer = ask()
    mine = [value for _, value in leaves([one.to_dict() for one in answer] if isinstance(answer, list) else answer.to_dict())]
    numbers = np.sort(np.array([value for value in mine if isinstance(value, (int, float)) and not isinstance(value, bool)], dtype=float))
    texts = [value for value in mine if isinstance(value, str)]
    missing = []
    for name, value in leaves(asked(*words)):
        if name in COMMANDS_OWN or isinstance(value, bool) or (name == "protocol" and "moe" in question):
            continue
        if isinstance(value, str) and value not in texts:
            missing.append((name, value))
        if not isinstance(value, (int, float)):
            continue
        wanted = value * unit_of(name)
        at = np.searchsorted(numbers, wanted)
        if not any(math.isclose(numbers[i], wanted, rel_tol=1e-9, abs_tol=1e-15) for i in (at - 1, at) if 0 <= i < len(numbers)):
            missing.append((name, value))
    assert not missing, missing
