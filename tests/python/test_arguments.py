"""Mistakes of callers: one exception with the argument's name, never a crash.

The property test asks 5,000 random questions; FABRICOST_RANDOM_CALLS asks more (100000 in ./quickstart check)."""
import decimal
import inspect
import itertools
import math
import os
import re

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import fabricost as fc

CALLS = int(os.environ.get("FABRICOST_RANDOM_CALLS", "5000"))
STRANGE = [None, "x", b"x", 1j, object(), [], {}, (1,), lambda: 1, 10**400, -(10**400), True, "\ud800", float("nan"), np.datetime64(1, "s"),
           fc.AllReduce(1), fc.AllReduce]


def test_every_fault_of_a_file_says_where(tmp_path):
    path = tmp_path / "broken.yaml"
    path.write_text("schema: 1\nname: broken\nnodes: minus one\ntiers: 7\n")
    for given in (path, str(path)):
        with pytest.raises(fc.SpecError) as caught:
            fc.load_system(given)
        error = caught.value
        assert str(error) == "\n".join(map(str, error.issues)) and f"{path}:3:8: nodes: " in str(error)
        assert all(issue.file == str(path) and issue.message and isinstance(issue.remedy, str) for issue in error.issues)
        assert [(i.line, i.column) for i in error.issues if i.path == "nodes"] == [(3, 8)]
        assert (error.file, error.line, error.column) == (error.issues[0].file, error.issues[0].line, error.issues[0].column)


@pytest.mark.parametrize("says, ask", [
    ("did you mean dgx-h100", lambda s: fc.load_system("dgx-h10")),
    ("did you mean", lambda s: fc.predict(s, fc.AllReduce(1), algorithm="rign")),
    ("not a protocol", lambda s: fc.predict(s, fc.AllReduce(1), protocol="ll256")),
    ("not a choice", lambda s: fc.predict(s, fc.AllReduce(1), choice="slowest")),
    ("not a data type", lambda s: fc.AllReduce(1, dtype="string")),
    ("not a path", lambda s: fc.SendRecv(1, path="usb")),
    ("ranks", lambda s: fc.predict(s, fc.AllReduce(1, ranks=13))),
    ("ranks: -1", lambda s: fc.AllReduce(1, ranks=-1)),
    ("ranks: 1.5 is not a whole", lambda s: fc.AllReduce(1, ranks=1.5)),
    ("nodes: .* too many", lambda s: fc.AllReduce(1, nodes=2**63)),
    ("bytes: -1", lambda s: fc.AllReduce(-1)),
    ("bytes: nan", lambda s: fc.AllReduce(math.nan)),
    ("bytes: inf", lambda s: fc.AllReduce(math.inf)),
    ("bytes: 9.22", lambda s: fc.AllReduce(2**63)),
    ("bytes: too large", lambda s: fc.AllReduce(10**400)),
    ("how much", lambda s: fc.predict(s, fc.AllReduce())),
    ("how much", lambda s: fc.explain(s, fc.AllReduce())),
])
def test_impossible_questions_are_request_errors(h100, says, ask):
    with pytest.raises(fc.RequestError, match=says):
        ask(h100)


