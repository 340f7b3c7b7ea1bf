"""fabricost trace on traces whose truth is known: the planted causes of a job are found, its times unchanged."""
import json
import os
import pathlib
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]
from emit import Job  # noqa: E402
from command import Command, run_tests  # noqa: E402
from trace_answers import COMMAND, MIB, found, near, rows  # noqa: E402

DIAGNOSE = Command(sys.argv[1], "diagnose")
WORLD = {"0": ("default_pg", list(range(8)))}


def sound_job(steps=5, **planted):
    """All-reduces of 64 MiB and gathers of 16 MiB over eight H100s."""
    job = Job(8, WORLD, **{k: planted[k] for k in ("seed", "year") if k in planted})
    job.clock = planted.get("clock", job.clock)
    job.rate = planted.get("rate", job.rate)
    for _ in range(steps):
        job.compute(2000, planted.get("late"))
        job.collective("0", "allreduce", 32 * MIB, planted.get("wire", 310.0), messages=planted.get("messages", 1))
        job.compute(500)
        job.collective("0", "_allgather_base", MIB, 68.0, out=8 * MIB)
    return job


def test_a_sound_job_is_sound(folder):
    sound_job().write(folder)
    answer = found(folder)
    assert answer["system"] == "dgx-h100" and answer["system_guessed"]
    (reduce,), (gather,) = rows(answer, "all_reduce"), rows(answer, "all_gather")
    assert reduce["bytes"] == 64 * MIB and reduce["count"] == 5 and reduce["dtype"] == "bfloat16", reduce
    assert gather["bytes"] == 16 * MIB and gather["ranks_seen"] == 8 and gather["bound"] == "exact", gather
    near(reduce["wire_s"], 310e-6, 0.05)
    near(gather["wire_s"], 68e-6, 0.05)
    assert {reduce["verdict"], gather["verdict"]} == {"sound"}, answer["collectives"]
    near(sum(term["time_s"] for term in answer["step"]["terms"]), answer["step"]["step_s"], 1e-9)
    assert not [one for one in answer["findings"] if "times its prediction" in one], answer["findings"]


def test_steps_that_no_program_marked_are_told_by_the_calls_that_repeat(folder):
    sound_job(steps=6).write(folder)
    answer = found(folder)
    assert answer["step"]["steps"] == 6, answer["step"]
    near(answer["step"]["step_s"], 2.878e-3, 0.02)
    assert any("No step is marked: 6" in note for note in answer["notes"]), answer["notes"]


def test_forward_passes_that_an_engine_marked_are_steps(folder):
    """As vLLM, SGLang and ATOM write them, with and without roofline annotations."""
    passes = ["execute_context_2(6144)_generation_3(3)",
              "execute_64_context_0(sq0sk0sqsq0sqsk0)_generation_64(sq64sk131072sqsq64sqsk131072)",
              "step[EXTEND bs=2 toks=14721 c_sq=14721 c_sqsq=108745533 c_sqsk=108745533 c_sk=14721]", "step[DECODE bs=64]",
              "prefill[bs=2 tok=14721 ctx=[7803, 6918]]", "decode[bs=64/128 tok=64 d=64 sqsq=64 sqsk=131072 sk=131072]"]
    job = Job(8, WORLD)
    for name in passes:
        for rank in range(8):
            job.events[rank].append({"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": job.at[rank] + 10000, "dur": 800})
        job.compute(500)
        job.collective("0", "allreduce", 32 * MIB, 310.0)
    job.write(folder)
    answer = found(folder)
    assert answer["step"]["steps"] == 6, answer["step"]
    (said,) = [note for note in answer["notes"] if "forward passes" in note]
    assert "3 with prompts, 11862 of their tokens" in said and "3 that only decode, 64 requests" in said and "2048 tokens of context" in said, said


def test_calls_that_are_all_alike_tell_of_no_step(folder):
    job = Job(8, WORLD)
    for _ in range(8):
        job.compute(500)
        job.collective("0", "allreduce", 32 * MIB, 310.0)
    job.write(folder)
    assert found(folder)["step"]["steps"] == 1


