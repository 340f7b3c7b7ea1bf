"""The runs of examples/accuracy_page/sources.yaml, from the copies beside the source tree ($FABRICOST_MEASUREMENTS, else
../shared/measurements): each is what it was, each is in a figure or left out with a reason, and the figures are those of the
point files. Skipped, with the reason, without copies."""
import collections
import os
import pathlib
import urllib.parse

import pytest

pytest.importorskip("yaml", reason="pip install pyyaml")
fc = pytest.importorskip("fabricost", reason="the package is not built here")
from published import ROOT, from_sources, published_sources  # noqa: E402  finds the module below
from check_page import same  # noqa: E402
from test_fetching import serving  # noqa: E402
import accuracy_page  # noqa: E402
import published_figures  # noqa: E402

COPIES = pathlib.Path(os.environ.get("FABRICOST_MEASUREMENTS", ROOT.parent / "shared/measurements"))
if not COPIES.is_dir():
    pytest.skip(f"no measurements at {COPIES}; set FABRICOST_MEASUREMENTS to their folder", allow_module_level=True)


@pytest.fixture(scope="module")
def everything():
    """(sources, runs, what was read of each)."""
    sources, runs = published_sources.load()
    copies = published_sources.Copies(COPIES)
    return sources, runs, [copies.read(run) for run in runs]


@pytest.fixture(scope="module")
def figures(everything):
    return published_figures.Figures(everything[1], everything[2])


def test_every_copy_is_what_was_measured(everything):
    assert [wrong for _, _, wrong in everything[2] if wrong] == []


def test_every_run_is_in_a_figure_or_left_out_with_a_reason(everything, figures):
    left = {name for _, (ids, _, _) in figures.excluded.items() for name in ids}
    for run in everything[1]:
        assert figures.by_run[run["id"]] or run["id"] in left, f"{run['id']} is nowhere"
    assert all(why for _, _, why in figures.excluded)


def test_rows_in_figures_and_rows_left_out_are_all_rows(everything, figures):
    """Rows of healthy runs are compared, left out by a term, or not priced; none is lost and none counts twice."""
    healthy = sum(len(points) for run, (points, _, _) in zip(everything[1], everything[2]) if run["health"] == "healthy")
    left = sum(rows for (kind, _, _), (_, rows, _) in figures.excluded.items() if kind in ("left out", "not priced"))
    assert sum(len(samples) for samples in figures.samples.values()) < sum(figures.rows.values()) == healthy - left


def test_the_page_of_accuracy_counts_every_healthy_row_or_lists_it_as_left_out():
    data = accuracy_page.Measurements(COPIES)
    rounds = ("", "second/", "third/released/")
    healthy = [file for place in rounds for part in ("multinode", "newer") if (file := COPIES / f"{place}{part}/points_healthy.csv").exists()]
    wanted = sum(len(fc.read_log(file)) for file in healthy)
    # of the third round's own runs the page has those of several nodes alone
    wanted += int((fc.read_log(COPIES / "third/points_collectives.csv")["nodes"] > 1).sum())
    assert all(len(points) and one.why for one, points in data.left_out)
    left = sum(int(points.repeats.sum()) for _, points in data.left_out)
    assert left == data.left and int(data.clusters.repeats.sum()) + left == data.measured
    assert data.measured + int(data.one_node.repeats.sum()) + int(data.later_one_node.repeats.sum()) == wanted


def named(files):
    return [COPIES / file for file in files]


@pytest.mark.parametrize("files, points", [
    (("multinode/points_healthy.csv", "second/multinode/points_healthy.csv"), 3721), (("multinode/points_complaint.csv",), 231),
    (("second/newer/points_healthy.csv",), None), (("dgx-h100.nccl.csv",), 846), (("second/gb200-nvl72.nccl.csv",), 336),
    (("b60-pcie.oneccl.csv",), 252)])
