"""Tables of published figures beside the model: what is predicted, what gives a reason, what is refused where."""

import csv
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import fabricost as fc

pytest.importorskip("pandas")
pytest.importorskip("yaml")

import yaml

from fabricost import _core, evaluation
from fabricost.evaluation import _fit, _table, machines, mlperf, serving, training

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "robustness" / "fuzz" / "corpus" / "workload"
STEP = {"id": "X1", "group": "mosaic_made", "model": "llama3-8b", "gpu": "H100", "gpus": "8", "tp": "1", "pp": "1", "microbatch": "1", "global_batch": "16",
        "seq": "4096", "precision": "BF16", "recompute": "none", "zero_stage": "1", "measured_metric": "step_time_s", "value": "2", "fully_specified": "yes",
        **dict.fromkeys(["source", "layers", "hidden", "ffn", "heads", "kv_heads", "vocab", "params_b", "gpus_per_node", "interconnect", "vpp", "cp", "ep",
                         "sequence_parallel", "memory_gib", "notes"], "")}
HEADERS = {
    "pipeline": "id,group,model,layers,hidden,heads,seq,p,v,tp,m,microbatch,schedule,t_f_ms,t_b_ms,t_w_ms,t_comm_ms,metric,value,unit",
    "moe": "id,group,topic,experts,top_k,hidden,tokens_per_rank,gpu,gpus,gpus_per_node,interconnect,method,quantity,value,unit",
    "inference": "id,group,source,model,system,gpu,gpus,interconnect,backend,mode,phase,tp,pp,attn_dp,moe_tp,moe_ep,batch,concurrency,isl,osl,prefill_workers,"
    "prefill_tp,prefill_pp,prefill_attn_dp,prefill_moe_tp,prefill_moe_ep,prefill_batch,decode_workers,decode_tp,decode_pp,decode_attn_dp,decode_moe_tp,"
    "decode_moe_ep,decode_batch,precision_gemm,precision_moe,metric,value,unit,metric2,value2,unit2,provenance,fully_specified,notes",
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


def test_published_services_under_arrivals_are_met():
    report = published("serving_arrival_rates", "third")
    medians = {figure: report.by_group[f"arrival_rate_vllm:{figure}"]["median_ape"] for figure in ("ttft_mean_ms", "tpot_derived_ms", "e2e_mean_ms")}
    assert medians["ttft_mean_ms"] < 20 and medians["tpot_derived_ms"] < 6 and medians["e2e_mean_ms"] < 6, medians
    priced = report.rows[report.rows.skipped == ""]
    assert len(priced) == 15 and (priced.low <= priced.predicted).all() and (priced.predicted <= priced.high).all()
    assert sorted(set(report.rows.skipped)) == ["", "not measured", "rate or lengths not stated"]


def test_services_under_arrivals_are_told_apart_by_line_and_broken_figures_refused(tmp_path):
    header = "id,group,model,gpu,tp,rate_per_s,isl_mean,osl_mean,ttft_mean_ms,tpot_derived_ms,e2e_mean_ms,backend,fully_specified,notes\n"
    file = tmp_path / "arrivals.csv"
    file.write_text(header + "A,g,llama3-8b,H100,1,2,500,100,20,8,900,vllm,yes,\nA,g,llama3-8b,H100,1,2,4000,100,90,8,900,vllm,yes,\n")
    first, second = evaluation.validate(file).rows.query("metric == 'ttft_mean_ms'").predicted
    assert second > 2 * first
    file.write_text(header + "A,g,llama3-8b,H100,1,2,500,100,-20,8,900,vllm,yes,\n")
    with pytest.raises(fc.SpecError, match=r"arrivals.csv:2: ttft_mean_ms is \"-20\""):
        evaluation.validate(file)


def test_published_datasets_and_services_of_mlperf_are_met(tmp_path):
    table = ROOT.parent / "shared" / "measurements" / "second" / "workloads" / "mlperf_inference.csv"
    if not table.exists():
        pytest.skip(f"{table.name}: the measurements are not beside this checkout")
    header, *lines = table.read_text(encoding="utf-8").splitlines()
    third = tmp_path / table.name
    third.write_text("\n".join([header, *lines[::3]]) + "\n")
    report = evaluation.validate(third)
    assert len(report.counted) > 50 and report.to_dict()["median_ape"] < 20 and report.to_dict()["interval_coverage"] > 0.7
    of_scenario = report.counted.assign(off=(report.counted.predicted / report.counted.measured - 1).abs()).groupby(report.counted.group.str.split("_").str[0]).off.median()
    assert of_scenario["offline"] < 0.16 and of_scenario["server"] < 0.25, of_scenario


def test_a_service_answers_no_more_than_a_whole_dataset_and_less_with_closer_limits(tmp_path):
    header = ("round,division,accelerator,benchmark,scenario,tokens_per_s,tokens_per_s_per_gpu,samples_per_s,tp,pp,ep,precision,weight_data_types,batch_size,config_note,"
              "ttft_limit_ms,tpot_limit_ms,framework\n")
    run = "v5.1,closed,NVIDIA H200-SXM-141GB,llama2-70b-99,{},32000,4000,{},1,1,,fp8,,2048,,{},TensorRT 10.11\n"
    file = tmp_path / "runs.csv"
    file.write_text(header + run.format("Offline", 110, "2000,200") + run.format("Server", 110, "2000,200") + run.format("Server", 110, "450,40")
                    + run.format("Server", "", "450,40") + run.format("Server", 110, ",") + run.format("Server", 110, "1,1").replace("llama2-70b-99", "gptj-99"))
    rows = evaluation.validate(file).rows
    whole, service, close = rows.predicted[:3]
    assert whole >= service > close > 0 and (rows.low[:3] <= rows.predicted[:3]).all() and (rows.predicted[:3] <= rows.high[:3]).all()
    assert ["length of the answers" in rows.skipped[3], "limits" in rows.skipped[4], "search of beams" in rows.skipped[5]] == [True] * 3
    file.write_text(header + run.format("Offline", -110, "2000,200"))
    with pytest.raises(fc.SpecError, match=r'runs.csv:2: samples_per_s is "-110"'):
        evaluation.validate(file)


def test_whole_datasets_are_fitted_and_say_nothing_of_an_engine_whose_first_tokens_nobody_measured():
    questions = _core._Questions()
    header = ("round,division,accelerator,benchmark,scenario,tokens_per_s,tokens_per_s_per_gpu,samples_per_s,tp,pp,ep,precision,weight_data_types,batch_size,config_note,"
              "ttft_limit_ms,tpot_limit_ms,framework")
    runs = ["v5.1,closed,NVIDIA H200-SXM-141GB,llama2-70b-99,Offline,32000,4000,110,1,1,,fp8,,2048,,2000,200,TensorRT 10.11",
            "v5.1,closed,AMD Instinct MI300X,llama2-70b-99,Offline,28000,3500,97,1,1,,fp8,,2048,,2000,200,vLLM 0.9",
            "v5.1,closed,NVIDIA H200-SXM-141GB,llama2-70b-99,Server,32000,4000,110,1,1,,fp8,,2048,,2000,200,TensorRT 10.11"]
    rows = [_table.Row("runs.csv", at, dict(zip(header.split(","), run.split(",")))) for at, run in enumerate(runs, 2)]
    its = mlperf.fitted(rows, questions)
    assert list(its["stack"][:2]) == ["trtllm-2025", "vllm"] and list(its.sequences[:2]) == [2048, 2048] and its.skipped[2] == "requests that arrive"
    first = its[:1].assign(figure="first_token")  # as if one had been measured
    found = _fit.fit(training.read(), evaluation.kernels.read(), _table.pd.concat([its[:2], first], ignore_index=True), questions)
    assert list(found.serving["stack"]) == ["trtllm-2025"] and list(found.serving_gpus) == ["hopper"]


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
    assert len(report.rows) > 1500 and not (report.rows.skipped == "shape not stated").any()  # every model has a name or a shape
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
    ("mlperf_8b_nvidia", "GB200 MLPerf Training v5.1", "nemo-mlperf-2025-09"), ("mlperf_405b_nvidia", "GB200 MLPerf Training v5.0", "nemo-mlperf"),
    ("mlperf_lora_nvidia", "GB200 MLPerf Training v5.1 LoRA r=16, fp8_attention=1", "nemo-lora-2025-09"), ("somebody_else", "", "megatron-core"),
])
def test_a_row_runs_the_stack_that_speaks_most_closely_for_its_group(group, said, stack):
    assert training.stack_of(_table.Row("", 1, {"group": group, "source": said})) == stack


