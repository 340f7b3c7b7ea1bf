"""Every argument of every workload function given an impossible value: an exception that names it, or an answer; never a crash."""
import inspect

import numpy as np
import pytest

import fabricost as fc

H100, LLAMA = fc.load_system("dgx-h100"), fc.load_model("llama3-8b")  # once: names are tried as values
EXPERTS = dict(tokens=64, hidden=1024, experts=16, top_k=2)
CALLS = {
    fc.load_model: dict(name_or_path="llama3-8b"),
    fc.load_stack: dict(name_or_path="nemo"),
    fc.plan: dict(system=H100, model=LLAMA, gpus=8, global_batch=16, tp=1, pp=1),
    fc.plan_serve: dict(system=H100, model=LLAMA, gpus=1),
    fc.plan_rl: dict(system=H100, model=LLAMA, gpus=8, prompts=8, osl=64, max_osl=128),
    fc.MoeDispatch: EXPERTS,
    fc.MoeCombine: EXPERTS,
    fc.predict_moe: dict(system=H100, operation=fc.MoeDispatch(**EXPERTS)),
    fc.predict_inference: dict(system=H100, operation=fc.AllReduce(1024)),
    fc.pipeline: dict(schedule="1f1b", stages=2, microbatches=4, forward_seconds=1),
    fc.cost: dict(system=H100, gpus=8),
    fc.goodput: dict(gpus=1024),
    fc.stragglers: dict(ranks=8, mean_seconds=1, deviation_seconds=0.1),
    fc.Grouped: dict(operation=fc.AllReduce(1024)),
    fc.share: dict(system=H100, collectives=[fc.AllReduce(1024)]),
    fc.transfer_storage: dict(system=H100, bytes=1e9, client="ethernet-100"),
    fc.transfer_access: dict(system=H100),
    fc.transfer_incast: dict(system=H100, senders=2, bytes=1024),
    fc.compare: dict(systems=[H100], model=LLAMA, gpus=8, train=True, global_batch=16),
    fc.project: dict(systems=[H100], model=LLAMA, gpus=8, global_batch=16, tokens=1e9, tp=1, pp=1),
}
STRANGE = [None, "", "x", "\ud800", "a\0b", b"x", 1j, object(), [], {}, (1,), [None], {"a": 1}, [object()], {1: "x"}, lambda: 1, int, -1, 0,
           -0.5, 2**31, 2**63,
           10**400, -(10**400), float("nan"), float("inf"), -float("inf"), True, np.float64("nan"), np.array([1.5, 2]), np.array(["a"]),
           np.zeros((2, 0)),
           np.datetime64(1, "s"), fc.AllReduce(1), fc.AllReduce([1, 2]), fc.AllReduce, fc.load_stack(), range(3), iter([1])]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_what_an_argument_cannot_be_is_refused_by_name(call):
    call(**CALLS[call])
    names = list(inspect.signature(call).parameters)
    assert set(CALLS[call]) <= set(names)
    refused = 0
    for name in names:
        for value in STRANGE:
            try:
                call(**{**CALLS[call], name: value})
            except TypeError as error:
                refused += 1
                assert name in str(error), (name, value, str(error))
            except ValueError as error:
                refused += 1
                assert str(error), (name, value)
    assert refused > 5 * len(names)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_arguments_are_numbers_of_numpy_too_and_unknown_names_are_refused(call):
    given = {k: np.int64(v) if type(v) is int else np.float64(v) if type(v) is float else v for k, v in CALLS[call].items()}
    call(**given)
    with pytest.raises(TypeError):
        call(**CALLS[call], no_such_argument=1)
