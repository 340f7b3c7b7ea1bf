"""One question, one answer: the command's numbers, through Python."""
import json

import pytest

import fabricost as fc



@pytest.mark.parametrize("lost, error, says", [(0, fc.RequestError, "lost"), (8, fc.RequestError, "8 of 8"), (1.5, fc.RequestError, "lost"),
                                               ("1", TypeError, "lost"), (None, TypeError, "lost")])
def test_a_machine_keeps_at_least_one_rail(h100, lost, error, says):
    with pytest.raises(error, match=says):
        h100.without_rails(lost)


def test_explain_is_the_commands(h100, command):
    printed = command("explain", "all_reduce", "--system", "dgx-h100", "--size", "64KiB")
    for line in fc.explain(h100, fc.AllReduce(64 * fc.KiB)).splitlines():
        assert line in printed


def test_weights_that_a_node_cannot_hold_are_on_no_node_whole(command):
    asked = ("transfer", "storage", "--system", "dgx-h100", "--nodes", "16", "--size", "810GB", "--client", "ethernet-100")
    assert "every node reads its part" in command(*asked).splitlines()[0]
    fits = {way.sharing: way.fits for way in fc.transfer_storage("dgx-h100", bytes=810e9, nodes=16, client="ethernet-100")}
    assert fits == {"every_node": False, "by_part": True, "gathered": False}


def test_a_machine_without_a_price_says_so(command):
    said = command("need", "machine", "--train", "-m", "llama3-8b", "-s", "dgx-h100,mi355x-8", "-b", "64", "--tokens", "1T", "-g", "64")
    assert "mi355x-8: its price is not known; give one with --price NAME=USD" in words(said)


@pytest.mark.parametrize("of, guessed, meant", [("tier", "bandwidth", "bytes_per_second"), ("tier", "latency_us", "latency_seconds"),
                                                ("system", "tier", "tiers"), ("system", "memory", "memory_bytes")])
def test_a_guessed_attribute_of_a_machine_is_answered_with_its_name(h100, of, guessed, meant):
    with pytest.raises(AttributeError, match=f"has no {guessed};.*{meant}"):
        getattr(h100 if of == "system" else h100.tiers["nvlink"], guessed)


def words(text):
    return " ".join(text.split())


def test_answers_are_printed_with_the_sentence_of_the_command(h100, command):
    asked = {
        "predict all_reduce -s dgx-h100 --size 1GiB --nodes 4": fc.predict(h100, fc.AllReduce(fc.GiB, nodes=4)),
        "tune -s dgx-b200 --op all_gather": fc.tune("dgx-b200", operation="all_gather"),
        "pipeline --schedule 1f1b -p 4 -m 8 --forward 10ms": fc.pipeline(schedule="1f1b", stages=4, microbatches=8, forward_seconds=0.01),
        "transfer incast -s dgx-h100 --senders 8 --size 1MiB": fc.transfer_incast("dgx-h100", senders=8, bytes=fc.MiB),
        "goodput -g 2048": fc.goodput(gpus=2048),
        "plan train -m llama3-8b -s dgx-h100 -g 16 -b 64 --vary domain=8,16":
            fc.explore("dgx-h100", "llama3-8b", gpus=16, global_batch=64, vary={"domain": [8, 16]}),
    }
    for line, answer in asked.items():
        first = str(answer).splitlines()[0]
        assert words(command(*line.split())).startswith(first), (line, first)


def test_names_are_those_of_the_command(command):
    assert fc.system_names() == [one["name"] for one in json.loads(command("systems", "--json"))["rows"]]


def test_show_is_the_commands(h100, command):
    assert h100.show() == command("show", "dgx-h100")


def test_svg_is_the_commands(h100, command):
    assert h100.svg() == command("show", "dgx-h100", "--svg")
    wanted = command("show", "dgx-h100", "--svg", "--size", "256MiB", "--nodes", "4")
    assert h100.svg(fc.AllReduce(256 * fc.MiB, nodes=4)).count("<rect") == wanted.count("<rect")


def test_tiers_by_place_and_by_name(h100):
    tiers = h100.tiers
    assert [t.name for t in tiers] == ["l2", "hbm", "nvlink", "pcie", "nic"]
    assert (len(tiers), tiers[0].name, tiers[-1].name) == (5, "l2", "nic")
    assert "nvlink" in tiers and "xgmi" not in tiers and 3 not in tiers
    nvlink = tiers["nvlink"]
    assert (nvlink.bytes_per_second, nvlink.kind, nvlink.endpoints) == (450e9, "switch", 8)
    assert nvlink.latency_seconds > 0 and nvlink.source and nvlink.confidence
    for place in (5, -6):
        with pytest.raises(IndexError):
            tiers[place]
    with pytest.raises(KeyError, match="did you mean nvlink"):
        tiers["nvlnk"]
    for key in (1.5, None, [1]):
        with pytest.raises(TypeError):
            tiers[key]


def test_parts_outlive_what_they_came_from():
    tier = fc.load_system("dgx-h100").tiers["nvlink"]
    term = fc.predict(fc.load_system("dgx-h100"), fc.AllReduce(1)).terms[0]
    tiers = iter(fc.load_system("dgx-h100").tiers)
    assert (tier.name, term.name, next(tiers).name) == ("nvlink", "launch", "l2")


def test_an_exchange_of_experts_is_predicted_and_explained(h100):
    op = fc.MoeDispatch(512, hidden=7168, experts=256, top_k=8)
    assert fc.predict(h100, op) == fc.predict_moe("dgx-h100", op)
    assert fc.explain("dgx-h100", op) == fc.explain(h100, fc.predict(h100, op))
