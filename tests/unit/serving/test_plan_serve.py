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

refused(*SMALL[:6], "--osl", 1, "--tpot", "30ms", saying=["--tpot", "--osl 1"])
refused(*SMALL, "--graph", "--eager", saying=["give one"])
refused(*SMALL, "--tp", 4, "--pp", 1, "--batch", 700, saying=["does not fit"])
for option in ["--offload-weights", "--offload-kv"]:
    for wrong in ["-3", "much", "1e9"]:
        refused(*SMALL, option, wrong, saying=[option, wrong, "GiB"])
refused("--model", "llama3-8b", "--gpus", 1, "--offload-weights", 1, "--system", "cloudmatrix384", saying=["no link to the host"])
# the front: the text shows the rows of the JSON, none beaten in both rates
for more in [[], ["--concurrency", 64], ["--disaggregated", "--ttft", "1s", "--tpot", "30ms"]]:
    front = [(p["tokens_per_s_per_gpu"], p["tokens_per_s_per_user"]) for p in json.loads(works(*SMALL, *more, "--pareto", "--json"))["pareto"]]
    assert front == sorted(set(front)) and not any(a != b and b[0] >= a[0] and b[1] >= a[1] for a in front for b in front), front
    for top in [2, 10, 1000]:  # spread over the front where it has more
        shown = works(*SMALL, *more, "--pareto", "--top", top).split("\n\n")[1].splitlines()[1:]
        assert len([line for line in shown if " x tp " in line]) == min(top, len(front)), shown

# expert loads
MIXTURE = ["--model", "deepseek-v3", "--system", "dgx-h200", "--gpus", 8, "--tp", 1, "--dp", 8, "--ep", 8, "--pp", 1, "--batch", 256]
with tempfile.TemporaryDirectory() as folder:
    counts = written(folder, "loads.txt", "# tokens of each expert\n" + "\n".join(["5"] * 256) + "\n")
    same, uniform = (json.loads(works(*MIXTURE, "--routing", how, "--json"))["layouts"][0]["tpot_s"] for how in (f"histogram:{counts}", "uniform"))
    assert abs(same / uniform - 1) < 0.02, (same, uniform)
    refused(*MIXTURE, "--routing", "histogram:" + written(folder, "short.txt", "1 2 3\n"), saying=["3 counts for 256 experts"])
    refused(*MIXTURE, "--routing", "histogram:" + written(folder, "word.txt", "1 2\n3, x4\n"),
            saying=["word.txt:2:4:", "\"x4\"", "how many tokens"])
    refused(*MIXTURE, "--routing", "histogram:" + written(folder, "none.txt", "# nothing\n"), saying=["none.txt", "no counts"])
    refused(*MIXTURE, "--routing", f"histogram:{folder}/missing.txt", saying=["missing.txt"])
for wrong in ["zipf:", "zipf:-1", "zipf:many", "zopf"]:
    refused(*MIXTURE, "--routing", wrong, saying=[wrong])
refused(*SMALL, "--routing", "uniform", saying=["no experts"])
refused(*SMALL, "--capacity", 1.25, saying=["--capacity is of plan train"])

# of two machines the message names the one that lacks memory
refused("--model", "llama3-405b", "--system", "dgx-h200", "--gpus", 8, "--disaggregated", "--prefill-system", "dgx-a100", "--prefill-gpus", 4,
        saying=["does not fit 4 x a100-sxm-80", "8 prefill GPUs fit"])
refused("--model", "llama3-405b", "--system", "dgx-a100", "--gpus", 2, "--disaggregated", "--prefill-system", "dgx-h200", "--prefill-gpus", 8,
        saying=["does not fit 2 x a100-sxm-80"])

# sessions whose turns go to any engine find little of their prompts: the remedy is the router
SESSIONS = ["--model", "llama3-8b", "--system", "dgx-h100", "--gpus", 64, "--tp", 2, "--pp", 1, "--request-rate", "20/s", "--turns", 20,
            "--isl", 2000, "--osl", 300, "--ttft", "500ms", "--tpot", "50ms", "--percentile", 90]
