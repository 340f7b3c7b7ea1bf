#!/usr/bin/env python3
"""The Python package as its users see it: the command's numbers, arrays in and out, faults as exceptions, documented examples.

    PYTHONPATH=build/python FABRICOST_TOOL=build/fabricost python3 test_package.py [unittest arguments]
"""
import ast
import doctest
import inspect
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import fabricost as fc

TOOL = os.environ["FABRICOST_TOOL"]
COLLECTIVES = {"all_reduce": fc.AllReduce, "all_gather": fc.AllGather, "reduce_scatter": fc.ReduceScatter, "broadcast": fc.Broadcast,
               "reduce": fc.Reduce, "all_to_all": fc.AllToAll}


def command(*arguments):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.h100 = fc.load_system("dgx-h100")

    def near(self, got, wanted, what):
        self.assertTrue(math.isclose(got, wanted, rel_tol=1e-12, abs_tol=0), f"{what}: {got!r} is not {wanted!r}")

    def same(self, prediction, arguments):
        json_ = json.loads(command("predict", *arguments, "--json"))
        self.near(prediction.seconds, json_["time_us"] / 1e6, arguments)
        self.near(prediction.algorithm_bytes_per_second, json_["algbw_GBps"] * 1e9, arguments)
        self.near(prediction.bus_bytes_per_second, json_["busbw_GBps"] * 1e9, arguments)
        self.assertEqual(len(prediction.interval_seconds), 2)
        for got, wanted in zip(prediction.interval_seconds, json_["interval_us"]):
            self.near(got, wanted / 1e6, arguments)
        for name in ("ranks", "nodes", "algorithm", "protocol", "basis", "extrapolated"):
            self.assertEqual(getattr(prediction, name), json_[name], arguments)
        self.assertEqual(prediction.bottleneck.tier, json_["bottleneck"])
        self.assertEqual([(t.name, t.tier) for t in prediction.terms], [(t["name"], t["tier"]) for t in json_["terms"]])
        for got, wanted in zip(prediction.terms, json_["terms"]):
            self.assertTrue(math.isclose(got.seconds, wanted["time_us"] / 1e6, rel_tol=1e-12), arguments)

    def test_predicts_what_the_command_predicts(self):
        for name, operation in COLLECTIVES.items():
            for ranks in (8, 64):
                for size in (8, 64 * fc.KiB, 256 * fc.MiB):
                    self.same(fc.predict(self.h100, operation(bytes=size, ranks=ranks)),
                              [name, "--system", "dgx-h100", "--ranks", ranks, "--size", f"{size}B"])

    def test_send_recv_takes_the_path_named(self):
        for path in ("gpu-gpu", "gpu-host"):
            self.same(fc.predict(self.h100, fc.SendRecv(fc.MiB, path=path)),
                      ["send_recv", "--system", "dgx-h100", "--size", "1MiB", "--path", path])
        between = fc.predict(self.h100, fc.SendRecv(fc.MiB, path="nic"))
        self.assertEqual((between.ranks, between.nodes, between.bottleneck.tier), (2, 2, "nic"))

    def test_algorithm_protocol_choice_dtype_and_nodes_reach_the_model(self):
        self.same(fc.predict(self.h100, fc.AllReduce(fc.MiB, nodes=2, dtype="fp8"), algorithm="ring", protocol="ll128"),
                  ["all_reduce", "--system", "dgx-h100", "--nodes", 2, "--dtype", "fp8", "--size", "1MiB", "--algorithm", "ring", "--protocol", "ll128"])
        self.same(fc.predict(self.h100, fc.AllReduce(fc.MiB), choice="fastest"),
                  ["all_reduce", "--system", "dgx-h100", "--size", "1MiB", "--choice", "fastest"])

    def test_overrides_and_calibration_reach_the_loader(self):
        override = "tiers.nvlink.bandwidth=400 GB/s per direction"
        self.same(fc.predict(fc.load_system("dgx-h100", [override], "none"), fc.AllReduce(fc.GiB)),
                  ["all_reduce", "--system", "dgx-h100", "--size", "1GiB", "--set", override, "--calibration", "none"])

    def test_terms_sum_to_the_time_and_the_bottleneck_is_the_largest(self):
        for operation in COLLECTIVES.values():
            p = fc.predict(self.h100, operation(fc.MiB, ranks=16))
            self.near(sum(t.seconds for t in p.terms), p.seconds, operation)
            self.assertEqual(p.bottleneck.seconds, max(t.seconds for t in p.terms))
            low, high = p.interval_seconds
            self.assertTrue(0 < low < p.seconds < high)

    def test_sweep_gives_what_predict_gives_in_the_shape_asked(self):
        sizes = 2.0 ** np.arange(3, 35)
        for choice in ("nccl", "fastest"):
            for name, operation in COLLECTIVES.items():
                seconds = fc.sweep(self.h100, operation(ranks=16), sizes, choice=choice)
                self.assertEqual((seconds.dtype, seconds.shape), (np.dtype(float), sizes.shape))
                for size, got in zip(sizes, seconds):
                    wanted = fc.predict(self.h100, operation(size, ranks=16), choice=choice).seconds
                    self.assertTrue(math.isclose(got, wanted, rel_tol=1e-12), (name, choice, size, got, wanted))
        operation = fc.AllReduce()
        flat = fc.sweep(self.h100, operation, sizes)
        self.assertTrue((fc.sweep(self.h100, operation, sizes.reshape(4, 8)) == flat.reshape(4, 8)).all())
        self.assertTrue((fc.sweep(self.h100, operation, sizes.astype(np.int64)) == flat).all())
        self.assertTrue((fc.sweep(self.h100, operation, sizes[::-2]) == flat[::-2]).all())
        self.assertTrue((fc.sweep(self.h100, operation, sizes.astype(">f4")) == flat).all())
        self.assertTrue((fc.sweep(self.h100, operation, [8, 1024.0]) == fc.sweep(self.h100, operation, np.array([8.0, 1024.0]))).all())
        self.assertEqual(fc.sweep(self.h100, operation, np.zeros((0, 3))).shape, (0, 3))
        self.assertEqual(fc.sweep(self.h100, operation, 1024).shape, ())

    def test_threads_sweep_at_once(self):
        sizes = np.linspace(1, 1e9, 100_000)
        wanted, got = fc.sweep(self.h100, fc.AllReduce(), sizes), [None] * 4

        def work(i):
            got[i] = fc.sweep(self.h100, fc.AllReduce(), sizes)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for one in threads: one.start()
        for one in threads: one.join()
        for one in got: self.assertTrue((one == wanted).all())

    def test_tiers_are_reached_by_place_and_by_name(self):
        tiers = self.h100.tiers
        self.assertEqual([t.name for t in tiers], ["l2", "hbm", "nvlink", "pcie", "nic"])
        self.assertEqual((len(tiers), tiers[0].name, tiers[-1].name), (5, "l2", "nic"))
        self.assertTrue("nvlink" in tiers and "xgmi" not in tiers and 3 not in tiers)
        nvlink = tiers["nvlink"]
        self.assertEqual((nvlink.bytes_per_second, nvlink.kind, nvlink.endpoints), (450e9, "switch", 8))
        self.assertGreater(nvlink.latency_seconds, 0)
        self.assertTrue(nvlink.source and nvlink.confidence)
        for place in (5, -6):
            with self.assertRaises(IndexError): tiers[place]
        with self.assertRaisesRegex(KeyError, "did you mean nvlink"): tiers["nvlnk"]
        for key in (1.5, None, [1]):
            with self.assertRaises(TypeError): tiers[key]

    def test_parts_outlive_what_they_came_from(self):
        tier = fc.load_system("dgx-h100").tiers["nvlink"]
        term = fc.predict(fc.load_system("dgx-h100"), fc.AllReduce(1)).terms[0]
        tiers = iter(fc.load_system("dgx-h100").tiers)
        self.assertEqual((tier.name, term.name, next(tiers).name), ("nvlink", "launch", "l2"))

    def test_text_forms(self):
        self.assertEqual(repr(self.h100), "dgx-h100: 8 GPUs, tiers l2 hbm nvlink pcie nic")
        self.assertEqual(str(self.h100), repr(self.h100))
        self.assertEqual(repr(self.h100.tiers), "tiers l2 hbm nvlink pcie nic")
        self.assertEqual(repr(fc.AllReduce(256 * fc.MiB, ranks=64)), "AllReduce(bytes=268435456, ranks=64, dtype='half')")
        self.assertEqual(repr(fc.SendRecv(8, "nic")), "SendRecv(bytes=8, path='nic')")
        self.assertEqual(repr(fc.AllGather()), "AllGather(bytes=None, dtype='half')")
        p = fc.predict(self.h100, fc.AllReduce(fc.MiB))
        self.assertIn("all_reduce", repr(p))
        self.assertIn(p.bottleneck.tier, str(p))
        for term in p.terms: self.assertIn(term.name, str(p))

    def test_explain_is_the_commands(self):
        printed = command("explain", "all_reduce", "--system", "dgx-h100", "--size", "64KiB")
        for line in fc.explain(self.h100, fc.AllReduce(64 * fc.KiB)).splitlines():
            self.assertIn(line, printed)

    def test_names_are_those_of_the_command(self):
        names = fc.system_names()
        self.assertEqual(names, [one["name"] for one in json.loads(command("systems", "--json"))])

    def test_every_fault_of_a_file_says_where(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "broken.yaml"
            path.write_text("schema: 1\nname: broken\nnodes: minus one\ntiers: 7\n")
            for given in (path, str(path)):
                with self.assertRaises(fc.SpecError) as caught: fc.load_system(given)
                error = caught.exception
                self.assertGreaterEqual(len(error.issues), 1)
                self.assertEqual(str(error), "\n".join(map(str, error.issues)))
                for issue in error.issues:
                    self.assertEqual(issue.file, str(path))
                    self.assertTrue(issue.message)
                    self.assertIsInstance(issue.remedy, str)
                nodes = [issue for issue in error.issues if issue.path == "nodes"]
                self.assertEqual([(issue.line, issue.column) for issue in nodes], [(3, 8)], str(error))
                self.assertIn(f"{path}:3:8: nodes: ", str(error))

    def test_impossible_questions_are_request_errors(self):
        for says, ask in [("did you mean dgx-h100", lambda: fc.load_system("dgx-h10")),
                          ("did you mean", lambda: fc.predict(self.h100, fc.AllReduce(1), algorithm="rign")),
                          ("not a protocol", lambda: fc.predict(self.h100, fc.AllReduce(1), protocol="ll256")),
                          ("not a choice", lambda: fc.predict(self.h100, fc.AllReduce(1), choice="slowest")),
                          ("not a data type", lambda: fc.AllReduce(1, dtype="string")),
                          ("not a path", lambda: fc.SendRecv(1, path="usb")),
                          ("ranks", lambda: fc.predict(self.h100, fc.AllReduce(1, ranks=13))),
                          ("ranks: -1", lambda: fc.AllReduce(1, ranks=-1)),
                          ("bytes: -1", lambda: fc.AllReduce(-1)),
                          ("bytes: nan", lambda: fc.AllReduce(math.nan)),
                          ("bytes: inf", lambda: fc.AllReduce(math.inf)),
                          ("how much", lambda: fc.predict(self.h100, fc.AllReduce())),
                          ("how much", lambda: fc.explain(self.h100, fc.AllReduce())),
                          ("sizes: -2", lambda: fc.sweep(self.h100, fc.AllReduce(), [1, -2])),
                          ("sizes: nan", lambda: fc.sweep(self.h100, fc.AllReduce(), [math.nan]))]:
            with self.assertRaisesRegex(fc.RequestError, says): ask()
        self.assertTrue(issubclass(fc.RequestError, fc.Error) and issubclass(fc.SpecError, fc.Error) and issubclass(fc.Error, ValueError))

    def test_wrong_types_are_refused_not_crashed_on(self):
        strange = [None, "x", b"x", 1j, object(), [], {}, (1,), lambda: 1, 10**400, self.h100, fc.AllReduce(1), fc.AllReduce]
        places = {"system": lambda x: fc.predict(x, fc.AllReduce(1)), "operation": lambda x: fc.predict(self.h100, x),
                  "bytes": lambda x: fc.AllReduce(x), "ranks": lambda x: fc.AllReduce(1, ranks=x), "half": lambda x: fc.AllReduce(1, ranks=1.5),
                  "dtype": lambda x: fc.AllReduce(1, dtype=x), "algorithm": lambda x: fc.predict(self.h100, fc.AllReduce(1), algorithm=x),
                  "choice": lambda x: fc.explain(self.h100, fc.AllReduce(1), choice=x), "sizes": lambda x: fc.sweep(self.h100, fc.AllReduce(), x),
                  "sweep": lambda x: fc.sweep(x, x, x), "name": fc.load_system, "overrides": lambda x: fc.load_system("dgx-h100", x),
                  "calibration": lambda x: fc.load_system("dgx-h100", calibration=x), "path": lambda x: fc.SendRecv(1, x)}
        fine = {("system", self.h100), ("bytes", None), ("algorithm", None)}
        for place, call in places.items():
            for value in strange:
                if any(place == p and value is v for p, v in fine): continue
                if place == "operation" and isinstance(value, fc.Operation) or place == "overrides" and value in ([], {}): continue
                if place == "sizes" and value in ([], (1,)): continue
                with self.subTest(place=place, value=repr(value)[:40]), self.assertRaises((TypeError, ValueError)): call(value)
        for array in (["a"], [True], [[1], [1, 2]], [None], [1j], np.array(["2020-01-01"], "M8"), [10**30]):
            with self.subTest(array=array), self.assertRaises((TypeError, ValueError)): fc.sweep(self.h100, fc.AllReduce(), array)
        for cls in (fc.System, fc.Tier, fc.Tiers, fc.Prediction, fc.Term, fc.Operation, fc.Issue):
            with self.assertRaises(TypeError): cls()
        with self.assertRaises(AttributeError): self.h100.nodes = 3

    def test_everything_public_is_documented_and_typed(self):
        declared = ast.parse((pathlib.Path(fc.__file__).parent / "__init__.pyi").read_text())
        typed = {node.name: node for node in declared.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        typed |= {node.target.id: node for node in declared.body if isinstance(node, ast.AnnAssign)}
        self.assertEqual(sorted(typed), sorted(fc.__all__))
        for name in fc.__all__:
            thing = getattr(fc, name)
            if not callable(thing): continue
            self.assertEqual(thing.__module__, "fabricost")
            self.assertTrue(inspect.getdoc(thing), name)
            if not inspect.isclass(thing):
                self.assertEqual(list(inspect.signature(thing).parameters),
                                 [a.arg for a in typed[name].args.args + typed[name].args.kwonlyargs], name)
            elif not issubclass(thing, Exception):
                inits = [n for n in typed[name].body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
                for init in inits:
                    self.assertEqual(list(inspect.signature(thing).parameters), [a.arg for a in init.args.args[1:] + init.args.kwonlyargs], name)
                public = {n for n in vars(thing) if not n.startswith("_")}
                self.assertEqual(public, {n.name for n in typed[name].body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")}, name)
                for member in public: self.assertTrue(getattr(thing, member).__doc__, f"{name}.{member}")

    def test_examples_of_the_docstrings(self):
        failed, tried = doctest.testmod(fc)
        self.assertEqual(failed, 0)
        self.assertGreaterEqual(tried, 15)


if __name__ == "__main__":
    sys.exit(unittest.main())