@pytest.mark.parametrize("says, ask", [
    ("load_system() has no nodes; it takes name_or_path, overrides, calibration", lambda s: fc.load_system("dgx-h100", nodes=2)),
    ("load_system() has no overides; did you mean overrides?", lambda s: fc.load_system("dgx-h100", overides=[])),
    ("load_system() needs name_or_path", lambda s: fc.load_system()),
    ("load_system() takes 3 arguments, not 4", lambda s: fc.load_system("a", (), "", "d")),
    ("load_system() was given name_or_path twice", lambda s: fc.load_system("dgx-h100", name_or_path="dgx-a100")),
    ("system_names() takes no arguments", lambda s: fc.system_names(5)),
    ("save() needs path", lambda s: s.save()),
    ("svg() takes 1 argument, not 2", lambda s: s.svg(None, 2)),
    ("with_() takes no argument without its name", lambda s: s.with_(3)),
    ("without_rails() has no more; it takes lost", lambda s: s.without_rails(lost=1, more=2)),
    ("[] takes place: int or name: str, not float", lambda s: s.tiers[1.5]),
    ("System() needs given", lambda s: fc.System()),
    ("System() takes 1 argument, not 2", lambda s: fc.System("dgx-h100", 2)),
    ("plan() has no seq_len; did you mean sequence?", lambda s: fc.plan(seq_len=4096)),
    ("plan() has no dtype; did you mean precision?", lambda s: fc.plan(dtype="fp8")),
    ("plan_serve() has no ttft; did you mean ttft_seconds? Names end with their unit", lambda s: fc.plan_serve(ttft=1)),
    ("plan() has no gpu; did you mean gpus or system?", lambda s: fc.plan(gpu=16)),
    ("gpus: a number is wanted, not list; ask once for each, or see explore", lambda s: fc.plan("dgx-h100", gpus=[16, 32])),
    ("plan_serve() has no backend; did you mean stack?", lambda s: fc.plan_serve(backend="vllm")),
    ("predict() has no size; it is of the operation, as in AllReduce(bytes=2**28, ranks=16)", lambda s: fc.predict(s, "all_reduce", size=1)),
    ("AllReduce() has no gpus; did you mean ranks?", lambda s: fc.AllReduce(1, gpus=8)),
    ("[] takes the place of a row, [0], or of several, [:3], not str; figures are attributes of a row",
     lambda s: fc.plan("dgx-h100", "llama3-8b", gpus=8, global_batch=8, top=1)["step"]),
    ("sweep() needs axes and out", lambda s: fc.sweep()),
    ("sweep() has no folder; it takes axes, out, of, client, workers, part, progress, overwrite", lambda s: fc.sweep({}, folder=".")),
    ("of: a function is wanted, not int", lambda s: fc.sweep({"bytes": [1]}, "somewhere", of=3)),
    ("explore() needs vary", lambda s: fc.explore()),
    ("report() needs system", lambda s: fc.report()),
    ("Tier is not made by hand; functions of fabricost answer with it", lambda s: fc.Tier()),
    ("Money is not made by hand; functions of fabricost answer with it", lambda s: fc.Money(dollars=1)),
])
def test_functions_refuse_calls_in_words_of_their_arguments(h100, says, ask):
    with pytest.raises(TypeError) as caught:
        ask(h100)
    assert str(caught.value) == says


def test_every_function_refuses_an_unknown_argument_without_words_of_the_compiler(h100):
    public = [getattr(fc, name) for name in fc.__all__]
    methods = [getattr(h100, name) for name in dir(h100) if not name.startswith("_")]
    for function in [f for f in public + methods if callable(f) and not isinstance(f, type)]:
        with pytest.raises((TypeError, fc.Error)) as caught:
            function(no_such_argument=1)
        assert "incompatible" not in str(caught.value) and "Invoked with" not in str(caught.value)


ONE_ORDER = {
    "need": (lambda h100: fc.need("nic.bandwidth", "dgx-h100", "llama3-8b", gpus=64, global_batch=256, within="5%"), "dgx-h100 is a machine, given as model"),
    "need_serve": (lambda h100: fc.need_serve("nodes", h100, "llama3-70b", tokens_per_second=1.0), "dgx-h100 is a machine, given as model"),
    "plan": (lambda h100: fc.plan("llama3-8b", "dgx-h100", gpus=8, global_batch=8), "takes system, model in this order"),
    "predict": (lambda h100: fc.predict(fc.AllReduce(1), h100), "takes system, operation in this order"),
    "calibrate": (lambda h100: fc.calibrate("run.log", h100), "takes system, samples in this order"),
    "validate": (lambda h100: fc.validate("run.log", h100), "write system="),
    "diagnose": (lambda h100: fc.diagnose("run.log", "dgx-h100"), "write system="),
    "export": (lambda h100: fc.export("xla", "dgx-h100", output="table"), "takes 1 argument without a name"),
}


@pytest.mark.parametrize("function", ONE_ORDER)
def test_a_machine_out_of_its_place_is_named(h100, function):
    call, words = ONE_ORDER[function]
    with pytest.raises(TypeError, match=f"{function}\\(\\) .*{re.escape(words)}"):
        call(h100)


def test_the_machine_is_first_or_given_by_name():
    for name in fc.__all__:
        function = getattr(fc, name)
        if not callable(function) or isinstance(function, type):
            continue
        parameters = list(inspect.signature(function).parameters.values())
        for place, one in enumerate(parameters):
            if one.name in ("system", "systems"):
                assert place == 0 or one.kind is inspect.Parameter.KEYWORD_ONLY, name


