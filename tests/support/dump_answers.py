#!/usr/bin/env python3
"""Answers of the package as numbers with 17 digits, to hold one build against another while code moves.

    dump_answers.py [--predictions 200000] [--plans 2000] [--seed 1] > answers.csv

Random questions of the seed: predictions of every shipped machine and collective, then training and serving plans. Two builds that price
alike print the same bytes; `diff` names the questions that moved."""

import argparse
import random
import sys

import numpy as np

import fabricost as fc

COLLECTIVES = (fc.AllReduce, fc.AllGather, fc.ReduceScatter, fc.Broadcast, fc.Reduce, fc.AllToAll, fc.SendRecv)
MODELS = ("llama3-8b", "llama3-70b", "llama3-405b", "gpt3-175b", "deepseek-v3", "moe-1.8t")


def written(values):
    return ",".join(f"{float(v):.17g}" for v in np.ravel(values))


def predictions(count, draw):
    names = sorted(s.name for s in fc.systems())
    sizes_each = 32
    for i in range(count // sizes_each):
        name = names[i % len(names)]
        system = fc.load_system(name)
        operation = draw.choice(COLLECTIVES)
        ranks = draw.choice((2, 4, 8, 16, 32, 64, 72, 128, 512, 1024))
        sizes = np.array([round(2 ** draw.uniform(3, 34)) for _ in range(sizes_each)], dtype=float)
        kind = draw.choice(("half", "float", "int8"))
        of_kind = {} if operation is fc.SendRecv else {"dtype": kind}  # a message has bytes and no elements
        try:
            p = fc.predict(system, operation(bytes=sizes, ranks=ranks, **of_kind))
        except (fc.Error, ValueError) as error:
            print(f"{name} {operation.__name__} {ranks} {kind}: {type(error).__name__}")
            continue
        print(f"{name} {operation.__name__} {ranks} {kind}: {written(p.seconds)};{written(p.low_seconds)};{written(p.high_seconds)};"
              f"{','.join(map(str, np.ravel(p.algorithm)))};{','.join(map(str, np.ravel(p.protocol)))}")


def plans(count, draw):
    names = ("dgx-a100", "dgx-h100", "dgx-h200", "dgx-b200", "gb200-nvl72", "mi300x-8", "aws-p5", "gcp-a3-mega")
    for i in range(count):
        name, model, gpus = draw.choice(names), draw.choice(MODELS), draw.choice((8, 16, 64, 72, 128, 512))
        if i % 2:
            ask = dict(gpus=gpus, global_batch=draw.choice((64, 256, 1024)), sequence=draw.choice((2048, 4096, 8192)),
                       precision=draw.choice(("bf16", "fp8")), top=3)
            try:
                rows = [(p.step_seconds, p.memory_bytes, p.exposed_seconds if hasattr(p, "exposed_seconds") else 0) for p in fc.plan(name, model, **ask)]
            except (fc.Error, ValueError) as error:
                rows = type(error).__name__
        else:
            ask = dict(gpus=gpus, isl=draw.choice((512, 2048, 8192)), osl=draw.choice((128, 512)), disaggregated=draw.random() < 0.3,
                       stack=draw.choice(("vllm", "sglang", "trtllm")), top=3)
            if draw.random() < 0.5:
                ask |= dict(tpot_seconds=draw.choice((0.02, 0.05, 0.1)))
            if draw.random() < 0.5:
                ask |= dict(ttft_seconds=draw.choice((0.3, 1.0, 3.0)))
            try:
                rows = [(p.ttft_seconds, p.tpot_seconds, p.tokens_per_second_per_gpu) for p in fc.plan_serve(name, model, **ask)]
            except (fc.Error, ValueError) as error:
                rows = type(error).__name__
        print(f"{name} {model} {ask}: {rows if isinstance(rows, str) else ';'.join(written(r) for r in rows)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--predictions", type=int, default=200_000)
    parser.add_argument("--plans", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    predictions(asked.predictions, draw)
    plans(asked.plans, draw)


if __name__ == "__main__":
    sys.exit(main())
