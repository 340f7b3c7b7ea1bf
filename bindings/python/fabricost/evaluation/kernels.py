"""Published times of single kernels and collectives, with the shipped constants (docs/reading-logs.md has the columns)."""

from __future__ import annotations

from typing import Any

from .. import _core
from ._table import pd

_COLUMNS = ["kernel", "group", "kind", "system", "fully_specified", "measured", "predicted", "low", "high", "skipped"]


def read(*tables: str) -> Any:
    """The rows as a pandas.DataFrame, with predictions; `kind`: products, element-wise, the name of a collective, others."""
    return pd.DataFrame([row for table in tables for row in _core._priced_kernels(table)], columns=_COLUMNS)
