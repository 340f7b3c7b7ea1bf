"""Sweeps: the product of several axes, predicted part by part into a folder of Parquet files.

A sweep is numbered like nested loops over its axes and cut into parts of equal length. A part is computed from its
number alone and becomes one file under its final name in one step. Files of an interrupted run are therefore
complete and the next run keeps them; it does not matter which thread, process or machine computes a part, or
whether one is computed twice.
"""
from __future__ import annotations

import hashlib
import itertools
import json
import os
import pathlib
import pickle
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _sweep_folder
from ._extras import module
from ._given import numbers
from ._refused import worded
from .names import Algorithm, Protocol, operations

if TYPE_CHECKING:
    import pandas
    import pyarrow
    import pyarrow.dataset

Columns = dict[str, Any]

_fields = ("bytes", "ranks", "nodes", "dtype", "path")  # of an operation
_forced = ("algorithm", "protocol", "choice")           # of predict
_numbers = ("seconds", "low_seconds", "high_seconds", "bus_bytes_per_second")
_counts = {"ran_ranks": "ranks", "ran_nodes": "nodes"}  # column: of Predictions
_words = {"ran_algorithm": "algorithm", "ran_protocol": "protocol", "bottleneck": "bottleneck", "basis": "basis",
          "extrapolated": "extrapolated"}


class Sweep:
    """Result of a sweep: `path` (a folder of Parquet files), `rows`, `parts`, and `resumed`, the rows already done by an earlier run."""

    def __init__(self, path: pathlib.Path, rows: int, parts: int, resumed: int) -> None:
        self.path, self.rows, self.parts, self.resumed = path, rows, parts, resumed

    def dataset(self) -> pyarrow.dataset.Dataset:
        """The rows as a pyarrow dataset, for filtering and reading single columns of results larger than memory."""
        parts = [str(self.path / _sweep_folder.part_name(number)) for number in range(self.parts)]
        return module("pyarrow.dataset").dataset(parts, format="parquet")

    def to_table(self) -> pyarrow.Table:
        """All rows in order, a pyarrow.Table."""
        return self.dataset().to_table().replace_schema_metadata(None)

    def to_pandas(self) -> pandas.DataFrame:
        """All rows in order, a pandas.DataFrame. ImportError without pandas."""
        module("pandas")  # names the extra if it is missing
        return self.to_table().to_pandas()

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return f"Sweep: {self.rows:,} rows in {self.parts:,} parts in {str(self.path)!r}"

    def _repr_html_(self) -> str:
        from ._html import MOST_ROWS, line, rows_of

        first = self.dataset().head(MOST_ROWS).to_pylist() if self.rows else []
        more = line(f"{self.rows - len(first):,} more") if self.rows > len(first) else ""
        return f"<div>{rows_of(first, repr(self)) if first else line(repr(self))}{more}</div>"


