#!/usr/bin/env python3
"""Draws docs/busbw-8-h100.png: an nccl-tests run on 8 H100s beside what is predicted of it.

    python3 docs/site/front_picture.py [FILE.png]        with the package importable (after ./quickstart: .venv/bin/python)
"""
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import fabricost as fc
from fabricost import plot

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOG = ROOT / "data/measurements/dgx-h100-all-reduce.txt"


def picture():
    """The axes, and the drawn line: [[bytes, GB/s], ...]."""
    axes = plot.busbw(fc.load_system("dgx-h100"), fc.AllReduce(dtype="float"), measured=str(LOG))
    axes.set_title("All-reduce on 8 H100s: nccl-tests beside fabricost")
    axes.figure.set_size_inches(8, 4.2)
    line = max((one for one in axes.lines if one.get_linestyle() == "-"), key=lambda one: len(one.get_xdata()))
    return axes, [[float(x), round(float(y), 2)] for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def main(output):
    axes, drawn = picture()
    axes.figure.savefig(output, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs/busbw-8-h100.png")
