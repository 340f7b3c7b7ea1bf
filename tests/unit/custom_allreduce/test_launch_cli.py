"""fabricost predict: CUDA graph or eager launch, the norm that follows an all-reduce, NICs that are down.

    test_launch_cli.py FABRICOST
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command

PREDICT = Command(os.path.abspath(sys.argv[1]), "predict")
H100 = ["--system", "dgx-h100"]


def answer(*args):
    return json.loads(PREDICT.works(*args, "--json"))


# in a graph by default; eager is what vllm,python was
graph = answer("all_reduce", *H100, "--size", "64KiB", "--library", "vllm")
assert answer("all_reduce", *H100, "--size", "64KiB", "--library", "vllm", "--launch", "graph") == graph
eager = answer("all_reduce", *H100, "--size", "64KiB", "--library", "vllm", "--launch", "eager")
assert eager == answer("all_reduce", *H100, "--size", "64KiB", "--library", "vllm,python")
assert eager["time_us"] > 2 * graph["time_us"]
assert any(term["name"] == "launch from Python" for term in eager["terms"])
nccl = answer("all_reduce", *H100, "--size", "64KiB", "--launch", "eager")
assert nccl["time_us"] > answer("all_reduce", *H100, "--size", "64KiB")["time_us"]
PREDICT.refused("all_reduce", *H100, "--size", "1MiB", "--launch", "fast", saying=['"fast"', "eager"])
PREDICT.refused("all_gather", *H100, "--size", "1MiB", "--launch", "eager", saying=["all_reduce alone"])
PREDICT.refused("all_reduce", *H100, "--size", "1MiB", "--library", "vllm,python", "--launch", "graph", saying=["contradict"])
PREDICT.refused("moe_dispatch", *H100, "--launch", "eager", saying=["--launch"])

# fused norm: one kernel and one pass over memory less, where an engine's own kernel runs
norm = answer("all_reduce", *H100, "--size", "64KiB", "--library", "vllm", "--fused-norm")["norm"]
assert graph["time_us"] < norm["fused_us"] < norm["apart_us"]
assert abs(norm["apart_us"] - norm["fused_us"] - norm["saved_us"]) < 1e-9 and norm["saved_us"] > 1.8
assert answer("all_reduce", *H100, "--size", "512MiB", "--library", "vllm", "--fused-norm")["norm"]["saved_us"] == 0
assert "fused into the all-reduce" in PREDICT.works("all_reduce", *H100, "--size", "64KiB", "--library", "vllm", "--fused-norm")
assert "norm" not in graph
PREDICT.refused("all_gather", *H100, "--size", "1MiB", "--fused-norm", saying=["all_reduce"])
PREDICT.refused("all_reduce", *H100, "--size", "1MiB", "--library", "vllm", "--launch", "eager", "--fused-norm",
                saying=["inside a CUDA graph"])
PREDICT.refused("moe_combine", *H100, "--fused-norm", saying=["--fused-norm"])

# one rail of eight: what the NICs carry takes 8/7 as long, what stays inside a node as long as before
large = ["all_reduce", *H100, "--nodes", 4, "--size", "8GiB", "--algorithm", "ring", "--protocol", "simple"]
factor = answer(*large, "--lost-rails", 1)["time_us"] / answer(*large)["time_us"]
assert abs(factor / (8 / 7) - 1) < 0.02, factor
inside = ["all_reduce", *H100, "--size", "1GiB"]
assert answer(*inside, "--lost-rails", 1)["time_us"] == answer(*inside)["time_us"]
PREDICT.refused(*large, "--lost-rails", 8, saying=["8 of 8 NICs"])
PREDICT.refused(*large, "--lost-rails", "some", saying=["--lost-rails"])
PREDICT.refused("all_reduce", "--system", "b60-pcie", "--size", "1MiB", "--lost-rails", 1, saying=["no NICs"])
print("fabricost predict: launches, norms and lost rails as promised")
