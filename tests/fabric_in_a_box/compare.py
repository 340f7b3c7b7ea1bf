"""From a ping-pong to a latency and a rate, from those to a machine that fabricost can be asked about, and measured beside predicted."""

import dataclasses
import json
import os
import statistics
import subprocess

COLUMNS = "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes"

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
# Those without: what a step moves, for whoever writes the schedule.
MISSING = {
    ("allreduce", "nonoverlapping"): "a reduce, then a broadcast, each chosen by the library",
    ("allreduce", "basic_linear"): "everybody to rank 0 and back: (n-1) S in and out of it",
    ("allgather", "neighbor"): "n/2 steps, the first of S/n, then of 2 S/n; even n",
    ("allgather", "linear"): "a gather to rank 0, then a broadcast",
    ("bcast", "binomial"): "ceil(log2 n) steps of all of S",
    ("bcast", "split_binary_tree"): "two binary trees of S/2 each, then an exchange of halves",
    ("bcast", "scatter_allgather"): "binomial scatter, recursive doubling: 2 log2 n steps, 2 (n-1)/n S from the root",
    ("bcast", "scatter_allgather_ring"): "binomial scatter, ring: log2 n + n-1 steps, 2 (n-1)/n S from the root",
}


class Fault(Exception):
    """What came in is not what a probe prints; says where."""


@dataclasses.dataclass
class Point:
    system: str
    nodes: int
    operation: str
    bytes: int
    time_us: float
    algorithm: str
    notes: str
    cells: tuple = ()  # the line it was

    def line(self):
        return ",".join((*self.cells[:-1], self.notes))


def read_points(text, name="probe"):
    """Points as the probe prints them. \\throws Fault naming the line."""
    points = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line == COLUMNS:
            continue
        cells = line.split(",")
        if len(cells) != len(COLUMNS.split(",")):
            raise Fault(f"{name}:{number}: {len(cells)} cells where {len(COLUMNS.split(','))} belong: {line!r}")
        try:
            point = Point(cells[1], int(cells[2]), cells[4], int(cells[6]), float(cells[7]), cells[11], cells[13], tuple(cells))
        except ValueError as fault:
            raise Fault(f"{name}:{number}: {fault}") from fault
        if not (point.time_us > 0 and point.bytes > 0 and point.time_us < 1e12):
            raise Fault(f"{name}:{number}: a size and a time are above 0, this is {cells[6]} B in {cells[7]} us")
        points.append(point)
    return points


def split_notes(points):
    """Points by what their notes say first, as `record` wrote it: {"ping_pong": [...], "bcast/pipeline": [...]}."""
    out = {}
    for p in points:
        out.setdefault(p.notes.split(";")[0], []).append(p)
    return out


@dataclasses.dataclass
class Link:
    """latency_us + bytes / rate: what one message costs."""

    latency_us: float
    rate: float  # bytes per second, one way


def fit_link(points, small=1024, large=65536):
    """Latency from the small messages of a ping-pong, rate from the slope over the large ones (the median over all pairs of them).

    \\throws Fault where too few sizes were measured.
    """
    few = [p for p in points if p.bytes <= small]
    many = [p for p in points if p.bytes >= large]
    if not few or len({p.bytes for p in many}) < 2:
        raise Fault(f"a ping-pong needs a size up to {small} B and two from {large} B on; there are {sorted(p.bytes for p in points)}")
    slopes = [(b.time_us - a.time_us) / (b.bytes - a.bytes) for a in many for b in many if b.bytes > a.bytes]
    slope = statistics.median(slopes)
    if slope <= 0:
        raise Fault("large messages of the ping-pong take no longer than smaller ones")
    return Link(max(0.1, statistics.median(p.time_us - slope * p.bytes for p in few)), 1e6 / slope)


def calibration(name, inner, outer=None, source="ping-pong"):
    """A calibration file of a machine that adds nothing of its own to its links: steps and volume add up, no launch, no floor.

    Level 0 is priced by `simple`, level 1 by half of `ring_simple_step` a step (include/fabricost/price/generic.hpp).
    """
    outer = outer or inner
    return f"""name: {name}
systems: [{name}]
source: "{source}"
confidence: measured
parts:
  - kind: scale_up
    measured: {{bandwidth: {inner.rate:.9g} B/s per direction, smallest: 4 B, largest: 16 MiB, fewest_ranks: 2, most_ranks: 2}}
    constants:
      launch: 1 ns
      simple: {{floor: 1 ns, hop: {inner.latency_us:.6g} us, overlap: 1, rate: {inner.rate:.9g} B/s per direction}}
  - kind: transport
    transport: tcp
    measured: {{most_nodes: 2}}
    constants: {{tree_step: {outer.latency_us:.6g} us, ring_simple_step: {2 * outer.latency_us:.6g} us, efficiency: 1}}
"""


@dataclasses.dataclass
class Machine:
    """A fabric of this folder with the links a ping-pong found."""

    tool: str
    spec: str
    inner: Link
    outer: Link = None  # of one node while all of its leaf send at once
    calibration: str = ""

    def write(self, folder):
        name = os.path.splitext(os.path.basename(self.spec))[0]
        self.calibration = os.path.join(folder, f"{name}.calibration.yaml")
        with open(self.calibration, "w", encoding="utf-8") as out:
            out.write(calibration(name, self.inner, self.outer))
        return self

    def rows(self, points):
        """Measured beside predicted; what a point stands for is the first of its notes."""
        name = os.path.splitext(os.path.basename(self.spec))[0]
        return [Row(name, p.notes.split(";")[0], p.algorithm, p.nodes, p.bytes, p.time_us,
                    self.predict(p.operation, p.algorithm, p.nodes, p.bytes), "; ".join(p.notes.split("; ")[1:])) for p in points]

    def predict(self, operation, algorithm, nodes, size):
        """Seconds x 1e6."""
        words = [self.tool, "predict", operation, "--system", self.spec, "--algorithm", algorithm, "--protocol", "simple",
                 "--nodes", str(nodes), "--size", str(size), "--dtype", "float", "--calibration", self.calibration,
                 "--set", f"tiers.ethernet.bandwidth={self.inner.rate:.9g} B/s per direction"]
        if self.outer:
            words += ["--set", f"tiers.nic.bandwidth={self.outer.rate:.9g} B/s per direction", "--set", "tiers.nic.shared_by=1"]
        done = subprocess.run(words + ["--json"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Fault(f"{' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)["time_us"]


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


def machine_of(tool, folder, points):
    """The machine of one file of points: its fabric's spec, and the links its own ping-pongs found.

    `leaf`: between nodes of one switch; `pairs`: between two halves of the nodes, all at once. Without them `ping_pong` is the one link.
    """
    kinds = split_notes(points)
    name = points[0].system
    inner = fit_link(kinds.get("leaf") or kinds.get("ping_pong") or [])
    outer = fit_link(kinds["pairs"]) if "pairs" in kinds else None
    return Machine(tool, os.path.join(os.path.dirname(os.path.abspath(__file__)), "fabrics", f"{name}.yaml"), inner, outer).write(folder)


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
