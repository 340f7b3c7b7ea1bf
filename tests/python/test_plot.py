"""Pictures: what is drawn is what the package computes, texts can be read, and each looks as the image of it in images/.

python tests/python/test_plot.py --update       draws images/*.png again (after looking at what changed)
"""

import io
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.patches import Rectangle  # noqa: E402
from PIL import Image  # noqa: E402

import fabricost as fc  # noqa: E402
from fabricost import plot  # noqa: E402

IMAGES = pathlib.Path(__file__).parent / "images"
MOST_BYTES, MOST_BYTES_TOGETHER = 15 * 1024, 200 * 1024
# Levels, 0 to 255. Between matplotlib 3.8.4 and 3.11.2 the same picture is at most 5.8 apart (patterns; others 3), a picture without its
# band, without its regions, with another axis or with its legend in the way 8.3 or more.
TOLERANCE = 7.0
BLOCK, SHIFT = 8, 8
PICTURE_WIDTH = 420


@pytest.fixture(autouse=True)
def clean_style():
    """Pinned looks: matplotlib's defaults and the font that comes with it."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.use("Agg")
        matplotlib.rcParams["font.family"] = "DejaVu Sans"
        yield
    plt.close("all")


def h100():
    return fc.load_system("dgx-h100")


def scattered():
    """A table as validate makes one, of noise that is the same every time."""
    noise = np.random.default_rng(7)
    out = np.zeros(
        90, dtype=[("operation", "U16"), ("system", "U16"), ("bytes", "f8"), ("measured_seconds", "f8"), ("predicted_seconds", "f8")]
    )
    out["operation"] = np.repeat(["all_gather", "all_reduce", "all_to_all"], 30)
    out["system"] = "dgx-h100"
    out["bytes"] = np.tile(2.0 ** np.arange(4, 34), 3)
    out["measured_seconds"] = 1e-5 + out["bytes"] / 3e11
    out["predicted_seconds"] = out["measured_seconds"] * 2 ** noise.normal(0, 0.12, 90)
    out["predicted_seconds"][40] *= 9
    return out


def measured():
    sizes = 2.0 ** np.arange(12, 33)
    return sizes, fc.predict(h100(), fc.AllReduce(sizes)).seconds * np.random.default_rng(3).uniform(0.93, 1.08, sizes.size)


def schedule(name, exchange=0.0):
    return fc.pipeline(
        schedule=name,
        stages=4,
        microbatches=8,
        forward_seconds=18.5e-3,
        backward_seconds=18e-3,
        weight_seconds=9.3e-3,
        exchange_seconds=exchange,
    )


PICTURES = {
    "busbw": lambda: plot.busbw(h100(), fc.AllReduce(), measured=measured()),
    "busbw-4-nodes": lambda: plot.busbw(h100(), fc.AllReduce(nodes=4)),
    "terms-by-size": lambda: plot.terms(h100(), fc.AllReduce(nodes=4)),
    "terms-by-nodes": lambda: plot.terms(h100(), fc.AllReduce(64 * fc.MiB), "nodes"),
    "roofline": lambda: plot.roofline(h100()),
    "roofline-all-reduce": lambda: plot.roofline(h100(), fc.AllReduce(nodes=4)),
    "scaling": lambda: plot.scaling(h100(), fc.AllReduce(64 * fc.MiB)),
    "scaling-relative": lambda: plot.scaling(h100(), fc.AllReduce(fc.GiB), "nodes", show="relative"),
    "layouts": lambda: plot.layouts("dgx-h100", "llama3-70b", gpus=64, global_batch=256, recompute="none", zero=1, cp=1),
    "pareto-training": lambda: plot.pareto(fc.plan("dgx-h100", "llama3-8b", gpus=16, global_batch=64)),
    "pareto-serving": lambda: plot.pareto(fc.plan_serve("dgx-h100", "llama3-70b", gpus=8)),
    "pipeline-1f1b": lambda: plot.pipeline(schedule("1f1b")),
    "pipeline-zb-h1": lambda: plot.pipeline(schedule("zb_h1", 3e-3)),
    "pipeline-dualpipe": lambda: plot.pipeline(schedule("dualpipe")),
    "topology": lambda: plot.topology(fc.load_system("superpod-h100")),
    "topology-nvl72": lambda: plot.topology(fc.load_system("gb200-nvl72")),
    "residuals": lambda: plot.residuals(scattered()),
    "goodput": lambda: plot.goodput(checkpoint_seconds=30, restart_seconds=600),
}


KEPT = {}


def picture(name):
    """The axes of a picture, drawn once for all tests that only look at it."""
    if name not in KEPT:
        KEPT[name] = PICTURES[name]()
    return KEPT[name]


def drawn(draw):
    """The picture as PICTURE_WIDTH pixels across."""
    axes = draw()
    out = io.BytesIO()
    axes.figure.savefig(out, format="png", dpi=PICTURE_WIDTH / axes.figure.get_size_inches()[0])
    plt.close(axes.figure)
    return Image.open(out).convert("RGB")


def smooth(image):
    """Means over squares of BLOCK x BLOCK pixels, one at each pixel."""
    sums = np.asarray(image, dtype=float)
    for axis in (0, 1):
        total = np.cumsum(np.insert(sums, 0, 0, axis=axis), axis=axis)
        sums = (np.take(total, range(BLOCK, total.shape[axis]), axis) - np.take(total, range(total.shape[axis] - BLOCK), axis)) / BLOCK
    return sums


def apart(one, other):
    """Root mean square difference of two pictures, where each place may have moved by SHIFT pixels; infinite for other sizes.

    Versions of matplotlib measure texts differently, and the layout moves axes by some pixels with them.
    """
    if max(abs(a - b) for a, b in zip(one.size, other.size)) > 1:  # a pixel is rounding
        return float("inf")
    size = tuple(min(a, b) for a, b in zip(one.size, other.size))
    first, second = (smooth(image.crop((0, 0, *size))) for image in (one, other))

    def missing(there, here):
        """Of each place of `here` the least difference from what is near it `there`."""
        padded = np.pad(there, ((SHIFT, SHIFT), (SHIFT, SHIFT), (0, 0)), mode="edge")
        least = np.full(here.shape[:2], np.inf)
        for down in range(0, 2 * SHIFT + 1, 2):
            for right in range(0, 2 * SHIFT + 1, 2):
                near = padded[down : down + here.shape[0], right : right + here.shape[1]]
                np.minimum(least, ((near - here) ** 2).mean(axis=2), out=least)
        return least

    return float(np.sqrt(max(missing(first, second).mean(), missing(second, first).mean())))


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_looks_as_its_image(name):
    distance = apart(drawn(lambda: picture(name)), Image.open(IMAGES / f"{name}.png").convert("RGB"))
    assert distance <= TOLERANCE, f"{name}: {distance:.2f} apart; look, then: python tests/python/test_plot.py --update"


def test_images_are_small_and_none_is_left_over():
    files = sorted(IMAGES.glob("*.png"))
    assert sorted(file.stem for file in files) == sorted(PICTURES)
    sizes = [file.stat().st_size for file in files]
    assert max(sizes) < MOST_BYTES and sum(sizes) < MOST_BYTES_TOGETHER


def spoiled(change):
    axes = PICTURES["busbw-4-nodes"]()
    change(axes)
    return axes


@pytest.mark.parametrize(
    "what, change",
    [
        ("no band", lambda axes: axes.collections[0].remove()),
        ("no regions", lambda axes: [patch.remove() for patch in list(axes.patches)]),
        ("other axis", lambda axes: axes.set_ylim(0, 2 * axes.get_ylim()[1])),
        ("legend in the way", lambda axes: axes.legend(loc="center")),
    ],
)
def test_a_spoiled_picture_is_noticed(what, change):
    distance = apart(drawn(lambda: spoiled(change)), Image.open(IMAGES / "busbw-4-nodes.png").convert("RGB"))
    assert distance > TOLERANCE, f"{what}: only {distance:.2f} apart"


def settled(axes):
    """Lays the figure out, as it is when shown; a renderer that measures texts."""
    axes.figure.set_dpi(100)
    canvas = FigureCanvasAgg(axes.figure)
    canvas.draw()
    return canvas.get_renderer()


def texts(axes):
    """What is written, as (text, box in pixels): title, labels, ticks, legend, annotations."""
    renderer = settled(axes)
    out = []
    for one in [axes, *axes.child_axes]:
        found = [one.title, *one.texts]
        if one.axison:
            found += [one.xaxis.label, one.yaxis.label]
            for axis, view in ((one.xaxis, one.get_xlim()), (one.yaxis, one.get_ylim())):
                found += [
                    tick.label1 for tick in axis.get_major_ticks() if tick.label1.get_visible() and min(view) <= tick.get_loc() <= max(view)
                ]
        if one.get_legend():
            found += one.get_legend().get_texts()
        out += [(text.get_text(), text.get_window_extent(renderer)) for text in found if text.get_text().strip() and text.get_visible()]
    return out


@pytest.mark.parametrize("name", PICTURES)
def test_no_text_lies_on_another_or_is_cut_off(name):
    axes = picture(name)
    found = texts(axes)
    width, height = axes.figure.get_size_inches() * axes.figure.dpi
    for text, box in found:
        assert -1 <= box.x0 and box.x1 <= width + 1 and -1 <= box.y0 and box.y1 <= height + 1, f"{text!r} is cut off: {box}"
    for i, (text, box) in enumerate(found):
        for other, second in found[i + 1 :]:
            across = min(box.x1, second.x1) - max(box.x0, second.x0)
            along = min(box.y1, second.y1) - max(box.y0, second.y0)
            assert across <= 1 or along <= 1, f"{text!r} lies on {other!r} by {across:.1f} x {along:.1f} pixels"


@pytest.mark.parametrize("name", PICTURES)
def test_axes_say_what_they_show_and_legends_lie_outside(name):
    axes = picture(name)
    assert axes.get_title()
    if axes.axison:
        assert axes.get_xlabel() and axes.get_ylabel()
    settled(axes)
    if axes.get_legend():
        assert axes.get_legend().get_window_extent().y1 <= axes.get_window_extent().y0


@pytest.mark.parametrize("name", PICTURES)
def test_series_differ_in_more_than_hue(name):
    """In a grey print: by marker, dashes, pattern, or clearly by lightness."""
    from matplotlib.colors import to_rgb

    axes = picture(name)
    looks = []
    for handle in axes.get_legend().legend_handles if axes.get_legend() else []:
        line = hasattr(handle, "get_marker")
        colour = handle.get_color() if line else handle.get_facecolor()
        grey = float(np.dot(to_rgb(colour), (0.3, 0.59, 0.11))) if colour != "none" else 1.0
        looks.append(
            (
                type(handle).__name__,
                (handle.get_marker(), handle.get_linestyle()) if line else (handle.get_hatch(), handle.get_edgecolor()),
                grey,
            )
        )
    for i, (kind, shape, grey) in enumerate(looks):
        for other, second, lightness in looks[i + 1 :]:
            assert (kind, shape) != (other, second) or abs(grey - lightness) > 0.1, (shape, grey, lightness)


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
    checked = plot.busbw(h100(), fc.AllReduce(dtype="float"), measured=fc.validate(log, "dgx-h100"))
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


def test_a_roofline_is_flat_at_the_latency_then_rises_at_the_rate():
    axes = plot.roofline(h100(), tiers=["nvlink"], sizes=[1, 1e6, 1e12])
    tier = h100().tiers["nvlink"]
    assert axes.get_lines()[0].get_ydata()[[0, -1]] == pytest.approx([tier.latency_seconds, 1e12 / tier.bytes_per_second])


def test_no_tier_takes_longer_than_the_whole_prediction():
    axes = plot.roofline(h100(), fc.AllReduce(nodes=4))
    whole, *parts = [line.get_ydata() for line in axes.get_lines() if len(line.get_xdata()) > 50]
    assert all((np.nan_to_num(part) <= whole * (1 + 1e-12)).all() for part in parts)


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


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: plot.busbw(h100(), fc.AllReduce(), sizes=[]), "sizes"),
        (lambda: plot.busbw(h100(), fc.AllReduce(), sizes=[1.0, float("nan")]), "sizes"),
        (lambda: plot.busbw(h100(), fc.AllReduce(), measured=([1.0, 2.0], [1.0])), "measured"),
        (
            lambda: plot.busbw(
                h100(),
                fc.AllToAll(),
                measured=np.array([("all_reduce", 1.0, 1.0)], dtype=[("operation", "U12"), ("bytes", "f8"), ("seconds", "f8")]),
            ),
            "measured",
        ),
        (lambda: plot.terms(h100(), fc.AllReduce(1e6), "time"), "against"),
        (lambda: plot.terms(h100(), fc.AllReduce(), "nodes"), "how much"),
        (lambda: plot.scaling(h100(), fc.AllReduce(1e6), values=[8]), "values"),
        (lambda: plot.scaling(h100(), fc.AllReduce(1e6), show="speed"), "show"),
        (lambda: plot.layouts("dgx-h100", "llama3-8b", gpus=8, global_batch=8, rows="size"), "rows"),
        (lambda: plot.layouts("dgx-h100", "llama3-8b", gpus=8, global_batch=8, rows="pp"), "columns"),
        (lambda: plot.layouts("dgx-h100", "llama3-405b", gpus=8, global_batch=8), "does not fit"),
        (lambda: plot.goodput([16]), "gpus"),
        (lambda: plot.residuals({"bytes": np.zeros(1), "seconds": np.zeros(1), "predicted_seconds": np.zeros(1)}), "errors"),
    ],
)
def test_nonsense_is_refused_by_name(call, name):
    with pytest.raises((fc.RequestError, TypeError), match=name):
        call()


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, "MPLBACKEND": "Agg"}
    )


def test_the_package_and_its_pictures_import_without_matplotlib():
    done = run("import sys, fabricost, fabricost.plot; print(sorted({'matplotlib', 'pandas'} & set(sys.modules)))")
    assert done.stdout == "[]\n", done.stderr


def test_without_matplotlib_a_picture_says_what_to_install():
    done = run(
        "import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.pyplot'] = None\n"
        "import fabricost as fc, fabricost.plot as plot\n"
        "try: plot.roofline(fc.load_system('dgx-h100'))\n"
        "except ImportError as error: print(error)"
    )
    assert "pip install 'fabricost[plot]'" in done.stdout, done.stderr


def update():
    IMAGES.mkdir(exist_ok=True)
    matplotlib.rcdefaults()
    matplotlib.use("Agg")
    for file in IMAGES.glob("*.png"):
        if file.stem not in PICTURES:
            file.unlink()
    for name, draw in PICTURES.items():
        image = drawn(draw)
        path = IMAGES / f"{name}.png"
        before = apart(image, Image.open(path).convert("RGB")) if path.exists() else float("inf")
        if before > TOLERANCE / 10:
            image.quantize(48).save(path, optimize=True)
        print(f"{name}: {'new' if before == float('inf') else f'{before:.2f} apart'}, {path.stat().st_size} bytes")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit("write: python tests/python/test_plot.py --update")
    update()
