"""`fabricost exporter`: what NCCL Inspector wrote becomes metrics beside predictions, which a Prometheus scrapes."""
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

import fabricost as fc
from fabricost import exporter

pytest.importorskip("prometheus_client")
from prometheus_client.parser import text_string_to_metric_families

PREDICTED = {size: fc.predict("dgx-h100", fc.AllReduce(bytes=size, ranks=8)) for size in (1 << 20, 64 << 20, 1 << 30)}


def record(seconds, size, communicator="DP Group 0", coll="AllReduce", ranks=8, nodes=1, **more):
    return json.dumps({"header": {"id": "0x7f8c", "comm_name": communicator, "rank": 2, "n_ranks": ranks, "nnodes": nodes},
                       "metadata": {"inspector_output_format_version": "v4.2", "dump_timestamp_us": 1748030377748202, "hostname": "h", "pid": 1},
                       "coll_perf": {"coll": coll, "coll_sn": 1407, "coll_msg_size_bytes": size, "coll_exec_time_us": seconds * 1e6,
                                     "coll_timing_source": "kernel_gpu", **more}}) + "\n"


def inspector_text(communicator, size, seconds, ranks=8):
    """As inspector_prom.cc writes it: a range of sizes, bandwidth and time."""
    low = size >> 20
    labels = (f'version="v5.1",slurm_job_id="7",node="h",gpu="GPU0",comm_name="{communicator}",n_nodes="1",nranks="{ranks}",'
              f'collective="AllReduce",message_size="{low}-{low + 1}MB",algo_proto="RING_LL"')
    return (f"nccl_bus_bandwidth_gbs{{{labels}}} {size / seconds * 2 * (ranks - 1) / ranks / 1e9:.6g}\n"
            f"nccl_collective_exec_time_microseconds{{{labels}}} {seconds * 1e6:.6g}\n")


@pytest.fixture
def inspector(tmp_path):
    """A healthy communicator, a slow one, and one in a file for the node exporter."""
    folder = tmp_path / "inspector"
    folder.mkdir()
    with (folder / "h-pid1.log").open("w") as file:
        for size, p in PREDICTED.items():
            for part in (0.98, 1.0, 1.02):
                file.write(record(part * p.seconds, size))
                file.write(record(3 * part * p.high_seconds, size, "TP Group 3"))
    p = PREDICTED[64 << 20]
    (folder / "nccl_inspector_metrics_GPU0.prom").write_text(inspector_text("EP Group 1", 64 << 20, p.seconds))
    return folder


def metrics(text):
    """{metric: {labels in order of name: value}}"""
    out = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            out.setdefault(sample.name, {})[tuple(value for _, value in sorted(sample.labels.items()))] = sample.value
    return out


