"""Columns of the compiled module (arrays; of texts numbers and the words that they count) as tables, without an object for each row.

Units are attributes where a library has them: `attrs["units"]` of a pandas frame, the metadata of a field of Arrow. polars has none, so
there the names say them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._extras import module
from ._given import units

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


def to_pandas(columns: dict[str, Any]) -> pandas.DataFrame:
    pd = module("pandas")
    frame = pd.DataFrame(
        {name: pd.Categorical.from_codes(one[0], one[1]) if isinstance(one, tuple) else one for name, one in columns.items()}
    )
    frame.attrs["units"] = units(columns)
    return frame


def to_polars(columns: dict[str, Any]) -> polars.DataFrame:
    pl = module("polars")
    frame: polars.DataFrame = pl.DataFrame(
        {
            name: pl.Series(name, one[1], dtype=pl.String).gather(one[0]) if isinstance(one, tuple) else pl.Series(name, one)
            for name, one in columns.items()
        }
    )
    return frame


def to_arrow(columns: dict[str, Any]) -> pyarrow.Table:
    pa = module("pyarrow")
    arrays = {
        name: pa.DictionaryArray.from_arrays(pa.array(one[0]), pa.array(one[1], type=pa.string()))
        if isinstance(one, tuple)
        else pa.array(one, from_pandas=True)
        for name, one in columns.items()
    }
    said = units(columns)
    fields = [pa.field(name, one.type, metadata={"units": said[name]} if name in said else None) for name, one in arrays.items()]
    return pa.table(list(arrays.values()), schema=pa.schema(fields))
