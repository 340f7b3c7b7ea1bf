"""fabricost plan serve as people and scripts see it: exit status, streams, the JSON's fields, limits.

    test_plan_serve.py FABRICOST
"""
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, written

TOOL = os.path.abspath(sys.argv[1])
COMMAND = Command(TOOL, "plan", "--serve")
works, refused = COMMAND.works, COMMAND.refused
SMALL = ["--model", "llama3-70b", "--system", "dgx-h100", "--gpus", 8, "--isl", 2048, "--osl", 256]

# the contract's fields
answer = json.loads(works(*SMALL, "--ttft", "1s", "--tpot", "30ms", "--json"))
assert set(answer) >= {"layouts", "evaluated", "pruned", "seconds"}, sorted(answer)
assert answer["evaluated"] > 0 and answer["seconds"] < 1
for layout in answer["layouts"]:
    for field in ["tp", "pp", "ep", "dp", "batch", "prefill_workers", "decode_workers", "ttft_s", "tpot_s", "tokens_per_s_per_gpu",
                  "tokens_per_s_per_user", "memory_GiB", "kv_GiB", "terms"]:
        assert field in layout, (field, sorted(layout))
    assert layout["ttft_s"] <= 1 and layout["tpot_s"] <= 0.03
    assert abs(sum(term["time_s"] for term in layout["terms"]) - layout["tpot_s"]) < 1e-9 * layout["tpot_s"] + 1e-15
    assert abs(sum(term["time_s"] for term in layout["ttft_terms"]) - layout["ttft_s"]) < 1e-9
    assert abs(layout["tokens_per_s_per_user"] * layout["tpot_s"] - 1) < 1e-9
    low, high = layout["interval_tpot_s"]
    assert low < layout["tpot_s"] < high
rates = [layout["tokens_per_s_per_gpu"] for layout in answer["layouts"]]
assert rates == sorted(rates, reverse=True)

# one batch, one layout, one concurrency
fixed = json.loads(works(*SMALL, "--tp", 4, "--pp", 1, "--batch", 16, "--json"))["layouts"]
assert [(p["tp"], p["batch"], p["replicas"]) for p in fixed] == [(4, 16, 2)], fixed
crowd = json.loads(works(*SMALL, "--tp", 4, "--pp", 1, "--concurrency", 32, "--json"))["layouts"]
assert crowd[0]["batch"] == 16 and abs(crowd[0]["tpot_s"] - fixed[0]["tpot_s"]) < 1e-12

# apart, with experts, and the front
apart = json.loads(works("--model", "deepseek-v3", "--system", "gb200-nvl72", "--gpus", 72, "--precision", "fp4", "--tpot", "25ms",
                         "--disaggregated", "--top", 3, "--json"))["layouts"]
assert len(apart) == 3
for layout in apart:
    engine = layout["tp"] * layout["pp"] * layout["dp"]
    worker = layout["prefill"]["tp"] * layout["prefill"]["pp"] * layout["prefill"]["dp"]
    assert layout["prefill_workers"] > 0 and layout["decode_workers"] > 0
    assert engine * layout["decode_workers"] + worker * layout["prefill_workers"] <= 72, layout
# the front: no row beaten in both rates, the text shows the same rows
for more in [[], ["--tpot", "30ms"], ["--concurrency", 64], ["--disaggregated"], ["--disaggregated", "--ttft", "1s", "--tpot", "30ms"]]:
    answer = json.loads(works(*SMALL, *more, "--pareto", "--json"))
    front = [(p["tokens_per_s_per_gpu"], p["tokens_per_s_per_user"]) for p in answer["pareto"]]
    assert len(front) > (4 if "--concurrency" not in more else 0), front
    for one in front:
        assert not any(other != one and other[0] >= one[0] and other[1] >= one[1] for other in front), (one, front)
    assert front == sorted(set(front)), front
    assert front[-1][0] == answer["layouts"][0]["tokens_per_s_per_gpu"], (front[-1], answer["layouts"][0])
    shown = works(*SMALL, *more, "--pareto").split("\n\n")[1].splitlines()[1:]
    assert len([line for line in shown if " x tp " in line]) == len(front), shown

