"""fabricost trace on published traces, against what an independent reading of them found (measurements/second/traces/events.csv)."""
import csv
import json
import os
import pathlib
import statistics
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))
from command import Command, run_tests  # noqa: E402

COMMAND = Command(sys.argv[1], "trace")
FOLDER = pathlib.Path(os.environ.get("FABRICOST_MEASUREMENTS") or sys.argv[2]) / "second" / "traces"
KINETO = FOLDER / "kineto"
JUDGED = []  # calls without waiting: all ranks seen, or kernels that waited before


def found(*words):
    return json.loads(COMMAND.works(*map(str, words), "--calls", "--json")) | {"question": ""}


def events(source):
    with open(FOLDER / "events.csv", newline="") as file:
        return [row for row in csv.DictReader(file) if row["source"].startswith(source)]


def seen(answer):
    return sorted((row["operation"], row["bytes"], row["dtype"], round(row["wire_s"] * 1e6, 3)) for row in answer["collectives"])


def said(rows):
    return sorted((row["collective"], float(row["bytes"]), row["dtype"], float(row["duration_us"])) for row in rows)


def test_eight_ranks_of_dlrm():
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(KINETO / "dlrm_v100_8ranks.tar.gz") as packed:
            for member in packed.getmembers():
                if member.name.endswith(".json"):
                    member.name = os.path.basename(member.name)
                    packed.extract(member, folder)
        answer = found(folder, "--system", "dgx-1-v100")
    calls = answer["collectives"]
    matched = [row for row in events("PARAM") if "matched" in row["nodes_ranks"]]
    assert len(calls) == len(matched) == 8
    for call, row in zip(calls, matched):
        assert (call["operation"], call["bytes"], call["dtype"]) == (row["collective"], float(row["bytes"]), row["dtype"])
        assert abs(call["wire_s"] * 1e6 - float(row["duration_us"])) <= 2, (call, row)  # the profiler's clock counts whole us
        assert call["bound"] == "exact" and call["ranks_seen"] == 8
    first = calls[0]
    assert abs(first["wire_s"] - 11e-6) < 1e-9 and abs(first["wait_s"] - 7624e-6) < 1e-9 and first["last_rank"] == 7, first
    assert answer["findings"][0].startswith("Rank 7 comes last"), answer["findings"]
    JUDGED.extend(calls)


def test_one_rank_of_a_resnet_on_mi300x():
    answer = found(KINETO / "mi300x_resnet_rank.json.gz")
    assert seen(answer) == said(events("TraceLens"))
    assert answer["system"] == "mi300x-8" and answer["skipped"] == [{"reason": answer["skipped"][0]["reason"], "events": 5}]
    never_below(answer)


def test_one_rank_of_an_old_trace_on_a100():
    answer = found(KINETO / "hta_trace_diff_control.json.gz", "--system", "dgx-a100")
    assert seen(answer) == said(events("HTA"))
    assert all(group["size"] == 8 for group in answer["groups"])
    never_below(answer)


def never_below(answer):
    """With one rank a time contains waiting: it cannot be faster than the machine."""
    for row in answer["collectives"]:
        assert row["bound"] == "upper"
        assert row["interval_s"] is None or row["wire_s"] >= 0.95 * row["interval_s"][0], row


def test_experts_of_deepseek():
    tokens = ("--tokens", 4096, "--hidden", 7168, "--experts", 256, "--top-k", 8)
    answer = found(KINETO / "deepseek_v3_h800_rank0of64.json.gz", "--system", "deepseek-v3-h800", *tokens)
    for name in ("moe_dispatch", "moe_combine"):
        mine = sorted(round(row["wire_s"] * 1e6) for row in answer["collectives"] if row["operation"] == name)
        assert mine == sorted(round(float(row["duration_us"])) for row in events("DeepSeek") if row["collective"] == name)
        assert all(row["predicted_s"] > 0 for row in answer["collectives"] if row["operation"] == name)
    JUDGED.extend(row for row in answer["collectives"] if row["predicted_s"])
    assert [group["kind"] for group in answer["groups"]] == ["expert"]
    spent = {term["name"]: term["time_s"] for term in answer["step"]["terms"]}
    assert spent["expert"] < 0.05 * answer["step"]["step_s"], spent  # the overlap that the profile was published for


def test_what_is_without_waiting_is_as_predicted():
    assert len(JUDGED) == 24
    inside = sum(row["interval_s"][0] <= row["wire_s"] <= row["interval_s"][1] for row in JUDGED)
    assert inside >= 0.85 * len(JUDGED), inside
    error = statistics.median(abs(row["predicted_s"] / row["wire_s"] - 1) for row in JUDGED)
    assert error <= 0.15, error


if __name__ == "__main__":
    if not KINETO.is_dir():
        print(f"skipped: there are no traces in {KINETO}")
        sys.exit(77)
    run_tests(globals())
