"""A verdict needs an event: settings, help texts, legends and progress are none, nor is what a run went on after; one line can be enough."""
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, run_tests, written
from tables import H100, SOUND, table

COMMAND = Command(sys.argv[1], "diagnose")
SICK = ("failed", "slow")
QUIET = """\
[2026-06-11 04:11:07] server_args=ServerArgs(model_path='/m', watchdog_timeout=300, abort_on_error=False, nccl_port=None, tp_size=8)
non-default args: {'disable_custom_all_reduce': False, 'fabric_manager': 'inactive', 'on_core_dump': 'core dumped', 'watchdog_timeout': 300}
[2026-06-11 04:11:07 TP1] server_args=ServerArgs(watchdog_timeout=300, fail_on_error=None, attention_backend='fatal error', tp_size=8)
distributed_timeout_minutes: 10
  check_for_nan_in_loss_and_grad .................. True
  watchdog_timeout ................................ 600
usage: launch.py [-h] [--watchdog-timeout T] [--fail-on ERROR: CUDA error]
  --watchdog-timeout T  seconds until a hang is a fatal error
  -e, --abort           abort with CUDA error or Connection refused
  SYS  = Connection refused by nobody, traversing the SMP interconnect
Loading shards, CUDA error handler:  50%|#####     | 2/4 [00:10<00:10,  5.0s/it]
[2026-06-11 04:11:03] Piecewise CUDA graph is enabled, use MLA for prefill.
INFO 07-27 06:50:12 [config.py:345] Using PFC and adaptive routing
"""
EVENTS = """\
RuntimeError: CUDA error: an illegal memory access was encountered
[rank3]:[E ProcessGroupNCCL.cpp:563] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, Timeout(ms)=600000)
time="2026-06-11" level=error msg="connect 10.0.0.2: Connection refused, MPI_ABORT" host=a rank=1
Loading shards:  50%|#####     | 2/4 [00:10<00:10,  5.0s/it] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.
INFO 07-27 06:50:12 [worker.py:3] RuntimeError: NCCL error: unhandled system error
"""
WAITS = ("(EngineCore pid=11) INFO 12-09 11:{}:53 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds. "
         "This typically happens when some processes are hanging or doing some time-consuming work (e.g. compilation).\n")
SERVES = 'INFO:     10.0.0.2:38012 - "POST /v1/completions HTTP/1.1" 200 OK\n'


def answer(folder, text, *words):
    return json.loads(COMMAND.works(written(folder, "run.log", text), "--json", *words))


def test_settings_help_legends_and_progress_are_no_events(folder):
    found = answer(folder, "torch with NCCL starts\n" + QUIET)
    assert found["state"] == "nothing_to_judge" and not found["causes"], found
    for line in EVENTS.splitlines():
        assert answer(folder, line + "\n")["state"] == "failed", line


def test_descriptions_of_options_and_harmless_noise_are_no_events(folder):
    for text in ("  -t, --timeout N  seconds\n        until CUDA error: an illegal memory access was encountered\n",
                 "[   12.3] pci 0000:5e:00.0: Adding to iommu group 42\n",
                 "n1:1:1 [0] NCCL INFO Attribute coll of node net not found\n"):
        assert answer(folder, "NCCL\n" + text)["state"] == "nothing_to_judge", text
    assert answer(folder, "  -t, --timeout N  seconds\n" + EVENTS.splitlines()[0] + "\n")["state"] == "failed"


def test_a_setting_that_help_describes_is_not_set(folder):
    told = "  --nvls HOW  in-switch reduction, on (default) or off\n              (NCCL_NVLS_ENABLE=0)\n"
    assert answer(folder, "NCCL\n" + told)["causes"] == []
    assert answer(folder, "NCCL\n(NCCL_NVLS_ENABLE=0)\n")["causes"][0]["cause"] == "nvls_off"


def test_random_settings_are_no_events(folder):
    made = random.Random(7)
    words = ["watchdog", "timeout", "error", "fatal", "nccl", "abort", "fabric_manager", "stuck", "p2p", "straggler", "ECC", "oom", "imex"]
    for _ in range(5):
        pairs = [f"{made.choice(words)}_{made.choice(words)}={made.choice(['300', 'None', 'True', '0.5', '-1'])}" for _ in range(30)]
        found = answer(folder, "NCCL\nargs: Namespace(" + ", ".join(pairs) + ")\n")
        assert found["state"] == "nothing_to_judge", (pairs, found)


