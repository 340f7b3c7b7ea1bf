"""Inputs of fabricost diagnose beside logs: dumps of ranks, reports of tools, packed files, and a lot of all of it."""
import gzip
import json
import os
import pickle
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, run_tests, written

COMMAND = Command(TOOL := sys.argv[1], "diagnose")
works, refused = COMMAND.works, COMMAND.refused
FRAMES = [{"name": "all_reduce", "filename": "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", "line": 2501},
          {"name": "step", "filename": "/job/train.py", "line": 212}]


def put(folder, name, content):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def found(*words):
    return json.loads(works(*words, "--json"))


def first(*words):
    answer = found(*words)
    return answer, answer["causes"][0]


def entry(number, operation="all_reduce", sizes=(1024,), state="completed", group=("0", "default_pg"), frames=None, dtype="Float"):
    return {"record_id": number, "pg_id": 0, "process_group": group, "collective_seq_id": number, "p2p_seq_id": 0, "op_id": number,
            "profiling_name": "nccl:" + operation, "time_created_ns": 1724779239936775119, "input_sizes": [list(sizes)],
            "input_dtypes": [dtype], "output_sizes": [list(sizes)], "output_dtypes": [dtype], "state": state,
            "time_discovered_started_ns": None, "time_discovered_completed_ns": None, "retired": state == "completed",
            "timeout_ms": 600000, "is_p2p": False, "frames": FRAMES if frames is None else frames}


def dump(entries, ranks, groups=None):
    last = max((one["collective_seq_id"] for one in entries), default=0)
    return {"version": "2.9", "entries": entries,
            "pg_config": groups or {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(ranks)))}},
            "pg_status": {"0": {"last_enqueued_collective": last, "last_started_collective": -1, "last_completed_collective": last - 1}}}


def dumps(folder, job, per_rank, ranks, protocol=2):
    """One file a rank, a pickle of the protocol, or JSON where that is 0."""
    for rank, entries in per_rank.items():
        made = dump(entries, ranks)
        put(folder, f"{job}/nccl_trace_rank_{rank}", pickle.dumps(made, protocol) if protocol else json.dumps(made))
    return os.path.join(folder, job)


def test_flight_recorder(folder):
    ranks = 8
    for protocol in (0, 2, 5):
        job = f"p{protocol}"
        normal = [entry(n) for n in (43, 44)] + [entry(45, state="started")]
        answer, cause = first(dumps(folder, job + "late", {r: normal if r != 3 else normal[:2] for r in range(ranks)}, ranks, protocol))
        assert answer["state"] == "failed" and cause["cause"] == "rank_lost", answer
        assert "rank 3 came to number 44" in cause["evidence"] and "all_reduce number 45" in cause["evidence"], cause
        assert "/job/train.py:212 (step)" in cause["evidence"] and "look at rank 3" in cause["remedy"], cause
        answer, cause = first(dumps(folder, job + "odd", {r: normal[:2] + [entry(45, "all_reduce", (1000 if r == 5 else 1024,), "started")]
                                                         for r in range(ranks)}, ranks, protocol))
        assert cause["cause"] == "collective_mismatch" and "rank 5 called all_reduce number 45 of 1000 Float" in cause["evidence"], cause
    answer, cause = first(dumps(folder, "operation", {r: [entry(7, "broadcast" if r == 1 else "all_reduce", state="started")]
                                                     for r in range(ranks)}, ranks))
    assert cause["cause"] == "collective_mismatch" and "rank 1 called broadcast" in cause["evidence"], cause
    answer, cause = first(dumps(folder, "type", {r: [entry(7, dtype="BFloat16" if r == 6 else "Float", state="started")]
                                                for r in range(ranks)}, ranks))
    assert cause["cause"] == "collective_mismatch" and "rank 6 called" in cause["evidence"] and "BFloat16" in cause["evidence"], cause
    answer, cause = first(dumps(folder, "gone", {r: [entry(7, state="started")] for r in range(ranks) if r != 2}, ranks))
    assert cause["cause"] == "rank_lost" and "rank 2 of 8 wrote no dump" in cause["evidence"], cause
    answer, cause = first(dumps(folder, "all", {r: [entry(7, state="started")] for r in range(ranks)}, ranks))
    assert "rank 0-7 waited for all_reduce number 7" in cause["evidence"], cause
    # uneven shares of an all_to_all are right
    answer = found(dumps(folder, "uneven", {r: [entry(7, "all_to_all", (100 + r,))] for r in range(ranks)}, ranks))
    assert answer["state"] == "nothing_to_judge", answer
    answer = found(dumps(folder, "fine", {r: [entry(n) for n in range(1, 50)] for r in range(ranks)}, ranks))
    assert answer["state"] == "nothing_to_judge" and answer["causes"] == [], answer
    # in a group of some ranks: the rank that waits in no other group is where it began
    groups = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}, "1": {"name": "1", "desc": "tp", "ranks": "[2, 3]"}}
    for rank in range(4):
        entries = [entry(9, state="completed")]
        if rank < 2:
            entries.append(entry(10, state="started"))
        if rank == 2:
            entries.append(entry(4, state="started", group=("1", "tp")))
        made = dump(entries, 4, groups)
        made["pg_status"] = {"0": {"last_enqueued_collective": 10 if rank < 2 else 9},
                             "1": {"last_enqueued_collective": 4 if rank == 2 else 3}}
        if rank < 2:
            del made["pg_status"]["1"]
        put(folder, f"nested/trace_{rank}", pickle.dumps(made, 2))
    answer, cause = first(os.path.join(folder, "nested"))
    assert "group 1 (tp): rank 3 came to number 3, rank 2 waited" in cause["evidence"], cause