def test_figures_of_the_logs_are_those_of_the_point_files(everything, files, points):
    """The same rows by another way: the point files were made from the logs once, by other readers."""
    theirs = fc.validate(named(files))
    names = {str(name) for path in named(files) for name in fc.read_log(path)["source"]}
    ours = fc.validate([read[0] for run, read in zip(everything[1], everything[2])
                        if run["id"] in names or run.get("copy", {}).get("file") == files[0].rsplit("/", 1)[-1]])
    assert ours.points == theirs.points and (points is None or ours.points == points)
    for name, group in theirs.by_system.items():
        own = ours.by_system[name]
        assert own.points == group.points and abs(own.interval_coverage - group.interval_coverage) * own.points < 1.01, name
        assert own.median_error == pytest.approx(group.median_error, rel=1e-4), name
        assert own.mean_error == pytest.approx(group.mean_error, rel=1e-4), name


def test_of_a_file_that_holds_several_runs_each_gets_its_own(everything, tmp_path):
    """All logs of one published file, one after the other with prose between them, as the file itself has them."""
    copies = published_sources.Copies(COPIES)
    files = collections.defaultdict(list)
    for run in everything[1]:
        logs = [path for path in copies.by_name[run["id"]] if path.suffix == ".txt"]
        if logs and "by_hand" not in run and "path" in run:
            files[run["from"]["url"], run["path"], run.get("commit")].append((run, logs[0]))
    several = {key: runs for key, runs in files.items() if len(runs) > 1}
    assert len(several) > 10
    for key, runs in several.items():
        path = tmp_path / "whole.md"
        texts = [log.read_text(encoding="utf-8", errors="replace") for _, log in runs]
        path.write_text("# Results\n\n" + "\n```\n\nAnd then:\n\n```\n".join(texts), encoding="utf-8")
        for run, _ in runs:
            _, _, wrong = published_sources.read_file({k: v for k, v in run.items() if k != "lines"}, path)
            assert wrong is None, f"{key[:2]} {run['id']}: {wrong}"


def elements_and_milliseconds(rows):
    """Rows of a point CSV as ai-dynamo/aiconfigurator writes them."""
    size = {"half": 2, "int8": 1}
    return "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n" + "".join(
        f"X,X,X,{r['operation']},X,{r['dtype']},{r['gpus_per_node']},{int(r['bytes']) // size[r['dtype']]},"
        f"{float(r['time_us']) * 1e-3:.9g}\n" for r in rows)


def test_from_an_empty_folder_all_is_fetched_that_a_network_gives(everything, tmp_path, capsys):
    """A server has each file where GitHub has it; what has to be copied by hand is named, and nothing else is missing."""
    copies = published_sources.Copies(COPIES)
    answers, given = collections.defaultdict(str), set()
    for run in everything[1]:
        logs = [path for path in copies.by_name[run["id"]] if path.suffix == ".txt"]
        url = None if "by_hand" in run else published_sources.address(run)
        if url and (logs or run.get("as") == "aiconfigurator"):
            text = logs[0].read_text(encoding="utf-8", errors="replace") if logs else elements_and_milliseconds(copies.rows_of(run))
            answers[urllib.parse.urlsplit(url).path] += f"\n{text}"
            given.add(run["id"])
    folder = tmp_path / "copies"
    with serving({path: text.lstrip("\n") for path, text in answers.items()}) as (address, asked):
        assert from_sources.main(["--folder", str(folder), "--fetch", "--base", address, "--out", str(tmp_path / "page.md")]) == 1
    missing = {line.split(": ")[1] for line in capsys.readouterr().err.splitlines() if ": fetch: " not in line}
    assert missing == {run["id"] for run in everything[1]} - given and len(given) > 300
    assert len([path for path in asked if path in answers]) == len(answers)  # each once
    assert not [path for path in folder.rglob(".*")]


def test_the_page_is_what_the_command_writes(tmp_path, capsys):
    page = ROOT / "docs/accuracy-sources.md"
    assert from_sources.main(["--folder", str(COPIES), "--out", str(tmp_path / "page.md")]) == 0, capsys.readouterr().err
    fresh, kept = (tmp_path / "page.md").read_text(encoding="utf-8").splitlines(), page.read_text(encoding="utf-8").splitlines()
    for number, (ours, theirs) in enumerate(zip(fresh, kept), start=1):
        assert same(ours, theirs), f"{page}:{number}: is not what the command writes now\n  page: {theirs}\n  now:  {ours}"
    assert len(fresh) == len(kept)
