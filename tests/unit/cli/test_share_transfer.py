#!/usr/bin/env python3
"""fabricost share and fabricost transfer from outside, against arithmetic done here.

    test_share_transfer.py FABRICOST
"""
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command

TOOL = sys.argv[1]
SHARE, TRANSFER = Command(TOOL, "share"), Command(TOOL, "transfer")
PREDICT = Command(TOOL, "predict")


def close(a, b, within=1e-6):
    assert math.isclose(a, b, rel_tol=within), (a, b)


def shared(*arguments):
    return json.loads(SHARE.works(*arguments, "--json"))


def of(*words):
    return [part for one in words for part in ("--of", one)]


def data_parallel_rings_of_all_tensor_ranks_meet_where_nics_are_shared():
    # 4 NICs for 8 GPUs: each carries the rings of two tensor ranks; with 8 NICs each has its own
    for system, slow_down in (("aws-p4d", 2), ("dgx-h100", 1), ("dgx-a100", 1)):
        (row,) = shared("--system", system, "--nodes", 4, "--layout", "tp=8,dp", *of("all_reduce 1GiB over dp by ring"))["collectives"]
        assert (row["groups"], row["alone"]["ranks"], row["stride"], row["alone"]["nodes"]) == (8, 4, 8, 4), row
        close(row["slow_down"], slow_down)
        assert row["link"]["name"].startswith("nic 0 of node 0"), row["link"]
        (sharers,) = row["link"]["sharers"]
        assert sharers["groups"] == slow_down, sharers
        wire = sum(t["time_us"] for t in row["alone"]["terms"] if t["name"] == "wire")
        close(row["time_us"], row["alone"]["time_us"] + (slow_down - 1) * wire)


def a_group_alone_takes_what_predict_says():
    (row,) = shared("--system", "dgx-h100", "--nodes", 4, *of("all_reduce 64MiB"))["collectives"]
    alone = json.loads(PREDICT.works("all_reduce", "--system", "dgx-h100", "--nodes", 4, "--size", "64MiB", "--json"))
    assert row["alone"] == alone
    close(row["slow_down"], 1)
    close(row["time_us"], alone["time_us"])
    # one rank of each rack: the NICs decide, though two racks are 36 nodes
    (racks,) = shared("--system", "gb200-nvl72", "--nodes", 36, *of("all_reduce 1GiB over 2 every 72 by ring"))["collectives"]
    assert racks["alone"]["bottleneck"] == "nic" and racks["groups"] == 72, racks


def two_equal_exchanges_halve_each_other():
    rows = shared("--system", "dgx-h100", "--nodes", 2, *of("all_to_all 64MiB", "all_to_all 64MiB"))["collectives"]
    for row in rows:
        close(row["slow_down"], 2)
    heavy, light = shared("--system", "dgx-h100", "--nodes", 2, *of("all_to_all 64MiB weight 3", "all_to_all 64MiB"))["collectives"]
    close(heavy["slow_down"], 4 / 3)
    close(light["slow_down"], 4)
    hashed = shared("--system", "meta-24k-roce", "--nodes", 384, "--balancing", "hashed", *of("all_to_all 64MiB"))["collectives"][0]
    assert hashed["link"]["capacity_GBps"] > 0


def layouts_name_groups():
    plain = shared("--system", "dgx-h100", "--nodes", 8, *of("all_reduce 1MiB over 4", "all_gather 1MiB over 16 every 4"))["collectives"]
    named = shared("--system", "dgx-h100", "--nodes", 8, "--layout", "tp=4,dp", *of("all_reduce 1MiB over tp", "all_gather 1MiB over dp"))
    for a, b in zip(plain, named["collectives"]):
        assert a["groups"] == b["groups"] and a["stride"] == b["stride"]
        close(a["time_us"], b["time_us"])


def aggregations_take_turns_where_trees_are_few():
    # eight rails at once: on Quantum-2 each port has a stream of its own
    eight = ["--system", "superpod-h100", "--nodes", 8, "--set", "nic.sharp=true", *of("all_reduce 64MiB over 8 every 8 by sharp")]
    assert shared(*eight)["sharp_turns"] == 1
    (row,) = shared(*eight)["collectives"]
    close(row["slow_down"], 1)
    two = shared("--system", "superpod-h100", "--nodes", 8, "--set", "nic.sharp=true",
                 *of("all_reduce 64MiB by sharp", "all_reduce 64MiB by sharp"))
    assert two["sharp_turns"] == 2, two["sharp_turns"]
    assert shared("--system", "superpod-h100", "--nodes", 8, *of("all_reduce 64MiB"))["sharp_turns"] is None


