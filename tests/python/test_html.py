"""Answers in a notebook: well-formed HTML whose figures are the object's, with every text escaped."""

from html.parser import HTMLParser
import json
import re

import numpy as np
import pytest

import fabricost as fc

VOID = {"meta", "br", "img", "link", "hr", "input"}


class Page(HTMLParser):
    """The content of a page: tags that nest, cells of tables by row, text, attributes."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.rows, self.text, self.tags, self.attributes = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data

    def words(self):
        return " ".join(self.text)


SCALES = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "kB/s": 1e3,
    "MB/s": 1e6,
    "GB/s": 1e9,
    "TB/s": 1e12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "%": 0.01,
    "B": 1.0,
}


def number(cell):
    """A cell's figure in SI units."""
    value, unit = re.fullmatch(r"([0-9.,]+) ?(\S*)", cell).groups()
    return float(value.replace(",", "")) * (SCALES[unit] if unit else 1.0)


def shown(thing):
    text = thing._repr_html_()
    assert len(text) < 12_000 and "<script" not in text
    return Page(text)


def h100():
    return fc.load_system("dgx-h100")


@pytest.mark.parametrize(
    "operation", [fc.AllReduce(64, ranks=8), fc.AllReduce(256 * fc.MiB, ranks=64), fc.AllToAll(fc.MiB, nodes=4), fc.SendRecv(fc.GiB)]
)
def test_a_prediction_shows_its_terms_and_they_sum_to_its_time(operation):
    p = fc.predict(h100(), operation)
    page = shown(p)
    head, *terms, total = page.rows
    assert head == ["term", "tier", "time", "share"]
    wanted = [t for t in p.terms if t.seconds]
    assert [(row[0], row[1]) for row in terms] == [(t.name, t.tier) for t in wanted]
    for row, term in zip(terms, wanted):
        assert number(row[2]) == pytest.approx(term.seconds, rel=6e-3)
        assert number(row[3]) == pytest.approx(term.seconds / p.seconds, abs=6e-4)
    assert number(total[2]) == pytest.approx(p.seconds, rel=6e-3)
    for word in (p.algorithm, p.protocol, p.basis, operation.collective, *p.extrapolated):
        assert word in page.words()


def test_a_system_shows_each_tier_with_its_source():
    system = fc.load_system("superpod-h100")
    page = shown(system)
    assert len(page.rows) == 1 + len(system.tiers)
    for row, tier in zip(page.rows[1:], system.tiers):
        assert (row[0], row[1], int(row[2]), row[5], row[6]) == (tier.name, tier.kind, tier.endpoints, tier.confidence, tier.source)
        assert number(row[3]) == pytest.approx(tier.bytes_per_second, rel=1e-3)


def test_predictions_show_the_first_and_the_last():
    p = fc.predict(h100(), fc.AllReduce(2.0 ** np.arange(10, 34), ranks=np.array([8, 16])[:, None]))
    rows = shown(p).rows[1:]
    assert len(rows) == 11 and rows[5][0] == "..."
    for row, one in ((rows[0], p[0, 0]), (rows[4], p[0, 4]), (rows[6], p[1, 19]), (rows[-1], p[1, 23])):
        assert number(row[0]) == one.operation.bytes and int(row[1]) == one.ranks
        assert number(row[2]) == pytest.approx(one.seconds, rel=6e-3)
        assert number(row[4]) == pytest.approx(one.bus_bytes_per_second, rel=1e-3)
    assert len(shown(p[0, :3]).rows) == 4


def test_texts_of_others_are_escaped(tmp_path):
    path = tmp_path / "odd.yaml"
    path.write_text('extends: dgx-h100\nname: odd\ntitle: "<script>alert(1)</script> & more"\n')
    text = fc.load_system(path)._repr_html_()
    assert "<script" not in text and "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in text


def test_a_notebook_can_keep_them():
    for thing in (h100(), fc.predict(h100(), fc.AllReduce(1e6))):
        json.dumps({"data": {"text/html": thing._repr_html_(), "text/plain": repr(thing)}})
