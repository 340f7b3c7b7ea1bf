"""fabricost trace on an export of Nsight Systems, as it writes SQLite databases: a node's ranks, whose truth is known."""
import gzip
import os
import sqlite3
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))
from command import run_tests  # noqa: E402
from trace_answers import COMMAND, MIB, found, near, rows  # noqa: E402


def nsys_export(path, ranks=4, late=2, payloads=True, launches=True):
    """A node's export, as it is written as SQLite: all ranks run all-reduces of 32 MiB in a communicator of all, gathers of
    4 MiB a rank in one launch of two within a group, and kernels that compute."""
    base = sqlite3.connect(path)
    base.executescript("""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
        CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT);
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER,
            streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, globalPid INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER, globalTid INTEGER,
            correlationId INTEGER, nameId INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
            color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, jsonText TEXT,
            binaryData BLOB);
        CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER NOT NULL, schemaId INTEGER NOT NULL, idx INTEGER NOT NULL,
            flags INTEGER, type INTEGER, name TEXT, description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER);
    """)
    base.executemany("INSERT INTO StringIds VALUES (?, ?)", [
        (1, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"), (2, "ncclDevKernel_AllGather_RING_LL(x)"),
        (3, "sm90_xmma_gemm_bf16bf16"), (4, "ncclAllReduce"), (5, "ncclAllGather"), (6, "ncclCommInitRank")])
    base.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3')")
    base.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1, '', 'Hostname', 0, 'node-7')")
    base.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1748030377748202000, '', '')")
    members = [(7, 0, 18, "NCCL communicator ID", None), (7, 1, 5, "No. of ranks", 8), (7, 2, 5, "Rank", 12), (7, 3, 5, "CUDA device", 16),
               (8, 0, 18, "NCCL communicator ID", None), (8, 1, 22, "Message size [bytes]", 8)]
    base.executemany("INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, ?, ?, NULL, ?, ?, NULL, NULL, ?)", members)

    def blob(schema, data):
        return struct.pack("<IIIIQQ", 1, 0, schema, 0, len(data), 32 + len(data)) + data

    communicator = 0x9f3c5d7716aa02e1
    for rank in range(ranks):
        process, number = (1000 + rank) << 24, [10]
        thread = process | (1000 + rank)

        def range_of(start, end, text, data):
            base.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, NULL, NULL, NULL, ?, NULL, ?, 1, NULL, ?)",
                         (start, end, thread, text, data if payloads else None))

        def kernel(start, end, name, launch=None):
            number[0] += 1
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, 1, 7, ?, ?, ?, ?)",
                         (start, end, rank, number[0], process, name, name))
            if launch is not None and launches:
                base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 0)",
                             (launch, launch + 5000, thread, number[0]))

        range_of(1000, 900000, 6, blob(7, struct.pack("<QIII4x", communicator, ranks, rank, rank)))
        for step in range(5):
            at = 10_000_000 + 5_000_000 * step
            come = at + (900_000 if rank == late else 100_000)
            kernel(at, come, 3, at - 50_000)
            range_of(at - 40_000, at - 20_000, 4, blob(8, struct.pack("<QQ", communicator, 32 * MIB)))
            kernel(come, at + 1_100_000 + 200 * rank, 1, at - 30_000)
            for k in range(2):  # a group: both calls return before its end launches them
                range_of(at + 2_000_000 + 9000 * k, at + 2_005_000 + 9000 * k, 5, blob(8, struct.pack("<QQ", communicator, 4 * MIB)))
            kernel(at + 3_000_000, at + 3_080_000 + 200 * rank, 2, at + 2_030_000)
        base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, ?)", (34_000_000, 34_500_000, rank, process))
    base.commit()
    base.close()


def test_nsys_exports_are_joined_by_launches_and_ranges(folder):
    nsys_export(folder / "node.sqlite")
    before = sorted(os.listdir(folder))
    answer = found(folder, "--system", "dgx-h100")
    assert sorted(os.listdir(folder)) == before  # no journal beside it
    (reduce,), (gather,) = rows(answer, "all_reduce"), rows(answer, "all_gather")
    near(reduce["wire_s"], 200e-6, 0.02)
    near(reduce["wait_s"], 800e-6, 0.02)
    assert reduce["last_rank"] == 2 and reduce["bytes"] == 32 * MIB and reduce["count"] == 5 and reduce["bound"] == "exact", reduce
    assert gather["bytes"] == 2 * 4 * 4 * MIB and gather["messages"] == 2 and gather["count"] == 5, gather
    assert [rank["rank"] for rank in answer["ranks"]] == [0, 1, 2, 3] and answer["groups"][0]["ranks"] == [0, 1, 2, 3]
    spent = {term["name"]: term["time_s"] for term in answer["step"]["terms"]}
    assert answer["step"]["steps"] == 5, answer["step"]  # no range marks them, its calls repeat
    near(spent["compute"], (3 * 0.5e-3 + 4.5e-3) / 4 / 5, 0.01)
    near(spent["copies"], 0.5e-3 / 5, 0.01)


def test_an_nsys_export_without_payloads_knows_kernels_alone(folder):
    nsys_export(folder / "bare.sqlite", ranks=1, late=9, payloads=False)
    answer = found(folder / "bare.sqlite")
    seen = {(row["operation"], row["bytes"], row["ranks"]) for row in answer["collectives"]}
    assert seen == {("all_reduce", None, 0), ("all_gather", None, 0)}, seen
    assert answer["system"] == "dgx-h100"


def test_a_database_of_something_else_and_a_damaged_one_are_refused(folder):
    sqlite3.connect(folder / "other.sqlite").execute("CREATE TABLE a (b)").connection.commit()
    COMMAND.refused(folder / "other.sqlite", saying=["is a database, but no export of Nsight Systems"])
    nsys_export(folder / "node.sqlite", ranks=1)
    whole = (folder / "node.sqlite").read_bytes()
    (folder / "cut.sqlite").write_bytes(whole[: len(whole) // 2])
    COMMAND.refused(folder / "cut.sqlite", saying=["cut.sqlite"])
    (folder / "packed.sqlite.gz").write_bytes(gzip.compress(whole))
    COMMAND.refused(folder / "packed.sqlite.gz", saying=["unpack it"])


if __name__ == "__main__":
    run_tests(globals())
