"""Measurements that cannot be what they say are refused with why, and warnings are Python's."""
import pathlib
import warnings

import numpy as np
import pytest

import fabricost as fc

SIZES = 2.0 ** np.arange(12, 31, 3)


def samples(factor, **more):
    seconds = np.asarray(fc.predict("dgx-h100", fc.AllReduce(SIZES)).seconds) * factor
    return {"bytes": SIZES, "seconds": seconds, "ranks": np.full(len(SIZES), 8), **more}


@pytest.mark.parametrize("factor, unit", [(1e6, "microseconds given as seconds"), (1e3, "milliseconds")])
@pytest.mark.parametrize("system", ["dgx-h100", "an own one"])
def test_a_run_in_another_unit_is_not_fitted(factor, unit, system):
    own = fc.System({"name": "own", "extends": "dgx-h100", "source": "a quote", "confidence": "assumed", "nodes": 4})
    with warnings.catch_warnings():
        warnings.simplefilter("error", fc.FabricostWarning)
        with pytest.raises(fc.RequestError, match="unit"):
            fc.calibrate(own if system == "an own one" else system, samples(factor))
    with pytest.raises(fc.RequestError, match="unit"):
        fc.calibrate("dgx-h100", {"bytes": [1e6, 1e7, 1e8], "seconds": [26.0, 100.0, 500.0], "ranks": [8, 8, 8]})


def test_times_that_are_too_short_are_not_fitted():
    for factor in (1e-3, 1e-6):
        with pytest.raises(fc.RequestError, match="no point is left to fit"):
            fc.calibrate("dgx-h100", samples(factor))


def test_a_slow_run_is_fitted_and_warned_of():
    with pytest.warns(fc.FabricostWarning, match="as long as dgx-h100 should"):
        fit = fc.calibrate("dgx-h100", samples(4))
    assert fit.warnings and fit.warnings[0].startswith("the run takes 4 times as long")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not fc.calibrate("dgx-h100", samples(1.1)).warnings
    assert issubclass(fc.FabricostWarning, UserWarning)


def test_one_run_in_another_unit_among_others_is_left_out_and_warned_of():
    good, bad = samples(1.1), samples(1e6)
    bad["bytes"] = 2 * bad["bytes"]  # repeats of one size are merged by their median before they are looked at
    both = {name: np.concatenate([good[name], bad[name]]) for name in good}
    both["source"] = ["good"] * len(SIZES) + ["bad"] * len(SIZES)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit = fc.calibrate("dgx-h100", both)
    assert any("another unit" in str(one.message) for one in said)
    assert fit.points == len(SIZES) and fit.median_error < 0.05 and len(fit.set_aside) == len(SIZES)


def test_validate_counts_them_and_warns():
    with pytest.warns(fc.FabricostWarning, match="another unit"):
        seen = fc.validate(samples(1e6), "dgx-h100")
    assert seen.points == len(SIZES)


def test_no_published_run_is_taken_for_another_unit():
    """The bound is eight times the slowest of all measured runs."""
    measured = pathlib.Path(__file__).resolve().parents[3] / "shared" / "measurements"
    files = [*measured.glob("*.nccl.csv"), *measured.glob("multinode/points_*.csv"), *measured.glob("second/multinode/points_*.csv")]
    if not files:
        pytest.skip(f"{measured}: the measurements are not beside this checkout")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fc.FabricostWarning)
        seen = fc.validate([str(one) for one in files], raw=True)
    assert seen.points > 5_000
    assert not any("another unit" in reason for reason in seen.untrustworthy)
