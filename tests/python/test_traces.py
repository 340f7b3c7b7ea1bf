"""fc.read_trace: the command's figures, as a sequence of collectives with all else."""
import pathlib
import sys

import pytest

import fabricost as fc
from by_command import asked, same

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit" / "trace"))
from emit import Job  # noqa: E402


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