# answers of one token have no time per further token
lone = json.loads(works(*SMALL[:6], "--isl", 1024, "--osl", 1, "--json"))["layouts"][0]
assert lone["tpot_s"] == 0 and lone["terms"] == [] and abs(lone["tokens_per_s_per_user"] * lone["ttft_s"] - 1) < 1e-9, lone
text = works(*SMALL[:6], "--isl", 1024, "--osl", 1)
assert "TPOT  " in text.splitlines()[3] and "prompts_of_others" not in text and "Nine in ten runs should show TTFT" in text, text
refused(*SMALL[:6], "--osl", 1, "--tpot", "30ms", saying=["--tpot", "--osl 1"])
# a few tokens: no step takes longer than its own time and one chunk of others' prompts
few = json.loads(works(*SMALL[:6], "--isl", 1024, "--osl", 2, "--json"))["layouts"][0]
assert few["tpot_s"] < 2, few

# GPUs no layout divides
five = json.loads(works("--model", "llama3-70b", "--system", "dgx-h100", "--gpus", 5, "--precision", "bf16", "--json"))["layouts"][0]
assert five["replicas"] * five["tp"] * five["pp"] <= 5, five

text = works(*SMALL, "--ttft", "1s", "--tpot", "30ms")
for piece in ["tokens/s/GPU", "TTFT", "TPOT", "prompts_of_others", "Nine in ten runs"]:
    assert piece in text, (piece, text)
assert all(len(line) <= 140 for line in text.splitlines()), text
works("--model", "llama3-70b", "--system", "mi300x-8", "--gpus", 8)
works("--model", "llama3-8b", "--system", "tpu-v5e-pod", "--gpus", 4)

# no CUDA graphs: a step is never quicker; graphs for prompts: never slower
ONE = [*SMALL, "--tp", 8, "--pp", 1, "--batch", 1, "--json"]
usual, eager, graph = (json.loads(works(*ONE, *more))["layouts"][0] for more in ([], ["--eager"], ["--graph"]))
assert eager["tpot_s"] > 1.5 * usual["tpot_s"], (eager["tpot_s"], usual["tpot_s"])
assert graph["ttft_s"] < usual["ttft_s"] and graph["tpot_s"] == usual["tpot_s"]
refused(*SMALL, "--graph", "--eager", saying=["give one"])

# a model larger than its GPUs, with weights in the host's memory; PCIe against a chip-to-chip link
BIG = ["--model", "llama3-405b", "--gpus", 2, "--precision", "fp8", "--tp", 2, "--pp", 1, "--batch", 1, "--isl", 512, "--osl", 64]
refused(*BIG, "--system", "dgx-h100", saying=["does not fit"])
pcie, c2c = (json.loads(works(*BIG, "--system", system, "--offload-weights", 160, "--json"))["layouts"][0]
             for system in ["dgx-h100", "gb200-nvl72"])
for layout in (pcie, c2c):  # no more than has to lie there
    assert 10 < layout["host_GiB"] < 160, layout
    assert abs(layout["memory_GiB"] + layout["host_GiB"] - layout["weights_GiB"] - layout["kv_GiB"]) < 1e-6, layout
assert pcie["host_GiB"] > 100 > c2c["host_GiB"] and pcie["memory_GiB"] < 0.9 * 81559 / 1024 + 1e-6
for layout in (pcie, c2c):
    terms = {term["name"]: term["time_s"] for term in layout["terms"]}
    assert terms["host_memory"] > 0.5 * layout["tpot_s"] and abs(sum(terms.values()) - layout["tpot_s"]) < 1e-9
