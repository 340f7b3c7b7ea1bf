#!/usr/bin/env python3
"""Seeded random questions, asked of the page's module and of the command: words must be equal, numbers within 1e-12.

    questions.py TOOL MODULE_DIR [--count N] [--seed S]

The module runs under node. The command line of each question is the module's own, that of "copy as command", so that this checks it as
well. A refusal must be one on both sides. The first differences are printed as lines to run."""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = 1e-12
TIMES = {"seconds"}  # how long a search took


def as_line(question, fields, files=None):
    return json.dumps({"question": question, "fields": fields, "files": files or {}})


class Node:
    """The module under node."""

    def __init__(self, module):
        self.command = ["node", str(HERE / "ask.mjs"), str(module)]

    def ask_all(self, asked):
        done = subprocess.run(self.command, input="\n".join(as_line(*one) for one in asked) + "\n", capture_output=True, encoding="utf-8",
                              check=False)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        if len(answers) != len(asked):
            sys.exit(f"the module stopped at {asked[len(answers)]}: {done.stderr[-2000:]}")
        return answers


# Questions whose numbers are turned: where they start.
STARTS = {
    "cost": {"system": "", "gpus": "1024", "model": "llama3-70b", "mfu": "40%", "tokens": "1T"},
    "goodput": {"gpus": "16384", "checkpoint_seconds": "30s", "restart_seconds": "600s"},
    "stragglers": {"mean_seconds": "100ms", "deviation_seconds": "2ms", "ranks": "1024", "slow": ["1%:1.1"]},
    "pipeline": {"schedule": "zb_h1", "stages": "8", "microbatches": "24", "forward_seconds": "18ms", "exchange_seconds": "1ms"},
    "share": {"system": "", "nodes": "8", "layout": "tp=8,dp", "collectives": ["all_reduce 1GiB over dp", "all_gather 64MiB over tp"]},
    "transfer_storage": {"system": "", "nodes": "16", "bytes": "810GB", "client": "ethernet-100"},
    "transfer_access": {"system": "", "warps": "4"},
    "transfer_incast": {"system": "", "senders": "8", "bytes": "1MiB"},
    "tune": {"system": "", "nodes": "4", "operation": "all_gather"},
    "moe": {"operation": "moe_dispatch", "system": "", "tokens": "4096", "hidden": "7168", "experts": "256", "top_k": "8", "ranks": "64"},
    "rl": {"system": "", "model": "llama3-8b", "gpus": "32", "prompts": "64", "osl": "1024", "max_osl": "4096"},
    "project": {"systems": ["", "dgx-h100"], "model": "llama3-8b", "global_batch": "512", "tokens": "1T", "gpus": "256"},
    "need_machine": {"systems": ["", "dgx-h100", "dgx-b200"], "model": "llama3-8b", "global_batch": "512", "tokens": "1T",
                     "in_seconds": "30d"},
}


class Random(random.Random):
    def any_question(self, known):
        system = self.choice(known["systems"])
        kind = self.choices(["sweep", "predict", "explain", "crossovers", "show", "plan", "serve", "models", "compare", "need", "other"],
                            [30, 25, 10, 8, 5, 8, 5, 3, 3, 3, 15])[0]
        return self.other(system) if kind == "other" else (kind, getattr(self, kind)(system, known))

    def other(self, system):
        kind = self.choices(list(STARTS), [1 if name in ("rl", "project", "need_machine") else 4 for name in STARTS])[0]

        def turned(value):
            number = re.fullmatch(r"(\d+)(\D*)", value)
            return f"{max(1, int(int(number[1]) * 2.0 ** self.randint(-2, 2)))}{number[2]}" if number else value or system
        return kind, {name: [turned(one) for one in value] if isinstance(value, list) else turned(value)
                      for name, value in STARTS[kind].items()}

    def count(self, most=64):
        return str(min(most, 2 ** self.randint(0, 6)) if self.random() < 0.7 else self.randint(1, most))

    def size(self):
        power = f"{2 ** self.randint(0, 9)}{self.choice(['B', 'KiB', 'MiB'])}"
        return self.choice([power, power, str(self.randint(1, 10 ** 9)), "1GiB", "1.5MB", "0B"])

    def operation(self, system):
        operations = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv"]
        out = {"system": system, "operation": self.choice(operations)}
        if self.random() < 0.7:
            out["nodes"] = self.count(16)
        elif self.random() < 0.7:
            out["ranks"] = self.count()
        for name, share, values in [("dtype", 0.3, ["half", "float", "fp8", "bfloat16"]),
                                    ("algorithm", 0.15, ["ring", "tree", "nvls", "direct"]),
                                    ("protocol", 0.15, ["ll", "ll128", "simple"]), ("choice", 0.2, ["fastest", "nccl"])]:
            if self.random() < share:
                out[name] = self.choice(values)
        if self.random() < 0.15:
            changes = ["design.nic.bandwidth=50GB/s per direction", "nic.gdr=false", "design.domain=16", "nic.endpoints=4", "no.such=1"]
            out["overrides"] = [self.choice(changes)]
        return out

    def predict(self, system, known):
        out = {**self.operation(system), "bytes": self.size()}
        if self.random() < 0.1:
            out["library"] = self.choice(["vllm", "nccl-2.18", "trtllm"])
        if self.random() < 0.1:
            out[self.choice(["symmetric", "gin", "registered"])] = True
        return out

    explain = predict

    def sweep(self, system, known):
        out = self.operation(system)
        if self.random() < 0.8:
            return {**out, "sizes": self.choice(["1KiB:1GiB:x4", "8B:64KiB:x2", "1MiB,3MiB,1GB"])}
        out.pop("ranks", None)
        return {**out, "nodes": "1:16:x2", "bytes": self.size()}

    def crossovers(self, system, known):
        return {k: v for k, v in self.operation(system).items() if k != "choice"}

    def show(self, system, known):
        return {"system": system}

    def plan(self, system, known):
        out = {"system": system, "model": self.choice(known["models"]), "gpus": str(2 ** self.randint(3, 9)),
               "global_batch": str(2 ** self.randint(4, 9)), "top": "3"}
        if self.random() < 0.3:
            out["precision"] = "fp8"
        if self.random() < 0.3:
            out["sequence"] = "8192"
        return out

    def serve(self, system, known):
        return {"system": system, "model": self.choice(known["models"]), "gpus": str(2 ** self.randint(2, 6)), "top": "4",
                **({"ttft_seconds": "2s", "tpot_seconds": "50ms"} if self.random() < 0.5 else {})}

    def models(self, system, known):
        return {"model": self.choice(known["models"])}

    def compare(self, system, known):
        return {"systems": [system, self.choice(known["systems"])], "model": "llama3-8b", "gpus": "32", "global_batch": "64", "train": True}

    def need(self, system, known):
        return {"unknown": "nic.bandwidth", "system": system, "model": "llama3-8b", "gpus": "64", "global_batch": "128", "within": "5%"}


