"""fabricost calibrate as people and scripts see it: exit status, streams, the JSON's fields, the files of -o, and how fast it is.

    test_calibrate_cli.py FABRICOST SOURCE_DIR
"""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, written

TOOL, SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]
tool = Command(TOOL).run
COMMAND = Command(TOOL, "calibrate")
works, refused = COMMAND.works, COMMAND.refused
HEADER = "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes\n"
SIZES = [2 ** e for e in range(9, 30)]


def predicted(system, op, size, *more):
    done = tool("predict", op, "--system", system, "--size", size, "--json", *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows_of(system, factor=1.0, types=("half",), label=None):
    """A CSV of what the shipped calibration predicts, a factor off: 4 operations, 2, 4, 8 ranks."""
    text = HEADER
    for op in ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]:
        for ranks in (2, 4, 8):
            for dtype in types:
                done = tool("sweep", op, "--system", system, "--ranks", ranks, "--dtype", dtype,
                            "--sizes", f"{SIZES[0]}B:{SIZES[-1]}B:x2", "--json")
                assert done.returncode == 0, done.stderr
                answer = json.loads(done.stdout)
                for one in answer if isinstance(answer, list) else answer["points"]:
                    text += f"made,{label or system},1,{ranks},{op},{dtype},{one['bytes']},{one['time_us'] * factor:.6f},,nccl,,,,\n"
    return text


def for_scripts(folder):
    table = written(folder, "points.csv", rows_of("dgx-b200", 0.95))
    report = json.loads(works("--system", "dgx-b200", "--from", table, "--json"))
    assert report["points"] == 252 and report["skipped"] == [] and report["converged"] is True
    assert report["determined"] <= report["constants"]
    for field in ("median_ape", "mape"):
        assert report[field]["after"] < report[field]["before"], report[field]
    (one,) = report["sets"]
    assert one["name"] == "scale-up-blackwell" and one["kind"] == "scale_up" and one["systems"] == ["dgx-b200"]
    assert sum(r["points"] for r in one["residuals"].values()) == one["points"] == 252
    names = [c["name"] for c in one["constants"]]
    assert len(names) == len(set(names)) == report["constants"]
    assert sum(c["determined"] for c in one["constants"]) == report["determined"]
    for c in one["constants"]:
        assert c["value"] > 0 and c["prior"] > 0 and c["relative_standard_error"] > 0 and -1.000001 <= c["correlation"] <= 1.000001, c
        assert c["correlated_with"] in names if c["correlation"] != 0 else c["correlated_with"] == "", c
        assert c["correlated_with"] != c["name"], c
    # the file and the JSON say the same
    out = os.path.join(folder, "cal.yaml")
    assert json.loads(works("--system", "dgx-b200", "--from", table, "--json", "-o", out)) | {"question": report["question"]} == report
    launch = next(c for c in one["constants"] if c["name"] == "launch")
    assert f"launch: {launch['value'] * 1e6:.6g} us" in open(out).read()


