"""Every option of a question changes its answer or is refused: none is taken and ignored.   test_options.py FABRICOST [unittest arguments]

The options in the --help of each command are tried one at a time with several questions, dense and of experts, given and searched. An option
that all of them take and that leaves all their answers as they were is ignored.
"""
import concurrent.futures
import functools
import json
import os
import re
import subprocess
import sys
import unittest

COMMAND = None

DENSE = "-m llama3-8b -s dgx-h100"
EXPERTS = "-m mixtral-8x7b -s dgx-h100"
STEP = "-b 64"
HELD = "--tp 2 --pp 2 --dp 4 --microbatch 1"
SERVED = "--isl 1024 --osl 256"
TRAINED = [f"{DENSE} -g 16 {STEP}", f"{DENSE} -g 16 {STEP} {HELD}", f"{DENSE} -g 16 {STEP} {HELD} --zero 1",
           f"{DENSE} -g 16 {STEP} --tp 8 --pp 1 --dp 2 --microbatch 1", f"{DENSE} -g 16 {STEP} --tp 8 --pp 1 --dp 2 --microbatch 1 --sequence-parallel no",
           f"{EXPERTS} -g 16 {STEP}", f"{EXPERTS} -g 16 {STEP} --tp 2 --pp 1 --ep 8 --dp 8 --microbatch 1",
           f"{DENSE} -g 16 {STEP} {HELD} --lora-rank 16", f"{DENSE} -g 16 -b 16 -l 32768 --cp 4 --tp 2 --pp 1",
           f"{DENSE} -g 16 {STEP} {HELD} --recompute selective", f"{DENSE} -g 16 {STEP} {HELD} --recompute full",
           f"{DENSE} -g 16 {STEP} {HELD} --precision fp8", "-m deepseek-v3 -s dgx-h100 -g 512 -b 512 --precision fp8 --pp 16 --ep 32 --zero 1 --cp 1"]
SERVES = [f"{DENSE} -g 8 {SERVED}", f"{EXPERTS} -g 8 {SERVED}", f"{DENSE} -g 16 {SERVED} --disaggregated",
          f"{DENSE} -g 8 {SERVED} --tp 8 --batch 4", f"-m qwen3-30b-a3b -s dgx-h100 -g 16 {SERVED} --disaggregated"]
RUN = "--tokens 1T --in 2000d"
QUESTIONS = {
    "plan": [f"plan train {one}" for one in TRAINED] + [f"plan serve {one}" for one in SERVES] +
            [f"plan rl -m {m} -s dgx-h100 -g 16 --prompts 16 --osl 512 --max-osl 1024" for m in ("llama3-8b", "qwen3-30b-a3b")],
    "explore": [f"explore --train {one} --vary headroom=0.05,0.1" for one in TRAINED] +
               [f"explore --serve {one} --vary hbm.bandwidth=3000,4000GB/s"
                for one in [*SERVES, "-m llama3-70b -s dgx-h100 -g 8 --isl 32768 --osl 512"]],
    "need": [f"need headroom --train {one} --over 0.05,0.1 --most --step 1h" for one in TRAINED] +
            [f"need gpus --train {DENSE} {STEP} --over 16,32 {RUN} --goodput"] +
            [f"need hbm.bandwidth --serve {one} --over 2000,4000GB/s --tokens-per-second 10" for one in SERVES] +
            [f"need machine --train {DENSE},dgx-a100 -g 16 {STEP} --tokens 1T --in 9000d"],
    "project": [f"project {one} --tokens 1T" for one in [*TRAINED, "-m llama3-70b -s dgx-h100 -g 64 -b 128"]],
}
ALONE = {  # each option that is taken is taken by itself: a question without what it is of has to refuse it
    "goodput": ["goodput -g 1024", "goodput -g 1024 --spares 1", "goodput -g 1024 -s gb200-nvl72 -m llama3-70b --async",
                "goodput -g 1024 --lost-rails 1 --rails 8 --network-share 20% --flaps-per-link-year 3 --flap-stall 10min"],
    "cost": ["cost -s dgx-h100 -g 64", "cost -s dgx-h100 -g 64 --hours 100", "cost -s dgx-h100 -g 64 --tokens 1B --tokens-per-s-per-gpu 100",
             "cost -s dgx-h100 -g 64 -m llama3-8b --mfu 30%", "cost -s dgx-h100 -g 64 --step-time 1s -b 64 -l 2048 --hours 1"],
    "predict": [f"predict {one} -s dgx-h100 --size 64KiB" for one in ("all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv")],
}
VALUES_ALONE = {"--network": ["torus"], "--upgrade": ["1000000"], "--price-kind": ["owned"], "--fleet": ["rsc-2"], "--spares": ["2"], "--interest": ["10%"],
                "--storage-share": ["10%"], "--price-server": ["100000"], "--gpus-per-node": ["2"],
                "--set": ["tiers.nic.endpoints=4"], "--library": ["vllm", "sglang", "flashinfer", "aiter", "torch_symmetric"]}