def test_equal_buckets_at_the_end_of_one_step_are_no_steps(folder):
    job = Job(8, WORLD)
    for _ in range(6):
        job.compute(2000)
        job.collective("0", "_allgather_base", MIB, 68.0, out=8 * MIB)
    for _ in range(4):
        job.collective("0", "allreduce", 32 * MIB, 310.0)
    job.write(folder)
    assert found(folder)["step"]["steps"] == 1


def test_times_that_no_wire_allows_are_impossible_and_never_better(folder):
    sound_job(wire=20.0).write(folder)
    answer = found(folder)
    (reduce,) = rows(answer, "all_reduce")
    assert reduce["verdict"] == "impossible", reduce
    assert COMMAND.works(folder).startswith("Impossible: 1 of 2 kinds"), "no other is slow, and it is said first"
    judged = json.loads(DIAGNOSE.works(folder, "--json"))
    assert judged["state"] == "nothing_to_judge" and "impossible" in judged["verdict"], judged


def test_a_machine_with_other_gpus_is_wrong(folder):
    sound_job().write(folder)
    assert any("dgx-b200 has b200-sxm" in note for note in found(folder, "--system", "dgx-b200")["notes"])
    judged = json.loads(DIAGNOSE.works(folder, "--system", "dgx-b200", "--json"))
    assert judged["state"] == "nothing_to_judge" and [one["cause"] for one in judged["causes"]] == ["wrong_machine"], judged


def test_a_rank_that_is_given_twice_is_refused(folder):
    sound_job().write(folder)
    COMMAND.refused(folder / "rank0.json", folder / "rank0.json", saying=["rank 0 is given twice"])


def test_sizes_tell_the_ranks_of_a_gather_or_scatter(folder):
    """From 65,536 elements to 8,192: of 8 ranks, whatever group of 16 the event names."""
    job = Job(16, {"0": ("default_pg", list(range(16)))})
    for _ in range(3):
        job.compute(500)
        job.collective("0", "_reduce_scatter_base", 65536, 40.0, out=8192)
        job.collective("0", "_allgather_base", 4096, 40.0, out=65536)
    job.write(folder)
    answer = found(folder)
    assert {row["ranks"] for row in rows(answer, "reduce_scatter")} == {8}, answer["collectives"]
    assert {row["ranks"] for row in rows(answer, "all_gather")} == {16}, answer["collectives"]


