#!/usr/bin/env python3
"""Prints what each constant of collectives is worth, by fits that go without it, as Markdown.

    python3 examples/accuracy_page/constants.py build/fabricost MEASUREMENTS

Each free constant in turn is held at the value at which its effect is gone: a time or size at its lower bound, a share or an order
of a norm at 1, any other number at 0 or its lower bound. All others are fitted again, so that the tables show what they cannot take over.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRIORS = ROOT / "data" / "priors"
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "B": 1, "KiB": 2**10, "kB": 1e3, "MiB": 2**20, "MB": 1e6, "GB": 1e9, "TB": 1e12}

# set, its file of priors, heading, measurements, further options
FITS = [
    ("scale_up", "scale-up", "NVLink: 8 A100, H100 and B200", ["dgx-a100.nccl.csv", "dgx-h100.nccl.csv", "dgx-b200.nccl.csv"],
     ["--leave-out", "aiconfigurator/h100_sxm/nccl/2.23"]),
    ("pcie", "pcie", "PCIe: 8 L40S", ["l40s-pcie.nccl.csv"], []),
    ("pcie", "pcie", "PCIe: 8 RTX PRO 6000", ["second/rtx-pro-6000-pcie.nccl.csv"], []),
    ("transport", "transport", "Between nodes: the public clusters",
     ["multinode/points_healthy.csv", "second/multinode/points_healthy.csv", "second/newer/points_healthy.csv",
      "third/released/multinode/points_healthy.csv", "third/released/newer/points_healthy.csv", "third/points_collectives.csv"], ["--only", "transport"]),
]


def number(text):
    """Seconds, bytes or a plain number."""
    if not isinstance(text, str):
        return float(text)
    value, unit = text.split()
    return float(value) * UNITS[unit]


def without(constant):
    """The value of a constant whose effect is gone."""
    if constant["kind"] in ("share", "link_share", "order"):
        return 1.0
    return number(constant["min"])


def fit(command, measurements, files, options):
    """Errors in percent of a fit, points of all sets together."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([command, "calibrate", "--from", *(measurements / f for f in files), "-o", out, "--json", *options],
                              capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"constants: {done.stderr.strip()}")
    answer = json.loads(done.stdout)
    rows = [r for s in answer["sets"] for r in s["residuals"].values()]
    points = sum(r["points"] for r in rows)
    return sum(r["points"] * r["mape"] for r in rows) / points, points, answer


def page(command, measurements):
    left_out = [line.split(",", 1)[0] for line in (ROOT / "data/measurements/left-out.csv").read_text().splitlines()[1:]]
    print("# What each constant is worth\n")
    print("Each constant is left out in turn (a time or size at its lower bound, a share or the order of a norm at 1, any other number")
    print("at 0 or its lower bound), all others are fitted again to the same points, and the mean error is compared. Values that do not")
    print("depend on the machine (`form.` of `fabricost calibrate --list`) stand in `data/priors` with the measurements they come from.")
    for name, prior, heading, files, options in FITS:
        if name == "transport":
            options = [*options, "--leave-out", *left_out]
        constants = {k: c for k, c in yaml.safe_load((PRIORS / f"{prior}.yaml").read_text())["constants"].items()
                     if c["fit"] in ("own", "shared")}
        mean, points, _ = fit(command, measurements, files, options)
        print(f"\n## {heading}\n\n{len(constants)} free constants, {points} points, mean error {mean:.2f} %.\n")
        print("| without | held at | mean error % | worse by |\n|---|---|---|---|")
        rows = []
        for key, constant in constants.items():
            value = without(constant)
            rows.append((fit(command, measurements, files, [*options, "--hold", f"{name}:{key}={value:.6g}"])[0], key, value))
        for error, key, value in sorted(rows, reverse=True):
            print(f"| `{key}` | {value:.3g} | {error:.2f} | {error - mean:+.2f} |")
        idle = sum(error - mean < 0.01 for error, _, _ in rows)
        median = statistics.median(error - mean for error, _, _ in rows)
        print(f"\nThe median constant is worth {median:.2f} points; {idle} of {len(rows)} are worth less than 0.01.")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    page(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]))
