"""Writes docs/kernels-accuracy.md: how far predictions of inference kernels are from measurements, fitted ones and others.

    PYTHONPATH=build/python python3 examples/accuracy_page/kernels_page.py MEASUREMENTS > docs/kernels-accuracy.md
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import fabricost as fc
import numpy as np
import pandas as pd
from errors import Errors, read, samples, table

OVER_NVLINK = ("dgx-a100", "dgx-h100", "dgx-b200")
FITTED = (*OVER_NVLINK, "l40s-pcie", "b60-pcie")
NEVER_FITTED = ("dgx-h200", "dgx-b300", "gb200-nvl72", "rtx-pro-6000-pcie")


def average(found):
    """Medians and means of several systems, averaged: every system counts once."""
    known = [(e.median, e.mean) for e in found if e.points]
    return "{:.1f} / {:.1f}".format(*np.mean(known, axis=0)) if known else "-"


# ---- engines' all-reduces

def reduces_of(folder, system):
    points = pd.DataFrame(fc.merge_repeats(read(folder / f"{system}.custom_allreduce.csv")))
    from_python = points.notes.str.contains("launched from Python")
    return points, points[~from_python], points[from_python]


def predicted(points, **options):
    return samples(points, **options) if len(points) else pd.DataFrame(columns=COLUMNS)


COLUMNS = ["measured_seconds", "predicted_seconds", "low_seconds", "high_seconds", "own_kernel"]


def own(rows):
    """Rows that an engine's own kernel ran, by our prediction of it."""
    return Errors(rows[rows.own_kernel.astype(bool)])


def as_shipped(folder, systems):
    """Errors by machine and engine."""
    out = table("system", "engine", "graph rows", "all", "own kernels", "in the interval", "from Python")
    for system in systems:
        everything, graphs, calls = reduces_of(folder, system)
        for engine in ("", *sorted(everything.library.unique())):
            rows, called = (predicted(part if not engine else part[part.library == engine]) for part in (graphs, calls))
            e = Errors(rows)
            out += f"| {'' if engine else system} | {engine or 'all'} | {e.points} | {e.pair} | {own(rows).pair} | {e.inside} | {Errors(called).pair} |\n"
    return out


def boards(folder):
    """Runs that share the name l40s-pcie: what their own bus bandwidth says of the boards."""
    out = table("run of 1 GiB", "2 GPUs", "4 GPUs", "8 GPUs", "errors of its graph rows")
    _, graphs, _ = reduces_of(folder, "l40s-pcie")
    for source, rows in graphs.groupby("source"):
        large = rows[rows.bytes == 2**30]
        if large.empty:
            continue
        rate = {n: 2 * (n - 1) / n * size / seconds / 1e9 for n, size, seconds in zip(large.ranks, large.bytes, large.seconds)}
        out += (f"| {source[source.index('l40s/') + 5:]} | {rate.get(2, 0):.1f} GB/s | {rate.get(4, 0):.1f} | {rate.get(8, 0):.1f} | "
                f"{Errors(samples(rows)).pair} |\n")
    return out + "\n"


def reduces_left_out(folder):
    out = table("left out", "versions, one by one", "own kernels of those", "the whole generation", "own kernels")
    points = {system: reduces_of(folder, system) for system in OVER_NVLINK}
    whole = {system: fc.calibrate(None, everything, only="custom") for system, (everything, _, _) in points.items()}
    found = []
    for system, (everything, graphs, _) in points.items():
        others = [whole[name] for name in sorted(whole) if name != system]
        parts = []
        for source in sorted(everything.source.unique()):
            if (left := graphs.source == source).any():
                rest = fc.calibrate(None, everything[everything.source != source], only="custom")
                parts.append(samples(graphs[left], constants=[*others, rest]))
        versions, generation = pd.concat(parts), samples(graphs, constants=others)
        found.append((Errors(versions), own(versions), Errors(generation), own(generation)))
        out += f"| {system} | {' | '.join(e.pair for e in found[-1])} |\n"
    return out + f"| averaged | {' | '.join(average(column) for column in zip(*found))} |\n\n"


