"""fabricost topo and show --svg as people and scripts see them: exit status, streams, the JSON's fields, the file of -o.

    test_topo_cli.py FABRICOST
"""
import json
import os
import sys
import tempfile
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command

TOOL = sys.argv[1]
COMMAND = Command(TOOL)
works, refused = COMMAND.works, COMMAND.refused


def table(cells):
    """nvidia-smi topo -m of GPUs from a square of cells."""
    names = [f"GPU{i}" for i in range(len(cells))]
    rows = ["\t" + "\t".join(names) + "\tCPU Affinity"]
    return "\n".join(rows + [f"{name}\t" + "\t".join(row) + "\t0-31" for name, row in zip(names, cells)]) + "\n"


def hopper(links="NV18"):
    return table([["X" if i == j else links for j in range(8)] for i in range(8)])


def in_folder(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def the_contract(folder):
    topo = in_folder(folder, "topo.txt", hopper())
    answer = json.loads(works("topo", topo, "--json"))
    for field, value in (("gpus", 8), ("nvlinks", 18), ("nics", 0), ("sockets", 1)):
        assert type(answer[field]) is int and answer[field] == value, (field, answer[field])
    assert answer["system"] == "topo", answer
    text = works("topo", topo)
    assert "8 GPUs, 18 NVLinks of each GPU" in text, text
    assert all(len(line) <= 110 for line in text.splitlines()), text


def bytes_that_are_no_text(folder):
    """A file's name and a NIC's: what is written still loads, JSON is still JSON."""
    topo = os.fsdecode(os.path.join(os.fsencode(folder), b"to\xffpo.txt"))
    with open(topo, "wb") as file:
        file.write(b"\tGPU0\tNIC0\nGPU0\tX\tPIX\nNIC0\tPIX\tX\n\nNIC Legend:\n\n  NIC0: mlx5_\xff\xff\n")
    made = os.path.join(folder, "box.yaml")
    assert json.loads(works("topo", topo, "-o", made, "--json"))["gpus"] == 1
    text = open(made, encoding="utf-8").read()
    assert "to\ufffdpo.txt" in text and "mlx5_\ufffd\ufffd" in text, text
    assert json.loads(works("show", made, "--json"))["gpus"] == 1


def the_file(folder):
    topo = in_folder(folder, "topo.txt", hopper())
    made = os.path.join(folder, "my-box.yaml")
    answer = json.loads(works("topo", topo, "-o", made, "--json"))
    assert answer["system"] == "my-box", answer
    shown = json.loads(works("show", made, "--json"))
    assert shown["name"] == "my-box" and shown["gpus"] == 8, shown
    nvlink = next(tier for tier in shown["tiers"] if tier["name"] == "nvlink")
    assert nvlink["bandwidth_GBps"] == 18 * 25, nvlink
    assert json.loads(works("predict", "all_reduce", "--system", made, "--size", "64MiB", "--json"))["time_us"] > 0
    assert "assumed" in open(made, encoding="utf-8").read()


def the_comparison(folder):
    topo = in_folder(folder, "topo.txt", hopper("NV12"))
    answer = json.loads(works("topo", topo, "--compare", "dgx-h100", "--json"))
    assert answer["compared_with"] == "dgx-h100", answer
    assert any("12 direct links per GPU; dgx-h100 has 18" in one for one in answer["differences"]), answer
    assert "Against dgx-h100" in works("topo", topo, "--compare", "dgx-h100")


def refusals(folder):
    refused("topo", folder, saying=["is a directory"])
    refused("topo", "/dev/zero", saying=["is a device"])
    impossible = in_folder(folder, "seed.txt", "# GPU0 GPU1 GPU2 GPU3\n# GPU0 X PIX PHB SYS\n# GPU1 PIX X SYS PHB\n")
    refused("topo", impossible, saying=[f"{impossible}:3:14:", "GPU0, GPU1 and GPU2", "GPU1-GPU2 is SYS"])
    refused("topo", impossible, "-o", os.path.join(folder, "never.yaml"), saying=["GPU0, GPU1 and GPU2"])
    assert not os.path.exists(os.path.join(folder, "never.yaml"))


def pictures():
    root = ET.fromstring(works("show", "dgx-h100", "--svg"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
    loaded = works("show", "aws-p5", "--svg", "--op", "all_reduce", "--size", "256MiB", "--nodes", "4")
    ET.fromstring(loaded)
    assert "of the time" in loaded and "4 nodes" in loaded, loaded
    refused("show", "aws-p5", "--svg", "--op", "all_reduse", "--size", "1MiB", saying=["all_reduce"])


with tempfile.TemporaryDirectory() as folder:
    the_contract(folder)
    bytes_that_are_no_text(folder)
    the_file(folder)
    the_comparison(folder)
    refusals(folder)
pictures()
print("topo and show --svg: fine")
