"""Shared parts of the files of the command's contract (contract_SUBJECT.py): ways to run the command and the expectation of each.

test_contract.py, which runs them all, says in COMMAND which command it is.
"""
import json
import os
import pathlib
import subprocess
import unittest

COMMAND = None
DATA = pathlib.Path(__file__).resolve().parents[3] / "data"
H100 = ["--system", "dgx-h100"]


def run(*arguments, env=None, stdout=subprocess.PIPE):
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL", "LANG")}
    environment.update({"COLUMNS": "200"} | (env or {}))  # tables with all of their columns
    return subprocess.run([COMMAND, *map(str, arguments)], stdout=stdout, stderr=subprocess.PIPE, text=True, env=environment, timeout=600)


class Contract(unittest.TestCase):
    def fine(self, *arguments, **more):
        done = run(*arguments, **more)
        self.assertEqual(done.returncode, 0, f"{' '.join(map(str, arguments))}\n{done.stderr}")
        self.assertEqual(done.stderr, "")
        return done.stdout

    def loaded(self, *arguments, **more):
        def refuse(text):
            raise AssertionError(f"{text} in JSON")
        answer = json.loads(self.fine(*arguments, **more), parse_constant=refuse)
        del answer["schema"], answer["question"]  # so that two ways to ask have the same answer
        return answer["rows"] if list(answer) == ["rows"] else answer

    def refused(self, *arguments, says=()):
        done = run(*arguments)
        shown = f"fabricost {' '.join(map(str, arguments))}\n{done.stderr}"
        self.assertEqual(done.returncode, 2, shown)
        self.assertEqual(done.stdout, "", shown)
        self.assertTrue(done.stderr.endswith("\n"), shown)
        self.assertNotIn("internal error", done.stderr)
        told = " ".join(done.stderr.split())  # a line is broken between words where the columns end
        for part in [says] if isinstance(says, str) else says:
            self.assertTrue(part in done.stderr or part in told, f"{part}\n{shown}")
        return done.stderr

    def predict(self, operation, *arguments):
        return self.loaded("predict", operation, *arguments, "--json")
