"""Pictures show the package's own figures, and a question that cannot be drawn is refused by name."""

import pathlib
import re

import numpy as np
import pytest
from pictures import PICTURES, clean_style, h100, measured, scattered, schedule  # noqa: F401 (first: skips without matplotlib)

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

import fabricost as fc
from fabricost import plot


def test_the_page_shows_every_picture_and_every_function():
    text = (pathlib.Path(__file__).parents[2] / "docs/pictures.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"<!-- picture: ([\w-]+) ", text)) == sorted(PICTURES)
    assert [name for name in plot.__all__ if f"plot.{name}(" not in text] == []


def test_axes_given_are_drawn_into_and_given_back():
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4))
    assert plot.busbw(h100(), fc.AllReduce(), ax=left) is left
    assert plot.scaling(h100(), fc.AllReduce(fc.MiB), ax=right) is right
    assert plt.get_fignums() == [figure.number]


def test_bus_bandwidth_is_that_of_predict_and_measured_points_are_the_logs():
    points = measured()
    axes = plot.busbw(h100(), fc.AllReduce(), measured=points)
    lines = {line.get_label(): line for line in axes.get_lines()}
    x, y = lines["predicted (calibrated)"].get_data()
    for size, rate in zip(x, y):
        assert rate == pytest.approx(fc.predict(h100(), fc.AllReduce(size)).bus_bytes_per_second / 1e9, rel=1e-12)
    assert lines["measured"].get_ydata() == pytest.approx(2 * 7 / 8 * points[0] / points[1] / 1e9, rel=1e-12)
    low, high = (axes.collections[0].get_paths()[0].vertices[:, 1] for _ in range(2))
    p = fc.predict(h100(), fc.AllReduce(x[-1]))
    assert low.min() >= 0 and np.isclose(high, 1.75 * x[-1] / p.low_seconds / 1e9, rtol=1e-9).any()


def test_a_log_by_its_path_gives_its_points():
    log = pathlib.Path(__file__).parents[2] / "data" / "measurements" / "dgx-h100-all-reduce.txt"
    axes = plot.busbw(h100(), fc.AllReduce(dtype="float"), measured=log)
    points = [line for line in axes.get_lines() if line.get_label() == "measured"][0]
    samples = fc.read_log(log, system="dgx-h100")
    assert points.get_ydata() == pytest.approx(samples["bus_bytes_per_second"] / 1e9, rel=1e-9)
    checked = plot.busbw(h100(), fc.AllReduce(dtype="float"), measured=fc.validate(log, system="dgx-h100"))
    assert len(set(points.get_xdata())) == len([line for line in checked.get_lines() if line.get_label() == "measured"][0].get_xdata())


def test_regions_are_where_another_pair_runs():
    sizes = 2.0 ** np.arange(10, 34)
    axes = plot.busbw(h100(), fc.AllReduce(nodes=4), sizes)
    named = [text.get_text().replace("\n", " ") for text in axes.texts]
    p = fc.predict(h100(), fc.AllReduce(sizes, nodes=4))
    assert named == list(dict.fromkeys(f"{a} {b}" for a, b in zip(p.algorithm, p.protocol)))


def test_stacked_terms_sum_to_the_time_of_predict():
    axes = plot.terms(h100(), fc.AllReduce(64 * fc.MiB), "nodes", [1, 2, 4, 8])
    tops = {}
    for bar in axes.patches:
        place = round(bar.get_x() + bar.get_width() / 2)
        tops[place] = tops.get(place, 0) + bar.get_height()
    for place, nodes in enumerate([1, 2, 4, 8]):
        assert tops[place] == pytest.approx(fc.predict(h100(), fc.AllReduce(64 * fc.MiB, nodes=nodes)).seconds * 1e6, rel=1e-9)


