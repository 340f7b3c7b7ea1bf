"""`fabricost report`: one page that needs nothing else, with the figures the package gives; faults leave no file."""

import base64
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib", reason="a report has pictures, which need matplotlib")

import fabricost as fc


LOG = pathlib.Path(__file__).parents[2] / "data" / "measurements" / "dgx-h100-all-reduce.txt"
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


SCALES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "%": 0.01, "B": 1.0}


def number(cell):
    """A cell's figure in SI units."""
    value, unit = re.fullmatch(r"([0-9.,]+) ?(\S*)", cell).groups()
    return float(value.replace(",", "")) * (SCALES[unit] if unit else 1.0)


def command(*arguments, folder=None):
    return subprocess.run([sys.executable, "-m", "fabricost", "report", *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          cwd=folder, env={**os.environ, "MPLBACKEND": "Agg"})


def in_process(*arguments):
    """The same without a process of its own: status, stdout, stderr."""
    from fabricost import _report_command

    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            status = _report_command.main([str(one) for one in arguments])
        except SystemExit as ended:
            status = ended.code
    return status, out.getvalue(), errors.getvalue()


def facts(text):
    """The framed figures, by what they are."""
    return {name: value for value, name in re.findall(r"<div><b>([^<]*)</b><span>([^<]*)</span></div>", text)}


def whole(text):
    """Parses, and loads nothing: no script, no style sheet, no address in any attribute; pictures inline and well-formed SVG."""
    page = Page(text[text.index("<html") :])
    assert not {"script", "link", "iframe", "object", "embed", "base", "form", "a"} & set(page.tags)
    for tag, name, value in page.attributes:
        assert not name.startswith("on") and "url(" not in (value or "")
        if name in ("src", "href", "srcset", "action", "data"):
            assert (tag, name) == ("img", "src") and value.startswith("data:image/svg+xml;base64,")
            picture = base64.b64decode(value.split(",", 1)[1], validate=True)
            root = ElementTree.fromstring(picture)
            assert root.tag.endswith("svg")
            for node in root.iter():
                assert not node.tag.endswith("script")
                for key, target in node.attrib.items():
                    assert not key.endswith("href") or target.startswith("#"), target
            assert not re.search(rb"url\((?!#)|@import|<image", picture)
    assert "@import" not in text and "url(" not in text
    pictures = page.tags.count("img")
    assert len([value for tag, name, value in page.attributes if (tag, name) == ("img", "alt") and value]) == pictures > 0
    return page


def test_a_prediction_is_on_the_page_with_the_packages_figures():
    op = fc.AllReduce(256 * fc.MiB, ranks=64)
    text = fc.report("dgx-h100", op)
    page, p = whole(text), fc.predict(fc.load_system("dgx-h100"), op)
    told = facts(text)
    assert number(told["predicted time"]) == pytest.approx(p.seconds, rel=6e-3)
    assert number(told["bus bandwidth"]) == pytest.approx(p.bus_bytes_per_second, rel=1e-3)
    low, high = told["nine in ten"].split(" to ")
    assert (number(low), number(high)) == pytest.approx(p.interval_seconds, rel=6e-3)
    assert (told["runs"], told["basis"]) == (f"{p.algorithm} {p.protocol}", p.basis)
    assert fc.explain(fc.load_system("dgx-h100"), op) in "".join(page.text)
    for tier in fc.load_system("dgx-h100").tiers:
        assert [tier.name, tier.kind, tier.source] == [row for row in page.rows if row[:2] == [tier.name, tier.kind]][0][:2] + [tier.source]
    for words in ("Asked", "where its numbers come from", "How sure", fc.__version__, "nine measurements in ten"):
        assert words in page.words()


def test_a_log_stands_beside_its_prediction_with_a_diagnosis():
    op = fc.AllReduce(dtype="float")
    text = fc.report("dgx-h100", op, log=LOG)
    page, checked = whole(text), fc.validate(str(LOG), system="dgx-h100")
    told = facts(text)
    assert number(told["median error"]) == pytest.approx(checked.median_error, abs=6e-5) and int(told["points"]) == len(checked)
    assert fc.diagnose(str(LOG), system="dgx-h100").verdict in page.words()
    points = [row for row in page.rows if row[0] == "all_reduce" and len(row) == 8]
    assert len(points) == len(checked.samples)
    for row, sample in zip(points, checked.samples):
        assert number(row[3]) == pytest.approx(sample["measured_seconds"], rel=6e-3)
        assert number(row[4]) == pytest.approx(sample["predicted_seconds"], rel=6e-3)


def test_the_same_question_gives_the_same_page(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    one, other = (fc.report("dgx-h100", fc.AllGather(fc.MiB)) for _ in range(2))
    assert one == other and "2023-11-14 22:13 UTC" in one


def test_the_command_writes_what_the_function_returns(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    done = command("dgx-h100", "all-reduce", "--size", "64MiB", "--nodes", 2, "--sizes", "1MiB:1GiB:x2", "--set", "nic.gdr=false", "-o", "r.html",
                   folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    system = fc.load_system("dgx-h100", ["nic.gdr=false"])
    wanted = fc.report(system, fc.AllReduce(64 * fc.MiB, nodes=2), sizes=[2.0**i for i in range(20, 31)])
    assert facts((tmp_path / "r.html").read_text()) == facts(wanted)
    assert [file.name for file in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["dgx-h10"], 'no system named "dgx-h10"'),
        (["dgx-h100", "all_redce"], "write all_reduce"),
        (["dgx-h100", "--size", "1MiB"], "--size: of which operation"),
        (["dgx-h100", "all_reduce", "--size", "12 parsecs"], '"12 parsecs" is not a size'),
        (["dgx-h100", "all_reduce", "--sizes", "1GiB:1MiB:x2"], "ends before it starts"),
        (["dgx-h100", "all_reduce", "--ranks", "x"], "--ranks"),
        (["dgx-h100", "all_reduce", "--size", "1MiB", "--ranks", "9"], "9 ranks"),
        (["dgx-h100", "all_reduce", "--log", "none.txt"], "none.txt"),
        (["dgx-h100", "--model", "llama3-8b"], "--gpus"),
        (["dgx-h100", "--model", "llama3-8b", "--gpus", "8"], "--global-batch"),
        (["dgx-h100", "--gpus", "8"], "--model"),
        (["dgx-h100", "--model", "llama3-8b", "--gpus", "8", "--serve", "--ttft", "fast"], '"fast" is not a time'),
        (["dgx-h100", "--frobnicate"], "--frobnicate"),
    ],
)
def test_a_fault_says_what_to_mend_and_leaves_no_file(tmp_path, arguments, message):
    page = tmp_path / "r.html"
    page.write_text("before")
    status, out, errors = in_process(*arguments, "-o", page)
    assert (status, out) == (2, "")
    assert message in errors and errors.startswith("fabricost report: ") and "Traceback" not in errors
    assert page.read_text() == "before" and len(list(tmp_path.iterdir())) == 1


def test_texts_of_the_asker_are_escaped():
    text = fc.report("dgx-h100", title="<b>1</b>")
    whole(text)
    assert "&lt;b&gt;1&lt;/b&gt;" in text and "<b>1</b>" not in text


def test_what_is_no_regular_file_is_left_alone_and_a_link_stays_one(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "device").symlink_to("/dev/null")
    def what_it_is(name):
        there = os.lstat(tmp_path / name)
        return there.st_ino, there.st_mode

    for name, before in {name: what_it_is(name) for name in ("pipe", "folder", "device")}.items():
        status, _, errors = in_process("dgx-h100", "-o", tmp_path / name)
        assert status == 2 and "is not a regular file" in errors and name in errors and errors.count("\n") == 1
        with pytest.raises(fc.RequestError, match="is not a regular file"):
            fc.report("dgx-h100", output=tmp_path / name)
        assert what_it_is(name) == before
    (tmp_path / "page.html").write_text("old")
    (tmp_path / "link.html").symlink_to("page.html")
    fc.report("dgx-h100", output=tmp_path / "link.html")
    assert os.readlink(tmp_path / "link.html") == "page.html" and (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert sorted(os.listdir(tmp_path)) == ["device", "folder", "link.html", "page.html", "pipe"]
    assert in_process("dgx-h100", "-o", "")[0] == 2


def test_a_page_never_replaces_what_it_was_made_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.log").write_text(LOG.read_text())
    (tmp_path / "base.yaml").write_text("name: base\nextends: dgx-h100\n")
    (tmp_path / "child.yaml").write_text("name: child\nextends: base.yaml\n")
    fc.calibrate("dgx-h100", LOG).save(tmp_path / "fit.yaml")
    (tmp_path / "cal.yaml").write_bytes((tmp_path / "fit.yaml").read_bytes())  # what a process wrote it may write again
    before = {name: (tmp_path / name).read_bytes() for name in ("m.log", "base.yaml", "child.yaml", "cal.yaml")}
    for output in before:
        status, _, errors = in_process("child.yaml", "all_reduce", "--log", "m.log", "--calibration", "cal.yaml", "-o", output)
        assert status == 2 and "is also read" in errors, (output, errors)
        assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_python_replaces_what_it_wrote_and_not_what_it_read(tmp_path):
    (tmp_path / "m.yaml").write_text("name: m\nextends: dgx-h100\n")
    system = fc.load_system(tmp_path / "m.yaml")
    with pytest.raises(fc.RequestError, match="is also read"):
        system.save(tmp_path / "m.yaml")
    for _ in range(2):
        system.save(tmp_path / "other.yaml")
        assert fc.load_system(tmp_path / "other.yaml").gpus_per_node == 8


def test_a_folder_does_not_lend_the_command_its_modules(tmp_path):
    for name in ("html", "numpy", "matplotlib", "json", "base64", "fabricost_stranger"):
        (tmp_path / f"{name}.py").write_text(f"open('ran-{name}', 'w')\n")
    done = command("dgx-h100", "all_reduce", "--size", "1MiB", "-o", "page.html", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("ran-")] == []
