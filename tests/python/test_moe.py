"""Kernels of inference engines: experts' exchange and all-reduces, as the command prices them."""
import copy
import math
import pickle

import numpy as np
import pytest

import fabricost as fc
from by_command import asked, same

V3 = dict(hidden=7168, experts=256, top_k=8)
SETTINGS = [
    ("dgx-h100", fc.MoeDispatch, dict(tokens=4096, **V3), []),
    ("dgx-h100", fc.MoeCombine, dict(tokens=4096, implementation="deepep", ranks=16, sms=24, **V3),
     ["--implementation", "deepep", "--ranks", 16, "--sms", 24]),
    ("dgx-b200", fc.MoeDispatch, dict(tokens=128, implementation="deepep-low-latency", distribution="zipf:1.1", **V3),
     ["--implementation", "deepep-low-latency", "--distribution", "zipf:1.1"]),
    ("gb200-nvl72", fc.MoeDispatch, dict(tokens=512, implementation="trtllm", dtype="nvfp4", nodes=4, **V3),
     ["--implementation", "trtllm", "--dtype", "nvfp4", "--nodes", 4]),
    ("gb200-nvl72", fc.MoePrepare, dict(tokens=512, implementation="trtllm-NVLinkTwoSided", ranks=8, **V3),
     ["--implementation", "trtllm-NVLinkTwoSided", "--ranks", 8]),
    ("dgx-h100", fc.MoeDispatch, dict(tokens=4096, nodes=4, groups=8, group_limit=4, distribution="balanced", **V3),
     ["--nodes", 4, "--groups", 8, "--group-limit", 4, "--distribution", "balanced"]),
    ("dgx-h100", fc.MoeCombine, dict(tokens=1024, implementation="nccl", nodes=2, hidden=4096, experts=16, top_k=2),
     ["--implementation", "nccl", "--nodes", 2]),
]
NAMES = {fc.MoeDispatch: "moe_dispatch", fc.MoeCombine: "moe_combine", fc.MoePrepare: "moe_prepare"}


@pytest.mark.parametrize("system, kind, question, more", SETTINGS)
def test_experts_exchange_is_the_commands(system, kind, question, more):
    operation = kind(**question)
    p = fc.predict_moe(system, operation)
    wanted = asked("predict", NAMES[kind], "--system", system, "--tokens", question["tokens"], "--hidden", question["hidden"], "--experts",
                   question["experts"], "--top-k", question["top_k"], *more)
    same(p.seconds, wanted["time_us"] / 1e6, "time")
    for mine, theirs in dict(bytes="bytes", copies="copies", inside_bytes="inside_bytes", across_bytes="across_bytes",
                             tokens="tokens_per_rank").items():
        same(getattr(p, mine), wanted[theirs], mine)
    same(p.algorithm_bytes_per_second, wanted["algbw_GBps"] * 1e9)
    same(p.bus_bytes_per_second, wanted["busbw_GBps"] * 1e9)
    assert p.assumed == wanted["assumed"]
    assert (p.operation, p.nodes, p.ranks, p.dtype, p.implementation, p.basis, p.extrapolated, p.bottleneck.tier) == tuple(
        wanted[k] for k in ("operation", "nodes", "ranks", "dtype", "algorithm", "basis", "extrapolated", "bottleneck"))
    for mine, theirs in zip(p.interval_seconds, wanted["interval_us"]):
        same(mine, theirs / 1e6, "interval")
    assert [(t.name, t.tier) for t in p.terms] == [(t["name"], t["tier"]) for t in wanted["terms"]]
    assert math.isclose(sum(t.seconds for t in p.terms), p.seconds, rel_tol=1e-9)
    for thing in (operation, p):
        for other in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
            assert other == thing and hash(other) == hash(thing)


def test_a_histogram_of_like_experts_is_uniform_and_a_skewed_one_slower():
    def time(distribution):
        return fc.predict_moe("dgx-h100", fc.MoeDispatch(4096, distribution=distribution, **V3)).seconds
    assert math.isclose(time([7.0] * 256), time("uniform"), rel_tol=0.02)
    assert time(np.arange(1, 257)[::-1]) > 1.05 * time("uniform")
    assert eval(repr(fc.MoeDispatch(64, distribution=[3] * 8, hidden=64, experts=8, top_k=2)), vars(fc)) == fc.MoeDispatch(
        64, distribution=(3.0,) * 8, hidden=64, experts=8, top_k=2)