class Evil:
    """A pickle that would run a command where it is loaded."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def test_hostile(folder):
    sign = os.path.join(folder, "executed")
    for protocol in range(2, 6):
        file = put(folder, "evil", pickle.dumps({"entries": [Evil("touch " + sign)], "version": "2.9"}, protocol))
        refused(file, saying=["only plain values are read, and nothing is run"])
        refused(put(folder, "set", pickle.dumps({"entries": [1, 2], "version": "x"}, protocol)[:-1]), saying=["is cut"])
    assert not os.path.exists(sign), "a pickle was executed"
    whole = pickle.dumps(dump([entry(n) for n in range(20)], 4), 4)
    for size in random.Random(1).sample(range(2, len(whole)), 8):  # the fuzz target dumps takes many more, and broken ones
        refused(put(folder, "cut", whole[:size]), saying=["pickle"])
    refused(put(folder, "deep", b"\x80\x02" + b"(" * 100000 + b"."), saying=["nested more than"])
    refused(put(folder, "list", b"\x80\x02" + b"]" * 3000000 + b"."), saying=["more than"])
    refused(put(folder, "memo", b"\x80\x02h\x05."), saying=["recalls a value that is not there"])
    refused(put(folder, "long", b"\x80\x04\x8d" + b"\xff" * 8 + b"."), saying=["is cut"])
    refused(put(folder, "other", pickle.dumps({"a": 1}, 2)), saying=["no dump of PyTorch's flight recorder"])
    bomb = b"\x80\x02]q\x00" + b"".join(b"]q" + bytes([i]) + b"(" + (b"h" + bytes([i - 1])) * 100 + b"e" for i in range(1, 60)) + b"."
    refused(put(folder, "bomb", bomb), saying=["pickle"])
    itself = b"\x80\x02}q\x00(X\x07\x00\x00\x00entriesh\x00X\x07\x00\x00\x00versionK\x01u."  # a map that holds itself
    works(put(folder, "itself", itself), "--json")
    refused(put(folder, "json", '{"version": "2.9", "entries": [' + "[" * 5000), saying=["nested more than"])
    refused(put(folder, "zip.json", '{"version": "2.9", "entries": [1, 2'), saying=["ends too early"])
    # one damaged dump of several is left out and named
    job = dumps(folder, "some", {r: [entry(7, state="started")] for r in range(4)}, 4)
    put(job, "nccl_trace_rank_1", whole[:100])
    answer = found(job)
    assert any("nccl_trace_rank_1" in note and "cut" in note for note in answer["notes"]), answer


RAS = """NCCL version 2.26.2 compiled with CUDA 12.6
CUDA runtime version 12060, driver version 12060

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4          8            1         32       32

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4         8        32        {in_group}   RUNNING  {status}

Errors
======
{errors}
Warnings
========
{warnings}"""


def test_ras(folder):
    mismatch = RAS.format(in_group=32, status="MISMATCH", errors="", warnings="""
