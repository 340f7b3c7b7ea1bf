"""Tables of published figures beside the model: what is predicted, what gives a reason, what is refused where."""

import csv
import json
import pathlib
import subprocess
import sys

import pytest

import fabricost as fc

pytest.importorskip("pandas")
pytest.importorskip("yaml")

from fabricost import evaluation
from fabricost.evaluation import _table, training

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "robustness" / "fuzz" / "corpus" / "workload"
STEP = {"id": "X1", "group": "mosaic_made", "model": "llama3-8b", "gpu": "H100", "gpus": "8", "tp": "1", "pp": "1", "microbatch": "1", "global_batch": "16",
        "seq": "4096", "precision": "BF16", "recompute": "none", "zero_stage": "1", "measured_metric": "step_time_s", "value": "2", "fully_specified": "yes",
        **dict.fromkeys(["source", "layers", "hidden", "ffn", "heads", "kv_heads", "vocab", "params_b", "gpus_per_node", "interconnect", "vpp", "cp", "ep",
                         "sequence_parallel", "memory_gib", "notes"], "")}
HEADERS = {
    "pipeline": "id,group,model,layers,hidden,heads,seq,p,v,tp,m,microbatch,schedule,t_f_ms,t_b_ms,t_w_ms,t_comm_ms,metric,value,unit",
    "moe": "id,group,topic,experts,top_k,hidden,tokens_per_rank,gpu,gpus,gpus_per_node,interconnect,method,quantity,value,unit",
    "reliability": "id,group,source,topic,system,gpus,model,quantity,value,unit,baseline,provenance,fully_specified,notes",
}


def rows_of(tmp_path, kind, *lines):
    file = tmp_path / f"{kind}.csv"
    file.write_text("\n".join((HEADERS[kind], *lines)) + "\n")
    return evaluation.validate(file).rows


def steps_file(tmp_path, *changes):
    """A table of rows that differ from a sound one in some cells."""
    file = tmp_path / "training.csv"
    with file.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, STEP)
        writer.writeheader()
        writer.writerows({**STEP, **change} for change in changes)
    return file


def step(tmp_path, **change):
    return training.read(steps_file(tmp_path, change)).iloc[0]


def published(table, folder="workloads"):
    file = ROOT.parent / "shared" / "measurements" / folder / f"{table}.csv"
    if not file.exists():
        pytest.skip(f"{file.name}: the measurements are not beside this checkout")
    return evaluation.validate(file)


def test_published_pipelines_are_met():
    report = published("pipeline")
    priced = report.rows[report.rows.skipped == ""]
    ape = 100 * (priced.predicted / priced.measured - 1).abs()
    worst = ape.groupby(priced.group).max()
    for group in ("zb_throughput", "zbv_throughput", "zb_same_memory", "zb_small_m"):
        assert report.by_group[group]["points"] >= 12 and report.by_group[group]["mape"] <= 3 and worst[group] <= 6
    assert worst["korthikanti_memory"] <= 0.001 and worst["korthikanti_memory_pct"] <= 1
    bubbles = priced[priced.group == "zb_bubble_rate"]
    longer = bubbles.predicted - bubbles.measured
    assert longer.max() <= 3e-4 and longer.min() >= -4e-3 and (longer.abs() > 1e-4).sum() <= 8  # zb_2p: our order mostly waits less


def test_published_experts_are_met():
    priced = (report := published("moe")).rows[report.rows.skipped == ""]
    median = (100 * (priced.predicted / priced.measured - 1).abs()).groupby([priced.group, priced.model]).median()
    assert median["analytic_dedup", ""] < 1e-3 and median["analytic_imbalance", ""] < 2
    assert median["deepep_readme", "normal kernel, top-4 groups"] < 10 and median["uccl_ep_published", "UCCL-EP normal"] < 10


def test_published_failures_power_and_checkpoints_are_met():
    report = published("reliability")
    found = report.to_dict()
    assert (len(report.rows), found["points"]) == (52, 13) and found["mape"] < 1.2
    assert report.skipped["stands in data/workloads/reliability.yaml itself, so that nothing is predicted"] == 13
    assert report.rows.set_index("id").predicted["R075"] == pytest.approx(8.364)


