"""Logs in, errors, fits and causes out: the command's figures."""
import json

import numpy as np
import pytest

import fabricost as fc


@pytest.fixture(scope="module")
def samples(log):
    return fc.read_log(log, system="dgx-h100")


def test_a_log_is_a_structured_array(samples, log):
    assert samples.dtype.names[:5] == ("bytes", "ranks", "nodes", "seconds", "bus_bytes_per_second")
    assert set(samples["operation"]) == {"all_reduce"} and (samples["ranks"] == 8).all() and (samples["nodes"] == 1).all()
    factor = 2 * 7 / 8
    assert np.allclose(samples["bytes"] / samples["seconds"] * factor, samples["bus_bytes_per_second"])
    printed = [line.split() for line in log.read_text().splitlines() if line.split() and line.split()[0].isdigit()]
    assert sorted(set(samples["bytes"])) == sorted({float(row[0]) for row in printed})
    assert samples["bytes"].max() == 16 * fc.GiB


def test_validate_is_the_commands(samples, log, h100, command):
    wanted = json.loads(command("validate", log, "--system", "dgx-h100", "--json"))
    for found in (fc.validate(log, system="dgx-h100"), fc.validate(samples), fc.validate(samples, system=h100), fc.validate([log], system=h100)):
        assert found.total.points == wanted["points"] == len(found)
        assert found.median_error == pytest.approx(wanted["median_ape"] / 100, rel=1e-12)
        assert found.mean_error == pytest.approx(wanted["mape"] / 100, rel=1e-12)
        assert found.total.interval_coverage == pytest.approx(wanted["interval_coverage"], rel=1e-12)
        assert found.by_operation["all_reduce"] == found.total and list(found.by_size) == ["<=64 KiB", "<=1 MiB", "<=32 MiB", "above"]
    rows = found.samples
    assert np.abs(rows["error"]).max() == found.worst_error
    assert np.allclose(rows["predicted_seconds"] / rows["measured_seconds"] - 1, rows["error"])
    one = fc.predict(h100, fc.AllReduce(float(rows["bytes"][5]), ranks=8, dtype=str(rows["dtype"][5])), launch="process")
    assert (one.seconds, one.algorithm) == (rows["predicted_seconds"][5], rows["algorithm"][5])


def test_samples_may_be_columns_of_anything(samples, h100):
    wanted = fc.validate(samples, system=h100).median_error
    columns = {name: samples[name] for name in ("bytes", "seconds", "ranks", "dtype", "launch", "gpus_of_process")}
    assert fc.validate(columns, system=h100).median_error == wanted
    pd = pytest.importorskip("pandas")
    assert fc.validate(pd.DataFrame(columns), system=h100).median_error == wanted
    assert len(fc.validate(samples, system=h100).to_pandas()) == len(fc.validate(samples, system=h100))


@pytest.mark.parametrize("columns, says", [({}, "names no system"), ({"system": ["nonesuch"]}, "nonesuch")])
def test_samples_of_which_none_can_be_priced_are_refused_with_the_reason(columns, says):
    pd = pytest.importorskip("pandas", reason="the samples come as a DataFrame")
    with pytest.raises(fc.RequestError, match=f"no measured time could be compared: 1 row: .*{says}"):
        fc.validate(pd.DataFrame({"bytes": [1e6], "seconds": [1e-4], "ranks": [8], **columns}))


def test_machines_are_priced_with_constants_of_fits_and_by_hand(samples):
    priced = fc.validate(samples, system="dgx-h100").samples["predicted_seconds"]
    slower = fc.validate(samples, system="dgx-h100", constants=[{"scale_up.launch": 1e-3}]).samples["predicted_seconds"]
    assert (slower > priced + 5e-4).all()
    fit = fc.calibrate("dgx-h100", samples)
    fitted = fc.validate(samples, system="dgx-h100", constants=[{"scale_up.launch": 1e-3}, fit]).samples["predicted_seconds"]
    assert fitted == pytest.approx(fc.validate(samples, system=fit.system).samples["predicted_seconds"], rel=1e-4)
    mean = fc.validate(samples, system="dgx-h100", constants=[fit.mean])
    assert mean.samples["predicted_seconds"] == pytest.approx(fitted, rel=1e-3)  # of one set
    assert fc.calibrate("dgx-h100", samples, constants=[{"scale_up.launch": 1e-3}]).mean_error_before > fit.mean_error_before
    for wrong, says in (([{"launch": 1}], "launch.*is no constant"), ([1], "constants"), (fit, "constants")):
        with pytest.raises((TypeError, fc.RequestError), match=says):
            fc.validate(samples, constants=wrong)


@pytest.mark.parametrize("says, broken", [
    ("no column \"seconds\"", {"bytes": [1.0]}), ("seconds: a column of 2", {"bytes": [1, 2], "seconds": [1]}),
    ("sample 0: bytes -1", {"bytes": [-1], "seconds": [1]}), ("sample 1: seconds 0", {"bytes": [1, 1], "seconds": [1, 0]}),
    ("sample 0: seconds nan", {"bytes": [1], "seconds": [np.nan]}),
    ("sample 0: 5 ranks", {"bytes": [1], "seconds": [1], "ranks": [5], "nodes": [2]}),
    ("did you mean all_reduce", {"bytes": [1], "seconds": [1], "operation": ["all_reduc"]}), ("bytes", {"bytes": ["x"], "seconds": [1]}),
    ("ranks 1.5", {"bytes": [1], "seconds": [1], "ranks": [1.5]}), ("dtype", {"bytes": [1], "seconds": [1], "dtype": [7]}),
])
def test_faulty_samples_are_named(h100, says, broken):
    for use in (lambda: fc.validate(broken, system=h100), lambda: fc.calibrate(h100, broken)):
        with pytest.raises((fc.RequestError, TypeError), match=says):
            use()


