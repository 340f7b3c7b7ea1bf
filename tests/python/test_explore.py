"""fabricost.explore: every point equals plan's answer, the front equals brute force's, elasticities are those of finite
differences, a killed run is taken up."""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import fabricost as fc

JOB = {"gpus": 64, "global_batch": 128, "sequence": 4096}
VARY = {"system": ["dgx-h100", "dgx-b200"], "nic_bandwidth": np.array([12.5, 25, 50, 100]) * fc.GB, "domain": [8, 16, 32]}


@pytest.fixture(scope="module")
def found():
    return fc.explore(model="llama3-8b", vary=VARY, objectives=["step", "$/token", "W", "nic.bandwidth"], **JOB)


def test_notes_say_what_a_point_takes(found):
    assert found.notes == ["a point takes the cheapest layout; plan and compare take a plainer one within 1 % of it"]
    assert found.notes[0] in found.to_html()
    assert found.stack_note == ""


def test_a_stack_that_was_not_measured_there_is_named():
    found = fc.explore("gaudi-3", "llama3-8b", gpus=8, global_batch=64, vary={"nic_bandwidth": ["25 GB/s per direction"]})
    assert found.stack_note
    assert found.stack_note in found.to_html()


def test_every_point_is_what_plan_answers_there(found):
    assert len(found) == 2 * 4 * 3
    for row in random.Random(1).sample(range(len(found)), 8):
        here = found.row(row)
        machine = fc.load_system(here["system"]).with_(domain=int(here["domain"]), nic_bandwidth=here["nic.bandwidth"])
        best = fc.plan(machine, "llama3-8b", top=1, **JOB)[0]
        assert best.step_seconds / 1.01 <= here["step_seconds"] <= best.step_seconds * (1 + 1e-9)  # plan takes a plainer layout within 1 %
        if here["step_seconds"] < best.step_seconds * (1 - 1e-9):
            continue
        assert f"tp {best.tp} pp {best.pp} cp {best.cp} dp {best.dp} zero {best.zero}" == here["layout"]


def costs_of(found):
    return np.stack([-found[o.name] if o.more_is_better else found[o.name] for o in found.objectives if o.counts], axis=1)


def test_the_front_is_what_brute_force_finds(found):
    costs = costs_of(found)
    front = set()
    for i, one in enumerate(costs):
        beaten = [j for j, other in enumerate(costs)
                  if np.all(other <= one) and (np.any(other < one) or j < i)]
        if not beaten:
            front.add(i)
    assert set(found.front) == front == set(np.flatnonzero(found["front"]).tolist())
    assert found.knee in front
    assert costs[found.front, 0].tolist() == sorted(costs[found.front, 0])


def test_limits_leave_points_out_and_say_so():
    step = "0.9s"
    limited = fc.explore("dgx-h100", "llama3-8b", vary={"gpus": [32, 64, 128, 256]}, objectives="$/token",
                         limits={"step": step, "gpus": 200}, global_batch=128)
    assert limited["meets"].tolist() == [(s <= 0.9) and g <= 200 for s, g in zip(limited["step_seconds"], limited["gpus"])]
    assert all(limited["meets"][i] for i in limited.front)


def test_elasticities_are_those_of_finite_differences():
    """Against the whole search on machines a thousandth apart, where the best layout is the same."""
    turn, checked = 1e-3, 0
    for system, domain, nic in (("dgx-h100", 8, 50), ("dgx-h100", 16, 12.5), ("dgx-b200", 8, 25), ("gb200-nvl72", 72, 50)):
        whole = fc.load_system(system).with_(domain=domain, nic_bandwidth=nic * fc.GB)
        job = {**JOB, "gpus": 144, "global_batch": 288} if system == "gb200-nvl72" else JOB
        here = fc.explore(whole, "llama3-8b", vary={"sequence": [4096]}, **{k: v for k, v in job.items() if k != "sequence"})
        tier = {"nic.bandwidth": nic * fc.GB, "hbm.bandwidth": None, "arithmetic": 1.0}
        for parameter, now in tier.items():
            if now is None:
                now = whole.tiers["hbm"].bytes_per_second
            key = parameter.replace(".", "_")
            less, more = (fc.plan(whole.with_(**{key: now * by}), "llama3-8b", top=1, **job)[0] for by in (1 - turn, 1 + turn))
            same = ("tp", "pp", "vp", "cp", "dp", "zero", "microbatch", "schedule", "recompute", "placing")
            if any(getattr(less, f) != getattr(more, f) for f in same):
                continue
            expected = np.log(more.step_seconds / less.step_seconds) / np.log((1 + turn) / (1 - turn))
            assert here[f"d step_seconds / d {parameter}"][0] == pytest.approx(expected, abs=1e-3), (system, parameter)
            checked += 1
    assert checked >= 8


