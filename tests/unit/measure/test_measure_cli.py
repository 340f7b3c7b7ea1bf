#!/usr/bin/env python3
"""fabricost measure as a user meets it: the real command opens a plugin, here the made-up machine of fake_probe.cpp.

    test_measure_cli.py FABRICOST FOLDER_OF_THE_PLUGIN"""

import csv
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import run_tests

TOOL, PROBES = sys.argv[1], sys.argv[2]
HEADER = ("source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes,"
          "path,both_ways,streamed").split(",")


def measure(folder, *arguments, fake="", probes=PROBES):
    """The command in `folder`, on the machine that `fake` describes."""
    environment = dict(os.environ, FABRICOST_FAKE=fake)
    environment.pop("FABRICOST_PROBES", None)
    if probes is not None:
        environment["FABRICOST_PROBES"] = str(probes)
    return subprocess.run([TOOL, "measure", *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=folder, env=environment)


def works(*arguments, **keywords):
    done = measure(*arguments, **keywords)
    assert done.returncode == 0, (arguments, done.returncode, done.stderr)
    return done


def refused(*arguments, saying, **keywords):
    """Exit status 2, nothing on stdout, every part of `saying` on stderr."""
    done = measure(*arguments, **keywords)
    assert done.returncode == 2, (arguments, done.returncode, done.stderr)
    assert done.stdout == "", done.stdout
    for part in saying:
        assert part in done.stderr, (part, done.stderr)
    return done


def rows_of(folder, name="measured.csv"):
    with open(folder / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_node_is_measured_into_two_files(folder):
    done = works(folder, "--quick", "--quiet", fake="gpus=8")
    assert done.stderr == "", done.stderr
    assert sorted(os.listdir(folder)) == ["measured.csv", "measured.machine.yaml"], os.listdir(folder)
    rows = rows_of(folder)
    assert list(rows[0]) == HEADER, list(rows[0])
    assert len(rows) > 100
    assert {row["system"] for row in rows} == {"dgx-h200"}
    assert {row["operation"] for row in rows} >= {"memory_read", "memory_copy", "pointer_chase", "kernel_launch", "send_recv", "all_reduce",
                                                  "all_to_all", "peer_load", "host_to_device", "compute_overlap"}
    assert all(float(row["time_us"]) > 0 for row in rows)
    assert "8 GPUs called NVIDIA H200" in done.stdout and "dgx-h200" in done.stdout
    assert "peer_copy, 55 other pairs, slowest " in done.stdout and "memory_copy, 7 other GPUs" in done.stdout, done.stdout
    text = (folder / "measured.machine.yaml").read_text(encoding="utf-8")
    assert "nvlinks: 18" in text and "complete: true" in text


def test_json_says_what_the_file_says(folder):
    out = json.loads(works(folder, "--quick", "--quiet", "--json", "-o", "points.csv", fake="gpus=2").stdout)
    rows = rows_of(folder, "points.csv")
    assert out["points"] == len(out["rows"]) == len(rows)
    assert out["complete"] is True and out["file"] == "points.csv" and out["machine_file"] == "points.machine.yaml"
    for told, row in zip(out["rows"], rows):
        assert told["operation"] == row["operation"] and told["bytes"] == int(row["bytes"])
        assert abs(told["time_us"] / float(row["time_us"]) - 1) < 1e-5
        assert all(f"{key} {value}" in row["notes"] for key, value in told["notes"].items())


def test_listing_measures_nothing(folder):
    done = works(folder, "--quick", "--list", fake="gpus=8")
    assert "all_reduce on 8 GPUs" in done.stdout and os.listdir(folder) == []
    steps = json.loads(works(folder, "--list", "--json", fake="gpus=8").stdout)["steps"]
    assert any(step["what"].startswith("all_reduce on 8 GPUs, half, ring ll") for step in steps)


def test_without_a_plugin_the_message_says_what_to_build(folder):
    refused(folder, "--quick", probes=folder, saying=["GPU", "CUDA", "libfabricost_probe_cuda.so", str(folder), "OSU"])
    refused(folder, "--mpi", probes=folder, saying=["--mpi", "OSU", "calibrate --from"])
    assert os.listdir(folder) == []


def test_without_a_driver_the_message_says_so(folder):
    refused(folder, "--quick", fake="absent", saying=["no GPU", "CUDA: no driver: libcuda.so.1"])
    assert os.listdir(folder) == []


def test_a_file_that_is_no_plugin_is_named(folder):
    (folder / "libfabricost_probe_cuda.so").write_text("not a library", encoding="utf-8")
    refused(folder, probes=folder, saying=["libfabricost_probe_cuda.so cannot be loaded"])


def test_a_lost_gpu_keeps_what_was_measured(folder):
    done = refused(folder, "--quick", "--quiet", fake="gpus=2,lost_after=9", saying=["fallen off the bus", "9 points", "measured.csv"])
    assert "internal error" not in done.stderr
    assert len(rows_of(folder)) == 9
    assert "complete: false" in (folder / "measured.machine.yaml").read_text(encoding="utf-8")
    assert sorted(os.listdir(folder)) == ["measured.csv", "measured.machine.yaml"]


def test_nothing_measured_leaves_an_older_file_alone(folder):
    (folder / "measured.csv").write_text("older", encoding="utf-8")
    refused(folder, "--quick", "--quiet", fake="lost_after=0", saying=["nothing was measured", "fallen off the bus"])
    refused(folder, "--quick", "--quiet", fake="unsupported_all=1", saying=["nothing was measured", "result was wrong"])
    assert (folder / "measured.csv").read_text(encoding="utf-8") == "older"
    assert os.listdir(folder) == ["measured.csv"]


def test_progress_is_plain_lines_without_a_terminal(folder):
    done = works(folder, "--quick", "--only", "launch")
    assert "kernel_launch" not in done.stdout.split("\n")[0]
    assert "left: " in done.stderr and "\r" not in done.stderr and "\033" not in done.stderr


def test_wrong_arguments_are_refused_before_anything_is_opened(folder):
    refused(folder, "--budget", "soon", saying=["--budget soon", "write --budget 60"])
    refused(folder, "--budget", "0", saying=["--budget 0"])
    refused(folder, "--gpus", "a", saying=["--gpus a", "0,2,4-7"])
    refused(folder, "--gpus", "3-1", saying=["backwards"])
    refused(folder, "--only", "collectives", fake="gpus=1", saying=["nothing to measure", "one GPU"])
    refused(folder, "-o", folder / "no" / "such.csv", saying=["-o", "cannot be written"])
    refused(folder, "-o", folder, saying=["-o"])
    assert os.listdir(folder) == []


def test_plugins_are_not_taken_from_where_anybody_may_put_them(folder):
    refused(folder, "--quick", probes="probes", saying=["FABRICOST_PROBES", '"probes" depends on the current folder'])
    open_to_all = folder / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    for probes in (open_to_all, f"{PROBES}:{open_to_all}"):
        refused(folder, "--quick", probes=probes, saying=["FABRICOST_PROBES", f"anybody may write to {open_to_all}", "chmod o-w"])
    open_to_all.rmdir()


def test_a_system_given_by_hand_is_believed(folder):
    works(folder, "--quick", "--quiet", "--only", "memory", "--system", "dgx-h100", fake="name=Abacus")
    assert {row["system"] for row in rows_of(folder)} == {"dgx-h100"}
    assert 'system_because: "given by hand"' in (folder / "measured.machine.yaml").read_text(encoding="utf-8")


if __name__ == "__main__":
    run_tests(globals())
