"""fabricost calibrate as people and scripts see it: the JSON's fields, the files of -o, machines of one's own, and what it refuses.

    test_calibrate_cli.py FABRICOST
"""
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, run_tests, written

tool = Command(sys.argv[1])
COMMAND = Command(sys.argv[1], "calibrate")
works, refused = COMMAND.works, COMMAND.refused
HEADER = "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes\n"


def rows_of(system, factor):
    """A CSV of what the shipped calibration predicts, a factor off: 2 operations on 2 and 8 ranks."""
    text = HEADER
    for op in ("all_reduce", "all_gather"):
        for ranks in (2, 8):
            answer = json.loads(tool.works("sweep", op, "--system", system, "--ranks", ranks, "--sizes", "512B:512MiB:x2", "--json"))
            for one in answer["rows"]:
                text += f"made,{system},1,{ranks},{op},half,{one['bytes']},{one['time_us'] * factor:.6f},,nccl,,,,\n"
    return text


def test_for_scripts(folder):
    table = written(folder, "points.csv", rows_of("dgx-b200", 0.95))
    out = os.path.join(folder, "cal.yaml")
    report = json.loads(works("--system", "dgx-b200", "--from", table, "-o", out, "--json"))
    assert report["points"] == 84 and report["skipped"] == [] and report["converged"] is True
    assert report["determined"] <= report["constants"]
    for field in ("median_ape", "mape"):
        assert report[field]["after"] < report[field]["before"], report[field]
    (one,) = report["sets"]
    assert one["name"] == "scale-up-blackwell" and one["kind"] == "scale_up" and one["systems"] == ["dgx-b200"]
    assert sum(r["points"] for r in one["residuals"].values()) == one["points"] == 84
    names = [c["name"] for c in one["constants"]]
    assert len(names) == len(set(names)) == report["constants"]
    assert sum(c["determined"] for c in one["constants"]) == report["determined"]
    for c in one["constants"]:
        assert c["value"] > 0 and c["prior"] > 0 and c["relative_standard_error"] > 0 and -1.000001 <= c["correlation"] <= 1.000001, c
        assert c["correlated_with"] in names if c["correlation"] != 0 else c["correlated_with"] == "", c
        assert c["correlated_with"] != c["name"], c
    # the file and the JSON say the same
    launch = next(c for c in one["constants"] if c["name"] == "launch")
    assert f"launch: {launch['value'] * 1e6:.6g} us" in open(out).read()


def test_a_constant_that_the_points_move_without_determining_it_is_shown(folder):
    points = HEADER
    for row in json.loads(tool.works("sweep", "all_reduce", "--system", "dgx-h100", "--nodes", 4, "--sizes", "1GiB:8GiB:x2", "--json"))["rows"]:
        points += f"made,dgx-h100,4,8,all_reduce,half,{row['bytes']},{row['time_us'] * 4:.6f},,nccl,,,,\n"
    table = written(folder, "slow.csv", points)
    (one,) = json.loads(works("--system", "dgx-h100", "--from", table, "--json"))["sets"]
    text = works("--system", "dgx-h100", "--from", table)
    assert " * " in text
    held = text.split("known before:")[1].split("ran as")[0]
    for c in one["constants"]:
        moved = abs(math.log(c["value"] / c["prior"])) > 0.05
        assert (f"  {c['name']} * " in text) == (moved and not c["determined"]), (c, text)
        assert not (moved and f" {c['name']}," in held), (c, held)


def test_a_log_without_a_machine_is_fitted_as_the_usual_one_of_its_gpus(folder):
    log = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "data", "measurements", "dgx-h100-all-reduce.txt")
    out = os.path.join(folder, "cal.yaml")
    text = works("--from", log, "-o", out)
    assert text.startswith("dgx-h100 is taken, the usual machine of the GPUs in the log"), text[:200]
    with open(out, encoding="utf-8") as made:
        assert "systems: [dgx-h100]" in made.read()
    assert text.split("\n", 2)[2] == works("--system", "dgx-h100", "--from", log)