def served(cells, values="ttft_ms,200,ms,tpot_ms,10,ms", gpu="B200 SXM", model="deepseek-ai/DeepSeek-R1"):
    """A run of one engine; cells from gpus to osl."""
    return f"r,silicon_agg,s,{model},b200,{gpu},{cells}{',' * 14},fp8,fp8,{values},file,yes,"


def run(cells, *others, figure="ttft"):
    values = dict(zip(HEADERS["inference"].split(","), served(cells, *others).split(",")))
    return serving._run_of(_table.Row("", 1, values), figure, "")


def test_a_served_run_is_two_figures_in_groups_of_their_own(tmp_path):
    rows = rows_of(tmp_path, "inference", served("8,8/node,sglang 0.5.9,agg,both,8,1,1,8,1,64,64,1024,1024"))
    assert rows.group.tolist() == ["silicon_agg:ttft_ms", "silicon_agg:tpot_ms"] and rows.measured.tolist() == [200, 10]
    assert ((rows.low < rows.predicted) & (rows.predicted < rows.high)).all()
    its = run("8,8/node,sglang 0.5.9,agg,both,8,1,1,8,1,64,64,1024,1024")
    assert (its["system"], its["stack"], its["engine"], its["concurrency"]) == ("dgx-b200", "sglang", (8, 1, 1, 1), 64)
    assert its["isl"] == pytest.approx(0.9 * 1024)  # lengths are drawn from 0.8 to 1 of the nominal


