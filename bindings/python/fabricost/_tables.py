"""Columns of the compiled module (arrays; of texts numbers and the words that they count) as tables, without an object for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._extras import module

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


def to_pandas(columns: dict[str, Any]) -> pandas.DataFrame:
    pd = module("pandas")
    return pd.DataFrame(
        {name: pd.Categorical.from_codes(one[0], one[1]) if isinstance(one, tuple) else one for name, one in columns.items()}
    )


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
    return pa.table(
        {
            name: pa.DictionaryArray.from_arrays(pa.array(one[0]), pa.array(one[1], type=pa.string()))
            if isinstance(one, tuple)
            else pa.array(one, from_pandas=True)
            for name, one in columns.items()
        }
    )
