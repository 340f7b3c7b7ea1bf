#!/usr/bin/env python3
"""The fabric in a box on recorded runs and by hand: runs without root and without Open MPI.

    test_logic.py TOOL
"""

import glob
import json
import os
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import compare  # noqa: E402
import fabric_in_a_box  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = ""
L, B = 140.0, 4.78e6  # us a step, bytes/s

# t = steps x L + volume / B on n ranks, by operation and algorithm of ours: (steps, volume over size)
SCHEDULES = {
    ("all_reduce", "ring"): lambda n: (2 * (n - 1), 2 * (n - 1) / n),
    ("all_reduce", "rabenseifner"): lambda n: (2 * log2(n), 2 * (n - 1) / n),
    ("all_reduce", "recursive_doubling"): lambda n: (log2(n), log2(n)),
    ("all_gather", "ring"): lambda n: (n - 1, (n - 1) / n),
    ("all_gather", "halving_doubling"): lambda n: (log2(n), (n - 1) / n),
    ("all_gather", "bruck"): lambda n: (log2(n), (n - 1) / n),
    ("all_to_all", "pairwise"): lambda n: (n - 1, (n - 1) / n),
    ("all_to_all", "direct"): lambda n: (1, (n - 1) / n),
    ("all_to_all", "bruck"): lambda n: (log2(n), log2(n) / 2),
    ("broadcast", "ring"): lambda n: (n - 1, 1),
}


def log2(n):
    return n.bit_length() - 1


def point(operation, algorithm, size, time_us, nodes=4, system="flat", notes="by hand; spread 0"):
    cells = dict.fromkeys("source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,"
                          "protocol,notes,path,both_ways,streamed".split(","), "")
    cells.update(source="hand", system=system, nodes=nodes, gpus_per_node=1, operation=operation, dtype="float", bytes=size,
                 time_us=time_us, in_place=0, library="openmpi", algorithm=algorithm, protocol="simple", notes=notes)
    return cells


class Calibrated(unittest.TestCase):
    """A machine made up from a latency and a rate is found again by `fabricost calibrate`, from other points than those predicted."""

    def test_a_latency_and_a_rate_are_found_again(self):
        def by_hand(operation, algorithm, size):
            steps, volume = SCHEDULES[operation, algorithm](4)
            return point(operation, algorithm, size, steps * L + 1e6 * volume * size / B)
        fitted = [by_hand(compare.OPERATIONS[op], compare.SAME[op, a], size)
                  for op, a in fabric_in_a_box.FITTED.items() for size in fabric_in_a_box.FITTED_SIZES]
        checked = [by_hand(*pair, size) for pair in SCHEDULES for size in (98304, 393216, 1572864)]
        with tempfile.TemporaryDirectory() as folder:
            machine = fabric_in_a_box.machine_of(TOOL, folder, "flat", {"ethernet": 40}).calibrate(fitted, folder)
            rows = machine.rows(checked, folder)
        self.assertEqual(len(rows), len(checked))
        count, median, _, worst = compare.summary(rows)
        print(f"made up: {count} points, median error {median:.2f} %, worst {worst:.1f} %")
        self.assertLess(median, 2)  # what is known of rates beforehand weighs a little beside eight points
        self.assertLess(worst, 4, compare.table(rows))


