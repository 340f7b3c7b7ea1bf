"""fabricost trace on what other tools write: small files in their formats, of jobs whose truth is known."""
import json
import os
import pathlib
import pickle
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))
from command import Command  # noqa: E402

COMMAND = Command(sys.argv[1], "trace")
MIB = 1 << 20


def found(*words):
    return json.loads(COMMAND.works(*map(str, words), "--json"))


def rows(answer, operation):
    return [row for row in answer["collectives"] if row["operation"] == operation]


def near(value, truth, part=1e-6):
    assert abs(value - truth) <= part * abs(truth), (value, truth)


def noted(answer, words):
    assert any(words in note for note in answer["notes"]), answer["notes"]


# NCCL Inspector


def inspector(kind, communicator, own, ranks, number, size, us, at=1748030377748202, process=0, host="node-0", **more):
    prefix = "p2p" if "p2p_peer" in more else "coll"
    call = {prefix: kind, f"{prefix}_sn": number, f"{prefix}_msg_size_bytes": size, f"{prefix}_exec_time_us": us,
            f"{prefix}_timing_source": "kernel_gpu", **more}
    return {"header": {"id": communicator, "comm_name": "unknown", "rank": own, "n_ranks": ranks, "nnodes": 1},
            "metadata": {"inspector_output_format_version": "v4.2", "dump_timestamp_us": at, "hostname": host, "pid": process},
            f"{prefix}_perf": call}