def test_shares_and_distances_may_be_written_as_the_command_has_them():
    asked = dict(gpus=16, global_batch=16)
    given = [fc.plan("dgx-h100", "llama3-8b", **asked, batch_within=share)[0].step_seconds for share in (0.05, "5%")]
    assert given[0] == given[1]
    with pytest.raises(fc.RequestError, match="goodput"):
        fc.plan_serve("dgx-h100", "llama3-8b", gpus=8, request_rate=1, goodput="150%")


def test_what_is_looked_for_is_not_asked_for():
    for of in (fc.need, fc.need_serve):
        assert inspect.signature(of).parameters["gpus"].default is not inspect.Parameter.empty
    assert fc.need("dgx-h100", "llama3-8b", "gpus", global_batch=64, step_seconds=20, over="8,16,32").satisfied


def test_errors_are_value_errors():
    assert issubclass(fc.RequestError, fc.Error) and issubclass(fc.SpecError, fc.Error) and issubclass(fc.Error, ValueError)


PLACES = {
    "system": lambda s, x: fc.predict(x, fc.AllReduce(1)), "operation": lambda s, x: fc.predict(s, x),
    "bytes": lambda s, x: fc.AllReduce(x), "ranks": lambda s, x: fc.AllReduce(1, ranks=x), "nodes": lambda s, x: fc.AllReduce(1, nodes=x),
    "dtype": lambda s, x: fc.AllReduce(1, dtype=x), "algorithm": lambda s, x: fc.predict(s, fc.AllReduce(1), algorithm=x),
    "protocol": lambda s, x: fc.predict(s, fc.AllReduce(1), protocol=x),
    "choice": lambda s, x: fc.explain(s, fc.AllReduce(1), choice=x), "name_or_path": lambda s, x: fc.load_system(x),
    "overrides": lambda s, x: fc.load_system("dgx-h100", x), "calibration": lambda s, x: fc.load_system("dgx-h100", calibration=x),
    "path": lambda s, x: fc.SendRecv(1, path=x), "log": lambda s, x: fc.diagnose(x), "expected": lambda s, x: fc.diagnose("x", expected=x),
    "samples": lambda s, x: fc.validate(x, system=s), "fitted": lambda s, x: fc.calibrate(s, x), "tuned": lambda s, x: fc.tune(x),
    "topology": lambda s, x: fc.topo(x), "tuned nodes": lambda s, x: fc.tune(s, nodes=x, operation="reduce"),
    "saved": lambda s, x: s.save(x), "read": lambda s, x: fc.read_log(x), "picture": lambda s, x: s.svg(x),
}
FINE = {("bytes", "None"), ("bytes", "[]"), ("bytes", "(1,)"), ("ranks", "[]"), ("ranks", "(1,)"), ("nodes", "[]"), ("nodes", "(1,)"),
        ("algorithm", "None"), ("protocol", "None"),
        ("overrides", "[]"), ("overrides", "{}"), ("samples", "[]"), ("tuned nodes", "[]"), ("tuned nodes", "{}"), ("tuned nodes", "(1,)"),
        ("tuned nodes", "True"), ("picture", "None")}


@pytest.mark.parametrize("place", PLACES)
def test_wrong_types_are_refused_not_crashed_on(h100, place):
    for value in STRANGE:
        allowed = (place, repr(value)) in FINE or (place in ("operation", "picture") and isinstance(value, fc.Operation))
        if allowed or place == "saved":
            continue
        with pytest.raises((TypeError, ValueError)):
            PLACES[place](h100, value)


def test_numbers_of_other_libraries_are_numbers(h100):
    wanted = fc.AllReduce(1024, ranks=8)
    for number in (np.int8, np.uint16, np.int64, np.float32, np.float64):
        assert fc.AllReduce(number(64), ranks=number(8)) == fc.AllReduce(64, ranks=8)
    assert fc.AllReduce(1024.0, ranks=8.0) == wanted
    with pytest.raises(TypeError, match="bytes"):
        fc.AllReduce(decimal.Decimal(1))


SYSTEMS = {name: fc.load_system(name) for name in ("dgx-h100", "gb200-nvl72", "l40s-pcie", "tpu-v5p-cube", "aws-p5", "mi300x-8")}
NUMBERS = st.one_of(st.integers(), st.floats(), st.integers(0, 2**40), st.floats(0, 1e12),
                    st.sampled_from([8, 16, 64, 72, 1024, 2**63, 2**64, -1, 0]))