def once(*arguments):
    done = subprocess.run([sys.executable, "-m", "fabricost", "exporter", "--once", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def verdicts(text):
    return {(s.labels["communicator"], int(s.labels["bytes"])): s.labels["verdict"] for family in text_string_to_metric_families(text)
            if family.name == "fabricost_verdict" for s in family.samples if s.value == 1}


def test_each_communicator_stands_beside_its_prediction(inspector):
    text = once("--system", "dgx-h100", "--from", inspector)
    assert verdicts(text) == {**{("DP Group 0", size): "as_predicted" for size in PREDICTED}, **{("TP Group 3", size): "slow" for size in PREDICTED},
                              ("EP Group 1", 64 << 20): "as_predicted"}
    found = metrics(text)
    for size, p in PREDICTED.items():
        key = (str(size), "DP Group 0", "1", "all_reduce", "8")
        assert found["fabricost_calls"][key] == 3
        for name, value in (("measured", p.seconds), ("predicted", p.seconds), ("predicted_low", p.low_seconds), ("predicted_high", p.high_seconds)):
            assert found[f"fabricost_{name}_seconds"][key] == pytest.approx(value, rel=1e-9)
    assert found["fabricost_unread"] == {("no record", "lines"): 0}


def test_sizes_of_gathers_are_of_all_ranks():
    one = json.loads(record(1e-3, 1 << 20, coll="AllGather"))
    assert exporter.call_of(one).bytes == 8 << 20 and exporter.call_of(one).operation == "all_gather"
    assert exporter.call_of({"header": {}, "p2p_perf": {}}) is None
    with pytest.raises((ValueError, KeyError)):
        exporter.call_of(json.loads(record(0, 1 << 20)))


def test_causes_of_nccl_s_messages_are_told_of_slow_communicators_only(inspector, tmp_path):
    log = tmp_path / "nccl.log"
    log.write_text("h:1:1 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\nh:1:1 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1\n"
                   "h:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Ring.\n")
    wanted = fc.diagnose(str(log), system="dgx-h100").causes
    found = metrics(once("--system", "dgx-h100", "--from", inspector, "--nccl-log", log))["fabricost_cause"]
    assert wanted and {(key[0], key[1]): value for key, value in found.items()} == {
        (one.cause, "TP Group 3"): pytest.approx(one.confidence) for one in wanted}


def test_the_window_is_bounded_and_follows_a_file_that_grows(tmp_path):
    log = tmp_path / "a.log"
    reader = exporter.Reader([log], 4)
    comparison = exporter.Comparison(fc.load_system("dgx-h100"))
    assert reader.groups() == {} and "no such file" in reader.missing[str(log)]
    p = PREDICTED[1 << 20]
    log.write_text("".join(record(p.seconds, 1 << 20) for _ in range(100)) + record(9, 1 << 20)[:40])  # the last line is half written
    assert [len(calls) for calls in reader.groups().values()] == [4] and reader.unread == 0
    with log.open("a") as file:
        file.write(record(9, 1 << 20)[40:] + "rubbish\n" + 3 * record(9, 1 << 20))
    one, = comparison.of(reader.groups())
    assert (one.calls, one.measured, one.verdict, reader.unread) == (4, pytest.approx(9), "slow", 1)
    log.write_text(record(p.seconds, 1 << 20))  # begun anew
    assert sum(call.seconds < 1 for call in next(iter(reader.groups().values()))) == 1
    for at in range(exporter._MOST_GROUPS + 50):
        reader._keep(exporter.Call(str(at), "all_reduce", 8, 1, 1024.0, 1e-5))
    assert len(reader.kept) == exporter._MOST_GROUPS


def test_what_cannot_be_read_or_priced_is_counted(inspector, tmp_path):
    (tmp_path / "b.log").write_text("[" * 100_000 + "\n" + record(1, 1 << 20, ranks=9999, nodes=1) + json.dumps({"dump_stats": {}}) + "\n")
    (tmp_path / "c.prom").write_text('nccl_collective_exec_time_microseconds{collective="AllReduce"} 3\n')
    found = metrics(once("--system", "dgx-h100", "--from", tmp_path / "b.log", "--from", tmp_path / "c.prom", "--from", tmp_path / "none"))
    unread = {key[1]: (key[0], value) for key, value in found["fabricost_unread"].items() if key[1] != "file"}
    files = [key[0] for key in found["fabricost_unread"] if key[1] == "file"]
    assert unread["lines"][1] == 1 and "ranks" in unread["groups"][0] and unread["groups"][1] == 1
    assert len(files) == 2 and any("none: there is no such" in one for one in files)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def got(url, until=lambda text: True, seconds=60):
    """The page, once it is there and as wanted."""
    end = time.monotonic() + seconds
    while True:
        try:
            text = urllib.request.urlopen(url, timeout=5).read().decode()
            if until(text):
                return text
        except OSError:
            text = "nobody answers"
        assert time.monotonic() < end, text
        time.sleep(0.2)


@pytest.fixture
def served(inspector):
    """The exporter's address, and its process."""
    address = f"127.0.0.1:{free_port()}"
    process = subprocess.Popen([sys.executable, "-m", "fabricost", "exporter", "--system", "dgx-h100", "--from", inspector, "--listen", address],
                               stdout=subprocess.PIPE, text=True)
    yield address, process
    process.kill()
    process.wait()
    process.stdout.close()


def test_it_serves_until_a_signal_ends_it(served):
    address, process = served
    assert verdicts(got(f"http://{address}/metrics"))["TP Group 3", 1 << 20] == "slow"
    second = subprocess.run([sys.executable, "-m", "fabricost", "exporter", "--system", "dgx-h100", "--from", "x", "--listen", address],
                            capture_output=True, text=True, timeout=60)
    assert second.returncode == 2 and "take another port" in second.stderr
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 0
