"""Machines side by side: the command's figures, and none of them stops the others."""
import pickle

import pytest

import fabricost as fc
from by_command import asked, same, same_terms


@pytest.mark.parametrize("serve, question, words", [
    (False, dict(systems=["dgx-b200", "gb200-nvl72"], model="moe-1.8t", gpus=1152, global_batch=2304),
     ["-m", "moe-1.8t", "-g", 1152, "-b", 2304]),
    (False, dict(systems=["dgx-h100", "dgx-a100", "dgx-b200"], model="llama3-70b", gpus=64, global_batch=128, sequence=8192,
                 precision="fp8", max_tp=4),
     ["-m", "llama3-70b", "-g", 64, "-b", 128, "-l", 8192, "--precision", "fp8", "--max-tp", 4]),
    (True, dict(systems=["dgx-h100", "gb200-nvl72"], model="llama3-405b", gpus=8, tpot_seconds=0.03, ttft_seconds=1.0),
     ["-m", "llama3-405b", "-g", 8, "--tpot", "30ms", "--ttft", "1s"]),
    (True, dict(systems=["dgx-h100", "dgx-b200"], model="llama3-70b", gpus=8, isl=1024, osl=128, stack="trtllm"),
     ["-m", "llama3-70b", "-g", 8, "--isl", 1024, "--osl", 128, "--stack", "trtllm"]),
])
def test_machines_compare_as_in_the_command(serve, question, words):
    comparison = fc.compare(train=not serve, serve=serve, **question)
    wanted = asked("compare", *question["systems"], "--serve" if serve else "--train", *words)
    assert len(comparison) == len(wanted["systems"]) and comparison.job == wanted["for"]
    for row, theirs in zip(comparison, wanted["systems"]):
        assert row.system == theirs["system"]
        assert bool(row.trouble) == ("trouble" in theirs)
        if row.trouble:
            continue
        same(row.seconds, theirs["tpot_s" if serve else "step_s"])
        for mine, other in zip(row.interval_seconds, theirs["interval_s"]):
            same(mine, other)
        same(row.tokens_per_second_per_gpu, theirs["tokens_per_s_per_gpu"])
        same(row.dollars_per_million_tokens, theirs["dollars_per_million_tokens"])
        same(row.joules_per_million_tokens, theirs["joules_per_million_tokens"])
        if row.watts is not None:
            same(row.watts, theirs["megawatts"] * 1e6)
        same_terms(row.terms, theirs["terms"])
        assert row.share == pytest.approx(max(t.seconds for t in row.terms) / row.seconds)
        assert pickle.loads(pickle.dumps(row)) == row
    best = max((r for r in comparison if not r.trouble), key=lambda r: r.tokens_per_second_per_gpu)
    assert comparison.verdict.startswith(best.system) and best.system == wanted["verdict"]["best"]
    if wanted["verdict"]["next"]:
        assert ("is sure" in comparison.verdict) == wanted["verdict"]["sure"] and wanted["verdict"]["next"] in comparison.verdict
    pytest.importorskip("pandas")
    assert list(comparison.to_pandas()["system"]) == [r.system for r in comparison]
