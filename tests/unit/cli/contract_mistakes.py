"""Mistakes: exit status 2, nothing on stdout, and on stderr the fault and its remedy."""
import os
import pathlib
import tempfile

from contract import H100, Contract, run


class Mistakes(Contract):
    def test_each_says_what_is_wrong_and_what_would_do(self):
        size = ["--size", "1MiB"]
        good = ["all_reduce", *H100, *size]
        cases = [
            ([], "which command"), (["predct"], "did you mean predict?"), (["--systm"], "a command comes first"),
            (["predict"], ["which operation", "all_gather"]), (["predict", "all_reduce"], "Add --system"),
            (["predict", "all_reduce", *H100], "--size 256MiB"),
            (["predict", "all_reduc", *H100, *size], "did you mean all_reduce?"),
            (["predict", "all_reduce", "--system", "dgx-h10", *size], "dgx-h100"),
            (["predict", "all_reduce", "--system", "H100", *size], "dgx-h100"),
            (["predict", "all_reduce", "--sytem", "dgx-h100", *size], "did you mean --system?"),
            (["predict", "--sytem", "dgx-h100", "all_reduce", *size], "did you mean --system?"),
            (["predict", *good, "--algorithm", "rng"], "did you mean ring?"),
            (["predict", *good, "--protocol", "ll127"], "did you mean ll"),
            (["predict", *good, "--dtype", "flot"], "did you mean float?"),
            (["predict", *good, "--choice", "fast"], "did you mean fastest?"),
            (["predict", "send_recv", *H100, *size, "--path", "gpu-gp"], "did you mean gpu-gpu?"),
            (["predict", *good, "--ranks", "9"], "9 ranks"), (["predict", *good, "--ranks", "-3"], "--ranks"),
            (["predict", *good, "--ranks", "3.5"], "--ranks"),
            (["predict", *good, "--ranks", "99999999999"], "too many"), (["predict", *good, "--nodes", "2147483647"], "too many"),
            (["predict", *good, "--nodes", "0"], "--nodes"), (["predict", *good, "--nodes", "two"], "two"),
            (["predict", "all_reduce", *H100, "--size", "64k"], '"64k" is not a size; write 64KiB or 64kB'),
            (["predict", "all_reduce", *H100, "--size", "-5"], "negative"),
            (["predict", "all_reduce", *H100, "--size", "nan"], "not a size"),
            (["predict", "all_reduce", *H100, "--size", "1e19"], "10^18"), (["predict", "all_reduce", *H100, "--size", ""], "--size"),
            (["predict", "all_reduce", *H100, "--size"], "value is missing"),
            (["predict", "all_reduce", "--system=", "--size", "1KiB"], "--system: its value is missing; --size is the next option"),
            (["predict", "all_reduce", *H100, "--size", "--ranks", "8"], "--size: its value is missing; --ranks is the next option"),
            (["sweep", "all_reduce", *H100, "--csv", "--sizes", "--json"], "--sizes: its value is missing"),
            (["predict", *good, "--size", "2MiB"], "more than once"),
            (["predict", *good, "--json=5"], "takes no value"), (["predict", *good, "extra"], '"extra"'),
            (["predict", *good, "--set", "tiers.nvlink.bandwith=1 GB/s per direction"], 'did you mean "bandwidth"?'),
            (["predict", *good, "--set", "tiers.nvlink.bandwidth=900 GB/s"], ["which direction", "450 GB/s per direction"]),
            (["predict", *good, "--set", "nic"], "PATH=VALUE"), (["predict", *good, "--calibration", "nothing-here"], "nothing-here"),
            (["predict", *good, "--path", "nic"], "send_recv"), (["predict", "send_recv", *H100, *size, "--path", "gpu-gpu", "--nodes",
                                                                  "4"], "--path nic"),
            (["predict", "all_to_all", *H100, *size, "--algorithm", "nvls"], ["in-switch", "pairwise"]),
            (["predict", "moe_dispatch", *H100, *size], "--size does not go with expert exchange"),
            (["predict", "MoE-Combine", *H100, *size], "--size does not go with expert exchange"),
            (["predict", "all_reduce", "--system", "/no/such/file.yaml", *size], "/no/such/file.yaml"),
            (["predict", "all_reduce", "--system", "/dev/zero", *size], "/dev/zero"),
            (["explain", "all_reduce", *size], "--system"), (["show"], "which machine"), (["show", "gb200-nvl7"], "gb200-nvl72"),
            (["show", "dgx-h100", "--svg", "--json"], "--svg"), (["show", "dgx-h100", "--size", "1MiB"], "--svg"),
            (["systems", "--jsn"], "did you mean --json?"), (["completion"], "bash, zsh, fish"),
            (["completion", "tcsh"], "bash"), (["train"], "here it is fabricost plan --train"), (["serve", "--gpus", "8"], "plan --serve"),
            (["predict", *good, "--gpus", "8"], '"--gpus" is not an option; write --ranks'),
            (["predict", "--machine", "dgx-h100"], "write --system"), (["predict", "all_reduce", *H100, "256MB"], "write --size 256MB"),
        ]
        for arguments, says in cases:
            with self.subTest(arguments=arguments):
                self.refused(*arguments, says=says)

    def test_a_wrong_value_is_no_answer_to_a_search(self):
        asked = "-m llama3-8b -s dgx-h100 -b 64"
        for wrong, says in (("--lora-modules zzz", "zzz"), ("--tp 3 --pp 1 --dp 1", "3"), ("--recompute-modules zzz", "zzz")):
            for line in (f"need gpus --train {asked} --in 60d --tokens 1B --over 8,16 {wrong}",
                         f"explore --train {asked} -g 8 --vary sequence=2048,4096 {wrong}", f"project {asked} --tokens 1B --gpus 8 {wrong}",
                         f"plan --train {asked} -g 8 {wrong}"):
                with self.subTest(line=line):
                    self.refused(*line.split(), says=says)
        # what does not fit is an answer
        self.assertIn(": no gpus", self.fine(*"need gpus --train -m llama3-405b -s dgx-h100 -b 64 --over 1,2 --step 1s".split()))

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

    def test_a_broken_file_is_named_with_line_and_column(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "broken.yaml"
            path.write_text("name: broken\nextends: dgx-h100\ntiers:\n  - name: nvlink\n    bandwidth: 900 GB/s\n")
            text = self.refused("predict", "all_reduce", "--system", path, "--size", "1MiB", says="which direction")
            self.assertRegex(text, r"^\S*broken\.yaml:5:\d+: ")

    def test_a_full_disk_is_no_success(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full here")
        with open("/dev/full", "w") as full:
            done = run("systems", "--json", stdout=full)
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write", done.stderr)
