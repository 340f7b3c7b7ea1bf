"""Many machines at one job: combinations of the varied values, searched part by part, in memory or into a folder of Parquet files.

Points are numbered like nested loops over the varied values, the last fastest. In a folder they are parts of a sweep (_sweep.py): a part is
computed from its number alone and becomes one file in one step, so that a run that was killed continues where it stopped.
"""
from __future__ import annotations

import hashlib
import json
import math
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _given, _sweep
from ._extras import module
from ._refused import worded

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

# what is counted in SI units in Python: the unit as _given has it, what one is worth of the unit of the text, and that unit
_SI = {"nic.bandwidth": ("byte/s", 1e9, "GB/s per direction"), "scale_up.bandwidth": ("byte/s", 1e9, "GB/s per direction"),
       "hbm.bandwidth": ("byte/s", 1e9, "GB/s"), "hbm.size": ("byte", 1e9, "GB")}
_SUFFIXES = {"byte/s": "B/s", "byte": "B", "s": "s", "hour": "h"}
_PARAMETERS = {name.replace(".", "_"): name for name in (*_SI, "nic.count")}
_SAID = {"step": "step_seconds", "ttft": "ttft_seconds", "tpot": "tpot_seconds", "tokens/s": "tokens_per_second",
         "tokens/s/gpu": "tokens_per_second_per_gpu", "tokens/s/user": "tokens_per_second_per_user",
         "$/token": "dollars_per_million_tokens", "J/token": "joules_per_million_tokens", "W": "watts"}  # objectives as people write them
_POINTS = 100_000  # of one answer


class Exploration:
    """Points of a design space, as columns. Made by explore and explore_serve.

    `columns`: name to array: the varied values (rates in byte/s, sizes in byte, as vary takes them), the objectives, low_seconds and
    high_seconds (nine in ten fall between), meets (the limits), front, idle_gpus, extra_dollars_per_gpu_hour (what a GPU may cost
    more than with no part varied, at equal dollars a token), layout, binds, trouble, and `d OBJECTIVE / d DIAL`, the elasticities. `units`: of the columns that have one. found["nic_bandwidth"] and found["step"] are found["nic.bandwidth"] and
    found["step_seconds"]. `axes`, `objectives`: names of both. `front`: rows that no other beats, best in the first objective first;
    `knee`: the row where the front bends, or None. `worth`: the gain from more of each part at the knee, a list of ExploreWorth. `notes`:
    what has to be known to read the points, a list of str; `stack_note`: what is assumed of a stack that was not measured there, or "".
    """

    def __init__(self, columns: dict[str, Any], said: Any, front: list[int], knee: int | None) -> None:
        self.columns, self.front, self.knee = columns, front, knee
        self.axes, self.objectives, self.worth = said.axes, said.objectives, said.worth
        self.model, self.job, self.price_kind, self.no_price = said.model, said.job, said.price_kind, said.no_price
        self.notes, self.stack_note = said.notes, said.stack_note
        self._verdict = repr(said)

    def __len__(self) -> int:
        return len(self.columns["meets"])

    def __getitem__(self, column: str) -> Any:
        name = self._name(column)
        if name not in self.columns:
            raise KeyError(_core._unknown(str(column), "a column", list(self.columns)))
        return self.columns[name]

    def _name(self, column: str) -> str:
        """The name of a column by any of its spellings."""
        return _PARAMETERS.get(column, _SAID.get(column, column)) if isinstance(column, str) else column

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self.row, range(len(self)))

    @property
    def units(self) -> dict[str, str]:
        """The units of the columns that have one: "byte/s" of nic.bandwidth, "s" of step_seconds."""
        varied = {one.name: one.unit for one in (*self.axes, *self.objectives) if one.unit}
        return {name: varied.get(name) or _given.unit_of(name) for name in self.columns if varied.get(name) or _given.unit_of(name)}

    def faster(self, a: int, b: int) -> float:
        """The probability, 0 to 1, that the step (or token) of row a is shorter than that of row b.

        Half widths of intervals are those of one step; errors that both share (stack, form, constants of the GPU) cancel:
        data/priors/stack.yaml, shared_steps. Rows on the same GPU and stack share more than rows on different GPUs.
        """
        seconds = [math.sqrt(self["low_seconds"][row] * self["high_seconds"][row]) for row in (a, b)]
        if not all(math.isfinite(one) for one in seconds):
            raise _core.RequestError(f"a, b: nothing can run at row {a if not math.isfinite(seconds[0]) else b}")
        if a == b:
            return 0.5
        own, other = (math.log(self["high_seconds"][row] / self["low_seconds"][row]) / 2 for row in (a, b))
        names = [name for name in ("system", "gpu") if name in self.columns]
        return _core._likely_shorter(seconds[1] / seconds[0], own, other, all(self[name][a] == self[name][b] for name in names))

    def _repr_html_(self) -> str:
        from ._html import rows_of

        front = set(self.front)
        best_first = [*self.front, *(row for row in range(len(self)) if row not in front)]
        plain = [{name: getattr(value, "item", lambda v=value: v)() for name, value in self.row(row).items()} for row in best_first]
        return f"<div>{rows_of(plain, str(self).splitlines()[0])}</div>"

    def row(self, number: int) -> dict[str, Any]:
        """One point, column by column."""
        return {name: values[number] for name, values in self.columns.items()}

    def to_pandas(self) -> pandas.DataFrame:
        """All points, a pandas.DataFrame, the units of its columns in attrs["units"]. ImportError without pandas."""
        frame = module("pandas").DataFrame(self.columns)
        frame.attrs["units"] = self.units
        return frame

    def to_polars(self) -> polars.DataFrame:
        """All points, a polars.DataFrame. ImportError without polars."""
        frame: polars.DataFrame = module("polars").DataFrame(self.columns)
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """All points, a pyarrow.Table, the unit of a column in its field's metadata. ImportError without pyarrow."""
        table, units = module("pyarrow").table(self.columns), self.units
        return table.cast(module("pyarrow").schema([one.with_metadata({"unit": units[one.name]}) if one.name in units else one
                                                    for one in table.schema]))

    def to_html(self, output: str | os.PathLike[str] | None = None, title: str | None = None) -> Any:
        """One self-contained page: the front, pictures, the gain from more of each part, the first 2,000 points.

        output: the file, replaced only when the page is complete; its Path is returned. Without it the page is returned as text.
        Raises RequestError where nothing can be written, ImportError without matplotlib.
        """
        from ._explore_page import page
        from ._output import checked_output, written

        path = checked_output(output) if output is not None else None
        text = page(self, title)
        return text if path is None else written(path, text)

    def __repr__(self) -> str:
        knee = "" if self.knee is None else f", the knee at {self.knee}"
        varied = " x ".join(f"{len(axis.words or axis.values)} {axis.name}" for axis in self.axes)
        return f"{self._verdict}\n  {self.job} {self.model}: {len(self):,} points ({varied}), {len(self.front)} on the front{knee}"


