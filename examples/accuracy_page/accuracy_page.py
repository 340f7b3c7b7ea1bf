"""Writes docs/accuracy.md: how far predictions are from measurements, on points that were fitted and on points that were not.

    PYTHONPATH=build/python python3 examples/accuracy_page/accuracy_page.py MEASUREMENTS > docs/accuracy.md
    PYTHONPATH=build/python python3 examples/accuracy_page/accuracy_page.py MEASUREMENTS --one-fit     without what takes fits of its own

MEASUREMENTS holds dgx-{a100,h100,b200}.nccl.csv, l40s-pcie.nccl.csv, b60-pcie.oneccl.csv, multinode/ and second/
(dgx-h200, dgx-b300, gb200-nvl72, rtx-pro-6000-pcie, multinode/, newer/, xla/), third/ (released/, points_collectives).
"""

from __future__ import annotations

import csv
import re
import sys
from functools import cache
from pathlib import Path

import fabricost as fc
import numpy as np
import pandas as pd
import yaml
from errors import DATA, Errors, compared, groups, heading, not_priced, read, row, samples, scored_heading, scored_row, table

KIB, MIB = 1024, 1 << 20


def pair(e):
    return f"{e.median:.1f} / {e.mean:.1f}"


class LeftOut:
    """A line of data/measurements/left-out.csv: SOURCE, SOURCE:FROM or SOURCE:FROM:TO, where * stands for any letters."""

    def __init__(self, term, why):
        self.term, self.why = term, why
        parts = term.split(":")
        sizes = [self.bytes_of(part) for part in parts[1:]]
        self.least, self.most = (*sizes, np.inf)[:2] if sizes else (0, np.inf)
        self.source = re.compile(re.escape(parts[0]).replace(r"\*", ".*"))

    @staticmethod
    def bytes_of(text):
        number, unit = re.fullmatch(r"(\d+)(B|KiB|MiB|GiB)", text).groups()
        return int(number) * {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": 1 << 30}[unit]

    def holds(self, points):
        named = points.source.map(lambda source: self.source.match(source) is not None)
        return named & (points.bytes >= self.least) & (points.bytes <= self.most)


class Measurements:
    """Merged points by machine and origin."""

    def __init__(self, folder):
        second, third = folder / "second", folder / "third"
        self.nvlink = self.merged(*(folder / f"dgx-{name}.nccl.csv" for name in ("a100", "h100", "b200")))
        self.l40s = self.merged(folder / "l40s-pcie.nccl.csv")
        self.b60 = self.merged(folder / "b60-pcie.oneccl.csv")
        self.h200, self.b300, self.gb200, self.rtx_pro = (
            self.merged(second / f"{name}.nccl.csv") for name in ("dgx-h200", "dgx-b300", "gb200-nvl72", "rtx-pro-6000-pcie"))
        xla = self.merged(second / "xla" / "collectives.csv")
        # its send_recv are of many pairs at once, not said which
        xla = xla[(xla.system == "gb200-nvl72") & (xla.operation != "send_recv")].copy()
        xla["library_version"] = "2.28"  # none is named, but LL runs to 512 KiB a peer, as up to 2.28 (sources.yaml)
        self.gb200_xla = xla
        self.unclear = folder / "multinode" / "points_unclear.csv"
        healthy = read(folder / "multinode" / "points_healthy.csv")
        later = read(second / "multinode" / "points_healthy.csv", second / "newer" / "points_healthy.csv",
                     *(third / "released" / part / "points_healthy.csv" for part in ("multinode", "newer")))
        self.one_node, self.later_one_node = (self.repeats_merged(points[points.nodes < 2]) for points in (healthy, later))
        several = pd.concat([healthy, later, read(third / "points_collectives.csv")], ignore_index=True)
        several = several[several.nodes > 1]
        self.measured, self.left_out = len(several), []  # of these: healthy public runs on more than one node
        with open(DATA / "measurements" / "left-out.csv", encoding="utf-8", newline="") as lines:
            for line in csv.DictReader(lines):
                one = LeftOut(line["leave_out"], line["why"])
                held = one.holds(several)
                self.left_out.append((one, self.repeats_merged(several[held])))
                several = several[~held]
        self.left = self.measured - len(several)
        self.cluster_repeats, self.clusters = several, self.repeats_merged(several)
        self._without = {}

    def without(self, cluster):
        """The cluster kept from the fit; fitted once."""
        if cluster not in self._without:
            self._without[cluster] = WithoutCluster(self, cluster)
        return self._without[cluster]

    @classmethod
    def merged(cls, *files):
        return cls.repeats_merged(read(*files))

    @staticmethod
    def repeats_merged(points):
        return pd.DataFrame(fc.merge_repeats(points)) if len(points) else points


# ---- errors on measurements that no fit has seen

# The sweeps of mi300x-8 and mi250x-16gcd inside a node are what scale-up-cdna3 and -cdna2 were fitted to; the costs of NCCL before 2.19
# and of four machines' processors were fitted to the others (data/tuners, data/priors/scale-up.yaml).
FITTED_INSIDE = ["mi300x-8", "mi250x-16gcd", "hgx-a100", "azure-nd-a100-v4", "snellius-h100", "runpod-a100-pair"]


def by_machine(rows):
    out = heading("machine")
    for name, its in rows.groupby("system"):
        out += row(name, its)
    return out + row("**all points**", rows)


def one_node(data):
    report = compared(data.one_node)
    rows = report.to_pandas()
    out = ("## nccl-tests inside one node\n\nAll healthy public runs on one node, launched as the heads of their logs say "
           "([launches](model/choice.md#launches-and-releases)). The constants of NVLink machines come from CUDA graphs of one laboratory "
           "(ai-dynamo/aiconfigurator, NCCL 2.23 to 2.29),\nand so does what 2.19 to 2.25 take longer. "
           "The extra cost of NCCL before 2.19, and of launching from the host, were fitted to "
           "hgx-a100, azure-nd-a100-v4,\nsnellius-h100 and runpod-a100-pair; those of "
           "mi300x-8 and mi250x-16gcd to their sweeps. No "
           "fit has seen the others.\n\n") + by_machine(rows)
    out += row("**machines in no fit**", rows[~rows.system.isin(FITTED_INSIDE)])
    for size, inside in (("below 64 KiB", rows.bytes < 64 * KIB), ("64 KiB to 4 MiB", (rows.bytes >= 64 * KIB) & (rows.bytes <= 4 * MIB)),
                         ("above 4 MiB", rows.bytes > 4 * MIB)):
        if inside.any():
            out += row(size, rows[inside])
    out += ("\nBy launch and release. The interval score is the mean width of the intervals in log time, and 20 times the distance of points "
            "outside: less is better.\n\n") + scored_heading("launch, NCCL")
    for regime, its in rows.groupby("regime"):
        out += scored_row(regime, its)
    # as if no machine's processor had been measured
    unknown = samples(data.one_node, constants=[{"host_launch": 0}])
    out += scored_row("**all points**", rows) + scored_row("all, each processor left to the mean of five", unknown)
    return out + not_priced(report)


def unclear(data):
    report = compared(data.unclear)
    rows = report.to_pandas()
    return ("## Runs of unclear health\n\nPublic runs whose health nobody can tell: in no fit and in no other figure of this page.\n\n"
            + heading("runs") + row("on one node", rows[rows.nodes == 1]) + row("on several nodes", rows[rows.nodes > 1]) + not_priced(report))


def never_fitted(data):
    out = ("## Machines by the constants of a relative\n\n2, 4 and 8 GPUs, CUDA graphs, priced with constants that were fitted without them; "
           "then with their own, which were\nfitted to these points but for the runs of NCCL 2.23 on that H200. "
           "What that release takes longer is one number, fitted to it and to dgx-h100 alike.\n\n") + heading("machine")
    for machine, points, relative in (("dgx-h200", data.h200, "scale-up-hopper"), ("dgx-b300", data.b300, "scale-up-blackwell"),
                                      ("gb200-nvl72", data.gb200, "scale-up-blackwell"), ("rtx-pro-6000-pcie", data.rtx_pro, "pcie"),
                                      ("l40s-pcie", data.l40s, "pcie-peers")):
        out += row(f"{machine}, `{relative}`", samples(points, calibration=relative))
        out += row(f"{machine}, its own", samples(points))
    out += "\n" + one_node(data)
    later = compared(data.later_one_node)
    out += ("The same inside one node, of runs collected later (the constants of mi350x-8 were fitted to its own, those of Volta set by the "
            "abci-v100-edr's):\n\n") + by_machine(later.to_pandas()) + not_priced(later)
    return out + unclear(data)


# ---- nccl-tests inside one node, each machine predicted as if nobody had measured it

OLD_KERNELS = ("hgx-a100", "azure-nd-a100-v4", "abci-a100-hdr")  # they ran NCCL before 2.19
RELATIVES = {"mi300x-8": "scale-up-cdna2", "mi250x-16gcd": "scale-up-cdna3"}
FREE = ("host_peer", "host_threads", "launch", "ll.forward", "all_to_all.base")


@cache
def scale_up_of(machine):
    """Its constants inside a node as shipped, in SI units."""
    return {one.name: one.value for one in fc.constants(machine, only="scale_up").constants}


@cache
def host_launch_of(machine):
    """The time that its processor takes to launch, where it was measured, else 0; the file says us."""
    for folder in ("systems", "clusters"):
        if (file := DATA / folder / f"{machine}.yaml").exists():
            stated = yaml.safe_load(file.read_text(encoding="utf-8")).get("host_launch")
            return float(stated["value"].removesuffix(" us")) * 1e-6 if stated else 0.0
    return 0.0


@cache
def kernel_shares():
    """What kernels of NCCL before 2.19 take of the constants of later ones."""
    old = yaml.safe_load((DATA / "tuners" / "nccl-2.12.yaml").read_text(encoding="utf-8"))
    return {"launch": old["launch_share"]["value"], "ll.forward": old["ll_forward_share"]["value"],
            "all_to_all.base": old["exchange_base_share"]["value"]}


def inside_node(machine, values):
    """What one host takes for a peer, what threads leave of its time, and what the older kernels take, as constants of a machine."""
    out = {"scale_up.form.host_peer": values["host_peer"], "scale_up.form.host_threads": min(1.0, values["host_threads"])}
    if machine in OLD_KERNELS:
        shipped = scale_up_of(machine)
        out |= {f"scale_up.{key}": shipped[key] * (values[key] / share) for key, share in kernel_shares().items()}
    return out


def fitted(points):
    """Minimises the log error, and the distance from the prior, over one value at a time, by steps that halve."""
    # where later releases stand, no lock is waited for, and a peer costs a tenth of the launch
    prior = dict.fromkeys(FREE, 1.0) | {"host_peer": host_gpu() / 10}
    scatter, spread = 0.1, 0.5  # of a point, of a constant beside its prior, in log
    machines = dict(list(points.groupby("system")))

    def cost(values):
        away = sum(scatter * (np.log(values[key] / prior[key]) / spread) ** 2 for key in FREE)
        for machine, its in machines.items():
            rows = samples(its, constants=[inside_node(machine, values)])
            away += np.abs(np.log(rows.predicted_seconds / rows.measured_seconds)).sum()
        return away

    at, least, step = dict(prior), cost(prior), np.log(2.0)
    while step > np.log(1.03):
        better = True
        while better:
            better = False
            for key in FREE:
                for factor in (np.exp(step), np.exp(-step)):
                    tried = at | {key: at[key] * factor}
                    if (now := cost(tried)) < least:
                        at, least, better = tried, now, True
        step /= 2
    return at


@cache
def host_gpu():
    return next(one.prior for one in fc.constants(only="scale_up").constants if one.name == "form.host_gpu")


def other_processors(own):
    """The mean of the five processors behind form.host_gpu without the machine's own."""
    return (host_gpu() ** 5 / own) ** (1 / 4) if own > 0 else host_gpu()


def machine_left_out(machine, own, everything):
    """(what stands for its constants, its points)"""
    if machine in RELATIVES:
        return f"`{RELATIVES[machine]}`", samples(own, calibration=RELATIVES[machine])
    launch = host_launch_of(machine)
    if not launch > 0:
        return "nothing was fitted to it", samples(own)
    processor = other_processors(launch)
    unknown = {"host_launch": 0, "scale_up.form.host_gpu": processor}
    if machine not in OLD_KERNELS:
        return f"processor: {processor * 1e6:.1f} us", samples(own, constants=[unknown])
    others = fitted(everything[everything.system.isin(OLD_KERNELS) & (everything.system != machine)])
    return (f"processor: {processor * 1e6:.1f} us; kernels before 2.19 and hosts by the others' runs",
            samples(own, constants=[unknown | inside_node(machine, others)]))


def machines_left_out(data):
    everything = pd.concat([data.one_node, data.later_one_node], ignore_index=True)
    out = ("## A machine left out, inside one node\n\nThe rows of nccl-tests above, each machine predicted without what was fitted to its "
           "rows.\nIts processor's launch is the mean of the four others'. The costs of peers, of threads and of NCCL before 2.19 are fitted "
           "again to\nthe two machines that are left, all but those of channels, which no file of a machine can state. A machine of RCCL takes "
           "the\nconstants of the neighbouring generation. No run but hgx-a100's launches from threads, so that without it nothing says what "
           "they\nwait for. The copies by element of its 45 misaligned parts stay as they were fitted to it: nobody else ran any.\n\n"
           + table("machine", "instead of its own", "points", "median %", "mean %", "in the interval", "interval score"))
    parts = []

    def line(name, how, rows):
        e = Errors(rows)
        return f"| {name} | {how}{' ' if how else ''}| {e.points} | {e.median:.1f} | {e.mean:.1f} | {e.covered:.0f} % | {e.score:.2f} |\n"

    for machine, own in data.one_node.groupby("system"):
        how, rows = machine_left_out(machine, own, everything)
        out += line(machine, how, rows)
        parts.append(rows)
    return out + line("**all points**", "", pd.concat(parts)) + "\n"


def rack_sizes_left_out(data):
    out = ("## A rack of GB200, sizes left out\n\nXLA's table of collectives of GB200 (openxla/xla), 2 to 72 ranks. A hash keeps half of the "
           "sizes from a fit that starts from\nBlackwell's constants (`scale-up-blackwell`) and sees the other half; then the halves change "
           "places. Of ai-dynamo/aiconfigurator's\npoints the fit sees none. What all racks share (`data/priors/scale-up.yaml`, `fit: form`) "
           "stays as shipped. The fitted rows are by the\nshipped constants, which both tables were fitted to.\n\n") + scored_heading("sizes")
    blackwell, points = "scale-up-blackwell", data.gb200_xla
    first_half = points.bytes.map(lambda size: (int(size) * 0x9E3779B97F4A7C15) % 2**64 >> 63 != 0)  # the top bit of Fibonacci's hash
    parts = []
    for left in (first_half, ~first_half):
        fit = fc.calibrate("gb200-nvl72", points[~left], calibration=blackwell, only="scale_up")
        parts.append(samples(points[left], calibration=blackwell, constants=[fit]))
    together, shipped = pd.concat(parts), samples(points)
    for name, large in (("from 64 KiB", True), ("below 64 KiB", False)):
        out += scored_row(f"{name}, left out", together[(together.bytes >= 64 * KIB) == large])
        out += scored_row(f"{name}, fitted", shipped[(shipped.bytes >= 64 * KIB) == large])
    return out + "\n"


# ---- clusters kept from the fit

@cache
def transport_of(machine):
    tiers = fc.load_system(machine).tiers
    return tiers["nic"].transport if "nic" in tiers else ""


class WithoutCluster:
    """A cluster kept from the fit: its points, and its prediction from the others' transports."""

    def __init__(self, data, cluster):
        own = data.clusters.system == cluster
        self.cluster, self.own = cluster, data.clusters[own]
        self.others = fc.calibrate(None, data.clusters[~own], only="transport", starts=1)
        self.blind = [self.others.mean_transport, self.others]

    def transport_known(self):
        """Whether another cluster has its transport."""
        return f"transport-{transport_of(self.cluster)}" in [one.name for one in self.others.sets]

    def predicted(self, points, seen=None):
        """The same once `seen` of the cluster have been measured. Raises RequestError when none of them can be fitted."""
        if seen is None:
            return samples(points, constants=self.blind)
        return samples(points, constants=[*self.blind, fc.calibrate(self.cluster, seen, constants=self.blind)])


def first_point(points):
    """The smallest all-reduce of 1 KiB or more on the fewest nodes, else the smallest of another operation; none: an empty frame."""
    large = points[points.bytes >= KIB]
    reduces = large[large.operation == "all_reduce"]
    return (reduces if len(reduces) else large).sort_values(["nodes", "bytes"], kind="stable").head(1)


def repeats_of(data, cluster):
    """The distance of a cluster's repeated measurements from their median: no model can be nearer to them. Point by point, as
    merge_repeats joins them: what repeats have in common is in the merged point."""
    key = ["nodes", "ranks", "operation", "dtype", "bytes", "library", "gpu_direct", "algorithm", "protocol"]
    merged = data.clusters[data.clusters.system == cluster].drop_duplicates(key, keep="last")
    own = data.cluster_repeats[data.cluster_repeats.system == cluster]
    both = own.merge(merged[[*key, "seconds", "repeats"]], on=key, suffixes=("", "_median"))
    both = both[both.repeats_median > 1]
    if both.empty:
        return ""
    return pair(Errors(pd.DataFrame({"measured_seconds": both.seconds_median, "predicted_seconds": both.seconds, "low_seconds": 0.0,
                                     "high_seconds": 0.0})))


def widths_by_transport(left_out):
    """How wide intervals of clusters left out are, and how wide they would have to be."""
    out = ("\nThe intervals of these points, left out, by transport: how far their ends are apart (the upper over the lower, geometric mean), "
           "and how "
           "far they\nwould have to be to hold nine in ten, all drawn in or out alike.\n\n"
           + table("transport", "clusters", "points", "ends apart", "in the interval", "nine in ten"))
    for transport, rows in left_out.groupby(left_out.system.map(transport_of)):
        measured, predicted = rows.measured_seconds, rows.predicted_seconds
        end = rows.low_seconds.where(measured < predicted, rows.high_seconds)
        misses = np.sort(np.log(measured / predicted) / np.log(end / predicted))  # over the distance of the interval's end
        width = np.log(rows.high_seconds / rows.low_seconds).mean()
        nine_in_ten = misses[int(np.ceil(0.9 * len(misses))) - 1]
        out += (f"| {transport} | {rows.system.nunique()} | {len(rows)} | {np.exp(width):.2f} | {Errors(rows).covered:.0f} % | "
                f"{np.exp(width * nine_in_ten):.2f} |\n")
    return out


def average(found):
    """Averages over clusters of "median / mean"."""
    return "{:.1f} / {:.1f}".format(*np.mean([(e.median, e.mean) for e in found], axis=0))


def clusters(data):
    everything = fc.calibrate(None, data.clusters, only="transport")
    report = compared(data.clusters)
    shipped = report.to_pandas()
    out = ("## Public clusters, 2 to 360 nodes\n\nHealthy runs of nccl-tests on named machines, more than one node. Median / mean %: with the "
           "transport's constants fitted without this\ncluster (its transport nowhere else: those of a relative, or the mean of its kind of "
           "network), and how many of its points that interval held;\nthe same after one point of it (its smallest all-reduce of 1 KiB or more "
           "on its fewest nodes); with the shipped constants, which these points were\nfitted to (in sample). The last column is how far "
           "repeated measurements lie from their median: no model can be nearer to them. The interval score of what is left\n"
           "out is the mean width of its intervals in log time, and 20 times the distance of points outside.\n\n"
           + table("cluster", "points", "left out", "in the interval", "interval score", "left out, one point", "in sample", "repeats"))
    figures, elsewhere, parts = [], [], []  # of all, and of those whose transport another cluster measured
    for cluster, in_sample in shipped.groupby("system"):
        without = data.without(cluster)
        rows = without.predicted(without.own)
        blind = after = Errors(rows)
        if len(first := first_point(without.own)):
            try:
                after = Errors(without.predicted(without.own, first))
            except fc.RequestError:  # one whose algorithm has no form to fit
                pass
        before = Errors(in_sample)
        out += (f"| {cluster} | {before.points} | {pair(blind)} | {blind.covered:.0f} % | {blind.score:.2f} | {pair(after)} | {pair(before)} | "
                f"{repeats_of(data, cluster)} |\n")
        figures.append((blind, after, before))
        if without.transport_known():
            elsewhere.append(figures[-1])
        parts.append(rows)
    together = pd.concat(parts)
    whole = Errors(together)
    blind, after, before = map(average, zip(*figures))
    out += (f"| **average over clusters** | {len(shipped)} | {blind} | {whole.covered:.0f} % of all points | {whole.score:.2f} of all points | "
            f"{after} | {before} | |\n")
    blind, after, before = map(average, zip(*elsewhere))
    out += f"| the {len(elsewhere)} whose transport another cluster measured | | {blind} | | | {after} | {before} | |\n"
    out += widths_by_transport(together) + not_priced(report)
    out += (f"\nAll transports fitted together to these points: {100 * everything.median_error:.1f} / {100 * everything.mean_error:.1f} %.\n\n"
            f"{data.left} of {data.measured} measured times are in none of these figures and in no fit (`data/measurements/left-out.csv`). With "
            "the shipped constants:\n\n" + table("left out", "why", "points", "median / mean %", "in the interval"))
    for one, points in data.left_out:
        e = Errors(samples(points))
        out += f"| `{one.term}` | {one.why} | {e.points} | {pair(e)} | {e.covered:.0f} % |\n"
    return out


def largest_nodes(data, counts):
    """Clusters of three and more numbers of nodes, the largest kept from the fit of all clusters."""
    out = ("The same where all but a cluster's largest number of nodes are in the fit of all clusters:\n\n"
           + table("cluster", "nodes", "points", "the largest, left out", "in the interval", "interval score"))
    found = []
    for cluster, nodes in counts.items():
        if len(nodes) < 3:
            continue
        left = (data.clusters.system == cluster) & (data.clusters.nodes == nodes[-1])
        fit = fc.calibrate(None, data.clusters[~left], only="transport", starts=1)
        e = Errors(samples(data.clusters[left], constants=[fit]))
        out += f"| {cluster} | {nodes[-2]} -> {nodes[-1]} | {e.points} | {pair(e)} | {e.covered:.0f} % | {e.score:.2f} |\n"
        found.append(e)
    return out + (f"| **average over clusters** | | | {average(found)} | | |\n\n" if found else "")


def more_nodes(data):
    counts = {cluster: sorted(its.nodes.unique()) for cluster, its in data.clusters.groupby("system")}
    out = ("\n## A cluster's larger node counts\n\nThe transport's constants fitted without the cluster (blind), then its own sweep on the "
           "fewest nodes "
           "added; the larger node counts predicted.\n\n"
           + table("cluster", "nodes", "points", "blind", "calibrated on the fewest nodes", "in the interval"))
    found = []
    for cluster, nodes in counts.items():
        if len(nodes) < 2:
            continue
        without = data.without(cluster)
        more = without.own.nodes > nodes[0]
        before = Errors(without.predicted(without.own[more]))
        after = Errors(without.predicted(without.own[more], without.own[~more]))
        out += f"| {cluster} | {nodes[0]} -> {nodes[-1]} | {after.points} | {pair(before)} | {pair(after)} | {after.covered:.0f} % |\n"
        found.append((before, after))
    if found:
        before, after = map(average, zip(*found))
        out += f"| **average over clusters** | | | {before} | {after} | |\n\n"
    return out + largest_nodes(data, counts)


# ---- generations, ranks, sizes and types kept from the fit

# calibrate/probes.hpp: operation, whether of two ranks (else 8), bytes
PROBES = (("all_gather", True, 2 * KIB), ("all_gather", False, 2 * KIB), ("all_gather", False, 512 * MIB), ("all_reduce", True, 4 * MIB),
          ("all_to_all", True, 2 * KIB), ("all_to_all", True, 16 * MIB), ("all_gather", True, MIB), ("all_to_all", True, MIB),
          ("all_reduce", False, 512 * KIB), ("reduce_scatter", True, 64 * MIB), ("all_gather", True, 128 * KIB), ("all_reduce", False, 32 * MIB))


def probed(points, count):
    wanted = {(operation, 2 if pair_of else 8, size) for operation, pair_of, size in PROBES[:count]}
    asked = [key in wanted for key in zip(points.operation, points.ranks, points.bytes)]
    return points[np.array(asked) & (points.dtype == "half")]


def fit_with_own_prior(points):
    """The machines of `points` fitted with their own geometric mean as prior, since the shipped one is the mean of three generations, of
    which the one left out is one: the mean of a fit is the prior of the next, three times."""
    fit = fc.calibrate(None, points)
    for _ in range(3):
        fit = fc.calibrate(None, points, prior=[fit.mean])
    return fit


def generations_left_out(data):
    systems, counts = ("dgx-a100", "dgx-h100", "dgx-b200"), (0, 2, 3, 5, 8, 12)
    found = {}
    for left in systems:
        own = data.nvlink[data.nvlink.system == left]
        blind = [fit_with_own_prior(data.nvlink[data.nvlink.system != left]).mean]
        for n in counts:
            fits = [fc.calibrate(left, probed(own, n), constants=blind)] if n > 0 else []
            found[left, n] = samples(own, constants=[*blind, *fits])
    out = ("## A generation left out\n\nThe joint fit of the other two generations gives the prior (geometric mean, rates by their share of the "
           "one-way rate); "
           "then a few points\nof the generation left out (`calibrate/probes.hpp`, what `measure --quick` runs). Median / mean %, and how many "
           "measurements\n"
           "the interval held. The two are fitted with their own mean as prior, not with the shipped one, which is the mean of all three; how "
           "far\nconstants may lie from it, and which points to probe, was chosen on these same three.\n\n"
           + table("points of it", "all three", "in the interval", *systems))
    named = {0: "none (blind)", 2: "2 latencies", 3: "and 1 bandwidth"}
    for n in counts:
        whole = Errors(pd.concat([found[left, n] for left in systems]))
        out += f"| {named.get(n, n)} | {pair(whole)} | {whole.covered:.0f} % | {' | '.join(pair(Errors(found[left, n])) for left in systems)} |\n"
    return out + "\n"


def parts_left_out(data):
    points = data.nvlink
    parts = [(f"{n} ranks", points.ranks == n) for n in (2, 4, 8)]
    parts += [("every second size", np.floor(np.log2(points.bytes)) % 2 == 0), ("8-bit types", points.dtype.isin(["int8", "fp8"]))]
    parts += [(operation, points.operation == operation) for operation in ("reduce_scatter", "all_reduce")]
    out = "## Ranks, sizes and types left out\n\nFitted without them, predicted on them.\n\n" + heading("left out")
    for what, left in parts:
        out += row(what, samples(points[left], constants=[fc.calibrate(None, points[~left])]))
    return out + "\n"


# ---- errors on the fitted measurements, whole and by parts, beside two baselines

def by_datasheet(rows):
    """Bytes over the one-way rate, steps at the tier's own latency: a ring's, or an exchange of all at once."""
    tiers = {name: fc.load_system(name).tiers["nvlink"] for name in rows.system.unique()}
    latency = rows.system.map(lambda name: tiers[name].latency_seconds)
    n, once = rows.ranks, rows.operation == "all_to_all"
    sweeps = np.where(rows.operation == "all_reduce", 2, 1)
    steps = np.where(once, 1, sweeps * (n - 1))
    return steps * latency + sweeps * (n - 1) / n * rows.bytes / rows.link_bytes_per_second


def fitted_systems(data):
    rows, newest = samples(data.nvlink), samples(data.nvlink.assign(library_version="", releases=""), raw=True)
    out = "## Systems that were fitted (in sample)\n\n" + heading("system") + row("A100, H100, B200 (NVLink, NCCL)", rows)
    for name, its in rows.groupby("system"):
        out += row(name, its)
    out += row("l40s-pcie (PCIe 4, NCCL)", samples(data.l40s)) + row("b60-pcie (PCIe 5, oneCCL)", samples(data.b60))
    out += "\nThe same NVLink points, median / mean %, by other models:\n\n" + table("model", "all")
    for model, its in (("fabricost, shipped calibrations", rows), ("fabricost, `--calibration none`", samples(data.nvlink, calibration="none")),
                       ("NCCL's own tuner taken as a time model", newest.assign(predicted_seconds=newest.tuner_seconds)),
                       ("steps and bytes with datasheet numbers", rows.assign(predicted_seconds=by_datasheet(rows)))):
        out += f"| {model} | {pair(Errors(its))} |\n"
    return out + "\n"


def where_it_errs(data):
    rows = samples(data.nvlink)
    out = "## Where it errs (NVLink, in sample)\n\n" + groups(rows, "operation", rows.operation)
    sizes = ["<= 64 KiB", "<= 1 MiB", "<= 32 MiB", "above"]
    out += groups(rows, "size", np.select([rows.bytes <= 64 * KIB, rows.bytes <= MIB, rows.bytes <= 32 * MIB], sizes[:3], sizes[3]), sizes)
    out += groups(rows, "ranks", rows.ranks.astype(str)) + groups(rows, "ran as", rows.algorithm + " " + rows.protocol)
    return out + groups(rows, "type", rows.dtype)


INTRODUCTION = """# How accurate

Written by `examples/accuracy_page/accuracy_page.py ../shared/measurements > docs/accuracy.md`; a test holds the page to what that prints. Error is
100 |predicted / measured - 1|; repeats are merged by their median first. The last column is the share of measurements inside the
predicted 5-95 % interval: 90 % would be perfect.

What no fit has seen comes first: that is what to expect of a machine of one's own. What was fitted stands at the end and says how
well the forms can be fitted, no more.

"""
WITH_FITS = (machines_left_out, rack_sizes_left_out, clusters, more_nodes, generations_left_out, parts_left_out)


def main():
    one_fit = sys.argv[2:] == ["--one-fit"]
    if len(sys.argv) != 2 + one_fit:
        sys.exit("usage: accuracy_page.py MEASUREMENTS [--one-fit] > docs/accuracy.md")
    data = Measurements(Path(sys.argv[1]))
    print(INTRODUCTION, end="")
    for section in (never_fitted, *(() if one_fit else WITH_FITS), fitted_systems, where_it_errs):
        print(section(data), end="", flush=True)


if __name__ == "__main__":
    main()
