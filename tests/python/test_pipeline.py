"""Pipeline schedules: published bubbles, copies, and refusals."""
import copy
import pickle

import pytest

import fabricost as fc

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