def test_two_tables_are_two_runs(folder):
    slow = [(size, rate / 10) for size, rate in SOUND]
    varied = answer(folder, f"Run over NVLink:\n{table(H100, SOUND)}\nRun over InfiniBand:\n{table(H100, slow)}")
    assert varied["state"] not in SICK and not varied["causes"], varied
    assert any("47.8 GB/s" in note and "Run over InfiniBand" in note for note in varied["notes"]), varied["notes"]
    unsaid = answer(folder, table(H100, SOUND) + table(H100, slow))
    assert unsaid["state"] == "slow" and "1 of 2" in unsaid["verdict"], unsaid["verdict"]
    repeated = answer(folder, table(H100, SOUND) + table(H100, [(size, rate * 0.98) for size, rate in SOUND]))
    assert repeated["state"] == "as_predicted" and "runs" not in repeated["verdict"], repeated["verdict"]


def test_a_server_that_starts_does_not_hang(folder):
    waits = "".join(WAITS.format(minute) for minute in range(26, 32))
    assert answer(folder, waits)["state"] == "failed"
    for later in ("INFO 12-09 11:33:01 [backends.py:3] torch.compile takes 341.2 s in total\n", SERVES):
        assert answer(folder, waits + later)["state"] == "nothing_to_judge", later
        assert answer(folder, later + waits)["state"] == "failed", later


def test_what_a_run_goes_on_after_did_not_end_it(folder):
    error = "(Worker pid=3) ERROR 12-09 11:26:53 [fusion.py:85] RuntimeError: CUDA error: invalid resource handle\n"
    survived = answer(folder, error + SERVES)
    assert survived["state"] == "nothing_to_judge" and any("went on" in note for note in survived["notes"]), survived
    assert answer(folder, SERVES + error)["state"] == "failed"


def test_the_number_is_compared_with_public_runs(folder):
    said = answer(folder, table(H100, SOUND))["normal"]
    assert said.startswith("478 GB/s at 4 GiB: normal, expected ") and " of 6 public runs on such machines are slower (" in said, said
    assert answer(folder, table(H100, [(size, rate / 3) for size, rate in SOUND]))["normal"].startswith("159 GB/s at 4 GiB: low"), said
    assert answer(folder, "NCCL\n")["normal"] == ""
    text = COMMAND.works(written(folder, "run.log", table(H100, SOUND)))
    assert text.startswith("as predicted") and "\nnumber  478 GB/s at 4 GiB: normal" in text, text


def test_one_line_is_enough(folder):
    for line, cause, words in (
            ("SHARP coll init error: Cannot create SHARP job(-11)", "other", "sharp_am"),
            ("SHARP group create: Streaming Tree lock failed (-18)", "other", "another job"),
            ("h:1:1 [1] NCCL INFO ncclMaxSharedMem 82240 exceeds device/fn maxSharedMem 79856", "bug_in_version", "2.26"),
            ("gloo/transport/tcp/socket.cc:142] rv != -1. -1 vs -1. connect: Network is unreachable.", "bootstrap_network", "GLOO_SOCKET_IFNAME"),
            ("RuntimeError: pidfd_getfd(pidfd=164, fd=183) failed with errno 1: Operation not permitted.", "no_p2p_shm", "SYS_PTRACE"),
            ("ibgda.cpp:nvshmemt_init:3626: neither nv_peer_mem, or nvidia_peermem detected. Skipping transport.", "gdr_off", "modprobe"),
            ("AssertionError: VLLM_HOST_IP must be set for multi-node", "launch_mistake", "variable"),
            ("ValueError: vllm requires nccl>=2.29, found version 2.27.5", "version_mismatch", "version")):
        found = answer(folder, line + "\n")
        assert found["state"] in SICK and found["causes"][0]["cause"] == cause, (line, found)
        assert words in json.dumps(found["causes"][0]), (line, found["causes"][0])


