"""Runs and nodes of one log beside each other, adapters at half their rate, warnings, streams of messages."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, run_tests, written
from tables import A100, GIB, H100, MIB, SOUND, table

COMMAND = Command(sys.argv[1], "diagnose")
WARN = "n0:1:2 [0] transport/net_ib.cc:9 NCCL WARN The flux capacitor holds {} coulombs\n"


def answer(folder, text, *words):
    return json.loads(COMMAND.works(written(folder, "run.log", text), "--json", *words))


def causes(found):
    return [one["cause"] for one in found["causes"]]


def test_half_of_the_adapters(folder):
    """Four nodes of aws-p4d have 4 adapters of 100 Gbit/s each, 50 GB/s; sound ones move some nine tenths of it."""
    def run(share):
        sound = ((64 * MIB, 39.0), (256 * MIB, 44.0), (GIB, 45.5), (4 * GIB, 46.0))
        return table(A100, [(size, share * rate) for size, rate in sound], nodes=4)

    assert answer(folder, run(1), "-s", "aws-p4d")["state"] == "as_predicted"
    assert answer(folder, run(0.8), "-s", "aws-p4d")["state"] == "as_predicted", "predictions may be off by a fifth"
    found = answer(folder, run(0.5), "-s", "aws-p4d")
    assert found["state"] == "slow" and not found["healthy"] and set(causes(found)[:2]) == {"half_rate_link", "rail_missing"}, found
    assert "half of what the 4 adapters of a node give" in found["causes"][0]["evidence"], found


def head(node, rank):
    return f"{node}:{100 + rank}:{200 + rank} [{rank}] NCCL INFO "


def test_one_node_lacks_an_adapter(folder):
    def using(counts):
        return "".join(head(f"gpu{node}", rank) + "NET/IB : Using " + " ".join(f"[{i}]mlx5_{i}:1/IB" for i in range(count))
                       + f" [RO]; OOB eth0:10.0.0.{node}<0>\n" for node, count in enumerate(counts) for rank in range(2))

    for counts, node in (((8, 7), "gpu1"), ((7, 8), "gpu0"), ((8, 8, 7, 8), "gpu2")):
        found = answer(folder, using(counts))
        assert causes(found)[0] == "rail_missing" and found["state"] == "slow", found
        seen = found["causes"][0]["evidence"]
        assert f"{node} uses 7 adapters" in seen and "missing: mlx5_7" in seen, seen
    assert not answer(folder, using((8, 8)))["causes"]
    # each rank is given its own adapter: the lists are as long everywhere
    own = "".join(head(f"gpu{node}", rank) + f"NET/IB : Using [0]mlx5_{rank}:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
                  for node in range(2) for rank in range(4))
    assert "a node has fewer adapters than the others" not in [one["what"] for one in answer(folder, own)["causes"] if "what" in one]


def test_one_node_without_gpu_direct(folder):
    def channels(ways):
        return "".join(head(f"gpu{node}", i) + f"Channel 0{i}/0 : {ends} [{way}] via NET/IB/{i}{'/GDRDMA' if direct else ''}\n"
                       for node, way, direct in ways for i in range(4)
                       for ends in ([f"{i}[{i}] -> {8 + i}[{i}]"] if (way == "send") == (node == 0) else [f"{8 + i}[{i}] -> {i}[{i}]"]))

    broken = channels(((0, "send", True), (0, "receive", True), (1, "send", False), (1, "receive", False)))
    found = answer(folder, broken)
    assert causes(found)[0] == "gdr_off" and found["state"] == "slow", found
    assert "4 of 4 network connections of gpu1 lack GDRDMA (adapters 0, 1, 2, 3), those of gpu0" in found["causes"][0]["evidence"], found
    # boards that receive directly and send through the host do so on every node
    alike = channels(((0, "send", False), (0, "receive", True), (1, "send", False), (1, "receive", True)))
    assert not any("lack GDRDMA" in one["evidence"] for one in answer(folder, alike)["causes"])


def test_warnings_are_quoted(folder):
    found = answer(folder, WARN.format(17) + table(H100, SOUND) + WARN.format(23))
    assert found["state"] == "as_predicted" and found["healthy"], found
    assert any("line 1: NCCL WARN The flux capacitor holds 17 coulombs (2 such lines)" in note for note in found["notes"]), found["notes"]
    # beside a failure that is understood
    double = "n0:1:2 [0] init.cc:9 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 5000\n"
    found = answer(folder, double + WARN.format(17))
    assert causes(found)[0] == "launch_mistake" and any("line 2: NCCL WARN The flux" in note for note in found["notes"]), found
    assert not any("Duplicate" in note for note in found["notes"]), "a cause quotes it"
    # of many kinds the first, and how many more
    kinds = "".join(WARN.format(1).replace("flux", word) for word in ("red", "green", "blue", "white", "black"))
    notes = [note for note in answer(folder, double + kinds)["notes"] if "not explained" in note]
    assert len(notes) == 3 and "2 more kinds of warnings" in notes[-1], notes
    harmless = "n0:1:2 [0] NCCL WARN NET/Plugin : Could not find libnccl-net.so; falling back\n"
    assert any("Could not find libnccl-net.so" in note for note in answer(folder, harmless + table(H100, SOUND))["notes"])


def test_parts_of_the_library(folder):
    """An error that no rule explains is explained by the file that its line names: here with words that no rule contains."""
    for file, cause in (("graph/topo.cc", "container_vm_topology"), ("mnnvl.cc", "imex"), ("bootstrap.cc", "bootstrap_network"),
                        ("transport/net_ib.cc", "link_failed"), ("transport/shm.cc", "no_p2p_shm"), ("misc/argcheck.cc", "program_error")):
        found = answer(folder, f"n0:1:2 [0] {file}:99 NCCL WARN The flux capacitor is empty\n")
        assert found["state"] == "failed" and causes(found)[0] == cause and "not understood" in found["verdict"], (file, found)
        assert "line 1: " in found["causes"][0]["evidence"] and found["causes"][0]["confidence"] < 0.5, found
    trace = "n0:1:2 [0] NCCL INFO graph/xml.cc:99 -> 2\nn0: Test NCCL failure common.cu:1 'system error / '\n"
    assert causes(answer(folder, trace))[0] == "container_vm_topology"
    rank = "n0:1:2 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1 - Init COMPLETE\n"
    early = answer(folder, "n0:1:2 [0] graph/topo.cc:99 NCCL WARN The flux capacitor is empty\n" + rank)
    assert early["state"] == "nothing_to_judge" and sum("flux" in note for note in early["notes"]) == 1, early


def test_different_runs(folder):
    """Two tests one after the other: each is judged by its own table, machine and lines."""
    gather = [(size, bus) for size, bus in ((64 * MIB, 4.0), (256 * MIB, 4.4), (GIB, 4.6), (4 * GIB, 4.7))]
    one = "mpirun -np 8 ./all_reduce_perf -b 64M -e 4G\n" + table(H100, SOUND)
    two = ("mpirun -np 32 ./all_gather_perf -b 64M -e 4G\n" + head("node0", 0) + "NCCL_IB_DISABLE set by environment to 1\n"
           + table(A100, gather, nodes=4, operation="all_gather"))
    found = answer(folder, one + two)
    assert found["state"] == "slow" and "1 of 2 different runs" in found["verdict"], found["verdict"]
    assert all("all_gather, 32 ranks on 4 nodes (line 19)" in cause["evidence"] for cause in found["causes"]), found["causes"]
    assert any("run 1 of 2, all_reduce, 8 ranks on node0 (line 1): as predicted" in note for note in found["notes"]), found["notes"]
    assert {(size["operation"], size["ranks"]) for size in found["sizes"]} >= {("all_reduce", 8)}
    line = next(i for i, text in enumerate((one + two).split("\n"), 1) if "NCCL_IB_DISABLE" in text)
    assert f"line {line}: " in json.dumps(found["causes"]), "lines keep their numbers"
    # the same test twice is one run, and so is one whose head is lost
    for repeat in (one + one, one + "\n".join(one.split("\n")[-8:])):
        assert "different runs" not in answer(folder, repeat)["verdict"]
    # nor is a run two thirds as fast a repeat, which would be judged by the mean of both
    mixed = answer(folder, one + "mpirun -np 8 ./all_reduce_perf -b 64M -e 4G\n" + table(H100, [(size, 0.64 * bus) for size, bus in SOUND]))
    assert mixed["state"] == "slow" and "1 of 2 different runs" in mixed["verdict"] and "x1.6" in mixed["verdict"], mixed["verdict"]
    # the heading says what was changed, and no repeat is that far off
    changed = "+ NCCL_ALGO=Ring\n" + table(H100, [(size, 0.75 * bus) for size, bus in SOUND])
    assert "1 of 2 different runs" in answer(folder, one + changed)["verdict"]
    # a second test that ends before its first row
    crash = "# Collective test starting: all_gather_perf\n" + "\n".join(table(A100, gather, nodes=2).split("\n")[1:19]) + "\n" + (
        "node1:1009:1009 [1] init.cc:9 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 5000\n")
    ended = answer(folder, one + crash)
    assert ended["state"] == "failed" and "1 of 2 different runs, all_gather, 16 ranks on 2 nodes (line 19)" in ended["verdict"], ended
    assert causes(ended)[0] == "launch_mistake" and any("run 1 of 2" in n and "as predicted" in n for n in ended["notes"]), ended
    # the machine of the request is that of one of them
    named = answer(folder, table(H100, SOUND) + table("NVIDIA GB300", SOUND, local=4), "-s", "dgx-h100")
    assert any("GB300" in note for note in named["notes"]) and "2 different runs" in named["verdict"], named


def test_each_file_is_a_run_of_its_own(folder):
    """Two logs of one machine: one verdict each, in the first line; only repetitions of one run are judged together, which is said."""
    def logs(name, *shares):
        place = os.path.join(folder, name)
        os.mkdir(place)
        return [written(place, f"{letter}.log", table(H100, [(size, share * bus) for size, bus in SOUND])) for letter, share in zip("ABC", shares)]

    for share in (0.85, 0.7, 0.6, 0.55, 0.3):
        two = logs(f"two{share}", 1.0, share)
        alone = [json.loads(COMMAND.works(log, "--json")) for log in two]
        both = json.loads(COMMAND.works(*two, "--json"))
        assert "2 different runs" in both["verdict"] and "A.log" in both["verdict"] and "B.log" in both["verdict"], both["verdict"]
        assert both["state"] == alone[1]["state"], (share, both["state"], alone[1]["state"])
        for run, own in enumerate(alone, 1):
            assert any(note.startswith(f"run {run} of 2") and own["verdict"] in note for note in both["notes"]), (own["verdict"], both["notes"])
    same = json.loads(COMMAND.works(*logs("same", 1.0, 0.97, 1.02), "--json"))
    assert same["state"] == "as_predicted" and "A.log and 2 other files repeat one run" in same["verdict"], same["verdict"]
    # equal names in other folders are other files
    apart = [logs(f"apart{share}", share)[0] for share in (1.0, 0.6)]
    assert "2 different runs" in json.loads(COMMAND.works(*apart, "--json"))["verdict"]


def test_plain_factors_are_named(folder):
    """A run that moves half, an eighth, or algorithm for bus bandwidth of another: the usual mix-ups are named; other factors are not."""
    def run(share):
        return table(H100, [(size, share * bus) for size, bus in SOUND])

    good = written(folder, "good.log", run(1))
    for share, words in ((0.5, "one direction of a link and both"), (0.125, "bytes and bits"), (1 / 1.75, "bus and algorithm bandwidth"),
                         (0.72, None), (0.3, None)):
        notes = " ".join(answer(folder, run(share), "--against", good)["notes"])
        assert (words is None and "plain factor" not in notes) or (words is not None and f"{share:.3g}" in notes and words in notes), (share, notes)
    assert "plain factor" not in " ".join(answer(folder, run(1), "--against", good)["notes"])
    assert any("measured and predicted: large" in note and "one direction" in note for note in answer(folder, run(0.5))["notes"])


def test_nodes_one_by_one(folder):
    """A folder with a test of each node: the nodes are compared, and nobody forgot MPI."""
    def job(name, shares):
        place = os.path.join(folder, name)
        os.mkdir(place)
        for node, share in enumerate(shares):
            written(place, f"node{node}.log", table(H100, [(size, share * bus) for size, bus in SOUND], first=node))
        return place

    slow = job("slow", (1.0, 1.005, 0.8, 0.995))
    found = json.loads(COMMAND.works(slow, "--json"))
    assert found["state"] == "slow" and causes(found)[0] == "stragglers" and "launch_mistake" not in causes(found), found
    assert "node2: 382 GB/s at 4 GiB, the other 3: 476 GB/s to 480 GB/s" in found["causes"][0]["evidence"], found["causes"][0]
    assert COMMAND.works(slow).startswith("slow: of 4 different runs, node2"), COMMAND.works(slow)
    alike = json.loads(COMMAND.works(job("alike", (1.0, 1.005, 0.98, 0.995)), "--json"))
    assert alike["state"] == "as_predicted" and not alike["causes"] and "4 different runs" in alike["verdict"], alike
    two = json.loads(COMMAND.works(job("two", (1.0, 0.8)), "--json"))
    assert causes(two)[0] == "stragglers" and "node1" in two["causes"][0]["evidence"], two
    # two hosts that start a test of their own at once
    at_once = table(H100, SOUND).split("\n")
    again = table(H100, SOUND, first=1).split("\n")
    found = answer(folder, "\n".join(at_once[:9] + again[:9] + at_once[9:] + again[9:]))
    assert causes(found)[0] == "launch_mistake", found


def test_streams_of_messages(folder):
    """perftest keeps its link full: 64 KiB pass at the line's rate (49 of 50 GB/s), and not at a message's own time."""
    def perftest(gigabits, sizes=(65536,)):
        return ("                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n"
                " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
                + "".join(f" {size}      5000   {gigabits + 1:.2f}   {gigabits:.2f}   {gigabits / 8e3 / size * 1e6:.6f}\n"
                          for size in sizes))

    sound = answer(folder, perftest(392.1), "-s", "dgx-h100")
    assert sound["state"] == "as_predicted" and abs(sound["sizes"][0]["ratio"] - 1) < 0.05, sound
    half = answer(folder, perftest(196.2), "-s", "dgx-h100")
    assert half["state"] == "slow" and causes(half)[0] == "half_rate_link", half
    assert not {"tcp_fallback", "rail_missing", "gdr_off", "few_channels"} & set(causes(half)), "no library ran"
    many = answer(folder, perftest(196.2, (65536, 1 << 20, 1 << 23)), "-s", "dgx-h100")
    assert many["state"] == "slow" and all(1.9 < size["ratio"] < 2.1 for size in many["sizes"]), many


if __name__ == "__main__":
    run_tests(globals())
