"""fabricost trace on files of other tools: small ones in their formats, of jobs whose truth is known."""
import csv
import gzip
import json
import os
import pathlib
import pickle
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))
from command import run_tests  # noqa: E402
from trace_answers import COMMAND, MIB, found, near, rows  # noqa: E402

EPOCH = 1765223116927674080  # ns
MEASURED = pathlib.Path(os.environ.get("FABRICOST_MEASUREMENTS") or sys.argv[2]) / "second" / "traces"


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


def test_inspector_is_read_without_a_machine(folder):
    inspected_job(folder)
    answer = found(folder)
    assert answer["system"] is None and not any(group["tiers"] for group in answer["groups"]), answer["groups"]
    assert len(rows(answer, "all_gather")) == 4, answer["collectives"]


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
                "time_discovered_completed_ns": at + 500000, "retired": True, "is_p2p": False,
                **({"duration_ms": ms} if ms else {}), **more}
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


# NCCL's example profiler plugin


def plugin_events(rank, late=1):
    """Three all-gathers of 4 MiB a rank as the plugin prints them: enqueued together, run in kernels of two channels, 100 us after the
    last rank came; a send between two ranks; what else the plugin dumps."""
    out = [{"name": "Group API", "cat": "GROUP_API", "ph": "b", "id": 0, "pid": 70 + rank, "tid": 1, "ts": 1.0, "args": {"groupDepth": 1}}]

    def pair(name, category, number, start, stop, args, inner=()):
        common = {"name": name, "cat": category, "id": number, "pid": 70 + rank, "tid": 1}
        out.append({**common, "ph": "b", "ts": start, "args": args})
        for one in inner:
            pair(*one)
        out.append({**common, "ph": "e", "ts": stop})

    for n in range(3):
        base, wait = 1000.0 + 5000 * n, 0 if rank == late else 400
        start, stop = base + 400 - wait, base + 500
        kernels = [("KernelCh", "GPU", 10 * n + c, start + 0.5 * c, stop,
                    {"Channel": c, "StartGpuClk": EPOCH + int(1000 * start), "StopGpuClk": EPOCH + int(1000 * stop)})
                   for c in range(2)]
        kernels.append(("ScheduleSend", "PROXY", n, start, stop, {"Channel": 0, "Peer": 1, "Steps": 4}))
        pair("AllGather", "COLL", n, base - 50, stop + 30, {"SeqNum": n, "CommHash": 12715772615376301750, "Rank": rank, "Count": 2 * MIB,
             "Datatype": "ncclBfloat16", "Algorithm": "RING", "Protocol": "SIMPLE", "nChannels": 2}, kernels)
    pair("Send" if rank == 0 else "Recv", "P2P", 0, 20000.0, 20090.0, {"CommHash": 12715772615376301750, "Rank": rank, "Peer": 1 - rank,
         "Count": 1024, "Datatype": "ncclFloat32", "nChannels": 1})
    return out


def test_the_profiler_plugins_kernels_are_the_calls(folder):
    for rank in range(2):  # each event a line, a comma behind it, an empty one last: as it prints them
        text = "[\n" + "".join(json.dumps(event) + ",\n" for event in plugin_events(rank)) + "{}]\n"
        (folder / f"ncclprofiler-{rank}.json").write_text(text)
    answer = found(folder, "--system", "dgx-h100")
    (gather,), (send,) = rows(answer, "all_gather"), rows(answer, "send_recv")
    near(gather["wire_s"], 100e-6, 0.01)
    near(gather["wait_s"], 400e-6, 0.01)
    assert gather["bytes"] == 8 * MIB and gather["count"] == 3 and gather["last_rank"] == 1 and gather["bound"] == "exact", gather
    assert send["bytes"] == 4096 and send["ranks_seen"] == 2, send


# Execution traces, Chakra


def attributes(**values):
    return [{"name": name, "type": "string", "value": value} for name, value in values.items()]