BEFORE_THE_ANSWER = {"--help", "--json", "--train", "--serve", "--rl", "--csv", "--trace", "--threads"}  # its form, and its question
BY_KIND = {"N": ["2", "4", "8", "1"], "K": ["1", "3"], "X": ["0.5", "2", "0.1"], "YES": ["yes", "no"], "F": ["bf16", "fp16", "fp32"],
           "0..3": ["1", "3"], "TIME": ["100ms", "10s", "10d"], "SHARE": ["50%"], "RATE": ["1GB/s"], "P": ["fp8", "fp4", "fp16"],
           "DAY": ["2027-06-01", "2031-01-01"], "GIB": ["4"], "R": ["8"], "HOW": [], "NAME": [], "WORD": [], "KIND": [], None: [None]}
VALUES = {
    "--max-tp": ["1"], "--system": ["dgx-b200", "dgx-a100"], "--model": ["llama3-70b"], "--stack": ["torchtitan", "vllm", "trtllm", "sglang"],
    "--gpus": ["32", "64"], "--nodes": ["2"], "--global-batch": ["128"], "--sequence": ["8192"], "--schedule": ["1f1b", "gpipe"],
    "--recompute": ["full", "selective", "none"], "--routing": ["zipf:1.0", "uniform"], "--capacity": ["0.5", "2"],
    "--placing": ["stages_inside", "data_inside"], "--headroom": ["0.5", "0.3"], "--calibration": ["none"],
    "--set": ["design.nic.bandwidth=10 GB/s per direction", "gpu.memory=60 GB"], "--library": ["nccl-2.18", "nccl-2.12"], "--nvls": ["off"],
    "--recompute-modules": ["mlp", "core_attn", "moe"], "--lora-modules": ["linear_qkv"], "--document": ["512"],
    "--cp-comm-type": ["p2p", "a2a", "all_gather", "allgather"], "--fp8-recipe": ["blockwise", "mxfp8", "tensorwise"],
    "--moe-dispatcher": ["deepep", "hybridep", "alltoall"], "--over": ["0.05,0.2", "64,128"], "--for": ["expert below 90%", "data below 90%"],
    "--vary": ["design.nic.bandwidth=10,20GB/s per direction", "zero=1,2"], "--objective": ["mfu", "$/token"], "--limit": ["mfu=0.9", "tpot=1ms"],
    "--price": ["dgx-h100=9", "h100-sxm=9"], "--price-kind": ["reserved", "owned"], "--fleet": ["meta_rsc_1", "delta_h100", "alps"],
    "--delivery": ["dgx-h100=2029-01-01"], "--network": ["rail", "fat_tree", "none"], "--by": ["soonest", "fewest_gpus"],
    "--kv-precision": ["fp8", "bf16"], "--ttft": ["10ms", "50ms", "1s"], "--tpot": ["5ms", "8ms", "20ms"], "--batch": ["16"], "--in": ["100d"],
    "--tokens": ["2T"], "--step": ["10ms"], "--mfu": ["0.9"], "--scaling": ["90%"], "--within": ["1%"], "--tokens-per-second": ["1e7"],
    "--budget": ["1000"], "--megawatts": ["0.001"], "--stack-scale": ["1.5"], "--measured-step": ["1s", "2s"], "--done-by": ["2026-12-30", "2035-01-01"],
    "--checkpoint": ["1h"], "--exp-avg-dtype": ["bf16", "fp8"], "--exp-avg-sq-dtype": ["bf16", "fp8"],
}