class Specs(unittest.TestCase):
    """The specs and the calibration against arithmetic done here."""

    UP = 2.39e6  # bytes/s of one node while all of its leaf cross
    S = 262144

    @staticmethod
    def predict(folder, name, operation, algorithm, nodes, size, across=None):
        """Microseconds on a machine that adds nothing of its own to its links: steps and volume add up, no launch, no floor.

        Level 0 is priced by `simple`, level 1 by half of `ring_simple_step` a step (include/fabricost/price/generic.hpp).
        """
        path = os.path.join(folder, "calibration.yaml")
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"""name: {name}
systems: [{name}]
source: by hand
confidence: measured
parts:
  - kind: scale_up
    measured: {{bandwidth: {B:.9g} B/s per direction, smallest: 4 B, largest: 16 MiB, fewest_ranks: 2, most_ranks: 2}}
    constants:
      launch: 1 ns
      simple: {{floor: 1 ns, hop: {L:.6g} us, overlap: 1, rate: {B:.9g} B/s per direction}}
  - kind: transport
    transport: tcp
    measured: {{most_nodes: 2}}
    constants: {{tree_step: {L:.6g} us, ring_simple_step: {2 * L:.6g} us, efficiency: 1}}
""")
        words = [TOOL, "predict", operation, "--system", os.path.join(HERE, "fabrics", f"{name}.yaml"), "--algorithm", algorithm,
                 "--protocol", "simple", "--nodes", nodes, "--size", size, "--dtype", "float", "--calibration", path,
                 "--set", f"tiers.ethernet.bandwidth={B:.9g} B/s per direction"]
        if across:
            words += ["--set", f"tiers.nic.bandwidth={across:.9g} B/s per direction", "--set", "tiers.nic.shared_by=1"]
        return json.loads(compare.run(*words, "--json"))["time_us"]

    def check(self, name, operation, algorithm, nodes, steps, volume, across=None):
        with tempfile.TemporaryDirectory() as folder:
            predicted = self.predict(folder, name, operation, algorithm, nodes, self.S, across)
        wanted = steps * L + 1e6 * volume
        said = f"{name} {operation} {algorithm} on {nodes}: {predicted} us, by hand {wanted} us"
        self.assertLess(abs(predicted / wanted - 1), 1e-5, said)

    def test_flat_is_steps_and_bytes(self):
        for nodes in (2, 4, 8):
            for name in ("flat", "slow-port"):
                for (operation, algorithm), schedule in SCHEDULES.items():
                    steps, volume = schedule(nodes)
                    self.check(name, operation, algorithm, nodes, steps, volume * self.S / B)

    def test_neighbours_of_a_torus_run_rings(self):
        self.check("torus", "all_reduce", "ring", 4, 6, 1.5 * self.S / B)
        self.check("torus", "all_gather", "ring", 4, 3, 0.75 * self.S / B)

    def test_a_torus_refuses_what_reaches_beyond_neighbours(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(compare.Fault, "exit 2.*neighbours"):
            self.predict(folder, "torus", "all_reduce", "rabenseifner", 4, self.S)

    def test_two_levels_share_the_uplink(self):
        # two leaves of two: the uplink carries 2 x 2.39 = 4.78 MB/s
        s, up, outer = self.S / B, self.S / (2 * self.UP), self.UP
        self.check("two-level", "all_reduce", "ring", 4, 6, 1.5 * max(s, up), outer)
        # near first: S/2 and back inside, then S/4 and back from each of two nodes
        self.check("two-level", "all_reduce", "rabenseifner", 4, 4, 1.0 * s + 1.0 * up, outer)
        # both nodes of a leaf send all of S out
        self.check("two-level", "all_reduce", "recursive_doubling", 4, 2, s + 2 * up, outer)


class Recorded(unittest.TestCase):
    """Runs of fabric_in_a_box.py --save, calibrated and predicted anew."""

    def test_recorded_runs_are_predicted(self):
        files = sorted(glob.glob(os.path.join(HERE, "recorded", "*.fitted.csv")))
        self.assertGreaterEqual(len(files), 4)
        rows = []
        for name in files:
            fabric, mbit = re.fullmatch(r"(.*)-\d+-([\d.]+)mbit\.fitted\.csv", os.path.basename(name)).groups()
            points = []
            for path in (name, name.replace(".fitted.", ".checked.")):
                with open(path, encoding="utf-8") as text:
                    points.append(compare.read_points(text.read(), path))
            rates = {"ethernet": float(mbit), "nic": float(mbit)} if fabric == "two-level" else {"ethernet": float(mbit)}
            with tempfile.TemporaryDirectory() as folder:
                machine = fabric_in_a_box.machine_of(TOOL, folder, fabric, rates)
                rows += machine.calibrate(points[0], folder).rows(points[1], folder)
        count, median, mean, worst = compare.summary(rows)
        print(f"recorded: {count} points, median error {median:.2f} %, mean {mean:.2f} %, worst {worst:.1f} %")
        self.assertGreaterEqual(count, 40)
        self.assertLessEqual(median, fabric_in_a_box.LIMIT)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
