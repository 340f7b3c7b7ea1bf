"""fabricost compare: each machine's plan of a job, beside plan's own answer for it."""
import json
import os
import pathlib
import resource
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from support.command import Command

TOOL = sys.argv.pop(1)
compare, plan = Command(TOOL, "compare"), Command(TOOL, "plan")
JOB = ("--model", "moe-1.8t", "--gpus", "1152")


class Compare(unittest.TestCase):
    def test_training_is_what_plan_finds_on_each(self):
        out = json.loads(compare.works("dgx-b200", "gb200-nvl72", "--train", *JOB, "--global-batch", "2304", "--json"))
        self.assertEqual([s["system"] for s in out["systems"]], ["dgx-b200", "gb200-nvl72"])
        for s in out["systems"]:
            # where the fastest layout leaves GPUs idle, the one of the 32 fastest that pays for the fewest GPU-seconds
            alone = json.loads(plan.works("--train", *JOB, "--system", s["system"], "--global-batch", "2304", "--top", "32", "--json"))
            found = alone["layouts"][0]
            if found["idle_gpus"] > 0:
                found = min(alone["layouts"], key=lambda one: one["step_s"] * (1152 + one["idle_gpus"]))
            self.assertEqual(s["step_s"], found["step_s"])
            self.assertEqual(s["idle_gpus"], found["idle_gpus"])
            self.assertAlmostEqual(s["tokens_per_s_per_gpu"], found["tokens_per_s_per_gpu"])
            self.assertTrue(s["interval_s"][0] < s["step_s"] < s["interval_s"][1])
            self.assertGreater(s["joules_per_million_tokens"], 0)
        small, large = out["systems"]
        self.assertLess(large["step_s"], small["step_s"])

    def test_the_precision_of_each_machine_is_said(self):
        job = ("dgx-h100", "dgx-a100", "--serve", "--model", "llama3-8b", "--gpus", "8")
        out = json.loads(compare.works(*job, "--json"))
        self.assertEqual([s["precision"] for s in out["systems"]], ["fp8", "bf16"])
        text = compare.works(*job)
        self.assertRegex(text, r"(?m)^  machine +weights .*\n  dgx-h100 +fp8 .*\n  dgx-a100 +bf16 ")
        self.assertIn("--precision", text)
        self.assertNotIn("--precision", compare.works(*job, "--precision", "bf16"))
        trained = json.loads(compare.works("dgx-h100", "--train", "--model", "llama3-8b", "--gpus", "8", "--global-batch", "32", "--json"))
        self.assertEqual(trained["systems"][0]["precision"], "bf16")

    def test_money_is_rent_over_tokens(self):
        out = json.loads(compare.works("dgx-h100", "--train", "--model", "llama3-70b", "--gpus", "64", "--global-batch", "128", "--json"))
        one = out["systems"][0]
        hourly = one["dollars_per_million_tokens"] * one["tokens_per_s_per_gpu"] * 3600 / 1e6
        self.assertTrue(1 < hourly < 6, hourly)  # dollars a GPU-hour

    def test_there_is_no_verdict_where_kernels_were_measured_for_one_and_are_assumed_for_another(self):
        job = ("--train", "--model", "llama3-8b", "--gpus", "8", "--global-batch", "32")
        out = json.loads(compare.works("dgx-h100", "gaudi-3", *job, "--json"))
        self.assertEqual([s["kernels"] for s in out["systems"]], ["measured", "assumed"])
        verdict = out["verdict"]
        self.assertEqual((verdict["best"], verdict["next"], verdict["faster"], verdict["sure"]), (None, None, None, False))
        self.assertIn("differ in kind", verdict["why"])
        self.assertIn("No verdict", compare.works("dgx-h100", "gaudi-3", *job))
        alone = json.loads(plan.works("--system", "gaudi-3", *job, "--json"))
        self.assertEqual(alone["kernels"], "assumed")
        width = [s["interval_s"][1] / s["interval_s"][0] for s in out["systems"]]
        self.assertGreater(width[1], 1.1 * width[0])
        served = json.loads(compare.works("dgx-h100", "gaudi-3", "--serve", "--model", "llama3-70b", "--gpus", "8", "--json"))
        self.assertIsNone(served["verdict"]["best"])
        text = plan.works("--serve", "--model", "llama3-70b", "--system", "gaudi-3", "--gpus", "8")
        self.assertIn("were not measured", " ".join(text.split()))
        nvidia = json.loads(compare.works("dgx-h100", "dgx-b200", *job, "--json"))["verdict"]
        self.assertIsNone(nvidia["why"])
        self.assertEqual(nvidia["best"], "dgx-b200")

    def test_money_is_of_one_kind_for_all_and_ones_own_comes_first(self):
        job = ("--train", "--model", "llama3-8b", "--gpus", "8", "--global-batch", "32")
        out = json.loads(compare.works("dgx-h100", "gb200-nvl72", "mi350x-8", *job, "--json"))
        self.assertEqual({s["price_kind"] for s in out["systems"]}, {"reserved"})
        self.assertEqual(out["price"], {"kind": "reserved", "why": None})
        own = json.loads(compare.works("dgx-h100", "mi350x-8", *job, "--price", "mi350x-8=3.5", "--json"))
        self.assertEqual([s["price_kind"] for s in own["systems"]], ["on_demand", "stated"])
        self.assertAlmostEqual(own["systems"][1]["gpu_hour_usd"], 3.5)
        some = json.loads(compare.works("dgx-h100", "tpu-v5p-cube", *job, "--json"))
        self.assertGreater(some["systems"][0]["dollars_per_million_tokens"], 0)
        self.assertIsNone(some["systems"][1]["dollars_per_million_tokens"])
        self.assertIn("tpu-v5p-cube", some["price"]["why"])
        self.assertIn("dgx-h100 is the faster one", compare.works("dgx-h100", "tpu-v5p-cube", *job))
        self.assertIn("Money is left out", compare.works("tpu-v5p-cube", *job))
        owned = json.loads(compare.works("dgx-h100", "dgx-b200", *job, "--price-kind", "owned", "--json"))
        self.assertEqual({s["price_kind"] for s in owned["systems"]}, {"owned"})
        compare.refused("dgx-h100", *job, "--price", "dgx-b200=2", saying=["dgx-b200", "--price"])
        compare.refused("dgx-h100", *job, "--price", "dgx-h100", saying=["dgx-h100=2.50"])
        compare.refused("dgx-h100", *job, "--price-kind", "spot", saying=["spot", "--price-kind"])

    def test_serving_is_what_plan_finds_on_each(self):
        limits = ("--isl", "4096", "--osl", "512", "--tpot", "50ms")
        out = json.loads(compare.works("dgx-h100", "dgx-b200", "--serve", "--model", "llama3-70b", "--gpus", "8", *limits, "--json"))
        for s in out["systems"]:
            alone = json.loads(plan.works("--serve", "--model", "llama3-70b", "--gpus", "8", "--system", s["system"], *limits, "--top", "1",
                                          "--json"))
            self.assertEqual(s["tpot_s"], alone["layouts"][0]["tpot_s"])
        text = compare.works("dgx-h100", "dgx-b200", "--serve", "--model", "llama3-70b", "--gpus", "8", *limits)
        for word in ("TPOT ms", "$/Mtoken", "J/token", "####"):
            self.assertIn(word, text)

    def test_the_answer_ends_in_a_verdict_with_the_figures_of_the_table(self):
        out = json.loads(compare.works("dgx-b200", "gb200-nvl72", "--train", *JOB, "--global-batch", "2304", "--json"))
        slow, fast = out["systems"]
        self.assertEqual((out["verdict"]["best"], out["verdict"]["next"]), ("gb200-nvl72", "dgx-b200"))
        self.assertAlmostEqual(out["verdict"]["faster"], fast["tokens_per_s_per_gpu"] / slow["tokens_per_s_per_gpu"])
        self.assertEqual(out["verdict"]["sure"], fast["interval_s"][1] / slow["interval_s"][0] < 1)  # as many tokens a step
        for one in out["systems"]:
            self.assertAlmostEqual(sum(t["time_s"] for t in one["terms"]), one["step_s"], places=9)
        text = compare.works("dgx-b200", "gb200-nvl72", "--train", *JOB, "--global-batch", "2304")
        sentence = " ".join(text.split("gb200-nvl72 is the better one")[1].split())
        less = 1 - fast["dollars_per_million_tokens"] / slow["dollars_per_million_tokens"]
        for words in (f"{out['verdict']['faster']:.3g} times", f"{100 * less:.0f} % less money", "overlap"):
            self.assertIn(words, sentence)

    def test_a_picture_is_written_where_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "out.svg"
            compare.works("dgx-h100", "dgx-b200", "--serve", "--model", "llama3-70b", "--gpus", "8", "--plot", str(target))
            root = xml.etree.ElementTree.parse(target).getroot()
            words = " ".join(t.text for t in root.iter("{http://www.w3.org/2000/svg}text"))
            for word in ("dgx-h100", "dgx-b200", "milliseconds a token", "USD per million tokens"):
                self.assertIn(word, words)
            compare.refused("dgx-h100", "--serve", "--model", "llama3-70b", "--gpus", "8", "--plot", folder, saying=["--plot"])

    def test_a_machine_that_cannot_is_said_so_beside_those_that_can(self):
        out = json.loads(compare.works("l40s-pcie", "dgx-b200", "--train", "--model", "llama3-405b", "--gpus", "24", "--global-batch", "64",
                                       "--json"))
        self.assertIn("does not fit", out["systems"][0]["trouble"])
        self.assertIn("step_s", out["systems"][1])
        compare.refused("dgx-h100", "--train", "--model", "llama3-405b", "--gpus", "8", "--global-batch", "8", saying=["does not fit"])

    def test_wrong_questions(self):
        compare.refused("dgx-h100", *JOB, saying=["--train or --serve"])
        compare.refused("--train", *JOB, "--global-batch", "8", saying=["which machines"])
        compare.refused("dgx-h100", "--train", *JOB, saying=["--global-batch"])
        compare.refused("dgx-h1000", "--train", *JOB, "--global-batch", "1152", saying=["dgx-h1000"])

    def test_it_is_quick(self):
        sanitized = "ASAN_OPTIONS" in os.environ  # as the preset sets it: such a build takes some ten times as long
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        compare.works("dgx-b200", "gb200-nvl72", "--train", *JOB, "--global-batch", "2304", "--json")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime  # processor time: other jobs add nothing to it
        print(f"compare: two machines, a 1.8T mixture on 1,152 GPUs: {took:.2f} s of processor time")
        self.assertLess(took, 180 if sanitized else 10)  # loose: unoptimised builds


if __name__ == "__main__":
    unittest.main()
