"""fabricost measure's files through fabricost calibrate and back: exit status, streams, files, JSON, two at once.

    test_this_machine_cli.py FABRICOST
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, run_tests, written

TOOL = os.path.abspath(sys.argv[1])
tool = Command(TOOL)
calibrate = Command(TOOL, "calibrate")
HEADER = ("source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes,"
          "path,both_ways,streamed\n")
READ, TO, START = 4.464e12, 27.0e9, 1.8e-6  # of a made-up H200 at x8
MACHINE = """measured:
  date: "2026-01-31T12:00:00Z"
  points: "measured.csv"
  system: "dgx-h200"
  complete: true
runtime: {name: "CUDA", version: "13.0", driver: "580.95.05", library: "nccl", library_version: "2.27.3"}
host: {name: "node17"}
gpus:
  - name: "NVIDIA H200"
    multiprocessors: 132
    memory_bytes: 150754820096
    l2_bytes: 62914560
    pcie: {generation: 5, lanes: 8, generation_most: 5, lanes_most: 16}
    ecc: true
    mig_instance: false
"""


def points():
    rows = HEADER
    for shift in range(28, 33):
        rows += f"measure-node17,dgx-h200,1,1,memory_read,,{2**shift},{(2e-6 + 2**shift / READ) * 1e6},,cuda,13.0,,,gpu 0,,,\n"
    for shift in range(12, 31, 2):
        for probe in ("host_to_device", "device_to_host"):
            rows += (f"measure-node17,dgx-h200,1,1,send_recv,int8,{2**shift},{(START + 2**shift / TO) * 1e6},,copy engine,13.0,,,"
                     f"probe {probe}; pinned yes; gpu 0,gpu-host,0,\n")
    return rows


def measured(folder, machine=MACHINE):
    written(folder, "measured.machine.yaml", machine)
    return written(folder, "measured.csv", points())


def test_without_arguments(folder):
    measured(folder)
    text = calibrate.works(cwd=folder)
    assert "hbm reaches 93 % of the datasheet" in text, text
    assert "pcie_downgraded" in text and "5 x8" in text and "5 x16" in text, text
    assert "--system this-machine.yaml" in " ".join(text.split()), text
    assert max(len(line) for line in text.splitlines()) <= 140, text
    assert sorted(os.listdir(folder)) == ["measured.csv", "measured.machine.yaml", "this-machine.yaml"]


def test_the_commands_use_its_numbers(folder):
    measured(folder)
    calibrate.works("-o", "mine.yaml", cwd=folder)
    tiers = {t["name"]: t for t in json.loads(tool.works("show", "mine.yaml", "--json", cwd=folder))["tiers"]}
    assert abs(tiers["hbm"]["bandwidth_GBps"] / (READ * 1e-9) - 1) < 0.01, tiers["hbm"]
    assert tiers["hbm"]["confidence"] == "measured" and tiers["hbm"]["source"].startswith("measured on node17, 2026-01-31, 5 points")
    assert abs(tiers["pcie"]["bandwidth_GBps"] / (TO * 1e-9) - 1) < 0.01, tiers["pcie"]
    asked = ("send_recv", "--path", "gpu-host", "--size", "64MiB", "--system", "mine.yaml")
    answer = json.loads(tool.works("predict", *asked, "--json", cwd=folder))
    assert answer["basis"] == "calibrated" and answer["extrapolated"] == [], answer
    assert abs(answer["time_us"] * 1e-6 / (START + 2**26 / TO) - 1) < 0.02, answer
    assert "measured on node17" in tool.works("explain", *asked, cwd=folder)
    load = ("transfer", "storage", "--size", "100GB", "--read-rate", "200 GB/s", "--json")  # no drive is as slow as the link
    mine = json.loads(tool.works(*load, "--system", "mine.yaml", cwd=folder))
    stock = json.loads(tool.works(*load, "--system", "dgx-h200", "--gpus", "1", cwd=folder))
    mine, stock = (answer["ways"][0]["direct"]["time_s"] for answer in (mine, stock))
    assert abs(mine / (1e11 / TO) - 1) < 0.01 and mine > 2 * stock, (mine, stock)


def test_two_at_once(folder):
    """Whoever is last wins; neither leaves half a file or a temporary one."""
    measured(folder)
    for _ in range(2):
        running = [subprocess.Popen([TOOL, "calibrate"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
        for one in running:
            _, said = one.communicate(timeout=120)
            assert one.returncode == 0, said
        tool.works("show", "this-machine.yaml", cwd=folder)
    assert sorted(os.listdir(folder)) == ["measured.csv", "measured.machine.yaml", "this-machine.yaml"]


if __name__ == "__main__":
    run_tests(globals())