@worded
def sweep(axes: Mapping[str, Any], out: str | os.PathLike[str], *, of: Callable[[Columns], Mapping[str, Any]] | None = None,
          client: Any = None, workers: int | None = None, part: int = 1 << 19, progress: bool = True, overwrite: bool = False) -> Sweep:
    """Predicts every combination of the axes and writes them to `out`, a folder of Parquet files, as it goes.

    Parameters
    ----------
    axes : mapping of str to sequence, array or value
        Name to values, as in {"system": ["dgx-h100", "dgx-b200"], "operation": ["all_reduce"], "bytes": 2.0 ** np.arange(10, 34),
        "ranks": [8, 16, 64]}. Names: system (names, files or System), operation (all_reduce, ...), bytes, ranks, nodes, dtype, path,
        algorithm, protocol, choice. A single value counts as an axis of one, and None leaves a choice to the machine, as in
        "algorithm": [None, "ring"]. Rows come in the order of nested loops, the last axis fastest; bytes is always put last,
        where it costs least.
    out : path
        The folder.
    of : callable | None, optional
        Computes something else than predictions: a function from the columns of a part (a dict of arrays) to columns of results. It must
        be importable by name if a client sends it to other processes.
    client : dask.distributed.Client | None, optional
        Its workers compute the parts, which are written here.
    workers : int | None, default the processors
        Threads, without a client.
    part : int, default 524288
        Rows per file.
    progress : bool, default True
        A bar on the terminal (tqdm).
    overwrite : bool, default False
        Delete another sweep's results in `out`.

    Columns: the axes, then seconds, low_seconds and high_seconds (nine in ten measurements fall between),
    bus_bytes_per_second, ran_ranks and ran_nodes (the participants, also if the axes leave them to the machine),
    ran_algorithm, ran_protocol, bottleneck (the tier), basis (calibrated, sibling or datasheet), extrapolated
    (which of sizes, ranks, nodes lie outside the measured range), and error: why there is no answer, for example
    ranks that do not fit.

    The same call resumes an interrupted run: a part is kept if its footer matches this sweep, its number, its rows
    and the machines' descriptions at the start. For `of` only the name is compared.

    Raises RequestError for invalid axes, for a folder with other content, and for machines that have changed since
    the folder was begun; ImportError without the extra: pip install 'fabricost[sweep]'.
    """
    if not isinstance(axes, Mapping):
        raise TypeError('axes: a mapping of names to values is wanted, as in {"system": ["dgx-h100"], "bytes": [1e6, 1e9]}, not '
                        f"{type(axes).__name__}")
    if not isinstance(out, (str, os.PathLike)):
        raise TypeError(f"out: the path of a folder is wanted, not {type(out).__name__}")
    if of is not None and not callable(of):
        raise TypeError(f"of: a function is wanted, not {type(of).__name__}")
    module("pyarrow.parquet")  # fails here, before anything is written
    if progress:
        module("tqdm")

    grid = _Grid(axes, part, predicts=of is None)
    path = pathlib.Path(out)
    done = _sweep_folder.begin(path, grid, of, overwrite)
    waiting = [n for n in range(grid.parts) if n not in done]
    result = Sweep(path, grid.rows, grid.parts, sum(grid.rows_of(n) for n in done))
    with _bar(result, progress) as bar, _runners(client, workers) as run:
        for number, written in run(grid, of, waiting):
            _sweep_folder.put(path / _sweep_folder.part_name(number), written)
            bar.update(grid.rows_of(number))
    return result


