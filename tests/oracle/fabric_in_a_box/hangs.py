#!/usr/bin/env python3
"""A job of 64 processes on eight nodes of namespaces that hangs, and `fabricost diagnose` on what its ranks leave behind.

    hangs.py TOOL

The ranks pass messages round a ring over TCP. One stops, one calls a collective of another size, or the switch's port of
one node goes down; the others wait until their watchdog's time is out, say so as PyTorch and NCCL do, and dump their
flight recorder. The diagnosis has to name the rank or the node. Exit status 77: this machine cannot hold a box (it says why).
"""

import os
import pickle
import signal
import socket
import subprocess
import sys
import time

RANKS, PER_NODE, CALLS, BAD_CALL, COUNT = 64, 8, 14, 12, 16384
STOPPED, ODD, DARK = 37, 21, 4  # a rank that stops, one that calls another size, a node whose port goes down
TIMEOUT = 7.0
NOW = "take_the_port_down"  # a file with which the job says that it is in its middle


def address_of(rank):
    return f"10.77.0.{rank // PER_NODE + 1}"


class Rank:
    """One process of the job."""

    def __init__(self, rank, fault, folder):
        self.rank, self.fault, self.folder, self.entries = rank, fault, folder, []
        self.peer = rank  # with whom it is in a call
        self.log = open(os.path.join(folder, f"rank_{rank}.log"), "w", encoding="utf-8", buffering=1)
        self.head = f"n{rank // PER_NODE}:{os.getpid()}:{os.getpid()} [{rank % PER_NODE}] "

    def say(self, text):
        self.log.write(text + "\n")

    def connect(self):
        self.say(f"{self.head}NCCL INFO Bootstrap : Using eth0:{address_of(self.rank)}<0>")
        begun = f"{self.head}NCCL INFO ncclCommInitRank comm 0x{os.getpid():x} rank {self.rank} nranks {RANKS} commId 0x77 - Init "
        self.say(begun + "START")
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address_of(self.rank), 20000 + self.rank))
        listener.listen(1)
        listener.settimeout(40)
        after = (self.rank + 1) % RANKS
        for _ in range(400):
            try:
                self.next = socket.create_connection((address_of(after), 20000 + after), timeout=10)
                break
            except OSError:
                time.sleep(0.1)
        self.last, _ = listener.accept()
        for one in (self.next, self.last):
            for option, value in ((socket.TCP_NODELAY, 1), (socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 3),
                                  (socket.TCP_USER_TIMEOUT, 4000)):
                one.setsockopt(socket.IPPROTO_TCP, option, value)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            one.settimeout(60)  # until all ranks are there
        self.say(begun + "COMPLETE")

    def all_reduce(self, number, count):
        """Sends as many bytes round the ring as a ring's all-reduce moves."""
        self.entries.append({"record_id": number, "process_group": ("0", "default_pg"), "collective_seq_id": number, "p2p_seq_id": 0,
                             "profiling_name": "nccl:all_reduce", "input_sizes": [[count]], "input_dtypes": ["Float"],
                             "output_sizes": [[count]], "output_dtypes": ["Float"], "state": "started", "is_p2p": False,
                             "frames": [{"name": "step", "filename": "/job/train.py", "line": 88}]})
        part = bytes(4 * count // RANKS)
        for _ in range(2 * (RANKS - 1)):
            self.peer = (self.rank + 1) % RANKS
            self.next.sendall(len(part).to_bytes(8, "little") + part)
            self.peer = (self.rank - 1) % RANKS
            head = self.last.recv(8, socket.MSG_WAITALL)
            if len(head) == 8 and int.from_bytes(head, "little") != len(part):  # a receive of another size is never matched
                time.sleep(TIMEOUT)
                raise TimeoutError("timed out")
            left = len(part)
            while left > 0:
                left -= len(self.last.recv(left)) or self.closed()
        self.entries[-1]["state"] = "completed"

    def closed(self):
        raise ConnectionResetError(104, "Connection closed by remote peer", f"rank {self.peer}")

    def run(self):
        self.connect()
        try:
            for number in range(1, CALLS + 1):
                if number == BAD_CALL and self.fault == "stopped" and self.rank == STOPPED:
                    os.kill(os.getpid(), signal.SIGSTOP)
                if number == BAD_CALL and self.fault == "port" and self.rank == 0:
                    with open(os.path.join(self.folder, "..", NOW), "w", encoding="utf-8"):
                        pass
                    time.sleep(1)
                for one in (self.next, self.last):
                    one.settimeout(60 if number == 1 else TIMEOUT)
                odd = number == BAD_CALL and self.fault == "size" and self.rank == ODD
                self.all_reduce(number, 2 * COUNT if odd else COUNT)
        except OSError as error:
            if error.errno is not None:  # the kernel's; without a number the watchdog's time was out
                end = f"{address_of(self.peer)}<{20000 + self.peer}>"
                self.say(f"{self.head}misc/socket.cc:538 NCCL WARN socketProgress: Call to recv from {end} failed : {error.strerror}")
            self.give_up()

    def give_up(self):
        call = self.entries[-1]
        self.say(f"[rank{self.rank}]:[E ProcessGroupNCCL.cpp:616] [Rank {self.rank}] Watchdog caught collective operation timeout: "
                 f"WorkNCCL(SeqNum={call['collective_seq_id']}, OpType=ALLREDUCE, NumelIn={call['input_sizes'][0][0]}, "
                 f"NumelOut={call['input_sizes'][0][0]}, Timeout(ms)={1000 * TIMEOUT:.0f}) ran for {1000 * TIMEOUT + 5:.0f} milliseconds "
                 "before timing out.")
        dump = {"version": "2.9", "entries": self.entries,
                "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(RANKS)))}}}
        with open(os.path.join(self.folder, f"nccl_trace_rank_{self.rank}"), "wb") as file:
            pickle.dump(dump, file, protocol=2)


def job(box, fault, folder):
    """All ranks, until those that can have given up."""
    os.makedirs(folder)
    program = [sys.executable, "-S", "-E", __file__, "--rank"]
    ranks = [subprocess.Popen(["ip", "netns", "exec", box.space(f"n{r // PER_NODE}"), *program, str(r), fault, folder],
                              stdin=subprocess.DEVNULL) for r in range(RANKS)]
    end = time.monotonic() + 60
    middle = os.path.join(folder, "..", NOW)
    try:
        while time.monotonic() < end and sum(one.poll() is None for one in ranks) > (fault == "stopped"):
            time.sleep(0.1)
            if os.path.exists(middle):
                os.remove(middle)
                subprocess.run(["ip", "-n", box.space("s0"), "link", "set", f"p{DARK}", "down"], check=True)
    finally:
        for one in ranks:
            if one.poll() is None:
                one.kill()
            one.wait()


def main():
    sys.dont_write_bytecode = True
    import json
    import tempfile

    import box as boxes

    tool = sys.argv[1]
    why = boxes.why_not()
    if why:
        print(f"skipped: {why}")
        return 77
    expected = {"stopped": ("rank_lost", f"rank {STOPPED} of {RANKS} wrote no dump"),
                "size": ("collective_mismatch", f"rank {ODD} called all_reduce number {BAD_CALL} of {2 * COUNT} Float"),
                "port": ("link_failed", f"do not reach {address_of(DARK * PER_NODE)} (the address of node n{DARK} ({PER_NODE} ranks))")}
    with tempfile.TemporaryDirectory() as folder:
        for fault, (cause, words) in expected.items():
            with boxes.Box(boxes.flat(nodes=RANKS // PER_NODE, mbit=1000)) as box:
                where = os.path.join(folder, fault)
                begun = time.monotonic()
                job(box, fault, where)
                took = time.monotonic() - begun
            done = subprocess.run([tool, "diagnose", where, "--json"], capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr
            found = json.loads(done.stdout)
            first = found["causes"][0]
            print(f"{fault} ({took:.0f} s): {found['verdict']}\n  {first['cause']}: {first['evidence']}\n  {first['remedy']}")
            assert found["state"] == "failed" and first["cause"] == cause and words in first["evidence"], found
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        Rank(int(sys.argv[2]), sys.argv[3], sys.argv[4]).run()
    else:
        sys.exit(main())
