"""Tables of published figures beside the model: how far its predictions are from what others measured.

    python -m fabricost.evaluation pipeline.csv --json

>>> from fabricost import evaluation
>>> evaluation.validate("pipeline.csv").by_group["zb_throughput"]["median_ape"]  # doctest: +SKIP

The columns of a table say of what kind it is: pipeline schedules, experts, reliability (their modules say what is predicted how).
"""

from __future__ import annotations

from typing import Any

import fabricost as fc

from . import experts, pipeline, reliability
from ._table import Report, header_of, pd

__all__ = ["Report", "validate"]

_KNOWN_BY = ((pipeline, {"id", "group", "schedule", "t_f_ms", "metric", "value"}), (experts, {"id", "group", "tokens_per_rank", "quantity", "value"}),
             (reliability, {"id", "group", "topic", "system", "quantity", "value"}))


def _predicted(file: str) -> Any:
    columns, rows = header_of(file)
    kind = next((kind for kind, known in _KNOWN_BY if known <= set(columns)), None)
    if kind is None:
        raise fc.RequestError(f"{file}: is no table of pipeline schedules, experts or reliability; fc.validate compares points, steps, serving runs and kernels")
    if missing := [column for column in kind.COLUMNS if column not in columns]:
        raise fc.SpecError(f"{file}: the column{'s' * (len(missing) > 1)} {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing\n  "
                           f"such a table has at least {','.join(kind.COLUMNS)}")
    return kind.predicted(list(rows))


def validate(*tables: str) -> Report:
    """Predicts every row of tables of published figures. Raises SpecError with file and line for a cell that is wrong."""
    return Report(pd.concat([_predicted(str(table)) for table in tables], ignore_index=True))
