"""Figures of the runs of sources.yaml: what was fitted, what each group of points gives, and what is in no figure and why."""
import collections
import csv
import re

import numpy as np
import yaml
from published_sources import ROOT, shipped, validated

LAUNCHES = {"graph": "launch not said", "queued": "queued", "process": "a process per GPU", "threads": "threads",
            "one_process": "one process", "xla": "module of XLA", "eager": "from Python"}
NAMES = {"nccl": "NCCL", "rccl": "RCCL", "oneccl": "oneCCL"}
INSIDE, ENGINES, RACK, BETWEEN = "one node", "one node, all-reduces of engines", "several nodes of one NVLink domain", "several domains"
PLACES = (INSIDE, RACK, BETWEEN, ENGINES)
KINDS = {INSIDE: {"scale_up", "pcie"}, RACK: {"scale_up", "pcie"}, BETWEEN: {"transport"}, ENGINES: {"custom"}}
ENGINE_NAMES = {"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM"}
KIB = 1024.0
OUTSIDE = 2 / (1 - 0.9)  # of the interval score: 2 / alpha of an interval of nine in ten
UNITS = {"": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def fitted_machines(folder=ROOT / "data/calibrations"):
    """The machines that shipped calibrations were fitted to, by place."""
    out = {place: set() for place in PLACES}
    for path in sorted(folder.glob("*.yaml")):
        with open(path, encoding="utf-8") as file:
            calibration = yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        kinds = {part.get("kind") for part in calibration.get("parts", [calibration])}
        for place, of in KINDS.items():
            if kinds & of:
                out[place] |= set(calibration.get("systems") or [])
    return out


class LeftOut:
    """A line of data/measurements/left-out.csv: SOURCE[:FROM[:TO]], `*` for any letters, of runs on several nodes."""

    def __init__(self, term, why):
        self.term, self.why = term, why
        sizes = []
        while len(sizes) < 2 and (size := re.search(r":(\d+)([KMG]iB)?$", term)):
            sizes.insert(0, int(size[1]) * UNITS[(size[2] or "").upper()])
            term = term[:size.start()]
        self.name = re.compile(".*?".join(map(re.escape, term.split("*"))))
        self.smallest, self.largest = sizes[0] if sizes else 0, sizes[1] if len(sizes) > 1 else np.inf

    def holds(self, points):
        named = np.array([self.name.match(str(s)) is not None for s in points["source"]], bool)
        return named & (points["nodes"] > 1) & (points["bytes"] >= self.smallest) & (points["bytes"] <= self.largest)


def left_out(path=ROOT / "data/measurements/left-out.csv"):
    with open(path, encoding="utf-8", newline="") as file:
        return [LeftOut(row["leave_out"], row["why"]) for row in csv.DictReader(file)]


class Errors:
    """Errors of compared points: median, mean, share within 10 %, share inside the interval, mean interval score."""

    def __init__(self, samples):
        self.points = sum(len(s) for s in samples)
        column = {name: np.concatenate([s[name] for s in samples]) if samples else np.empty(0)
                  for name in ("error", "measured_seconds", "low_seconds", "high_seconds")}
        error, t, low, high = (np.asarray(column[n], float) for n in column)
        if not self.points:
            return
        error = 100 * np.abs(error)
        self.median, self.mean, self.within = np.median(error), error.mean(), (error <= 10).mean()
        self.inside = ((low <= t) & (t <= high)).mean()
        self.score = (np.log(high / low) + OUTSIDE * np.maximum(0, np.maximum(np.log(low / t), np.log(t / high)))).mean()

    def pair(self):
        return f"{self.median:.1f} / {self.mean:.1f}" if self.points else ""


def nodes_of_domain(machine):
    """The number of nodes that an NVLink domain of it spans; 1 for a machine that is not shipped."""
    system = shipped(machine)
    return max(1, system.domain // system.gpus_per_node) if system else 1


def family(point, nodes):
    """The place of the ranks, and whose kernels they run. `nodes`: of one domain."""
    if point["nodes"] <= 1:
        return ENGINES if str(point["library"]) in ENGINE_NAMES else INSIDE
    return RACK if point["nodes"] <= nodes else BETWEEN


def regime(point, where, said):
    """The launch of its calls, or the spread of its ranks. `said`: the launch according to sources.yaml."""
    if where == BETWEEN:
        nodes = int(point["nodes"])
        return "2 nodes" if nodes == 2 else "3 to 8 nodes" if nodes <= 8 else "9 to 64 nodes" if nodes <= 64 else "more nodes"
    size = ", below 64 KiB" if point["bytes"] < 64 * KIB else ", from 64 KiB"
    launch = "CUDA graphs" if said == "graph" else LAUNCHES[str(point["launch"])]
    if where == RACK or said == "xla":
        return launch + size
    if where == ENGINES:
        return f"{ENGINE_NAMES[str(point['library'])]}, {'from Python' if 'from Python' in str(point['notes']) else 'CUDA graphs'}"
    version = "" if point["library_version"] else ", version not said"
    library = str(point['library']) or 'nccl'
    return f"{launch}, {NAMES.get(library, library)}{version}"


def parts(points, keys):
    """The points by key."""
    out = collections.defaultdict(list)
    for i, key in enumerate(keys):
        out[key].append(i)
    return {key: points[np.array(rows)] for key, rows in out.items()}


class Figures:
    """Everything the page says, from runs and what was read of them."""

    def __init__(self, runs, read):
        """`read`: for each run (points or None, reasons of rows that cannot be used, what is wrong)."""
        spans = {machine: nodes_of_domain(machine) for machine in {run["system"] for run in runs}}
        machines = fitted_machines()
        self.excluded = collections.OrderedDict()  # (kind, machine, reason) -> [run ids, rows, samples]
        self.by_run = collections.defaultdict(list)  # id -> samples that are in figures
        self.rows = collections.Counter()  # id -> rows of them
        groups = collections.defaultdict(list)
        terms = left_out()
        for run, (points, reasons, wrong) in zip(runs, read):
            if points is None:
                self.exclude("not read", run, wrong.removeprefix(run["id"] + ": "), 0)
                continue
            for why, rows in reasons.items():
                self.exclude("not a size", run, why, rows)
            if run["health"] != "healthy":
                self.exclude(run["health"], run, f"{run['health']}: {run['why']}", len(points), [points])
                continue
            for term in terms:
                held = term.holds(points)
                if held.any():
                    self.exclude("left out", run, f"{term.why} (`{term.term}`)", int(held.sum()), [points[held]])
                    points = points[~held]
            if shipped(run["system"]) is None:
                self.exclude("not priced", run, f'no system named "{run["system"]}"', len(points))
                continue
            where = [family(p, spans[run["system"]]) for p in points]
            for key, some in parts(points, [(w, regime(p, w, run.get("launch"))) for p, w in zip(points, where)]).items():
                fitted = "fitted" in run or bool({run["system"], shipped(run["system"]).name} & machines[key[0]])
                groups[fitted, key[0], run["system"], key[1]].append((run, some))
        self.samples = {}
        for key, members in groups.items():
            report = validated([some for _, some in members])
            if report.points:
                self.samples[key] = report.samples
            for run, some in members:
                own = validated(some)
                for why, rows in own.skipped.items():
                    self.exclude("not priced", run, why.split(";")[0], rows)
                self.rows[run["id"]] += len(some) - sum(own.skipped.values())
                if own.points:
                    self.by_run[run["id"]].append(own.samples)
        for entry in self.excluded.values():
            given = [p for p in entry[2] if len(p) and shipped(str(p["system"][0]))]
            report = validated(given) if given else None
            entry[2] = Errors([report.samples] if report and report.points else [])

    def exclude(self, kind, run, why, rows, points=()):
        entry = self.excluded.setdefault((kind, "" if kind == "not a size" else run["system"], why), [[], 0, []])
        if run["id"] not in entry[0]:
            entry[0].append(run["id"])
        entry[1] += rows
        entry[2].extend(points)

    def errors(self, **wanted):
        """Errors of the points in figures: fitted=, where=, machine=, regime=."""
        names = ("fitted", "where", "machine", "regime")
        return Errors([s for key, s in self.samples.items() if all(dict(zip(names, key))[n] == v for n, v in wanted.items())])
