"""fabricost compare: each machine's plan of a job, beside plan's own answer for it."""
import json
import os
import pathlib
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

    def test_a_picture_is_written_where_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "out.svg"
            compare.works("dgx-h100", "dgx-b200", "--serve", "--model", "llama3-70b", "--gpus", "8", "--plot", str(target))
            root = xml.etree.ElementTree.parse(target).getroot()
            words = " ".join(t.text for t in root.iter("{http://www.w3.org/2000/svg}text"))
            for word in ("dgx-h100", "dgx-b200", "milliseconds a token", "USD per million tokens"):
                self.assertIn(word, words)
            compare.refused("dgx-h100", "--serve", "--model", "llama3-70b", "--gpus", "8", "--plot", folder, saying=["--plot"])

if __name__ == "__main__":
    unittest.main()