def weights_take_what_the_slowest_part_says():
    payload = 4096 / 4178  # RoCE packets, data/links/ethernet-100.yaml
    asked = ["storage", "--system", "dgx-h100", "--nodes", 16, "--size", "810GB", "--client", "ethernet-100", "--ports", 2]
    got = {w["sharing"]: w for w in json.loads(TRANSFER.works(*asked, "--json"))["ways"]}
    close(got["every_node"]["direct"]["time_s"], 810e9 / (2 * 12.5e9 * payload))
    close(got["by_part"]["direct"]["time_s"], 810e9 / 16 / (2 * 12.5e9 * payload))
    gather = json.loads(PREDICT.works("all_gather", "--system", "dgx-h100", "--nodes", 16, "--ranks", 16, "--size", 810000000000 // 8,
                                      "--json"))
    close(got["gathered"]["direct"]["time_s"], got["by_part"]["direct"]["time_s"] + gather["time_us"] * 1e-6)
    (each,) = json.loads(TRANSFER.works("storage", "--system", "dgx-h100", "--nodes", 4, "--per-gpu", "10GB", "--read-rate", "20 GB/s",
                                        "--json"))["ways"]
    assert each["sharing"] == "by_part"
    close(each["direct"]["time_s"], 80e9 / 20e9)
    for same in ("160 Gbit/s", "20 GB/s per direction", "40 GB/s both directions"):
        (one,) = json.loads(TRANSFER.works("storage", "--system", "dgx-h100", "--nodes", 4, "--per-gpu", "10GB", "--read-rate", same,
                                           "--json"))["ways"]
        close(one["direct"]["time_s"], each["direct"]["time_s"])
    # a DGX-2: four x16 ports for sixteen GPUs, so the way through the host takes four times as long when storage does not bind
    (dgx2,) = json.loads(TRANSFER.works("storage", "--system", "dgx-2", "--size", "512GB", "--read-rate", "900 GB/s", "--json"))["ways"]
    close(dgx2["through_host"]["time_s"] / dgx2["direct"]["time_s"], 4)
    assert dgx2["through_host"]["bottleneck"] == "port to the host"
    store = json.loads(TRANSFER.works(*asked, "--store-rate", "40 GB/s", "--json"))["ways"][0]["direct"]
    close(store["time_s"], 16 * 810e9 / 40e9)
    assert store["bottleneck"] == "store"
    late = json.loads(TRANSFER.works(*asked, "--latency", "5 ms", "--json"))["ways"][0]["direct"]
    close(late["time_s"] - got["every_node"]["direct"]["time_s"], 5e-3, 1e-6)


def loads_and_stores_meet_rdma_where_their_lines_cross():
    for system in ("dgx-h100", "gb200-nvl72", "ualink-pod"):
        got = json.loads(TRANSFER.works("access", "--system", system, "--json"))
        rows = got["sizes"]
        assert [r["bytes"] for r in rows] == [64 * 2**i for i in range(11)]
        # three points of a line, two lines, their crossing
        slope = lambda key: (rows[-1][key] - rows[0][key]) / (rows[-1]["bytes"] - rows[0]["bytes"])
        start = lambda key: rows[0][key] - slope(key) * rows[0]["bytes"]
        for row in rows:
            close(row["store_us"], start("store_us") + slope("store_us") * row["bytes"])
        for key, meets in (("store_us", "store_until_bytes"), ("load_us", "load_until_bytes")):
            close(got[meets], (start("rdma_us") - start(key)) / (slope(key) - slope("rdma_us")))
        close(start("load_us"), 2 * start("store_us"))
        more = json.loads(TRANSFER.works("access", "--system", system, "--warps", 8, "--json"))
        assert more["in_flight_bytes"] == 8 * got["in_flight_bytes"]
        assert (more["store_until_bytes"] or math.inf) > got["store_until_bytes"]
    tpu = json.loads(TRANSFER.works("access", "--system", "tpu-v5p-cube", "--json"))
    assert tpu["in_flight_bytes"] is None and tpu["store_until_bytes"] is None, tpu
    posted = json.loads(TRANSFER.works("access", "--system", "dgx-h100", "--start", "2 us", "--json"))
    plain = json.loads(TRANSFER.works("access", "--system", "dgx-h100", "--json"))
    close(posted["sizes"][0]["rdma_us"] - plain["sizes"][0]["rdma_us"], 2)


def senders_divide_a_port():
    one, eight = (json.loads(TRANSFER.works("incast", "--system", "dgx-h100", "--senders", n, "--size", "1MiB", "--json")) for n in (1, 8))
    close(one["time_us"], one["alone_us"])
    close(one["rate_GBps"], 8 * eight["rate_GBps"])
    close(eight["time_us"] - one["time_us"], 7 * 2**20 / (one["rate_GBps"] * 1e3))


if __name__ == "__main__":
    tests = [data_parallel_rings_of_all_tensor_ranks_meet_where_nics_are_shared, a_group_alone_takes_what_predict_says,
             two_equal_exchanges_halve_each_other, layouts_name_groups, aggregations_take_turns_where_trees_are_few, weights_take_what_the_slowest_part_says,
             loads_and_stores_meet_rdma_where_their_lines_cross, senders_divide_a_port]
    for test in tests:
        test()
        print("ok", test.__name__)