def the_contract(folder):
    table = written(folder, "points.csv", HEADER + "x,dgx-h100,1,8,all_gather,half,1048576,20,,nccl,,,,\n")
    out = os.path.join(folder, "out.yaml")
    refused(saying=["from which measurements"])
    refused("--system", "dgx-h100", "-o", out, saying=["from which measurements"])
    refused("--system", "dgx-h10", "--from", table, "-o", out, saying=['no system named "dgx-h10"', "dgx-h100"])
    refused("--system", "dgx-a100", "--from", table, "-o", out, saying=["no point is left to fit", "1 row: of dgx-h100, not of dgx-a100"])
    refused("--system", "dgx-h100", "--from", os.path.join(folder, "nowhere.csv"), "-o", out, saying=["nowhere.csv"])
    refused("--system", "dgx-h100", "--from", folder, "-o", out, saying=[folder])
    refused("--system", "dgx-h100", "--from", table, "--calibration", "no-such", "-o", out, saying=["no-such"])
    refused("--system", "dgx-h100", "--from", table, "--date", "yesterday", "-o", out, saying=["--date yesterday", "2026-01-31"])
    refused("--system", "dgx-h100", "--from", table, "--nodes", "none", "-o", out, saying=["--nodes"])
    refused("--from", table, "-o", os.path.join(folder, "no-folder"), saying=["no-folder", "must be a folder"])
    refused("--from", table, "-o", written(folder, "another.csv", "a\n"), saying=["must be a folder"])
    refused("--from", table, "-o", table, saying=["is also read"])
    refused("--system", "dgx-h100", "--from", table, "-o", os.path.join(folder, "no-folder", "x.yaml"),
            saying=["no-folder", "cannot be written"])
    refused("--system", "dgx-h100", "--from", table, "-o", folder, saying=["not a regular file"])
    for system in ("trn2", "gaudi-3", "tpu-v5e-pod"):
        other = written(folder, "other.csv", HEADER + f"x,{system},1,8,all_reduce,half,1048576,50,,,,,,\n")
        refused("--system", system, "--from", other, "-o", out, saying=["no form is fitted to its library"])
    # malformed cells: file, line, column, value, remedy
    row = "x,dgx-h100,1,8,all_gather,half,1048576,"
    place = len(row) + 1
    for cell, says in (("abc", "not a number"), ("-3", "is negative"), ("nan", "not a number")):
        bad = written(folder, "bad.csv", f"{HEADER}{row}20,,nccl,,,,\n{row}{cell},,nccl,,,,\n")
        refused("--system", "dgx-h100", "--from", bad, "-o", out, saying=[f"bad.csv:3:{place}: ", says, "^ write"])
    refused("--system", "dgx-h100", "--from", table, bad, "-o", out, saying=["bad.csv:3"])
    zero = written(folder, "zero.csv", f"{HEADER}{row}0,,nccl,,,,\nx,dgx-h100,1,8,all_gather,half,0,5,,nccl,,,,\n")
    refused("--system", "dgx-h100", "--from", zero, "-o", out, saying=["time_us is 0", "bytes is 0"])
    refused("--system", "dgx-h100", "--from", written(folder, "empty.csv", ""), "-o", out, saying=["empty.csv", "is empty"])
    nobody = written(folder, "nobody.csv", HEADER + "x,,1,8,all_gather,half,1048576,20,,nccl,,,,\n")
    refused("--from", nobody, saying=["does not say which machine"])
    assert not os.path.exists(out) and sorted(f for f in os.listdir(folder) if not f.endswith(".csv")) == []


def machines_and_files(folder):
    table = written(folder, "points.csv", rows_of("dgx-h100", 1.05))
    lines = open(table).read().splitlines(keepends=True)
    first, second = (written(folder, name, HEADER + "".join(part)) for name, part in (("a.csv", lines[1:120]), ("b.csv", lines[120:])))
    whole = works("--system", "dgx-h100", "--from", table)
    assert works("--system", "dgx-h100", "--from", first, second) == whole
    # by another of its names
    assert works("--system", "hgx-h100", "--from", table) == whole
    # nothing known before: the errors start high and end near
    blind = json.loads(works("--system", "dgx-h100", "--calibration", "none", "--from", table, "--json"))
    assert blind["median_ape"]["before"] > 2 > blind["median_ape"]["after"], blind["median_ape"]
    # a description of one's own, in points by its name; a file name that is no name of the format
    box = written(folder, "box.yaml", "extends: dgx-h100\nname: my-box\n")
    mine = written(folder, "mine.csv", rows_of("dgx-h100", 1.05, label="my-box"))
    for system, cwd in ((box, None), ("box.yaml", folder)):
        out = os.path.join(folder, "My Box (1).yaml")
        text = works("--system", system, "--from", mine, "-o", out, cwd=cwd)
        assert "scale-up-hopper: 252 points, my-box" in text, text
        assert "name: my-box-1\n" in open(out).read() and "systems: [my-box]\n" in open(out).read()
        assert predicted(box, "all_gather", "1MiB", "--calibration", out)["basis"] == "calibrated"
        assert predicted("dgx-h100", "all_gather", "1MiB", "--calibration", out)["basis"] == "sibling"
    assert "of dgx-h100, not of my-box" in tool("calibrate", "--system", box, "--from", table).stderr
    # several machines at once: a folder with one file for each set
    both = os.path.join(folder, "both")
    os.mkdir(both)
    other = written(folder, "other.csv", rows_of("dgx-a100"))
    works("--from", table, other, "-o", both)
    assert sorted(os.listdir(both)) == ["scale-up-ampere.yaml", "scale-up-hopper.yaml"]
    assert predicted("dgx-a100", "all_gather", "1MiB", "--calibration", os.path.join(both, "scale-up-ampere.yaml"))["basis"] == "calibrated"


if __name__ == "__main__":
    for check in (for_scripts, the_contract, machines_and_files):
        with tempfile.TemporaryDirectory(prefix="fabricost-calibrate-") as temporary:
            check(temporary)
    print("calibrate: fine")