assert pcie["tpot_s"] > 2.5 * c2c["tpot_s"]
FULL = [*SMALL, "--tp", 4, "--pp", 1, "--batch", 700]
refused(*FULL, saying=["does not fit"])
assert json.loads(works(*FULL, "--offload-kv", 40, "--json"))["layouts"][0]["host_GiB"] > 1
assert "host's memory" in works(*FULL, "--offload-kv", 40)
without = json.loads(works(*SMALL, "--json"))["layouts"][0]
for option in ["--offload-weights", "--offload-kv"]:
    assert "0: none" in next(line for line in Command(TOOL, "plan").works("--help").splitlines() if option in line)
    for amount in [0, 1, 10, 400]:  # a limit: never fewer tokens than without
        more = json.loads(works(*SMALL, option, amount, "--json"))["layouts"][0]
        assert more["tokens_per_s_per_gpu"] >= without["tokens_per_s_per_gpu"], (option, amount, more, without)
        assert amount > 0 or more == without, (more, without)
    for wrong in ["-3", "much", "1e9"]:
        refused(*SMALL, option, wrong, saying=[option, wrong, "GiB"])
LINKLESS = ["--model", "llama3-8b", "--gpus", 1, "--offload-weights", 1]
refused(*LINKLESS, "--system", "cloudmatrix384", saying=["no link to the host"])
assert json.loads(works(*LINKLESS, "--system", "l40s-pcie", "--json"))["layouts"]

# expert loads
MIXTURE = ["--model", "deepseek-v3", "--system", "dgx-h200", "--gpus", 8, "--tp", 1, "--dp", 8, "--ep", 8, "--pp", 1, "--batch", 256]
step = {routing: json.loads(works(*MIXTURE, "--routing", routing, "--json"))["layouts"][0]["tpot_s"]
        for routing in ["balanced", "uniform", "zipf:0.8"]}
assert step["balanced"] <= step["uniform"] < step["zipf:0.8"], step
assert step["balanced"] == json.loads(works(*MIXTURE, "--json"))["layouts"][0]["tpot_s"]
with tempfile.TemporaryDirectory() as folder:
    counts = written(folder, "loads.txt", "# tokens of each expert\n" + "\n".join(["5"] * 256) + "\n")
    same = json.loads(works(*MIXTURE, "--routing", f"histogram:{counts}", "--json"))["layouts"][0]["tpot_s"]
    assert abs(same / step["uniform"] - 1) < 0.02, (same, step)
    refused(*MIXTURE, "--routing", "histogram:" + written(folder, "short.txt", "1 2 3\n"), saying=["3 counts for 256 experts"])
    refused(*MIXTURE, "--routing", "histogram:" + written(folder, "word.txt", "1 2\n3, x4\n"),
            saying=["word.txt:2:4:", "\"x4\"", "how many tokens"])
    refused(*MIXTURE, "--routing", "histogram:" + written(folder, "none.txt", "# nothing\n"), saying=["none.txt", "no counts"])
    refused(*MIXTURE, "--routing", f"histogram:{folder}/missing.txt", saying=["missing.txt"])
for wrong in ["zipf:", "zipf:-1", "zipf:many", "zopf"]:
    refused(*MIXTURE, "--routing", wrong, saying=[wrong])
refused(*SMALL, "--routing", "uniform", saying=["no experts"])
refused(*SMALL, "--capacity", 1.25, saying=["--capacity is of --train"])

# validate and calibrate know the table
validate = Command(TOOL, "validate")
calibrate = Command(TOOL, "calibrate")
HEADER = ("id,group,model,gpu,gpus,backend,tp,pp,attn_dp,moe_tp,moe_ep,batch,concurrency,isl,osl,precision_gemm,"
          "metric,value,unit,metric2,value2,unit2,fully_specified\n")
