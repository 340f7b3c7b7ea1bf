"""Traces as measurements (validate, calibrate), and diagnose's verdicts on them: of jobs whose truth is known."""
import csv
import json
import os
import pathlib
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]
from command import Command, run_tests  # noqa: E402
from emit import Job  # noqa: E402

TOOL = sys.argv[1]
MIB = 1 << 20


def job(folder, late=None, slow=(), only=None):
    """Eight all-reduces of each of three sizes over eight H100s; a late rank waits in none of them, the others do. `slow`: calls whose last
    rank came late take as much longer, so that only calls that nobody waited in tell the truth."""
    made = Job(8, {"0": ("default_pg", list(range(8)))})
    for step in range(8):
        for elements, us in ((4 * MIB, 75.0), (32 * MIB, 310.0), (128 * MIB, 1050.0)):
            made.compute(500, late if step in slow or late and not slow else None)
            made.collective("0", "allreduce", elements, us * (1.5 if step in slow else 1))
    made.write(folder, only=only)


def test_the_calls_that_waited_least_are_measurements(folder):
    job(folder, late={3: 900}, slow=(1, 3, 5, 6))
    out = folder / "points.csv"
    Command(TOOL, "validate").works(folder, "--system", "dgx-h100", "-o", out)
    with open(out, newline="") as file:
        points = list(csv.DictReader(file))
    measured = {float(row["bytes"]) / MIB: float(row["time_us"]) for row in points}
    assert set(measured) == {8.0, 64.0, 256.0}, measured
    for size, truth in ((8.0, 75), (64.0, 310), (256.0, 1050)):
        assert abs(measured[size] / truth - 1) < 0.03, (size, measured[size], truth)


def test_calls_of_which_ranks_are_missing_are_no_measurements(folder):
    job(folder, only=range(7))
    Command(TOOL, "validate").refused(folder, "--system", "dgx-h100", saying=["their times contain waiting"])


def test_calibrate_reads_traces_and_wants_their_machine(folder):
    job(folder)
    Command(TOOL, "calibrate").refused("--from", folder, saying=["does not say which machine"])
    assert "3 points" in Command(TOOL, "calibrate").works("--from", folder, "--system", "dgx-h100")


def test_diagnose_names_the_late_rank(folder):
    job(folder, late={5: 1500})
    files = sorted(pathlib.Path(folder).glob("*.json"))
    answer = json.loads(Command(TOOL, "diagnose").works(*files, "--json"))
    assert answer["state"] == "slow" and answer["causes"][0]["cause"] == "stragglers", answer
    assert answer["causes"][0]["evidence"].startswith("Rank 5 comes last") and 0 < answer["causes"][0]["confidence"] < 1
    assert len(answer["sizes"]) == 3


def test_diagnose_finds_nothing_in_a_sound_job(folder):
    job(folder)
    files = sorted(pathlib.Path(folder).glob("*.json"))
    answer = json.loads(Command(TOOL, "diagnose").works(*files, "--json"))
    assert answer["state"] == "as_predicted" and answer["healthy"] and not answer["causes"], answer
    assert "(calibrated)" in Command(TOOL, "diagnose").works(*files)


if __name__ == "__main__":
    run_tests(globals())
