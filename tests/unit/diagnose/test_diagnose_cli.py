"""fabricost diagnose as scripts see it: exit status, what is on which stream, the JSON's fields.

    test_diagnose_cli.py FABRICOST
"""
import gzip
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, run_tests, written

TOOL = sys.argv[1]
COMMAND = Command(TOOL, "diagnose")
works, refused = COMMAND.works, COMMAND.refused
CAUSES = ("acs_enabled algorithm_choice bug_in_version container_vm_topology cpu_launch_bound debug_env expected_value_wrong "
          "few_channels gdr_off half_rate_link iommu ll128_off nic_wrong_numa no_p2p_shm nvlink_not_used nvls_off oversubscription "
          "pcie_downgraded rail_missing roce_untuned small_message stragglers tcp_fallback other fabric_manager imex gpu_fault gpu_memory "
          "host_memory locked_memory bootstrap_network link_failed collective_mismatch rank_lost version_mismatch launch_mistake "
          "program_error plugin_missing driver_mismatch wrong_machine sharp_off").split()
INFO = "x:1:2 [0] NCCL INFO "
BROKEN = (INFO + "NCCL_P2P_DISABLE set by environment to 1\n" + INFO + "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
          + INFO + "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n")
FINE = "".join(f"# Rank {r} Group 0 Pid 1 on n device {r} [0x0{r}] NVIDIA H100 80GB HBM3\n" for r in range(8)) + (
    "# Collective test starting: all_reduce_perf\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "  268435456      67108864     float     sum      -1   1157.3  231.95  405.92      0   1157.9  231.83  405.70      0\n"
    " 1073741824     268435456     float     sum      -1   4030.7  266.39  466.18      0   4031.0  266.37  466.15      0\n")


def test_contract(folder):
    found = json.loads(works(written(folder, "broken.log", BROKEN), "--json"))
    assert found["healthy"] is False and found["state"] == "slow", found
    assert len(found["causes"]) >= 2, found
    confidences = [c["confidence"] for c in found["causes"]]
    assert confidences == sorted(confidences, reverse=True), confidences
    assert len({c["cause"] for c in found["causes"]}) == len(found["causes"]), "a cause is named once"
    for cause in found["causes"]:
        assert set(cause) - {"what", "rule", "page"} == {"cause", "confidence", "evidence", "remedy"}, cause
        assert cause["page"] == "docs/causes.md#" + cause["cause"], cause
        assert cause["cause"] in CAUSES and 0 < cause["confidence"] <= 1 and cause["evidence"] and cause["remedy"], cause
    fine = json.loads(works(written(folder, "fine.log", FINE), "--json", "--system", "dgx-h100"))
    assert fine["healthy"] is True and fine["state"] == "as_predicted" and fine["causes"] == [], fine
    # above the interval at every large size, but by less than a fault would cost
    behind = FINE.replace("1157.3", "1300.0").replace("1157.9", "1300.0").replace("4030.7", "4500.0").replace("4031.0", "4500.0")
    above = json.loads(works(written(folder, "behind.log", behind), "--json", "--system", "dgx-h100", "--check"))
    assert above["healthy"] is True and above["state"] == "slower_than_predicted" and above["causes"] == [], above
    assert above["verdict"].startswith("slower than predicted by x1.1"), above
    high = json.loads(works(os.path.join(folder, "fine.log"), "--json", "-s", "dgx-h100", "--expected", "900 GB/s"))
    assert high["healthy"] is True and [c["cause"] for c in high["causes"]] == ["expected_value_wrong"], high


def test_states(folder):
    """One of four on the first line; exit status 0, or with --check 1 for what failed or is slow."""
    failed = INFO.replace("INFO", "WARN") + "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 5000\n"
    unknown = INFO.replace("INFO", "WARN") + "The flux capacitor is empty\n"
    for name, text, state in (("failed", failed, "failed"), ("unknown", unknown, "failed"), ("broken", BROKEN, "slow"),
                              ("fine", FINE, "as_predicted"), ("info", INFO + "cudaDriverVersion 12020\n", "nothing_to_judge")):
        log = written(folder, name + ".log", text)
        found = json.loads(works(log, "--json"))
        assert found["state"] == state, (name, found)
        begins = "nothing was measured, but likely" if name == "broken" else state.replace("_", " ")
        assert begins in ("\n" + works(log)), works(log)
        done = COMMAND.run(log, "--check")
        assert done.returncode == (1 if state in ("failed", "slow") else 0) and done.stderr == "", (name, done)
        assert done.stdout == works(log)
    assert "not understood (line 1: " in works(os.path.join(folder, "unknown.log")), "a line that no rule explains is quoted"
    high = FINE + unknown
    assert json.loads(works(written(folder, "odd.log", unknown + FINE), "--json"))["state"] == "as_predicted", "measurement outvotes words"
    assert json.loads(works(written(folder, "after.log", high), "--json"))["state"] == "as_predicted", "the whole table is there"