ROW = "a,mine,llama3-70b,H100 SXM,4,vllm,4,1,1,4,1,{c},{c},1024,1024,fp8,ttft_ms,{ttft},ms,tpot_ms,{tpot},ms,yes\n"
with tempfile.TemporaryDirectory() as folder:
    good = written(folder, "inference.csv", HEADER + "".join(ROW.format(c=c, ttft=80 + 3 * c, tpot=8 + c / 8) for c in [1, 4, 16, 64]))
    groups = json.loads(validate.works(good, "--json"))["by_group"]
    assert set(groups) == {"mine:ttft_ms", "mine:tpot_ms"} and groups["mine:tpot_ms"]["points"] == 4, groups
    bad = written(folder, "bad.csv", HEADER + ROW.format(c="many", ttft=1, tpot=1))
    validate.refused(bad, saying=["bad.csv:2:", "\"many\""])
    os.mkdir(os.path.join(folder, "workloads"))
    calibrate.works("--from", good, "-o", folder)
    with open(os.path.join(folder, "workloads", "serving.yaml"), encoding="utf-8") as file:
        assert "hopper" in file.read()
print("ok")

# drafts need a module of the model that writes them
refused("--model", "llama3-70b", "--system", "dgx-b200", "--gpus", 8, "--stack", "trtllm-mtp", saying=["--stack trtllm-mtp", "llama3-70b"])
works("--model", "deepseek-v3", "--system", "dgx-b200", "--gpus", 8, "--stack", "trtllm-mtp", "--tp", 8, "--batch", 4)
# a dense model's replicas are shown
assert "tp 1 pp 1 dp 8" in works(*SMALL, "--tp", 1, "--pp", 1, "--dp", 8)

# a trace of a few requests: what was simulated, and no figure of a rate that nobody sent
with tempfile.TemporaryDirectory() as folder:
    for count, gap in [(2, 1), (3, 250), (40, 5), (5, 90_000)]:
        trace = written(folder, "trace.jsonl", "".join(
            json.dumps({"timestamp": gap * i, "input_length": 900 + 50 * i, "output_length": 100 + i}) + "\n" for i in range(count)))
        text = works(*SMALL[:6], "--requests", trace, "--ttft", "3s")
        assert f"{count} requests within" in text and not re.search(r"\de[+-]\d", text), text
        assert re.search(r"\n +(?=\S*[1-9])\S+ +100.0 % +\d+ x tp", text), text
    said = refused(*SMALL[:6], "--requests", trace, "--ttft", "1ms", saying=["5 requests within 360 s keeps TTFT 1 ms"])

# sessions whose prefixes lie in host memory once they have left the GPUs; a hit rate whose hits lie there
CHAT = ["--model", "llama3-70b", "--system", "dgx-h100", "--gpus", 2, "--isl", 300, "--osl", 150, "--request-rate", "2/s", "--turns", 8,
        "--turn-gap", "2min", "--top", 1]
shares = []
for more in [[], ["--prefix-tier", "host", "--prefix-cache", 4], ["--prefix-tier", "host", "--prefix-cache", 100],
             ["--prefix-tier", "ssd", "--prefix-read-rate", "50 GB/s"], ["--prefix-tier", "remote"]]:
    layout = json.loads(works(*CHAT, *more, "--json"))["layouts"][0]
    arrivals, terms = layout["arrivals"], {term["name"]: term["time_s"] for term in layout["ttft_terms"]}
    assert abs(sum(terms.values()) - layout["ttft_s"]) < 1e-9 and all(time >= -1e-12 for time in terms.values()), layout
    assert (arrivals.get("reloaded", 0) > 0) == ("reload" in terms), (arrivals, terms)
    shares.append(arrivals["hit_rate"])
