"""Conversion of numbers as callers have them: with units, masked, with named axes, in lists of lists. The compiled
part calls it for everything except plain numbers and plain NumPy arrays.

A quantity is converted by its own library, and a text such as "256 MiB" by the command's parser, to the unit that the argument's
name ends with (bytes, seconds, bytes_per_second, hours, years), or refused; units are never dropped. A masked element is refused.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from . import _core
from . import units as _sizes
from ._core import RequestError

DEEPEST = 32  # levels of nested lists: NumPy's maximum number of axes (64 from NumPy 2.0 on)

# the end of an argument's name: its unit, as spelled by pint, astropy, unyt and quantities
_UNITS = (("bytes_per_second", "byte/s"), ("seconds", "s"), ("hours", "hour"), ("years", "year"))
_WORDS = {
    "byte": ("B", "byte", "bytes", "Byte", "Bytes"),
    "s": ("s", "sec", "second", "seconds"),
    "": ("", "1", "dimensionless"),
}


def unit_of(argument: str) -> str:
    """The unit of an argument: "s" of ttft_seconds, "byte" of bytes, bytes_per_gpu and in_flight_bytes; "" for a
    plain number."""
    for end, unit in _UNITS:
        if argument.endswith(end):
            return unit
    return "byte" if argument.startswith("bytes") or argument.endswith(("bytes", "sizes")) else ""


def plain(given: Any, argument: str, unit: str) -> Any:
    """`given` without units: converted if it has units, else unchanged. Raises RequestError for units of another
    dimension."""
    if isinstance(given, str):
        return _amount(str(given), argument, unit) if unit else given
    if isinstance(given, np.timedelta64):
        if unit != "s":
            _refuse(argument, unit, "a duration")
        return given / np.timedelta64(1, "s")
    if hasattr(type(given), "to_Byte"):  # bitmath
        return given.bytes if unit == "byte" else _refuse(argument, unit, type(given).__name__)
    dtype_units = getattr(getattr(given, "dtype", None), "units", None)
    if dtype_units is not None and not isinstance(given, np.ndarray):  # a column of pint-pandas
        given = getattr(given, "array", given)
        given = getattr(given, "quantity", given)
    units = _units_of(given)
    if units is None:
        return given
    try:
        return _converted(given, unit)
    except Exception as error:  # each library has its own exceptions
        raise RequestError(_refusal(argument, unit, str(units))) from error


def _amount(text: str, argument: str, unit: str) -> float:
    """A text with its unit, "256 MiB", "30 ms", "200 Gbit/s", read as the command reads it."""
    if unit == "byte":
        return _core._size_of(text, argument)
    if unit == "byte/s":
        return _core._rate_of(text, argument)
    return _core._seconds_of(text, argument) / {"s": 1, "hour": 3600, "year": 8766 * 3600}[unit]


def _units_of(given: Any) -> Any:
    for name in ("units", "unit"):
        if hasattr(type(given), name) or name in getattr(given, "__dict__", ()):
            units = getattr(given, name)
            if units is not None:
                return units
    return None


def _converted(given: Any, unit: str) -> Any:
    if hasattr(given, "to_root_units"):  # in pint a bit has no dimension: percent and radian would become bytes
        there = given.to(unit or "dimensionless")
        if there.to_root_units().units != given.to_root_units().units:
            raise ValueError(unit)
        return there.magnitude
    given = getattr(given, "quantity", given)  # a column of astropy
    if hasattr(given, "to_value"):  # astropy, unyt
        return given.to_value(unit if hasattr(given, "unit") else unit or "dimensionless")
    return given.rescale(unit or "dimensionless").magnitude  # quantities


def _refusal(argument: str, unit: str, units: str) -> str:
    if unit:
        return f"{argument}: is counted in {unit}, which {units} cannot be turned into"
    return f"{argument}: is a number without units, not one of {units}"


def _refuse(argument: str, unit: str, units: str) -> Any:
    raise RequestError(_refusal(argument, unit, units))


def number(given: Any, argument: str) -> Any:
    """One number without units. Raises RequestError for other units and for a masked one."""
    given = numbers(given, argument)
    return given.item() if given.ndim == 0 else given


def numbers(given: Any, argument: str, unit: str | None = None) -> np.ndarray:
    """An array of NumPy's own class without units; without axes for one number. unit: its unit, if the argument's
    name does not say. Raises RequestError for other units, masked elements and lists nested too deep, TypeError
    for a non-array; an array of non-numbers is left for the caller to refuse."""
    unit = unit_of(argument) if unit is None else unit
    try:
        if isinstance(given, (list, tuple)):
            return np.array(_listed(given, argument, unit, 1))
        given = plain(given, argument, unit)
        if hasattr(type(given), "dims"):
            given = _unnamed(given, argument, unit)
        if isinstance(given, np.ndarray) and given.dtype == object and given.ndim == 0:
            given = plain(given.item(), argument, unit)
        if np.ma.isMaskedArray(given):
            given = _unmasked(given, argument)
        return np.asarray(given) if type(given).__module__ == "numpy" else _stripped_of_nothing(given)
    except RequestError:
        raise
    except (ValueError, OverflowError, Warning) as error:
        wanted = f"a number or an array of numbers is wanted, not {type(given).__name__}"
        raise TypeError(f"{argument}: {wanted}: {error}") from error


def _unmasked(given: Any, argument: str) -> np.ndarray:
    masked = int(np.count_nonzero(np.ma.getmaskarray(given)))
    if masked == 0:
        return np.asarray(given.data)
    raise RequestError(
        f"{argument}: {masked} of {given.size} elements are masked; leave them out (a.compressed()) or fill them "
        "(a.filled(...))"
    )


def _stripped_of_nothing(given: Any) -> np.ndarray:
    """numpy.asarray, with pint's warning about lost units raised as an error."""
    pint = sys.modules.get("pint")
    if pint is None:
        return np.asarray(given)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pint.UnitStrippedWarning)
        return np.asarray(given)