def test_contradictions(folder):
    text = works(written(folder, "gb.log", FINE.replace("NVIDIA H100 80GB HBM3", "NVIDIA GB300")), "--system", "dgx-h100")
    assert text.startswith("nothing to judge: dgx-h100 has"), text
    assert "wrong_machine" in text and "GB300" in text, text


def run_of(bus, nodes=16, least=26, most=34, wrong=0, gpu="NVIDIA B200", in_place=1.0, before="", closed=True, announced=34, per_node=8):
    """A test of `per_node` GPUs a node, `bus` GB/s at all sizes of 2^least to 2^most byte."""
    n = per_node * nodes
    out = ["# Collective test starting: all_reduce_perf", f"# nThread 1 nGpus 1 minBytes 8 maxBytes {1 << announced} step: 2(factor) iters: 20"]
    out += [f"#  Rank {r} Group  0 Pid {r} on n{r // per_node} device {r % per_node} [0000:{r % per_node + 16}:00] {gpu}" for r in range(n)] + [before]
    out.append("#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong")
    for power in range(least, most + 1):
        halves = []
        for rate in (bus, bus / in_place):
            alg = rate * n / 2 / (n - 1)
            halves.append(f"{(1 << power) / alg / 1e3:.2f} {alg:.2f} {rate:.2f} {wrong}")
        out.append(f"{1 << power} {1 << power - 2} float sum -1 " + " ".join(halves))
    out += [f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}", f"# Avg bus bandwidth    : {bus}"] if closed else []
    return "\n".join(out) + "\n"


def diagnosed(folder, text, *words):
    return json.loads(works(written(folder, "run.log", text), "--json", *words))