@pytest.mark.parametrize("cells, engine, concurrency", [
    ("64,8/node,trtllm,agg,both,64,1,1,8,8,32,32,1024,1024", (8, 1, 1, 8), 32), ("64,8/node,trtllm,agg,both,1,1,64,8,8,4,256,1024,1024", (1, 8, 1, 8), 256),
    ("16,8/node,vllm,agg,both,4,1,4,1,16,16,64,1024,1024", (4, 1, 1, 4), 64), ("8,8/node,vllm,agg,both,1,1,8,1,8,16,128,1024,1024", (1, 8, 1, 8), 128),
])
def test_ranks_counted_twice_are_counted_once(cells, engine, concurrency):
    its = run(cells)
    assert (its["engine"], its["concurrency"]) == (engine, concurrency)


@pytest.mark.parametrize("backend, stack", [("trtllm 1.2.0rc6.post2", "trtllm"), ("trtllm 0.5.1-rc0.pre3", "trtllm"), ("trtllm 0.5", "trtllm-2023"), ("vllm 0.18.0", "vllm"),
                                            ("something else", "vllm")])
def test_versions_pick_the_stack_that_describes_them(backend, stack):
    assert serving.stack_of(backend) == stack
    assert serving.stacks()[serving.stack_of("trtllm 1.2.0rc6.post3")]["drafts"] == 3 and serving.stacks()[serving.stack_of("sglang+DeepEP")]["overlaps"]