def all_reduces(folder):
    return ("## All-reduces of engines\n\n"
            "Machines in no fit, with the shipped constants. Beyond an engine's hand-over NCCL runs, with constants fitted to NCCL alone and "
            "nothing here.\nWhat a call from Python takes is the host's and differs from run to run of one version.\n\n"
            + as_shipped(folder / "second", NEVER_FITTED) +
            "\nLeft out of the fit, rows in CUDA graphs. A version: all others of that machine are fitted; what another machine of the "
            "generation would\n"
            "get. The generation: kernels' constants come from the other two, latencies stretched by NCCL's step on that machine "
            "(parameters/related.hpp);\n"
            "NCCL's own part keeps the constants of its nccl-tests. The forms, and how far constants may move, were chosen with all of it in "
            "view.\n\n" + reduces_left_out(folder) +
            "In sample: what was fitted, with the shipped constants.\n\n" + as_shipped(folder, FITTED) +
            "\nA point labelled L40S does not name its board: runs agree on two GPUs, and differ by a factor of 6 on four and 11 on eight, as "
            "GPUs\n"
            "reach each other through a switch, or through the memory of one or two hosts. The shipped PCIe constants are those of the "
            "nccl-tests run\n"
            "(TensorRT-LLM's board seems the same); with a few points of your own board `fabricost calibrate` answers for it.\n\n"
            + boards(folder))


# ---- dispatch and combine

def exchanges(files, **options):
    """Rows of tables of expert exchange, predicted: as samples, with group (machine, kernel, phase), ranks and tokens."""
    rows = fc.validate(list(files), **options).to_pandas()
    rows = rows[rows.skipped == ""].rename(columns={name: f"{name}_seconds" for name in ("measured", "predicted", "low", "high")})
    asked = rows.model.str.extract(r"^(?P<tokens>\S+) tokens .* on (?P<ranks>\d+) ranks").astype(float)
    return rows.assign(system=rows.group.str.split().str[0], kernel=rows.group.str.split().str[1], **asked)


def exchanges_shipped(folder, systems, more=()):
    rows = exchanges([*(folder / f"{system}.moe.csv" for system in systems), *more])
    out = table("system, kernel, phase", "rows", "median / mean", "in the interval")
    for groups in (rows.groupby("system"), rows.groupby("group")):
        for name, its in groups:
            e = Errors(its)
            out += f"| {name} | {e.points} | {e.pair} | {e.covered:.0f} % |\n"
    return out + "\n"


def exchange_generations(folder):
    out = table("left out", "from", "deepep-normal", "deepep-low-latency", "all")
    found = []
    for left, known in (("dgx-h100", "dgx-b200"), ("dgx-b200", "dgx-h100")):
        rows = exchanges([folder / f"{left}.moe.csv"], constants=[fc.calibrate(None, folder / f"{known}.moe.csv")])
        normal, low_latency, whole = (Errors(rows[rows.kernel.str.startswith(kernel)]) for kernel in ("deepep-normal", "deepep-low-latency", "deepep"))
        found.append(whole)
        out += f"| {left} | {known} | {normal.pair} | {low_latency.pair} | {whole.pair} |\n"
    return out + f"| averaged | | | | {average(found)} |\n\n"


def more_ranks(folder):
    out = table("fitted on", "predicted", "median / mean", "to 128 tokens", "beyond")
    measured = folder / "gb200-nvl72.moe.csv"
    rack = pd.read_csv(measured, dtype=str, keep_default_na=False)
    for most, ranks in ((4, 8), (4, 16), (8, 16)):
        with tempfile.TemporaryDirectory() as place:
            few = Path(place) / measured.name
            rack[rack.ranks.astype(int) <= most].to_csv(few, index=False)
            rows = exchanges([measured], constants=[fc.calibrate(None, few)])
        rows = rows[rows.ranks == ranks]
        whole, small, large = map(Errors, (rows, rows[rows.tokens <= 128], rows[rows.tokens >= 129]))
        out += f"| 2 to {most} ranks | {ranks} | {whole.pair} | {small.pair} | {large.pair} |\n"
    out += ("\nWhat that makes of 32 and 64 ranks, time beside the one on 16 (top 8 of 256, hidden 7168, balanced):\n\n"
            + table("kernel", "tokens", "16 ranks", "32", "64"))
    nvl72 = fc.load_system("gb200-nvl72")
    for kernel, phase, name in (("trtllm-NVLinkOneSided", fc.MoeDispatch, "dispatch"), ("trtllm-NVLinkOneSided", fc.MoeCombine, "combine"),
                                ("trtllm-NVLinkTwoSided", fc.MoeDispatch, "dispatch"), ("trtllm-NVLinkTwoSided", fc.MoeCombine, "combine"),
                                ("trtllm-NVLinkTwoSided", fc.MoePrepare, "prepare")):
        few, more, most = (1e6 * fc.predict_moe(nvl72, phase(16, hidden=7168, experts=256, top_k=8, ranks=ranks, implementation=kernel,
                                                             distribution="balanced")).seconds for ranks in (16, 32, 64))
        out += f"| {kernel}, {name} | 16 | {few:.1f} us | {more / few:.2f} | {most / few:.2f} |\n"
    return out + "\n"