#0-0 (fa93daea854b060b) MISMATCH
  Communicator ranks have different AllGather operation counts
  30 ranks have launched up to operation 640
  2 ranks have launched up to operation 641
  Rank 12 -- GPU 4 managed by process 323032 on node 10.137.190.124
  Rank 13 -- GPU 5 managed by process 323033 on node 10.137.190.124
""")
    answer, cause = first(put(folder, "ras.txt", mismatch))
    assert cause["cause"] == "collective_mismatch", cause
    assert "AllGather of #0-0 (fa93daea854b060b): rank 12, 13 on 10.137.190.124 launched 641" in cause["evidence"], cause
    missing = RAS.format(in_group=31, status="INCOMPLETE", warnings="", errors="""
INCOMPLETE
  Missing communicator data from 1 job process
  Process 60004 on node 10.4.109.13 managing GPU 0

#0-0 (b3398875b8b2a063) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 9 -- GPU 0 managed by process 60004 on node 10.4.109.13
""")
    answer, cause = first(put(folder, "ras.txt", missing))
    assert cause["cause"] == "rank_lost" and "rank 9 on 10.4.109.13" in cause["evidence"], cause
    healthy = RAS.format(in_group=32, status="OK", errors="", warnings="")
    answer = found(put(folder, "ras.txt", healthy))
    assert answer["state"] == "nothing_to_judge" and not answer["causes"], answer

    def communicator(counts, missing):
        rank = {"host": "10.0.77.184", "pid": 8813, "cuda_dev": 0, "nvml_dev": 0}
        status = {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False}
        return {"hash": "0x514e98cf4e44862b", "size": len(counts) + len(missing), "ranks_count": len(counts),
                "ranks": [{"rank": r, **rank, "status": status, "collective_counts": {"AllReduce": n}} for r, n in counts.items()],
                "missing_ranks": [{"rank": r, **rank, "status": {"unresponsive": True}} for r in missing]}

    def report(counts, missing=()):
        return json.dumps({"nccl_version": "2.28.9", "cuda_driver_version": 13000, "communicators_count": 1,
                           "communicators": [communicator(counts, missing)], "ras": {"timeouts_count": 0}}, indent=1)

    answer, cause = first(put(folder, "ras.json", report({0: 10, 1: 10, 2: 3})))
    assert "rank 2 on 10.0.77.184 launched 3, most 10" in cause["evidence"], cause
    # NCCL 2.28.9 forgets the comma before this status
    answer, cause = first(put(folder, "ras.json", report({0: 4}, [1]).replace('"nvml_dev": 0,\n     "status": {\n      "unres',
                                                                            '"nvml_dev": 0\n     "status": {\n      "unres')))
    assert "rank 1 on 10.0.77.184" in cause["evidence"], cause
    answer = found(put(folder, "ras.json", report({0: 10, 1: 10})))
    assert not answer["causes"], answer


def test_inspector(folder):
    def record(rank, number, microseconds):
        return json.dumps({"header": {"id": "0x7f8c496ae9f661", "comm_name": "DP", "rank": rank, "n_ranks": 8, "nnodes": 2},
                           "metadata": {"inspector_output_format_version": "v4.2", "hostname": f"node{rank // 4}", "pid": 1},
                           "coll_perf": {"coll": "AllReduce", "coll_sn": number, "coll_msg_size_bytes": 1 << 30,
                                         "coll_exec_time_us": microseconds, "coll_timing_source": "kernel_gpu", "coll_busbw_gbs": 400.1}})

    def job(name, time_of, last_of=lambda rank: 50):
        for rank in range(8):
            lines = [record(rank, n, time_of(rank, n)) + "\n" for n in range(1, last_of(rank) + 1)]
            put(folder, f"{name}/inspector-{rank}.log", "".join(lines))
        return os.path.join(folder, name)

    answer, cause = first(job("late", lambda rank, n: 1000 if rank == 6 else 9000 + n))
    assert cause["cause"] == "stragglers" and "rank 6 on node1" in cause["evidence"], cause
    answer, cause = first(job("stops", lambda rank, n: 1000, lambda rank: 20 if rank == 2 else 50))
    assert cause["cause"] == "rank_lost" and "rank 2 on node0 recorded up to number 20, others up to 50" in cause["evidence"], cause
    answer = found(job("even", lambda rank, n: 1000 + rank))
    assert not answer["causes"], answer


SMI = """
==============NVSMI LOG==============

