"""Writes docs/training-accuracy.md: how far predicted training steps are from published ones, fitted and not.

    PYTHONPATH=build/python python3 examples/training_page.py MEASUREMENTS > docs/training-accuracy.md
    PYTHONPATH=build/python python3 examples/training_page.py MEASUREMENTS --one-fit     the same without what takes a fit of its own

MEASUREMENTS holds workloads/{training,ops,inference}.csv and second/workloads/{mlperf,newer_training}.csv.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from fabricost import _core, evaluation
from fabricost.evaluation import kernels as kernel_rows, training
from fabricost.evaluation._data import data
from fabricost.evaluation._fit import CONSTANTS

H100_PEAK = 989.5e12  # dense bf16, by which the Llama 3 report divides (arXiv 2407.21783, table 4)
NOT_COUNTED = "not fully specified: priced, not counted"


def ape(rows, factor=1.0):
    return 100 * (factor * rows.predicted / rows.measured - 1).abs()


def errors(rows, factor=1.0):
    """Median and mean of absolute errors in percent; None without rows."""
    return (ape(rows, factor).median(), ape(rows, factor).mean()) if len(rows) else None


def pair(found):
    return "-" if found is None else f"{found[0]:.1f} / {found[1]:.1f}"


def average(found):
    known = [one for one in found if one is not None]
    return "-" if not known else "{:.2f} / {:.2f}".format(*np.mean(known, axis=0))


def one_scalar(rows):
    """The factor that brings the median of log(predicted / measured) to zero."""
    return float(np.exp(np.log(rows.measured / rows.predicted).median())) if len(rows) else 1.0


def rank(rows):
    """Spearman's correlation, ties sharing their mean rank; 0 for fewer than two rows."""
    a, b = rows.measured.rank(), rows.predicted.rank()
    return float(np.corrcoef(a, b)[0, 1]) if len(rows) > 1 and a.std() > 0 and b.std() > 0 else 0.0


def coverage(rows):
    return 100 * ((rows.low <= rows.measured) & (rows.measured <= rows.high)).mean()


def counted(rows):
    return rows[(rows.skipped == "") & rows.fully_specified]


def table(head, lines):
    return f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n" + "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def is_held_out(name):
    """Two fifths of the ids, always the same: FNV-1a of the id, remainder by 5 below 2."""
    hashed = 14695981039346656037
    for byte in name.encode():
        hashed = (hashed ^ byte) * 1099511628211 % 2**64
    return hashed % 5 < 2


def submitter_of(source):
    """Who submitted a row of MLPerf Training: "MLPerf Training v5.1, Dell, ..."; empty for other rows."""
    parts = source.split(", ", 1)
    return parts[1].split(",")[0] if source.startswith("MLPerf Training ") and len(parts) > 1 and "," in parts[1] else ""


def free_constants():
    """Those of compute that a fit finds: name, value at which the effect is gone, whether of time."""
    free = CONSTANTS[(CONSTANTS.set == "compute") & (CONSTANTS.fitted != "held")]
    return list(zip(free.key, free.gone, free.of_time))


