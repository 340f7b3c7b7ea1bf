"""fc.calibrate_machine: the command's answer about a machine that was measured."""
import json

import pytest

import fabricost as fc

READ, TO = 4.464e12, 27.0e9  # of a made-up H200 at x8, bytes per second
MACHINE = """measured: {date: "2026-01-31T12:00:00Z", system: "dgx-h200"}
host: {name: "node17"}
gpus:
  - name: "NVIDIA H200"
    l2_bytes: 62914560
    pcie: {generation: 5, lanes: 8, generation_most: 5, lanes_most: 16}
"""


@pytest.fixture
def points(tmp_path):
    rows = ("source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes,"
            "path,both_ways,streamed\n")
    for shift in range(28, 33):
        rows += f"m,dgx-h200,1,1,memory_read,,{2**shift},{(2e-6 + 2**shift / READ) * 1e6},,cuda,,,,gpu 0,,,\n"
    for shift in range(12, 31, 2):
        rows += (f"m,dgx-h200,1,1,send_recv,int8,{2**shift},{(2e-6 + 2**shift / TO) * 1e6},,copy engine,,,,"
                 "probe host_to_device,gpu-host,0,\n")
    (tmp_path / "measured.csv").write_text(rows)
    (tmp_path / "measured.machine.yaml").write_text(MACHINE)
    return tmp_path / "measured.csv"


def test_it_is_the_commands_answer(points, command, tmp_path):
    theirs = json.loads(command("calibrate", "--from", points, "-o", tmp_path / "theirs.yaml", "--json"))
    machine = fc.calibrate_machine(points)
    findings = [{key: value for key, value in f.items() if key in theirs["findings"][0]} for f in machine.findings]
    assert findings == theirs["findings"] and machine.facts == theirs["facts"]
    assert machine.stock == theirs["stock"] == "dgx-h200" and machine.title == theirs["title"]
    assert machine.not_calibrated == theirs["not_calibrated"]
    assert [f["what"] for f in machine.figures] == [t["what"] for t in theirs["tiers"]]
    machine.save(tmp_path / "ours.yaml")
    assert (tmp_path / "ours.yaml").read_text() == (tmp_path / "theirs.yaml").read_text() == machine.to_yaml()


def test_its_system_predicts_with_what_was_measured(points):
    machine = fc.calibrate_machine(points)
    copy = fc.predict(machine.system, fc.SendRecv(256 * fc.MiB, path="gpu-host"))
    assert copy.basis == "calibrated"
    assert copy.seconds == pytest.approx(2**28 / TO, rel=0.01)
    read = machine.to_pandas().set_index("what").loc["read"]
    assert read.measured == pytest.approx(READ, rel=0.01) and read.datasheet == 4800e9