@worded
def explore(system: Any = None, model: Any = None, *, vary: Mapping[str, Any], objectives: str | Iterable[str] = (),
            limits: Mapping[str, Any] | None = None, prices: Mapping[str, float] | None = None,
            out: str | os.PathLike[str] | None = None, client: Any = None, part: int = 1000, progress: bool | None = None,
            overwrite: bool = False, **job: Any) -> Exploration:
    """Trains a model on every combination of the varied values, each with a full search over layouts, an Exploration.

    Parameters
    ----------
    system : System | path | None, optional
        The machine; None: `system` or `gpu` is varied.
    model : Model | path | None, optional
        The model; None: it is varied.
    vary : mapping of str to sequence, array or str
        Name to values, the last name fastest: nic_bandwidth, scale_up_bandwidth, hbm_bandwidth (byte/s, one way), hbm_size (byte), nic_count,
        domain, arithmetic (times); system and gpu (names); gpus, nodes, batch, sequence; parameters that a machine's file declares, and any
        value of it by its path ("tiers.nic.latency"); any option of plan (model, precision, tp, recompute, ...). Numbers in SI units, or a
        text as the command takes it, with its unit and a link's direction: "25:400:x2GB/s per direction", "1:8:x2us", "none,full".
    objectives : str | sequence of str, default a step and dollars
        step, $/token, J/token, W, goodput, mfu, tokens/s, gpus, or a name of vary.
    limits : mapping of str to float or str | None, optional
        Name to the most it may be (of tokens, goodput and mfu the least), as in {"step": "8s"}; numbers are in SI units.
    prices : mapping of str to float | None, optional
        Your own, USD for a GPU-hour by a machine's or GPU's name.
    out : path | None, optional
        A folder of Parquet files that is written as points are found; the same call continues a run that was stopped.
    client : dask.distributed.Client | None, optional
        Its workers compute the parts.
    part : int, default 1000
        Points of a file.
    progress : bool | None, default where it lasts and somebody looks
        A bar on the terminal.
    overwrite : bool, default False
        Delete another exploration's results in `out`.
    **job
        Arguments of plan (gpus, global_batch, sequence, precision, stack, tp, ...), price_kind, and threads.

    Raises RequestError for a name that cannot be varied, be an objective or be limited; a point that cannot run says why in its `trouble`.

    >>> import fabricost as fc
    >>> found = fc.explore("dgx-h100", "llama3-8b", gpus=64, global_batch=128, vary={"nic_bandwidth": [25e9, 50e9], "domain": [8, 16]})
    >>> len(found), found["step_seconds"].argmin() in found.front
    (4, True)
    """
    asked = _Asked("_explore", system, model, vary, objectives, limits, prices, job)
    return asked.folder(out, client, part, progress, overwrite) if out is not None else asked.here(progress)