def test_faulty_logs_say_where(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us\nme,dgx-h100,1,8,all_reduce,half,12,-3\n")
    with pytest.raises(fc.SpecError) as caught:
        fc.read_log(path)
    assert (caught.value.line, caught.value.file) == (2, str(path))
    with pytest.raises(fc.Error):
        fc.read_log(tmp_path / "none.log")


def test_calibrate_is_the_commands(samples, log, h100, command, tmp_path):
    wanted = json.loads(command("calibrate", "--system", "dgx-h100", "--from", log, "-o", tmp_path / "theirs.yaml", "--json"))
    fit = fc.calibrate(h100, samples)
    assert fit.points == wanted["points"] and fit.converged == wanted["converged"]
    assert fit.median_error == pytest.approx(wanted["median_ape"]["after"] / 100, rel=1e-9)
    assert fit.median_error_before == pytest.approx(wanted["median_ape"]["before"] / 100, rel=1e-9)
    assert fit.worst_error == fit.validation.worst_error >= fit.mean_error
    assert len(fit.constants) == wanted["constants"] and sum(c.determined for c in fit.constants) == wanted["determined"]
    launch = [c for c in fit.constants if c.name == "launch"][0]
    assert 1e-7 < launch.value < 1e-4 and launch.unit == "seconds" and 0 < launch.relative_error < 1
    fit.save(tmp_path / "ours.yaml")
    theirs, ours = (fc.load_system("dgx-h100", calibration=tmp_path / name) for name in ("theirs.yaml", "ours.yaml"))
    sizes = 2.0 ** np.arange(3, 34)
    assert np.allclose(fc.predict(theirs, fc.AllReduce(sizes)).seconds, fc.predict(ours, fc.AllReduce(sizes)).seconds, rtol=1e-5)
    assert (fc.predict(fit.system, fc.AllReduce(sizes)).seconds == fc.predict(ours, fc.AllReduce(sizes)).seconds).all()
    assert fit.system.basis == "calibrated"


def test_a_log_without_a_machine_is_fitted_as_the_usual_one_of_its_gpus(log, command):
    fit = fc.calibrate(samples=log)
    assert fit.guessed_system == "dgx-h100" == json.loads(command("calibrate", "--from", log, "--json"))["guessed_system"]
    assert fit.system.name == "dgx-h100" and fit.to_yaml() == fc.calibrate("dgx-h100", log).to_yaml()


def test_an_argument_that_is_none_is_told_its_neighbour(log):
    with pytest.raises(TypeError, match=r"calibrate\(\) has no nods; did you mean nodes\?"):
        fc.calibrate("dgx-h100", log, nods=1)
    with pytest.raises(TypeError, match=r"validate\(\) has no systm; did you mean system\?"):
        fc.validate(log, systm="dgx-h100")


def test_diagnose_is_the_commands(log, command, tmp_path, h100):
    wanted = json.loads(command("diagnose", log, "--system", "dgx-h100", "--json"))
    found = fc.diagnose(log, system=h100)
    assert ((found.healthy, found.verdict, found.system, found.notes) ==
            (wanted["healthy"], wanted["verdict"], wanted["system"], wanted["notes"]))
    assert [c.cause for c in found.causes] == [c["cause"] for c in wanted["causes"]]
    assert np.allclose(found.sizes["measured_seconds"] * 1e6, [s["measured_us"] for s in wanted["sizes"]])
    assert [s["measured_seconds"] for s in found.to_dict()["sizes"]] == list(found.sizes["measured_seconds"])
    slow = tmp_path / "slow.log"
    lines = [line.split() for line in log.read_text().splitlines()]
    rows = ["  ".join([*row[:5], str(float(row[5]) * 10), *row[6:9], str(float(row[9]) * 10), *row[10:]])
            if len(row) >= 13 and row[0].isdigit() else " ".join(row) for row in lines]
    slow.write_text("\n".join(rows))
    assert fc.diagnose(log, system=h100).healthy and not fc.diagnose(slow, system=h100).healthy
    altered = fc.load_system("dgx-h100", ["tiers.nvlink.bandwidth=440 GB/s per direction"])
    assert fc.diagnose(log, system=altered).sizes["predicted_seconds"][-1] > found.sizes["predicted_seconds"][-1]
    expected = fc.diagnose(log, system="dgx-h100", expected="900 GB/s")
    assert "expected_value_wrong" in [c.cause for c in expected.causes]


def test_topo_is_the_commands(command, tmp_path):
    table = tmp_path / "topo.txt"
    gpus = range(8)
    table.write_text("\n".join(["\t" + "\t".join(f"GPU{i}" for i in gpus) + "\tCPU Affinity\tNUMA Affinity"] + [
        f"GPU{i}\t" + "\t".join(" X " if i == j else "NV18" for j in gpus) + f"\t{'0-47' if i < 4 else '48-95'}\t{i // 4}"
        for i in gpus]) + "\n")
    wanted = json.loads(command("topo", table, "--compare", "dgx-h100", "--json"))
    for machine in ("dgx-h100", fc.load_system("dgx-h100")):
        found = fc.topo(table, compare=machine)
        assert ((found.gpus, found.links_per_gpu, found.nics, found.sockets, found.gpu) ==
                (8, 18, wanted["nics"], wanted["sockets"], wanted["gpu"]))
        assert found.differences == wanted["differences"] and found.unknown == wanted["unknown"]
    found.save(tmp_path / "mine.yaml")
    assert fc.load_system(tmp_path / "mine.yaml").gpus == 8
    table.write_text("no table")
    with pytest.raises(fc.SpecError):
        fc.topo(table)