def test_execution_traces_have_structure_and_predictions_but_no_times(folder):
    listed = json.dumps([{"pg_name": "0", "pg_desc": "default_pg", "ranks": [], "group_size": 8, "group_count": 2},
                         {"pg_name": "1", "pg_desc": "tp", "ranks": [0, 1], "group_size": 2, "group_count": 2}])
    nodes = [{"id": 4, "name": "## process_group:init ##", "inputs": {"values": [listed], "shapes": [[]], "types": ["String"]},
              "attrs": []},
             {"id": 5, "name": "aten::mm", "inputs": {"values": []}, "attrs": []}]
    for n in range(3):
        nodes.append({"id": 6 + n, "name": "record_param_comms", "inputs": {"values": [], "shapes": [], "types": []},
                      "attrs": attributes(collective_name="allreduce", dtype="BFloat16", in_msg_nelems=MIB, out_msg_nelems=MIB,
                                          pg_name="1", pg_desc="tp", pg_size=2)})
    nodes.append({"id": 10, "name": "record_param_comms", "attrs": attributes(collective_name="wait", pg_name="1", pg_size=2)})
    (folder / "et_rank1.json").write_text(json.dumps({"schema": "1.1.0-chakra.0.0.4", "pid": 1, "nodes": nodes}))
    answer = found(folder, "--system", "dgx-h100")
    (row,) = answer["collectives"]
    assert row["operation"] == "all_reduce" and row["bytes"] == 2 * MIB and row["count"] == 3 and row["bound"] == "none", row
    assert row["predicted_s"] > 0 and row["verdict"] == "unknown"
    assert answer["ranks"][0]["rank"] == 1 and answer["groups"][0]["ranks"] == [0, 1] and answer["groups"][0]["kind"] == "tensor"
    noted(answer, "says no time")


def test_execution_traces_before_attributes_name_the_operation_among_the_inputs(folder):
    nodes = [{"name": "record_param_comms", "id": 7, "inputs": [[1, 2], 0, "all_to_allv", [768], [768]],
              "input_shapes": [[6144], [], [], [], []], "outputs": [],
              "input_types": ["Tensor(float)", "Int", "String", "GenericList[Int]", "GenericList[Int]"]},
             {"name": "record_param_comms", "id": 8, "inputs": [1, 0, "wait"], "input_shapes": [[], [], []],
              "input_types": ["Int", "Int", "String"]}]
    (folder / "old.json").write_text(json.dumps({"schema": "1.0.1", "nodes": nodes}))
    (row,) = found(folder / "old.json")["collectives"]
    assert row["operation"] == "all_to_all" and row["bytes"] == 4 * 6144 and row["bound"] == "none", row


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def message(*fields):
    """(number, value): a whole number, bytes or text."""
    out = b""
    for number, value in fields:
        value = value.encode() if isinstance(value, str) else value
        out += varint(number << 3 | 2) + varint(len(value)) + value if isinstance(value, bytes) else varint(number << 3) + varint(value)
    return out


def chakra(durations):
    parts = [message((1, message((1, "schema"), (29, "1.0.2-chakra.0.0.4"))))]
    for n, us in enumerate(durations):
        parts.append(message((1, 2 * n), (2, "aten::mm"), (3, 4), (7, 5)))
        node = [(1, 2 * n + 1), (2, "ncclDevKernel_AllReduce"), (3, 7)] + ([(7, us)] if us else [])
        parts.append(message(*node, (10, message((1, "comm_type"), (9, 0))), (10, message((1, "comm_size"), (9, 4 * MIB))),
                             (10, message((1, "pg_name"), (29, "7")))))
    return b"".join(varint(len(part)) + part for part in parts)