@worded
def explore_serve(system: Any = None, model: Any = None, *, vary: Mapping[str, Any], objectives: str | Iterable[str] = (),
                  limits: Mapping[str, Any] | None = None, prices: Mapping[str, float] | None = None,
                  out: str | os.PathLike[str] | None = None, client: Any = None, part: int = 1000, progress: bool | None = None,
                  overwrite: bool = False, **job: Any) -> Exploration:
    """Serves a model on every combination of the varied values, each with a full search over deployments, an Exploration.

    As explore, with isl, osl and batch (sequences of an engine) among the axes, and ttft, tpot and tokens/s/user among the
    objectives; default tokens/s/user and dollars.

    Parameters
    ----------
    system, model, vary, limits, prices, out, client, part, progress, overwrite
        As of explore.
    objectives : str | sequence of str, default tokens/s/user and dollars
        As of explore, and ttft, tpot, tokens/s/user.
    **job
        Arguments of plan_serve (gpus, isl, osl, ttft_seconds, tpot_seconds, ...), price_kind, and threads.

    >>> import fabricost as fc
    >>> found = fc.explore_serve("dgx-h100", "llama3-8b", gpus=8, vary={"batch": "1:64:x2"})
    >>> len(found), bool(found["tokens_per_second_per_user"][0] > found["tokens_per_second_per_user"][-1])
    (7, True)
    """
    asked = _Asked("_explore_serve", system, model, vary, objectives, limits, prices, job)
    return asked.folder(out, client, part, progress, overwrite) if out is not None else asked.here(progress)


def _value_text(name: str, given: Any, argument: str) -> str:
    """One value as the command reads it: a number in SI units with the unit of its name."""
    if isinstance(given, str):
        return str(given)
    if isinstance(given, (bool, np.bool_)):
        return ("no", "yes")[int(given)]
    unit, over, written = _SI.get(name) or (_given.unit_of(name), 1.0, _SUFFIXES.get(_given.unit_of(name), ""))
    try:
        return repr(float(_given.numbers(given, name, unit)) / over).removesuffix(".0") + written
    except (TypeError, ValueError) as error:
        if isinstance(error, _core.RequestError):
            raise
        raise _core.RequestError(f"{argument}: {name} has a value that is neither a number nor a text") from None


def _values_text(name: str, given: Any) -> str:
    if isinstance(given, str):
        return str(given)
    values = list(given) if np.ndim(given) > 0 or isinstance(given, (list, tuple, range)) else [given]
    if not values:
        raise _core.RequestError(f"vary: {name} has no values")
    return ",".join(_value_text(name, one, "vary") for one in values)


