#!/usr/bin/env python3
"""fabricost model: the list, one model as JSON, a file of one's own.

    test_models_cli.py COMMAND"""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from support.command import Command, written


class Models(unittest.TestCase):
    def test_the_list_has_every_model_once_with_its_counts(self):
        models = json.loads(TOOL.works("--json"))
        names = [m["name"] for m in models]
        self.assertEqual(names, sorted(set(names)))
        self.assertGreater(len(names), 100)
        by_name = {m["name"]: m for m in models}
        self.assertEqual(by_name["llama3.1-405b"]["layers"], 126)
        self.assertAlmostEqual(by_name["llama3-70b"]["parameters"] / 1e9, 70.55, places=2)
        for m in models:
            self.assertEqual(set(m), {"name", "title", "layers", "hidden", "experts", "top_k", "parameters", "active", "partial"})
            self.assertGreaterEqual(m["parameters"], m["active"])
        lines = TOOL.works().splitlines()
        self.assertEqual(len(lines), len(names) + 1)
        self.assertLessEqual(max(map(len, lines)), 100)

    def test_json_of_one_model(self):
        v3 = json.loads(TOOL.works("deepseek-ai/DeepSeek-R1", "--json"))
        self.assertEqual(v3["name"], "deepseek-v3")
        self.assertEqual(v3["kv_bytes_per_token"], 70272)
        self.assertEqual(v3["kv_bytes_per_token_layer"], 1152)
        self.assertAlmostEqual(v3["flops_per_token"]["training"]["matmul"]["causal"] / 1e9, 250.4, delta=0.06)
        self.assertIsNone(v3["flops_per_token"]["training"]["megatron"]["full"])
        self.assertEqual(v3["stated"]["parameters"], 671e9)
        llama = json.loads(TOOL.works("llama3-70b", "--json", "--sequence", 8192))
        self.assertAlmostEqual(llama["parameters"]["dense_layer"] / 1e6, 855.6, delta=0.05)
        self.assertEqual(llama["kv_bytes_per_token_layer"], 4096)
        self.assertEqual(llama["kv_bytes_per_sequence"], 8192 * 327680)
        n340 = json.loads(TOOL.works("nemotron4-340b", "--json"))
        self.assertAlmostEqual(n340["flops_per_token"]["training"]["dgx_cloud"]["full"] * 4096 / 8.62124e15, 1, delta=1e-6)

    def test_a_file_loads_and_a_broken_one_says_where(self):
        with tempfile.TemporaryDirectory() as folder:
            mine = written(folder, "mine.yaml", "extends: llama3-8b\nname: mine\nlayers: 16\n")
            self.assertEqual(json.loads(TOOL.works(mine, "--json"))["shape"]["layers"], 16)
            broken = written(folder, "broken.yaml", "extends: llama3-8b\nname: mine\nlayers: 1x\n")
            TOOL.refused(broken, saying=[f"{broken}:3:9: layers: ", '"1x"'])

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    TOOL = Command(os.path.abspath(sys.argv.pop(1)), "models")
    unittest.main()
