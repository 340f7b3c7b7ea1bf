"""A default that help names is the one that counts: with it given, each question answers the same as without it."""
import functools
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from command import Command

tool = Command(sys.argv[1])
TRAIN = ["--model", "llama3-8b", "--system", "dgx-h100", "--gpus", "16", "--global-batch", "64"]
SERVE = ["--serve", "--model", "llama3-8b", "--system", "dgx-h100", "--gpus", "8"]
ARRIVE = ["--isl", "256", "--osl", "64", "--request-rate", "2/s", "--draft-tokens", "2", "--turns", "2"]
RL = ["--rl", "--model", "qwen3-8b", "--system", "dgx-h100", "--gpus", "16", "--prompts", "64", "--osl", "2048", "--max-osl", "8192"]
REDUCE = ["all_reduce", "--system", "dgx-h100", "--size", "64MiB"]
EXCHANGE = ["moe_dispatch", "--system", "dgx-h100", "--tokens", "128", "--hidden", "7168", "--experts", "256", "--top-k", "8"]
WAIT = ["--ranks", "64", "--mean", "100ms", "--deviation", "2ms"]
STAGES = ["--stages", "4", "--microbatches", "8", "--forward", "2ms"]
# ways to ask a question, the usual first; others have options that it does not take
CASES = {
    "models": [["llama3-8b"]],
    "predict": [REDUCE, EXCHANGE],
    "explain": [REDUCE, EXCHANGE],
    "sweep": [[*REDUCE, "--nodes", "1:4:x2"]],
    "transfer": [["storage", "--system", "dgx-h100", "--size", "16GiB", "--client", "ethernet-100"], ["access", "--system", "dgx-h100"]],
    "plan": [["--train", *TRAIN], SERVE, RL, [*SERVE, *ARRIVE, "--tp", "8", "--batch", "8"], ["--train", *TRAIN, "--sites", "2", "--site-rate", "100 Gbit/s"]],
    "compare": [["dgx-h100", "dgx-h200", "--train", *TRAIN[:2], *TRAIN[4:]],
                ["dgx-h100", "dgx-h200", "--serve", *TRAIN[:2], "--gpus", "8"],
                ["dgx-h100", "dgx-h200", "--serve", *TRAIN[:2], "--gpus", "1", *ARRIVE]],
    "project": [["--system", "dgx-h100", "--model", "llama3-8b", "--gpus", "64", "--global-batch", "512", "--tokens", "1T"]],
    "pipeline": [[*STAGES, "--schedule", "1f1b"], [*STAGES, "--schedule", "interleaved"], [*STAGES, "--schedule", "zb_h1"]],
    "goodput": [["--gpus", "1024"], ["--gpus", "1024", "--flaps-per-link-year", "1", "--flap-stall", "10s"],
                ["--gpus", "1024", "--async"], ["--gpus", "1024", "--spares", "2"]],
    "stragglers": [WAIT, [*WAIT, "--rails", "8", "--network-share", "0.1"]],
    "cost": [["--system", "dgx-h100", "--gpus", "64", "--hours", "10"],
             ["--system", "dgx-h100", "--gpus", "64", "--tokens", "1T", "--model", "llama3-8b", "--mfu", "0.4"]],
}
LITERAL = re.compile(r"[\d.]+(?:%|[a-zA-Z/]+)?|[a-z][\w-]*")


def named_defaults(question):
    """(option, value, options that it goes with) for each default in that help that is a number or one word of the option's own."""
    for option in re.finditer(r"^  (?:-\w,)?(--[\w-]+)[^\n]*(?:\n {20,}[^\n]*)*", tool.works(question, "--help"), re.M):
        words = " ".join(option[0].split())
        said = re.search(r"[Dd]efault:? ([^;,)(]*)", words) or re.search(r"(\S+) \(default", words)
        said = said[1].split(" with ")[0].strip() if said else ""
        if LITERAL.fullmatch(said) and (said[0].isdigit() or len(re.findall(rf"\b{re.escape(said)}\b", words)) > 1):
            yield option[1], said, re.findall(r"(?:with|needs) (--[\w-]+)", words)


@functools.cache
def answer(question, *arguments):
    """But for its question, and how long a search took."""
    done = tool.run(question, *arguments, "--json")
    given = json.loads(done.stdout) if done.returncode == 0 else None
    return {key: value for key, value in given.items() if key not in ("seconds", "question")} if isinstance(given, dict) else given


checked, never, wrong = 0, [], []
for question, cases in CASES.items():
    for option, value, beside in named_defaults(question):
        taken = ((case, answer(question, *case, option, value)) for case in cases if set(beside) <= set(case))
        case, given = next(((case, given) for case, given in taken if given is not None), (None, None))  # the first that takes it
        if case is None:
            never.append(f"{question} {option} {value}")
        elif given != answer(question, *case):
            wrong.append(f"{question} {option} {value}")
        checked += 1
assert not wrong, f"named by help as defaults, but with them another answer comes: {wrong}"
assert not never, f"no case takes: {never}"
assert checked > 40, checked
print(f"{checked} defaults are those that help names")
