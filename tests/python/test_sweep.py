"""fabricost.sweep: what it writes equals fc.predict, a stopped run is taken up, nothing is lost or written twice."""
import json
import pathlib

import numpy as np
import pytest

import fabricost as fc

pytest.importorskip("pyarrow", reason="sweeps write Parquet: pip install 'fabricost[sweep]'")

AXES = {"system": ["dgx-h100", "dgx-a100"], "operation": ["all_reduce", "all_gather"], "ranks": [4, 8, 64],
        "bytes": 2.0 ** np.arange(10, 31)}


def test_every_row_equals_its_own_prediction(tmp_path):
    rows = fc.sweep(AXES, tmp_path / "s", part=37, progress=False).to_pandas()
    assert len(rows) == 2 * 2 * 3 * 21
    operations = {"all_reduce": fc.AllReduce, "all_gather": fc.AllGather}
    for row in rows.sample(40, random_state=1).itertuples():
        p = fc.predict(fc.load_system(row.system), operations[row.operation](bytes=row.bytes, ranks=row.ranks))
        assert row.seconds == pytest.approx(p.seconds, rel=1e-9)
        assert row.bus_bytes_per_second == pytest.approx(p.bus_bytes_per_second, rel=1e-9)
        assert (row.ran_algorithm, row.ran_protocol, row.bottleneck) == (p.algorithm, p.protocol, p.bottleneck.tier)
        assert (row.low_seconds, row.high_seconds) == pytest.approx(p.interval_seconds, rel=1e-9)


def test_rows_come_in_the_order_of_nested_loops_with_bytes_fastest(tmp_path):
    table = fc.sweep({"bytes": [1024, 2048], "system": "dgx-h100", "ranks": [2, 4]}, tmp_path / "s", part=3, progress=False).to_table()
    assert table["ranks"].to_pylist() == [2, 2, 4, 4]
    assert table["bytes"].to_pylist() == [1024, 2048, 1024, 2048]


def test_what_cannot_run_says_why_in_its_row_alone(tmp_path):
    rows = fc.sweep({"system": ["dgx-h100", "no-such-box"], "ranks": [8, 11], "bytes": [1e6]}, tmp_path / "s", progress=False).to_pandas()
    assert rows.seconds.notna().tolist() == [True, False, False, False]
    assert rows.error.isna()[0]
    assert "11" in rows.error[1] and "no-such-box" in rows.error[2]


def test_a_stopped_run_is_taken_up_and_nothing_is_written_twice(tmp_path):
    out = tmp_path / "s"
    asked = []

    def failing(columns):
        asked.append(int(columns["i"][0]))
        if len(asked) == 4:
            raise KeyboardInterrupt
        return {"twice": 2 * columns["i"]}

    axes = {"i": np.arange(100)}
    with pytest.raises(KeyboardInterrupt):
        fc.sweep(axes, out, of=failing, part=10, workers=1, progress=False)
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert len(before) in (3, 4)  # the thread may have gone on before it was stopped
    done = fc.sweep(axes, out, of=failing, part=10, workers=1, progress=False)
    assert done.resumed == 10 * len(before)
    assert {path.name: path.stat().st_mtime_ns for path in out.glob("part-*") if path.name in before} == before
    assert done.to_table()["twice"].to_pylist() == list(range(0, 200, 2))
    assert all(asked.count(first) == 1 for first in (0, 10, 20))  # what was written is not worked out again


def test_a_folder_with_another_sweep_is_refused_unless_overwritten(tmp_path):
    out = tmp_path / "s"
    fc.sweep({"system": "dgx-h100", "bytes": [1e3]}, out, progress=False)
    with pytest.raises(fc.RequestError, match="another sweep.*overwrite=True"):
        fc.sweep({"system": "dgx-h100", "bytes": [1e4]}, out, progress=False)
    assert fc.sweep({"system": "dgx-h100", "bytes": [1e4]}, out, progress=False, overwrite=True).to_table()["bytes"].to_pylist() == [1e4]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    with pytest.raises(fc.RequestError, match="no sweep"):
        fc.sweep({"system": "dgx-h100", "bytes": [1e4]}, tmp_path / "full", progress=False)


@pytest.mark.parametrize("axes, message", [
    ({"system": "dgx-h100"}, "needs system and bytes"),
    ({"bytes": [1e6]}, "needs system and bytes"),
    ({"system": "dgx-h100", "bytes": []}, "bytes has no values"),
    ({"system": "dgx-h100", "bytes": [np.nan]}, "bytes has to be"),
    ({"system": "dgx-h100", "bytes": [-1]}, "bytes has to be"),
    ({"system": "dgx-h100", "bytes": ["big"]}, "bytes are not all numbers"),
    ({"system": "dgx-h100", "bytes": [1e6], "rank": [8]}, "no 'rank'"),
    ({"system": "dgx-h100", "bytes": [1e6], "operation": "sum"}, "'sum'"),
])
def test_axes_that_make_no_sense_are_refused_before_anything_is_written(tmp_path, axes, message):
    with pytest.raises(fc.RequestError, match=message):
        fc.sweep(axes, tmp_path / "s", progress=False)
    assert not (tmp_path / "s").exists()


def test_the_folder_says_what_it_is(tmp_path):
    fc.sweep(AXES, tmp_path / "s", progress=False)
    record = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert record["rows"] == 252 and record["axes"]["ranks"]["values"] == 3 and record["fabricost"] == fc.__version__
    assert not [p for p in pathlib.Path(tmp_path / "s").iterdir() if p.name.startswith(".")]


def test_a_bar_shows_what_is_done(tmp_path, capsys):
    pytest.importorskip("tqdm")
    fc.sweep(AXES, tmp_path / "s")
    assert "252/252" in capsys.readouterr().err