Timestamp                                 : Sun Nov 22 10:00:00 2026
Driver Version                            : 550.90.07
CUDA Version                              : 12.4

Attached GPUs                             : 2
GPU 00000000:18:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU Link Info
        PCIe Generation
            Max                           : 5
            Current                       : 5
        Link Width
            Max                           : 16x
            Current                       : 16x
    Clocks Event Reasons
        Idle                              : Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            DRAM Uncorrectable            : 0
    Remapped Rows
        Pending                           : No
        Remapping Failure Occurred        : No
    Fabric
        State                             : Completed
        Status                            : Success
"""


def test_tools(folder):
    answer = found(put(folder, "smi.txt", SMI))
    assert not answer["causes"] and answer["state"] == "nothing_to_judge", answer
    for old, new, cause, words in (
            ("Pending                           : No", "Pending                           : Yes", "gpu_fault",
             "Remapped Rows > Pending = Yes"),
            ("DRAM Uncorrectable            : 0", "DRAM Uncorrectable            : 3", "gpu_fault", "DRAM Uncorrectable = 3"),
            ("State                             : Completed", "State                             : In Progress", "fabric_manager",
             "Fabric > State = In Progress"),
            ("HW Thermal Slowdown           : Not Active", "HW Thermal Slowdown           : Active", "stragglers",
             "HW Thermal Slowdown = Active"),
            ("Current                       : 16x", "Current                       : 8x", "pcie_downgraded", "8x below Max 16x")):
        assert old in SMI, old
        answer, named = first(put(folder, "smi.txt", SMI.replace(old, new)))
        assert named["cause"] == cause and words in named["evidence"] and "GPU 00000000:18:00.0" in named["evidence"], (new, answer)
    eighteen = "".join(f"\t Link {i}: 26.562 GB/s\n" for i in range(18))
    links = "".join(f"GPU {g}: NVIDIA H100 80GB HBM3 (UUID: GPU-{g})\n" + eighteen for g in range(8))
    answer = found(put(folder, "nvlink.txt", links))
    assert not answer["causes"], answer
    answer, named = first(put(folder, "nvlink.txt", links.replace("Link 17: 26.562 GB/s", "Link 17: <inactive>", 1)))
    assert named["cause"] == "nvlink_not_used" and "GPU 0 has 17 active links, others have 18" in named["evidence"], answer
    port = ("CA '{}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: {}\n\t\tPhysical state: {}\n\t\tRate: 400\n"
            "\t\tLink layer: InfiniBand\n")
    fine = "".join(port.format(f"mlx5_{i}", "Active", "LinkUp") for i in range(4))
    answer = found(put(folder, "ibstat.txt", fine))
    assert not answer["causes"], answer
    answer, named = first(put(folder, "ibstat.txt", fine + port.format("mlx5_4", "Down", "Polling")))
    assert "mlx5_4: Port 1 > State = Down" in named["evidence"], answer
    info = ("hca_id:\tmlx5_2\n\ttransport:\t\t\tInfiniBand (0)\n\tphys_port_cnt:\t\t\t1\n\t\tport:\t1\n\t\t\tstate:\t\t\t{}\n"
            "\t\t\tmax_mtu:\t\t4096 (5)\n")
    assert not found(put(folder, "devinfo.txt", info.format("PORT_ACTIVE (4)")))["causes"]
    answer, named = first(put(folder, "devinfo.txt", info.format("PORT_DOWN (1)")))
    assert "ibv_devinfo: mlx5_2: port 1 > state = PORT_DOWN" in named["evidence"], answer


def zstd_of(data):
    """A frame of raw blocks."""
    blocks = [data[i:i + 65536] for i in range(0, len(data), 65536)] or [b""]
    out = b"\x28\xb5\x2f\xfd" + b"\xa0" + struct.pack("<I", len(data))
    for i, block in enumerate(blocks):
        out += struct.pack("<I", len(block) << 3 | (i == len(blocks) - 1))[:3] + block
    return out


def test_packed(folder):
    log = b"x:1:2 [0] NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 5000\n"
    long = b"x:1:2 [0] NCCL INFO comm something\n" * 5000 + log
    for name, content in (("a.log.zst", zstd_of(log)), ("b.log.gz", gzip.compress(log)), ("c", zstd_of(long)), ("d", gzip.compress(long)),
                          ("two", gzip.compress(long) + gzip.compress(log)), ("e", zstd_of(long) + zstd_of(log))):
        answer, cause = first(put(folder, name, content))
        assert cause["cause"] == "launch_mistake" and "Duplicate GPU" in cause["evidence"], (name, answer)
    answer = found(put(folder, "cut.zst", zstd_of(log + long)[:-100]))
    assert any("cut" in note for note in answer["notes"]) and answer["causes"], answer
    done = subprocess.run([TOOL, "diagnose", "-", "--json"], input=zstd_of(long), capture_output=True, timeout=60, check=False)
    assert json.loads(done.stdout)["causes"][0]["cause"] == "launch_mistake", done
    refused(put(folder, "broken.gz", b"\x1f\x8b\x08rubbish"), saying=["damaged or cut"])
    refused(put(folder, "broken.zst", b"\x28\xb5\x2f\xfdrubbish"), saying=["damaged or cut"])


def test_against(folder):
    """A bad run beside a good one: figures, versions, settings, connections and lines that differ, and nothing else."""
    def log(version, adapters, way, bus, more=""):
        head = "n0:1:2 [0] NCCL INFO "
        sizes = (1 << 26, 1 << 28, 1 << 30)
        side = {size: f"  {size * 1.875 / bus / 1e3:.1f}  {bus / 1.875:.2f}  {bus:.2f}  0" for size in sizes}
        rows = "".join(f"  {size}  {size // 4}  float  sum  -1{side[size]}{side[size]}\n" for size in sizes)
        return (f"{head}NCCL version {version}\n{head}NCCL_IB_HCA set by environment to {adapters}\n"
                f"{head}Channel 00/0 : 0[0] -> 8[0] via {way}\n{head}24 coll channels, 0 nvls channels, 32 p2p channels\n{more}"
                "# Collective test starting: all_reduce_perf\n"
                "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n" + rows)

    good = put(folder, "good/run.log", log("2.21.5", "mlx5", "NET/IB/0/GDRDMA", 380))
    warning = "n0:1:2 [0] a/b.cc:1 NCCL WARN Something new happened to 17\n"
    bad = put(folder, "bad/run.log", log("2.18.3", "mlx5_0", "NET/Socket/0", 110, warning))
    for words in ((bad, "--against", good), (os.path.dirname(bad), "--against", os.path.dirname(good))):
        answer = found(*words)
        differs = {one["what"]: (one["here"], one["there"]) for one in answer["differences"]}
        assert answer["state"] in ("slow", "failed"), answer
        assert differs["NCCL version"] == ("2.18.3", "2.21.5") and differs["NCCL_IB_HCA"] == ("mlx5_0", "mlx5"), differs
        assert differs["connections"] == ("NET/Socket", "NET/IB with GPUDirect"), differs
        assert any(what.startswith("bus bandwidth at ") and ways == ("110 GB/s", "380 GB/s") for what, ways in differs.items()), differs
        assert any(one["what"] == "a line only here" and "Something new happened" in one["here"] for one in answer["differences"]), answer
        assert "channels" not in differs and not any("Collective test" in here for here, _ in differs.values()), differs
    answer = found(good, "--against", good)
    assert answer.get("differences", []) == [] and any("nothing differs" in note for note in answer["notes"]), answer
    text = works(bad, "--against", good)
    assert "NCCL version: 2.21.5, here 2.18.3" in text and len(text.splitlines()) <= 26, text
    refused(bad, "--against", os.path.join(folder, "none.log"), saying=["there is no such file"])


def test_times_of_a_collective_without_a_machine_ask_for_it(folder):
    log = put(folder, "osu.log", "# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n4  9.10\n1048576  410.20\n")
    assert "say which with --system" in found(log)["verdict"]
    assert "--system" not in found(log, "--system", "mi300x", "--ranks", "16", "--nodes", "2")["verdict"]


def test_files_for_other_commands_name_them(folder):
    with open(os.path.join(folder, "a.nsys-rep"), "wb") as file:
        file.write(b"NSYS-REP\0\0\1")
    refused(os.path.join(folder, "a.nsys-rep"), saying=["nsys export --type sqlite "])
    refused(written(folder, "a.xml", '<system version="1">\n</system>\n'), saying=["fabricost topo "])


if __name__ == "__main__":
    run_tests(globals())
