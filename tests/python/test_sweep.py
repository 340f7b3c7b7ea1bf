"""fabricost.sweep: its files equal fc.predict, a stopped run is continued, nothing is lost or written twice."""
import json
import pathlib
import subprocess
import sys

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
        assert (row.ran_ranks, row.ran_nodes, row.basis, row.extrapolated) == (p.ranks, p.nodes, p.basis, " ".join(p.extrapolated))


def test_rows_come_in_the_order_of_nested_loops_with_bytes_fastest(tmp_path):
    table = fc.sweep({"bytes": [1024, 2048], "system": "dgx-h100", "ranks": [2, 4]}, tmp_path / "s", part=3, progress=False).to_table()
    assert table["ranks"].to_pylist() == [2, 2, 4, 4]
    assert table["bytes"].to_pylist() == [1024, 2048, 1024, 2048]


def test_what_cannot_run_says_why_in_its_row_alone(tmp_path):
    rows = fc.sweep({"system": ["dgx-h100", "no-such-box"], "ranks": [8, 11], "bytes": [1e6]}, tmp_path / "s", progress=False).to_pandas()
    assert rows.seconds.notna().tolist() == [True, False, False, False]
    assert rows.error.isna()[0] and rows.ran_ranks.tolist()[0] == 8 and rows.ran_nodes.isna().tolist() == [False, True, True, True]
    assert "11" in rows.error[1] and "no-such-box" in rows.error[2]


def test_none_leaves_a_choice_to_the_machine_and_is_null_in_its_column(tmp_path):
    axes = {"system": ["dgx-h100"], "algorithm": [None, "ring"], "ranks": [None, 16], "bytes": [1e7]}
    table = fc.sweep(axes, tmp_path / "s", progress=False).to_table()
    assert table["algorithm"].to_pylist() == [None, None, "ring", "ring"]
    assert table["ranks"].to_pylist() == [None, 16, None, 16] and table["ran_ranks"].to_pylist() == [8, 16, 8, 16]
    system = fc.load_system("dgx-h100")
    alone = [fc.predict(system, fc.AllReduce(1e7, ranks=ranks or 0), algorithm=a).seconds for a in (None, "ring") for ranks in (None, 16)]
    assert table["seconds"].to_pylist() == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize("axis", ["operation", "algorithm", "protocol"])
def test_a_misspelled_name_is_refused_before_anything_is_written(tmp_path, axis):
    with pytest.raises(fc.RequestError, match=f"axes: {axis} 'rign'; there are"):
        fc.sweep({"system": ["dgx-h100"], "bytes": [1e6], axis: ["rign"]}, tmp_path / "s", progress=False)
    assert not (tmp_path / "s").exists()


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
    ({"system": "dgx-h100", "bytes": ["big"]}, "is not a size"),
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


# --- a folder is continued by the content of its files, not by their names

ONE = {"system": "dgx-h100", "ranks": [2, 4, 8, 16], "bytes": [1e6]}


def begun(folder, axes=ONE, **more):
    """A sweep of four parts, and its rows."""
    done = fc.sweep(axes, folder, part=1, progress=False, **more)
    return done, done.to_table()


@pytest.mark.parametrize("damage", [
    lambda parts: parts[1].write_bytes(b""), lambda parts: parts[1].write_bytes(parts[1].read_bytes()[:-9]),
    lambda parts: parts[1].write_bytes(parts[2].read_bytes()), lambda parts: parts[1].write_bytes(b"PAR1 and no more")],
    ids=["empty", "cut short", "another part", "no Parquet"])
def test_a_part_that_is_not_whole_is_worked_out_again(tmp_path, damage):
    done, rows = begun(tmp_path / "s")
    damage(sorted((tmp_path / "s").glob("part-*")))
    again, table = begun(tmp_path / "s")
    assert (done.resumed, again.resumed) == (0, 3) and table.equals(rows)


