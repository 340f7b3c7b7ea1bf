"""fabricost plan --train: its JSON fields, kept values, refusals and the remedies they name."""
import json
import os
import re
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

    def test_an_answer_of_a_stack_without_published_steps_names_those_that_have(self):
        text = " ".join(plan.works(*JOB, "--stack", "megatron-core").split())
        self.assertRegex(text, r"Fitted on hopper: [^.]*\bnemo\b[^.]*\btorchtitan\b[^.]*\. Pass your stack with --stack\. "
                               r"If it is not listed, measure one step and pass --stack-scale")
        for known in (("--stack", "nemo"), ("--stack-scale", "1.1")):
            self.assertNotIn("Pass your stack with --stack", " ".join(plan.works(*JOB, *known).split()))
        self.assertNotIn("Pass your stack with --stack", " ".join(plan.works(*JOB).split()))  # the default has published steps
        self.assertIn("Software stacks", " ".join(plan.works(*JOB, "--stack", "megatron-core", "--explain").split()))

    def test_adding_up_gradients_is_not_the_optimizer(self):
        def terms(batch):
            layout = answer("--model", "llama3-70b", "--system", "dgx-h100", "--gpus", "64", "--global-batch", str(batch), "--tp", "8",
                            "--pp", "2", "--cp", "1", "--zero", "1", "--microbatch", "1", "--recompute", "full")["layouts"][0]
            return {term["name"]: term["time_s"] for term in layout["terms"]}
        few, many = terms(32), terms(128)
        self.assertAlmostEqual(many["accumulation"] / few["accumulation"], 31 / 7, places=9)  # the first microbatch adds to nothing
        self.assertEqual(many["optimizer"], few["optimizer"])  # once a step
        self.assertIn("accumulation", plan.works(*JOB))

    def test_the_convention_of_mfu_stands_beside_it(self):
        text = plan.works(*JOB)
        self.assertIn("causal %", text)
        text = " ".join(text.split())
        self.assertIn("MFU: every matrix product and all scores", text)
        self.assertIn("with the scores a causal mask leaves", text)

    def test_a_million_tokens_stay_below_the_peak_by_either_count(self):
        for layout in answer("--model", "llama3-8b", "--system", "dgx-h100", "--gpus", "64", "--global-batch", "16", "--sequence",
                             str(2**20))["layouts"]:
            low = layout["interval_s"][0]
            self.assertLessEqual(layout["mfu"] * layout["step_s"] / low, 1 + 1e-9)
            self.assertLess(layout["mfu_causal"], 0.55 * layout["mfu"])

    def test_a_factor_no_software_can_have_is_refused(self):
        plan.refused(*JOB, "--stack-scale", "0.2",
                     saying=["shorter than its matrix products and scores take", "--stack-scale", "take at least 0."])

    def test_dropped_rows_are_not_counted(self):
        mixture = ("--model", "mixtral-8x7b", "--system", "dgx-h100", "--gpus", "64", "--global-batch", "256", "--top", "3")
        for layout in answer(*mixture, "--capacity", "0.1")["layouts"]:
            self.assertLess(layout["mfu"], 0.7)
        self.assertIn("leaves 90 % of the experts' rows uncomputed", plan.works(*mixture, "--capacity", "0.1"))

    def test_a_cluster_is_not_asked_for_more_than_it_has(self):
        for system, has in (("polaris-a100", 2240), ("superpod-gb200", 576)):
            plan.refused("--model", "llama3-8b", "--system", system, "--gpus", "8192", "--global-batch", "8192",
                         saying=[system, f"{has} GPUs; 8192 are asked for", f"take at most {has}"])
        job = ("--model", "llama3-8b", "--gpus", "8192", "--global-batch", "8192", "--tp", "1", "--pp", "1", "--cp", "1", "--top", "1")
        self.assertTrue(answer(*job, "--system", "aws-p5")["layouts"])

    def test_idle_gpus_of_a_rack_are_said(self):
        moe = ("--model", "deepseek-v3", "--system", "gb200-nvl72", "--gpus", "256", "--global-batch", "4096", "--ep", "64", "--top", "1")
        self.assertEqual(answer(*moe)["layouts"][0]["idle_gpus"], 32)
        self.assertIn("32 GPUs of the scale-up domains it takes stay idle", plan.works(*moe))

    def test_memory_is_left_free_and_the_answer_says_so(self):
        self.assertIn("5 % of GPU memory is kept free", plan.works(*JOB))
        self.assertNotIn("kept free", plan.works(*JOB, "--headroom", "0"))
        share = answer(*JOB, "--headroom", "0")
        self.assertEqual(share["headroom"], 0)

    def test_a_given_layout_is_the_answer(self):
        given = ("--tp", "4", "--pp", "2", "--vp", "5", "--cp", "2", "--zero", "1", "--microbatch", "1", "--recompute", "none",
                 "--schedule", "interleaved")
        out = answer(*JOB, *given)
        self.assertEqual(len(out["layouts"]), 1)
        self.assertEqual(out["evaluated"], 1)
        layout = out["layouts"][0]
        self.assertEqual([layout[k] for k in ("tp", "pp", "vp", "cp", "dp", "zero", "microbatch")], [4, 2, 5, 2, 4, 1, 1])
        self.assertEqual(layout["schedule"], "interleaved")

    def test_a_named_layout_is_priced_without_recomputation_and_the_answer_says_first_whether_it_fits(self):
        named = ("--tp", "4", "--pp", "2", "--cp", "1", "--microbatch", "4", "--zero", "1", "--sequence", "8192")
        out = answer(*JOB, *named)
        self.assertIs(out["fits"], False)
        for layout in out["layouts"]:
            self.assertEqual((layout["recompute"], layout["fits"]), ("none", False))
        self.assertEqual(out["layouts"][0]["step_s"], answer(*JOB, *named, "--recompute", "none")["layouts"][0]["step_s"])
        self.assertRegex(out["advice"], r"^does not fit: [0-9.]+ GiB a GPU of [0-9.]+, recompute none; it fits with ")
        text = plan.works(*JOB, *named)
        self.assertTrue(text.startswith("Nothing fits: "))
        self.assertIn(out["advice"], " ".join(text.split()))
        fitting = answer(*JOB, *named, "--recompute", "full")
        self.assertIs(fitting["fits"], True)
        self.assertNotIn("advice", fitting)
        self.assertNotIn("does not fit:", plan.works(*JOB, *named, "--recompute", "full"))

    def test_given_or_searched_a_layout_has_one_price(self):
        best = answer(*JOB, "--top", "1")["layouts"][0]
        given = [text for key in ("tp", "pp", "vp", "cp", "dp", "zero", "microbatch") for text in ("--" + key, str(best[key]))]
        given += ["--recompute", best["recompute"]]
        if best["pp"] > 1:
            given += ["--schedule", best["schedule"], "--placing", best["placing"]]
        self.assertEqual(answer(*JOB, *given)["layouts"][0]["step_s"], best["step_s"])

    def test_the_list_the_parts_and_the_advice_say_one_memory(self):
        text = plan.works("--model", "llama3-70b", "--system", "gb200-nvl72", "--gpus", "64", "--global-batch", "256", "--sequence", "8192",
                          "--precision", "fp8", "--tp", "1", "--pp", "1", "--cp", "1", "--zero", "3", "--microbatch", "2",
                          "--stack", "nemo-mlperf")
        said = re.search(r"does not fit: ([0-9.]+) GiB .* instead of ([0-9.]+)", " ".join(text.split()))
        total = re.search(r"total +([0-9.]+) GiB", text)
        row = text.split("step s", 1)[1].splitlines()[1].split()[3]
        self.assertEqual({said[1], said[2], row}, {f"{float(total[1]):.1f}"})

    def test_layers_and_tokens_that_there_are_not_are_refused(self):
        plan.refused(*JOB, "--recompute-num-layers", "81", saying=["--recompute-num-layers 81", "80 layers", "at most 80"])
        plan.refused(*JOB, "--pp", "1", "--cpu-offloading-num-layers", "100", saying=["80 layers", "at most 79"])
        plan.refused(*JOB, "--pp", "4", "--cpu-offloading-num-layers", "10", saying=["--cpu-offloading-num-layers with --pp above 1"])
        plan.refused(*JOB, "--document", "8192", saying=["--document 8192", "4096 tokens"])

    def test_exchanges_of_context_are_told_apart(self):
        job = ("--model", "llama3-70b", "--system", "gb200-nvl72", "--gpus", "64", "--global-batch", "128", "--sequence", "131072")
        for top in ("1", "20"):
            ways = [layout.get("cp_comm_type") for layout in answer(*job, "--top", top)["layouts"]]
            text = plan.works(*job, "--top", top)
            self.assertEqual("a2a" in ways, "cp-comm" in text)
        self.assertIn("cp-comm", plan.works(*job, "--cp-comm-type", "a2a", "--top", "1"))

    def test_offload_is_explained_by_its_bytes_and_rates(self):
        text = " ".join(plan.works(*JOB, "--tp", "8", "--pp", "1", "--cp", "1", "--zero", "1", "--recompute", "full",
                                   "--optimizer-offload-fraction", "1", "--explain").split())
        self.assertIn("28 B of its traffic a parameter at 57.63 GB/s", text)

    def test_limits_are_kept(self):
        for layout in answer(*JOB, "--max-tp", "2")["layouts"]:
            self.assertLessEqual(layout["tp"], 2)
        roomy = answer(*JOB, "--headroom", "0.3")["layouts"]
        for layout in roomy:
            self.assertLessEqual(layout["memory_GiB"], 0.7 * 81559 / 1024)

    def test_the_stack_changes_the_answer_and_says_so(self):
        plain, scaled = answer(*JOB)["layouts"][0], answer(*JOB, "--stack-scale", "1.5")["layouts"][0]
        self.assertLess(scaled["step_s"] / plain["step_s"], 1.5)  # exchanges take what they take under any software
        self.assertGreater(scaled["step_s"] / plain["step_s"], 1.4)
        self.assertIn("nemo", plan.works(*JOB, "--stack", "nemo"))

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

    def test_text_for_people(self):
        text = plan.works(*JOB)
        for word in ("Best: ", "tokens/s/GPU", "evaluated", "Its memory", "Nine in ten"):
            self.assertIn(word, text)

    def test_impossible_jobs(self):
        plan.refused("--model", "llama3-70b", "--system", "dgx-h100", "--gpus", "64", "--global-batch", "16", "--dp", "32",
                     "--microbatch", "1", saying=["less than 32 data replicas", "at least 32"])
        plan.refused(*JOB, "--tp", "7", saying=["does not divide the 64 heads", "take 8"])
        plan.refused("--model", "mixtral-8x7b", "--system", "dgx-h100", "--gpus", "64", "--global-batch", "128", "--ep", "16",
                     saying=["more expert ranks than the 8 experts", "take 8"])
        plan.refused("--model", "llama3-405b", "--system", "dgx-h100", "--gpus", "8", "--global-batch", "8",
                     saying=["does not fit", "needs", "GiB", "take more GPUs", "needs least, 684.8 of ", "GiB: take"])

    def test_where_only_host_memory_helps_narrower_states_are_named_and_help(self):
        job = ("--model", "llama3.1-405b", "--system", "dgx-h100", "--gpus", "64", "--global-batch", "96")
        narrow = ("--exp-avg-dtype", "bf16", "--exp-avg-sq-dtype", "bf16", "--grad-reduce-in-fp32", "no")
        plan.refused(*job, "--optimizer-offload-fraction", "0",
                     saying=["in host memory", "moments and gradients in 16 bit", " ".join(narrow), "it fits as it is"])
        self.assertTrue(answer(*job, *narrow)["fits"])

    def test_the_parts_of_the_memory_are_fields_that_sum_to_it(self):
        for layout in answer(*JOB)["layouts"]:
            self.assertAlmostEqual(sum(part["GiB"] for part in layout["memory"]), layout["memory_GiB"], delta=1e-6)
            self.assertIn("activations", [part["name"] for part in layout["memory"]])

    def test_equal_refusals_of_need_are_one_row(self):
        need = Command(plan.tool, "need")
        rows = need.works("gpus", "--train", "-m", "llama3-405b", "-s", "rtx-4090-pcie", "-b", "64", "--mfu", "30%").splitlines()
        refused = [row for row in rows if "do not fit its domain" in row and "  no  " in row]
        self.assertEqual(len(refused), 1, refused)
        self.assertIn("8 to 1048576", refused[0])

    def test_wrong_words(self):
        plan.refused(*JOB, "--schedule", "1f2b", saying=["1f2b", "is not a schedule"])
        plan.refused(*JOB, "--recompute", "some", saying=["some", "none"])
        plan.refused(*JOB, "--zero", "4", saying=["--zero"])
        for size in ("--zero", "--shard", "--tp", "--pp", "--vp", "--cp", "--ep", "--dp", "--expert-tp", "--microbatch", "--top",
                     "--max-tp"):
            for wrong in ("1.5", "1e0", "-1", "0x1", "one"):
                plan.refused(*JOB, size, wrong, saying=[size, "whole number"])
        plan.refused(*JOB, "--stack", "megatronn", saying=["megatronn"])
        plan.refused("--model", "lama3-70b", "--system", "dgx-h100", "--gpus", "8", "--global-batch", "8",
                     saying=["lama3-70b", "llama3-70b"])
        plan.refused("--model", "llama3-406b", "--system", "dgx-h100", "--gpus", "8", "--global-batch", "8",
                     saying=["did you mean llama3-405b or llama3-70b"])  # not Llama3-405B as well; "llama3-405" names one model
        plan.refused("--system", "dgx-h100", "--gpus", "8", "--global-batch", "8", saying=["--model"])
        plan.refused("--model", "llama3-70b", "--system", "dgx-h100", "--global-batch", "8", saying=["--gpus"])


if __name__ == "__main__":
    unittest.main()
