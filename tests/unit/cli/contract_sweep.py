"""sweep over sizes and over counts of nodes or ranks: every row equals predict's answer, and CSV, JSON and crossovers agree."""
import csv
import io

from contract import H100, Contract


class Sweep(Contract):
    HEADER = "bytes,time_us,algbw_GBps,busbw_GBps,algorithm,protocol,bottleneck,basis,low_us,high_us,operation,nodes,ranks"

    def test_csv_has_the_columns_of_the_contract_and_equals_json(self):
        question = ["all_reduce", *H100, "--nodes", "2", "--sizes", "1KiB:1GiB:x2"]
        text = self.fine("sweep", *question, "--csv")
        self.assertEqual(text.splitlines()[0], self.HEADER)
        rows = list(csv.DictReader(io.StringIO(text)))
        objects = self.loaded("sweep", *question, "--json")
        self.assertEqual(len(rows), 21)
        self.assertEqual([int(r["bytes"]) for r in rows], [1024 * 2**i for i in range(21)])
        for row, one in zip(rows, objects):
            for field in ("time_us", "algbw_GBps", "busbw_GBps"):
                self.assertEqual(float(row[field]), one[field])
            for field in ("algorithm", "protocol", "bottleneck", "basis"):
                self.assertEqual(row[field], one[field])
            self.assertEqual([float(row["low_us"]), float(row["high_us"])], one["interval_us"])

    def test_expert_exchanges_at_several_numbers_of_tokens_are_those_of_predict(self):
        for operation, kernel, system in (("moe_dispatch", "deepep-low-latency", "dgx-h100"), ("moe_combine", "trtllm", "gb200-nvl72")):
            shape = ["--system", system, "--ranks", "8", "--hidden", "7168", "--experts", "256", "--top-k", "8", "--implementation", kernel]
            rows = self.loaded("sweep", operation, *shape, "--tokens", "1:512:x8", "--json")
            self.assertEqual([row["tokens_per_rank"] for row in rows], [1, 8, 64, 512])
            for row in rows:
                one = self.loaded("predict", operation, *shape, "--tokens", str(row["tokens_per_rank"]), "--json")
                self.assertEqual(row, one)
            self.assertIn(" tokens ", self.fine("predict", operation, *shape, "--tokens", "1,8"))


class SweepCounts(Contract):
    def test_what_runs_changes_where_crossovers_say(self):
        for system, operation in (("aws-p5", "all_reduce"), ("superpod-h100", "all_gather"), ("alps-gh200", "all_reduce")):
            for row in self.loaded("sweep", operation, "--system", system, "--nodes", "2,8", "--crossovers", "--json"):
                for rule, changes in (("nccl", row["runs"]), ("fastest", row["fastest"])):
                    self.assertEqual(changes[0]["from_bytes"], 8)
                    ran = lambda size: self.predict(operation, "--system", system, "--nodes", row["nodes"], "--size", size,
                                                    "--choice", rule)
                    pair = lambda p: (p["algorithm"], p["protocol"])
                    for before, after in zip(changes, changes[1:]):
                        self.assertLess(before["from_bytes"], after["from_bytes"])
                        self.assertNotEqual(pair(before), pair(after))
                        if rule == "nccl":  # to the byte
                            self.assertEqual(pair(ran(after["from_bytes"] - 1)), pair(before))
                            self.assertEqual(pair(ran(after["from_bytes"])), pair(after))
                        else:  # sampled: what takes over is no slower a little above
                            above = round(after["from_bytes"] * 1.01)
                            forced = self.predict(operation, "--system", system, "--nodes", row["nodes"], "--size", above,
                                                  "--algorithm", after["algorithm"], "--protocol", after["protocol"])["time_us"]
                            self.assertLessEqual(forced, ran(above)["time_us"] * 1.001)
