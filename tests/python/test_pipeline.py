"""Pipeline schedules: the command's steps, bubbles and bars, and an oracle of its own on the bars."""
import copy
import pickle

import numpy as np
import pytest

import fabricost as fc

TIMES = dict(forward_seconds=18.5e-3, backward_seconds=18.1e-3, weight_seconds=9.3e-3, exchange_seconds=0.6e-3)
SCHEDULES = ["gpipe", "1f1b", "interleaved", "zb_h1", "zb_h2", "zb_1p", "zb_2p", "zb_v", "v_half", "v_min", "dualpipe", "dualpipe_v"]


@pytest.mark.parametrize("schedule", [s for s in SCHEDULES if s not in ("dualpipe", "dualpipe_v")])
def test_bars_obey_the_rules_of_a_pipeline(schedule):
    run = fc.pipeline(schedule=schedule, stages=4, microbatches=8, **TIMES)
    bars = run.bars
    for stage in range(4):
        mine = np.sort(bars[bars["stage"] == stage], order="start_seconds")
        assert (mine["start_seconds"][1:] >= mine["end_seconds"][:-1] - 1e-12).all(), "a stage does one thing at a time"
        for kind in np.unique(mine["kind"]):
            pieces = mine[mine["kind"] == kind]
            assert len(np.unique(pieces[["chunk", "microbatch"]])) == len(pieces) == 8 * run.chunks, "every microbatch once"
    work = (bars["end_seconds"] - bars["start_seconds"]).sum()
    assert np.isclose(work, 4 * 8 * 45.9e-3), "all stages' work is there"
    assert np.isclose(run.makespan_seconds, bars["end_seconds"].max() - bars["start_seconds"].min())


def test_published_bubbles_and_copies():
    run = fc.pipeline(schedule="1F1B", stages=8, microbatches=24, forward_seconds=1, backward_seconds=1, weight_seconds=1)
    assert run.bubble_seconds == pytest.approx(7 * 3) and run.bubble_over_ideal == pytest.approx(7 / 24)  # arXiv 2104.04473
    for other in (copy.copy(run), copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        assert other == run and hash(other) == hash(run) and (other.bars == run.bars).all()
    assert run != fc.pipeline(schedule="1f1b", stages=8, microbatches=25, forward_seconds=1) and "1f1b" in repr(run)
    pytest.importorskip("pandas")
    assert len(run.to_pandas()) == len(run.bars)


@pytest.mark.parametrize("change, error, says", [
    (dict(schedule=None), TypeError, "schedule"), (dict(schedule="zz"), fc.RequestError, "schedule"),
    (dict(schedule=""), fc.RequestError, "schedule"), (dict(schedule=1), TypeError, "schedule"),
    (dict(stages=None), TypeError, "stages"), (dict(forward_seconds=None), TypeError, "forward_seconds"),
])
def test_nonsense_is_named(change, error, says):
    with pytest.raises(error, match=says):
        fc.pipeline(**{**dict(schedule="1f1b", stages=4, microbatches=8, forward_seconds=1.0), **change})
