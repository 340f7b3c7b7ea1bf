"""Plans of training: the command's layouts, the changes that would help, those that trade time for memory."""
import pickle
import random

import pytest

import fabricost as fc

def test_things_loaded_and_names_are_the_same_question():
    by_name = fc.plan("dgx-h100", "llama3-8b", gpus=16, global_batch=64)
    by_thing = fc.plan(fc.load_system("dgx-h100"), fc.load_model("llama3-8b"), gpus=16, global_batch=64,
                       stack=fc.load_stack("nemo"))
    assert list(by_name) == list(by_thing)
    slower = fc.plan(fc.load_system("dgx-h100", ["tiers.nvlink.bandwidth=100 GB/s per direction"]), "llama3-8b", gpus=16, global_batch=64)
    assert slower[0].step_seconds >= by_name[0].step_seconds


def test_plans_are_a_sequence_and_a_table():
    plans = fc.plan("dgx-h100", "llama3-8b", gpus=16, global_batch=64)
    assert plans[0] == list(plans)[0] and plans[-1] == list(plans)[-1] and plans[:3] == list(plans)[:3] and plans[::-2] == list(plans)[::-2]
    with pytest.raises(IndexError):
        plans[len(plans)]
    with pytest.raises(TypeError):
        plans["x"]
    pandas = pytest.importorskip("pandas")
    table = plans.to_pandas()
    assert isinstance(table, pandas.DataFrame) and len(table) == len(plans)
    for column in ("tp", "step_seconds", "low_seconds", "high_seconds", "bubble_seconds", "memory_bytes"):
        assert column in table.columns, table.columns
    assert list(table["step_seconds"]) == [p.step_seconds for p in plans]


@pytest.mark.parametrize("question, reason", [(dict(gpus=8), "memory"), (dict(gpus=8, tp=3), "request"), (dict(gpus=0), "request")])
def test_why_there_is_no_plan_is_a_value(question, reason):
    with pytest.raises(fc.RequestError) as caught:
        fc.plan("dgx-h100", "llama3-405b", global_batch=8, **question)
    assert caught.value.reason == pickle.loads(pickle.dumps(caught.value)).reason == reason


def test_the_ways_to_communicate_reach_the_collectives_of_a_step():
    """In-switch reduction helps messages of 64 MiB, windows those of 2 MiB."""
    long = dict(system="dgx-h100", model="llama3-8b", gpus=8, global_batch=8, sequence=8192, tp=8, pp=1, dp=1, microbatch=1,
                sequence_parallel=False)
    short = {**long, "sequence": 256}
    assert fc.plan(**long, nvls="off")[0].step_seconds > fc.plan(**long)[0].step_seconds
    assert fc.plan(**short, symmetric=True)[0].step_seconds < fc.plan(**short)[0].step_seconds
    older = fc.plan(**short, library="nccl-2.18")[0].step_seconds
    assert fc.plan(**short, symmetric=True, library="nccl-2.18")[0].step_seconds == older  # windows came with 2.27
    with pytest.raises(fc.RequestError, match="nccl-2.18"):
        fc.plan(**long, library="vllm")
    with pytest.raises(fc.RequestError, match="rccl"):
        fc.plan(**{**long, "system": "mi300x-8"}, library="nccl-2.18")


ASKED_AGAIN = ("tp", "pp", "vp", "cp", "ep", "dp", "zero", "microbatch", "recompute", "expert_tp", "placing", "sequence_parallel")
ASKED_WHERE_GIVEN = ("decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers", "recompute_num_layers_per_stage", "recompute_modules", "recompute_num_layers", "cpu_offloading_num_layers", "optimizer_offload_fraction", "cp_comm_type")


@pytest.mark.parametrize("seed", range(24))
def test_a_layout_that_was_found_may_be_asked_again_as_it_is_printed(seed):
    draw = random.Random(seed)
    while True:
        question = dict(system=draw.choice(fc.system_names()), model=draw.choice(fc.model_names()), gpus=2 ** draw.randint(0, 6),
                        sequence=draw.choice([2048, 8192, 32768]), top=3)
        question["global_batch"] = question["gpus"] * draw.choice([1, 4])
        try:
            found = [one for one in fc.plan(**question) if one.used_gpus == question["gpus"]]
        except fc.Error:
            continue  # a machine or model for which this is no question
        if found and fc.load_model(question["model"]).kind != "recommendation":
            break
    for one in found:
        layout = {name: getattr(one, name) for name in ASKED_AGAIN}
        layout |= {name: getattr(one, name) for name in ASKED_WHERE_GIVEN if getattr(one, name)}
        if one.pp > 1:
            layout["schedule"] = one.schedule
        again = fc.plan(**{**question, **layout, "top": 1})[0]
        assert again.step_seconds == pytest.approx(one.step_seconds, rel=1e-12), question
        assert again.memory_bytes == pytest.approx(one.memory_bytes, rel=1e-12), question
