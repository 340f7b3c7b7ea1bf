#!/usr/bin/env python3
"""Writes docs/performance.md, or checks that what it claims still holds.

    performance_page.py build/bin/fabricost_ratios > docs/performance.md       [--llm-analysis PYTHON]
    performance_page.py build/bin/fabricost_ratios --check docs/performance.md

Times of C++ come from fabricost_ratios, those of Python from the package where it can be imported (build/python), both as ratios of
times of one round. Other programs are timed where they are named. A claim is an upper bound of a ratio; the page lists it beside the
figure, for processors whose pow() is quick (AMD's), and the check allows twice as much, because test machines do other work too."""
import argparse
import csv
import io
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLACK = 2  # machines differ and are shared

# name, what it is, what it is compared with (a column of fabricost_ratios), the most it may be
CLAIMS = [
    ("predict_three_tiers", "`predict`, all-reduce on 1,016 GPUs over NVLink, NICs and a tapered network", "pow_pair", 10.0),
    ("predict_one_node", "`predict`, all-reduce on 8 GPUs of one node", "pow_pair", 8.0),
    ("curve_sorted", "a compiled curve, size after size, sizes ascending", "pow_pair", 0.25),
    ("curve_mixed", "the same, sizes without order", "pow_pair", 0.5),
    ("curve_with_norm_sorted", "a curve whose terms overlap (8 A100), ascending", "pow_pair", 0.25),
    ("curve_with_norm_mixed", "the same, without order", "pow_pair", 0.4),
    ("curve_pcie_sorted", "a curve whose terms overlap at all sizes (8 L40S over PCIe), ascending", "pow_pair", 0.2),
    ("curve_pcie_mixed", "the same on PCIe, without order", "pow_pair", 0.2),
    ("array_sorted", "`evaluate`: the curve at 16,384 sizes at once, ascending", "pow_pair", 0.08),
    ("array_mixed", "`evaluate`, without order", "pow_pair", 0.18),
    ("array_with_norm_sorted", "`evaluate` where terms overlap (8 A100), ascending", "pow_pair", 0.16),
    ("array_with_norm_mixed", "`evaluate` there, without order", "pow_pair", 0.18),
    ("array_pcie_sorted", "`evaluate` over PCIe (8 L40S), ascending", "pow_pair", 0.16),
    ("array_pcie_mixed", "`evaluate` over PCIe, without order", "pow_pair", 0.16),
    ("array_sorted", "`evaluate`, ascending", "least_of_12_lines", 2.0),
    ("array_sorted", "`evaluate`, ascending", "copy", 20.0),
]
LIMITS = {"pow_pair": "a pair of `pow()`", "least_of_12_lines": "the least of 12 lines in registers", "copy": "a copy of the answers"}


def measured(program, rounds):
    """{name: {column: number}} of fabricost_ratios."""
    done = subprocess.run([program, str(rounds)], capture_output=True, text=True, check=True)
    return {row["name"]: {key: float(value) for key, value in row.items() if key != "name" and value}
            for row in csv.DictReader(io.StringIO(done.stdout))}


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8") if os.path.exists("/proc/cpuinfo") else ""
    found = {key: re.search(rf"^{key}\s*: (.*)$", text, re.M) for key in ("model name", "model", "flags")}
    name = found["model name"][1] if found["model name"] else platform.processor() or "unknown"
    flags = found["flags"][1].split() if found["flags"] else []
    wide = "AVX-512" if "avx512dq" in flags else "AVX2" if "avx2" in flags else "no AVX2"
    return f"{name} (model {found['model'][1]}), {wide}, {os.cpu_count()} processors" if found["model"] else name


