"""Explanations tell a prediction's own numbers, with and without the machine, whatever was asked."""
import copy
import pickle

import pytest

import fabricost as fc


SYSTEM = fc.load_system("dgx-h100")
QUESTIONS = [
    dict(operation=fc.AllReduce(64 * fc.KiB, ranks=8), library="vllm"),
    dict(operation=fc.AllReduce(64 * fc.KiB, ranks=8), library="trtllm", launch="eager"),
    dict(operation=fc.AllReduce(64 * fc.MiB, ranks=8), library="sglang", version="0.5.9"),
    dict(operation=fc.AllGather(fc.MiB, nodes=4)),
    dict(operation=fc.SendRecv(fc.MiB, path="gpu-host")),
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_prediction_tells_itself(question):
    operation, rest = question["operation"], {k: v for k, v in question.items() if k != "operation"}
    p = fc.predict(SYSTEM, operation, **rest)
    assert f"= {p.seconds * 1e6:.3f} us" in p.explain()
    assert fc.explain("dgx-h100", p) == fc.explain(SYSTEM, p) == fc.explain(SYSTEM, operation, **rest) == p.explain(SYSTEM)
    for again in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert again == p and hash(again) == hash(p) and again.explain(SYSTEM) == p.explain(SYSTEM)
