"""A text with its unit is taken where a quantity is meant, and refused where none is; tables say their units."""

import numpy as np
import pytest

import fabricost as fc

H100 = "dgx-h100"


@pytest.mark.parametrize("text, bytes", [("256 MiB", 256 * 2**20), ("1GB", 10**9), ("4096", 4096), ("1.5 KiB", 1536)])
def test_a_size_of_an_operation(text, bytes):
    assert fc.AllReduce(bytes=text).bytes == bytes
    assert fc.SendRecv(bytes=text).bytes == bytes
    assert (fc.AllGather(bytes=[text, 8]).bytes == np.array([bytes, 8])).all()
    assert fc.predict(fc.load_system(H100), fc.AllReduce(bytes=text)) == fc.predict(fc.load_system(H100), fc.AllReduce(bytes=bytes))


@pytest.mark.parametrize("call", [
    lambda x: fc.goodput(gpus=1024, checkpoint_seconds=x("30 s", 30), restart_seconds=x("10min", 600)),
    lambda x: fc.plan_serve(H100, "llama3-8b", gpus=8, ttft_seconds=x("1 s", 1), tpot_seconds=x("30 ms", 0.03))[0],
    lambda x: fc.plan_serve(H100, "llama3-8b", gpus=8, offload_kv_bytes=x("16 GiB", 16 * 2**30))[0],
    lambda x: fc.pipeline(schedule="1f1b", stages=4, microbatches=8, forward_seconds=x("18.5 ms", 18.5e-3),
                          backward_seconds=x("18 ms", 18e-3)).bubble_over_total.__round__(12),
])
def test_times_and_sizes_of_other_questions(call):
    assert call(lambda text, number: text) == call(lambda text, number: number)


def test_lengths_of_texts_are_written_as_contexts_are_named():
    job = dict(model="llama3-8b", gpus=8, global_batch=8)
    assert fc.plan(H100, sequence="8k", **job)[0].sequence == 8192
    assert fc.plan_serve(H100, "llama3-8b", gpus=8, isl="2k", osl="512")[0] == fc.plan_serve(H100, "llama3-8b", gpus=8, isl=2048)[0]
    tried = fc.need("sequence", H100, step_seconds=9, over="1k:4k:x2,6k", **job).tried
    assert [one.value for one in tried] == [1024, 2048, 4096, 6144]
    for wrong, says in (("8 kB", "128k"), ("", "128k"), ("0.3k", "whole"), ("99M", "too many")):
        with pytest.raises(fc.RequestError, match=f"sequence.*{says}"):
            fc.plan(H100, sequence=wrong, **job)


def test_rates_of_dials_and_sizes_of_pictures():
    system = fc.load_system(H100)
    assert system.with_(nic_bandwidth="800 Gbit/s per direction").tiers["nic"].bytes_per_second == 100e9
    plot = pytest.importorskip("fabricost.plot")
    pytest.importorskip("matplotlib")
    import matplotlib
    matplotlib.use("Agg")
    axes = plot.busbw(system, fc.AllReduce(), ["1 KiB", "1 MiB", "1 GiB"])
    assert list(axes.get_lines()[0].get_xdata()) == [2**10, 2**20, 2**30]
