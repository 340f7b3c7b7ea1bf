"""Pictures can be read: no text lies on another, axes are named, and series are told apart in a grey print; the gallery shows every one."""

import pathlib
import re

import numpy as np
import pytest
from pictures import PICTURES, clean_style, picture, plot  # noqa: F401 (first: skips without matplotlib)

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

ROOT = pathlib.Path(__file__).resolve().parents[2]
HALF_PAGE = 3.25  # inches
LEAST_POINTS = 6.0


def test_the_page_shows_every_picture_and_every_function():
    text = (ROOT / "docs/pictures.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"<!-- picture: ([\w-]+) ", text)) == sorted(PICTURES)
    assert [name for name in plot.__all__ if f"plot.{name}(" not in text] == []


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
def test_a_picture_can_be_read(name):
    """No text lies on another or is cut off, axes say what they show, the legend lies outside, small prints stay legible, and series
    differ in more than hue."""
    axes = picture(name)
    found = texts(axes)
    width, height = axes.figure.get_size_inches() * axes.figure.dpi
    for i, (text, box) in enumerate(found):
        assert -1 <= box.x0 and box.x1 <= width + 1 and -1 <= box.y0 and box.y1 <= height + 1, f"{text!r} is cut off: {box}"
        for other, second in found[i + 1 :]:
            across = min(box.x1, second.x1) - max(box.x0, second.x0)
            along = min(box.y1, second.y1) - max(box.y0, second.y0)
            assert across <= 1 or along <= 1, f"{text!r} lies on {other!r} by {across:.1f} x {along:.1f} pixels"
    assert axes.get_title()
    if axes.axison and len(axes.get_yticks()):  # parallel names its axes at their feet
        assert axes.get_xlabel() and axes.get_ylabel()
    if axes.get_legend():
        assert axes.get_legend().get_window_extent().y1 <= axes.get_window_extent().y0
    shown = [text for one in [axes, *axes.child_axes] for text in one.findobj(matplotlib.text.Text) if text.get_text() and text.get_visible()]
    least = min(shown, key=lambda text: text.get_fontsize())
    inches = axes.figure.get_size_inches()[0]
    assert least.get_fontsize() * HALF_PAGE / inches >= LEAST_POINTS, f"{least.get_text()!r}: {least.get_fontsize()} points, {inches} inches"
    series_differ(axes)


def series_differ(axes):
    """In a grey print: by marker, dashes, pattern, or clearly by lightness."""
    looks = []
    for handle in axes.get_legend().legend_handles if axes.get_legend() else []:
        line = hasattr(handle, "get_marker")
        colour = handle.get_color() if line else handle.get_facecolor()
        grey = float(np.dot(to_rgb(colour), (0.3, 0.59, 0.11))) if colour != "none" else 1.0
        shape = (handle.get_marker(), handle.get_linestyle()) if line else (handle.get_hatch(), handle.get_edgecolor())
        looks.append((type(handle).__name__, shape, grey))
    for i, (kind, shape, grey) in enumerate(looks):
        for other, second, lightness in looks[i + 1 :]:
            assert (kind, shape) != (other, second) or abs(grey - lightness) > 0.1, (shape, grey, lightness)