class Published:
    """Published rows with the predictions of the shipped constants, and of fits that did not see them."""

    def __init__(self, folder, refits):
        workloads, second = Path(folder) / "workloads", Path(folder) / "second" / "workloads"
        own = Path(_core._data_directory()) / "measurements"
        self.groups = data("workloads/training-groups.yaml")
        self.judged, self.fitted = self.groups["judged"], self.groups["judged"] + self.groups["fitted"]
        mlperf, newer = training.read(second / "mlperf.csv"), training.read(second / "newer_training.csv")
        later = pd.concat([mlperf, newer])
        steps = pd.concat([training.read(workloads / "training.csv"), later[later.group.isin(self.groups["fitted"])],
                           training.read(own / "torch-steps.csv")], ignore_index=True)
        kernels = [workloads / "ops.csv", own / "torch-kernels.csv", own / "aiconfigurator-kernels.csv"]

        def fit(rows, *served, **options):
            return evaluation.fit(rows, *kernels, *served, **options)

        self.steps, self.newer = training.price(steps), newer
        self.adapters = training.price(mlperf[mlperf.group == "mlperf_lora_nvidia"])
        self.kernels = kernel_rows.read(*map(str, kernels))
        self.fit = fit(steps, workloads / "inference.csv")
        self.left_out = self.held_out = steps[:0].assign(predicted=0.0, low=0.0, high=0.0)
        if not refits:
            self.mlperf = training.price(mlperf, self.fit)
            return
        who = steps.source.map(submitter_of).where((steps.skipped == "") & steps.fully_specified, "")
        all_of = steps.source.map(submitter_of)
        held = steps.id.map(is_held_out)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            def later_priced(rows, of, **options):
                return pool.submit(lambda: training.price(rows, fit(of, **options)))

            others = later_priced(mlperf, steps, leave_out=["mlperf_"])
            left = [later_priced(steps[steps.group == group], steps, leave_out=[group]) for group in self.fitted]
            submitters = {name: later_priced(steps[who == name], steps[all_of != name]) for name in sorted(set(who) - {""})}
            apart = later_priced(steps[held], steps[~held])
            worth = [(name, value, of_time, later_priced(steps, steps, hold={name: value})) for name, value, of_time in free_constants()]
            worth.append(("", 1, False, later_priced(steps, steps, factors=False)))
            self.mlperf, self.left_out, self.held_out = others.result(), pd.concat([one.result() for one in left]), apart.result()
            self.submitters = {name: one.result() for name, one in submitters.items()}
            self.worth = [(name, value, of_time, one.result()) for name, value, of_time, one in worth]


def introduction(d):
    return f"""# How accurate for training

Written by `examples/training_page.py ../shared/measurements > docs/training-accuracy.md`; a test holds the page to what that
command prints. {len(d.steps)} published steps, {len(counted(d.steps))} of them fully specified and priced. Error is 100 |predicted / published - 1| of the
seconds of a step; two figures with a slash are median and mean. Errors are by group and averaged over groups, since one group
has more rows than all others together.

"""


def unseen_table(first, groups):
    return table([first, "steps", "median / mean %", "within 10 %", "in interval"],
                 [(name, len(rows), pair(errors(rows)), f"{100 * ((rows.predicted / rows.measured - 1).abs() <= 0.1).mean():.0f} %", f"{coverage(rows):.0f} %")
                  for name, rows in groups])


def reasons(rows):
    why = rows.skipped.where(rows.skipped != "", NOT_COUNTED)[~rows.index.isin(counted(rows).index)]
    return why.value_counts().sort_index().items()


def never_fitted(d):
    others = counted(pd.concat([d.left_out, d.adapters]))
    others = others[others.group.str.startswith("mlperf_")]
    each = [errors(rows) for rows in d.submitters.values()]
    return ("## MLPerf Training, left out\n\nStep times derived from logs in the public result repositories of MLPerf Training (Apache-2.0), by a fit that saw none\n"
            "of them, all machines of a model together: no step on Blackwell but SimuMax's, none on an AMD GPU. They are not verified by\nMLCommons, and step "
            "time is no official metric. The shipped constants were fitted to those of NVIDIA's code as well: the groups\n`mlperf_` below.\n\n"
            + unseen_table("model", counted(d.mlperf).groupby("model"))
            + "\nThe same of NVIDIA's code by a fit that saw the other models: what a new model of a known program is off. Adapters are in no fit.\n\n"
            + unseen_table("model", others.groupby("model")) + "\n"
            + "".join(f"- not counted: {n} rows, {why}\n" for why, n in reasons(d.mlperf)) + "\n"
            + "The rows that are fitted, by who submitted them, each by a fit of all others:\n\n" + unseen_table("submitter", d.submitters.items())
            + "| averaged | | {:.1f} / {:.1f} | | |\n\n".format(*np.mean(each, axis=0)))


