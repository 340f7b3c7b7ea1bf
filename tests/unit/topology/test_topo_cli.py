"""fabricost topo and show --svg as people and scripts see them: exit status, streams, the JSON's fields, the file of -o.

    test_topo_cli.py FABRICOST
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, run_tests

TOOL = sys.argv[1]
COMMAND = Command(TOOL)
works, refused = COMMAND.works, COMMAND.refused


def table(cells):
    """nvidia-smi topo -m of GPUs from a square of cells."""
    names = [f"GPU{i}" for i in range(len(cells))]
    rows = ["\t" + "\t".join(names) + "\tCPU Affinity"]
    return "\n".join(rows + [f"{name}\t" + "\t".join(row) + "\t0-31" for name, row in zip(names, cells)]) + "\n"


def hopper():
    return table([["X" if i == j else "NV18" for j in range(8)] for i in range(8)])


def in_folder(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def test_bytes_that_are_no_text(folder):
    """A file's name and a NIC's: what is written still loads, JSON is still JSON."""
    topo = os.fsdecode(os.path.join(os.fsencode(folder), b"to\xffpo.txt"))
    with open(topo, "wb") as file:
        file.write(b"\tGPU0\tNIC0\nGPU0\tX\tPIX\nNIC0\tPIX\tX\n\nNIC Legend:\n\n  NIC0: mlx5_\xff\xff\n")
    made = os.path.join(folder, "box.yaml")
    assert json.loads(works("topo", topo, "-o", made, "--json"))["gpus"] == 1
    text = open(made, encoding="utf-8").read()
    assert "to\ufffdpo.txt" in text and "mlx5_\ufffd\ufffd" in text, text
    assert json.loads(works("show", made, "--json"))["gpus"] == 1


def test_the_file(folder):
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


def test_links_alone_do_not_contradict_the_compared_machine(folder):
    topo = in_folder(folder, "topo.txt", hopper())
    answer = json.loads(works("topo", topo, "--compare", "dgx-b200", "--json"))
    assert answer["gpu"] == "b200-sxm" and not any(one.startswith("GPUs") for one in answer["differences"]), answer
    assert any("nvidia-smi -L" in one for one in answer["unknown"]) and any("processor" in one for one in answer["unknown"]), answer
    named = in_folder(folder, "named.txt", "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n" + hopper())
    answer = json.loads(works("topo", named, "--compare", "dgx-b200", "--json"))
    assert answer["gpu"] == "h100-sxm" and any("GPUs: h100-sxm here" in one for one in answer["differences"]), answer


def test_ports_of_the_usual_machine(folder):
    """Four functions of a DGX Spark's adapter share what its two halves carry."""
    names = ["rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"]
    head = ["GPU0"] + [f"NIC{i}" for i in range(4)]
    rows = ["\t".join([a] + ["X" if a == b else "NODE" for b in head]) for a in head]
    legend = "\nNIC Legend:\n\n" + "".join(f"  NIC{i}: {name}\n" for i, name in enumerate(names))
    topo = in_folder(folder, "spark.txt", "GPU 0: NVIDIA GB10 (UUID: GPU-1)\n\t" + "\t".join(head) + "\n" + "\n".join(rows) + "\n" + legend)
    works("topo", topo, "-o", str(folder / "mine.yaml"))
    at = [json.loads(works("predict", "all_reduce", "-s", name, "--nodes", "2", "--size", "256MiB", "--json"))["time_us"]
          for name in (str(folder / "mine.yaml"), "dgx-spark-pair")]
    assert 0.9 < at[0] / at[1] < 1.1, at


def test_what_ibstat_and_lscpu_say(folder):
    """Appended, they tell layer, rate and state of the ports and the processor."""
    head = ["GPU0", "GPU1", "NIC0", "NIC1"]
    cells = {("GPU0", "NIC0"): "NODE", ("NIC0", "NIC1"): "PIX", ("GPU0", "NIC1"): "NODE"}
    rows = ["\t".join([a] + ["X" if a == b else cells.get((a, b), cells.get((b, a), "SYS")) for b in head]) for a in head]
    table = "GPU 0: NVIDIA L40S (UUID: GPU-1)\n\t" + "\t".join(head) + "\n" + "\n".join(rows) + "\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n"
    ports = "".join(f"CA 'mlx5_{i}'\n\tCA type: MT4125\n\tPort 1:\n\t\tState: {state}\n\t\tRate: {rate}\n\t\tLink layer: Ethernet\n"
                    for i, (state, rate) in enumerate((("Active", 100), ("Down", 40))))
    cpu = "Architecture:            x86_64\nVendor ID:               AuthenticAMD\n"
    bare = json.loads(works("topo", in_folder(folder, "bare.txt", table), "--json"))
    assert sum("append the output of" in one for one in bare["unknown"]) == 2, bare
    said = works("topo", in_folder(folder, "said.txt", table + ports + cpu), "-o", str(folder / "said.yaml"))
    assert "ethernet-100" in said and "NIC1 down" in said and "append" not in said, said
    text = (folder / "said.yaml").read_text(encoding="utf-8")
    assert "cpu: amd" in text and "transport: roce" in text and "endpoints: 1\n    link: ethernet-100" in text, text
    assert "nearest NIC of 1 of 2 GPUs is SYS" in text, text


def test_a_part_of_the_compared_mesh_has_its_gpus(folder):
    names = "".join(f"{f'GPU{i}':13}" for i in range(4))
    rows = "".join(f"GPU{i}   " + "".join(f"{'0' if i == j else 'XGMI':13}" for j in range(4)) + "\n" for i in range(4))
    head = "=== ROCm System Management Interface ===\n=== Link Type between two GPUs ===\n       "
    topo = in_folder(folder, "rocm.txt", head + names + "\n" + rows + "=== End of ROCm SMI Log ===\n")
    assert json.loads(works("topo", topo, "--compare", "mi300x", "--json"))["gpu"] == "mi300x"
    assert json.loads(works("topo", topo, "--json"))["gpu"] != "mi300x"


if __name__ == "__main__":
    run_tests(globals())
