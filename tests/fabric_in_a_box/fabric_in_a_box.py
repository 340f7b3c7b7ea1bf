#!/usr/bin/env python3
"""Open MPI's collectives over networks of namespaces, each algorithm forced, beside what fabricost predicts from a ping-pong.

    fabric_in_a_box.py TOOL [--probe-source FILE] [--full] [--fabric NAME]... [--save DIR]

Exit status: 0 the median error is within the limit, 1 it is not or something failed, 77 this machine cannot hold a box (it says why).
FABRICOST_BOX=full measures every size and fabric (about ten minutes) instead of some.
"""

import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import box  # noqa: E402
import compare  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 8.0  # percent, median of |error| over algorithms and sizes of 64 KiB and more

# A transport that does what a schedule says, one message a step: sent at once, whatever its length. By default TCP of Open MPI asks for a
# message above 64 KiB first and again for each part of it, and those requests queue behind the data that goes the same way: a ring of
# 1 MiB then takes half as long again.
EAGER = {"btl_tcp_eager_limit": 1 << 24, "btl_tcp_rndv_eager_limit": 1 << 24, "btl_tcp_sndbuf": 1 << 22, "btl_tcp_rcvbuf": 1 << 22}
# Pipelines: segments small beside the message, so that filling the chain does not count.
SEGMENTS = {"coll_tuned_bcast_algorithm_segmentsize": 4096, "coll_tuned_bcast_algorithm_chain_fanout": 1,
            "coll_tuned_allreduce_algorithm_segmentsize": 16384}
PING_PONG = "4,256,1024,65536,262144,524288"

# One launch each: an algorithm of every operation.
LAUNCHES = [
    {"allreduce": "ring", "allgather": "ring", "alltoall": "pairwise", "bcast": "pipeline"},
    {"allreduce": "rabenseifner", "allgather": "recursive_doubling", "alltoall": "linear", "bcast": "chain"},
    {"allreduce": "segmented_ring", "allgather": "bruck", "alltoall": "modified_bruck"},
    {"alltoall": "linear_sync"},
]


def measure(b, probe, name, launches, sizes, repeats):
    """Points and the pair of names each stands for."""
    found = []
    for algorithms in launches:
        requests = [f"{compare.OPERATIONS[op]}={compare.SAME[op, a]}:{','.join(map(str, sizes))}" for op, a in algorithms.items()]
        text = b.mpirun([probe, name, str(repeats), *requests], algorithms, {**EAGER, **SEGMENTS})
        theirs = {compare.OPERATIONS[op]: f"{op}/{a}" for op, a in algorithms.items()}
        found += [(p, theirs[p.operation]) for p in compare.read_points(text)]
    return found


def ping_pong(b, probe, kind="ping_pong"):
    return [p for p in compare.read_points(b.mpirun([probe, "link", "15", f"{kind}=-:{PING_PONG}"], settings=EAGER))]


def only(launches, pairs):
    """The launches with nothing but these (operation, algorithm)."""
    kept = [{op: a for op, a in launch.items() if (op, a) in pairs} for launch in launches]
    return [launch for launch in kept if launch]


NEIGHBOURS = {("allreduce", "ring"), ("allreduce", "segmented_ring"), ("allgather", "ring"), ("bcast", "pipeline")}


def experiments(full):
    """(name, plan, spec, launches, sizes, repeats)."""
    mbit = float(os.environ.get("FABRICOST_BOX_MBIT", "40"))
    sizes = [65536, 262144, 1048576]
    some = [65536, 262144, 1048576] if full else [262144]
    repeats = 9 if full else 5
    out = [
        ("flat", box.flat(4, mbit), LAUNCHES, sizes, repeats),
        ("two-level", box.two_level(2, 2, mbit, mbit), LAUNCHES, some, repeats),
        ("slow-port", box.slow_port(4, mbit, mbit / 2), LAUNCHES[:2], some, repeats),
        ("torus", box.torus(4, mbit), only(LAUNCHES, NEIGHBOURS), some, repeats),
    ]
    if full:
        out.append(("flat", box.flat(8, mbit), LAUNCHES, sizes, repeats))
        out.append(("flat", box.flat(5, mbit), only(LAUNCHES, NEIGHBOURS), [81920, 327680, 1310720], repeats))
        out.append(("two-level", box.two_level(4, 2, mbit, mbit), LAUNCHES, some, repeats))
    return out


def run(tool, probe, folder, full, wanted, save):
    rows = []
    for name, plan, launches, sizes, repeats in experiments(full):
        if wanted and name not in wanted:
            continue
        with box.Box(plan) as b:
            pong = ping_pong(b, probe)
            if name == "two-level":
                inner, outer = compare.fit_link(ping_pong_of_leaf(b, probe)), compare.fit_link(ping_pong(b, probe, "pairs"))
            else:
                inner, outer = compare.fit_link(pong), None
            machine = compare.Machine(tool, os.path.join(HERE, "fabrics", f"{name}.yaml"), inner, outer).write(folder)
            print(f"{name}, {plan.nodes} nodes: a step {inner.latency_us:.0f} us, {inner.rate / 1e6:.3f} MB/s"
                  + (f"; to another leaf, all at once {outer.latency_us:.0f} us, {outer.rate / 1e6:.3f} MB/s" if outer else ""), flush=True)
            for point, theirs in measure(b, probe, name, launches, sizes, repeats):
                predicted = machine.predict(point.operation, point.algorithm, point.nodes, point.bytes)
                rows.append(compare.Row(name, theirs, point.algorithm, point.nodes, point.bytes, point.time_us, predicted, point.notes))
        here = [r for r in rows if r.fabric == name and r.nodes == plan.nodes]
        print(compare.table(here), flush=True)
    return rows


def ping_pong_of_leaf(b, probe):
    """Between the first two nodes, which share a leaf."""
    return compare.read_points(b.mpirun([probe, "link", "15", f"ping_pong=-:{PING_PONG}"], settings=EAGER, ranks=2))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("tool")
    arguments.add_argument("--full", action="store_true", default=os.environ.get("FABRICOST_BOX", "") == "full")
    arguments.add_argument("--fabric", action="append", default=[])
    arguments.add_argument("--save", default="")
    given = arguments.parse_args()
    reason = box.why_not()
    if reason:
        print(f"skipped: {reason}")
        return 77
    with tempfile.TemporaryDirectory(prefix="fabric-in-a-box-") as folder:
        probe = os.path.join(folder, "probe")
        # exported symbols, so that Open MPI finds the probe's sched_yield
        subprocess.run(["mpicxx", "-std=c++20", "-O2", "-rdynamic", os.path.join(HERE, "probe.cpp"), "-o", probe], check=True)
        rows = run(given.tool, probe, folder, given.full, given.fabric, given.save)
    count, median, mean, worst = compare.summary(rows)
    print(f"{count} points of 64 KiB and more: median error {median:.1f} %, mean {mean:.1f} %, worst {worst:.1f} %")
    if count == 0:
        print("nothing was measured")
        return 1
    if median > LIMIT:
        print(f"the median error is above {LIMIT:g} %")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