def groups(d):
    shipped, left, held = counted(d.steps), counted(d.left_out), counted(d.held_out)
    lines, found = [], {"blind": [], "blind_scaled": [], "held": [], "own": [], "scaled": []}
    ranks, inside = [], []
    for group in d.fitted:
        rows, without, fifth = shipped[shipped.group == group], left[left.group == group], held[held.group == group]
        one = {"blind": errors(without), "blind_scaled": errors(without, one_scalar(without)), "held": errors(fifth), "own": errors(rows),
               "scaled": errors(rows, one_scalar(rows))}
        ranks.append(rank(rows))
        inside.append(coverage(rows))
        for name, value in one.items():
            found[name].append(value)
        lines.append((group, len(rows), *map(pair, one.values()), f"{ranks[-1]:.3f}", f"{inside[-1]:.0f} %"))
    n = len(d.judged)
    first = {name: average(values[:n]) for name, values in found.items()}
    lines.append((f"**first {n}, averaged**", "", f"**{first['blind']}**", first["blind_scaled"], f"**{first['held']}**", first["own"], first["scaled"],
                  f"least {min(ranks[:n]):.3f}", f"{np.mean(inside[:n]):.0f} %"))
    lines.append((f"all {len(d.fitted)}, averaged", "", average(found["blind"]), "", "", average(found["own"]), "", "", ""))
    text = table(["group", "steps", "left out", "+ scalar", "held out", "in sample", "one scalar", "rank", "in interval"], lines).replace("|  |", "| |")
    return f"""## By group

{text.replace("|  |", "| |")}
*One scalar*: all predictions of the group times one factor, the median of its ratios. *Left out*: by a fit that saw no row of
the group, so its software stack, where no other group ran it or a variant of it, has the factor 1; products that SimuMax timed alone are known in both fits, as one's own kernels would be (`megatron-te-no-overlap`). *Held out*: the two fifths of
its rows whose id hashes (FNV-1a) to 0 or 1 modulo 5, by a fit of the other three: other rows of the same groups, so it says
nothing of new ones, and the shares of `data/stacks` set by hand have seen them all. *In sample*: with the shipped constants,
fitted to these rows. *Rank*: Spearman's correlation of predicted and published seconds inside the group. *In interval*: share
of published figures inside the predicted 5-95 % interval. The first {n} groups are the
sound ones an accuracy is quoted for; the others are fitted with them for what they say of a stack.

`vtrain_single_a100` was composed from profiles of single layers rather than clocked: its rows hold some thirty different layer
times, which no smooth form follows closer than about 4 %.

"""


def memory(d):
    rows = pd.concat([d.steps, d.mlperf, d.newer], ignore_index=True)
    rows = training.memory(rows[~rows.group.str.startswith("vtrain_")].drop_duplicates("id"))
    peaks = rows[rows.memory_gib.notna() & (rows.skipped == "")]
    peaks = peaks.assign(predicted=peaks.allocated / 2**30, measured=peaks.memory_gib)
    lines = [(group, len(its), pair(errors(its)), f"{100 * ((its.predicted / its.measured - 1).abs() <= 0.1).mean():.0f} %") for group, its in peaks.groupby("group")]
    ran, fits = rows.skipped == "", rows.total <= rows.capacity

    def share(part, whole):
        return f"{part} ({100 * part / whole:.1f} %)" if whole else "-"

    def outcome(name, its):
        n, failed = ran[its].sum(), (~ran[its]).sum()
        return name, n, share((ran & ~fits)[its].sum(), n), failed, share((~ran & fits)[its].sum(), failed)

    refused = rows[ran & ~fits]
    wrong = set(refused.group) | set(rows[~ran].group)
    outcomes = [outcome(group, its.index) for group, its in rows.groupby("group") if group in wrong] + [outcome("**all**", rows.index)]
    return ("## Peaks of memory\n\nEvery group that states them: the worst stage as the framework's allocator counts it. No number is fitted by least squares; the bytes\n"
            "of `data/stacks` were set by hand with the groups of their `published:` in view.\n\n" + table(["group", "rows", "median / mean %", "within 10 %"], lines)
            + "\nLayouts whose outcome is recorded, with their recomputation: those that ran fit, so the model should say so; those that\nended out of memory (`OOM` as "
            "their value) should be refused. Of groups with neither, only their sum.\n\n" + table(["group", "ran", "said not to fit", "out of memory", "said to fit"], outcomes) + "\n"
            + ("Ran, and are said not to fit:\n\n" + "".join(f"- {r.id}, {r.group}, {r.model}: {r.total / 2**30:.1f} of {r.capacity / 2**30:.1f} GiB\n" for r in refused.itertuples())
               + "\n" if len(refused) else ""))


