"""fabricost plan train: its JSON fields, kept values, refusals and the remedies they name."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from support.command import Command

plan = Command(sys.argv.pop(1), "plan", "--train")
JOB = ("--model", "llama3-70b", "--system", "dgx-h100", "--gpus", "64", "--global-batch", "128")
LAYOUT = ("tp", "pp", "vp", "cp", "ep", "dp", "zero", "microbatch", "schedule", "recompute", "step_s", "tokens_per_s_per_gpu",
          "tflops_per_gpu", "mfu", "memory_GiB", "exposed_comm_s", "terms")


def answer(*arguments):
    return json.loads(plan.works(*arguments, "--json"))


class Plan(unittest.TestCase):
    def test_the_fields_of_the_contract(self):
        out = answer(*JOB)
        for field in ("layouts", "evaluated", "pruned", "seconds"):
            self.assertIn(field, out)
        self.assertEqual(len(out["layouts"]), 10)
        for layout in out["layouts"]:
            for field in LAYOUT:
                self.assertIn(field, layout)
            self.assertEqual(layout["tp"] * layout["pp"] * layout["cp"] * layout["dp"], 64)
            self.assertAlmostEqual(sum(term["time_s"] for term in layout["terms"]), layout["step_s"], delta=1e-9 * layout["step_s"])
            self.assertLess(layout["mfu"], 1)
            self.assertLess(layout["mfu_causal"], layout["mfu"])
            self.assertAlmostEqual(layout["tflops_per_gpu_causal"] / layout["tflops_per_gpu"], layout["mfu_causal"] / layout["mfu"],
                                   places=9)
            self.assertEqual(layout["idle_gpus"], 0)
            self.assertAlmostEqual(layout["tokens_per_s_per_gpu"], 128 * 4096 / layout["step_s"] / 64, delta=1e-6)
            low, high = layout["interval_s"]
            self.assertTrue(low < layout["step_s"] < high)
        self.assertEqual([out[k] for k in ("gpus", "global_batch", "sequence", "precision", "headroom")], [64, 128, 4096, "bf16", 0.05])
        times = [layout["step_s"] for layout in out["layouts"]]
        self.assertEqual(times, sorted(times))

    def test_a_length_is_written_as_contexts_are_named(self):
        def length(text):
            job = ("--model", "llama3-8b", "--system", "dgx-h100", "--gpus", "8", "--global-batch", "8")
            return answer(*job, "--sequence", text)["sequence"]
        self.assertEqual([length(text) for text in ("8192", "8k", "32K", "0.5k")], [8192, 8192, 32768, 512])
        plan.refused(*JOB, "--sequence", "8q", saying=["--sequence", "8q", "128k"])
        plan.refused(*JOB, "--sequence", "many", saying=["--sequence", "many", "128k"])
        plan.refused(*JOB, "--sequence", "0.3k", saying=["--sequence", "whole"])
        plan.refused(*JOB, "--sequence", "100M", saying=["--sequence", "too many", "10000000"])
        plan.refused("--model", "llama3-70b", "--system", "dgx-h100", "--gpus", "1k", "--global-batch", "8", saying=["--gpus", "1k"])

    def test_a_given_layout_is_the_answer(self):
        given = ("--tp", "4", "--pp", "2", "--vp", "5", "--cp", "2", "--zero", "1", "--microbatch", "1", "--recompute", "none",
                 "--schedule", "interleaved")
        out = answer(*JOB, *given)
        self.assertEqual(len(out["layouts"]), 1)
        self.assertEqual(out["evaluated"], 1)
        layout = out["layouts"][0]
        self.assertEqual([layout[k] for k in ("tp", "pp", "vp", "cp", "dp", "zero", "microbatch")], [4, 2, 5, 2, 4, 1, 1])
        self.assertEqual(layout["schedule"], "interleaved")

    def test_given_or_searched_a_layout_has_one_price(self):
        best = answer(*JOB, "--top", "1")["layouts"][0]
        given = [text for key in ("tp", "pp", "vp", "cp", "dp", "zero", "microbatch") for text in ("--" + key, str(best[key]))]
        given += ["--recompute", best["recompute"]]
        if best["pp"] > 1:
            given += ["--schedule", best["schedule"], "--placing", best["placing"]]
        self.assertEqual(answer(*JOB, *given)["layouts"][0]["step_s"], best["step_s"])

    def test_limits_are_kept(self):
        for layout in answer(*JOB, "--max-tp", "2")["layouts"]:
            self.assertLessEqual(layout["tp"], 2)
        roomy = answer(*JOB, "--headroom", "0.3")["layouts"]
        for layout in roomy:
            self.assertLessEqual(layout["memory_GiB"], 0.7 * 81559 / 1024)

    def test_sensitivity_and_pareto(self):
        out = answer(*JOB, "--sensitivity", "--pareto")
        self.assertTrue(any("arithmetic" in s["change"] for s in out["sensitivity"]))
        for s in out["sensitivity"]:
            self.assertGreater(s["gain"], -1e-9, s)
        front = out["pareto"]
        self.assertEqual(front[0]["step_s"], out["layouts"][0]["step_s"])
        for one, next_one in zip(front, front[1:]):
            self.assertLess(one["step_s"], next_one["step_s"])
            self.assertGreater(one["memory_GiB"], next_one["memory_GiB"])

    def test_the_parts_of_the_memory_are_fields_that_sum_to_it(self):
        for layout in answer(*JOB)["layouts"]:
            self.assertAlmostEqual(sum(part["GiB"] for part in layout["memory"]), layout["memory_GiB"], delta=1e-6)
            self.assertIn("activations", [part["name"] for part in layout["memory"]])

if __name__ == "__main__":
    unittest.main()