def test_published_runs_are_priced_as_their_servers_were_set():
    deepseek, llama = "deepseek-ai/DeepSeek-R1", "meta-llama/Llama-3.1-70B"

    def settings(backend, model, c, lengths, tp=8):
        return run(f"{tp},8/node,{backend},agg,both,{tp},1,1,{tp},1,{c},{c},{lengths}", "ttft_ms,200,ms,tpot_ms,10,ms", "B200 SXM", model)

    assert [settings("sglang 0.5.9", deepseek, c, "1024,1024")["settings"]["poll"] for c in (8, 16)] == [10, 30]
    assert settings("sglang 0.5.9", deepseek, 16, "1024,1024")["settings"]["chunk"] == 16384 and "poll" not in settings("sglang 0.5.9", llama, 16, "1024,1024")["settings"]
    held = [settings("trtllm", llama, 16, lengths, tp)["settings"].get("hold_steps") for lengths, tp in (("1024,1024", 4), ("1024,1024", 8), ("1024,8192", 4))]
    assert held == [20, None, None] and settings("trtllm", deepseek, 16, "8192,1024")["settings"]["chunk"] == 8192
    assert "drafts" not in settings("trtllm 1.1.0rc2.post2", deepseek, 16, "8192,1024")["settings"]  # drafted on another day, as its notes say
    drafts = [settings("sglang 0.5.9", "Qwen/Qwen3.5-397B-A17B", 16, "1024,8192", tp)["settings"].get("drafts") for tp in (4, 8)]
    assert drafts == [3, None]  # whatever day a row states
    assert settings("sglang 0.5.6", "meta-llama/Llama-3.1-8B-Instruct", 16, "1000,100")["isl"] == 1000  # of another client
    assert settings("vllm 0.12.0", "Qwen/Qwen3-32B", 16, "1024,128")["kv"] == 2


@pytest.mark.parametrize("change, said", [
    ({"gpu": "Q9000"}, 'no machine known with a GPU "Q9000"'), ({"model": "someone/unheard-of"}, "no model known as"),
    ({"cells": "72,NVL72,vllm,agg,both,72,1,1,72,1,64,64,1024,1024", "gpu": "GB200"}, "128 heads do not divide over 72"),
    ({"cells": "0,8/node,vllm,agg,both,2,1,0,0,0,64,64,1024,1024"}, "counts no GPUs"), ({"cells": "1,8/node,vllm,agg,both,1,1,1,1,1,64,64,1024,1024"}, "do not fit"),
    ({"values": "two_batch_overlap_gain_decode,0.2,fraction,,,"}, "a share, a gain"),
])
def test_serving_rows_that_cannot_be_priced_say_why(tmp_path, change, said):
    assert said in rows_of(tmp_path, "inference", served(**{"cells": "8,8/node,vllm,agg,both,8,1,1,8,1,64,64,1024,1024", **change})).skipped[0]


@pytest.mark.parametrize("cells, values, said", [
    ("8,8/node,vllm,agg,both,eight,1,1,8,1,64,64,1024,1024", "", 'tp is "eight", not a number'), ("8,8/node,vllm,agg,both,8,1,1,8,1,64,64,10.5,1024", "", 'isl is "10.5"'),
    ("8,8/node,vllm,agg,both,8,1,1,8,1,64,64,1024,1024", "ttft_ms,-3,ms,tpot_ms,10,ms", "negative"),
])
def test_broken_serving_rows_are_refused_with_their_line(tmp_path, cells, values, said):
    with pytest.raises(fc.SpecError, match=r"\.csv:2: ") as refused:
        rows_of(tmp_path, "inference", served(cells, *filter(None, [values])))
    assert said in str(refused.value)


def test_published_serving_runs_are_predicted_within_what_is_asked():
    report = published("inference")
    by = report.by_group
    for gpu in ("b200_sxm", "h100_sxm", "h200_sxm", "gb200"):
        assert by[f"silicon_agg_{gpu}:tpot_ms"]["median_ape"] <= 15
    for group in ("silicon_agg_b200_sxm", "silicon_agg_h100_sxm", "silicon_agg_h200_sxm", "silicon_disagg_b200_sxm"):
        assert by[f"{group}:ttft_ms"]["median_ape"] <= 20
    ape = 100 * (report.counted.predicted / report.counted.measured - 1).abs()
    first = ape[report.counted.metric == "ttft_ms"]
    assert len(first) > 1800 and first.median() <= 17
    assert by["kv_bytes_per_token"]["mape"] == pytest.approx(0, abs=1e-9) and ape[report.counted.group == "mooncake_vllm_pd"].max() <= 7
    assert by["deepseek_profile"]["median_ape"] <= 25 and report.to_dict()["interval_coverage"] > 0.85  # never fitted: wide expert parallelism of others


