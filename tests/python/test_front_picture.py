"""The picture of the README is of the model as it is: the numbers drawn are those that are printed."""
import json
import pathlib
import re
import struct
import zlib

import fabricost as fc
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/busbw-8-h100.png"
REMEDY = "draw it again: python3 docs/site/front_picture.py"


def texts_of(png):
    """The texts in a PNG file by their names."""
    out, at = {}, 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        if kind in (b"tEXt", b"zTXt"):
            name, _, text = png[at + 8 : at + 8 + size].partition(b"\0")
            out[name.decode()] = (zlib.decompress(text[1:]) if kind == b"zTXt" else text).decode("latin-1")
        at += size + 12
    return out


@pytest.fixture(scope="module")
def drawn():
    texts = texts_of(PICTURE.read_bytes())
    assert "Predicted" in texts, REMEDY
    return dict(json.loads(texts["Predicted"]))


def test_the_line_is_what_is_predicted(drawn):
    sizes = list(drawn)
    assert len(sizes) > 20 and max(sizes) >= 8 * fc.GiB
    now = fc.predict("dgx-h100", fc.AllReduce(bytes=sizes, dtype="float"))
    for size, p in zip(sizes, now, strict=True):
        assert drawn[size] == pytest.approx(p.bus_bytes_per_second / fc.GB, rel=2e-3, abs=0.01), f"at {size:.0f} B; {REMEDY}"


def test_the_line_is_what_the_readme_prints(drawn):
    printed = re.search(r"at 8 GiB [0-9]+ GB/s measured, ([0-9]+) GB/s predicted", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert printed and round(drawn[8 * fc.GiB]) == int(printed[1])