def _listed(given: Sequence[Any], argument: str, unit: str, depth: int) -> Any:
    if depth > DEEPEST:
        raise RequestError(f"{argument}: lists lie in lists more than {DEEPEST} deep")
    if set(map(type, given)) <= ({float, int} if unit else {float, int, str}):
        return given
    return [
        _listed(one, argument, unit, depth + 1) if isinstance(one, (list, tuple)) else _element(one, argument, unit)
        for one in given
    ]


def _element(given: Any, argument: str, unit: str) -> Any:
    given = plain(given, argument, unit)
    return numbers(given, argument, unit) if isinstance(given, np.ndarray) or hasattr(type(given), "dims") else given


# --- fields of an operation

MOST = 2**31 - 1  # GPUs or nodes
_REAL, _WHOLE = np.dtype(np.float64), np.dtype(np.int64)
_WITHOUT_NAMES = {np.ndarray, list, tuple, str, float, int, type(None)}  # types whose axes have none


def operation(bytes: Any, ranks: Any, nodes: Any) -> tuple[Any, Any, Any, Any]:
    """Fields of an operation as numbers, and arrays of float64 or int64 that broadcast by position; and their axes (`fields`)."""
    axes = None
    if not {type(bytes), type(ranks), type(nodes)} <= _WITHOUT_NAMES:
        named, axes = fields({"bytes": bytes, "ranks": ranks, "nodes": nodes})
        bytes, ranks, nodes = named.values()
    return _elements(bytes, "bytes", _REAL), _elements(ranks, "ranks", _WHOLE), _elements(nodes, "nodes", _WHOLE), axes


