"""What the pages of accuracy share: measured points, their predictions, and rows of error figures in Markdown."""

from __future__ import annotations

import warnings
from pathlib import Path

import fabricost as fc
import numpy as np
import pandas as pd

DATA = Path(__file__).resolve().parents[2] / "data"
warnings.simplefilter("ignore", fc.FabricostWarning)  # of points that a fit leaves out


def read(*files):
    """The points of several files, as fc.validate takes them."""
    return pd.concat([pd.DataFrame(fc.read_log(file)) for file in files], ignore_index=True)


def compared(points, **options):
    """Repeats merged by their median, and predicted. Files keep their rows that cannot be read."""
    return fc.validate(points, **options)


def samples(points, **options):
    """The same as a frame."""
    return compared(points, **options).to_pandas()


class Errors:
    """Of points with columns measured_seconds, predicted_seconds, low_seconds, high_seconds; in percent."""

    def __init__(self, rows):
        measured, predicted = rows.measured_seconds.to_numpy(), rows.predicted_seconds.to_numpy()
        low, high = rows.low_seconds.to_numpy(), rows.high_seconds.to_numpy()
        error = 100 * np.abs(predicted / measured - 1)
        self.points = len(rows)
        self.median = float(np.median(error)) if len(rows) else 0.0
        self.mean = float(error.mean()) if len(rows) else 0.0
        self.within = 100 * float((error <= 10).mean()) if len(rows) else 0.0
        self.covered = 100 * float(((low <= measured) & (measured <= high)).mean()) if len(rows) else 0.0
        known = (low > 0) & (high > 0)
        low, high, measured = low[known], high[known], measured[known]
        # the interval score of Gneiting & Raftery 2007 in log time, of nine in ten
        beyond = np.maximum(0, np.maximum(np.log(low / measured), np.log(measured / high)))
        self.score = float((np.log(high / low) + 20 * beyond).mean()) if len(low) else 0.0

    @property
    def pair(self):
        return f"{self.median:.1f} / {self.mean:.1f}" if self.points else "-"

    @property
    def inside(self):
        return f"{self.covered:.0f} %" if self.points else "-"


def table(*head):
    return f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n"


def heading(first):
    return table(first, "points", "median %", "mean %", "within 10 %", "in the interval")


def row(name, rows):
    e = Errors(rows)
    return f"| {name} | {e.points} | {e.median:.1f} | {e.mean:.1f} | {e.within:.0f} % | {e.covered:.0f} % |\n"


def scored_heading(first):
    return table(first, "points", "median %", "mean %", "in the interval", "interval score")


def scored_row(name, rows):
    e = Errors(rows)
    return f"| {name} | {e.points} | {e.median:.1f} | {e.mean:.1f} | {e.covered:.0f} % | {e.score:.2f} |\n"


def not_priced(report):
    lines = "".join(f"- not priced: {rows} rows, {reason.split(';')[0]}\n" for reason, rows in report.skipped.items())
    return f"\n{lines}\n" if lines else "\n"


def groups(rows, title, names, order=()):
    """A row for each group of points; those in `order` first, others by name."""
    found = dict(list(rows.groupby(names)))
    wanted = [name for name in order if name in found] + sorted(name for name in found if name not in order)
    return heading(title) + "".join(row(name, found[name]) for name in wanted) + "\n"