def test_chakras_protobuf_has_the_times_that_its_maker_put_in(folder):
    (folder / "timed.3.et").write_bytes(chakra([120, 100, 140]))
    answer = found(folder / "timed.3.et", "--system", "dgx-h100")
    (row,) = answer["collectives"]
    assert (row["operation"], row["bytes"], row["count"], row["group"], row["bound"]) == ("all_reduce", 4 * MIB, 3, "7", "upper"), row
    near(row["wire_s"], 100e-6)
    assert answer["ranks"][0]["rank"] == 3
    (folder / "untimed.0.et").write_bytes(chakra([0, 0]))
    (row,) = found(folder / "untimed.0.et")["collectives"]
    assert row["bound"] == "none" and row["count"] == 2, row
    (folder / "cut.et").write_bytes(chakra([120, 100])[:-7])
    COMMAND.refused(folder / "cut.et", saying=["the file ends inside message 4"])


# Tables


AICB = """comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count
CommType.all_gather,CommGroup.tp_group,2,16777216,forward.Linear,None,None,,0.140,119.59,104.64,1
CommType.all_gather,CommGroup.tp_group,None,16777216,forward.MoE,None,None,,0.130,119.59,104.64,2
CommType.isend,CommGroup.pp_group,2,4096,forward,None,None,send_next,0.02,0,0,1
CommType.computation,None,None,"((4096, 4096), (4096, 1024))",forward,None,None,,1.5,0,0,1
CommType.epoch_end,None,None,0,,None,None,,7950.4,0.0,0.0,1
"""


def test_aicbs_rows_are_calls_of_one_rank(folder):
    (folder / "log.csv").write_text(AICB)
    answer = found(folder / "log.csv", "--system", "dgx-a100")
    (gather,), (send,) = rows(answer, "all_gather"), rows(answer, "send_recv")
    assert gather["count"] == 3 and gather["bytes"] == 16 * MIB and gather["ranks"] == 2 and gather["bound"] == "upper", gather
    near(gather["wire_s"], 130e-6)
    assert send["bytes"] == 4096 and {group["kind"] for group in answer["groups"]} == {"tensor", "pipeline"}
    (folder / "bad.csv").write_text(AICB.replace("0.140", "soon"))
    COMMAND.refused(folder / "bad.csv", saying=["bad.csv:2:", "this is no number"])


def test_tracelens_latencies_are_without_waiting(folder):
    text = ("Collective name,dtype,In msg nelems,Process Group Name,Group size,Full msg size (MB),"
            "comm_latency_mean,comm_latency_median,count\n"
            "_allgather_base,BFloat16,106956800,0,8,1632.03125,6041.8,6065.406,318\nbarrier,Int,,0,8,,,,2\n")
    (folder / "nccl_summary_implicit_sync.csv").write_text(text)
    answer = found(folder, "--system", "mi300x-8")
    (row,) = answer["collectives"]
    assert row["bytes"] == 106956800 * 2 * 8 and row["count"] == 318 and row["bound"] == "exact" and row["verdict"] != "unknown", row
    near(row["wire_s"], 6065.406e-6)
    assert answer["skipped"] == [{"reason": "a row without an operation or a time", "events": 1}]


def test_what_a_published_log_of_aicb_says():
    if not MEASURED.is_dir():
        print(f"skipped: there are no traces in {MEASURED}")
        return
    answer = found(MEASURED / "aicb_a100_example.csv.gz", "--system", "dgx-a100")
    with gzip.open(MEASURED / "aicb_a100_example.csv.gz", "rt") as file:
        said = [row for row in csv.DictReader(file) if row["comm_type"] == "CommType.reduce_scatter" and row["msg_size"] == "16777216"]
    (row,) = [row for row in rows(answer, "reduce_scatter") if row["bytes"] == 16 * MIB]
    assert row["count"] == len(said)
    near(row["wire_s"], min(float(one["_elapsed_time"]) for one in said) / 1e3)
    for row in answer["collectives"]:  # one rank's times contain waiting: none is faster than the machine
        assert row["interval_s"] is None or row["wire_s"] >= 0.95 * row["interval_s"][0], row


if __name__ == "__main__":
    run_tests(globals())
