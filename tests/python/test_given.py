"""Numbers as callers have them: with units, masked, with names for their axes, in lists of lists. Converted or refused, never misread."""
import datetime

import numpy as np
import pytest

import fabricost as fc

MIB = 2.0**20


def library(name):
    return pytest.importorskip(name, reason=f"{name} is not installed")


def of_pint(value, unit):
    return value * library("pint").UnitRegistry()(unit)


def test_a_size_with_units_is_that_many_bytes():
    assert fc.AllReduce(of_pint(256, "mebibyte"), ranks=8) == fc.AllReduce(256 * fc.MiB, ranks=8)
    assert fc.AllReduce([of_pint(1, "mebibyte"), 7, of_pint(2, "mebibyte")]).bytes.tolist() == [MIB, 7, 2 * MIB]
    assert fc.SendRecv(of_pint(1, "mebibyte")).bytes == MIB


def test_an_array_with_units_is_that_many_bytes():
    given = of_pint(np.array([[1.0, 2.0], [4.0, 0.5]]), "mebibyte")
    got = fc.AllReduce(given).bytes
    assert type(got) is np.ndarray and (got == MIB * np.array([[1, 2], [4, 0.5]])).all()


@pytest.mark.parametrize("value", [3.0, np.array([3.0, 4.0])], ids=["number", "array"])
def test_units_that_are_no_bytes_are_refused(value):
    for ask in (lambda: fc.AllReduce(of_pint(value, "ms")), lambda: fc.AllReduce(1, ranks=of_pint(value, "ms")),
                lambda: fc.AllReduce(1, nodes=[8, of_pint(value, "ms")])):
        with pytest.raises(fc.RequestError, match="(bytes: is counted in byte, which .* cannot be turned into|without units, not one of)"):
            ask()


@pytest.mark.parametrize("unit", ["percent", "radian", "dimensionless", "1/second"])
def test_what_pint_would_take_for_bits_is_refused(unit):
    with pytest.raises(fc.RequestError, match="is counted in byte"):
        fc.AllReduce(of_pint(5, unit))
    with pytest.raises(fc.RequestError, match="without units"):
        fc.AllReduce(1, ranks=of_pint(8, "byte"))  # to pint a byte is the number 8


def test_every_argument_takes_the_unit_its_name_ends_with(h100):
    model = dict(gpus=8, isl=1024, osl=128, top=1)
    wanted = fc.plan_serve(h100, "llama3-70b", tpot_seconds=0.03, **model)
    assert fc.plan_serve(h100, "llama3-70b", tpot_seconds=of_pint(30.0, "ms"), **model)[0] == wanted[0]
    with pytest.raises(fc.RequestError, match="gpus: is a number without units"):
        fc.plan_serve(h100, "llama3-70b", **{**model, "gpus": of_pint(8, "ms")})


def test_rates_and_hours_with_units(h100):
    pint = library("pint").UnitRegistry()
    slow = fc.transfer_storage(h100, bytes=1e9, nodes=1, read_bytes_per_second=80 * pint.gigabit / pint.second)
    assert slow == fc.transfer_storage(h100, bytes=1e9, nodes=1, read_bytes_per_second=1e10)
    assert fc.transfer_access(h100, bytes=1 * pint.mebibyte) == fc.transfer_access(h100, bytes=2**20)
    assert fc.transfer_access(h100, bytes=[1.0, 2.0] * pint.mebibyte) == fc.transfer_access(h100, bytes=[2**20, 2**21])
    assert fc.cost(h100, gpus=8, hours=2 * pint.day) == fc.cost(h100, gpus=8, hours=48)
    with pytest.raises(fc.RequestError, match="byte/s"):
        fc.transfer_storage(h100, bytes=1e9, nodes=1, read_bytes_per_second=1e10 * pint.hertz)


def test_a_duration_is_no_number(h100):
    for given in (np.timedelta64(5, "ns"), np.timedelta64(5, "s"), datetime.timedelta(seconds=5), np.array([5, 6], "m8[ns]")):
        with pytest.raises((TypeError, ValueError), match="bytes"):
            fc.AllReduce(given)