def test_a_slow_run_is_fitted_with_a_warning(folder):
    log = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "data", "measurements", "dgx-h100-all-reduce.txt")
    with open(log, encoding="utf-8") as file:
        sound = file.read()

    def slower(line):
        words = line.split()
        for at in (5, 9) if len(words) == 13 and words[0].isdigit() and int(words[0]) >= 1 << 24 else ():
            words[at] = f"{2 * float(words[at]):.1f}"
            words[at + 1], words[at + 2] = (f"{float(words[at + more]) / 2:.2f}" for more in (1, 2))
        return " ".join(words)
    slow = os.path.join(folder, "slow.log")
    with open(slow, "w", encoding="utf-8") as file:
        file.write("\n".join(slower(line) if line.strip()[:1].isdigit() else line for line in sound.splitlines()) + "\n")
    warned = json.loads(works("--from", slow, "--system", "dgx-h100", "--json"))["warnings"]
    assert any("large sizes of slow take 2" in one for one in warned), warned
    assert not any("beyond the range" in one for one in json.loads(works("--from", log, "--system", "dgx-h100", "--json"))["warnings"])


def test_reduction_in_the_networks_switches_is_named(folder):
    box = written(folder, "box.yaml", "extends: dgx-b200\nname: box\nnodes: 4\ntiers:\n  - name: nic\n    sharp: true\n")
    swept = json.loads(tool.works("sweep", "all_reduce", "--system", box, "--nodes", 4, "--sizes", "64MiB:1GiB:x2", "--json"))["rows"]
    table = written(folder, "points.csv", HEADER + "".join(
        f"made,box,4,8,all_reduce,half,{one['bytes']},{1.1 * one['time_us']:.6f},,nccl,,,,\n" for one in swept))
    warned = json.loads(works("--system", box, "--from", table, "--json"))["warnings"]
    assert any("5 of 5 times are of SHARP" in one for one in warned), warned


def test_a_fit_that_is_worse_on_its_own_points_keeps_the_constants_and_says_so(folder):
    """Every third time half again as long: no constants have both."""
    rows = rows_of("dgx-b200", 1.0).splitlines()
    odd = [line.replace(time, f"{float(time) * (1.5 if i % 3 == 0 else 1):.6f}") for i, line in enumerate(rows[1:]) for time in [line.split(",")[7]]]
    table, out = written(folder, "points.csv", "\n".join([rows[0], *odd]) + "\n"), os.path.join(folder, "cal.yaml")
    report = json.loads(works("--system", "dgx-b200", "--from", table, "-o", out, "--json"))
    assert any("median error rises" in one and "stay as they were" in one for one in report["warnings"]), report["warnings"]
    assert all(abs(report[of]["after"] - report[of]["before"]) < 1e-6 for of in ("median_ape", "mape")), report
    predicted = [json.loads(tool.works("predict", "all_reduce", "--system", "dgx-b200", "--size", "64MiB", *more, "--json"))["time_us"]
                 for more in ((), ("--calibration", out))]
    assert abs(predicted[0] / predicted[1] - 1) < 1e-4, predicted


def test_runs_that_contradict_each_other_are_named(folder):
    for slower, named in ((3, "slow"), (1.2, None)):
        files = []
        for source, factor in (("sound", 1), ("slow", slower)):
            rows = [line.split(",") for line in rows_of("dgx-b200", 1.0).splitlines()]
            for row in rows[1:]:
                row[0] = source
                if int(row[6]) >= 1 << 20:
                    row[7] = f"{float(row[7]) * factor:.6f}"
            files.append(written(folder, f"{source}.csv", "".join(",".join(row) + "\n" for row in rows)))
        warned = [one for one in json.loads(works("--system", "dgx-b200", "--from", *files, "--json"))["warnings"] if "at the same" in one]
        assert [one.split(" takes ")[0] for one in warned] == ([named] if named else []), warned
        assert not named or "takes 3 times as long as sound" in warned[0], warned


