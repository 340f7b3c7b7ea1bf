"""fc.read_trace: the command's figures, as a sequence of collectives with all else."""
import json
import pathlib
import sys

import pytest

import fabricost as fc
from by_command import asked, same

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit" / "trace"))
from emit import Job


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    job = Job(4, {"0": ("default_pg", [0, 1, 2, 3])})
    for _ in range(3):
        job.compute(500, {2: 900})
        job.collective("0", "allreduce", 1 << 24, 200.0)
    out = tmp_path_factory.mktemp("traces")
    job.write(out)
    return out


def test_a_folder_gives_what_the_command_gives(folder):
    got, wanted = fc.read_trace(folder), asked("trace", folder)
    assert len(got) == len(wanted["collectives"]) == 1
    mine, theirs = got[0], wanted["collectives"][0]
    for name in ("operation", "group", "ranks", "ranks_seen", "bytes", "dtype", "count", "messages", "last_rank", "verdict", "bound"):
        assert getattr(mine, name) == theirs[name], name
    for name in ("wire", "wait", "exposed", "predicted"):
        same(getattr(mine, name + "_seconds"), theirs[name + "_s"], name)
    assert list(mine.interval_seconds) == pytest.approx(theirs["interval_s"])
    assert got.findings == wanted["findings"] and got.findings[0].startswith("Rank 2 comes last")
    assert [group.kind for group in got.groups] == [group["kind"] for group in wanted["groups"]]
    same(sum(term.seconds for term in got.terms), got.step_seconds, "step", 1e-9)
    assert "4 ranks" in repr(got)


def test_several_files_and_a_named_machine(folder):
    files = sorted(folder.glob("*.json"))
    assert len(fc.read_trace(files[:2]).ranks) == 2
    assert fc.read_trace(files, system="dgx-h200").system == "dgx-h200"
    with pytest.raises(fc.SpecError, match="no such file"):
        fc.read_trace(folder / "none.json")


def test_collectives_as_a_table(folder):
    pytest.importorskip("pandas")
    table = fc.read_trace(folder, calls=True).to_pandas()
    assert list(table["count"]) == [1, 1, 1] and (table["wire_seconds"] > 0).all()


def test_tables_are_made_by_column(folder):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    report = fc.read_trace(folder, calls=True)
    frame, other, arrow = report.to_pandas(), report.to_polars(), report.to_arrow()
    assert isinstance(frame["operation"].dtype, pandas.CategoricalDtype) and isinstance(other, polars.DataFrame)
    assert list(frame["operation"]) == other["operation"].to_list() == arrow["operation"].to_pylist() == ["all_reduce"] * 3
    for name in ("wire_seconds", "low_seconds", "high_seconds", "last_rank", "bytes", "predicted_seconds"):
        ends = name in ("low_seconds", "high_seconds")
        expected = [row.interval_seconds[name == "high_seconds"] if ends else getattr(row, name)
                    for row in report]
        assert list(frame[name]) == pytest.approx(expected) == other[name].to_list() == arrow[name].to_pylist(), name
    waits = report.to_pandas("waits")
    assert set(waits["for_rank"]) == {2} and waits["seconds"].sum() == pytest.approx(sum(one.seconds for one in report.waits))
    assert len(report.to_polars("ranks")) == 4 and report.to_arrow("groups").num_rows == 1
    with pytest.raises(fc.RequestError, match="what"):
        report.to_pandas("anything")


def test_a_replay_and_what_it_gives(folder, tmp_path):
    report = fc.read_trace(folder, system="dgx-h100", on="dgx-b200", without=["straggler", "wait"])
    wanted = asked("trace", folder, "--system", "dgx-h100", "--on", "dgx-b200", "--without", "straggler", "wait")["replay"]
    same(report.replay.step_seconds, wanted["step_s"], "step")
    assert [one.change for one in report.replay.changes] == [one["change"] for one in wanted["changes"]]
    assert report.replay.system == "dgx-b200" and "dgx-b200" in repr(report.replay) and report.replay.assumed
    assert fc.read_trace(folder).replay is None
    report.save_html(tmp_path / "page.html")
    report.save_perfetto(tmp_path / "tracks.json")
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert json.loads((tmp_path / "tracks.json").read_text())["traceEvents"]


def test_a_plans_step_is_read_back(tmp_path):
    plans = fc.plan("dgx-h100", "llama3-8b", gpus=16, global_batch=32, tp=2, pp=2, microbatch=1)
    plans.save_trace(tmp_path / "run")
    report = fc.read_trace(tmp_path / "run", system="dgx-h100")
    assert report.step_seconds == pytest.approx(plans[0].step_seconds, rel=0.01)
    assert len(report.ranks) == 2