def choices(d):
    rows = counted(d.steps)
    rows = rows[rows.group.isin(d.fitted)]
    job = pd.DataFrame([(r.model, r.model_shape.layers, r.model_shape.hidden, r.gpus, r.layout["global_batch"], r.layout["sequence"], r.layout["precision"])
                        for r in rows.itertuples()], index=rows.index).astype(str).agg(" ".join, axis=1)
    lines = []
    for group in d.fitted:
        found = []
        for _, its in rows[rows.group == group].groupby(job):
            each = its.groupby("predicted", as_index=False).measured.median()  # runs of one layout are no choice
            if len(each) < 3:
                continue
            best, middle = each.measured.min(), each.measured.sort_values().iloc[len(each) // 2]
            found.append((len(each), 100 * (each.measured.iloc[0] / best - 1), 100 * (middle / best - 1), rank(each)))
        if found:
            layouts, loss, middle, ranked = zip(*found)
            lines.append((group, len(found), sum(layouts), f"{np.mean(loss):.1f}", f"{np.mean(middle):.1f}", f"{np.mean(ranked):.2f}"))
    return ("## Choosing by the model\n\nLayouts of the same model, GPUs, batch, sequence and precision; runs of the same layout, by several releases of the software, are\n"
            "one with their median. The model's pick is the layout it predicts fastest; the loss is how much slower that one was published\nthan the best of the same job. "
            "Means over the jobs of a group with at least three layouts.\n\n"
            + table(["group", "jobs", "layouts", "loss of the model's pick %", "loss of the median layout %", "rank inside a job"], lines) + "\n")


def named_figures(d):
    lines = []
    for r in d.steps[d.steps.skipped == ""].itertuples():
        off = 100 * (r.predicted / r.measured - 1)
        tokens = r.layout["global_batch"] * r.layout["sequence"]
        if r.group == "korthikanti_tab5":
            how = "full recomputation" if r.layout["recompute"] == "full" else "selective, sequence parallel"
            lines.append((f"Korthikanti 2022, {r.model} on {r.gpus} A100, {how}: step", f"{r.measured:.2f} s", f"{r.predicted:.2f} s", f"{off:+.1f} %"))
        if r.group == "llama3_405b_meta":
            flops = 100 * training.model_flops(r.model_shape, tokens, r.layout["sequence"]) / (r.gpus * H100_PEAK)
            published, ours = flops / r.measured, flops / r.predicted
            lines.append((f"Llama 3 405B on {r.gpus} H100, sequence {r.layout['sequence']}: MFU", f"{published:.1f} %", f"{ours:.1f} %", f"{ours - published:+.1f} points"))
        if r.group == "deepseek_v3_h800" and r.metric == "step_time_s":
            hours = r.gpus / 3600 / tokens * 1e12 / 1e3
            lines.append((f"DeepSeek-V3 on {r.gpus} H800: step of {tokens / 1e6:.1f} M tokens", f"{r.measured:.2f} s", f"{r.predicted:.2f} s", f"{off:+.1f} %"))
            lines.append(("DeepSeek-V3: GPU-hours for 10^12 tokens", f"{hours * r.measured:.0f} K", f"{hours * r.predicted:.0f} K", f"{off:+.1f} %"))
    rows = counted(d.steps)
    rows = rows[rows.group == "korthikanti_tab5"]
    return ("## Figures often quoted\n\n" + table(["figure", "published", "predicted", "off"], lines)
            + f"| Korthikanti 2022, mean of the {len(rows)} | | | {ape(rows).mean():.2f} % |\n\n"
            "All of them are in the fit; what a fit without its group says of each is above (*left out*).\n\n")


def kernels(d):
    lines = []
    priced = d.kernels[d.kernels.skipped == ""]
    for (group, kind), its in priced.groupby(["group", "kind"]):
        known, assumed = its[its.fully_specified], its[~its.fully_specified]
        lines.append((group, kind, len(known), pair(errors(known)), f"{coverage(known):.0f} %" if len(known) else "-",
                      f"{len(assumed)} rows, {pair(errors(assumed))}" if len(assumed) else "-"))
    skipped = d.kernels.skipped[d.kernels.skipped != ""].value_counts().sort_index()
    return ("## Kernels and collectives alone\n\nPublished times of single calls. Products and element-wise kernels are fitted together with the steps; collectives are the\n"
            "library's, with no constant of theirs. The last column are rows between nodes, or between pairs of cards over PCIe, whose wiring the\nsource does not state: "
            "priced on the public cloud whose rates they come nearest, and not counted.\n\n" + table(["group", "what", "rows", "error", "in interval", "wiring assumed"], lines)
            + "\nSmall all_reduce times of vidur are those of a profiler around a library call: 2 KiB takes 10 us on two GPUs and 61 us on four of\nthe same board, out of any "
            "order. Its send_recv times the sender, which may leave before the data has arrived. LLMCompass timed from\nthe host, about 30 us a call: its decode kernels, "
            "and its smallest products, are that.\n\n" + "".join(f"Not priced, {n} rows: {why}.\n" for why, n in skipped.items()) + ("\n" if len(skipped) else ""))


def in_units(value, of_time, digits):
    return f"{1e6 * value:.{digits}g} us" if of_time else f"{value:.3g}"


def constants(d):
    generations = list(d.fit.generations)
    of_time = dict(zip(CONSTANTS.key, CONSTANTS.of_time))
    cells, shared, each = {}, set(), set()
    for generation, found in d.fit.generations.items():
        for name, c in found.constants.items():
            text = in_units(c.value, of_time[name], 4)
            cells[name, generation] = f"{text} +- {100 * c.relative_error:.2g} %" if c.determined else f"({text})"
            each.add((name, "" if c.shared else generation))
            shared |= {name} if c.shared else set()
    of_kernels, rows_of = len(each), Counter()
    for s in d.fit.stacks:
        rows_of[s.factor] += s.rows
    programs = len({s.factor for s in d.fit.stacks if s.name == "unseen" or (s.relative_error > 0 and rows_of[s.factor] >= 5)})
    head = f"""## Constants

{d.fit.constants} constants by least squares on log(predicted / published) of {d.fit.rows} steps, kernels and figures of serving runs: {of_kernels} of kernels on {len(generations)} GPU
families, {programs} factors, one for each program of five steps and more, which its variants share, and publisher of kernels, and `unseen`, that of all others, and {d.fit.constants - of_kernels - programs} of serving engines
(`data/workloads/serving.yaml`). Deviations are standard errors; of what the rows say nothing (-), the prior holds. What they
mean is in `include/fabricost/hardware/constant_sets.hpp`; those not here are held.

"""
    lines = [(name + (" (one for all)" if name in shared else ""), *(cells.get((name, generation), "-") for generation in generations))
             for name, *_ in free_constants() if any(key[0] == name for key in cells)]
    factors = [(s.name, s.rows, f"{s.scale:.3f}", f"{100 * s.relative_error:.2g}", f"{100 * s.spread:.2g}", ", ".join(sorted(s.generations)))
               for s in sorted(d.fit.stacks, key=lambda s: s.name)]
    return (head + table(["constant", *generations], lines) + "\n" + table(["stack or publisher", "rows", "factor", "+- %", "what is left, sd %", "on"], factors)
            + "\nA stack's factor is on the times of its kernels and launches, not on exchanges; variants of one program (`factor_of`) have one, and a spread each. A publisher's is on\n"
            "the arithmetic of products alone: the same product on an A100 takes a fifth longer in one publication than in another, and neither\nsays at which clock.\n\n")


def worth(d):
    def averages(steps):
        rows = counted(steps)
        found = [errors(rows[rows.group == group]) for group in d.fitted]
        return found[:len(d.judged)], found

    judged, every = averages(d.steps)
    mean = np.mean([one[1] for one in judged])
    lines = []
    for name, value, of_time, steps in d.worth:
        its, all_of_them = averages(steps)
        more = np.mean([one[1] for one in its]) - mean
        lines.append((more, (f"`{name}`" if name else "all factors", in_units(value, of_time, 3), average(its), average(all_of_them), f"{more:+.2f}")))
    n = len(judged)
    return (f"## What each constant is worth\n\nEach in turn is held where its effect is gone, on all GPU families: a share of a peak at 1, any other at the least that a fit may\n"
            "take. All others are fitted again, so that the table shows what they cannot take over. With all of them the first "
            f"{n} groups\nare {average(judged)} off, all groups {average(every)}.\n\n"
            + table(["without", "held at", f"first {n} groups", "all groups", "mean worse by"], [line for _, line in sorted(lines, key=lambda one: -one[0])]) + "\n")


def conventions(d):
    def formula(group, metric):
        known = {"tokens_per_s_per_gpu": "T / (value G)", "tokens_per_s": "T / value"}
        flops = "equation 3" if group.startswith("sc21") else "T (6 N + 12 l a d s)"
        return known.get(metric) or flops + (" / (value peak G)" if metric == "mfu_pct" else " / (value G)")

    lines = [(group, metric, n, formula(group, metric)) for (group, metric), n in counted(d.steps).groupby(["group", "metric"]).size().items()
             if not metric.startswith("step_time")]
    return ("## What each group publishes\n\nFigures become seconds per step of `T = batch x sequence` tokens on G GPUs. TFLOPS count 6 N + 12 l a d s per token, N the\n"
            "parameters a token is multiplied with and all scores, causal or not; Narayanan 2021 (`sc21`) its equation 3 with recomputation,\n96 B s l h^2 (1 + s / 6h + V / 16 l h). "
            "MFU divides by the dense peak of the precision: A100 312; H100, H200, H800 989.5; B200 2250\nTFLOP/s in 16 bit, twice that in fp8. Groups that publish the time of a step are left out.\n\n"
            + table(["group", "figure", "steps", "seconds"], lines) + "\n")


def set_aside(d):
    shipped, lines = counted(d.steps), []
    for group, n in d.steps.groupby("group").size().items():
        if group not in d.fitted:
            why = [reason for beginning, reason in sorted(d.groups["set_aside"].items()) if group.startswith(beginning)]
            its = shipped[shipped.group == group]
            lines.append((group, n, len(its), pair(errors(its)), why[-1] if why else "group not known to be sound"))
    return ("## Set aside\n\nGroups left out of all fits; those fully specified are priced all the same.\n\n" + table(["group", "rows", "priced", "error", "why"], lines)
            + "\nSingle rows that do not count, of all groups:\n\n" + table(["rows", "why"], [(n, why) for why, n in reasons(d.steps)]))


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--one-fit"]):
        sys.exit("usage: training_page.py MEASUREMENTS [--one-fit] > docs/training-accuracy.md")
    refits = len(sys.argv) == 2
    found = Published(sys.argv[1], refits)
    sections = [introduction, never_fitted, groups, memory, choices, named_figures, kernels, constants, worth, conventions, set_aside]
    print("".join(section(found) for section in sections if refits or section not in (never_fitted, worth)), end="")


if __name__ == "__main__":
    main()
