"""Tables of published figures: read with their places, and the errors of their predictions."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import fabricost as fc

from .._extras import module
from .._input import text_of

pd = module("pandas")

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Skipped(Exception):
    """The reason why a row has no prediction."""


def _refuse(file: str, line: int, what: str, remedy: str) -> NoReturn:
    raise fc.SpecError(f"{file}:{line}: {what}\n  {remedy}")


def number_of(text: str) -> float | None:
    """The whole text as a finite number."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    return value if math.isfinite(value) else None


class Row:
    """The cells of one line by column; empty where the table lacks the column."""

    def __init__(self, file: str, line: int, cells: dict[str, str]) -> None:
        self.file, self.line, self._cells = file, line, cells

    def __getitem__(self, column: str) -> str:
        return self._cells.get(column, "")

    def number(self, column: str, most: float = math.inf) -> float:
        """A number of at least 0; 0 for an empty cell."""
        value = number_of(self[column])
        if value is not None and 0 <= value <= most:
            return value
        if self[column]:
            self.refuse(column, f"not a number from 0 to {most:g}", "write a number with a point, or leave the cell empty")
        return 0.0

    def count(self, column: str, most: float = 1e6) -> int:
        """A whole number of at least 0; 0 for an empty cell."""
        value = self.number(column, most)
        if value != int(value):
            self.refuse(column, f"not a whole number from 0 to {most:g}", "write a whole number, or leave the cell empty")
        return int(value)

    def refuse(self, column: str, what: str, remedy: str) -> NoReturn:
        _refuse(self.file, self.line, f'{column} is "{self[column][:40]}", {what}', remedy)

    def figure(self) -> float:
        """The row's figure. Raises Skipped for a formula, a range or 0."""
        value = number_of(self["value"])
        if value is None:
            raise Skipped("its value is a formula or a range")
        if value < 0:
            self.refuse("value", "which is negative", "write a number of at least 0")
        if value == 0:
            raise Skipped("its value is 0")
        return value


def header_of(file: str) -> tuple[list[str], Iterator[Row]]:
    """The columns of a CSV file, and its rows. Lines that are empty or begin with # are comments."""
    lines = [(at, text) for at, text in enumerate(io.StringIO(text_of(file)), 1) if text.strip() and not text.startswith("#")]
    if not lines:
        raise fc.SpecError(f"{file}: is empty")
    cells = [(at, [cell.strip() for cell in next(csv.reader([text]))]) for at, text in lines]
    columns = cells[0][1]

    def rows() -> Iterator[Row]:
        for line, its in cells[1:]:
            if len(its) != len(columns):
                _refuse(file, line, f"{len(its)} cells, the header has {len(columns)}", "write a cell for each column, empty where nothing is known")
            yield Row(file, line, dict(zip(columns, its)))

    return columns, rows()


def frame_of(rows: Sequence[Row], metric: str, predict: Callable[[Row], Any], model: str = "model", figure: Callable[[Row], float] = Row.figure) -> Any:
    """Every row with its prediction, as a pandas.DataFrame. `predict` gives a value, or a value with its interval, or raises the reason of none."""
    out = []
    for row in rows:
        measured = predicted = low = high = math.nan
        skipped = ""
        try:
            measured = figure(row)
            answer = predict(row)
            predicted, low, high = answer if isinstance(answer, tuple) else (answer, 0.0, 0.0)
        except (Skipped, fc.RequestError) as reason:
            skipped = str(reason)
        out.append((row["id"], row["group"], row[model], row[metric], measured, predicted, low, high, row["fully_specified"] == "yes", skipped))
    return pd.DataFrame(out, columns=["id", "group", "model", "metric", "measured", "predicted", "low", "high", "fully_specified", "skipped"])


def errors_of(rows: Any) -> dict[str, Any]:
    """Errors of predictions, as `fabricost validate --json` names them; None without rows."""
    ratio = rows.predicted / rows.measured
    ape = 100 * (ratio - 1).abs()
    out = {"points": len(rows), "median_ape": ape.median(), "mape": ape.mean(), "p90_abs_log2": ratio.map(math.log2).abs().quantile(0.9),
           "within_10pct": (ape <= 10).mean(), "within_25pct": (ape <= 25).mean(),
           "interval_coverage": ((rows.low <= rows.measured) & (rows.measured <= rows.high)).mean()}
    return out if len(rows) else {**dict.fromkeys(out), "points": 0}


def _by_group(rows: Any) -> dict[str, dict[str, Any]]:
    return {str(group): errors_of(its) for group, its in rows.groupby("group")}


class Report:
    """Published figures beside predictions: `rows`, a pandas.DataFrame, and the errors of those that are fully specified and priced."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        why = rows.skipped.where(rows.skipped != "", rows.fully_specified.map({True: "", False: "not fully specified: priced, not counted"}))
        self.counted = rows[why == ""]
        self.skipped = why[why != ""].value_counts().sort_index()
        self.by_group = _by_group(self.counted)
        self.memory_by_group: dict[str, dict[str, Any]] = {}
        self.layouts, self.unfit = 0, []
        if "fits" in rows:
            stated = self.counted[self.counted.fits.notna()]
            self.layouts, self.unfit = len(stated), stated.id[stated.fits == False].tolist()  # noqa: E712  (an array)
            peaks = stated[stated.memory_gib.notna()]
            self.memory_by_group = _by_group(peaks.assign(measured=peaks.memory_gib, predicted=peaks.predicted_gib, low=0.0, high=0.0))

    def to_dict(self) -> dict[str, Any]:
        return {**errors_of(self.counted), "skipped": [{"reason": reason, "rows": int(n)} for reason, n in self.skipped.items()], "by_group": self.by_group,
                **({"memory_by_group": self.memory_by_group} if self.memory_by_group else {}),
                **({"layouts": {"stated": self.layouts, "unfit": self.unfit}} if self.layouts else {})}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, default=float)

    def __str__(self) -> str:
        errors = pd.DataFrame({"all": errors_of(self.counted), **self.by_group, **{f"{group}: peak of memory": its for group, its in self.memory_by_group.items()}}).T
        text = f"{len(self.counted)} published figures, fully specified\n\n{errors.to_string(float_format='{:.4g}'.format)}\n"
        if self.layouts:
            text += f"\nlayouts that ran: {self.layouts}, said not to fit: {len(self.unfit)} {', '.join(self.unfit)}\n"
        return text + ("\nNot counted\n" + self.skipped.to_string(header=False) if len(self.skipped) else "")
