"""Mistakes: exit status 2, nothing on stdout, and on stderr the fault and its remedy."""
import os

from contract import Contract, run


class Mistakes(Contract):
    def test_a_wrong_value_is_no_answer_to_a_search(self):
        asked = "-m llama3-8b -s dgx-h100 -b 64"
        for wrong, says in (("--lora-modules zzz", "zzz"), ("--tp 3 --pp 1 --dp 1", "3"), ("--recompute-modules zzz", "zzz")):
            for line in (f"need gpus --train {asked} --in 60d --tokens 1B --over 8,16 {wrong}",
                         f"explore --train {asked} -g 8 --vary sequence=2048,4096 {wrong}", f"project {asked} --tokens 1B --gpus 8 {wrong}",
                         f"plan train {asked} -g 8 {wrong}"):
                with self.subTest(line=line):
                    self.refused(*line.split(), says=says)
        # what does not fit is an answer
        self.assertIn("No number of GPUs from 1 to 2 is enough", self.fine(*"need gpus --train -m llama3-405b -s dgx-h100 -b 64 --over 1,2 --step 1s".split()))

    def test_an_approximation_below_nothing_is_no_share(self):
        line = "goodput --gpus 100000 --checkpoint 1ms --restart 58144s".split()
        self.assertIn("first order does not hold here; Meta's ETTR does not hold here", self.fine(*line))
        answer = self.loaded(*line, "--json")
        self.assertIsNone(answer["goodput_first_order"])
        self.assertIsNone(answer["ettr_meta"])
        fine = self.loaded("goodput", "--gpus", "1024", "--json")
        self.assertTrue(0 < fine["goodput_first_order"] <= 1 and 0 < fine["ettr_meta"] <= 1)

    def test_a_search_has_no_options_of_one_answer(self):
        for command in ("need gpus --train -m llama3-8b -s dgx-h100 -b 64 --step 9s",
                        "need gpus --serve -m llama3-8b -s dgx-h100 --tokens-per-second 10",
                        "explore --train -m llama3-8b -s dgx-h100 -b 64 -g 8 --vary sequence=2048,4096",
                        "explore --serve -m llama3-8b -s dgx-h100 -g 8 --vary batch=2,4"):
            for option in ("--pareto", "--explain", "--sensitivity", "--top=3"):
                self.refused(*command.split(), option, says=option.split("=")[0])

    def test_an_answer_does_not_hold_the_clock(self):
        line = "explore --train -m llama3-8b -s dgx-h100 -b 64 -g 8 --vary sequence=2048,4096 --json".split()
        self.assertNotIn("seconds", self.loaded(*line))
        self.assertEqual(self.fine(*line), self.fine(*line))

    def test_a_full_disk_is_no_success(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full here")
        with open("/dev/full", "w") as full:
            done = run("systems", "--json", stdout=full)
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write", done.stderr)
