"""Ranks, GPUs, adapters and pairs compared with their siblings, and adapters that are not the named machine's."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, run_tests

COMMAND = Command(sys.argv[1], "diagnose")


def found(text, *words):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.log")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return json.loads(COMMAND.works(path, *words, "--json"))


def found_in(path):
    return json.loads(COMMAND.works(path, "--json"))


def put(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def named(answer):
    return [one["cause"] for one in answer["causes"]]


def matrix(title, rate, gpus=8, corner="D\\D", diagonal=2500.0):
    rows = "".join(f"     {i} " + " ".join(f"{diagonal if i == j else rate(i, j):7.2f}" for j in range(gpus)) + "\n" for i in range(gpus))
    return f"{title}\n   {corner}  " + "  ".join(f"{j:5d}" for j in range(gpus)) + "\n" + rows


ENABLED, DISABLED = "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)"
LATENCY = "P2P={} Latency Matrix (us)"


def test_gpus_beside_each_other():
    def p2p(rate, **more):
        return "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n" + matrix(ENABLED, rate, **more)

    assert found(p2p(lambda i, j: 390 + (3 * i + j) % 5))["state"] == "nothing_to_judge"
    answer = found(p2p(lambda i, j: 12.5 if 5 in (i, j) else 25.1))
    assert answer["state"] == "slow" and named(answer)[0] == "pcie_downgraded", answer
    assert "GPU 5 reaches 12.5 GB/s at best, the others 25.1" in answer["causes"][0]["evidence"], answer
    answer = found(p2p(lambda i, j: 90 if {i, j} == {2, 3} else 390))
    assert named(answer)[0] == "nvlink_not_used" and "GPUs 2 and 3 reach 90 GB/s, the others 390" in answer["causes"][0]["evidence"], answer
    # pairs joined by a bridge, and two sockets: kinds of paths, and no fault
    assert found(p2p(lambda i, j: 100 if i // 2 == j // 2 else 20))["state"] == "nothing_to_judge"
    assert found(p2p(lambda i, j: 25 if i // 4 == j // 4 else 17))["state"] == "nothing_to_judge"


def test_direct_beside_staged():
    def both(enabled, disabled):
        return matrix(DISABLED, lambda i, j: disabled, gpus=2) + matrix(ENABLED, lambda i, j: enabled, gpus=2)

    answer = found(both(3.1, 34.2))
    assert answer["state"] == "slow" and set(named(answer)[:2]) == {"acs_enabled", "iommu"}, answer
    assert "with P2P, and 34.2 without" in answer["causes"][0]["evidence"], answer
    assert found(both(54.9, 34.2))["state"] == "nothing_to_judge"
    late = matrix(LATENCY.format("Disabled"), lambda i, j: 15, gpus=2, corner="GPU") + matrix(
        LATENCY.format("Enabled"), lambda i, j: 49205.8, gpus=2, corner="GPU")
    assert set(named(found(late))[:2]) == {"acs_enabled", "iommu"}


def test_host_to_gpus():
    def nvbandwidth(rates):
        numbers = "  ".join(f"{j:8d}" for j in range(len(rates)))
        cells = "  ".join(f"{rate:8.2f}" for rate in rates)
        return ("nvbandwidth Version: v0.8\nRunning host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
                f"    {numbers}\n 0  {cells}\n\nSUM host_to_device_memcpy_ce {sum(rates):.2f}\n")

    assert found(nvbandwidth([55.6, 55.4, 55.5, 55.6]))["state"] == "nothing_to_judge"
    answer = found(nvbandwidth([55.6, 55.4, 26.9, 55.6]))
    assert named(answer)[0] == "pcie_downgraded" and "GPU 2 reaches 26.9 GB/s" in answer["causes"][0]["evidence"], answer


def test_adapters_beside_each_other():
    def perftest(rates):
        return "".join(
            f"                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_{i}\n"
            " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
            f" 65536      5000             {rate + 1:.2f}             {rate:.2f}            {rate / 0.524288:.6f}\n"
            "---------------------------------------------------------------------------------------\n" for i, rate in enumerate(rates))

    assert found(perftest([392.1, 391.8, 392.0, 392.2]))["state"] == "nothing_to_judge"
    answer = found(perftest([392.1, 391.8, 196.3, 392.2]))
    assert named(answer)[0] == "half_rate_link" and "mlx5_2 carries 196.3 Gbit/s, the others" in answer["causes"][0]["evidence"], answer
    port = "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n"
    answer = found(port + perftest([120.5]))
    assert named(answer)[0] == "half_rate_link" and "its port runs at 400" in answer["causes"][0]["evidence"], answer


def test_adapters_of_another_machine():
    def log(count, megabits):
        head = "n{}:1:2 [0] NCCL INFO "
        lines = [head.format(node) + f"NET/IB: [{i}] mlx5_{i}:uverbs{i}:1/IB provider=Mlx5 speed={megabits} context=0x55 ar=0\n"
                 for node in (0, 1) for i in range(count)]
        return "".join(lines) + head.format(0) + "ncclCommInitRank comm 0x1 rank 0 nranks 16 nNodes 2 localRanks 8 - Init COMPLETE\n"

    answer = found(log(4, 200000), "--system", "dgx-h100")
    said = answer["verdict"]
    assert named(answer)[0] == "wrong_machine" and "8 adapters of 400 Gbit/s" in said and "4 of 200" in said, answer
    for same in (log(8, 400000), log(16, 200000), log(7, 400000)):  # a card may show two ports of half the rate, a port may be down
        assert "wrong_machine" not in named(found(same, "--system", "dgx-h100")), same


def test_ranks_beside_each_other(folder):
    def rank(number, **other):
        head = f"node{number // 4}:{100 + number}:{100 + number} [{number % 4}] NCCL INFO "
        return "".join(head + line + "\n" for line in (
            f"NCCL version {other.get('version', '2.21.5+cuda12.4')}", f"NCCL_IB_GID_INDEX set by environment to {other.get('gid', 3)}.",
            f"NET/IB : Using [0]mlx5_0:1/IB{other.get('more', ' [1]mlx5_1:1/IB')} [RO]; OOB eth0:10.0.0.{number}<0>",
            f"Using network {other.get('network', 'IB')}", f"=== System : maxBw {other.get('rate', 360.0)} totalBw 480.0 ===",
            f"NET/IB : GPU Direct RDMA {other.get('direct', 'Enabled')} for HCA 0 'mlx5_0'",
            f"NVLS multicast support is {other.get('nvls', 'available')} on dev {number % 4}"))

    def job(name, odd):
        for number in range(8):
            put(folder, f"{name}/rank{number}.log", rank(number, **(odd if number == 5 else {})))
        return os.path.join(folder, name)

    assert not found_in(job("alike", {}))["causes"]
    for name, odd, cause, words in (("version", {"version": "2.18.3"}, "version_mismatch", "rank5.log runs NCCL version 2.18.3"),
                                    ("gid", {"gid": 0}, "launch_mistake", "rank5.log has NCCL_IB_GID_INDEX=0, the others 3"),
                                    ("nics", {"more": ""}, "rail_missing", "rank5.log uses [0]mlx5_0:1/IB"),
                                    ("sockets", {"network": "Socket"}, "tcp_fallback", "rank5.log uses network Socket, the others IB"),
                                    ("links", {"rate": 180.0}, "nvlink_not_used", "rank5.log: rates of the node's links maxBw 180.0"),
                                    ("direct", {"direct": "Disabled"}, "gdr_off", "HCA 0 'mlx5_0' Disabled, the others Enabled"),
                                    ("nvls", {"nvls": "not available"}, "nvls_off", "multicast of the NVLink switch none")):
        answer = found_in(job(name, odd))
        assert any(one["cause"] == cause and words in one["evidence"] for one in answer["causes"][:3]), answer
    # what all ranks of one node share is said of the node
    for number in range(8):
        put(folder, f"node/rank{number}.log", rank(number, **({"direct": "Disabled"} if number >= 4 else {})))
    for number in range(8, 16):
        put(folder, f"node/rank{number}.log", rank(number))
    answer = found_in(os.path.join(folder, "node"))
    assert "node node1 (4 ranks)" in answer["causes"][0]["evidence"] and answer["causes"][0]["cause"] == "gdr_off", answer


def test_an_address_that_other_ranks_do_not_reach_is_named_with_its_node(folder):
    for rank in range(16):
        head = f"n{rank // 4}:{100 + rank}:{100 + rank} [{rank % 4}] "
        log = f"{head}NCCL INFO Bootstrap : Using eth0:10.77.0.{rank // 4 + 1}<0>\n"
        begun = f"{head}NCCL INFO ncclCommInitRank comm 0x1 rank {rank} nranks 16 commId 0x77 - Init "
        log += begun + "START\n" + begun + "COMPLETE\n"
        if rank < 12:
            log += f"{head}misc/socket.cc:538 NCCL WARN socketProgress: Call to recv from 10.77.0.4<20012> failed : Connection timed out\n"
        put(folder, f"dark/rank_{rank}.log", log)
    answer = found_in(os.path.join(folder, "dark"))
    cause = answer["causes"][0]
    assert answer["state"] == "failed" and cause["cause"] == "link_failed", answer
    assert "do not reach 10.77.0.4 (the address of node n3 (4 ranks))" in cause["evidence"], cause


if __name__ == "__main__":
    run_tests(globals())