def test_elasticities_of_a_step_sum_to_minus_one_where_everything_is_twice_as_fast():
    """A step's time is that of arithmetic, memory, links and NICs, plus latencies, which none of them changes."""
    here = fc.explore("dgx-h100", "llama3-8b", vary={"batch": [512]}, gpus=64)
    total = sum(here[f"d step_seconds / d {parameter}"][0] for parameter in ("arithmetic", "hbm.bandwidth", "scale_up.bandwidth", "nic.bandwidth"))
    assert -1.001 < total < -0.5


def test_what_more_of_a_part_is_worth_is_what_plan_gives_for_it():
    here = fc.explore("dgx-h100", "llama3-8b", vary={"nic_bandwidth": [25e9, 50e9, 100e9]}, objectives="step,nic.bandwidth", **JOB)
    at = here.row(here.front[0] if here.knee is None else here.knee)
    nic = at["nic.bandwidth"]
    now, then = (fc.plan(fc.load_system("dgx-h100").with_(nic_bandwidth=nic * by), "llama3-8b", top=1, **JOB)[0] for by in (1, 1.1))
    worth = {one.parameter: one for one in here.worth}["nic.bandwidth"]
    assert worth.gain == pytest.approx(now.step_seconds / then.step_seconds - 1, abs=1e-9)


def test_a_point_that_cannot_run_says_why_and_the_others_stand():
    here = fc.explore("dgx-h100", "llama3-70b", vary={"gpus": [2, 64]}, global_batch=128)
    assert here["trouble"][0] and not here["trouble"][1]
    assert np.isnan(here["step_seconds"][0]) and not here["meets"][0] and here.front == [1]


