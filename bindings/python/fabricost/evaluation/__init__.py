"""Tables of published figures beside the model: how far its predictions are from what others measured.

    python -m fabricost.evaluation pipeline.csv --json

>>> from fabricost import evaluation
>>> evaluation.validate("pipeline.csv").by_group["zb_throughput"]["median_ape"]  # doctest: +SKIP

The columns of a table say of what kind it is: training steps, serving runs, services under arrivals, whole datasets, pipeline schedules, experts,
reliability (their modules say what is predicted how).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import fabricost as fc

from .. import _core
from . import _fit, arrivals, experts, kernels, mlperf, pipeline, reliability, serving, training
from ._fit import Fit
from ._table import Report, Row, header_of, pd

__all__ = ["Fit", "Report", "fit", "validate"]

_KNOWN_BY = ((training, set(training.COLUMNS)), (serving, set(serving.COLUMNS)), (arrivals, set(arrivals.COLUMNS)), (mlperf, {"benchmark", "scenario", "tokens_per_s_per_gpu"}),
             (pipeline, {"id", "group", "schedule", "t_f_ms", "metric", "value"}), (experts, {"id", "group", "tokens_per_rank", "quantity", "value"}),
             (reliability, {"id", "group", "topic", "system", "quantity", "value"}))


def _predicted(file: str) -> Any:
    columns, rows = header_of(file)
    kind = next((kind for kind, known in _KNOWN_BY if known <= set(columns)), None)
    if kind is None:
        raise fc.RequestError(f"{file}: is no table of steps, serving runs, arrivals, datasets, pipeline schedules, experts or reliability; fc.validate compares points and kernels")
    if missing := [column for column in kind.COLUMNS if column not in columns]:
        raise fc.SpecError(f"{file}: the column{'s' * (len(missing) > 1)} {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing\n  "
                           f"such a table has at least {','.join(kind.COLUMNS)}")
    return kind.predicted(list(rows))


def validate(*tables: str) -> Report:
    """Predicts every row of tables of published figures. Raises SpecError with file and line for a cell that is wrong."""
    return Report(pd.concat([_predicted(str(table)) for table in tables], ignore_index=True))


def fit(*tables: str | Any, leave_out: Sequence[str] = (), **options: Any) -> Fit:
    """Kernel efficiencies, factors of stacks and constants of serving frameworks from tables (or frames of training.read) of steps, of kernels and of
    serving runs, those of data/workloads/training-groups.yaml that are sound and fully specified. leave_out: groups, or beginnings of their names; hold:
    constants by name, in SI units, that are not fitted; factors False: all factors are 1; every_group: also those not known to be sound."""
    questions = _core._Questions()
    frames = [table for table in tables if isinstance(table, pd.DataFrame)]
    read = {str(table): header_of(str(table)) for table in tables if not isinstance(table, pd.DataFrame)}
    steps, served, whole = ([table for table, (columns, _) in read.items() if set(kind.COLUMNS) <= set(columns)] for kind in (training, serving, mlperf))
    timed = [table for table in read if table not in (*steps, *served, *whole)]

    def rows_of(its: Sequence[str]) -> list[Row]:
        return [row for table in its for row in read[table][1]]

    runs = serving.fitted(rows_of(served), questions)
    if whole:
        runs = pd.concat([runs, mlperf.fitted(rows_of(whole), questions)], ignore_index=True)
    return _fit.fit(pd.concat([*frames, training.steps_of(rows_of(steps))], ignore_index=True), kernels.read(*timed), runs, questions, leave_out,
                    tables=[*steps, *timed, *served, *whole], **options)
