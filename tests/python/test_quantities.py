"""One border for quantities: in every question a number is in SI units, a text says its unit, and the rate of a link its direction; what an
answer gives can be given back."""
import itertools

import numpy as np
import pytest

import fabricost as fc

JOB = {"gpus": 64, "global_batch": 128}
MODEL = "llama3-8b"
SYSTEM = fc.load_system("dgx-h100")
LINKS, MEMORIES = ("nic_bandwidth", "scale_up_bandwidth"), ("hbm_bandwidth", "hbm_size")
SI = {"nic_bandwidth": 80e9, "scale_up_bandwidth": 300e9, "hbm_bandwidth": 4e12, "hbm_size": 120e9}
WRITTEN = {"nic_bandwidth": "80 GB/s per direction", "scale_up_bandwidth": "600 GB/s both directions", "hbm_bandwidth": "4 TB/s",
           "hbm_size": "120 GB"}
TARGETS = {"nic_bandwidth": lambda s: s.tiers["nic"].bytes_per_second, "scale_up_bandwidth": lambda s: s.tiers["nvlink"].bytes_per_second,
           "hbm_bandwidth": lambda s: s.tiers["hbm"].bytes_per_second, "hbm_size": lambda s: s.memory_bytes}

# every way in which a part of a machine can be named with a value: a text goes in, the machine or the step comes out
FACES = {
    "with_": lambda name, text: SYSTEM.with_(**{name: text}),
    "overrides": lambda name, text: fc.load_system("dgx-h100", overrides=[f"design.{name}={text}"]),
    "overrides with a dot": lambda name, text: fc.load_system("dgx-h100", overrides=[f"design.{dotted(name)}={text}"]),
    "explore": lambda name, text: fc.explore("dgx-h100", MODEL, vary={name: text}, **JOB),
    "explore_serve": lambda name, text: fc.explore_serve("dgx-h100", MODEL, gpus=8, vary={name: text}),
    "limits": lambda name, text: fc.explore("dgx-h100", MODEL, vary={name: [SI[name]]}, limits={name: text}, objectives="step", **JOB),
    "need": lambda name, text: fc.need("dgx-h100", MODEL, name, over=text, step_seconds=100, **JOB),
    "need_serve": lambda name, text: fc.need_serve("dgx-h100", MODEL, name, over=text, gpus=8, tokens_per_second=1.0),
}


def dotted(name):
    return {"nic_bandwidth": "nic.bandwidth", "scale_up_bandwidth": "scale_up.bandwidth", "hbm_bandwidth": "hbm.bandwidth",
            "hbm_size": "hbm.size"}[name]


@pytest.mark.parametrize("face, name", list(itertools.product(FACES, LINKS)))
def test_the_rate_of_a_link_says_its_direction_everywhere(face, name):
    for undirected in ("900 GB/s", "800Gbit/s"):
        with pytest.raises(fc.Error, match="does not say which direction"):
            FACES[face](name, undirected)


@pytest.mark.parametrize("face", FACES)
def test_a_memory_has_no_direction_anywhere(face):
    with pytest.raises(fc.Error, match="direction"):
        FACES[face]("hbm_bandwidth", "4 TB/s per direction")


@pytest.mark.parametrize("name", SI)
def test_a_number_is_the_text_with_its_unit(name):
    one, other = SYSTEM.with_(**{name: SI[name]}), SYSTEM.with_(**{name: WRITTEN[name]})
    assert TARGETS[name](one) == pytest.approx(TARGETS[name](other)) and TARGETS[name](one) == pytest.approx(SI[name], rel=0.1)
    if name != "hbm_size":
        assert TARGETS[name](one) == pytest.approx(SI[name])
    found = [fc.explore("dgx-h100", MODEL, vary={name: given}, objectives="step", **JOB) for given in ([SI[name]], WRITTEN[name])]
    for each in found:
        assert each[name] == pytest.approx([SI[name]]) and each[dotted(name)] is each[name]
    assert found[0]["step"] == pytest.approx(found[1]["step"])
    assert found[0]["step_seconds"][0] == pytest.approx(fc.plan(one, MODEL, top=1, **JOB)[0].step_seconds)


@pytest.mark.parametrize("name", SI)
def test_what_explore_answers_can_be_given_back(name):
    first = fc.explore("dgx-h100", MODEL, vary={name: [SI[name], 1.5 * SI[name]]}, objectives="step", **JOB)
    again = fc.explore("dgx-h100", MODEL, vary={name: first[name]}, objectives="step", **JOB)
    assert np.array_equal(first[name], again[name]) and np.array_equal(first["step"], again["step"])
    for value, step in zip(first[name], first["step"]):
        assert fc.plan(SYSTEM.with_(**{name: value}), MODEL, top=1, **JOB)[0].step_seconds == pytest.approx(step)
    unit = "byte" if name == "hbm_size" else "byte/s"
    assert first.units[dotted(name)] == unit == first.axes[0].unit and first.units["step_seconds"] == "s"
    assert first.to_pandas().attrs["units"][dotted(name)] == unit
    assert first.to_arrow().schema.field(dotted(name)).metadata == {b"unit": unit.encode()}