def test_a_dial_that_the_file_declares_turns_what_it_sets(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text("""
name: own
extends: dgx-h100
source: a test
confidence: assumed
design:
  size: {unit: GPUs, values: [8, 16], set: {domain: "{}", gpus: "{}", nvlink.endpoints: "{}", nvlink.switches: "{/2}", nic.endpoints: "{}"}}
  wires: {set: {nic.bandwidth: "{*25} GB/s per direction"}}
""")
    here = fc.explore(str(file), "llama3-8b", vary={"size": [8, 16], "wires": [1, 2]}, **JOB)
    assert here["size"].tolist() == [8, 8, 16, 16] and here["wires"].tolist() == [1, 2, 1, 2]
    turned = fc.load_system(str(file), overrides=["design.size=16", "design.wires=2"])
    assert (turned.domain, turned.gpus_per_node, turned.tiers["nic"].endpoints) == (16, 16, 16)
    assert turned.tiers["nic"].bytes_per_second == 50e9
    assert here["step_seconds"][3] == pytest.approx(fc.plan(turned, "llama3-8b", top=1, **JOB)[0].step_seconds)
    with pytest.raises(fc.RequestError, match="one of: 8 16"):
        fc.load_system(str(file), overrides=["design.size=12"])
    broken = tmp_path / "broken.yaml"
    wrong = file.read_text().replace('nic.bandwidth: "{*25} GB/s', 'nik.bandwidth: "25 GB/s').replace("unit: GPUs", "units: GPUs")
    broken.write_text(wrong)
    with pytest.raises(fc.SpecError) as raised:
        fc.load_system(str(broken))
    assert "place for the value" in str(raised.value) and "units" in str(raised.value)


def test_a_machine_is_made_of_a_dict_or_a_text_and_checked_like_a_file():
    given = {"name": "own", "extends": "dgx-h100", "source": "a test", "confidence": "assumed", "nodes": 4,
             "tiers": [{"name": "nic", "bandwidth": "100 GB/s per direction"}]}
    machine = fc.System(given)
    assert (machine.name, machine.nodes, machine.tiers["nic"].bytes_per_second) == ("own", 4, 100e9)
    text = "name: own\nextends: dgx-h100\nsource: a test\nconfidence: assumed\nnodes: 4\n"
    assert fc.System(text).nodes == 4 and fc.System("dgx-h100").name == "dgx-h100"
    assert machine.with_(nic_bandwidth=50e9).tiers["nic"].bytes_per_second == 50e9 and machine.with_(nic_bandwidth=50e9).nodes == 4
    assert fc.predict(machine, fc.AllReduce(bytes=1e9, ranks=32)).seconds < fc.predict(fc.load_system("dgx-h100"),
                                                                                       fc.AllReduce(bytes=1e9, ranks=32)).seconds
    with pytest.raises(fc.SpecError, match="nods"):
        fc.System({**given, "nods": 4})
    with pytest.raises(fc.RequestError, match="dict of texts"):
        fc.System({**given, "nodes": object()})
    with pytest.raises(TypeError):
        fc.System(4)


# --- folders

pyarrow = pytest.importorskip("pyarrow", reason="folders of points are Parquet: pip install 'fabricost[sweep]'")
SPACE = {"nic_bandwidth": "10:40:+3GB/s per direction", "domain": [8, 16, 32], "batch": [64, 128]}


def test_a_folder_has_the_same_points_and_front_as_memory(tmp_path):
    here = fc.explore("dgx-h100", "llama3-8b", vary=SPACE, gpus=64)
    there = fc.explore("dgx-h100", "llama3-8b", vary=SPACE, gpus=64, out=tmp_path / "p", part=17)
    assert len(there) == len(here) == 11 * 3 * 2
    assert there.front == here.front and there.knee == here.knee
    for name, column in here.columns.items():
        if name.startswith("d ") and name.split(" / d ")[1] in ("domain", "batch"):
            continue  # neighbours in other parts
        same = there[name] == column if isinstance(column, list) else np.array_equal(there[name], column, equal_nan=column.dtype == float)
        assert same, name
    again = fc.explore("dgx-h100", "llama3-8b", vary=SPACE, gpus=64, out=tmp_path / "p", part=17)
    assert again.front == here.front
    with pytest.raises(fc.RequestError, match="another"):
        fc.explore("dgx-h100", "llama3-8b", vary=SPACE, gpus=32, out=tmp_path / "p", part=17)


def test_a_killed_process_loses_nothing_and_nothing_is_written_twice(tmp_path):
    script = f"""
import fabricost as fc
fc.explore("dgx-h100", "llama3-8b", vary={SPACE!r}, gpus=64, out={str(tmp_path / "p")!r}, part=6)
print("done")
"""
    seen, kills = {}, 0
    for _ in range(60):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
            if kills < 2:
                before = len(seen)
                while process.poll() is None and len(list((tmp_path / "p").glob("part-*"))) < before + 2:
                    time.sleep(0.005)
                process.send_signal(signal.SIGKILL)
                kills += 1
            done = process.communicate()[0]
        for path in (tmp_path / "p").glob("part-*.parquet"):
            at = path.stat().st_mtime_ns
            assert seen.setdefault(path.name, at) == at, f"{path.name} was written twice"
        if "done" in done:
            break
    assert kills == 2 and len(seen) == 11
    parquet = pytest.importorskip("pyarrow.parquet")
    numbers = [n for path in sorted((tmp_path / "p").glob("part-*.parquet")) for n in parquet.read_table(path)["number"].to_pylist()]
    assert numbers == list(range(11 * 6))


def test_tables_have_one_row_a_point(found):
    pandas = pytest.importorskip("pandas")
    assert isinstance(found.to_pandas(), pandas.DataFrame) and len(found.to_pandas()) == len(found)
    assert found.to_arrow().num_rows == len(found)
    polars = pytest.importorskip("polars")
    assert isinstance(found.to_polars(), polars.DataFrame) and found.to_polars().height == len(found)


def test_the_command_says_the_same():
    tool = os.environ.get("FABRICOST_TOOL")
    if not tool:
        pytest.skip("FABRICOST_TOOL is not set: no command to compare with")
    said = json.loads(subprocess.run([tool, "explore", "--train", "-m", "llama3-8b", "-s", "dgx-h100", "-g", "64", "-b", "128", "--vary",
                                      "nic.bandwidth=25,50GB/s per direction", "--vary", "domain=8,16", "--json"], check=True,
                                     capture_output=True).stdout)
    here = fc.explore("dgx-h100", "llama3-8b", vary={"nic_bandwidth": [25e9, 50e9], "domain": [8, 16]}, gpus=64, global_batch=128)
    assert [p["objectives"]["step_seconds"] for p in said["points"]] == pytest.approx(here["step_seconds"].tolist())
    assert said["front"] == here.front
    assert pathlib.Path(tool).exists()


# --- how likely one is faster

def test_one_of_two_points_is_faster_and_the_same_point_is_neither(found):
    fast, slow = int(np.argmin(found["step_seconds"])), int(np.argmax(found["step_seconds"]))
    assert found.faster(fast, slow) > 0.9 and found.faster(fast, fast) == 0.5
    assert found.faster(fast, slow) + found.faster(slow, fast) == pytest.approx(1)