def test_a_gpu_is_known_by_its_name_wherever_it_stands_in_the_cell():
    for gpu, system in (("A100-80G", "dgx-a100"), ("H100 (96GB HBM2e 2.4TB/s, 500W)", "dgx-h100"), ("H800", "deepseek-v3-h800"), ("DGX-B200", "dgx-b200"),
                        ("GB200 NVL72", "gb200-nvl72"), ("DGX-GB300", "gb300-nvl72"), ("H20", "hgx-h20")):
        assert machines.machine_of(gpu)[0] == system
    for none in ("GH200", "B2000", "", "A10"):
        with pytest.raises(_table.Skipped):
            machines.machine_of(none)


@pytest.mark.parametrize("gpu, wires, of_node, domain, ports, rate", [
    ("GB200", "NVLink5 1800GB/s NVL72 + 4x400G NDR IB per tray", 4, 72, 4, 50e9), ("GB200", "72 x 1800 GB/s NVLink, 4 x 400Gb/s", 4, 72, 4, 50e9), ("GB200", "NVL72", 72, 72, 4, 50e9),
    ("GB300", "NVLink5 1800GB/s NVL72 + 4x800G XDR IB per tray", 4, 72, 4, 100e9), ("B300", "B300 p6-b300: NVLink5 8/node + 16x400G EFA per node", 8, 8, 16, 50e9),
    ("H100", "p5 H100: NVLink4 8/node + 32x100G EFA per node", 8, 8, 32, 12.5e9), ("A100-80G", "NVLink3 600GB/s + 8x200G HDR IB (Selene)", 8, 8, 8, 25e9),
    ("H200", "4 H200 per node NVLink; InfiniBand NDR between nodes", 4, 4, 4, 50e9),
])
def test_published_wires_say_domain_and_ports(gpu, wires, of_node, domain, ports, rate):
    system = machines.load(*machines.machine_of(gpu, wires, of_node)[:2])
    nic = system.tiers["nic"]
    assert (system.domain, nic.endpoints) == (domain, ports) and nic.bytes_per_second == pytest.approx(rate)


def test_what_a_part_is_held_to_is_read_from_its_name():
    system, overrides, memory_rate = machines.machine_of("H100 (96GB HBM2e 2.4TB/s, 500W)", "8x400G RoCE", 8)
    assert memory_rate == 2.4e12 and {"gpu.power=500 W", "gpu.memory=97871 MiB", "tiers.nic.transport=roce"} <= set(overrides)
    assert machines.machine_of("A100-40G")[1] == ("gpu=a100-sxm-40",) and machines.published_peak("gb200-nvl72", 4) == 10000e12


def test_a_fit_finds_the_constants_that_steps_were_made_with(tmp_path):
    changes = [{"id": f"{model} {seq} {micro} {tp}", "group": "made", "model": model, "seq": str(seq), "microbatch": str(micro), "tp": str(tp), "global_batch": "64", "zero_stage": "3"}
               for model in ("llama3-8b", "llama2-13b", "mpt-7b") for seq in (1024, 4096, 32768) for micro in (1, 2, 4) for tp in (1, 2, 8)]
    steps = training.read(steps_file(tmp_path, *changes))
    truth = _core._compute_prior()
    for key, value in (("gemm", 0.72), ("attention", 0.38), ("layer_floor", 700e-6), ("memory", 0.9)):
        truth[_fit.AT[key]] = value
    steps["measured"] = [one[0] for one in _core._predict_steps(steps.step.tolist(), {"hopper": truth.tolist()}, [("megatron-core", "megatron-core", 1.1, 0.15, ["hopper"], False, False)])]
    found = evaluation.fit(steps, every_group=True)
    constants = found.generations["hopper"].constants
    assert found.rows == 81 and found.mean_error < 0.01
    scale = {s.name: s.scale for s in found.stacks}["megatron-core"]  # rates are known up to the stack
    assert scale / constants["gemm"].value == pytest.approx(1.1 / 0.72, rel=0.05) and scale / constants["attention"].value == pytest.approx(1.1 / 0.38, rel=0.08)
    assert scale * constants["layer_floor"].value == pytest.approx(1.1 * 700e-6, rel=0.08)


