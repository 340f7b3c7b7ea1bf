"""Collectives at once, and transfers outside of them: the command's times, links and sharers."""
import copy
import pickle

import pytest

import fabricost as fc
from by_command import asked, same

LAYOUT = {"tp": 8, "dp": None}


@pytest.mark.parametrize("system, collectives, options, words", [
    ("aws-p4d", [fc.Grouped(fc.AllReduce(fc.GiB), over="dp")], dict(nodes=8, layout=LAYOUT),
     ["--nodes", 8, "--layout", "tp=8,dp", "--of", "all_reduce 1GiB over dp"]),
    ("dgx-h100", [fc.Grouped(fc.AllReduce(fc.GiB), over="dp", algorithm="ring"), fc.Grouped(fc.AllToAll(64 * fc.MiB), over=8, weight=2)],
     dict(nodes=4, layout=LAYOUT, pxn=False),
     ["--nodes", 4, "--layout", "tp=8,dp", "--no-pxn", "--of", "all_reduce 1GiB over dp by ring",
      "--of", "all_to_all 64MiB over 8 weight 2"]),
    ("dgx-h100", [fc.AllGather(256 * fc.MiB), fc.Grouped(fc.ReduceScatter(256 * fc.MiB, dtype="fp8"), over=4, every=8)],
     dict(nodes=4, choice="fastest"),
     ["--nodes", 4, "--choice", "fastest", "--of", "all_gather 256MiB", "--of", "reduce_scatter 256MiB over 4 every 8 in fp8"]),
    ("dgx-a100", [fc.AllReduce(fc.MiB)], {}, ["--of", "all_reduce 1MiB"]),
])
def test_sharing_is_the_commands(system, collectives, options, words):
    run = fc.share(system, collectives, **options)
    wanted = asked("share", "--system", system, *words)
    assert ((run.nodes, run.gpus, run.balancing, run.sharp_turns, len(run)) ==
            (wanted["nodes"], wanted["gpus"], wanted["balancing"], wanted["sharp_turns"], len(wanted["collectives"])))
    for one, theirs in zip(run, wanted["collectives"]):
        same(one.seconds, theirs["time_us"] / 1e6)
        same(one.alone.seconds, theirs["alone"]["time_us"] / 1e6)
        for name in ("groups", "stride", "slow_down", "least_slow_down"):
            same(getattr(one, name), theirs[name], name)
        link = theirs["link"]
        assert one.link == (link and link["name"])
        if link:
            same(one.link_bytes_per_second, link["capacity_GBps"] * 1e9)
            same(one.link_load_bytes_per_second, link["load_GBps"] * 1e9)
            assert [s.groups for s in one.sharers] == [s["groups"] for s in link["sharers"]]
        assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)
    pytest.importorskip("pandas")
    assert list(run.to_pandas()["seconds"]) == [one.seconds for one in run]


@pytest.mark.parametrize("question, words", [
    (dict(bytes=810e9, nodes=16, client="ethernet-100"), ["--size", "810GB", "--nodes", 16, "--client", "ethernet-100"]),
    (dict(bytes_per_gpu=fc.GiB, nodes=2, read_bytes_per_second=50e9, store_bytes_per_second=60e9, latency_seconds=500e-6),
     ["--per-gpu", "1GiB", "--nodes", 2, "--read-rate", "50 GB/s", "--store-rate", "60 GB/s", "--latency", "500 us"]),
    (dict(bytes=fc.GiB, client="ethernet-25", ports=2, gpus=4, host_memory_bytes_per_second=200e9, behind_host=True),
     ["--size", "1GiB", "--client", "ethernet-25", "--ports", 2, "--gpus", 4, "--host-memory", "200 GB/s", "--behind-host"]),
])
def test_storage_is_the_commands(question, words):
    rows = fc.transfer_storage("dgx-h100", **question)
    wanted = asked("transfer", "storage", "--system", "dgx-h100", *words)
    assert [r.sharing for r in rows] == [w["sharing"] for w in wanted["ways"]]
    for row, theirs in zip(rows, wanted["ways"]):
        same(row.bytes, wanted["bytes"]), same(row.gpus, wanted["gpus"]), same(row.node_bytes_per_second, wanted["node_rate_GBps"] * 1e9)
        for mine, way in (("direct", theirs["direct"]), ("through_host", theirs["through_host"])):
            same(getattr(row, mine + "_seconds"), way["time_s"])
            same(getattr(row, mine + "_bytes_per_second"), way["rate_GBps"] * 1e9)
            same(getattr(row, mine + "_bottleneck"), way["bottleneck"])
        assert pickle.loads(pickle.dumps(row)) == row
