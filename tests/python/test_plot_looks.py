"""Pictures: each looks as the image of it in images/, its texts can be read, and its series told apart in a grey print.

python tests/python/test_plot_looks.py --update       draws images/*.png again (after looking at what changed)
"""

import io
import pathlib
import re
import sys

import numpy as np
import pytest
from pictures import PICTURES, clean_style, picture, plot  # noqa: F401 (first: skips without matplotlib)

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

IMAGES = pathlib.Path(__file__).parent / "images"
ROOT = IMAGES.parents[2]
MOST_BYTES, MOST_BYTES_TOGETHER = 15 * 1024, 280 * 1024
# Levels, 0 to 255. Between matplotlib 3.8.4 and 3.11.2 the same picture is at most 5.8 apart (patterns; others 3), a picture without its
# band, without its regions, with another axis or with its legend in the way 8.3 or more.
TOLERANCE = 7.0
BLOCK, SHIFT = 8, 8
PICTURE_WIDTH = 420


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
    return sums.astype(np.float32)


def apart(one, other):
    """Root mean square difference of two pictures, where each place may have moved by SHIFT pixels; infinite for other sizes.

    Versions of matplotlib measure texts differently, and the layout moves axes by some pixels with them.
    """
    if max(abs(a - b) for a, b in zip(one.size, other.size)) > 1:  # a pixel is rounding
        return float("inf")
    size = tuple(min(a, b) for a, b in zip(one.size, other.size))
    first, second = (smooth(image.crop((0, 0, *size))) for image in (one, other))

    def missing(there, here):
        """For each fourth place of `here` the least difference from its surroundings in `there`: means over squares change slowly."""
        height, width = here.shape[:2]
        padded = np.pad(there, ((SHIFT, SHIFT), (SHIFT, SHIFT), (0, 0)), mode="edge")
        here = here[::2, ::2]
        least = np.full(here.shape[:2], np.inf, dtype=here.dtype)
        for down in range(0, 2 * SHIFT + 1, 2):
            for right in range(0, 2 * SHIFT + 1, 2):
                near = padded[down : down + height : 2, right : right + width : 2]
                np.minimum(least, np.square(near - here).mean(axis=2), out=least)
        return least

    return float(np.sqrt(max(missing(first, second).mean(), missing(second, first).mean())))


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_looks_as_its_image(name):
    distance = apart(drawn(lambda: picture(name)), Image.open(IMAGES / f"{name}.png").convert("RGB"))
    assert distance <= TOLERANCE, f"{name}: {distance:.2f} apart; look, then: python tests/python/test_plot_looks.py --update"


def test_images_are_small_and_none_is_left_over():
    files = sorted(IMAGES.glob("*.png"))
    assert sorted(file.stem for file in files) == sorted(PICTURES)
    sizes = [file.stat().st_size for file in files]
    assert max(sizes) < MOST_BYTES and sum(sizes) < MOST_BYTES_TOGETHER


def test_the_page_shows_every_picture_and_every_function():
    text = (ROOT / "docs/pictures.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"tests/python/images/([\w-]+)\.png", text)) == sorted(PICTURES)
    assert [name for name in plot.__all__ if f"plot.{name}(" not in text] == []


def test_the_gallery_of_the_site_has_full_size(tmp_path):
    sys.path.insert(0, str(ROOT / "docs/site"))
    import gallery

    gallery.draw(tmp_path, ["busbw", "topology"])
    for name in ("busbw", "topology"):
        with Image.open(tmp_path / f"{name}.png") as image:
            width, height = image.size
        assert width >= 900 and height >= 600


def spoiled(name, change):
    axes = PICTURES[name]()
    change(axes)
    return axes


@pytest.mark.parametrize(
    "what, name, change",
    [
        ("no band", "scaling", lambda axes: axes.collections[0].remove()),
        ("no regions", "busbw-4-nodes", lambda axes: [patch.remove() for patch in list(axes.patches)]),
        ("other axis", "busbw-4-nodes", lambda axes: axes.set_ylim(0, 2 * axes.get_ylim()[1])),
        ("legend in the way", "busbw-4-nodes", lambda axes: axes.legend(loc="center")),
    ],
)
def test_a_spoiled_picture_is_noticed(what, name, change):
    distance = apart(drawn(lambda: spoiled(name, change)), Image.open(IMAGES / f"{name}.png").convert("RGB"))
    assert distance > TOLERANCE, f"{what}: only {distance:.2f} apart"


def settled(axes):
    """Lays the figure out, as it is when shown; a renderer that measures texts."""
    axes.figure.set_dpi(100)
    canvas = FigureCanvasAgg(axes.figure)
    canvas.draw()
    return canvas.get_renderer()


def texts(axes):
    """All texts, as (text, box in pixels): title, labels, ticks, legend, annotations."""
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
    if axes.axison and len(axes.get_yticks()):  # parallel names its axes at their feet
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


HALF_PAGE = 3.25  # inches
LEAST_POINTS = 6.0


@pytest.mark.parametrize("name", PICTURES)
def test_texts_can_be_read_in_half_the_width_of_a_page(name):
    axes = picture(name)
    width = axes.figure.get_size_inches()[0]
    there = [text for one in [axes, *axes.child_axes] for text in one.findobj(matplotlib.text.Text)]
    shown = [text for text in there if text.get_text() and text.get_visible()]
    least = min(shown, key=lambda text: text.get_fontsize())
    assert least.get_fontsize() * HALF_PAGE / width >= LEAST_POINTS, f"{least.get_text()!r}: {least.get_fontsize()} points, {width} inches"


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
        sys.exit("write: python tests/python/test_plot_looks.py --update")
    update()