def compiler(program):
    cache = next((p / "CMakeCache.txt" for p in pathlib.Path(program).resolve().parents if (p / "CMakeCache.txt").exists()), None)
    if cache is None:
        return "unknown compiler"
    found = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache.read_text(encoding="utf-8"), re.M)
    version = subprocess.run([found[1], "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    kind = re.search(r"^CMAKE_BUILD_TYPE:\w+=(.*)$", cache.read_text(encoding="utf-8"), re.M)
    return f"{version}, {kind[1]}"


def median(values):
    return sorted(values)[len(values) // 2]


def python_rows():
    """[(what, ratio to NumPy's a + b x, ratio to NumPy's norm formula)] for a million sizes; why not, as text, where it cannot be."""
    try:
        import numpy as np
        import fabricost as fc
    except ImportError as missing:
        return f"Not measured for this page: {missing}."
    sizes = 1024 * 2.0 ** (20 * np.arange(1000000) / 1000000)
    mixed = np.random.default_rng(1).permutation(sizes)
    system, ampere = fc.load_system("superpod-h100"), fc.load_system("dgx-a100")
    runs = {
        "line": lambda: 1e-5 + 1e-11 * sizes,
        "norm": lambda: 1e-5 + (1e-5 ** 1.3 + (1e-11 * sizes) ** 1.3) ** (1 / 1.3),
        "ascending": lambda: fc.predict(system, fc.AllReduce(sizes, ranks=1016), threads=1),
        "without order": lambda: fc.predict(system, fc.AllReduce(mixed, ranks=1016), threads=1),
        "terms that overlap (8 A100)": lambda: fc.predict(ampere, fc.AllReduce(sizes, ranks=8), threads=1),
    }
    times = {name: [] for name in runs}
    for turn in range(17):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if turn >= 2:
                times[name].append(time.perf_counter() - start)
    ratio = lambda name, to: median([a / b for a, b in zip(times[name], times[to])])
    return [(name, ratio(name, "line"), ratio(name, "norm")) for name in list(runs)[2:]]


def peer_text(interpreter, layouts):
    """A table of the peer beside ours, timed with an interpreter that has it; what is said where none was named."""
    link = "[llm-analysis](https://pypi.org/project/llm-analysis)"
    if not interpreter:
        return f"{link} was not run for this page: `--llm-analysis PYTHON` puts it here."
    path = pathlib.Path(__file__).with_name("peer_llm_analysis.py")
    done = subprocess.run([interpreter, path], capture_output=True, text=True, check=True)
    ours, theirs = 1e9 / layouts["nanoseconds"], float(done.stdout.split()[-1])
    return (f"| one thread | layouts/s | beside ours |\n|---|---|---|\n| fabricost | {ours:,.0f} | 1 |\n"
            f"| {link} | {theirs:,.0f} | 1/{ours / theirs:,.0f} |")


def number(value):
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def page(program, rounds, llm_analysis):
    got = measured(program, rounds)
    rows = "\n".join(
        f"| {what} | {got[name]['nanoseconds']:.3g} ns | {number(got[name]['over_' + limit])} x {LIMITS[limit]} | {most:g} |"
        for name, what, limit, most in CLAIMS)
    limits = "\n".join(f"| {what} | {got[name]['nanoseconds']:.3g} ns |" for name, what in LIMITS.items())
    python = python_rows()
    head = "| a million sizes | over `a + b * x` | over `a + (l**q + (x * r)**q)**(1/q)` |\n|---|---|---|\n"
    table = python if isinstance(python, str) else head + "\n".join(
        f"| {what} | {number(line)} | {number(norm)} |" for what, line, norm in python)
    priced, decided, compiled, with_table = (got[name] for name in ("layout_priced", "layout_decided", "compile", "compile_with_table"))
    layouts = {name: f"{int(got[name]['nanoseconds']):,}" for name in ("layouts_priced", "layouts_decided")}
    return f"""# How fast

What a prediction costs, against limits measured in the same round of the same run: every figure is the median over {rounds} rounds, a ratio
the median of the rounds' ratios (a search over layouts, which takes milliseconds: the least of half as many). Written by

    python3 tests/benchmark/performance_page.py build/bin/fabricost_ratios > docs/performance.md

(configured with `-DFABRICOST_BUILD_BENCHMARKS=ON -DFABRICOST_BUILD_PYTHON=ON`, `PYTHONPATH=build/python`), on
{processor()};
{compiler(program)}.
Absolute times are this machine's, which did other work meanwhile; ratios carry over. A test runs the program again and holds every ratio to
{SLACK} times the bound in its row (`benchmark.performance_claims_hold`).

| limit | one answer |
|---|---|
{limits}

A pair of `pow()` is what the norm of two terms costs when the C library computes it; the least of 12 lines is a choice by price with
nothing else to do; a copy is what no answer can undercut.

| what | one answer | ratio | at most |
|---|---|---|---|
{rows}

- `predict` starts from the machine each time: groups of ranks, NCCL's channels and choice, the price, its terms, the interval. It takes no
  memory from the heap (`tests/unit/predict/test_no_allocation.cpp`) and remembers nothing.
- A `Curve` is what does not depend on the size, worked out once ({compiled['nanoseconds'] / 1e3:.2g} us). Where terms overlap it carries a
  table of polynomials over quarters of octaves from 256 B to 64 GiB (`curve_table.hpp`; \
{with_table['nanoseconds'] / 1e3:.2g} us with it): within
  1e-9 of the line at each size, which still answers where the curve turns or jumps.
- `evaluate(curve, sizes, seconds)` reads that table, or takes sizes 32 at a time in loops that compilers vectorise, with `log2` and `exp2`
  in plain arithmetic (`elementary.hpp`): within 2e-14 of the line. With g++ on x86-64 Linux there is a copy each for AVX-512,
  AVX2 and SSE2, of which the loader takes the widest the processor has; `curve_threads.hpp` shares \
millions of sizes among threads, as the Python
  package does.

## Python

`fc.predict` with an array of sizes, one thread, beside a formula written with NumPy:

{table}

## Layouts

The search for GPT-3 175B on 1,024 GPUs of superpod-h100 with 128 nodes, 1,024 sequences a step, one thread:
{layouts['layouts_priced']} layouts that fit are priced in full (`prune = false`) in {priced['nanoseconds'] / 1e3:.2f} us each,
what they share and what does not fit included:
{priced['over_pow_pair']:.0f} pairs of `pow()`, {1e3 / priced['nanoseconds']:.2f} million layouts/s. With the bound of each group
of layouts, which loses none of the best, {layouts['layouts_decided']} layouts are decided in {decided['nanoseconds']:.0f} ns each.
Curves of collectives are compiled once per (collective, ranks of a domain, domains) and shared by all layouts of a search.

Layouts per second of a program that answers a question of the same kind (a step of training: its time and memory) with its own
model of it, run in the same minutes on one processor (`peer_llm_analysis.py` beside this page's program):

{peer_text(llm_analysis, priced)}
"""


def check(program, path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    missing = [what for _, what, _, most in CLAIMS if not re.search(re.escape(f"| {what} |") + rf".*\| {most:g} \|", text)]
    if missing:
        sys.exit(f"{path} does not show the bounds of: {'; '.join(missing)}; write it again")
    least = {}
    for attempt in range(5):  # a machine that was busy for one attempt may not be for the next
        got = measured(program, 41)
        for name, _, limit, _ in CLAIMS:
            least[name, limit] = min(least.get((name, limit), float("inf")), got[name]["over_" + limit])
        over = [f"{what}: {least[name, limit]:.3g} x {LIMITS[limit]}, at most {most:g} x {SLACK}"
                for name, what, limit, most in CLAIMS if least[name, limit] > SLACK * most]
        if not over:
            print(f"{len(CLAIMS)} ratios hold, at attempt {attempt + 1}")
            return
    sys.exit("\n".join(over))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program", help="fabricost_ratios")
    arguments.add_argument("--check", metavar="PAGE", help="check the claims of a page instead of writing one")
    arguments.add_argument("--rounds", type=int, default=101)
    arguments.add_argument("--llm-analysis", metavar="PYTHON", help="interpreter of an environment with llm-analysis")
    given = arguments.parse_args()
    if given.check:
        check(given.program, given.check)
    else:
        sys.stdout.write(page(given.program, given.rounds, given.llm_analysis))


if __name__ == "__main__":
    main()