assert shares[0] <= shares[1] + 0.01 <= shares[2] + 0.02 and shares[2] > shares[0] + 0.05, shares
text = " ".join(works(*CHAT, "--prefix-tier", "host").split())
assert "reloaded from the host's memory at" in text and "reload of prefixes" in text, text
HITS = [*SMALL, "--request-rate", "4/s", "--prefix", "60%", "--top", 1, "--json"]
here, host = (json.loads(works(*HITS, *more))["layouts"][0] for more in ([], ["--prefix-tier", "host"]))
assert here["arrivals"]["hit_rate"] == host["arrivals"]["hit_rate"] and here["ttft_s"] < host["ttft_s"], (here, host)
refused(*SMALL, "--request-rate", 3, "--prefix-tier", "host", saying=["what do prompts repeat", "--turns"])
refused(*SMALL, "--request-rate", 3, "--turns", 4, "--prefix-cache", 9, saying=["add --prefix-tier"])
refused(*SMALL, "--request-rate", 3, "--turns", 4, "--prefix-tier", "ssd", saying=["--prefix-read-rate"])
refused(*SMALL, "--request-rate", 3, "--turns", 4, "--prefix-tier", "tape", saying=["tape", "host, ssd, remote"])
refused(*SMALL, "--request-rate", 3, "--turns", 4, "--prefix-tier", "ssd,host", saying=["host", "in this order"])
refused(*SMALL, "--request-rate", 3, "--turn-gap", "3s", saying=["add --turns"])
refused(*SMALL, "--route", "prefix", saying=["add --request-rate"])
chained = json.loads(works(*CHAT, "--prefix-tier", "host:4GiB,remote", "--json"))["layouts"][0]["arrivals"]
assert chained["hit_rate"] > shares[1] - 0.01, (chained, shares)
text = " ".join(works(*CHAT, "--prefix-tier", "host:4GiB,remote").split())
assert "reloaded from the host's memory at" in text and "and the remote store at" in text, text
turn, routed = (json.loads(works(*CHAT, "--route", how, "--json"))["layouts"][0]["arrivals"]["hit_rate"] for how in ("round-robin", "prefix"))
assert routed >= turn - 0.01, (turn, routed)

# prompts on machines of another kind
APART = ["--model", "llama3-70b", "--system", "dgx-h200", "--gpus", 8, "--isl", 4096, "--osl", 256, "--ttft", "2s", "--tpot", "50ms", "--top", 1]
POOL = [*APART, "--prefill-system", "dgx-h100", "--prefill-gpus", 8]
for more in [], ["--request-rate", "2/s"]:
    layout = json.loads(works(*POOL, *more, "--json"))["layouts"][0]
    assert layout["prefill"]["system"] == "dgx-h100" and layout["prefill"]["gpus"] == 8, layout
    assert layout["dollars_per_million_tokens"] > 0 and layout["prefill"]["kv_bytes"] > 1e8, layout
    assert "transfer" in {term["name"] for term in layout["ttft_terms"]}, layout
text = " ".join(works(*POOL, "--kv-by-layer").split())
assert "8 dgx-h200 GPUs behind 8 of dgx-h100" in text and "sent layer by layer at" in text and "Both machines together cost" in text, text
refused(*APART, "--prefill-gpus", 8, saying=["add --prefill-system"])
refused(*APART, "--prefill-system", "dgx-h100", saying=["--prefill-gpus"])
refused(*APART, "--kv-by-layer", saying=["add --disaggregated"])

# copies of the busiest experts
EXPERTS = ["--model", "deepseek-v3", "--system", "dgx-h200", "--gpus", 32, "--isl", 2048, "--osl", 512, "--tp", 1, "--pp", 1, "--dp", 32, "--ep", 32,
           "--batch", 1024, "--routing", "zipf:0.8", "--top", 1]
alone, copied = (json.loads(works(*EXPERTS, *more, "--json"))["layouts"][0] for more in ([], ["--redundant-experts", 32]))
assert copied["experts"]["imbalance"] < alone["experts"]["imbalance"] and copied["tpot_s"] < alone["tpot_s"], (alone, copied)
assert copied["experts"]["copies_bytes"] > 1e9 and copied["experts"]["rebalance_s"] > 0, copied
refused(*APART, "--redundant-experts", 4, saying=["llama3-70b", "no experts"])
refused(*SMALL, "--turns", 3, saying=["add --request-rate"])