def test_what_cannot_be_fitted_or_written_is_refused(folder):
    refused(written(folder, "run.csv", "x"), "-s", "dgx-b200", saying=["one word too many (write --from "])
    table = written(folder, "points.csv", HEADER + "x,dgx-h100,1,8,all_gather,half,1048576,20,,nccl,,,,\n")
    out = os.path.join(folder, "out.yaml")
    refused("--system", "dgx-a100", "--from", table, "-o", out, saying=["no point is left to fit", "1 row: of dgx-h100, not of dgx-a100"])
    refused("--system", "dgx-h100", "--from", table, "--calibration", "no-such", "-o", out, saying=["no-such"])
    refused("--system", "dgx-h100", "--from", table, "--nodes", "none", "-o", out, saying=["--nodes"])
    refused("--from", table, "-o", table, saying=["is also read"])
    refused("--system", "dgx-h100", "--from", table, "-o", folder, saying=["not a regular file"])
    other = written(folder, "other.csv", HEADER + "x,trn2,1,8,all_reduce,half,1048576,50,,,,,,\n")
    refused("--system", "trn2", "--from", other, "-o", out, saying=["no form is fitted to its library"])
    row = "x,dgx-h100,1,8,all_gather,half,1048576,"
    bad = written(folder, "bad.csv", f"{HEADER}{row}20,,nccl,,,,\n{row}-3,,nccl,,,,\n")
    refused("--system", "dgx-h100", "--from", table, bad, "-o", out, saying=[f"bad.csv:3:{len(row) + 1}: ", "is negative", "^ write"])
    nobody = written(folder, "nobody.csv", HEADER + "x,,1,8,all_gather,half,1048576,20,,nccl,,,,\n")
    refused("--from", nobody, saying=["does not say which machine"])
    assert not os.path.exists(out) and sorted(f for f in os.listdir(folder) if not f.endswith(".csv")) == []


def test_machines_and_files(folder):
    def basis(system, calibration):
        return json.loads(tool.works("predict", "all_gather", "--system", system, "--size", "1MiB", "--calibration", calibration, "--json"))["basis"]

    points = rows_of("dgx-h100", 1.05)
    table = written(folder, "points.csv", points)
    # nothing known before: the errors start high and end near
    blind = json.loads(works("--system", "dgx-h100", "--calibration", "none", "--from", table, "--json"))
    assert blind["median_ape"]["before"] > 1 > blind["median_ape"]["after"], blind["median_ape"]
    # a description of one's own, in points by its name; a file name that is no name of the format
    box = written(folder, "box.yaml", "extends: dgx-h100\nname: my-box\n")
    mine = written(folder, "mine.csv", points.replace("dgx-h100", "my-box"))
    out = os.path.join(folder, "My Box (1).yaml")
    assert "scale-up-hopper: 84 points, my-box" in works("--system", "box.yaml", "--from", mine, "-o", out, cwd=folder)
    assert "name: my-box-1\n" in open(out).read() and "systems: [my-box]\n" in open(out).read()
    assert (basis(box, out), basis("dgx-h100", out)) == ("calibrated", "sibling")
    refused("--system", box, "--from", table, saying=["of dgx-h100, not of my-box"])
    # several machines at once: a folder with one file for each set
    both = os.path.join(folder, "both")
    os.mkdir(both)
    works("--from", table, written(folder, "other.csv", rows_of("dgx-a100", 1)), "-o", both)
    assert sorted(os.listdir(both)) == ["scale-up-ampere.yaml", "scale-up-hopper.yaml"]
    assert basis("dgx-a100", os.path.join(both, "scale-up-ampere.yaml")) == "calibrated"


if __name__ == "__main__":
    run_tests(globals())