def test_times_of_steps_are_told(folder):
    for line in (" iteration {0:8d}/ 100 | consumed samples: 64 | elapsed time per iteration (ms): 1200.0 | lm loss: 2.0E+00 |\n",
                 "[20260101 10:00:00][rank-7/8][INFO ] iteration {0}/ 50 | elapsed time per iteration (ms): 1200.0/1205.1 | hip mem usage: 1GB |\n",
                 "completed step: {0}, seconds: 1.200, TFLOP/s/device: 410.3, Tokens/s/device: 3276.8, loss: 8.1\n"):
        notes = answer(folder, "".join(line.format(i) for i in range(12)))["notes"]
        assert any(note.startswith("12 times of steps or samples: 1.20 s at the median") for note in notes), (line, notes)


def test_one_host_with_a_gpu_for_every_rank_needs_no_network(folder):
    start = "a:1:2 [0] NCCL INFO NET/IB : No device found.\na:1:2 [0] NCCL INFO Using network Socket\n"
    line = "{}:1:2 [{}] NCCL INFO comm 0x5 rank {} nranks 4 cudaDev {} busId {}000 commId 0x1 - Init COMPLETE\n"
    assert answer(folder, start + "".join(line.format("a", i, i, i, i) for i in range(4)))["state"] not in SICK
    for other, distinct in (("b", 4), ("a", 2), ("a", 3)):
        found = answer(folder, start + "".join(line.format("a" if i < 2 else other, i % 2, i, i % 2, i % distinct) for i in range(4)))
        assert found["causes"][0]["cause"] == "tcp_fallback", (other, distinct, found)


def test_what_a_device_tells_of_itself_stands_beside_a_good_table(folder):
    good = table(H100, SOUND)
    xid = "[Mon Nov 30 10:11:13 2026] NVRM: Xid (PCI:0000:9d:00): {}, pid=1, name=python, something\n"
    port = "CA 'mlx5_0'\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Polling\n\t\tRate: 400\n"
    for said in [xid.format(number) for number in (48, 63, 64, 74, 79, 94, 95)] + [port]:
        for text in (said + good, good + said):
            found = answer(folder, text)
            assert found["state"] == "failed" and "not slow: at 4 GiB" in found["verdict"], (said, found["verdict"])
            assert COMMAND.run(written(folder, "run.log", text), "--check").returncode == 1, said
    for said in (500 * xid.format(92), "[1.0] mlx5_core 0000:5e:00.0 ens1f0: Link down\n[9.0] mlx5_core 0000:5e:00.0 ens1f0: Link up\n",
                 "[1.0] nvidia-nvswitch3: SXid (PCI:0000:c2:00.0): 20034, Non-fatal, Link 30 LTSSM Fault Up\n",
                 "GPU0: LnkSta: Speed 8GT/s (downgraded), Width x8 (downgraded)\n",
                 "[1.0] pcieport 0000:97:01.0: AER: Corrected error received: 0000:97:01.0\n", EVENTS.splitlines()[0] + "\n",
                 "=====NVSMI LOG=====\nGPU 00000000:1B:00.0\n    ECC Errors\n        Volatile\n            DRAM Correctable : 184223\n"):
        found = answer(folder, said + good, "--check")
        assert found["state"] == "as_predicted" and any(note.startswith("also seen, ") for note in found["notes"]), (said[:99], found)
    assert answer(folder, xid.format(92))["causes"][0]["what"].endswith("(Xid 92)")


def test_known_versions_need_their_machine(folder):
    line = "a:1:2 [0] NCCL INFO NCCL version 2.26.2+cuda12.2\n{}\nTest CUDA failure common.cu:1 'an illegal memory access was encountered'\n"
    pro = answer(folder, line.format("#  Rank  0 Group  0 Pid 1 on a device  0 [0x01] NVIDIA RTX PRO 6000 Blackwell"))
    assert pro["causes"][0]["cause"] == "bug_in_version", pro
    other = answer(folder, line.format("#  Rank  0 Group  0 Pid 1 on a device  0 [0x01] NVIDIA H100"))
    assert all(one["cause"] != "bug_in_version" for one in other["causes"]), other


if __name__ == "__main__":
    run_tests(globals())
