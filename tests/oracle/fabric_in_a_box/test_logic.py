#!/usr/bin/env python3
"""Tests of the parts around the fabric in a box, on recorded runs and by hand: runs without root and without Open MPI.

    test_logic.py TOOL
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
import box  # noqa: E402
import compare  # noqa: E402
import fabric_in_a_box  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = ""
NO_BOX = box.why_not()


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


class Readers(unittest.TestCase):
    HEADER = ",".join(point("all_reduce", "ring", 4, 1))

    def line(self, **cells):
        return ",".join(str(c) for c in {**point("all_reduce", "ring", 65536, 9137.5), **cells}.values())

    def test_a_row_of_the_command_is_read(self):
        (p,) = compare.read_points(self.HEADER + "\n" + self.line() + "\n")
        self.assertEqual((p["operation"], p["nodes"], p["bytes"], p["time_us"], p["algorithm"]), ("all_reduce", 4, 65536, 9137.5, "ring"))

    def test_a_damaged_line_is_refused_with_its_number(self):
        for bad in (self.line(bytes="many"), self.line(time_us="-1"), self.line(time_us="nan"), self.line(time_us=""), "hand,flat,4"):
            with self.subTest(bad), self.assertRaisesRegex(compare.Fault, "out:3: "):
                compare.read_points("\n".join((self.HEADER, self.line(), bad)), "out")
        with self.assertRaisesRegex(compare.Fault, "no points"):
            compare.read_points(self.HEADER)

    def test_what_was_forced_must_be_what_the_command_wrote(self):
        forced = {"allreduce": "segmented_ring"}
        (p,) = compare.labelled([point("all_reduce", "ring", 4, 1)], forced)
        self.assertTrue(p["notes"].startswith("allreduce/segmented_ring; "))
        for operation, algorithm in (("all_reduce", ""), ("all_reduce", "rabenseifner"), ("all_gather", "ring")):
            with self.subTest(algorithm), self.assertRaisesRegex(compare.Fault, "the command wrote algorithm"):
                compare.labelled([point(operation, algorithm, 4, 1)], forced)

    def test_every_algorithm_is_either_matched_or_listed_as_missing(self):
        self.assertEqual(set(compare.SAME) & set(compare.MISSING), set())
        launched = {pair for launch in fabric_in_a_box.LAUNCHES for pair in launch.items()}
        self.assertEqual(launched, set(compare.SAME))
        self.assertLessEqual(set(fabric_in_a_box.FITTED.items()), launched)

    def test_nothing_that_is_fitted_is_predicted(self):
        for full in (False, True):
            for _, _, _, sizes in fabric_in_a_box.experiments(full, 20):
                self.assertEqual(set(sizes) & set(fabric_in_a_box.FITTED_SIZES), set())

    def test_errors_of_small_messages_do_not_count(self):
        rows = [compare.Row("f", "t", "o", 4, size, measured, predicted)
                for size, measured, predicted in ((1024, 1, 100), (65536, 100, 103), (65536, 100, 95))]
        count, median, _, worst = compare.summary(rows)
        self.assertEqual((count, round(median, 9), round(worst, 9)), (2, 4.0, 5.0))


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

    def test_a_point_that_names_no_algorithm_is_not_fitted(self):
        with tempfile.TemporaryDirectory() as folder:
            machine = fabric_in_a_box.machine_of(TOOL, folder, "flat", {"ethernet": 40})
            with self.assertRaisesRegex(compare.Fault, "(?s)exit 2.*only a point that names its algorithm"):
                machine.calibrate([point("all_reduce", "", 65536, 1e5)], folder)


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


class Boxes(unittest.TestCase):
    def test_a_missing_tool_is_named_with_its_package(self):
        with mock.patch.object(shutil, "which", lambda tool: None if tool == "tc" else "/bin/" + tool):
            self.assertIn("apt-get install iproute2", box.why_not())

    def test_without_root_the_reason_is_said(self):
        with mock.patch.object(shutil, "which", lambda tool: "/bin/" + tool), mock.patch.object(os, "geteuid", lambda: 1000), \
             mock.patch.object(subprocess, "run", lambda *_, **__: mock.Mock(stdout="mpirun (Open MPI) 4.1.4", returncode=0)):
            self.assertIn("root", box.why_not())

    def test_a_skip_is_77_and_says_why(self):
        done = subprocess.run([sys.executable, os.path.join(HERE, "fabric_in_a_box.py"), TOOL], capture_output=True, text=True, check=False,
                              env={"PATH": "/nonexistent"})
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertRegex(done.stdout, r"^skipped: ip is not installed; .*apt-get install iproute2")

    def test_plans_join_every_node(self):
        for plan in (box.flat(5), box.slow_port(4), box.two_level(2, 3), box.two_level(3, 2), box.torus(5)):
            reached, ends = {"n0"}, [(c.a[0], c.b[0]) for c in plan.cables]
            for _ in ends:
                for a, b in ends:
                    if a in reached or b in reached:
                        reached |= {a, b}
            self.assertEqual(reached, {f"n{i}" for i in range(plan.nodes)} | {f"s{i}" for i in range(plan.switches)}, plan.name)
            ports = [end for c in plan.cables for end in (c.a, c.b)]
            self.assertEqual(len(ports), len(set(ports)), plan.name)
            self.assertTrue(all(len(interface) < 16 for _, interface in ports))

    def test_what_goes_around_a_torus_goes_the_shorter_way(self):
        plan = box.torus(5)
        self.assertEqual([plan.routes[0, j] for j in range(1, 5)], ["right", "right", "left", "left"])

    def test_only_the_slow_port_is_slow(self):
        self.assertEqual([c.mbit_a for c in box.slow_port(4, 40, 20).cables], [40, 40, 40, 20])

    @unittest.skipIf(NO_BOX, f"no box here: {NO_BOX}")
    def test_nothing_is_left_after_a_failure(self):
        def spaces():
            return sorted(line.split()[0] for line in box.run("ip", "netns", "list").splitlines() if line.startswith(f"fbx{os.getpid()}-"))
        with self.assertRaises(ZeroDivisionError), box.Box(box.flat(2)) as b:
            folder = b.folder
            self.assertEqual(len(spaces()), 4)  # two nodes, a switch, the control network
            sleeper = subprocess.Popen(["ip", "netns", "exec", b.space("n0"), "sleep", "600"])
            1 / 0  # noqa: B018
        self.assertEqual(spaces(), [])
        self.assertFalse(os.path.exists(folder))
        self.assertEqual(sleeper.wait(10), -9)
        bad = box.flat(2)
        bad.cables.append(box.Cable(("n0", "eth0"), ("s0", "again"), 1, 1))  # the name is taken
        with self.assertRaises(box.Failed):
            box.Box(bad).__enter__()
        self.assertEqual(spaces(), [])

    @unittest.skipIf(NO_BOX, f"no box here: {NO_BOX}")
    def test_what_a_killed_run_left_is_removed_by_the_next(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        box.run("ip", "netns", "add", f"fbx{gone.pid}-n0")
        box.remove_stale()
        self.assertNotIn(f"fbx{gone.pid}-n0", box.run("ip", "netns", "list"))

    @unittest.skipIf(NO_BOX, f"no box here: {NO_BOX}")
    def test_a_neighbour_two_hops_off_is_reached(self):
        with box.Box(box.torus(4)) as b:
            ways = b.within("n0", "ip", "route", "get", f"{box.DATA}.3")
            self.assertIn("dev right", ways)
            with open(f"{b.folder}/reach.py", "w", encoding="utf-8") as out:
                out.write("import socket,sys\ns=socket.create_server(('0.0.0.0',5000)); c,a=s.accept(); print(a[0])\n")
            server = subprocess.Popen(["ip", "netns", "exec", b.space("n2"), sys.executable, f"{b.folder}/reach.py"],
                                      stdout=subprocess.PIPE, text=True)
            client = ("import socket,time\nfor i in range(100):\n"
                      f"  try: socket.create_connection(('{box.DATA}.3',5000),2); break\n  except OSError: time.sleep(.05)")
            b.within("n0", sys.executable, "-c", client)
            self.assertEqual(server.communicate(timeout=10)[0].strip(), f"{box.DATA}.1")


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
