"""predict: fields and types, terms that sum to the time, effects of a forced choice or a set value, stated assumptions."""
import math
import pathlib
import subprocess
import tempfile
import time

import contract
from contract import H100, Contract

OPERATIONS = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv"]


class Predict(Contract):
    def test_terms_sum_to_the_time_and_bandwidths_follow(self):
        machines = [(H100, 8), ([*H100, "--nodes", "4"], 32), (["--system", "gb200-nvl72"], 72),
                    (["--system", "l40s-pcie", "--ranks", "2"], 2)]
        for machine, ranks in machines:
            for operation in OPERATIONS[:6]:
                for size in ("1KiB", "300kB", "1GiB"):
                    with self.subTest(machine=machine, operation=operation, size=size):
                        p = self.predict(operation, *machine, "--size", size)
                        self.assertEqual(p["ranks"], ranks)
                        t = p["time_us"]
                        self.assertTrue(t > 0 and math.isfinite(t))
                        self.assertAlmostEqual(sum(x["time_us"] for x in p["terms"]) / t, 1, delta=1e-9)
                        self.assertAlmostEqual(p["algbw_GBps"] / (p["bytes"] / t * 1e-3), 1, delta=1e-9)
                        n = ranks
                        factor = {"all_reduce": 2 * (n - 1) / n, "broadcast": 1, "reduce": 1}.get(operation, (n - 1) / n)
                        self.assertAlmostEqual(p["busbw_GBps"] / (p["algbw_GBps"] * factor), 1, delta=1e-9)
                        low, high = p["interval_us"]
                        self.assertTrue(0 < low < t < high)
                        largest = max(p["terms"], key=lambda x: x["time_us"])
                        self.assertEqual(p["bottleneck"], largest["tier"])

    def test_send_recv_takes_three_paths(self):
        tiers = {"gpu-gpu": "nvlink", "gpu-host": "pcie", "nic": "gpu"}  # of a NIC, NCCL's two channels to a peer bind
        for path, tier in tiers.items():
            p = self.predict("send_recv", *H100, "--size", "1GiB", "--path", path)
            self.assertEqual(p["bottleneck"], tier)
            self.assertEqual(p["ranks"], 2)
        self.assertEqual(self.predict("send_recv", *H100, "--size", "1MiB", "--path", "nic")["nodes"], 2)

    def test_names_in_any_case_with_dashes_or_underscores(self):
        want = self.predict("all_reduce", *H100, "--size", "1MiB", "--algorithm", "one_shot", "--protocol", "ll128", "--dtype", "bfloat16")
        for operation, algorithm, protocol, dtype in (("All-Reduce", "ONE-SHOT", "LL128", "BF16"),
                                                      ("allreduce", "oneshot", "ll_128", "bfloat-16")):
            self.assertEqual(want, self.predict(operation, *H100, "--size", "1MiB", "--algorithm", algorithm, "--protocol", protocol,
                                                "--dtype", dtype))

    def test_a_forced_pair_runs(self):
        for algorithm, protocol in (("ring", "ll"), ("ring", "simple"), ("tree", "ll"), ("nvls", "simple"), ("two_shot", "simple")):
            p = self.predict("all_reduce", *H100, "--size", "1MiB", "--algorithm", algorithm, "--protocol", protocol)
            self.assertEqual((p["algorithm"], p["protocol"]), (algorithm, protocol))

    def test_fastest_is_never_slower_than_nccl(self):
        for size in ("1KiB", "64KiB", "1MiB", "64MiB", "1GiB"):
            nccl = self.predict("all_reduce", *H100, "--size", size)
            fastest = self.predict("all_reduce", *H100, "--size", size, "--choice", "fastest")
            self.assertLessEqual(fastest["time_us"], nccl["time_us"] * (1 + 1e-9))

    def test_set_overrides_one_value(self):
        base = self.predict("all_reduce", *H100, "--size", "1GiB")["time_us"]
        half = self.predict("all_reduce", *H100, "--size", "1GiB", "--set", "tiers.nvlink.bandwidth=450 GB/s both directions")["time_us"]
        self.assertGreater(half, 1.5 * base)
        two = ["--set", "tiers.nvlink.bandwidth=450 GB/s both directions", "--set", "nic.gdr=false"]
        self.assertEqual(half, self.predict("all_reduce", *H100, "--size", "1GiB", *two)["time_us"])
        # one word each: words after a value are not swallowed
        self.assertEqual(half, self.loaded("predict", "--set", "tiers.nvlink.bandwidth=450 GB/s both directions", "all_reduce", *H100,
                                           "--size", "1GiB",
                                           "--json")["time_us"])

    def test_without_calibration_it_says_datasheet_and_widens(self):
        known = self.predict("all_reduce", *H100, "--size", "1MiB")
        blind = self.predict("all_reduce", *H100, "--size", "1MiB", "--calibration", "none")
        self.assertEqual((known["basis"], blind["basis"]), ("calibrated", "datasheet"))
        width = lambda p: math.log(p["interval_us"][1] / p["interval_us"][0])
        self.assertGreater(width(blind), 2 * width(known))

    def test_without_gpu_direct_what_nobody_measured_is_marked_assumed(self):
        off = ("--size", "256MiB", "--set", "nic.gdr=false")
        two = self.predict("all_reduce", *H100, "--nodes", "2", *off)
        self.assertIn("they do not bind", two["assumed"][-1])
        self.assertIn("nvls_tree simple was not measured", two["assumed"][-1])
        four, on = (self.predict("all_reduce", *H100, "--nodes", "4", *more) for more in (off, off[:2]))
        self.assertGreater(four["time_us"], 1.1 * on["time_us"])
        self.assertNotIn("GPUDirect", " ".join(on["assumed"]))
        ring = self.predict("all_reduce", *H100, "--nodes", "4", "--algorithm", "ring", "--protocol", "simple", *off)
        self.assertNotIn("GPUDirect", " ".join(ring["assumed"]))  # fitted without, too
        self.assertIn("GPUDirect RDMA is off", self.fine("explain", "all_reduce", *H100, "--nodes", "2", *off))

    def test_a_part_beside_its_system_is_named_as_it_lies(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "link.yaml").write_text("name: broken\nnonsense: 1\n")
            (pathlib.Path(folder) / "mine.yaml").write_text("name: mine\nextends: dgx-h100\nsource: test\n"
                                                            "tiers: [{name: nvlink, link: ./link.yaml}]\n")
            out = subprocess.run([contract.COMMAND, "show", "./mine.yaml"], cwd=folder, capture_output=True, text=True)
            self.assertEqual((out.returncode, out.stdout), (2, ""))
            self.assertIn("link.yaml:", out.stderr)
            self.assertNotIn("./link.yaml", out.stderr)

    def test_a_file_will_do_where_a_system_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mine.yaml"
            path.write_text("name: mine\ntitle: Mine\nextends: dgx-h100\nsource: test\nconfidence: assumed\n")
            p = self.predict("all_reduce", "--system", path, "--size", "1MiB")
            self.assertEqual(p["time_us"], self.predict("all_reduce", *H100, "--size", "1MiB")["time_us"])

    def seconds(self):
        start = time.perf_counter()
        self.predict("all_reduce", *H100, "--size", "1MiB")
        return time.perf_counter() - start
