"""explain: every section is there, and its lines of arithmetic are worked out again from their own text."""
import math
import re

from contract import H100, Contract


class Explain(Contract):
    CASES = [["all_reduce", *H100, "--size", "256MiB"], ["all_reduce", *H100, "--size", "64KiB", "--nodes", "4"],
             ["all_gather", "--system", "dgx-a100", "--size", "16MiB"], ["reduce_scatter", *H100, "--size", "1MiB", "--dtype", "int8"],
             ["all_to_all", "--system", "meta-24k-roce", "--nodes", "512", "--size", "64MiB"],
             ["all_to_all", "--system", "dgx-b200", "--size", "8MiB"],
             ["all_reduce", "--system", "l40s-pcie", "--size", "4MiB"], ["all_reduce", "--system", "tpu-v5p-cube", "--size", "64MiB"],
             ["send_recv", *H100, "--size", "4KiB"], ["send_recv", *H100, "--size", "64MiB", "--path", "gpu-host"],
             ["send_recv", "--system", "gb200-nvl72", "--size", "64MiB", "--path", "nic"],
             ["all_reduce", *H100, "--size", "1MB", "--ranks", "1"],
             ["all_reduce", *H100, "--size", "0", "--choice", "fastest"],
             ["broadcast", *H100, "--nodes", "2", "--size", "1GiB", "--algorithm", "ring"],
             ["all_reduce", "--system", "superpod-h100", "--nodes", "16", "--size", "1GiB", "--algorithm", "nvls-tree"],
             ["all_reduce", "--system", "dgx-1-v100", "--size", "100MB", "--protocol", "ll"],
             ["all_reduce", *H100, "--size", "64KiB", "--library", "vllm"],
             ["all_reduce", *H100, "--size", "4MiB", "--library", "vllm=0.14.0"],
             ["all_reduce", *H100, "--size", "64MiB", "--library", "trtllm"],
             ["all_reduce", "--system", "dgx-b200", "--size", "1MiB", "--ranks", "4", "--library", "sglang"],
             ["all_reduce", *H100, "--size", "16MiB", "--nodes", "4", "--lost-rails", "2"]]

    def test_a_calculator_agrees(self):
        for case in self.CASES:
            with self.subTest(case=case):
                text = self.fine("explain", *case)
                time_us = self.predict(*case)["time_us"]
                self.check_arithmetic(text.split("The arithmetic\n")[1].split("\nThe terms")[0], time_us)
                terms = re.findall(r"(?m)^  \S.*?  +(-?[\d.]+) +-?[\d.]+ %$",
                                   text.split("which sum to the time\n")[1].split("\nWhat binds")[0])
                self.assertAlmostEqual(sum(map(float, terms[:-1])), float(terms[-1]), delta=0.001 * len(terms))
                self.assertAlmostEqual(float(terms[-1]), time_us, delta=0.0011)

    def check_arithmetic(self, text, time_us):
        text = re.sub(r"( +=  *-?[\d.]+)\n {10,}(\S.*)", r" \2\1", text)  # a formula that goes on in a second line
        size = re.search(r"S = ([\d.]+) (\w+)", text)
        S = float(size[1]) * {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 1e3, "MB": 1e6, "GB": 1e9}[size[2]]
        sums, running, checked = {}, 0.0, 0
        for line in text.splitlines():
            if re.match(r"  [abc]: ", line):
                running = 0.0
                continue
            parts = re.match(r"    (.*\S) += +(-?[\d.]+)$", line)
            if not parts or line.startswith("    ("):
                continue
            value = float(parts[2])
            if parts[1] in ("a", "b", "c"):
                self.assertAlmostEqual(running, value, delta=0.004)
                sums[parts[1]] = value
                continue
            running += value
            checked += self.check_formula(re.sub(r"\[.*", "", parts[1]), value, S, line)
        self.assertGreater(checked, 0)
        a, b, c = (sums.get(x, 0) for x in "abc")
        overlap = re.search(r"q = ([\d.]+)", text)
        q = float(overlap[1]) if overlap else 1
        together = (a**q + b**q) ** (1 / q)
        self.assertAlmostEqual(c + together, time_us, delta=1e-4 * time_us + 0.01)
        self.assertAlmostEqual(float(re.search(r"time = .*?([\d.]+) us", text)[1]), time_us, delta=0.0011)

    def check_formula(self, formula, value, S, line):
        number = r"(-?[\d.]+(?:e-?\d+)?)"
        close = lambda got: self.assertAlmostEqual(got, value, delta=2e-4 * abs(value) + 0.006, msg=line)
        if m := re.search(rf"{number} x {number} us$", formula.strip()):
            # count and time are rounded as printed
            self.assertAlmostEqual(float(m[1]) * float(m[2]), value, delta=2e-4 * value + 0.0006 * float(m[1]) + 0.001, msg=line)
        elif m := re.search(rf"{number} x .*? / {number} GB/s", formula):
            close(float(m[1]) * S / float(m[2]) / 1e3)
        elif m := re.search(rf"first {number} MB x {number} us/MB", formula):
            close(float(m[1]) * float(m[2]))
        elif m := re.search(rf"{number} us \+ S x {number} us/MB", formula):
            close(float(m[1]) + S / 1e6 * float(m[2]))
        elif m := re.search(rf"S x {number} us/MB", formula):
            close(S / 1e6 * float(m[1]))
        elif m := re.search(rf"{number} us x min\(1, S/{number} MB\)(\^2)?", formula):
            close(float(m[1]) * min(1, S / float(m[2]) / 1e6) ** (2 if m[3] else 1))
        elif m := re.search(rf"{number} us x \(1 - exp\(-S/{number} MB\)\)", formula):
            close(float(m[1]) * (1 - math.exp(-S / float(m[2]) / 1e6)))
        elif m := re.search(rf"{number} us x u(\^2)?/\(1\+u(?:\^2)?\), u = S/{number} MB", formula):
            u = (S / float(m[3]) / 1e6) ** (2 if m[2] else 1)
            close(float(m[1]) * u / (1 + u))
        elif m := re.search(rf"{number} us x \(1 - 1/c\), c = S/{number} MB within 1\.\.{number}", formula):
            close(float(m[1]) * (1 - 1 / min(max(S / float(m[2]) / 1e6, 1), float(m[3]))))
        elif m := re.search(rf"{number} us x \({number} x {number} \+ {number} x {number}\) rounds", formula):
            close(float(m[1]) * (float(m[2]) * float(m[3]) + float(m[4]) * float(m[5])))
        elif m := re.search(rf"{number} us above ", formula):
            self.assertIn(round(value, 3), (0.0, round(float(m[1]), 3)))
        else:
            self.fail(f"no calculator reads: {line}")
        return 1

    def test_json_adds_naive_time_and_changes(self):
        told = self.loaded("explain", "all_reduce", *H100, "--size", "256MiB", "--json")
        self.assertAlmostEqual(told["naive_us"], 1.75 * 2**28 / 450e9 * 1e6, delta=1e-6)
        changes = {c["change"]: c["time_us"] for c in told["changes"]}
        self.assertLess(changes["10 % more nvlink bandwidth"], told["time_us"])
        self.assertTrue(any(change.startswith("half the ranks (4)") for change in changes))

    def test_naive_time_across_nodes_uses_all_nics_for_rings_and_a_share_for_exchanges(self):
        ring = self.loaded("explain", "all_reduce", *H100, "--nodes", "4", "--size", "1GiB", "--json")["naive_us"]
        self.assertAlmostEqual(ring, 2 * 31 / 32 * 2**30 / 400e9 * 1e6, delta=1e-3)
        exchange = self.loaded("explain", "all_to_all", *H100, "--nodes", "4", "--size", "1GiB", "--json")["naive_us"]
        self.assertAlmostEqual(exchange, 31 / 32 * 2**30 / 50e9 * 1e6, delta=1e-3)
