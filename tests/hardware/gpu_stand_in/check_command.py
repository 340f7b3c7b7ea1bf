#!/usr/bin/env python3
"""fabricost measure on GPUs made of threads: what it writes, with slices and without permissions, when a call fails, when a byte is turned,
and in two processes of which one is killed.

    check_command.py CUDA_HEADERS NCCL_HEADER FOLDER FABRICOST"""

import csv
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

import stand_in

FOLDER, (TOOL,) = stand_in.built(sys.argv[1:])
SMALL = ["--quiet", "--sizes", "4KiB,20000", "-o", "found.csv"]


def started(folder, *arguments, gpus="devices=2", **variables):
    environment = stand_in.environment(FOLDER, f"{gpus} folder={folder} counted_clock=1") | {"FABRICOST_PROBES": str(FOLDER)}
    for name in ("RANK", "WORLD_SIZE", "NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE"):
        environment.pop(name, None)
    return subprocess.Popen([TOOL, "measure", *arguments], cwd=folder, env=environment | variables, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def measured(folder, *arguments, status=0, **keywords):
    """(stdout, stderr) of one process with this exit status."""
    process = started(folder, *arguments, **keywords)
    out, error = process.communicate(timeout=280)
    assert process.returncode == status, (arguments, keywords, process.returncode, out[-2000:], error[-4000:])
    return out, error


def rows_of(folder):
    with open(folder / "found.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(float(row["time_us"]) > 0 for row in rows), rows
    for row in rows:
        row["notes"] = dict(note.split(" ", 1) for note in row["notes"].split("; "))
    return rows


def machine_of(folder):
    return (folder / "found.machine.yaml").read_text(encoding="utf-8")


def no_litter(folder):
    assert {path.name for path in folder.iterdir()} <= {"found.csv", "found.machine.yaml"}, list(folder.iterdir())


def every_kind_of_probe_gets_its_row(folder):
    measured(folder, "--quiet", "--sizes", "20000", "-o", "found.csv", "--budget", "250", "--quick",
             "--only", "memory", "launch", "host", "peer", "all_reduce")
    rows = rows_of(folder)
    probes = {row["notes"].get("probe", row["operation"]) for row in rows}
    assert probes >= {"memory_read", "memory_write", "memory_copy", "memory_scale", "pointer_chase", "kernel_launch", "kernel_sync",
                      "graph_launch", "event_record", "stream_wait", "host_to_device", "device_to_host", "host_both_ways", "peer_copy",
                      "peer_read", "peer_write", "peer_load", "peer_store", "peer_atomic", "all_reduce"}, probes
    text = machine_of(folder)
    assert "peer_access" in text and 'driver: "580.95.05"' in text and "nvlinks: 18" in text, text
    assert "result was wrong" not in text and "clock is wrong" not in text, text
    no_litter(folder)
    checked = subprocess.run([TOOL, "validate", "found.csv", "--system", "dgx-h100"], cwd=folder, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def a_slice_has_no_peers(folder):
    out, _ = measured(folder, *SMALL, "--budget", "250", "--only", "memory_copy", "peer", gpus="devices=2 mig=1")
    assert {row["operation"] for row in rows_of(folder)} == {"memory_copy"}
    assert "a MIG instance has no peers" in out and "mig_instance: true" in machine_of(folder), out


def an_ordinary_user_learns_less(folder):
    measured(folder, *SMALL, "--budget", "250", "--only", "memory_copy", gpus="permission=0")
    text = machine_of(folder)
    assert "pcie" not in text and "power_limit_w" not in text and "clock_most_mhz: 1980" in text, text


def gpus_without_peer_access_copy_through_the_host(folder):
    out, _ = measured(folder, *SMALL, "--budget", "250", "--only", "peer", gpus="devices=2 peers=0")
    assert {row["notes"]["probe"] for row in rows_of(folder)} == {"peer_copy"}
    assert "no peer access between GPU 0 and GPU 1" in " ".join(out.split()), out


def the_slowest_gpu_is_in_the_row(folder):
    measured(folder, *SMALL, "--budget", "250", "--quick", "--only", "memory_read", "all_reduce", gpus="devices=3 throttled=4")
    for row in rows_of(folder):
        together = row["operation"] == "all_reduce" and "gpus" not in row["notes"]
        assert not together or (row["notes"]["clock_mhz"], row["notes"].get("throttled")) == ("1755", "power cap"), row
        assert row["operation"] == "all_reduce" or row["notes"]["clock_mhz"] == "1980", row
    assert any(row["operation"] == "all_reduce" for row in rows_of(folder))


def what_cannot_be_captured_says_so(folder):
    measured(folder, *SMALL, "--budget", "250", "--only", "memory_read", gpus="devices=1 fail=cudaGraphInstantiate@1=unsupported")
    notes = [row["notes"].get("graph") for row in rows_of(folder)]
    assert notes.count("no") == 1, notes


def a_wrong_result_is_listed_and_never_timed(folder):
    measured(folder, *SMALL, "--budget", "250", "--only", "memory_copy", gpus="devices=1 turn=copy_kernel@1=5")
    assert "the result was wrong: GPU 0, " in machine_of(folder)
    assert [row["bytes"] for row in rows_of(folder) if "cold" not in row["notes"]] == ["19968"], rows_of(folder)


def the_rest_is_measured_after_a_failure(folder):
    for failure, says in (("cudaEventElapsedTime@3=fault", "reading the time between events"),
                          ("cudaMalloc@6=out_of_memory", "out of memory"),
                          ("cudaStreamCreateWithPriority@2=unsupported", "creating a stream")):
        measured(folder, *SMALL, "--budget", "250", "--only", "memory_read", "memory_write", gpus=f"devices=1 fail={failure}")
        assert says in machine_of(folder), (failure, machine_of(folder))
        assert rows_of(folder), failure


def a_lost_gpu_ends_the_run_with_what_was_measured(folder):
    for failure in ("fill_sent_kernel@1=lost", "running_collective@1=lost", "running_collective@30=lost"):
        _, error = measured(folder, *SMALL, "--budget", "250", "--only", "memory_read", "all_reduce", status=2,
                            gpus=f"devices=2 fail={failure}")
        assert "ended before its time" in error and "cudaErrorLaunchFailure" in error, error
        assert rows_of(folder) and "complete: false" in machine_of(folder)
        no_litter(folder)


def a_machine_that_cannot_be_described_is_refused(folder):
    for failure in ("cudaGetDeviceCount@1=unsupported", "cudaGetDeviceProperties@1=fault", "cudaMemGetInfo@1=out_of_memory",
                    "cudaDeviceGetPCIBusId@1=lost"):
        out, error = measured(folder, *SMALL, status=2, gpus=f"devices=2 fail={failure}")
        assert not out and error.startswith("fabricost measure: "), (failure, out, error)
        assert not list(folder.iterdir()), (failure, list(folder.iterdir()))


def two_processes(folder, budget, *what):
    """The first process and the second; both measure collectives on a GPU each."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return [started(folder, *SMALL, "--budget", str(budget), *(what or ("--quick", "--only", "all_reduce")),
                    gpus="devices=2 collective_microseconds=500", RANK=rank, WORLD_SIZE="2", LOCAL_RANK=rank,
                    LOCAL_WORLD_SIZE="2", FABRICOST_PORT=str(port)) for rank in "01"]


def ended(processes):
    """[(exit status, stderr)], all of them in time."""
    return [(process.returncode, error) for process in processes for _, error in [process.communicate(timeout=280)]]


def two_processes_measure_together(folder):
    assert [status for status, _ in ended(two_processes(folder, 250))] == [0, 0]
    rows = rows_of(folder)
    assert rows and {(row["nodes"], row["gpus_per_node"]) for row in rows} == {("1", "2")}, rows


def two_processes_register_buffers_together(folder):
    assert [status for status, _ in ended(two_processes(folder, 250, "--only", "all_gather"))] == [0, 0]
    assert {row["notes"].get("registered") for row in rows_of(folder)} == {None, "yes", "symmetric"}, rows_of(folder)


def wait_for_a_point(folder, processes):
    """Until the first process has written one; fails when a process ends before that."""
    while True:
        for partial in folder.glob("*.partial"):
            if partial.read_text(encoding="utf-8").count("\n") > 1:
                return
        assert all(process.poll() is None for process in processes), ended(processes)
        time.sleep(0.02)


def a_killed_process_ends_the_other(folder):
    for killed in (1, 0):
        processes = two_processes(folder, 200)
        wait_for_a_point(folder, processes)
        processes[killed].send_signal(signal.SIGKILL)
        found = ended(processes)
        if killed == 1:
            status, error = found[0]
            assert status == 2 and "ended before its time" in error, (status, error)
            assert rows_of(folder) and "complete: false" in machine_of(folder)
        else:
            assert len(list(folder.glob("*.partial"))) == 1, list(folder.iterdir())
        for path in folder.iterdir():
            path.unlink()


def main():
    for check in (every_kind_of_probe_gets_its_row, a_slice_has_no_peers, an_ordinary_user_learns_less,
                  gpus_without_peer_access_copy_through_the_host, the_slowest_gpu_is_in_the_row, what_cannot_be_captured_says_so,
                  a_wrong_result_is_listed_and_never_timed, the_rest_is_measured_after_a_failure,
                  a_lost_gpu_ends_the_run_with_what_was_measured, a_machine_that_cannot_be_described_is_refused,
                  two_processes_measure_together, two_processes_register_buffers_together, a_killed_process_ends_the_other):
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            check(pathlib.Path(folder))
            print(f"{check.__name__}: {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