def test_pipelines_that_say_too_little_give_the_reason(tmp_path):
    rows = rows_of(tmp_path, "pipeline",
                   "a,g,X,,,,,8,1,1,24,6,1F1B,,,,,bubble_rate,0.2,fraction", "b,g,X,,,,,,,,,,1F1B,,,,,bubble_rate,(p-1)/m,formula",
                   "c,g,X,,,,,8,1,1,24,6,ZB-2p,1,1,1,0,bubble_rate,0,fraction", "d,g,X,,,,,8,1,1,24,6,1F1B,1,1,1,0,latency,0.1,s",
                   "e,g,X,,,,,7,1,1,24,6,DualPipe,1,1,1,0,bubble_rate,0.1,fraction",
                   "f,g,X,22,2304,24,1024,8,1,1,24,6,1F1B,18.522,18.086,9.337,0.601,bubble_rate,0.2431,fraction")
    for said, reason in zip(rows.skipped, ("neither stage times nor a shape", "formula", "0 or empty", "latency is not predicted", "even number", "")):
        assert reason in said
    assert rows.predicted[5] == pytest.approx(0.2431, abs=1e-4)


def test_experts_are_priced_on_machines_that_are_described(tmp_path):
    rows = rows_of(tmp_path, "moe", 'A,g,dedup,,,,,,,,,,"expected distinct nodes, uniform top-8 of 256 on 8 nodes, no limit",5.29465,nodes',
                   "B,g,expert load,256,8,,128,,,,,,mean of max expert load over mean load,2.624,x",
                   "C,g,EP bandwidth,256,8,7168,4096,A6000,32,8,NVLink pairs,normal,dispatch bandwidth,40,GB/s",
                   "D,g,EP bandwidth,256,8,7168,128,H800,32,8,CX7,low-latency kernel,dispatch bandwidth,40,GB/s")
    assert rows.predicted[0] == pytest.approx(5.29465) and rows.predicted[1] == pytest.approx(2.624, rel=0.02)
    assert rows.skipped[2].startswith("no machine is described for A6000")
    assert 20 < rows.predicted[3] < 80  # of 50 GB/s NICs, bytes that stay in the node counted


def test_rates_go_with_gpus_days_and_the_fleet_a_row_names(tmp_path):
    rows = rows_of(tmp_path, "reliability",
                   "a,g,Llama 3,failure count,H,32768,,Faulty GPU,296,interruptions in 54 days,,,yes,",
                   "b,g,Llama 3,failure count,H,16384,,Faulty GPU,74,interruptions in 27 days,,,yes,",
                   "c,g,arXiv 2410.21680,mttf,RSC,131072,,mean time to failure of a job,0.23,h,,,yes,projected",
                   "d,g,somebody,power,,,,GB200 NVL72 rack per GPU,1.67,kW,,,yes,",
                   "e,g,somebody,checkpoint,,,BLOOM 176B,bf16 weights,329,GB,,,yes,",
                   "f,g,Llama 3,failure count,H,16384,,planned,47,interruptions in 54 days,,,yes,",
                   "g,g,somebody,power,,,,a kettle,2,kW,,,yes,")
    assert rows.predicted[:2].tolist() == pytest.approx([296, 74]) and rows.low[1] < 74 < rows.high[1]
    assert rows.predicted[2:5].tolist() == pytest.approx([0.23, 120 / 72, 329], rel=0.03)
    assert "reliability.yaml itself" in rows.skipped[5] and "without a specification" in rows.skipped[6]


@pytest.mark.parametrize("kind, line, said", [
    ("pipeline", "a,g,X,,,,,eight,1,1,24,6,1F1B,1,1,1,0,bubble_rate,0.1,fraction", 'p is "eight", not a number'),
    ("pipeline", "a,g,X,,,,,2.5,1,1,24,6,1F1B,1,1,1,0,bubble_rate,0.1,fraction", 'p is "2.5", not a whole number from 0 to 1e+06'),
    ("moe", "A,g,dedup,,,,,,,,,,q,-1,x", 'value is "-1", which is negative'),
    ("reliability", "a,g,Llama 3,mttf,H,many,,q,1,h,,,yes,", 'gpus is "many"'),
    ("reliability", "a,g,s", "3 cells, the header has 14"),
])
def test_broken_cells_are_refused_with_their_line(tmp_path, kind, line, said):
    with pytest.raises(fc.SpecError, match=r"\.csv:2: ") as refused:
        rows_of(tmp_path, kind, line)
    assert said in str(refused.value)