def _type_name(given: Any) -> str:
    """As the compiled part names types: with their module where they are written in C."""
    kind = type(given)
    made_of_python = kind.__flags__ & 1 << 9
    return kind.__name__ if made_of_python or kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _elements(given: Any, argument: str, wanted: np.dtype[Any]) -> Any:
    """One number, or a copy of an array in the order of its memory that cannot be written to; what repeats is kept once."""
    if given is None or isinstance(given, (float, int, complex)):
        return given
    whole = wanted is _WHOLE
    array, once = given, given
    if type(given) is not np.ndarray or given.dtype != wanted or 0 in given.strides or not given.ndim:
        array = _array(given, argument, whole)
        repeated = (stride == 0 and count > 1 for stride, count in zip(array.strides, array.shape))
        once = array[(*(slice(1 if one else None) for one in repeated), ...)]
    if whole and once.dtype != wanted:
        real = once.astype(_REAL)
        wrong = real[~((real == np.floor(real)) & (real >= 0) & (real <= MOST))]
        if wrong.size:
            raise RequestError(f"{argument}: {repr(float(wrong[0])).removesuffix('.0')} is not a whole number from 0 to {MOST}")
    own = once.astype(wanted, order="K", copy=True)
    own.flags.writeable = False
    return own.item() if own.ndim == 0 else own if own.shape == array.shape else np.broadcast_to(own, array.shape)


def _array(given: Any, argument: str, whole: bool) -> np.ndarray:
    """An array of numbers. Raises TypeError for anything else."""
    numpys = type(given).__module__ == "numpy"
    text = isinstance(given, bytes) or isinstance(given, str) and (whole or numpys)  # the text of a size has its unit
    array = np.empty((), dtype=object) if text else np.asarray(given) if numpys else numbers(given, argument)
    if array.dtype == object and array.ndim == 0:
        raise TypeError(f"{argument}: a number or an array of numbers is wanted, not {_type_name(given)}")
    if array.dtype.kind not in "iuf":
        why = " (texts, None, or integers beyond 2^63)" if array.dtype == object else ""
        raise TypeError(f"{argument}: numbers are wanted, not an array of {array.dtype}{why}")
    return array


# --- axes with names

def _unnamed(given: Any, argument: str, unit: str) -> np.ndarray:
    """The numbers of an xarray object; its attribute `units` may be the argument's unit, or a byte unit of fabricost.units."""
    if not (hasattr(type(given), "attrs") and hasattr(type(given), "data")):
        what = type(given).__name__
        raise TypeError(f"{argument}: the axes of a {what} have names; give an xarray.DataArray or an array of NumPy")
    data = plain(given.data, argument, unit)
    said = given.attrs.get("units")
    if said is None or data is not given.data or said in _WORDS.get(unit, (unit,)):
        return numbers(data, argument, unit)
    if unit != "byte" or said not in vars(_sizes):
        raise RequestError(_refusal(argument, unit, str(said)))
    return np.asarray(numbers(data, argument, unit) * vars(_sizes)[said])


