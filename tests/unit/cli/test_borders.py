"""Input from files and command lines does no harm in the output: control characters, bytes that are no text, files that are
read or not to be written.

    test_borders.py FABRICOST
"""
import json
import os
import re
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, run_tests, written

TOOL = sys.argv[1]
COMMAND = Command(TOOL)
works, refused = COMMAND.works, COMMAND.refused
HEAD = "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes\n"
RANKS = "".join(f"#  Rank {r:2} Group  0 Pid  10{r} on node0 device  {r} [0000:{19 + r}:00] NVIDIA H100 80GB HBM3\n" for r in range(8))
COLUMNS = "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
# title, hyperlink, colour; C1 as UTF-8; right-to-left override, isolate; DEL; bell
NASTY = "\033]0;title\007 \033[31mred\033[0m \033]8;;http://x\033\\ \u009b2J \u202eexe.gpj\u202c \u2066a\u2069 \x7f \x08 \r"
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
BROKEN = "x:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' {}\n"


def run(*arguments, stdin=None):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, timeout=60, input=stdin)


def bytes_written(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def test_nothing_acts_on_the_terminal(folder):
    log = written(folder, "nasty.log", RANKS + COLUMNS + BROKEN.format(NASTY) + "NCCL WARN Cuda failure " + NASTY + "\n")
    point = HEAD + f"{NASTY.strip()},dgx-h100,1,8,all_reduce,half,1048576,30,0,nccl,2.2 {NASTY.strip()},,,\n"
    points = written(folder, "points.csv", point.replace("\r", ""))
    nasty_name = written(folder, "\033]0;name\007\u202e.log", "Dear all\n")
    for arguments in (["diagnose", log], ["diagnose", log, "--json"], ["diagnose", nasty_name], ["validate", points],
                      ["predict", NASTY, "--system", "dgx-h100", "--size", "1MiB"],
                      ["predict", "all_reduce", "--system", NASTY, "--size", "1"],
                      ["show", "dgx-h100", "--set", "notes=" + NASTY.replace("\r", "")], [NASTY], ["plan", "--" + NASTY], ["topo", log],
                      ["diagnose", log, "--expected", NASTY]):
        done = run(*arguments)
        for text in (done.stdout.decode("utf-8"), done.stderr.decode("utf-8")):
            assert not ACTING.search(text), (arguments, ACTING.search(text), text)
    found = json.loads(works("diagnose", log, "--json"))
    assert found["causes"], found
    assert not any(ACTING.search(value) for cause in found["causes"] for value in (cause["evidence"], cause["remedy"])), found


def test_bytes_that_are_no_text_become_characters(folder):
    latin = bytes_written(folder, "latin.log", (RANKS + COLUMNS).encode() + BROKEN.encode().replace(b"{}", b"Z\xfcrich \xff\xfe caf\xe9"))
    found = run("diagnose", latin, "--json")
    assert found.returncode == 0, found.stderr
    causes = json.loads(found.stdout.decode("utf-8"))["causes"]
    assert "Z\ufffdrich" in causes[0]["evidence"], causes
    row = b"caf\xe9,dgx-h100,1,8,all_reduce,half,1048576,30,0,nccl,2.23,,,M\xfcnchen\n"
    points = bytes_written(folder, "latin.csv", HEAD.encode() + row)
    out = os.path.join(folder, "latin_out.csv")
    assert run("validate", points, "-o", out).returncode == 0
    with open(out, encoding="utf-8") as file:
        assert "M\ufffdnchen" in file.read()
    cut = run("diagnose", bytes_written(folder, "caf\udce9.txt", b"Dear all\n"))
    assert cut.returncode == 2
    cut.stderr.decode("utf-8")


def test_an_empty_value_is_not_none(folder):
    points = written(folder, "empty.csv", HEAD + "a,dgx-h100,1,8,all_reduce,half,1048576,30,0,nccl,2.20,,,\n")
    refused("validate", points, "-o", "", saying=["--out", "empty"])
    refused("predict", "all_reduce", "--system", "dgx-h100", "--size", "1MiB", "--calibration", "", saying=["--calibration", "empty"])
    refused("tune", "--system", "dgx-h100", "--out=", saying=["--out"])


def test_a_file_keeps_who_may_read_it(folder):
    points = written(folder, "modes.csv", HEAD + "a,dgx-h100,1,8,all_reduce,half,1048576,30,0,nccl,2.20,,,\n")
    out = os.path.join(folder, "private.csv")
    for mode in (0o600, 0o640, 0o444):
        with open(out, "w", encoding="utf-8") as file:
            file.write("old")
        os.chmod(out, mode)
        works("validate", points, "-o", out)
        assert stat.S_IMODE(os.stat(out).st_mode) == mode, oct(os.stat(out).st_mode)
        with open(out, encoding="utf-8") as file:
            assert file.read() != "old"
        os.remove(out)


if __name__ == "__main__":
    run_tests(globals())