def test_the_program_prints_what_the_function_finds(tmp_path):
    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "fabricost.evaluation", *map(str, arguments)], capture_output=True, text=True)

    assert json.loads(run(CORPUS / "pipeline.csv", "--json").stdout) == json.loads(evaluation.validate(CORPUS / "pipeline.csv").to_json())
    assert "published figures" in run(CORPUS / "pipeline.csv").stdout
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    refused = run(tmp_path / "other.csv")
    assert refused.returncode == 2 and "no table of steps" in refused.stderr
    with pytest.raises(fc.RequestError, match="python -m fabricost.evaluation"):
        fc.validate(CORPUS / "pipeline.csv")


def test_published_steps_are_predicted_as_well_as_the_page_says():
    report = published("training")
    judged = evaluation._data.data("workloads/training-groups.yaml")["judged"]
    found = [report.by_group[group] for group in judged]
    assert sum(one["median_ape"] for one in found) / len(found) <= 4 and sum(one["mape"] for one in found) / len(found) <= 6
    assert report.layouts > 400 and len(report.unfit) <= 0.02 * report.layouts  # a published layout ran, so it fits
    peaks = report.memory_by_group
    assert peaks["simumax_b200"]["points"] == 22 and peaks["simumax_b200"]["median_ape"] <= 3
    assert peaks["torchtitan_h100"]["median_ape"] <= 5 and peaks["bloom_jz_a100"]["median_ape"] <= 4 and peaks["kempner_h200_fsdp_tp"]["median_ape"] <= 8


def test_steps_of_mlperf_and_of_other_makers_are_predicted():
    report = published("mlperf", "second/workloads")
    found = report.to_dict()
    assert found["median_ape"] <= 5 and found["mape"] <= 6.5  # adapters: 6.7 and 7.6 %
    assert report.memory_by_group["mlperf_405b_nvidia"]["points"] >= 10 and report.memory_by_group["mlperf_405b_nvidia"]["mape"] <= 4
    assert report.memory_by_group["mlperf_lora_nvidia"]["points"] >= 10 and report.memory_by_group["mlperf_lora_nvidia"]["mape"] <= 4
    rows = report.rows[(report.rows.skipped == "") & ~report.rows.group.str.endswith("nvidia")]
    assert len(rows) >= 15 and ((rows.low <= rows.measured) & (rows.measured <= rows.high)).mean() >= 0.9


@pytest.mark.parametrize("change, said", [
    ({"gpu": "Trainium1"}, "Trainium1"), ({"tp": "3"}, "does not divide"), ({"global_batch": "4"}, "8 replicas"), ({"global_batch": ""}, "not stated"),
    ({"model": "nobody-knows-this"}, "shape"), ({"precision": "INT8"}, "INT8"), ({"measured_metric": "time_to_train_min"}, "no time of a step"),
    ({"value": ""}, "no figure"), ({"notes": "LoRA freezes base weights"}, "adapters"), ({"value": "OOM"}, "ran out of memory"),
    ({"model": "mixtral-8x7b", "gpus": "64", "global_batch": "64", "ep": "16"}, "more expert ranks than experts"), ({"precision": "NVFP4"}, "fp4"),
])
def test_jobs_that_cannot_be_give_the_reason(tmp_path, change, said):
    assert said in step(tmp_path, **change).skipped


def test_figures_become_seconds_by_what_they_count(tmp_path):
    tokens = 16 * 4096
    flops = tokens * (6 * 7.504e9 + 12 * 32 * 4096 * 4096)  # Llama 3 8B: 7.50 G multiplied (8.03 G less the input table)
    for metric, value, seconds in (("step_time_ms", 2500, 2.5), ("tokens_per_s", 10000, tokens / 1e4), ("tokens_per_s_per_gpu", 10000, tokens / 8e4),
                                   ("tflops_per_gpu", 400, flops / (8 * 400e12)), ("mfu_pct", 40, flops / (8 * 0.4 * 989.5e12))):
        assert step(tmp_path, measured_metric=metric, value=str(value)).measured == pytest.approx(seconds, rel=1e-3)


def test_notes_and_a_row_s_own_shape_count(tmp_path):
    assert step(tmp_path, model="llama3-70b", layers="12").model_shape.layers == 12
    unknown = {"layers": "24", "hidden": "2048", "heads": "16", "vocab": "50000", "ffn": "8192"}
    assert step(tmp_path, model="somebody's", **unknown).model_shape.gated and not step(tmp_path, model="GPT of ours", **unknown).model_shape.gated
    for change, name, value in (({"recompute": "full", "notes": "full recompute of 5 of 32 layers"}, "recompute_num_layers", 5),
                                ({"zero_stage": "3", "notes": "SHARD_GRAD_OP"}, "zero", 2), ({"zero_stage": "2", "pp": "2"}, "zero", 1),
                                ({"recompute": "selective", "notes": "modules layernorm+moe_act; routing"}, "recompute_modules", ["layernorm", "moe_act"]),
                                ({"recompute": "custom (offload)"}, "recompute", "full"), ({"recompute": "minimal_with_context"}, "recompute", "selective"),
                                ({"precision": "FP8 rowwise"}, "precision", "fp8"), ({"notes": "CP uses all-gather of K"}, "cp_comm_type", "all_gather")):
        assert step(tmp_path, **change).layout[name] == value


