"""fabricost plan train takes lengths as contexts are named."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from support.command import Command

plan = Command(sys.argv.pop(1), "plan", "--train")
JOB = ("--model", "llama3-70b", "--system", "dgx-h100", "--gpus", "64", "--global-batch", "128")


def answer(*arguments):
    return json.loads(plan.works(*arguments, "--json"))


class Plan(unittest.TestCase):
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


if __name__ == "__main__":
    unittest.main()