def expert_kernels(folder):
    systems = ("dgx-h100", "dgx-b200", "gb200-nvl72")
    return ("## Dispatch and combine\n\nTables in no fit, with the shipped constants; of the NVL72 more kernels and up to 64 ranks.\n\n"
            + exchanges_shipped(folder / "second", ("dgx-h200", "dgx-b300", "gb200-nvl72")) +
            "A generation left out: DeepEP's constants from the other, latencies stretched by NCCL's step. TensorRT-LLM's kernels were "
            "measured on one\n"
            "generation, so nothing can be left out of theirs.\n\n" + exchange_generations(folder) +
            "Fewest ranks to more. A token goes to as many ranks as it has experts and no further, so beyond eight bytes and latency hardly "
            "grow.\n\n" + more_ranks(folder) + "In sample: what was fitted, with the shipped constants; NCCL EP's few of "
            "`data/exchanges` by hand, to these rows.\n\n" +
            exchanges_shipped(folder, systems, [Path(__file__).parents[2] / "data/measurements/moe-nccl-ep.csv"]))


# ---- machines without any measured kernel, beside their measured neighbour

def unmeasured():
    out = ("## Machines without measurements\n\n"
           "Microseconds of an all-reduce by vLLM's kernels or NCCL (its newest rules), and of DeepEP's low-latency and normal dispatch of 128 "
           "and 4096\n"
           "tokens (hidden 7168, top 8 of 256): largest domain up to 8 GPUs. The first of each group was measured.\n\n"
           + table("system", "2 GPUs, 64 KiB", "2, 4 MiB", "all, 64 KiB", "all, 4 MiB", "low latency", "normal", "basis"))
    for name in ("dgx-a100", "hgx-a100-4", "hgx-a100", "dgx-h100", "dgx-h200", "hgx-h20", "deepseek-v3-h800", "dgx-b200", "dgx-b300", "gb200-nvl72",
                 "gb300-nvl72", "l40s-pcie", "rtx-4090-pcie", "rtx-pro-6000-pcie", "pcie5-8gpu", "dgx-1-v100", "vera-rubin-nvl72"):
        system = fc.load_system(name)
        most = min(8, system.domain, system.gpus)
        times = [f"{1e6 * fc.predict(system, fc.AllReduce(size, ranks=ranks), library='vllm').seconds:.1f}"
                 for ranks in (2, most) for size in (64 * fc.KiB, 4 * fc.MiB)]
        for kernel, tokens in (("deepep-low-latency", 128), ("deepep-normal", 4096)):
            try:
                asked = fc.MoeDispatch(tokens, hidden=7168, experts=256, top_k=8, ranks=most, implementation=kernel, distribution="uniform")
                times.append(f"{1e6 * fc.predict_moe(system, asked).seconds:.1f}")
            except fc.RequestError:
                times.append("-")
        out += f"| {name} | {' | '.join(times)} | {fc.constants(name, only='custom').sets[0].basis} |\n"
    return out


INTRODUCTION = """# How good predictions of inference kernels are

All-reduces as vLLM, SGLang and TensorRT-LLM run them, dispatch and combine of DeepEP and TensorRT-LLM. Every figure is worked out from the
measured tables by `examples/accuracy_page/kernels_page.py ../shared/measurements`; pairs are median / mean of |predicted / measured - 1| in percent.

"""


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: kernels_page.py MEASUREMENTS > docs/kernels-accuracy.md")
    folder = Path(sys.argv[1])
    print(INTRODUCTION + all_reduces(folder) + expert_kernels(folder) + unmeasured(), end="")


if __name__ == "__main__":
    main()