@pytest.mark.parametrize("change, said", [({"gpus": "eight"}, 'gpus is "eight"'), ({"tp": "8.5"}, "not a whole number"), ({"value": "fast"}, 'value is "fast"'),
                                          ({"recompute": "sometimes"}, "selective"), ({"zero_stage": "7"}, "0, 1, 2 or 3"), ({"sequence_parallel": "perhaps"}, "yes or no")])
def test_broken_steps_are_refused_with_their_line(tmp_path, change, said):
    with pytest.raises(fc.SpecError, match=r"\.csv:3: ") as refused:
        training.read(steps_file(tmp_path, {}, change))
    assert said in str(refused.value)


def test_a_table_without_rows_is_a_table(tmp_path):
    report = evaluation.validate(steps_file(tmp_path))
    assert len(report.rows) == 0 and report.to_dict()["points"] == 0


def test_layouts_that_ran_and_are_said_not_to_fit_are_counted(tmp_path):
    large = {"id": "L", "group": "nemo_made", "model": "llama3-70b", "zero_stage": "0"}
    report = evaluation.validate(steps_file(tmp_path, {"zero_stage": "3", "memory_gib": "40"}, large, {**large, "id": "U", "recompute": ""}))
    assert (report.layouts, report.unfit) == (2, ["L"]) and report.memory_by_group["mosaic_made"]["points"] == 1
    assert (report.rows.low < report.rows.predicted).all() and (report.rows.predicted < report.rows.high).all()


def test_a_fit_takes_sound_groups_and_writes_its_files(tmp_path):
    sizes = [{"id": str(i), "group": "mosaic_fsdp_h100", "global_batch": str(batch), "value": str(0.08 * batch)} for i, batch in enumerate((16, 32, 64, 128))]
    file = steps_file(tmp_path, *sizes, {"group": "unheard"}, {"group": "nemo_h100", "fully_specified": "no"})
    found = evaluation.fit(file)
    assert found.rows == 4 and list(found.generations) == ["hopper"]
    found.save(tmp_path / "data")
    assert "composer-fsdp:" in (tmp_path / "data" / "workloads" / "stacks.yaml").read_text()
    assert "training.csv" in (tmp_path / "data" / "calibrations" / "compute-hopper.yaml").read_text()
    fitted = training.price(training.read(file), found)
    assert (100 * (fitted.predicted / fitted.measured - 1).abs())[:4].mean() == pytest.approx(100 * found.mean_error, rel=1e-6)
    with pytest.raises(fc.RequestError, match="no row"):
        evaluation.fit(file, leave_out=["mosaic_"])


@pytest.mark.parametrize("group, said, stack", [
    ("nemo_h100", "", "nemo"), ("nemo_h100", "NeMo Megatron-Bridge performance summary, container 26.02 (github)", "nemo-eager"),
    ("nemo_h100", "NeMo Megatron-Bridge performance summary, container 26.02.01 (github)", "nemo"), ("dgxc_gb200", "", "nemo-dgx-cloud"),
    ("dgxc_h100", "Paxml/XLA FSDP+DP", "jax-fsdp"), ("mosaic_fsdp_a100-80g", "PURE", "composer-fsdp-pure"),
    ("mlperf_gpt3_nvidia", "MLPerf Training v3.0", "nemo-mlperf-2023"), ("mlperf_405b_nvidia", "MLPerf Training v5.1, fp8_attention=1", "nemo-mlperf-fp8-attention"),
    ("mlperf_lora_nvidia", "GB200 MLPerf Training v5.1 LoRA r=16, fp8_attention=1", "nemo-lora-2025-09"), ("somebody_else", "", "megatron-core"),
])
def test_a_row_runs_the_stack_that_speaks_most_closely_for_its_group(group, said, stack):
    assert training.stack_of(_table.Row("", 1, {"group": group, "source": said})) == stack