def test_cells_of_the_heat_map_are_the_fastest_plan_with_both_words_fixed():
    asked = dict(gpus=32, global_batch=64, recompute="none")
    axes = plot.layouts("dgx-h100", "llama3-70b", rows="tp", columns="zero", row_values=[2, 8], **asked)
    shown = {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in axes.texts}
    hatched = {(round(p.get_y() + 0.5), round(p.get_x() + 0.5)) for p in axes.patches if isinstance(p, Rectangle) and p.get_hatch()}
    steps = {}
    for i, tp in enumerate([2, 8]):
        for j, zero in enumerate([0, 1, 2, 3]):
            try:
                steps[i, j] = fc.plan("dgx-h100", "llama3-70b", tp=tp, zero=zero, **asked)[0].step_seconds
            except fc.RequestError as error:
                assert ((i, j) in hatched) == ("does not fit" in str(error))
    assert hatched and {place: f"{step:.3g}" for place, step in steps.items()} == shown
    bold = [t for t in axes.texts if t.get_fontweight() == "bold"]
    assert [t.get_text() for t in bold] == [f"{min(steps.values()):.3g}"]


def test_nothing_listed_beats_the_front():
    for plans, better in (
        (fc.plan("dgx-h100", "llama3-8b", gpus=16, global_batch=64), -1),
        (fc.plan_serve("dgx-h100", "llama3-8b", gpus=8), 1),
    ):
        axes = plot.pareto(plans)
        front, listed = (np.column_stack(line.get_data()) * better for line in axes.get_lines()[:2])
        for point in front:
            assert not ((front >= point).all(axis=1) & (front > point).any(axis=1)).any()
        assert len(listed) == len(plans)


@pytest.mark.parametrize("name", ["gpipe", "1f1b", "interleaved", "zb_h1", "zb_v", "dualpipe", "dualpipe_v"])
def test_the_chart_has_every_piece_of_work_at_its_time(name):
    run = schedule(name)
    axes = plot.pipeline(run)
    boxes = [path.get_extents() for pieces in axes.collections if pieces.get_zorder() == 2 for path in pieces.get_paths()]
    assert len(boxes) == len(run.bars)
    assert sum(box.width for box in boxes) == pytest.approx(1e3 * (run.bars["end_seconds"] - run.bars["start_seconds"]).sum())
    assert max(box.x1 for box in boxes) == pytest.approx(1e3 * run.bars["end_seconds"].max())
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            lap = min(min(one.x1, other.x1) - max(one.x0, other.x0), min(one.y1, other.y1) - max(one.y0, other.y0))
            assert lap <= 1e-6, "two pieces lie on each other"


def test_a_topology_names_every_tier_with_its_one_way_rate():
    for name in ("dgx-h100", "gb200-nvl72", "superpod-h100", "l40s-pcie", "tpu-v5p-cube", "mi300x-8", "ualink-pod"):
        system = fc.load_system(name)
        written = "\n".join(text.get_text() for text in plot.topology(system).texts)
        for tier in system.tiers:
            assert tier.name in written, (name, tier.name)
            value, unit = (tier.bytes_per_second / 1e12, "TB/s") if tier.bytes_per_second >= 1e12 else (tier.bytes_per_second / 1e9, "GB/s")
            assert f"{value:.4g} {unit}" in written, (name, tier.name)


@pytest.mark.parametrize("name", fc.system_names())
def test_every_machine_can_be_drawn(name):
    axes = plot.topology(fc.load_system(name))
    assert len(axes.patches) >= 2


def test_residuals_are_predicted_over_measured():
    table = scattered()
    axes = plot.residuals(table)
    ratio = table["predicted_seconds"] / table["measured_seconds"]
    for line in axes.get_lines():
        if line.get_label() in ("all_gather", "all_to_all"):
            assert line.get_ydata() == pytest.approx(ratio[table["operation"] == line.get_label()], rel=1e-9)
    assert f"median error {100 * np.median(np.abs(ratio - 1)):.2g} %" in axes.get_title()
    edge = [line for line in axes.get_lines() if line.get_label() == "further off"]
    assert len(edge) == 1 and edge[0].get_xdata() == [table["bytes"][40]]