def differences(ours, theirs, where=""):
    """Places at which two JSON values differ, and the largest error of a number."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if list(ours) != list(theirs):
            return [f"{where}: keys {list(ours)} and {list(theirs)}"], 0
        found = [differences(ours[k], theirs[k], f"{where}.{k}") for k in ours if k not in TIMES]
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return [f"{where}: {len(ours)} and {len(theirs)} items"], 0
        found = [differences(a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(ours, theirs))]
    elif isinstance(ours, (int, float)) and isinstance(theirs, (int, float)) and not isinstance(ours, bool):
        error = abs(ours - theirs) / max(abs(ours), abs(theirs)) if ours != theirs else 0
        return ([] if error <= TOLERANCE else [f"{where}: {ours!r} and {theirs!r}"]), error
    else:
        return ([] if ours == theirs and type(ours) is type(theirs) else [f"{where}: {ours!r} and {theirs!r}"]), 0
    return [line for lines, _ in found for line in lines], max((error for _, error in found), default=0)


def bare(text, fields=()):
    """A refusal without how its face spells fields and names itself."""
    text = re.sub(r"^fabricost \w+: ", "", text.strip())
    text = re.sub(r"\nSee fabricost.*", "", text)
    words = re.sub(r"\W+", " ", re.sub(r"--?[a-z][\w-]*|\b[a-z_]+ = (True\b)?", " ", text)).split()
    return [word for word in words if word not in fields]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("module")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=20261123)
    given = parser.parse_args()
    if not (pathlib.Path(given.module) / "fabricost-all.wasm").exists() or not shutil.which("node"):
        print("skipped: the page's module is not built (bindings/web/build.sh, which needs emscripten), or node is not here")
        sys.exit(77)
    face = Node(given.module)
    described = face.ask_all([("questions", {})])[0]["answer"]
    known = {"systems": [s["name"] for s in described["systems"]], "models": described["models"]}
    names = {question["name"]: {field["name"] for field in question["fields"]} for question in described["questions"]}
    rng = Random(given.seed)
    asked = [rng.any_question(known) for _ in range(given.count)]
    answers = face.ask_all(asked)
    codes = face.ask_all([("code", {"question": kind, "fields": fields}) for kind, fields in asked])
    commands = [code.get("answer", {}).get("command") for code in codes]

    def run(command):
        if command is None:
            return None
        done = subprocess.run([given.tool, *shlex.split(command)[1:], "--json"], capture_output=True, encoding="utf-8", check=False,
                              env={k: v for k, v in os.environ.items() if k != "FABRICOST_DATA"})
        return done.returncode, done.stdout, done.stderr

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = list(pool.map(run, commands))
    faults, worst, numbers, refusals = [], 0, 0, 0
    for (kind, fields), command, answer, output in zip(asked, commands, answers, outputs):
        line = f"{command}   # {kind} {json.dumps(fields)}"
        if output is None:  # the module refuses to read the fields
            refusals += 1
            if "error" not in answer:
                faults.append(f"answered, but has no command: {line}")
            continue
        status, out, err = output
        if (status != 0) != ("error" in answer):
            faults.append(f"{line}\n    command: {status} {err[:300]}\n    module: {json.dumps(answer)[:300]}")
        elif status != 0:
            refusals += 1
            theirs, ours = (bare(text, names[kind]) for text in (err, answer["error"]["text"]))
            if theirs != ours:
                faults.append(f"{line}\n    {theirs}\n    {ours}")
        else:
            theirs = json.loads(out)
            del theirs["schema"], theirs["question"]  # of the command alone
            found, error = differences(answer["answer"], theirs["rows"] if list(theirs) == ["rows"] else theirs)
            numbers += out.count(":")
            worst = max(worst, error)
            if found:
                faults.append(f"{line}\n    " + "\n    ".join(found[:4]))
    print("\n".join(faults[:20]))
    print(f"{len(asked)} questions of seed {given.seed}, {refusals} of them refused; about {numbers} values, worst relative error "
          f"{worst:.2g}; {len(faults)} differ")
    sys.exit(1 if faults or math.isnan(worst) or refusals > len(asked) * 0.6 else 0)


if __name__ == "__main__":
    main()
