"""fabricost validate writes what it reads again: transfers over their path, and each point with its prediction.

    test_validate_cli.py FABRICOST SOURCE_DIR
"""
import csv
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, run_tests

TOOL, SOURCE = sys.argv[1], sys.argv[2]
COMMAND = Command(TOOL, "validate")
works, refused = COMMAND.works, COMMAND.refused
LOG = os.path.join(SOURCE, "data", "measurements", "dgx-h100-all-reduce.txt")


P2P = """Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 2494.51 364.13
     1 375.18 2533.95
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 2494.51 700.00
     1 704.00 2533.95
"""


def test_transfers(folder):
    """Benchmarks of transfers: predicted over their path, written and read again, and what nobody should fit is said."""
    log, out = os.path.join(folder, "p2p.txt"), os.path.join(folder, "p2p.csv")
    with open(log, "w") as file:
        file.write(P2P)
    report = json.loads(works(log, "--system", "dgx-h100", "--json", "--raw", "--out", out))
    assert report["points"] == 4 and report["skipped"] == [{"reason": "a copy inside one GPU (diagonal)", "rows": 4}], report
    assert report["untrustworthy"] == [], report
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["path"] for row in rows] == ["gpu-gpu"] * 4 and [row["both_ways"] for row in rows] == ["0", "0", "1", "1"], rows
    again = json.loads(works(out, "--json", "--raw"))
    assert again["points"] == 4 and abs(again["median_ape"] - report["median_ape"]) < 1e-9, again
    # on a machine with slower links these rates cannot be
    slower = json.loads(works(log, "--system", "dgx-a100", "--json", "--raw"))
    assert slower["points"] == 4 and slower["untrustworthy"][0]["rows"] == 4, slower
    assert "untrustworthy" in works(log, "--system", "dgx-a100")
    refused(log, saying=[log + ":3:1", "--system"])


def test_out_file(folder):
    path = os.path.join(folder, "per_point.csv")
    works(LOG, "--system", "dgx-h100", "--out", path, "--json")
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 32
    for row in rows:
        measured, predicted = float(row["time_us"]), float(row["predicted_us"])
        assert abs(100 * (predicted / measured - 1) - float(row["error_percent"])) < 1e-9
        assert float(row["low_us"]) < predicted < float(row["high_us"])
    before = os.path.getmtime(path)
    assert json.loads(works(path, "--json"))["points"] == 32  # what it wrote it reads again
    assert os.path.getmtime(path) == before
    refused(LOG, "--system", "dgx-h100", "--out", folder, saying=["--out"])
    refused(LOG, "--system", "dgx-h100", "--out", "/dev/null", saying=["--out"])
    assert sorted(os.listdir(folder)) == sorted(set(os.listdir(folder))) and not [f for f in os.listdir(folder) if f.endswith(".tmp")]


if __name__ == "__main__":
    run_tests(globals())
