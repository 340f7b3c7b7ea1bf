"""fabricost tune as people and scripts see it: exit status, streams, width, the JSON's fields, the file of -o.

    test_tune_cli.py FABRICOST
"""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command

TOOL = sys.argv[1]
COMMAND = Command(TOOL, "tune")
works, refused = COMMAND.works, COMMAND.refused
OPERATIONS = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"]


def for_scripts():
    report = json.loads(works("--system", "aws-p5", "--nodes", "2,4", "--dtype", "float", "--json"))
    assert report["system"] == "aws-p5" and report["library"] == "nccl" and report["dtype"] == "float"
    assert report["shapes"] == [{"nodes": 2, "ranks": 16}, {"nodes": 4, "ranks": 32}]
    assert report["ranges"] and isinstance(report["unmeasured"], list) and isinstance(report["doubts"], list)
    for one in report["ranges"]:
        assert one["operation"] in OPERATIONS
        assert one["first_bytes"] <= one["bytes"] <= one["last_bytes"]
        assert set(one["runs"]) == set(one["faster"]) == {"algorithm", "protocol"}
        assert abs(one["time_us"] - one["faster_us"] - one["lost_us"]) < 1e-6 * one["time_us"]
        assert abs(one["lost_percent"] - 100 * one["lost_us"] / one["time_us"]) < 1e-6
        low, high = one["lost_percent_interval"]
        assert low < one["lost_percent"] < high
        assert not one["sure"] or low > 0
        assert one["basis"] in ("calibrated", "sibling", "datasheet")
    only = json.loads(works("-s", "aws-p5", "-n", "2", "--op", "AllReduce", "--json"))
    assert {one["operation"] for one in only["ranges"]} == {"all_reduce"}
    # its figures are predict's
    one = only["ranges"][0]
    done = Command(TOOL).run("predict", "all_reduce", "--system", "aws-p5", "--nodes", "2", "--size", one["bytes"], "--algorithm",
                             one["faster"]["algorithm"], "--protocol", one["faster"]["protocol"], "--json")
    assert abs(json.loads(done.stdout)["time_us"] / one["faster_us"] - 1) < 1e-9, (done.stdout, one)


def the_file(folder):
    path = os.path.join(folder, "nccl_tuner.conf")
    text = works("--system", "dgx-b200", "-o", path)
    assert text == works("--system", "dgx-b200")
    with open(path) as file:
        lines = file.read().splitlines()
    rows = [line.split(",") for line in lines if line and not line.startswith("#")]
    sure = [one for one in json.loads(works("--system", "dgx-b200", "--json"))["ranges"] if one["sure"]]
    assert [(row[0], int(row[1]), int(row[2])) for row in rows] == [
        (one["operation"].replace("_", ""), one["first_bytes"], one["last_bytes"]) for one in sure]
    assert all(len(row) == 10 and row[6:8] == ["1", "8"] for row in rows), rows
    assert os.listdir(folder) == ["nccl_tuner.conf"], os.listdir(folder)
    # a second run replaces it whole; a refused one leaves it
    works("--system", "dgx-a100", "--ranks", "4", "-o", path)
    with open(path) as file:
        replaced = file.read()
    assert "dgx-a100" in replaced and "dgx-b200" not in replaced
    refused("--system", "dgx-a100", "--ranks", "9", "-o", path, saying=["9 ranks"])
    with open(path) as file:
        assert file.read() == replaced
    refused("--system", "dgx-a100", "-o", os.path.join(folder, "no", "such", "folder"), saying=["--out", "cannot be written"])
    refused("--system", "dgx-a100", "-o", folder, saying=["--out", "not a regular file"])


with tempfile.TemporaryDirectory() as temporary:
    for_scripts()
    the_file(temporary)
print("ok")
