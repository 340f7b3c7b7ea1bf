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

    def test_every_row_is_what_predict_says(self):
        for operation in ("all_reduce", "all_to_all", "send_recv"):
            for one in self.loaded("sweep", operation, *H100, "--sizes", "1KiB:1GiB:x4,100MB", "--json"):
                alone = self.predict(operation, *H100, "--size", one["bytes"])
                self.assertEqual(one["algorithm"], alone["algorithm"])
                self.assertAlmostEqual(one["time_us"] / alone["time_us"], 1, delta=1e-12)

    def test_sizes_are_ranges_or_lists(self):
        count = lambda sizes: len(self.fine("sweep", "all_reduce", *H100, "--sizes", sizes, "--csv").splitlines()) - 1
        self.assertEqual(count("1KiB:8GiB:x2"), 24)
        self.assertEqual(count("1MiB:16MiB:+1MiB"), 16)
        self.assertEqual(count("4KiB,64KiB,1MiB"), 3)
        self.assertEqual(count("256MiB"), 1)

class SweepCounts(Contract):
    SUPERPOD = ["--system", "superpod-h100"]

    def test_a_count_of_a_list_is_what_predict_says(self):
        rows = self.loaded("sweep", "all_reduce", *self.SUPERPOD, "--nodes", "1:64:x4,3", "--size", "64MiB", "--json")
        self.assertEqual([p["nodes"] for p in rows], [1, 4, 16, 64, 3])
        for row in rows:
            self.assertEqual(row, self.predict("all_reduce", *self.SUPERPOD, "--nodes", row["nodes"], "--size", "64MiB"))
        ranks = self.loaded("sweep", "all_gather", *H100, "--ranks", "2:8:+2", "--size", "1MiB", "--json")
        self.assertEqual([p["ranks"] for p in ranks], [2, 4, 6, 8])

    def test_csv_says_nodes_and_ranks_and_then_what_a_sweep_over_sizes_says(self):
        text = self.fine("sweep", "all_reduce", *self.SUPERPOD, "--nodes", "2,4", "--size", "1MiB", "--csv")
        rows = list(csv.DictReader(io.StringIO(text)))
        sizes = self.fine("sweep", "all_reduce", *self.SUPERPOD, "--nodes", "2", "--sizes", "1MiB", "--csv").splitlines()
        self.assertEqual(text.splitlines()[0] + ",nodes,ranks", "nodes,ranks," + sizes[0])
        self.assertEqual(text.splitlines()[1] + ",2,16", "2,16," + sizes[1])
        self.assertEqual([(r["nodes"], r["ranks"]) for r in rows], [("2", "16"), ("4", "32")])

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

    def test_crossovers_as_csv_name_count_and_size(self):
        rows = list(csv.DictReader(io.StringIO(self.fine("sweep", "all_reduce", *self.SUPERPOD, "--nodes", "2,4", "--crossovers",
                                                         "--sizes", "1KiB:1GiB:x2", "--csv"))))
        self.assertEqual(set(rows[0]), {"nodes", "ranks", "which", "from_bytes", "algorithm", "protocol"})
        self.assertTrue(all(1024 <= int(r["from_bytes"]) <= 2**30 for r in rows))
        self.assertEqual({r["which"] for r in rows}, {"runs", "fastest"})
        bounds = lambda sizes: self.fine("sweep", "all_reduce", *self.SUPERPOD, "--nodes", "2,4", "--crossovers", "--sizes", sizes, "--csv")
        self.assertEqual(bounds("1GiB,1KiB"), bounds("1KiB:1GiB:x2"))
