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


def main(output):
    system = fc.load_system("dgx-h100")
    axes = plot.busbw(system, fc.AllReduce(dtype="float"), measured=str(ROOT / "data/measurements/dgx-h100-all-reduce.txt"))
    axes.set_title("All-reduce on 8 H100s: nccl-tests beside fabricost")
    axes.figure.set_size_inches(8, 4.2)
    axes.figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs/busbw-8-h100.png")