def inspected_job(folder, late=3):
    """Eight ranks; one is late to the all-reduces, which take 300 us. Gathers in four pairs, whose members are ranks r and r + 4."""
    for rank in range(8):
        records = [{"header": {"id": "0xaa", "rank": rank, "n_ranks": 8}, "metadata": {"hostname": "node-0", "pid": 100 + rank},
                    "dump_stats": {"coll_records": 10}}]
        for step in range(5):
            at = 1748030377748202 + 10000 * step + 37 * rank
            us = 300 if rank == late else 1100 + rank
            records.append(inspector("AllReduce", "0xaa", rank, 8, step, 64 * MIB, us, at, 100 + rank))
            records.append(inspector("AllGather", f"0xb{rank % 4}", rank // 4, 2, step, 8 * MIB, 60, at + 5000, 100 + rank))
        (folder / f"nccl-inspector-{rank}.log").write_text("".join(json.dumps(one) + "\n" for one in records))


def test_inspector_lengths_across_ranks_tell_who_was_late(folder):
    inspected_job(folder)
    answer = found(folder, "--system", "dgx-h100")
    (reduce,) = rows(answer, "all_reduce")
    near(reduce["wire_s"], 300e-6)
    near(reduce["wait_s"], 807e-6)  # rank 7's 1,107 us
    assert reduce["last_rank"] == 3 and reduce["bound"] == "exact" and reduce["bytes"] == 64 * MIB and reduce["count"] == 5, reduce
    assert answer["findings"][0].startswith("Rank 3 comes last to 5 collectives"), answer["findings"]
    assert not answer["step"]["terms"] and answer["step"]["step_s"] == 0
    noted(answer, "how long they took, not when")


def test_inspector_sizes_of_gathers_are_one_ranks_part_and_groups_are_those_of_processes(folder):
    inspected_job(folder)
    answer = found(folder, "--system", "dgx-h100")
    assert {tuple(group["ranks"]) for group in answer["groups"]} == {tuple(range(8)), (0, 4), (1, 5), (2, 6), (3, 7)}
    gathers = rows(answer, "all_gather")
    assert len(gathers) == 4 and all(row["bytes"] == 16 * MIB and row["ranks"] == 2 for row in gathers), gathers


def test_inspector_verbose_records_say_when(folder):
    for rank in range(2):
        start = 5_000_000 + 400 * rank
        channels = [{"channel_id": c, "kernel_start_ts": start + c, "kernel_stop_ts": 5_001_000 + c} for c in range(2)]
        record = inspector("ReduceScatter", "0xc", rank, 2, 7, MIB, 600, process=rank,
                           event_trace_ts={"coll_start_ts": 1, "coll_stop_ts": 9, "kernel_events": channels})
        (folder / f"{rank}.json").write_text(json.dumps(record) + "\n")
    answer = found(folder, "--system", "dgx-h100")
    (row,) = answer["collectives"]
    near(row["wire_s"], 601e-6)
    near(row["wait_s"], 400e-6)
    assert row["bytes"] == 2 * MIB and row["last_rank"] == 1, row


def test_inspector_sends_are_of_two_ranks(folder):
    text = "".join(json.dumps(inspector(kind, "0xd", own, 4, 1, MIB, us, process=own, p2p_peer=peer)) + "\n"
                   for kind, own, peer, us in (("Send", 1, 3, 90), ("Recv", 3, 1, 40)))
    (folder / "one.log").write_text(text)
    (row,) = found(folder / "one.log", "--system", "dgx-h100")["collectives"]
    assert row["operation"] == "send_recv" and row["ranks_seen"] == 2 and row["bound"] == "exact" and row["last_rank"] == 3, row
    near(row["wire_s"], 40e-6)


def test_an_inspector_file_that_ends_in_a_record_is_read_up_to_it(folder):
    whole = json.dumps(inspector("AllReduce", "0xe", 0, 2, 1, MIB, 50))
    (folder / "cut.log").write_text(whole + "\n" + whole[:100])
    answer = found(folder / "cut.log", "--system", "dgx-h100")
    assert len(answer["collectives"]) == 1 and answer["skipped"] == [{"reason": "a record that the end of the file cuts", "events": 1}]
    (folder / "only.log").write_text(whole[:-100])
    COMMAND.refused(folder / "only.log", "--system", "dgx-h100", saying=["ends inside a text", "only.log:1"])


# PyTorch's flight recorder


def recorded(rank, timed, late=2):
    """Four all-reduces of 8 MiB, 200 us each, a gather of which no time is known, and two that were coalesced."""
    def entry(number, name, elements, out, ms, **more):
        at = 1724779239936775119 + 1000000 * number + 7000 * rank
        return {"record_id": number, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": number, "op_id": number,
                "profiling_name": name, "time_created_ns": at, "input_sizes": [[elements // 64, 64]], "input_dtypes": ["BFloat16"],
                "output_sizes": [[out // 64, 64]], "output_dtypes": ["BFloat16"], "state": "completed",
                "time_discovered_completed_ns": at + 500000, "retired": True, "is_p2p": False, **({"duration_ms": ms} if ms else {}), **more}
    us = 200 if rank == late else 900
    entries = [entry(n, "nccl:all_reduce", 4 * MIB, 4 * MIB, us / 1000 if timed else None) for n in range(1, 5)]
    entries.append(entry(5, "nccl:_all_gather_base", MIB, 4 * MIB, None))
    entries += [entry(6, "nccl:reduce_scatter_tensor_coalesced", 4 * MIB, MIB, None) for _ in range(2)]
    return {"version": "2.5", "nccl_version": "2.26.2", "rank": rank,
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}, "entries": entries}


def flight_dumps(folder, timed=True):
    for rank in range(4):
        if rank % 2:
            (folder / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(recorded(rank, timed), protocol=2))
        else:
            (folder / f"dump_{rank}.json").write_text(json.dumps(recorded(rank, timed)))


def test_flight_recorder_lengths_are_matched_across_pickles_and_json(folder):
    flight_dumps(folder)
    answer = found(folder, "--system", "dgx-h100")
    (reduce,) = rows(answer, "all_reduce")
    near(reduce["wire_s"], 200e-6)
    near(reduce["wait_s"], 700e-6)
    assert reduce["last_rank"] == 2 and reduce["bytes"] == 8 * MIB and reduce["count"] == 4 and reduce["bound"] == "exact", reduce
    assert [group["ranks"] for group in answer["groups"]] == [[0, 1, 2, 3]]


def test_what_the_flight_recorder_did_not_time_has_no_time(folder):
    flight_dumps(folder, timed=False)
    answer = found(folder, "--system", "dgx-h100")
    assert {row["bound"] for row in answer["collectives"]} == {"none"}
    assert {row["verdict"] for row in answer["collectives"]} == {"unknown"}
    (gather,), (scatter,) = rows(answer, "all_gather"), rows(answer, "reduce_scatter")
    assert gather["bytes"] == 8 * MIB and gather["predicted_s"] > 0 and gather["wire_s"] == 0, gather
    assert scatter["bytes"] == 16 * MIB and scatter["messages"] == 2 and scatter["count"] == 1, scatter
    noted(answer, "says no time")
    assert "not said" in COMMAND.works(folder, "--system", "dgx-h100")


def test_a_pickle_of_something_else_is_refused(folder):
    (folder / "other.pkl").write_bytes(pickle.dumps({"weights": [1, 2]}, protocol=2))
    COMMAND.refused(folder / "other.pkl", saying=["is no dump of PyTorch's flight recorder"])


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory() as folder:
                test(pathlib.Path(folder))
            print("ok", name)