def test_wrong_results(folder):
    """Results that are wrong are a failure, however fast they came, and nothing to fit."""
    for text in (run_of(349, wrong=12), run_of(840, nodes=1).replace(" 0\n#", " 3\n#", 1)):
        found = diagnosed(folder, text, "-s", "dgx-b200")
        assert found["state"] == "failed" and found["causes"][0]["what"] == "results are wrong", found["verdict"]
    done = subprocess.run([TOOL, "calibrate", "-f", written(folder, "half.log", run_of(349) + run_of(349, wrong=12)), "-s", "dgx-b200", "--json"],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "#wrong" in done.stdout, done
    source = "print('# Out of bounds values : %d %s' % (wrong, 'FAILED'))\n"
    refused(written(folder, "source.log", source), saying=["nothing in this file speaks of a run"])


def test_sharp(folder):
    found = diagnosed(folder, run_of(573), "-s", "dgx-b200")
    assert found["state"] == "as_predicted" and "--set nic.sharp=true" in found["verdict"], found["verdict"]
    assert "SHARP" not in diagnosed(folder, run_of(573), "-s", "dgx-b200", "--set", "nic.sharp=true")["verdict"]
    assert "impossible" in diagnosed(folder, run_of(900), "-s", "dgx-b200")["verdict"], "too fast with SHARP, too"
    off = diagnosed(folder, run_of(349), "-s", "dgx-b200", "--set", "nic.sharp=true")
    assert off["causes"][0]["cause"] == "sharp_off" and "half_rate_link" not in [c["cause"] for c in off["causes"]], off["causes"]
    assert "sharp_off" not in [c["cause"] for c in diagnosed(folder, run_of(175), "-s", "dgx-b200")["causes"]]


def test_run_that_ends_early(folder):
    small = diagnosed(folder, run_of(0.9, least=12, most=15, closed=False), "-s", "dgx-b200")
    assert small["state"] == "nothing_to_judge" and "ended at 32 KiB, before 16 GiB" in small["verdict"], small["verdict"]
    large = diagnosed(folder, run_of(349, most=29, closed=False), "-s", "dgx-b200")
    assert large["state"] == "as_predicted" and not large["healthy"] and "ended at 512 MiB, before 16 GiB" in large["verdict"], large
    for whole in (run_of(349, closed=False), run_of(349, most=29), run_of(349, most=29, closed=False, announced=29)):
        assert "ended" not in diagnosed(folder, whole, "-s", "dgx-b200")["verdict"], "it reached its last size, or was closed"


def adapters(count, layer):
    return "n0:1:2 [0] NCCL INFO NET/IB : Using " + " ".join(f"[{i}]mlx5_{i}:1/{layer}" for i in range(count)) + " [RO]; OOB ib0:10.0.0.1<0>"


def test_link_layers(folder):
    """Of InfiniBand nothing is to be tuned as of RoCE, whatever failed or is slow; of RoCE it is considered."""
    timed_out = "\nn0:1:2 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.2<1> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=0"
    for layer, cause in (("IB", "link_failed"), ("RoCE", "roce_untuned")):
        failed = diagnosed(folder, adapters(8, layer) + timed_out + "\n")
        assert failed["causes"][0]["cause"] == cause, (layer, failed["causes"])
        slow = diagnosed(folder, run_of(100, before=adapters(8, layer)), "-s", "dgx-b200")
        assert ("roce_untuned" in [c["cause"] for c in slow["causes"]]) == (layer == "RoCE"), (layer, slow["causes"])
    assert "RoCE, those of dgx-b200 InfiniBand" in diagnosed(folder, run_of(349, before=adapters(8, "RoCE")), "-s", "dgx-b200")["verdict"]


def test_adapters_that_are_missing(folder):
    """A node with fewer adapters than its machine, and slower by as much."""
    found = diagnosed(folder, run_of(308, before=adapters(7, "IB")), "-s", "dgx-b200")
    assert found["state"] == "slow" and found["causes"][0]["cause"] == "rail_missing", found
    assert "lists 7 adapters a node where dgx-b200 has 8" in diagnosed(folder, run_of(370, before=adapters(7, "IB")), "-s", "dgx-b200")["verdict"]
    assert diagnosed(folder, run_of(308, before=adapters(8, "IB")), "-s", "dgx-b200")["state"] == "as_predicted"
    bonds = diagnosed(folder, run_of(308, before=adapters(4, "IB").replace("mlx5_", "mlx5_bond_")), "-s", "dgx-b200")
    assert bonds["state"] == "as_predicted" and "adapters a node" not in bonds["verdict"], bonds["verdict"]


def test_gpu_direct_by_its_price(folder):
    """Staging in host memory is no cause of what it would not cost."""
    assert "gdr_off" not in [c["cause"] for c in diagnosed(folder, run_of(20), "-s", "dgx-b200")["causes"]]


def test_settings_that_cost(folder):
    """A run as fast as its environment allows is as predicted, and what the environment costs is named; the expectation was right."""
    text = run_of(679, nodes=1, before=INFO + "NCCL_NVLS_ENABLE set by environment to 0.")
    for options in ((), ("-s", "dgx-b200"), ("--expected", "820 GB/s")):
        found = diagnosed(folder, text, *options)
        assert found["state"] == "as_predicted" and [c["cause"] for c in found["causes"]] == ["debug_env"], found
        assert found["verdict"].startswith("as predicted with NCCL_NVLS_ENABLE=0, which costs "), found["verdict"]
        assert " GB/s without; at 2 GiB 679 GB/s" in found["verdict"], found["verdict"]
    high = diagnosed(folder, text, "--expected", "1800 GB/s")
    assert [c["cause"] for c in high["causes"]] == ["expected_value_wrong", "debug_env"], high["causes"]
    assert "too small" not in high["causes"][0]["evidence"], "no size is too small beside itself"
    free = diagnosed(folder, run_of(840, nodes=1, before=INFO + "NCCL_ALGO set by environment to NVLS."))
    assert free["causes"] == [] and free["verdict"].startswith("as predicted: "), free


def test_columns_that_differ_alike(folder):
    found = diagnosed(folder, run_of(300, in_place=2.0), "-s", "dgx-b200")
    assert found["causes"][0]["what"].startswith("one of the two columns") and "comes and goes" in found["causes"][0]["evidence"], found["causes"]
    assert "oversubscription" not in [c["cause"] for c in found["causes"] if "comes and goes" in c["evidence"]], found["causes"]


def rack(bus, before=""):
    return run_of(bus, nodes=18, per_node=4, gpu="NVIDIA GB200", before=before)


def test_nvlink_domain_of_several_nodes(folder):
    """A collective inside an NVLink domain crosses no adapter, whatever the log lists of them."""
    listed = adapters(4, "IB")
    causes = {bus: [c["cause"] for c in diagnosed(folder, rack(bus, listed), "-s", "gb200-nvl72")["causes"]] for bus in (180, 500)}
    for named in causes.values():
        assert not {"half_rate_link", "rail_missing", "oversubscription", "tcp_fallback"} & set(named), causes
    assert causes[500][0] == "nvls_off" and causes[180][0] == "imex", causes
    ring = diagnosed(folder, rack(689, INFO + "NVLS multicast support is not available on dev 0"), "-s", "gb200-nvl72")
    assert ring["state"] == "slow" and ring["causes"][0]["cause"] == "nvls_off", ring
    over = listed + "\n" + INFO + "Channel 00/0 : 0[0] -> 4[0] [send] via NET/IB/0/GDRDMA\n" + INFO + "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"
    assert diagnosed(folder, rack(180, over), "-s", "gb200-nvl72")["causes"][0]["cause"] == "imex"
    assert diagnosed(folder, rack(900, listed), "-s", "gb200-nvl72")["state"] == "as_predicted"


def test_latency_alone(folder):
    """Small messages that take several times as long are a fault of their own."""
    table = run_of(790, nodes=1).split("\n")
    small = [f"{1 << power} {1 << power - 2} float sum -1 200.00 0.00 0.00 0 200.00 0.00 0.00 0" for power in range(3, 14)]
    first = next(i for i, line in enumerate(table) if line.startswith("67108864 "))
    text = "\n".join(table[:first] + small + table[first:])
    found = diagnosed(folder, text, "-s", "dgx-b200")
    assert found["state"] == "slow" and found["verdict"].startswith("slow: large messages as predicted, small ones "), found["verdict"]
    assert [c["cause"] for c in found["causes"]] == ["cpu_launch_bound", "stragglers"], found["causes"]
    assert COMMAND.run(written(folder, "run.log", text), "-s", "dgx-b200", "--check").returncode == 1
    usual = diagnosed(folder, text.replace(" 200.00 ", " 40.00 "), "-s", "dgx-b200")
    assert usual["state"] == "as_predicted", usual["verdict"]


def test_one_damaged_row(folder):
    """A row whose columns contradict each other, or that no wire allows, does not decide."""
    rows = run_of(92, nodes=4, gpu="NVIDIA H100 80GB HBM3").split("\n")
    last = max(i for i, line in enumerate(rows) if line.startswith("17179869184 "))
    for damaged in ("17179869184 4294967296 float sum -1361894.32 47.47 91.98 0361894.32 47.47 91.98 0",
                    "17179869184 4294967296 float sum -1 100.00 171798.69 332859.97 0 100.00 171798.69 332859.97 0"):
        found = diagnosed(folder, "\n".join(rows[:last] + [damaged] + rows[last + 1:]), "-s", "dgx-h100")
        assert found["state"] == "slow" and found["normal"].startswith("92 GB/s at "), found
        assert any("set aside, as 16 GiB in " in note for note in found["notes"]), found["notes"]


def test_causes_that_lines_refute(folder):
    """Connections over all adapters refute missing rails, listed ones sockets."""
    listed = adapters(8, "IB")
    slow = {before: [c["cause"] for c in diagnosed(folder, run_of(20, before=before), "-s", "dgx-b200")["causes"]] for before in ("", listed)}
    assert "tcp_fallback" in slow[""] and "tcp_fallback" not in slow[listed], slow
    used = "\n".join(INFO + f"Channel 0{i}/0 : {i}[{i}] -> {8 + i}[{i}] [send] via NET/IB/{i}" for i in range(8))
    found = diagnosed(folder, run_of(90, before=listed + "\n" + used), "-s", "dgx-b200")
    assert found["causes"][0]["cause"] == "gdr_off" and "rail_missing" not in [c["cause"] for c in found["causes"]], found["causes"]
    text = works(written(folder, "two.log", run_of(90)), "-s", "dgx-b200")
    assert text.count("\n  seen  ") == 2, text


def test_why_nothing_was_compared(folder):
    """The reason comes first, not that nothing speaks against the run."""
    assert diagnosed(folder, run_of(349), "-s", "dgx-b200", "-n", "2")["verdict"].startswith("nothing to judge: 128 ranks do not fit on 2 nodes")
    wrong = diagnosed(folder, run_of(840, nodes=1), "-s", "gb200-nvl72")
    assert [c["cause"] for c in wrong["causes"]] == ["wrong_machine"] and "4 GPUs a node" in wrong["verdict"], wrong


def test_quotes_without_tabs(folder):
    matrix = "\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV18\tPIX\t0-55\nGPU1\tNV18\t X \tSYS\t56-111\n"
    found = diagnosed(folder, matrix)
    assert found["causes"] and all("\t" not in c["evidence"] for c in found["causes"]), found
    assert "GPU1 NV18 X SYS 56-111" in found["causes"][0]["evidence"], found["causes"]


def test_machines_to_name(folder):
    assert "128 NVIDIA B200 on 16 nodes: try --system dgx-b200" in diagnosed(folder, run_of(349))["verdict"]
    assert "2 NVIDIA GB10 on 2 nodes: try --system dgx-spark-pair" in diagnosed(folder, run_of(20, nodes=2, gpu="NVIDIA GB10", per_node=1))["verdict"]
    wrong = diagnosed(folder, run_of(184, nodes=8, gpu="NVIDIA A100-SXM4-80GB"), "-s", "dgx-b200")
    assert [c["cause"] for c in wrong["causes"]] == ["wrong_machine"], wrong["causes"]


def test_half_the_port_of_a_pair(folder):
    """11.85 GB/s are one half of a DGX Spark's port, 18.9 to 22.3 the whole of it."""
    states = [diagnosed(folder, run_of(bus, nodes=2, gpu="NVIDIA GB10", per_node=1), "-s", "dgx-spark-pair")["state"] for bus in (11.85, 18.9, 22.3)]
    assert states == ["slow", "as_predicted", "as_predicted"], states


def test_what_only_a_wide_range_holds(folder):
    """8 L40S reach 0.1 to 0.7 of their links, by board: half as much as predicted is inside that range, and said to be."""
    for bus, words in ((9.45, "as predicted, within a wide range: "), (15.5, "as predicted: at")):
        verdict = diagnosed(folder, run_of(bus, nodes=1, gpu="NVIDIA L40S", per_node=4), "-s", "l40s-pcie")["verdict"]
        assert verdict.startswith(words), verdict


def test_one_node_of_several(folder):
    """The number and the table are of the node that the verdict names; what people copy is printed whole."""
    for node, bus in ((1, 790), (2, 840), (3, 845), (4, 600)):
        written(folder, f"node{node}.log", run_of(bus, nodes=1).replace(" on n0 ", f" on b{node} "))
    done = subprocess.run([TOOL, "diagnose", str(folder), "-s", "dgx-b200"], capture_output=True, text=True, timeout=60, check=False,
                          env=os.environ | {"COLUMNS": "120"})
    text = done.stdout
    assert "b4: 600 GB/s" in text.split("\n")[0] and "\nnumber  node4.log: 600 GB/s" in text and "\nnode4.log against dgx-b200" in text, text
    assert not [line for line in text.split("\nmore ")[0].split("\n") if "..." in line and not line.startswith("  seen")], text
    runs = {one["run"] for one in json.loads(works(folder, "-s", "dgx-b200", "--json"))["sizes"]}
    assert runs == {f"node{node}.log" for node in (1, 2, 3, 4)}, runs


def test_remedies_name_hosts(folder):
    for rank in range(6):
        host, state = ("b2", "Disabled") if rank == 5 else (f"b{rank // 4}", "Enabled")
        written(folder, f"rank{rank}.log", f"{host}:1:2 [{rank % 4}] NCCL INFO NCCL version 2.27.7+cuda12.9\n"
                f"{host}:1:2 [{rank % 4}] NCCL INFO NET/IB : GPU Direct RDMA {state} for HCA 0 'mlx5_0'\n")
    causes = json.loads(works(folder, "--json"))["causes"]
    assert any(one["cause"] == "gdr_off" and one["remedy"].startswith("on b2: ") for one in causes), causes


def test_nodes_that_contradict_the_log(folder):
    log = written(folder, "one.log", FINE)
    refused(log, "--nodes", "4", saying=["all 8 ranks are on n; leave --nodes out"])
    refused(log, "--ranks", "16", saying=["--ranks"])


def watched(rank, number, elements):
    return (f"[rank{rank}]:[E626 06:24:44 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: "
            f"WorkNCCL(SeqNum={number}, OpType=ALLREDUCE, NumelIn={elements}, NumelOut={elements}, Timeout(ms)=600000) ran for 600020 "
            "milliseconds before timing out.\n")


def test_next_questions(folder):
    """The next evidence to collect, where several causes remain; none for a cause that is all but certain."""
    hang = ("n1:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/CUMEM\nn1:1:2 [0] NCCL INFO Connected all rings\n"
            "#       size         count      type   redop    root     time   algbw   busbw #wrong\n")
    found = json.loads(works(written(folder, "hang.log", hang), "--json"))
    assert {c["cause"] for c in found["causes"]} >= {"iommu", "acs_enabled"}, found
    asked = [q["ask"] for q in found["next"]]
    assert any("ACSCtl" in ask for ask in asked) and len(asked) == len(set(asked)) <= 3, found["next"]
    assert all(q["tells"] and q["bits"] > 0 for q in found["next"]), found["next"]
    assert not any("NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS" in ask for ask in asked), "NCCL's lines are there"
    certain = json.loads(works(written(folder, "double.log", INFO.replace("INFO", "WARN") + "Duplicate GPU detected : rank 1 and rank 0\n"),
                               "--json"))
    assert certain["causes"][0]["confidence"] > 0.9 and certain["next"] == [], certain
    assert certain["rules"][0]["rule"].startswith("failures.launch_mistake."), certain["rules"]


def test_survived(folder):
    """A warning that no rule explains, before the communicators were made: noted, and no failure."""
    odd = "x:1:2 [0] net.cc:9 NCCL WARN The flux capacitor is empty\n"
    made = INFO + "ncclCommInitRank comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1 - Init COMPLETE\n"
    found = json.loads(works(written(folder, "odd.log", odd + made), "--json"))
    assert found["state"] == "nothing_to_judge" and any("flux capacitor" in note for note in found["notes"]), found
    assert json.loads(works(written(folder, "odd.log", made + odd), "--json"))["state"] == "failed"
    ended = "n1: Test NCCL failure common.cu:1 'internal error / '\n"
    assert json.loads(works(written(folder, "odd.log", ended + made), "--json"))["state"] == "failed", "this line ends a process"


def test_several(folder):
    """Standard input, packed logs, and one log per rank: what is wrong stands between them."""
    job = os.path.join(folder, "job")
    os.mkdir(job)
    for rank in range(4):
        written(job, f"rank{rank}.log", watched(rank, 7, 100 if rank == 2 else 1000))
    together = "".join(watched(rank, 7, 100 if rank == 2 else 1000) for rank in range(4))
    for found in (json.loads(works(job, "--json")), json.loads(works(*(os.path.join(job, f"rank{r}.log") for r in range(4)), "--json"))):
        assert found["state"] == "failed" and found["causes"][0]["cause"] == "collective_mismatch", found
        assert "rank2.log line 1:" in found["causes"][0]["evidence"] and "rank 2" in found["causes"][0]["remedy"], found
    done = subprocess.run([TOOL, "diagnose", "-", "--json"], input=together, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["causes"][0]["cause"] == "collective_mismatch", done
    late = "".join(watched(rank, 6 if rank == 3 else 7, 1000) for rank in range(4))
    found = json.loads(works(written(folder, "late.log", late), "--json"))
    assert found["causes"][0]["cause"] == "rank_lost" and "rank 3 waited for number 6" in found["causes"][0]["evidence"], found
    with gzip.open(os.path.join(folder, "fine.log.gz"), "wt") as file:
        file.write(FINE)
    done = subprocess.run([TOOL, "diagnose", os.path.join(folder, "fine.log.gz"), "--json"], capture_output=True, text=True, timeout=60,
                          check=False)
    if done.returncode == 0:
        assert json.loads(done.stdout)["state"] == "as_predicted", done
    else:
        assert "without zlib" in done.stderr, done


def test_tags(folder):
    """Words that launchers put before a line are not part of it."""
    line = "x:1:2 [0] init.cc:9 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 5000\n"
    for tag in ("[1,0]<stdout>:", "0: ", "[pod/launch-bound-0/main] ", "[rank0]: ", "\x1b[36m(Worker pid=9)\x1b[0m ", "worker-1  | ",
                "2026-01-02T03:04:05.678Z ", "[2026-01-02 03:04:05] ", "[default0]:"):
        found = json.loads(works(written(folder, "tag.log", tag + line), "--json"))
        assert [c["cause"] for c in found["causes"]] == ["launch_mistake"], (tag, found)
        assert found["causes"][0]["evidence"].startswith("line 1: x:1:2"), (tag, found)


if __name__ == "__main__":
    run_tests(globals())
