"""Values behave as values: ==, hash, copies, pickles, repr."""
import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import fabricost as fc

from conftest import SOURCE


def values(h100):
    slower = fc.load_system("dgx-h100", ["tiers.nvlink.bandwidth=400 GB/s per direction"])
    p = fc.predict(h100, fc.AllReduce(1e6, ranks=16))
    run = fc.diagnose(SOURCE / "data/measurements/dgx-h100-all-reduce.txt", system=h100, expected="900 GB/s")
    return [run, *run.causes, *run.rules, fc.load_model("dlrm-dcnv2"), fc.models("qwen3-vl-8b"), h100, slower, h100.tiers, h100.tiers["nvlink"], h100.tiers["nic"], fc.AllReduce(), fc.AllReduce(1e6, ranks=16, dtype="fp8"),
            fc.AllGather(1e6, ranks=16, dtype="fp8"), fc.SendRecv(8, path="nic"), p, fc.predict(h100, fc.AllReduce(2e6, ranks=16)),
            *p.terms]


def test_equal_values_are_equal_and_different_ones_are_not(h100):
    first, again = values(h100), values(fc.load_system("dgx-h100"))
    for i, a in enumerate(first):
        for j, b in enumerate(again):
            assert (a == b) == (i == j) and (a != b) == (i != j), (a, b)
            if i == j:
                assert hash(a) == hash(b)
        assert a != 1 and a != "x" and a is not None
    assert len(set(first) | set(again)) == len(first)
    assert fc.AllReduce(1024) == fc.AllReduce(1024.0) and fc.AllReduce(dtype="fp16") == fc.AllReduce(dtype="half")


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_and_copies_are_the_same(h100, protocol):
    for value in values(h100):
        there_and_back = pickle.loads(pickle.dumps(value, protocol))
        assert there_and_back == value and type(there_and_back) is type(value) and repr(there_and_back) == repr(value)
        assert copy.copy(value) == value and copy.deepcopy(value) == value


def test_a_pickled_system_prices_the_same(h100):
    machine = pickle.loads(pickle.dumps(fc.load_system("aws-p5", ["nic.gdr=false"], "none")))
    for operation in (fc.AllReduce(1e8, nodes=4), fc.AllToAll(1e8, nodes=2), fc.AllGather(1e3)):
        assert fc.predict(machine, operation) == fc.predict(fc.load_system("aws-p5", ["nic.gdr=false"], "none"), operation)


@pytest.mark.parametrize("name", ["gpt-oss-120b", "dlrm-dcnv2", "qwen3-vl-8b"])
def test_a_pickled_model_trains_and_serves_the_same(name):
    """Also by what it does not show: the precision of its weights, its tables, the encoder of its images."""
    model = fc.load_model(name)
    again = pickle.loads(pickle.dumps(model))
    assert fc.plan("dgx-b200", again, gpus=64, global_batch=512, top=1) == fc.plan("dgx-b200", model, gpus=64, global_batch=512, top=1)
    if model.kind == "decoder":
        assert fc.plan_serve("dgx-b200", copy.copy(again), gpus=8, tp=8) == fc.plan_serve("dgx-b200", model, gpus=8, tp=8)


def test_operations_and_predictions_with_arrays_are_values_too(h100):
    op = fc.AllReduce(2.0 ** np.arange(10, 20), ranks=np.array([8, 16])[:, None])
    grid = fc.predict(h100, op, algorithm="ring")
    for value in (op, grid):
        for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
            assert again == value and repr(again) == repr(value)
        with pytest.raises(TypeError, match="hash"):
            hash(value)
    again = pickle.loads(pickle.dumps(grid))
    assert (again.seconds == grid.seconds).all() and (again.bottleneck == grid.bottleneck).all()
    assert again[1, 2] == grid[1, 2] and grid[0] != grid[1] and op != fc.AllReduce(op.bytes, ranks=16)


def test_damaged_pickles_are_refused_not_crashed_on(h100):
    whole = h100.__getstate__()
    for broken in (b"", whole[:10], whole[:-1], whole + b"x", whole.replace(b"0.1.0", b"9.9.9", 1),
                   whole[:200] + b"\xff" * 50 + whole[250:]):
        with pytest.raises(ValueError):
            fc.System.__new__(fc.System).__setstate__(broken)


UNINITIALISED = """
import copy, pickle, fabricost as fc
s = fc.load_system("dgx-h100")
classes = sorted(name for name in fc.__all__ if type(getattr(fc, name)).__name__ == "pybind11_type")
assert len(classes) > 50
for name in classes:
    print(name, flush=True)
    one = getattr(fc, name).__new__(getattr(fc, name))
    uses = [lambda n=n: getattr(one, n) for n in dir(one)] + [
        lambda: repr(one), lambda: str(one), lambda: hash(one), lambda: len(one), lambda: list(one), lambda: one[0], lambda: one["x"],
        lambda: "x" in one, lambda: one == one, lambda: one != 1, lambda: copy.copy(one), lambda: copy.deepcopy(one),
        lambda: pickle.dumps(one), lambda: one.to_pandas(), lambda: one.to_dict(), lambda: one._repr_html_(),
        lambda: fc.predict(one, fc.AllReduce(1)), lambda: fc.predict(s, one), lambda: fc.explain(s, one), lambda: s.svg(one),
        lambda: fc.plan(s, one, gpus=8, global_batch=8), lambda: fc.validate(one, system=s), lambda: fc.predict_moe(s, one),
        lambda: fc.diagnose("x", system=one), lambda: fc.share(s, [one]), lambda: fc.tune(one), lambda: fc.cost(s, gpus=8, hours=1, plan=one),
        lambda: fc.compare([one], "llama3-8b", gpus=8, train=True, global_batch=8)]
    for use in uses:
        try:
            use()
        except Exception:
            pass
    try:
        repr(one), one == one, hash(one), len(one)
    except TypeError as error:
        assert "holds nothing" in str(error) or "unhashable" in str(error) or "has no len" in str(error), error
"""


def test_an_object_that_nobody_initialised_is_refused_not_crashed_on():
    """In a process of its own: a fault here ends the process, after the name of the class."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", UNINITIALISED], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.stdout.split()[-1:], done.stderr[-2000:])
    with pytest.raises(TypeError, match="made by __new__ alone and holds nothing"):
        repr(fc.Prediction.__new__(fc.Prediction))


def test_nothing_is_made_or_changed_by_hand(h100):
    for cls in (fc.System, fc.Tier, fc.Tiers, fc.Prediction, fc.Predictions, fc.Term, fc.Operation, fc.Issue, fc.Validation, fc.Fit):
        with pytest.raises(TypeError):
            cls()
    for value in values(h100):
        with pytest.raises(AttributeError):
            value.seconds = 3
    with pytest.raises(ValueError, match="read-only"):
        fc.predict(h100, fc.AllReduce([1, 2])).seconds[0] = 1