def test_the_shipped_constants_of_kernels_and_programs_are_those_of_the_fit():
    measurements, own = ROOT.parent / "shared" / "measurements", ROOT / "data" / "measurements"
    tables = [measurements / "workloads" / "training.csv", *(measurements / "second" / "workloads" / f"{name}.csv" for name in ("mlperf", "newer_training")),
              measurements / "workloads" / "ops.csv", *(own / f"{name}.csv" for name in ("torch-steps", "torch-kernels", "aiconfigurator-kernels"))]
    if not tables[0].exists():
        pytest.skip("the measurements are not beside this checkout")
    number = lambda value: float(str(value).split()[0])
    for name, text in evaluation.fit(*tables).files().items():
        found, shipped = yaml.safe_load(text), evaluation._data.data(name)
        if name.startswith("calibrations"):
            assert {key: number(value) for key, value in found["constants"].items()} == pytest.approx(
                {key: number(value) for key, value in shipped["constants"].items()}, rel=0.02), name
        else:
            assert {key: one["scale"] for key, one in found["stacks"].items()} == pytest.approx({key: one["scale"] for key, one in shipped["stacks"].items()}, rel=0.01)


def test_a_fit_of_serving_runs_finds_what_they_were_made_with(tmp_path):
    file = tmp_path / "inference.csv"
    file.write_text("\n".join((HEADERS["inference"], *(
        served(f"8,8/node,vllm,agg,both,8,1,1,8,1,{c},{c},{lengths}", gpu="H100 SXM", model=model)
        for model in ("meta-llama/Llama-3.1-70B", "Qwen/Qwen3-32B") for c in (1, 4, 16, 64, 256) for lengths in ("1024,1024", "8192,1024", "1024,8192")))) + "\n")
    questions = _core._Questions()
    runs = serving.fitted(_table.header_of(str(file))[1], questions)
    made = [row.copy() for row in runs.described]
    for row in made:
        row[_fit.AT["kv"]], row[_fit.AT["step"]], row[_fit.AT["bunching"]] = 0.5, 0.8e-3, 0.12
    runs["measured"] = questions.price(runs["at"], made) * runs.per
    found = _fit.fit(training.read(), evaluation.kernels.read(), runs, questions)
    assert found.serving.iloc[0].constants[_fit.AT["bunching"]] == pytest.approx(0.12, rel=0.2)
    kv, prior = found.serving_gpus["hopper"][_fit.AT["kv"]], _core._compute_prior()[_fit.AT["kv"]]
    assert abs(kv - 0.5) < 0.7 * (prior - 0.5)  # these rows read little cache
    assert "vllm:" in found.files()["workloads/serving.yaml"]
    assert set(found.unseen) == {"model", "gpu", "generation", "apart"} and "unseen:" in found.files()["workloads/serving.yaml"]


def test_residuals_of_a_group_left_out_are_those_of_a_fit_without_it():
    random = np.random.default_rng(1)
    slopes, noise, group = random.normal(size=(60, 3)), random.normal(size=60), np.repeat(["a", "b", "c"], 20)
    weight = np.where(group == "b", 0.5, 1.0)

    def fit(weight):
        return _fit.minimise(lambda u: slopes @ u - noise, lambda u, r: slopes, np.zeros(3), weight).unknowns

    u = fit(weight)
    left = _fit._left_out(u, slopes @ u - noise, slopes, weight, group)
    for name in "abc":
        its = group == name
        assert left[its] == pytest.approx((slopes @ fit(np.where(its, 0, weight)) - noise)[its], abs=0.01)


def test_a_model_that_an_engine_was_not_fitted_to_has_a_wider_interval(tmp_path):
    cells = "8,8/node,sglang 0.5.9,agg,both,8,1,1,8,1,64,64,1024,1024"
    file = tmp_path / "inference.csv"
    file.write_text("\n".join([HEADERS["inference"], served(cells), served(cells, model="meta-llama/Llama-3.1-70B")]) + "\n")
    rows = evaluation.validate(str(file)).rows
    wide = (rows.high / rows.low).tolist()
    assert wide[2] > 1.1 * wide[0] and wide[3] > 1.1 * wide[1]
