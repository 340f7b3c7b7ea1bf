"""From measured points to a calibration and from that to errors, all of it by the command: measure, calibrate, validate."""

import csv
import dataclasses
import json
import os
import statistics
import subprocess

# Open MPI's collective operations, as its parameters call them, and ours.
OPERATIONS = {"allreduce": "all_reduce", "allgather": "all_gather", "alltoall": "all_to_all", "bcast": "broadcast"}

# Which of its algorithms (ompi/mca/coll/base of Open MPI 4.1) has which schedule here.
SAME = {
    ("allreduce", "ring"): "ring",  # 2(n-1) steps of S/n
    ("allreduce", "segmented_ring"): "ring",  # the same, S/n cut into segments
    ("allreduce", "recursive_doubling"): "recursive_doubling",  # log2 n steps of all of S
    ("allreduce", "rabenseifner"): "rabenseifner",  # halving with distances that double, then back
    ("allgather", "ring"): "ring",
    ("allgather", "recursive_doubling"): "halving_doubling",  # of which an all-gather is the doubling half
    ("allgather", "bruck"): "bruck",
    ("alltoall", "pairwise"): "pairwise",
    ("alltoall", "modified_bruck"): "bruck",
    ("alltoall", "linear"): "direct",  # everything posted at once
    ("alltoall", "linear_sync"): "direct",
    ("bcast", "pipeline"): "ring",  # a chain of n ranks, segment by segment
    ("bcast", "chain"): "ring",  # with one chain; more of them fork at the root
}


class Fault(Exception):
    """A file is not as the command writes it, or the command failed; the message says where."""


def run(*words):
    """Standard output of a command. \\throws Fault with its message"""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Fault(f"{' '.join(str(w) for w in words)}: exit {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def points_of(printed, algorithms, nodes, system):
    """Rows of a point file from what one launch printed, with Open MPI's name of the algorithm that it forced in their notes."""
    theirs = {OPERATIONS[op]: (op, algorithm) for op, algorithm in algorithms.items()}
    rows = []
    for line in printed.splitlines():
        operation, size, microseconds = line.split()
        rows.append({"system": system, "operation": operation, "nodes": nodes, "gpus_per_node": 1, "dtype": "float", "bytes": int(size),
                     "time_us": float(microseconds), "library": "openmpi", "algorithm": SAME[theirs[operation]], "protocol": "simple",
                     "notes": "/".join(theirs[operation])})
    return rows


def write_points(path, points, system):
    """The points as a file, of this system: a name, or the path of a system file."""
    with open(path, "w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, fieldnames=list(points[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({**p, "system": system} for p in points)


def system_yaml(fabric, spec, rates):
    """The fabric with the rates its ports are held to, {"ethernet": 20}: what a datasheet would say, headers not yet taken off."""
    tiers = "".join(f"  - {{name: {tier}, bandwidth: {mbit:g} Mbit/s per direction}}\n" for tier, mbit in rates.items())
    return f"extends: {spec}\nname: {fabric}\nsource: \"what tc holds its ports to\"\ntiers:\n{tiers}"


@dataclasses.dataclass
class Machine:
    """A fabric of this folder, and what `fabricost calibrate` made of points measured in it."""

    tool: str
    fabric: str
    system: str  # file
    calibration: str = ""  # file
    said: str = ""

    def calibrate(self, points, folder):
        fitted = os.path.join(folder, f"{self.fabric}.fitted.csv")
        write_points(fitted, points, self.system)
        self.calibration = os.path.join(folder, f"{self.fabric}.calibration.yaml")
        self.said = run(self.tool, "calibrate", "--system", self.system, "--from", fitted, "-o", self.calibration)
        return self

    def rows(self, points, folder):
        """Measured beside predicted. \\throws Fault where a point was not priced"""
        checked, priced = (os.path.join(folder, f"{self.fabric}.{what}.csv") for what in ("checked", "priced"))
        write_points(checked, points, self.system)
        report = json.loads(run(self.tool, "validate", checked, "--system", self.system, "--calibration", self.calibration, "--raw",
                                "--out", priced, "--json"))
        if report["skipped"]:
            raise Fault(f"{checked}: not priced: {report['skipped']}")
        with open(priced, encoding="utf-8") as text:
            return [Row(self.fabric, r["notes"].split(";")[0], r["predicted_algorithm"], int(r["nodes"]), int(float(r["bytes"])),
                        float(r["time_us"]), float(r["predicted_us"]), r["notes"].partition("; ")[2]) for r in csv.DictReader(text)]


@dataclasses.dataclass
class Row:
    fabric: str
    theirs: str  # operation/algorithm of Open MPI
    ours: str
    nodes: int
    bytes: int
    measured: float
    predicted: float
    notes: str = ""

    @property
    def error(self):
        return 100 * (self.predicted / self.measured - 1)


def table(rows):
    lines = [f"{'fabric':<10} {'Open MPI':<30} {'here':<18} {'nodes':>5} {'bytes':>9} {'measured us':>12} {'predicted us':>12} "
             f"{'error %':>8}  notes"]
    for r in rows:
        lines.append(f"{r.fabric:<10} {r.theirs:<30} {r.ours:<18} {r.nodes:>5} {r.bytes:>9} {r.measured:>12.0f} {r.predicted:>12.0f} "
                     f"{r.error:>+8.1f}  {r.notes}")
    return "\n".join(lines)


def summary(rows, least=65536):
    """(points, median, mean, worst) of |error| in percent over sizes of `least` bytes and more."""
    errors = sorted(abs(r.error) for r in rows if r.bytes >= least)
    if not errors:
        return 0, float("nan"), float("nan"), float("nan")
    return len(errors), statistics.median(errors), statistics.mean(errors), errors[-1]