def fields(given: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Fields of an operation, some of them xarray objects, as arrays that broadcast by position as those do by name;
    and their axes: (names, coordinates), None if unnamed. Raises RequestError for coordinates that differ, for
    unnamed arrays beside named ones, and for columns of pandas with different labels: pandas would align them by
    label, arrays by position."""
    columns = {name: one.index for name, one in given.items() if hasattr(type(one), "iloc")}
    for name, index in columns.items():
        first = next(iter(columns))
        if not index.equals(columns[first]):
            raise RequestError(
                f"{first}, {name}: the columns are labelled differently; give both the same index, or arrays "
                "(.to_numpy())"
            )
    named = {name: _named(one, name) for name, one in given.items() if hasattr(type(one), "dims")}
    return (given, None) if not named else _by_name(given, named)


def _named(given: Any, argument: str) -> Any:
    import xarray

    plain_numbers = _unnamed(given, argument, unit_of(argument))
    return (xarray.DataArray(given) if isinstance(given, xarray.Variable) else given).copy(data=plain_numbers)


def _by_name(given: dict[str, Any], named: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    import xarray

    for name, one in given.items():
        if name not in named and one is not None and numbers(one, name).ndim > 0:
            other = next(iter(named))
            raise RequestError(f"{name}: its axes have no names, those of {other} have; give both as xarray.DataArray")
    try:
        together = xarray.broadcast(*xarray.align(*named.values(), join="exact"))
    except ValueError as error:
        raise RequestError(f"{', '.join(named)}: their coordinates differ: {error}") from error
    coordinates: dict[str, Any] = {}
    for one in together:
        for name, values in one.coords.items():
            coordinates.setdefault(name, values)
    arrays = {name: np.asarray(one.data) for name, one in zip(named, together)}
    return {**given, **arrays}, ((together[0].dims, coordinates) if together[0].dims else None)


# --- answers

COLUMNS = (
    "bytes", "ranks", "nodes", "seconds", "low_seconds", "high_seconds", "algorithm_bytes_per_second",
    "bus_bytes_per_second", "algorithm", "protocol", "bottleneck", "basis", "extrapolated",
)


def units(columns: Iterable[str]) -> dict[str, str]:
    """The units of the columns whose names say one: dollars_per_million_tokens is in USD."""
    said = {"dollars": "USD", "watts": "W", "joules": "J"}
    of_start = {name: next((unit for word, unit in said.items() if word in name.split("_")), unit_of(name)) for name in columns}
    return {name: unit for name, unit in of_start.items() if unit}


def table(rows: Any) -> Any:
    """A pandas.DataFrame with the units of its columns in attrs["units"]."""
    from ._extras import module

    out = module("pandas").DataFrame(rows)
    out.attrs["units"] = units(map(str, out.columns))
    return out


def records(rows: Iterable[Any]) -> Any:
    """A pandas.DataFrame with a row for each record: an interval as low_ and high_, terms as a column each, a record within as NAME_MEMBER."""
    return table([dict(_cells(one)) for one in rows])


def _cells(record: Any) -> Iterator[tuple[str, Any]]:
    for name in record.to_dict():
        value = getattr(record, name)
        if isinstance(value, tuple) and len(value) == 2:
            for end, one in zip(("low", "high"), value):
                yield name.replace("interval", end, 1) if "interval" in name else f"{end}_{name}", one
        elif isinstance(value, list):
            before = "" if name == "terms" else name.split("terms", 1)[0]
            yield from ((f"{before}{one.name}_seconds", one.seconds) for one in value if isinstance(one, _core.StepTerm))
        elif hasattr(type(value), "to_dict"):
            yield from ((f"{name}_{member}", one) for member, one in _cells(value))
        else:
            yield name, value


def frame(answers: Any) -> Any:
    """A pandas.DataFrame of Predictions, in C order, its attribute `units` that of the columns that have one."""
    return table({name: getattr(answers, name).reshape(-1) for name in COLUMNS})


def polars_frame(answers: Any) -> Any:
    """A polars.DataFrame of Predictions, in C order. polars keeps no attributes: the names of columns say their units."""
    from ._tables import to_polars

    return to_polars({name: getattr(answers, name).reshape(-1) for name in COLUMNS})


def dataset(answers: Any, axes: Any) -> Any:
    """An xarray.Dataset of Predictions. axes: (names, coordinates) as returned by `fields`; None: dim_0, dim_1, ..."""
    from ._extras import module

    names, coordinates = axes or (tuple(f"dim_{i}" for i in range(answers.ndim)), {})
    taken = {*names, *coordinates}
    variables = {
        name: (names, getattr(answers, name), {"units": unit_of(name)} if unit_of(name) else {})
        for name in COLUMNS
        if name not in taken
    }
    said = {"system": answers.system.name, "operation": answers.operation.collective}
    return module("xarray").Dataset(variables, coords=coordinates, attrs=said)