class _Grid:
    """The product of the axes, and which rows a part holds."""

    def __init__(self, axes: Mapping[str, Any], part: int, predicts: bool) -> None:
        if part < 1:
            raise _core.RequestError(f"part: {part} rows; a part holds at least one")
        self.part = int(part)
        self.axes: dict[str, list[Any] | np.ndarray] = {}
        for name, values in axes.items():
            if predicts and name not in ("system", "operation", *_fields, *_forced):
                raise _core.RequestError(f"axes: there is no {name!r}; there are system operation {' '.join(_fields + _forced)}")
            if predicts and name == "bytes":
                values = _sizes(values)
            elif type(values).__module__ != "numpy" and hasattr(values, "__array__"):  # a subclass, or another library's array
                values = np.atleast_1d(numbers(values, f"axes: {name}", ""))
            one = isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or isinstance(values, os.PathLike)
            self.axes[name] = [values] if one else np.array(values) if type(values) is np.ndarray else list(values)
            if len(self.axes[name]) == 0:
                raise _core.RequestError(f"axes: {name} has no values")
        if predicts:
            if "system" not in self.axes or "bytes" not in self.axes:
                raise _core.RequestError("axes: a prediction needs system and bytes")
            self.axes.setdefault("operation", ["all_reduce"])
            for axis, known in (("operation", list(operations)), ("algorithm", [*map(str, Algorithm), None]),
                                ("protocol", [*map(str, Protocol), None])):
                for name in self.axes.get(axis, []):
                    if name not in known:
                        raise _core.RequestError(f"axes: {axis} {name!r}; there are {' '.join(filter(None, known))}")
            self.axes["bytes"] = self.axes.pop("bytes")  # last: there it varies fastest
        self.shape = tuple(len(values) for values in self.axes.values())
        self.rows = int(np.prod([float(n) for n in self.shape]))
        if self.rows > 10**12:
            raise _core.RequestError(f"axes: {self.rows:.3g} combinations; at most 10^12 can be numbered")
        self.parts = -(-self.rows // self.part)
        self.predicts = predicts
        self.identity = ""  # of the sweep in its folder

    def rows_of(self, number: int) -> int:
        return min(self.part, self.rows - number * self.part)

    def places(self, number: int) -> dict[str, np.ndarray]:
        """Positions on each axis of the rows of a part."""
        start = number * self.part
        rows = np.arange(start, start + self.rows_of(number))
        return dict(zip(self.axes, np.unravel_index(rows, self.shape)))

    def columns(self, number: int) -> Columns:
        """The axes' values in each row of a part: arrays of numbers, lists of anything else."""
        out: Columns = {}
        for name, at in self.places(number).items():
            values = self.axes[name]
            out[name] = np.asarray(values)[at] if _numeric(values) else [values[i] for i in at]
        return out

    def runs(self, number: int) -> Iterator[tuple[dict[str, Any], slice]]:
        """Rows of a part that differ only in bytes: (the other axes' values, slice of the bytes axis)."""
        inner = self.shape[-1]
        at, end = number * self.part, number * self.part + self.rows_of(number)
        outer, names = list(self.axes.values())[:-1], list(self.axes)[:-1]
        while at < end:
            first, length = at % inner, min(inner - at % inner, end - at)
            places = np.unravel_index(at // inner, self.shape[:-1])
            yield {n: values[int(i)] for n, values, i in zip(names, outer, places)}, slice(first, first + length)
            at += length

    def described(self) -> dict[str, Any]:
        """Identity of the sweep, stored in its folder."""
        shown = {}
        for name, values in self.axes.items():
            plain = all(isinstance(v, (str, int, float, np.number, type(None))) for v in values)
            digest = hashlib.sha256(json.dumps([str(v) for v in values]).encode() if plain else pickle.dumps(list(values))).hexdigest()
            some = list(values[:3]) + list(values[-1:] if len(values) > 3 else [])
            shown[name] = {"values": len(values), "among": [str(v) for v in some], "sha256": digest}
            if self.predicts and name == "system":
                shown[name]["machines"] = [_machine_digest(v) for v in values]
        return {"axes": shown, "part": self.part, "rows": self.rows}


def _sizes(values: Any) -> np.ndarray:
    try:
        sizes = np.array(np.atleast_1d(numbers(values, "axes: bytes", "byte")), dtype=np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, _core.RequestError):
            raise
        raise _core.RequestError("axes: bytes are not all numbers") from None
    if sizes.size == 0:
        raise _core.RequestError("axes: bytes has no values")
    if sizes.ndim != 1 or not bool(np.all((sizes >= 0) & (sizes < 1e18))):
        raise _core.RequestError("axes: bytes has to be a row of numbers between 0 and 10^18")
    return sizes


def _machine_digest(given: Any) -> str:
    """A machine's full description, whatever its name: an edited file is another machine. The error message if it cannot be loaded."""
    try:
        machine = given if isinstance(given, _core.System) else _core.load_system(given)
    except (_core.Error, TypeError) as error:
        return str(error)
    return hashlib.sha256(repr(machine.__getstate__()).encode()).hexdigest()


def _numeric(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype != object or \
        all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in values)


# --- one part

class _Names:
    """A column of words with many repeats: each stored once, a row holds its number, -1 for none."""

    def __init__(self, rows: int) -> None:
        self.numbers = np.full(rows, -1, dtype=np.int32)
        self.known: dict[str, int] = {}

    def put(self, at: slice, word: str) -> None:
        self.numbers[at] = self.known.setdefault(word, len(self.known))

    def put_all(self, start: int, words: np.ndarray) -> None:
        edges = [0, *(np.flatnonzero(words[1:] != words[:-1]) + 1).tolist(), len(words)]
        for begin, end in zip(edges, edges[1:]):
            self.put(slice(start + begin, start + end), str(words[begin]))

    def column(self) -> pyarrow.Array[Any]:
        return _dictionary(self.numbers, list(self.known))


def _predicted(grid: _Grid, number: int) -> Columns:
    """Predictions of a part, in runs of rows that differ only in bytes. A row that cannot run holds its error message."""
    import pyarrow as pa

    rows = grid.rows_of(number)
    found = {name: np.full(rows, np.nan) for name in _numbers}
    counts = {name: np.zeros(rows, dtype=np.int32) for name in _counts}
    names = {name: _Names(rows) for name in (*_words, "error")}
    systems: dict[int, Any] = {}
    start = 0
    sizes = grid.axes["bytes"]
    for values, span in grid.runs(number):
        here = slice(start, start + span.stop - span.start)
        start = here.stop
        given = values["system"]
        fields = {name: values[name] for name in _fields[1:] if values.get(name) is not None}
        forced = {name: values[name] for name in _forced if values.get(name) is not None}
        try:
            if id(given) not in systems:
                systems[id(given)] = given if isinstance(given, _core.System) else _core.load_system(given)
            answers = _core.predict(systems[id(given)], operations[values["operation"]](bytes=sizes[span], **fields), **forced)
        except (_core.Error, TypeError) as error:
            names["error"].put(here, str(error))
            continue
        for name, column in found.items():
            column[here] = getattr(answers, name)
        for name, of in _counts.items():
            counts[name][here] = getattr(answers, of)
        for name, of in _words.items():
            names[name].put_all(here.start, getattr(answers, of))
    return {**{name: pa.array(column, from_pandas=True) for name, column in found.items()},
            **{name: pa.array(column, mask=column == 0) for name, column in counts.items()},
            **{name: column.column() for name, column in names.items()}}


def _work(grid: _Grid, of: Callable[[Columns], Mapping[str, Any]] | None, number: int) -> bytes:
    """One part as the bytes of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet

    arrays = {}
    for name, at in grid.places(number).items():
        arrays[name] = _axis_column(grid.axes[name], at)
    results = _predicted(grid, number) if of is None else of(grid.columns(number))
    for name, values in results.items():
        if name in arrays:
            raise _core.RequestError(f"of: its result {name!r} is the name of an axis")
        if len(values) != grid.rows_of(number):
            raise _core.RequestError(f"of: {len(values)} values of {name!r} for {grid.rows_of(number)} rows")
        arrays[name] = values if isinstance(values, pa.Array) else pa.array(values)
    sink = pa.BufferOutputStream()
    words = [name for name, values in arrays.items() if pa.types.is_dictionary(values.type)]
    table = pa.table(arrays).replace_schema_metadata(_sweep_folder.mark(grid.identity, number))
    pyarrow.parquet.write_table(table, sink, use_dictionary=words, compression="zstd", compression_level=1)
    return bytes(sink.getvalue().to_pybytes())


def _axis_column(values: Any, at: np.ndarray) -> pyarrow.Array[Any]:
    import pyarrow as pa

    if _numeric(values):
        return pa.array(np.asarray(values)[at])
    given = np.array([value is not None for value in values])
    if given.any() and _numeric([value for value in values if value is not None]):
        return pa.array(list(values)).take(pa.array(at))
    return _dictionary(np.where(given[at], at, -1), [str(getattr(value, "name", value)) for value in values])


def _dictionary(numbers: np.ndarray, words: list[str]) -> pyarrow.Array[Any]:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32), mask=numbers < 0), pa.array(words, type=pa.string()))


# --- where parts are computed

class _runners:
    """Distributes parts, a few at a time, and yields (number, bytes) as they return. Leaving it cancels parts that were not begun."""

    def __init__(self, client: Any, workers: int | None) -> None:
        self.client, self.workers = client, workers
        if client is None:
            self.pool = futures.ThreadPoolExecutor(workers or os.cpu_count() or 1)

    def __enter__(self) -> Callable[..., Iterator[tuple[int, bytes]]]:
        return self.threads if self.client is None else self.cluster

    def __exit__(self, *_: object) -> None:
        if self.client is None:
            self.pool.shutdown(wait=True, cancel_futures=True)

    def threads(self, grid: _Grid, of: Any, numbers: list[int]) -> Iterator[tuple[int, bytes]]:
        left = iter(numbers)
        begun: dict[Any, int] = {}
        ahead = 2 * self.pool._max_workers
        while True:
            for number in itertools.islice(left, ahead - len(begun)):
                begun[self.pool.submit(_work, grid, of, number)] = number
            if not begun:
                return
            done = futures.wait(begun, return_when=futures.FIRST_COMPLETED).done
            for ended in sorted(done, key=lambda one: one.exception() is not None):  # finished parts are kept
                yield begun.pop(ended), ended.result()

    def cluster(self, grid: _Grid, of: Any, numbers: list[int]) -> Iterator[tuple[int, bytes]]:
        """The scheduler reassigns the parts of a worker that dies. A part whose workers die repeatedly raises dask's
        KilledWorker."""
        distributed = module("distributed")

        left = iter(numbers)
        shared = self.client.scatter(grid, broadcast=True)
        ahead = 2 * max(1, sum(self.client.nthreads().values()))

        def submit(number: int) -> Any:
            future = self.client.submit(_work, shared, of, number, pure=False, key=f"fabricost-{id(grid)}-{number}")
            begun[future.key] = number
            return future

        begun: dict[str, int] = {}
        waiting = distributed.as_completed([submit(number) for number in itertools.islice(left, ahead)])
        for ended in waiting:
            yield begun.pop(ended.key), ended.result()
            ended.release()
            for number in itertools.islice(left, 1):
                waiting.add(submit(number))


class _bar:
    """A bar on the terminal, or nothing."""

    def __init__(self, result: Sweep, wanted: bool) -> None:
        self.bar: Any = None
        if wanted:
            self.bar = module("tqdm.auto").tqdm(total=result.rows, initial=result.resumed, unit="row", unit_scale=True)

    def __enter__(self) -> _bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def update(self, rows: int) -> None:
        if self.bar is not None:
            self.bar.update(rows)
