"""Explanations tell a prediction's own numbers, with and without the machine, whatever was asked."""
import copy
import pickle
import re

import pytest

import fabricost as fc


def terms_told(text):
    table = text.split("which sum to the time\n")[1].split("\n\n")[0]
    return [(name, float(us)) for name, us in re.findall(r"(?m)^  (\S.*?)  .*?(-?[\d.]+) +-?[\d.]+ %$", table)]


def check(text, prediction):
    told = terms_told(text)
    assert [name for name, _ in told] == [t.name for t in prediction.terms] + ["total"]
    for (_, us), seconds in zip(told, [t.seconds for t in prediction.terms] + [prediction.seconds]):
        assert us == pytest.approx(seconds * 1e6, abs=6e-4)


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
    p = fc.predict_inference(SYSTEM, operation, **rest) if rest else fc.predict(SYSTEM, operation)
    for text in (p.explain(), p.explain(SYSTEM), fc.explain(SYSTEM, p), fc.explain("dgx-h100", p)):
        check(text, p)
    assert fc.explain(SYSTEM, p) == fc.explain(SYSTEM, operation, **rest) == p.explain(SYSTEM)
    for again in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert again == p and hash(again) == hash(p) and again.explain(SYSTEM) == p.explain(SYSTEM)


def test_nothing_is_predicted_again():
    p = fc.predict(SYSTEM, fc.AllReduce(64 * fc.KiB, ranks=8))
    slower = fc.load_system("dgx-h100", ["tiers.nvlink.bandwidth=100 GB/s per direction"])
    assert fc.predict(slower, p.operation) != p
    check(p.explain(slower), p)


def test_elements_of_an_array_tell_themselves():
    grid = fc.predict(SYSTEM, fc.AllReduce([fc.KiB, fc.MiB, fc.GiB], ranks=8))
    for p in grid:
        check(p.explain(), p)
        assert p == fc.predict(SYSTEM, p.operation)


@pytest.mark.parametrize("kernel", ["deepep-normal", "deepep-low-latency", "nccl"])
def test_exchanges_of_experts_tell_themselves(kernel):
    question = fc.MoeDispatch(512, hidden=7168, experts=256, top_k=8, implementation=kernel)
    p = fc.predict_moe(SYSTEM, question)
    check(fc.explain(SYSTEM, p), p)
    assert fc.explain(SYSTEM, p) == fc.explain(SYSTEM, question) == p.explain("dgx-h100")
    assert pickle.loads(pickle.dumps(p)).explain(SYSTEM) == p.explain(SYSTEM)


def test_norms_and_transfers_tell_themselves():
    norm = fc.fused_norm(SYSTEM, fc.AllReduce(64 * fc.KiB))
    assert f"{norm.apart_seconds * 1e6:.3f}" in norm.explain() and f"{norm.fused_seconds * 1e6:.3f}" in norm.explain()
    for way in fc.transfer_storage(SYSTEM, bytes=810e9, nodes=4, client="ethernet-100"):
        assert f"= {way.direct_seconds:.9g} s" in way.explain() and f"= {way.through_host_seconds:.9g} s" in way.explain()
    assert "RDMA" in fc.transfer_access(SYSTEM).explain()
    met = fc.transfer_incast(SYSTEM, senders=8, bytes=fc.MiB)
    assert f"{met.seconds * 1e6:.3f} us" in met.explain()
