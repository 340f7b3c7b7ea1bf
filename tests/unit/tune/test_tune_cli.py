"""The file that fabricost tune writes with -o: the ranges that are sure, replaced whole or left.

    test_tune_cli.py FABRICOST
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, run_tests

TOOL = sys.argv[1]
COMMAND = Command(TOOL, "tune")
works, refused = COMMAND.works, COMMAND.refused


def test_the_file(folder):
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


def test_what_is_sure_is_worth_a_change_and_comes_first():
    found = json.loads(works("--system", "dgx-b200", "--nodes", "2,4,16", "--json"))
    sure = [one for one in found["ranges"] if one["sure"]]
    assert all(one["lost_percent_interval"][0] >= 1 for one in sure), sure
    text = works("--system", "dgx-b200", "--nodes", "1,2,16")
    assert "tree ll (all_reduce on 1 node)" in text, text
    # six GPUs of a node: NCCL's table has no NVLSTree there, which predict knows as well
    pairs = {one["faster"]["algorithm"] for one in json.loads(works("--system", "dgx-b200", "--ranks", "12", "--json"))["ranges"]}
    assert "nvls_tree" not in pairs, pairs


if __name__ == "__main__":
    run_tests(globals())