refused(*SESSIONS, saying=["with --route prefix", "meets them"])
works(*SESSIONS, "--route", "prefix")

# a machine without NICs says that more GPUs are no remedy
refused("--model", "kimi-k2", "--system", "rtx-pro-6000-pcie", "--gpus", 72, saying=["does not fit", "has no NICs", "a domain of 8 GPUs"])

# drafts need a module of the model that writes them
refused("--model", "llama3-70b", "--system", "dgx-b200", "--gpus", 8, "--stack", "trtllm-mtp", saying=["--stack trtllm-mtp", "llama3-70b"])
works("--model", "deepseek-v3", "--system", "dgx-b200", "--gpus", 8, "--stack", "trtllm-mtp", "--tp", 8, "--batch", 4)
# a dense model's replicas are shown
assert "tp 1 pp 1 ep 1 dp 8" in works(*SMALL, "--tp", 1, "--pp", 1, "--dp", 8)

# a trace of a few requests: what was simulated, and no figure of a rate that nobody sent
with tempfile.TemporaryDirectory() as folder:
    for count, gap in [(2, 1), (3, 250), (40, 5), (5, 90_000)]:
        trace = written(folder, "trace.jsonl", "".join(
            json.dumps({"timestamp": gap * i, "input_length": 900 + 50 * i, "output_length": 100 + i}) + "\n" for i in range(count)))
        text = works(*SMALL[:6], "--requests", trace, "--ttft", "3s")
        assert f"{count} requests within" in text and not re.search(r"\de[+-]\d", text), text
        assert re.search(r"\n +(?=\S*[1-9])\S+ +100.0 % +\S+ +\d+ x tp", text), text
    refused(*SMALL[:6], "--requests", trace, "--ttft", "1ms", saying=["5 requests within 360 s: no layout meets TTFT 1 ms"])

# sessions whose prefixes lie in host memory once they have left the GPUs; a hit rate whose hits lie there
CHAT = ["--model", "llama3-70b", "--system", "dgx-h100", "--gpus", 2, "--isl", 300, "--osl", 150, "--request-rate", "2/s", "--turns", 8,
        "--turn-gap", "2min", "--top", 1]
APART_CHAT = [*CHAT[:5], 4, *CHAT[6:], "--disaggregated"]
for chat in [CHAT, [*CHAT, "--prefix-tier", "ssd", "--prefix-read-rate", "50 GB/s"], APART_CHAT]:
    layout = json.loads(works(*chat, "--json"))["layouts"][0]
    arrivals, terms = layout["arrivals"], {term["name"]: term["time_s"] for term in layout["ttft_terms"]}
    assert abs(sum(terms.values()) - layout["ttft_s"]) < 1e-9 and all(time >= -1e-12 for time in terms.values()), layout
    assert (arrivals.get("reloaded", 0) > 0) == ("reload" in terms), (arrivals, terms)
    assert arrivals["saturation_per_s"] >= arrivals["rate_within_limits_per_s"], arrivals
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
text = " ".join(works(*CHAT, "--prefix-tier", "host:4GiB,remote").split())
assert "reloaded from the host's memory at" in text and "and the remote store at" in text, text

# prompts on machines of another kind
APART = ["--model", "llama3-70b", "--system", "dgx-h200", "--gpus", 8, "--isl", 4096, "--osl", 256, "--ttft", "2s", "--tpot", "50ms", "--top", 1]
text = " ".join(works(*APART, "--prefill-system", "dgx-h100", "--prefill-gpus", 8, "--kv-by-layer").split())
assert "8 dgx-h200 GPUs behind 8 of dgx-h100" in text and "sent layer by layer at" in text and "both machines rented" in " ".join(text.split()), text
refused(*APART, "--prefill-gpus", 8, saying=["add --prefill-system"])
refused(*APART, "--prefill-system", "dgx-h100", saying=["--prefill-gpus"])
refused(*APART, "--kv-by-layer", saying=["add --disaggregated"])
refused(*APART, "--redundant-experts", 4, saying=["llama3-70b", "no experts"])
refused(*SMALL, "--turns", 3, saying=["add --request-rate"])
