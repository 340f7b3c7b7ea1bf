"""Logs of 512 ranks are diagnosed in seconds and in bounded memory, and the one line that matters is found.

    test_speed_cli.py FABRICOST [MEGABYTES]

The bound of time is generous (a loaded machine, a build without optimisation); FABRICOST_DIAGNOSE_MB makes more logs.
"""
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

TOOL = sys.argv[1]
RANKS, ODD = 512, 77
SECONDS_PER_MB, START_SECONDS, MOST_MB = 0.12, 10, 500


def log_of(rank, size):
    """The lines that NCCL prints at INFO and a training program in every step."""
    made = random.Random(rank)
    host, gpu = f"node{rank // 8:03d}", rank % 8
    head = f"{host}:{4000 + gpu}:{5000 + gpu} [{gpu}] NCCL INFO "
    begun = f"ncclCommInitRank comm 0x{made.getrandbits(40):x} rank {rank} nranks {RANKS} cudaDev {gpu} commId 0xabcdef - Init "
    lines = [head + f"Bootstrap : Using eth0:10.0.{rank // 2000}.{rank // 8}<0>", head + "NCCL version 2.21.5+cuda12.4",
             head + "NCCL_IB_HCA set by environment to mlx5", head + "Using network IB", head + begun + "START"]
    ways = [f"{rank}[{gpu}] -> {(rank + 1) % RANKS}[{(gpu + 1) % 8}] via " + ("P2P/IPC/read" if gpu < 7 else f"NET/IB/{c % 8}/GDRDMA")
            for c in range(32)]
    lines += [head + f"Channel {c:02d}/0 : {way}" for c, way in enumerate(ways)]
    lines += [head + "Connected all rings", head + "Connected all trees", head + begun + "COMPLETE"]
    length, step = sum(map(len, lines)) + len(lines), 0
    while length < size:
        step += 1
        clock = f"2026-11-22 10:{step // 60 % 60:02d}:{step % 60:02d},{made.randrange(1000):03d}"
        more = [f"[rank{rank}]: {clock} INFO train.py:212 step {step} "
                f"loss {made.random():.5f} lr 3.0e-05 grad_norm {made.random():.4f} tokens/s {1e5 * made.random():.1f}",
                head + f"AllReduce: opCount {step:x} sendbuff 0x{made.getrandbits(44):x} recvbuff 0x7f{made.getrandbits(36):x} "
                f"count {made.randrange(1 << 28)} datatype 9 op 0 root 0 comm 0x{made.getrandbits(40):x} [nranks={RANKS}] stream 0x1",
                head + f"{made.randrange(1 << 28)} Bytes -> Algo 1 proto 2 time {1000 * made.random():f}"]
        lines += more
        length += sum(map(len, more)) + len(more)
    if rank == ODD:
        lines.append(f"[rank{rank}]:[E1122 10:30:00.1 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation "
                     "timeout: "
                     "WorkNCCL(SeqNum=45, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600012 milliseconds "
                     "before timing out.")
    return "\n".join(lines) + "\n"


def main():
    megabytes = float(sys.argv[2] if len(sys.argv) > 2 else os.environ.get("FABRICOST_DIAGNOSE_MB", 60))
    with tempfile.TemporaryDirectory() as folder:
        for rank in range(RANKS):
            with open(os.path.join(folder, f"rank_{rank}.log"), "w", encoding="utf-8") as file:
                file.write(log_of(rank, megabytes * 1e6 / RANKS))
        begun = time.monotonic()
        done = subprocess.run([TOOL, "diagnose", folder, "--json"], capture_output=True, text=True, timeout=600, check=False)
        took = time.monotonic() - begun
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(f"{megabytes:.0f} MB of {RANKS} ranks: {took:.1f} s ({processor:.1f} s of a processor), {memory:.0f} MB")
    assert done.returncode == 0, done.stderr
    first = json.loads(done.stdout)["causes"][0]
    assert f"rank_{ODD}.log line " in first["evidence"] and f"Rank {ODD}" in first["evidence"], first
    assert memory < MOST_MB and processor < START_SECONDS + SECONDS_PER_MB * megabytes, used


if __name__ == "__main__":
    main()