class _Asked:
    """A question with the arguments of the compiled part; answers parts of it by their number, in any process."""

    def __init__(self, function: str, system: Any, model: Any, vary: Mapping[str, Any], objectives: Any, limits: Any, prices: Any,
                 job: Mapping[str, Any]) -> None:
        if not isinstance(vary, Mapping):
            raise TypeError('vary: a mapping of names to values is needed, as in {"domain": [8, 16, 36, 72]}')
        self.function = function
        self.given = {name: value for name, value in (("system", system), ("model", model)) if value is not None}
        self.given.update(job)
        self.given["vary"] = [f"{_PARAMETERS.get(name, name)}={_values_text(_PARAMETERS.get(name, name), values)}" for name, values in vary.items()]
        if objectives:
            self.given["objectives"] = objectives if isinstance(objectives, str) else ",".join(objectives)
        self.given["limits"] = [f"{_PARAMETERS.get(name, name)}={_value_text(_PARAMETERS.get(name, _SAID.get(name, name)), value, 'limits')}"
                                for name, value in (limits or {}).items()]
        self.given["prices"] = [f"{name}={value}" for name, value in (prices or {}).items()]
        if isinstance(system, os.PathLike):
            self.given["system"] = os.fspath(system)
        # who asks in a folder is known by its question
        self.__module__ = __name__
        self.__qualname__ = f"{function[1:]} {hashlib.sha256(self._described().encode()).hexdigest()[:16]}"

    def _described(self) -> str:
        said = {name: value for name, value in self.given.items() if name != "threads"}
        if "system" in said:
            said["system"] = _sweep._machine_digest(said["system"])
        return json.dumps(said, sort_keys=True, default=lambda value: repr(getattr(value, "__getstate__", value.__repr__)()))

    def part(self, first: int, count: int, **more: Any) -> Any:
        return getattr(_core, self.function)(**{**self.given, "first": first, "count": count, **more})

    def here(self, progress: bool | None) -> Exploration:
        done = self.part(0, _POINTS, progress=progress)
        if done.all_points <= _POINTS:
            return Exploration(done.columns(), done, list(done.front), done.knee)
        parts = [done, *(self.part(at, _POINTS, progress=progress) for at in range(_POINTS, done.all_points, _POINTS))]
        return _joined({name: _chained([part.columns()[name] for part in parts]) for name in done.columns()}, self)

    def __call__(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """One part of a sweep over the points' numbers."""
        import pyarrow as pa

        numbers = columns["number"]
        found = self.part(int(numbers[0]), len(numbers), threads=1).columns()
        out = {}
        for name, values in found.items():
            words = isinstance(values, list)
            out[name] = pa.array(values).dictionary_encode() if words else pa.array(values, from_pandas=True)
        return out

    def folder(self, out: str | os.PathLike[str], client: Any, part: int, progress: bool | None, overwrite: bool) -> Exploration:
        points = self.part(0, 1).all_points
        self.given.pop("threads", None)
        swept = _sweep.sweep({"number": np.arange(points)}, pathlib.Path(out), of=self, client=client, part=part, progress=bool(progress),
                             overwrite=overwrite)
        table = swept.to_table().drop_columns(["number"])
        columns = {}
        for name in table.column_names:
            values = table[name]
            columns[name] = values.to_pylist() if module("pyarrow").types.is_dictionary(values.type) else values.to_numpy()
        return _joined(columns, self)


def _chained(parts: list[Any]) -> Any:
    return [one for part in parts for one in part] if isinstance(parts[0], list) else np.concatenate(parts)


def _joined(columns: dict[str, Any], asked: _Asked) -> Exploration:
    """Points of several parts: their common front, and the gain from more of a part at its knee."""
    said = asked.part(0, 1)
    counted = [objective for objective in said.objectives if objective.counts]
    costs = np.stack([-columns[o.name] if o.more_is_better else columns[o.name] for o in counted], axis=1).astype(float)
    rows = np.flatnonzero(columns["front"])  # a point beaten in its own part is beaten
    rows = rows[np.lexsort((rows, *costs[rows].T[::-1]))]
    front: list[int] = []
    for row in rows:
        if not front or not np.any(np.all(costs[front] <= costs[row], axis=1)):
            front.append(int(row))
    columns["front"] = np.isin(np.arange(len(costs)), front)
    knee = None
    if len(front) >= 3:
        logs = np.sign(costs[front]) * np.log(np.maximum(1e-300, np.abs(costs[front])))
        span = np.ptp(logs, axis=0)
        knee = front[int(np.argmin(((logs - logs.min(axis=0)) / np.where(span > 0, span, 1)).sum(axis=1)))]
    if front:
        chosen = asked.part(front[0] if knee is None else knee, 1)
        return Exploration(columns, chosen, front, knee)
    return Exploration(columns, said, front, knee)
