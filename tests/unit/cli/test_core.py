#!/usr/bin/env python3
"""The command of core alone, and that of the first answers: they answer as the whole one does, and name the component of what they leave out.

    test_core.py CORE_FABRICOST FIRST_FABRICOST FABRICOST"""
import subprocess
import sys
import unittest

CORE, FIRST, WHOLE = sys.argv[1:4]
ANSWERED = [["predict", "all_reduce", "--system", "dgx-h100", "--size", "256MiB"],
            ["explain", "all_gather", "--system", "dgx-b200", "--size", "1GiB", "--json"],
            ["predict", "moe_dispatch", "--system", "dgx-h100", "--nodes", "4", "--tokens", "128", "--hidden", "7168", "--experts", "256", "--top-k", "8"],
            ["systems"], ["show", "dgx-h100"], ["calibrate", "--list"]]
LEFT_OUT = {"plan": "plan", "model": "plan", "need": "plan", "share": "plan", "transfer": "plan", "diagnose": "observe", "trace": "observe", "topo": "observe", "measure": "probes"}


def run(tool, words):
    return subprocess.run([tool, *words], capture_output=True, text=True, check=False)


class Core(unittest.TestCase):
    def test_answers_as_the_whole_command_does(self):
        for words in ANSWERED:
            with self.subTest(words=words):
                core, whole = run(CORE, words), run(WHOLE, words)
                self.assertEqual((core.returncode, core.stdout, core.stderr), (whole.returncode, whole.stdout, whole.stderr))
                self.assertEqual(core.returncode, 0, core.stderr)

    def test_answers_first_what_needs_no_fit(self):
        for words in ANSWERED[:3]:
            with self.subTest(words=words):
                self.assertEqual(run(FIRST, words).stdout, run(WHOLE, words).stdout)
        refused = run(FIRST, ["calibrate", "--list"])
        self.assertEqual(refused.returncode, 2)
        self.assertIn("of the component core", refused.stderr)

    def test_names_the_component_of_a_command_it_leaves_out(self):
        for command, component in LEFT_OUT.items():
            with self.subTest(command=command):
                refused = run(CORE, [command, "--json"])
                self.assertEqual((refused.returncode, refused.stdout), (2, ""))
                self.assertIn(f"of the component {component}", refused.stderr)

    def test_help_lists_what_others_would_add(self):
        text = run(CORE, ["--help"]).stdout
        for command, component in LEFT_OUT.items():
            line = next(line for line in text.splitlines() if f"FABRICOST_COMPONENTS={component}" in line)
            self.assertIn(f" {command}", line)
        self.assertNotIn("FABRICOST_COMPONENTS", run(WHOLE, ["--help"]).stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
