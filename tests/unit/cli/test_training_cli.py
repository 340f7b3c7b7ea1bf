"""validate and calibrate over published kernels: exit status, streams, JSON, files.   test_training_cli.py FABRICOST"""
import csv
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, run_tests, written

TOOL = os.path.abspath(sys.argv[1])
VALIDATE, CALIBRATE = Command(TOOL, "validate"), Command(TOOL, "calibrate")
OPS = "id,group,source,gpu,interconnect,op,model,hidden,ffn,heads,kv_heads,tp,ranks,ranks_per_node,tokens,bytes,time_us,notes\n"
POINTS = "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us\nx,dgx-h100,1,8,all_reduce,half,1048576,30\n"
ERRORS = ["schema", "question", "points", "median_ape", "mape", "p90_abs_log2", "within_10pct", "within_25pct", "interval_coverage"]


def kernel(name, time_us, tokens=1024, op="mlp_up_proj", gpu="A100-80G", group="vidur_gemm_a100"):
    return f"{name},{group},s,{gpu},,{op},m,4096,11008,32,32,1,,,{tokens},,{time_us},\n"


def test_validate_prints_errors_by_group(folder):
    ops = written(folder, "ops.csv", OPS + kernel("A", 700) + kernel("B", 800, group="other_group") + kernel("C", 700, gpu="abacus"))
    answer = json.loads(VALIDATE.works(ops, "--json"))
    assert list(answer) == ERRORS + ["skipped", "by_group"], list(answer)
    assert answer["points"] == 2
    assert list(answer["by_group"]) == ["other_group", "vidur_gemm_a100"]
    for group in answer["by_group"].values():
        assert list(group) == ERRORS[2:] and group["points"] == 1
    assert sum(s["rows"] for s in answer["skipped"]) == 1
    mean = sum(g["mape"] for g in answer["by_group"].values()) / 2
    assert math.isclose(mean, answer["mape"], rel_tol=1e-12)
    text = VALIDATE.works(ops)
    assert "vidur_gemm_a100" in text and "abacus" in text


def test_rows_are_written_with_their_predictions(folder):
    ops = written(folder, "ops.csv", OPS + kernel("A", 700) + kernel("C", 700, gpu="abacus"))
    out = os.path.join(folder, "rows.csv")
    answer = json.loads(VALIDATE.works(ops, "--out", out, "--json"))
    with open(out, newline="") as file:
        rows = {r["id"]: r for r in csv.DictReader(file)}
    assert set(rows) == {"A", "C"}
    a = rows["A"]
    assert float(a["low"]) < float(a["predicted"]) < float(a["high"])
    assert math.isclose(abs(float(a["predicted"]) / float(a["measured"]) - 1) * 100, answer["mape"], rel_tol=1e-9)
    assert rows["C"]["predicted"] == "" and "abacus" in rows["C"]["skipped"]


def test_tables_and_points_are_not_mixed(folder):
    ops = written(folder, "ops.csv", OPS + kernel("A", 700))
    points = written(folder, "points.csv", POINTS)
    VALIDATE.refused(ops, points, saying=["two calls"])
    VALIDATE.refused(points, ops, saying=["two calls"])
    CALIBRATE.refused("--from", ops, points, saying=["python -m fabricost.evaluation --fit"])


def test_malformed_rows_are_refused_with_their_place(folder):
    bad = written(folder, "ops.csv", OPS + kernel("K", "slow"))
    for command in (VALIDATE, Command(TOOL, "calibrate", "--from")):
        command.refused(bad, saying=["ops.csv:2:", "time_us is \"slow\""])
    VALIDATE.refused(os.path.join(folder, "none.csv"), saying=["none.csv"])


if __name__ == "__main__":
    run_tests(globals())