def test_a_part_of_another_sweep_is_worked_out_again(tmp_path):
    _, rows = begun(tmp_path / "s")
    begun(tmp_path / "other", {**ONE, "bytes": [2e6]})
    (tmp_path / "other" / "part-00000001.parquet").replace(tmp_path / "s" / "part-00000001.parquet")
    again, table = begun(tmp_path / "s")
    assert again.resumed == 3 and table.equals(rows)


@pytest.mark.parametrize("name", ["part-00009999.parquet", "part-1.parquet", "part-copy.parquet"])
def test_a_file_that_readers_would_take_for_a_part_is_refused(tmp_path, name):
    done, rows = begun(tmp_path / "s")
    stranger = tmp_path / "s" / name
    stranger.write_bytes((tmp_path / "s" / "part-00000000.parquet").read_bytes())
    assert done.to_table().equals(rows)  # of this sweep's own parts
    with pytest.raises(fc.RequestError, match=f"{name}.*is no part of this sweep, which has 4"):
        begun(tmp_path / "s")
    assert begun(tmp_path / "s", overwrite=True)[1].equals(rows) and not stranger.exists()


def test_a_machine_that_was_edited_since_is_refused_not_mixed(tmp_path):
    machine = tmp_path / "mine.yaml"
    machine.write_text("extends: dgx-h100\nname: mine\n")
    axes = {**ONE, "system": str(machine)}
    begun(tmp_path / "s", axes)
    machine.write_text("# a remark\nextends: dgx-h100\nname: mine\n")
    assert begun(tmp_path / "s", axes)[0].resumed == 4
    machine.write_text("extends: dgx-h100\nname: mine\ntiers:\n  - name: nvlink\n    bandwidth: 100 GB/s per direction\n")
    with pytest.raises(fc.RequestError, match="a machine of the axis system was made of something else"):
        begun(tmp_path / "s", axes)
    machine.write_text("extends: dgx-h100\nname: mine\n")
    with pytest.raises(fc.RequestError, match=r"differing in axes: bytes\)"):
        begun(tmp_path / "s", {**axes, "bytes": [1e7]})


def test_another_process_recognises_the_folder(tmp_path):
    begun(tmp_path / "s")
    code = f"import fabricost as fc; print(fc.sweep({ONE!r}, {str(tmp_path / 's')!r}, part=1, progress=False).resumed)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == ["4"]


def test_what_a_killed_run_left_is_no_reason_to_refuse(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    from fabricost._sweep_folder import _HOST

    (tmp_path / "s").mkdir()
    left = [tmp_path / "s" / f".{name}.{_HOST}-{dead.pid}-1" for name in ("sweep.json", "part-00000003.parquet")]
    running = tmp_path / "s" / f".part-00000002.parquet.{_HOST}-1-1"  # of a process that is there
    for one in (*left, running):
        one.write_text("half")
    begun(tmp_path / "s")
    assert not any(one.exists() for one in left) and running.exists()


@pytest.mark.parametrize("fails", ["write", "fsync"])
def test_a_full_disk_leaves_nothing_half_written(tmp_path, monkeypatch, fails):
    import errno

    from fabricost import _sweep_folder

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "part-00000000.parquet"
    if fails == "fsync":
        monkeypatch.setattr(_sweep_folder.os, "fsync", full)
    else:
        monkeypatch.setattr(_sweep_folder.os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        _sweep_folder.put(path, b"x" * 100)
    assert list(tmp_path.iterdir()) == []


def test_sizes_with_units_are_bytes(tmp_path):
    pint = pytest.importorskip("pint").UnitRegistry()
    axes = {"system": "dgx-h100", "bytes": np.array([1.0, 2.0]) * pint.mebibyte}
    assert fc.sweep(axes, tmp_path / "s", progress=False).to_table()["bytes"].to_pylist() == [2.0**20, 2.0**21]
    with pytest.raises(fc.RequestError, match="bytes.* is counted in byte"):
        fc.sweep({**axes, "bytes": [3.0] * pint.meter}, tmp_path / "t", progress=False)
    with pytest.raises(fc.RequestError, match="masked"):
        fc.sweep({"system": "dgx-h100", "bytes": [1e6], "ranks": np.ma.array([8, 16], mask=[0, 1])}, tmp_path / "t", progress=False)