@functools.cache
def run(*arguments):
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, done.stdout


@functools.cache
def answer(question, *option):
    """The answer in JSON, without its question and the time that a search took; None: refused."""
    status, text = run(*question.split(), *option, "--json")
    return json.dumps(without_clock(json.loads(text)), sort_keys=True) if status == 0 else None


def text(question, *option):
    return run(*question.split(), *option)[1].split("evaluated")[0]


def without_clock(value):
    if isinstance(value, list):
        return [without_clock(one) for one in value]
    return {k: without_clock(v) for k, v in value.items() if k not in ("seconds", "question")} if isinstance(value, dict) else value


def options_of(command):
    """(name, kind of value or None for a flag) of each option of the help."""
    out = {}
    for line in run(command, "--help")[1].splitlines():
        found = re.match(r"  (?:-\w,)?(--[\w-]+)(?:,-\w)?(?: (\S+))?", line)
        if found and not line.startswith("   "):
            kind = found[2] if found[2] and not re.match(r"\S+ {2,}", line[found.end(1) - found.start(0):]) else None
            out[found[1]] = kind if kind and kind.rstrip(".").isupper() or kind == "0..3" else None
    return out


def effect(command, option, kind):
    """What the option did: changed, refused or ignored."""
    values = VALUES.get(option, BY_KIND.get((kind or "").rstrip(".") or None, []))
    taken = False
    for question in QUESTIONS[command]:
        if f" {option} " in f"{question} ":
            continue
        for value in values:
            words = [option] if value is None else [option, value]
            found = answer(question, *words)
            if found is None:
                continue
            if found != answer(question) or text(question, *words) != text(question):
                return "changed"
            taken = True
    return "ignored" if taken else "refused"


def ignored_alone(command, option, kind):
    """The questions that take the option and answer as without it."""
    values = VALUES_ALONE.get(option, VALUES.get(option, BY_KIND.get((kind or "").rstrip(".") or None, [])))
    tried = [(question, [option] if value is None else [option, value]) for question in ALONE[command] if f" {option} " not in f"{question} "
             for value in values]
    return [(question, *words) for question, words in tried if answer(question, *words) == answer(question) and text(question, *words) == text(question)]


class Options(unittest.TestCase):
    def no_option_is_ignored(self, command):
        for question in QUESTIONS[command]:
            self.assertIsNotNone(answer(question), question)
        options = {name: kind for name, kind in options_of(command).items() if name not in BEFORE_THE_ANSWER}
        self.assertGreater(len(options), 50)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = dict(zip(options, pool.map(lambda one: effect(command, *one), options.items())))
        self.assertEqual([name for name, what in found.items() if what == "ignored"], [])

    def test_no_question_of_money_or_failures_takes_an_option_without_what_it_is_of(self):
        for command in ("goodput", "cost"):
            for question in ALONE[command]:
                self.assertIsNotNone(answer(question), question)
            options = {name: kind for name, kind in options_of(command).items() if name not in BEFORE_THE_ANSWER}
            self.assertGreater(len(options), 20)
            self.assertEqual([one for name, kind in options.items() for one in ignored_alone(command, name, kind)], [])

    def test_the_kernels_of_an_engine_are_of_no_other_operation_than_all_reduce(self):
        self.assertEqual(ignored_alone("predict", "--library", "ENGINE"), [])
        self.assertIsNotNone(answer(ALONE["predict"][0].replace("all_gather", "all_reduce"), "--library", "vllm"))

    def test_plan_ignores_no_option(self):
        self.no_option_is_ignored("plan")

    def test_explore_ignores_no_option(self):
        self.no_option_is_ignored("explore")

    def test_need_ignores_no_option(self):
        self.no_option_is_ignored("need")

    def test_project_ignores_no_option(self):
        self.no_option_is_ignored("project")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} FABRICOST [unittest arguments]")
    COMMAND = os.path.abspath(sys.argv.pop(1))
    unittest.main()
