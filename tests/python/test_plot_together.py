"""Several curves on one axes: each stays as it is, shared parts are drawn once, and curves that do not belong together are refused."""

import numpy as np
import pytest
from pictures import clean_style, h100, scattered  # noqa: F401 (first: skips without matplotlib)


import fabricost as fc
from fabricost import plot

SIZES = 2.0 ** np.arange(10, 34)


def b200():
    return fc.load_system("dgx-b200")


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def curves(axes):
    return [line for line in axes.get_lines() if len(line.get_xdata()) == len(SIZES)]


def test_two_machines_are_named_by_what_sets_them_apart():
    axes = plot.busbw(h100(), fc.AllReduce(), SIZES)
    spans, texts = len(axes.patches), len(axes.texts)
    assert plot.busbw(b200(), fc.AllReduce(), SIZES, ax=axes) is axes
    assert axes.get_title() == "all_reduce, 8 ranks on 1 node"
    assert legend(axes)[:2] == ["dgx-h100 (calibrated)", "dgx-b200 (calibrated)"]
    assert legend(axes).count("nine in ten measurements") == 1
    assert (len(axes.patches), len(axes.texts)) == (spans, texts), "the ranges of what runs are drawn twice"
    for line, system in zip(curves(axes), (h100(), b200())):
        assert line.get_ydata() == pytest.approx(fc.predict(system, fc.AllReduce(SIZES)).bus_bytes_per_second / 1e9, rel=1e-12)
    assert max(line.get_ydata().max() for line in curves(axes)) < axes.get_ylim()[1]
    assert len({line.get_color() for line in curves(axes)}) == len({line.get_linestyle() for line in curves(axes)}) == 2


@pytest.mark.parametrize("show, column, unit", [("time", "seconds", 1), ("busbw", "bus_bytes_per_second", 1e9),
                                                ("algbw", "algorithm_bytes_per_second", 1e9)])
def test_time_and_both_bandwidths_are_those_of_predict(show, column, unit):
    asked = fc.AllReduce(SIZES, nodes=4)
    axes = plot.busbw(h100(), asked, SIZES, show=show)
    assert curves(axes)[0].get_ydata() == pytest.approx(getattr(fc.predict(h100(), asked), column) / unit, rel=1e-12)
    assert axes.get_yscale() == ("log" if show == "time" else "linear")
    assert plot.busbw(h100(), asked, SIZES, show=show, log=show != "time").get_yscale() != axes.get_yscale()
    ranks = plot.scaling(h100(), fc.AllReduce(fc.MiB), "nodes", [1, 2, 4], show=show)
    expected = getattr(fc.predict(h100(), fc.AllReduce(fc.MiB, nodes=[1, 2, 4])), column) / unit
    assert ranks.get_lines()[0].get_ydata() == pytest.approx(expected, rel=1e-12)


def test_a_roofline_is_the_lower_of_arithmetic_and_memory():
    system = h100()
    axes = plot.roofline(system, tiers=["hbm"], dtypes=["bf16"], points={"kernel": 100.0})
    peak, rate = system.flops_per_second["bf16"], system.tiers["hbm"].bytes_per_second
    slope, ridge, roof = axes.get_lines()[:3]
    x, y = slope.get_data()
    assert y == pytest.approx(np.minimum(peak, rate * x)) and ridge.get_data() == (pytest.approx([peak / rate]), [peak])
    assert set(roof.get_ydata()) == {peak}
    kernel = [line for line in axes.get_lines() if line.get_marker() == "o" and line.get_markerfacecolor() == "white"]
    assert kernel[0].get_data() == ([100.0], pytest.approx([100 * rate]))
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_xlabel()) == ("log", "log", "arithmetic intensity, flop/byte")


def test_no_message_is_faster_than_any_of_its_tiers():
    axes = plot.roofline(h100(), fc.AllReduce(nodes=4), SIZES)
    whole, *parts = curves(axes)
    assert len(parts) > 1 and all((np.nan_to_num(part.get_ydata(), nan=np.inf) >= whole.get_ydata() * (1 - 1e-12)).all() for part in parts)
    assert whole.get_ydata() == pytest.approx(fc.predict(h100(), fc.AllReduce(SIZES, nodes=4)).bus_bytes_per_second / 1e9, rel=1e-12)


@pytest.mark.parametrize("show, at_once", [("algbw", False), ("time", True)])
def test_a_tier_is_limited_by_latency_then_by_its_rate(show, at_once):
    tier = h100().tiers["nvlink"]
    axes = plot.roofline(h100(), tiers=["nvlink"], sizes=[1, 1e6, 1e12], show=show)
    ends = np.array([tier.latency_seconds, 1e12 / tier.bytes_per_second])
    assert axes.get_lines()[0].get_ydata()[[0, -1]] == pytest.approx(ends if at_once else [1 / ends[0] / 1e9, 1e3 / ends[1]])


@pytest.mark.parametrize("call, name", [
    (lambda ax: plot.busbw(h100(), fc.AllReduce(), show="time", ax=ax), "ax: shows busbw against size; draw time against size"),
    (lambda ax: plot.scaling(h100(), fc.AllReduce(fc.MiB), ax=ax), "ax: shows busbw against size"),
    (lambda ax: plot.roofline(h100(), ax=ax), "ax: shows busbw"),
    (lambda ax: plot.residuals(scattered(), ax=ax), "ax: shows busbw"),
    (lambda ax: plot.busbw(h100(), fc.AllReduce(), show="speed"), "show: \"speed\" is none of busbw, algbw, time"),
    (lambda ax: plot.busbw(h100(), fc.AllReduce(), color="no colour"), "color: 'no colour'"),
    (lambda ax: plot.roofline(h100(), dtypes=["int4"]), "dtypes: h100-sxm has no figure for \"int4\""),
    (lambda ax: plot.roofline(h100(), points={"kernel": -1}), "points: kernel"),
    (lambda ax: plot.roofline(h100(), fc.AllReduce(), points={"kernel": 1}), "points, dtypes"),
])
def test_what_does_not_belong_together_is_refused(call, name):
    axes = plot.busbw(h100(), fc.AllReduce(), SIZES)
    before = len(axes.get_lines()), axes.get_title(), legend(axes)
    with pytest.raises(fc.RequestError, match=name):
        call(axes)
    assert (len(axes.get_lines()), axes.get_title(), legend(axes)) == before