def test_measured_columns_with_units(h100):
    pint = library("pint").UnitRegistry()
    plain = {"bytes": np.array([1.0, 64.0]) * MIB, "seconds": np.array([40e-6, 400e-6]), "ranks": [8, 8]}
    units = {"bytes": [1.0, 64.0] * pint.mebibyte, "seconds": [40.0, 400.0] * pint.us, "ranks": [8, 8]}
    assert fc.validate(units, system=h100).median_error == pytest.approx(fc.validate(plain, system=h100).median_error, rel=1e-12)
    with pytest.raises(fc.RequestError, match="seconds: is counted in s"):
        fc.validate({**plain, "seconds": [40.0, 400.0] * pint.meter}, system=h100)


# --- masks

def test_masked_elements_are_refused_wherever_they_stand(h100):
    masked = np.ma.array([1e3, 1e6, 1e9], mask=[False, True, True])
    for ask in (lambda: fc.AllReduce(masked), lambda: fc.AllReduce(1e6, ranks=np.ma.array([8, 16], mask=[True, False])),
                lambda: fc.AllReduce([1.0, np.ma.masked]), lambda: fc.AllReduce(np.ma.masked),
                lambda: fc.validate({"bytes": masked, "seconds": [1e-3] * 3}, system=h100), lambda: fc.stragglers(masked, ranks=8),
                lambda: fc.plan_serve(h100, "llama3-70b", gpus=8, tpot_seconds=np.ma.masked)):
        with pytest.raises(fc.RequestError, match="masked"):
            ask()
    assert fc.AllReduce(masked.filled(1)).bytes.tolist() == [1e3, 1, 1]
    assert fc.AllReduce(np.ma.array([1e3, 1e6])).bytes.tolist() == [1e3, 1e6]  # nothing is masked


# --- names of axes

def test_axes_of_xarray_broadcast_by_name(h100):
    xarray = library("xarray")
    sizes = xarray.DataArray([1e3, 1e6, 1e9], dims="size", coords={"size": ["small", "some", "large"]})
    ranks = xarray.DataArray([8, 16, 32], dims="ranks")
    grid = fc.predict(h100, fc.AllReduce(sizes, ranks=ranks))
    assert grid.shape == (3, 3)
    wanted = fc.predict(h100, fc.AllReduce(sizes.values[:, None], ranks=ranks.values))
    assert (grid.seconds == wanted.seconds).all()
    turned = xarray.DataArray(grid.bytes.T, dims=("ranks", "size"))
    assert (fc.predict(h100, fc.AllReduce(turned, ranks=ranks)).seconds == wanted.seconds.T).all()


def test_an_answer_in_xarray_keeps_names_and_coordinates(h100):
    xarray = library("xarray")
    sizes = xarray.DataArray([1e3, 1e6], dims="size", coords={"size": [10, 20]}, attrs={"units": "kB"})
    grid = fc.predict(h100, fc.AllReduce(sizes, nodes=xarray.DataArray([1, 2, 4], dims="n")))
    table = grid.to_xarray()
    assert table.seconds.dims == ("size", "n") and table.size.values.tolist() == [10, 20] and table.seconds.attrs["units"] == "s"
    assert table.bytes.sel(size=20, n=0).item() == 1e9 and (table.nodes.values[0] == [1, 2, 4]).all()
    assert set(table.variables) > {"seconds", "low_seconds", "high_seconds", "algorithm", "basis", "extrapolated"}
    assert fc.predict(h100, fc.AllReduce([[1e3], [1e6]])).to_xarray().seconds.dims == ("dim_0", "dim_1")
    assert grid[0].to_xarray().seconds.dims == ("dim_0",)


def test_an_answer_in_polars_has_the_rows_and_columns_of_pandas(h100):
    polars, _ = library("polars"), library("pandas")
    grid = fc.predict(h100, fc.AllReduce([[1e3], [1e6]], nodes=[1, 2, 4]))
    made, wanted = grid.to_polars(), grid.to_pandas()
    assert isinstance(made, polars.DataFrame) and made.columns == list(wanted.columns) and made.height == 6
    for name in made.columns:
        assert made[name].to_list() == wanted[name].tolist(), name
    assert made["algorithm"].dtype == polars.String and made["seconds"].dtype == polars.Float64