ARRAYS = st.one_of(st.lists(NUMBERS, max_size=4), st.lists(st.lists(st.integers(1, 64), min_size=2, max_size=2), max_size=3),
                   st.lists(st.integers(1, 2**20), max_size=5).map(lambda x: np.array(x, dtype=np.int32)),
                   st.lists(st.floats(0, 1e9, width=32), max_size=5).map(lambda x: np.array(x, dtype=np.float32)[::-1]))
ANYTHING = st.one_of(st.none(), st.text(max_size=4), st.binary(max_size=4), st.booleans(), st.complex_numbers(), NUMBERS, ARRAYS)
FIELD = st.one_of(NUMBERS, ARRAYS, ANYTHING)
NAME = st.one_of(st.sampled_from(["ring", "tree", "nvls", "ll", "ll128", "simple", "nccl", "fastest", "half", "fp8", "float", "nic"]),
                 st.none(), ANYTHING)
OPERATIONS = [fc.AllReduce, fc.AllGather, fc.ReduceScatter, fc.Broadcast, fc.Reduce, fc.AllToAll]


AT_ONCE = 50  # an example is all combinations of 5 sizes, 5 rank counts and 2 node counts: drawing costs more than calling


@hypothesis.settings(max_examples=max(1, CALLS // AT_ONCE), deadline=None, database=None, derandomize=True,
                     suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(st.sampled_from(sorted(SYSTEMS)), st.sampled_from(OPERATIONS), st.tuples(*[FIELD] * 5),
                  st.tuples(st.just(0), *[FIELD] * 4),
                  st.tuples(st.just(0), FIELD), st.one_of(st.just("half"), NAME), st.one_of(st.none(), NAME),
                  st.one_of(st.just("nccl"), NAME))
def test_random_calls_answer_or_name_the_fault(system, operation, bytes, ranks, nodes, dtype, algorithm, choice):
    for b, r, n in itertools.product(bytes, ranks, nodes):
        answers_or_names_the_fault(SYSTEMS[system], operation, b, r, n, dtype, algorithm, choice)


def answers_or_names_the_fault(system, operation, bytes, ranks, nodes, dtype, algorithm, choice):
    try:
        answer = fc.predict(system, operation(bytes, ranks=ranks, nodes=nodes, dtype=dtype), algorithm=algorithm, choice=choice)
    except (TypeError, ValueError) as error:
        assert str(error)
        return
    if isinstance(answer, fc.Prediction):
        assert 0 < answer.low_seconds <= answer.seconds <= answer.high_seconds < math.inf
        assert math.isclose(sum(t.seconds for t in answer.terms), answer.seconds, rel_tol=1e-9)
    else:
        assert np.isfinite(answer.seconds).all() and (answer.seconds > 0).all()
        assert answer.shape == np.broadcast_shapes(np.shape(bytes), np.shape(ranks), np.shape(nodes))


def test_the_names_of_an_enumeration_are_those_the_library_knows():
    system = fc.load_system("dgx-h100")
    for option, enumeration in [("algorithm", fc.Algorithm), ("protocol", fc.Protocol)]:
        with pytest.raises(ValueError, match="one of: ") as refused:
            fc.predict(system, fc.AllReduce(bytes=1e6), **{option: "nonsense"})
        assert str(refused.value).split("one of: ")[1].split(", ") == [str(name) for name in enumeration]


@pytest.mark.parametrize("name, meant", [("machines", "systems"), ("plan_training", "plan"), ("serve", "plan_serve"), ("all_reduce", "AllReduce")])
def test_a_guessed_function_is_answered_with_the_name(name, meant):
    with pytest.raises(AttributeError, match=f"did you mean {meant}\\?"):
        getattr(fc, name)


def test_a_guessed_attribute_is_answered_with_the_name(h100):
    for name, meant in (("low", "did you mean low_seconds?"), ("busbw", "did you mean bus_bytes_per_second?")):
        with pytest.raises(AttributeError, match=re.escape(meant)):
            getattr(fc.predict(h100, fc.AllReduce(1 << 20)), name)
    with pytest.raises(AttributeError, match=re.escape("a row has it: [0].tp")):
        fc.plan("dgx-h100", "llama3-8b", gpus=8, global_batch=8, top=1).tp  # noqa: B018