def test_random_jobs_have_no_collective_on_a_wrong_group_and_none_below_the_machine(folder):
    called = {"all_reduce": "allreduce", "all_gather": "_allgather_base", "reduce_scatter": "_reduce_scatter_base"}
    for seed in range(20):
        made = random.Random(seed)
        world = made.choice([8, 16])
        halves = made.choice([(range(world // 2), range(world // 2, world)), (range(0, world, 2), range(1, world, 2)),
                              ([0, world - 1], [1, 2, 5])])
        groups = {"0": ("default_pg", list(range(world))), "1": ("tp", list(halves[0])), "2": ("tp", list(halves[1]))}
        job, meant = Job(world, groups, seed=seed), {}
        for _ in range(made.randrange(3, 8)):
            job.compute(made.uniform(50, 3000))
            group, what, size = made.choice("0012"), made.choice(list(called.values())), 2 ** made.randrange(12, 27)
            of = len(groups[group][1])
            # shapes may tell of fewer ranks than the group has
            ranks = of if what == "allreduce" else made.choice([n for n in (2, 4, 8, 16) if n <= of])
            large, small = (size, size) if what == "allreduce" else (size, size // ranks)
            given, out = (small, large) if what == "_allgather_base" else (large, small)
            job.collective(group, what, given, 10 ** made.uniform(0.5, 4.5), out=out)
            meant.setdefault((what, 2 * large), set()).add(ranks)
        place = folder / str(seed)
        job.write(place)
        for row in found(place, "--calls")["collectives"]:
            assert row["ranks"] in meant[called[row["operation"]], row["bytes"]], (seed, row)
            least = row["bytes"] * (1 if row["operation"] == "all_reduce" else 1 - 1 / row["ranks"]) / 450e9
            assert row["predicted_s"] is None or row["interval_s"][0] > 0.99 * least, (seed, row)
            assert row["wire_s"] > 0.95 * least or row["verdict"] in ("impossible", "unknown"), (seed, row)


def test_a_late_rank_is_named_and_its_lateness_is_no_wire(folder):
    sound_job(late={5: 1500}).write(folder)
    answer = found(folder)
    (reduce,) = rows(answer, "all_reduce")
    near(reduce["wire_s"], 310e-6, 0.05)
    near(reduce["wait_s"], 1500e-6, 0.05)
    assert reduce["last_rank"] == 5 and reduce["verdict"] == "sound", reduce
    assert answer["findings"][0].startswith("Rank 5 comes last"), answer["findings"]
    assert answer["waits"][0]["for_rank"] == 5
    late = max(answer["ranks"], key=lambda one: one["others_wait_s"])
    assert late["rank"] == 5
    near(late["others_wait_s"], 5 * 1500e-6, 0.1)
    sound_job(steps=20, late={5: 1500}).write(folder / "steps")
    answer = found(folder / "steps")
    waited, each = re.search(r"waits ([\d.]+) ms (a step )?for it", answer["findings"][0]).groups()
    near(float(waited), 1.5 * 20 / answer["step"]["steps"], 0.1)
    assert (each is not None) == (answer["step"]["steps"] > 1), answer["findings"]


def test_clocks_apart_and_drifting_change_nothing(folder):
    clock = [0, 350, -12000, 8e5, 41, -77, 5000, 1e6]
    sound_job(steps=20, late={5: 1500}, clock=clock, rate=[0, 2e-5, -1e-5, 0, 0, 3e-5, 0, 0]).write(folder)
    answer = found(folder)
    (reduce,) = rows(answer, "all_reduce")
    near(reduce["wire_s"], 310e-6, 0.05)
    near(reduce["wait_s"], 1500e-6, 0.06)
    assert reduce["last_rank"] == 5
    assert answer["clock_doubt_s"] < 5e-6, answer["clock_doubt_s"]
    near(answer["ranks"][3]["clock_s"] - answer["ranks"][0]["clock_s"], 0.8, 1e-3)


def test_clocks_of_two_ranks_are_brought_together(folder):
    job = Job(2, {"0": ("default_pg", [0, 1])}, year=2026)  # whose calls are numbered
    job.clock = [0, 5e5]
    for _ in range(8):
        job.compute(1000, {1: 700})
        job.collective("0", "allreduce", 32 * MIB, 248.0)
    job.write(folder)
    (reduce,) = rows(found(folder), "all_reduce")
    near(reduce["wire_s"], 248e-6, 0.05)
    near(reduce["wait_s"], 700e-6, 0.06)
    assert reduce["last_rank"] == 1, reduce


def test_a_rank_in_two_files_is_one_rank(folder):
    job = sound_job(steps=6)
    for name in ("whole", "halves"):
        job.write(folder / name)
    file = folder / "halves" / "rank0.json"
    trace = json.loads(file.read_text())
    events = sorted(trace["traceEvents"], key=lambda one: one["args"]["External id"])
    for part, name in ((events[:len(events) // 2], "rank0.json"), (events[len(events) // 2:], "rank0-later.json")):
        (folder / "halves" / name).write_text(json.dumps({**trace, "traceEvents": part}))
    whole, halves = found(folder / "whole"), found(folder / "halves")
    assert len(halves["ranks"]) == 8
    near(halves["step"]["step_s"], whole["step"]["step_s"], 1e-6)
    assert halves["step"]["terms"] == whole["step"]["terms"], halves["step"]


def test_nothing_is_idle_between_the_windows_of_a_profiler(folder):
    sound_job(steps=6).write(folder / "one")
    sound_job(steps=6).write(folder / "two")
    for file in sorted((folder / "two").glob("*.json")):  # an hour later, as a schedule that repeats writes it
        trace = json.loads(file.read_text())
        later = [{**event, "ts": event["ts"] + 3600e6} for event in trace["traceEvents"]]
        (folder / "two" / f"later-{file.name}").write_text(json.dumps({**trace, "traceEvents": later}))
    one, two = found(folder / "one"), found(folder / "two")
    traced = [answer["step"]["steps"] * answer["step"]["step_s"] for answer in (one, two)]
    near(traced[1], 2 * traced[0], 1e-3)
    near(two["ranks"][0]["window_s"], 2 * one["ranks"][0]["window_s"], 1e-3)


def test_traces_of_other_gpus_are_not_windows_of_a_rank(folder):
    job = sound_job()
    job.write(folder / "job")
    job.gpu = "AMD Instinct MI300X"
    job.write(folder / "other", only=[3])
    COMMAND.refused(folder / "job", folder / "other", saying=["rank 3 is traced on NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"])


def test_a_slow_link_is_a_slow_group(folder):
    groups = {str(k): ("dp", [2 * k, 2 * k + 1]) for k in range(4)}
    job = Job(8, groups)
    for _ in range(6):
        job.compute(1000)
        for name in groups:
            job.collective(name, "allreduce", 32 * MIB, 900.0 if name == "2" else 248.0)
    job.write(folder)
    answer = found(folder)
    assert answer["collectives"][0]["group"] == "2" and answer["collectives"][0]["verdict"] == "slow", answer["collectives"][0]
    near(answer["collectives"][0]["wire_s"], 900e-6, 0.05)
    assert all(row["verdict"] == "sound" for row in answer["collectives"][1:]), answer["collectives"]
    assert any("other groups like it" in one and "group 2" in one for one in answer["findings"]), answer["findings"]
    assert all(group["kind"] == "data" and group["tiers"] for group in answer["groups"])


def test_since_when_it_is_slow(folder):
    job = Job(8, WORLD)
    for step in range(12):
        job.compute(1000)
        job.collective("0", "allreduce", 32 * MIB, 310.0 if step < 8 else 800.0)
    job.write(folder)
    (reduce,) = rows(found(folder), "all_reduce")
    assert reduce["verdict"] == "slow"
    near(reduce["slow_since_s"], 8 * 1.31e-3 + 1e-3, 0.05)


def test_the_longest_wait_is_named_with_its_time(folder):
    job = Job(8, WORLD)
    for step in range(12):
        job.compute(1000, {5: 90000} if step == 9 else None)
        job.collective("0", "allreduce", 32 * MIB, 310.0)
    job.write(folder)
    said = found(folder)["findings"][0]
    assert said.startswith("Rank 5 comes last to ") and re.search(r"at 12\.\d+ ms, 9\d\.?\d* ms of waiting", said), said


def test_few_calls_that_stall_are_found_though_the_middle_one_is_sound(folder):
    for name, stalled in (("stalls", 30000.0), ("sound", 700.0)):
        job = Job(8, WORLD)
        for step in range(40):
            job.compute(1000)
            job.collective("0", "allreduce", 32 * MIB, stalled if step % 13 == 5 else 310.0)
        job.write(folder / name)
    (said,) = found(folder / "stalls")["findings"]
    assert "takes 30.0 ms in 3 of 40 calls, where 311 us is usual, first at 7.6" in said, said
    assert COMMAND.works(str(folder / "stalls")).startswith("all_reduce of 64 MiB in group 0 takes 30.0 ms in 3 of 40 calls")
    assert not found(folder / "sound")["findings"]
    for name, verdict in (("stalls", "slow: all_reduce of 64 MiB in group 0 takes 30.0 ms"), ("sound", "as predicted: ")):
        assert DIAGNOSE.works(str(folder / name)).startswith(verdict)  # a folder of traces, as its files


def test_gpus_that_stand_idle_most_of_a_step_are_said(folder):
    job = Job(8, WORLD)
    for _ in range(6):
        for rank in range(8):
            job.at[rank] += 20000  # the loader
        job.compute(5000)
        job.collective("0", "allreduce", 32 * MIB, 310.0)
    job.write(folder)
    assert found(folder)["findings"][0].startswith("GPUs stand idle for "), found(folder)["findings"]
    assert COMMAND.works(str(folder)).startswith("GPUs stand idle for ")
    assert "GPUs stand idle for " in DIAGNOSE.works(str(folder)), "a note, where no collective is slow"


def test_a_coalesced_burst_is_one_call(folder):
    sound_job(messages=8).write(folder)
    (reduce,) = rows(found(folder), "all_reduce")
    assert reduce["messages"] == 8 and reduce["count"] == 5 and reduce["bytes"] == 64 * MIB, reduce
    near(reduce["wire_s"], 310e-6, 0.05)
    assert reduce["verdict"] == "sound"


def test_one_rank_gives_upper_bounds(folder):
    sound_job(late={5: 1500}).write(folder, only=[0])
    answer = found(folder)
    (reduce,) = rows(answer, "all_reduce")
    assert reduce["bound"] == "upper" and reduce["ranks_seen"] == 1 and reduce["last_rank"] is None
    near(reduce["wire_s"], 1810e-6, 0.1)
    assert reduce["verdict"] == "slow_or_waiting"
    assert any("upper bounds" in note for note in answer["notes"])


def test_windows_that_begin_at_different_calls_are_matched(folder):
    job = sound_job(steps=8, late={5: 1500})
    for rank in range(1, 8):  # the trace of rank 0 begins earlier, that of others ends later
        cut = sorted(e["ts"] for e in job.events[rank] if "AllReduce" in e["name"])[1] - 50
        job.events[rank] = [e for e in job.events[rank] if e["ts"] > cut]
    job.write(folder)
    answer = found(folder, "--calls")
    whole = [row for row in answer["collectives"] if row["bound"] == "exact" and row["operation"] == "all_reduce"]
    assert len(whole) == 7, len(whole)
    assert all(abs(row["wire_s"] - 310e-6) < 16e-6 and row["last_rank"] == 5 for row in whole), whole


def test_few_calls_as_regular_as_a_clock_are_matched_in_order(folder):
    job = Job(4, {"0": ("default_pg", [0, 1, 2, 3])})
    for _ in range(3):
        job.compute(500, {2: 900})
        job.collective("0", "allreduce", 16 * MIB, 175.0)
    job.write(folder)
    (reduce,) = rows(found(folder), "all_reduce")
    assert reduce["count"] == 3 and reduce["ranks_seen"] == 4 and reduce["verdict"] == "sound", reduce


def test_packed_traces_numbered_calls_and_folders_with_other_files(folder):
    sound_job(year=2026).write(folder, packed=True)
    (pathlib.Path(folder) / "settings.json").write_text('{"lr": 0.1}')
    answer = found(folder)
    assert len(answer["ranks"]) == 8 and rows(answer, "all_reduce")[0]["count"] == 5
    assert any("no trace" in one["reason"] for one in answer["skipped"])


def test_kinds_of_groups_without_names(folder):
    groups = {"1": ("undefined", [0, 1, 2, 3]), "2": ("undefined", [4, 5, 6, 7]),
              **{str(10 + k): ("undefined", [k, k + 4]) for k in range(4)}, "30": ("undefined", list(range(8)))}
    job = Job(8, groups)
    for _ in range(3):
        for _ in range(12):
            job.compute(300)
            for name in ("1", "2"):
                job.collective(name, "allreduce", 4 * MIB, 70.0)
        job.collective("30", "all_to_all", MIB, 60.0)
        for bucket in range(3):
            for k in range(4):
                job.collective(str(10 + k), "allreduce", (bucket + 5) * MIB, 150.0)
    job.write(folder)
    kinds = {group["name"]: group["kind"] for group in found(folder)["groups"]}
    assert kinds == {"1": "tensor", "2": "tensor", "10": "data", "11": "data", "12": "data", "13": "data", "30": "expert"}, kinds


if __name__ == "__main__":
    run_tests(globals())
