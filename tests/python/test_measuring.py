"""fc.measure and fc.measure_plan on the made-up machine of tests/unit/measure/fake_probe.cpp: the command's answer, and its files."""

import json
import os
import pathlib
import subprocess

import pytest

import fabricost as fc

TOOL = os.environ.get("FABRICOST_TOOL", "")
PROBES = pathlib.Path(TOOL).parent / "tests/unit/measure/fake"
pytestmark = pytest.mark.skipif(not (TOOL and PROBES.is_dir()), reason="the command and its made-up machine are not built here")


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    monkeypatch.setenv("FABRICOST_PROBES", str(PROBES))
    monkeypatch.setenv("FABRICOST_FAKE", "gpus=2")


def test_points_are_those_of_the_command(tmp_path):
    found = fc.measure(quick=True, only=["launch", "memory"], sizes=[2**16, 2**20])
    asked = ["--quick", "--quiet", "--json", "--only", "launch", "memory", "--sizes", "64KiB,1MiB", "-o", tmp_path / "m.csv"]
    out = subprocess.run([TOOL, "measure", *asked], capture_output=True, text=True, check=True).stdout
    rows = json.loads(out)["rows"]
    assert found.complete and found.system == json.loads(out)["system"] == "dgx-h200"
    assert [(p.operation, p.bytes) for p in found.points] == [(row["operation"], row["bytes"]) for row in rows]
    assert all(p.seconds > 0 and p.notes["gpu"] in "01" for p in found.points if p.operation == "memory_read")


def test_what_is_saved_is_what_the_other_functions_read(tmp_path):
    points = tmp_path / "points.csv"
    found = fc.measure(quick=True, only=["collectives", "memory"])
    found.save(points)
    assert sorted(os.listdir(tmp_path)) == ["points.csv", "points.machine.yaml"]
    assert 'points: "points.csv"' in (tmp_path / "points.machine.yaml").read_text(encoding="utf-8")
    assert len(fc.validate(points)) == sum(p.dtype is not None for p in found.points) > 0
    assert fc.calibrate_machine(points).stock == "dgx-h200"
    with pytest.raises(fc.RequestError, match="path .*cannot be written there"):
        found.save(tmp_path / "no" / "such.csv")


def test_a_plan_measures_nothing():
    plan = fc.measure_plan(gpus=[0], sizes=[4096, 65536])
    assert plan.system and plan.steps[0].what and set(plan.steps[0].sizes) <= {0, 4096, 65536}
    assert any("one GPU" in one.reason for one in plan.not_measured)


def test_refusals_name_arguments():
    for wrong, says in [({"gpus": [7]}, "gpus 7: there are GPUs 0 to 1"),
                        ({"only": ["memmory"]}, "only memmory: .*memory"), ({"budget_seconds": 0.5}, "budget_seconds"),
                        ({"sizes": [0]}, "sizes"), ({"system": "dgx-h10"}, "dgx-h100")]:
        with pytest.raises((fc.RequestError, ValueError), match=says):
            fc.measure(**wrong)
