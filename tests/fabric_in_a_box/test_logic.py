#!/usr/bin/env python3
"""What surrounds the fabric in a box, tested on recorded runs and by hand: runs without root and without Open MPI.

    test_logic.py TOOL
"""

import glob
import os
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


def point(size, time_us, notes="ping_pong; spread 0"):
    return compare.Point("flat", 2, "send_recv", size, time_us, "", notes)


def line_points(latency_us, rate):
    return [point(s, latency_us + 1e6 * s / rate) for s in (4, 256, 1024, 65536, 262144, 524288)]


class Readers(unittest.TestCase):
    LINE = "fabric-in-a-box,flat,4,1,all_reduce,float,65536,9137.5,0,openmpi,4.1.4,ring,,spread 0.01"

    def test_a_line_of_the_probe_is_read(self):
        (p,) = compare.read_points(compare.COLUMNS + "\n" + self.LINE + "\n")
        self.assertEqual((p.operation, p.nodes, p.bytes, p.time_us, p.algorithm), ("all_reduce", 4, 65536, 9137.5, "ring"))
        self.assertEqual(p.line(), self.LINE)

    def test_a_damaged_line_is_refused_with_its_number(self):
        good = self.LINE
        for bad in (good[:-20], good.replace("65536", "many"), good.replace("9137.5", "-1"), good.replace("9137.5", "nan"), good + ",more"):
            with self.subTest(bad), self.assertRaisesRegex(compare.Fault, "out:2: "):
                compare.read_points(good + "\n" + bad, "out")

    def test_every_algorithm_is_either_matched_or_listed_as_missing(self):
        self.assertEqual(set(compare.SAME) & set(compare.MISSING), set())
        launched = {pair for launch in fabric_in_a_box.LAUNCHES for pair in launch.items()}
        self.assertEqual(launched, set(compare.SAME))


class Fits(unittest.TestCase):
    def test_a_line_is_found_again(self):
        link = compare.fit_link(line_points(140, 4.78e6))
        self.assertAlmostEqual(link.latency_us, 140, places=6)
        self.assertAlmostEqual(link.rate / 4.78e6, 1, places=9)

    def test_one_disturbed_size_does_not_move_it(self):
        points = line_points(140, 4.78e6)
        points[1].time_us *= 4
        link = compare.fit_link(points)
        self.assertAlmostEqual(link.latency_us, 140, places=6)

    def test_too_few_sizes_are_refused(self):
        for points in ([], line_points(1, 1e6)[:3], line_points(1, 1e6)[3:], line_points(1, 1e6)[:4]):
            with self.subTest(len(points)), self.assertRaisesRegex(compare.Fault, "a ping-pong needs"):
                compare.fit_link(points)

    def test_errors_of_small_messages_do_not_count(self):
        rows = [compare.Row("f", "t", "o", 4, size, measured, predicted)
                for size, measured, predicted in ((1024, 1, 100), (65536, 100, 103), (65536, 100, 95))]
        count, median, _, worst = compare.summary(rows)
        self.assertEqual((count, round(median, 9), round(worst, 9)), (2, 4.0, 5.0))


class Specs(unittest.TestCase):
    """The specs and the calibration against arithmetic done here."""

    L, B, UP = 140.0, 4.78e6, 2.39e6  # us, bytes/s, bytes/s of one node while all of its leaf cross
    S = 262144

    def machine(self, folder, name, outer=None):
        return compare.Machine(TOOL, os.path.join(HERE, "fabrics", f"{name}.yaml"), compare.Link(self.L, self.B), outer).write(folder)

    def check(self, name, operation, algorithm, nodes, steps, volume, outer=None):
        with tempfile.TemporaryDirectory() as folder:
            predicted = self.machine(folder, name, outer).predict(operation, algorithm, nodes, self.S)
        wanted = steps * self.L + 1e6 * volume
        said = f"{name} {operation} {algorithm} on {nodes}: {predicted} us, by hand {wanted} us"
        self.assertLess(abs(predicted / wanted - 1), 1e-5, said)

    def test_flat_is_steps_and_bytes(self):
        s = self.S / self.B
        for nodes in (2, 4, 8):
            part = (nodes - 1) / nodes * s
            log = nodes.bit_length() - 1
            for name in ("flat", "slow-port"):
                self.check(name, "all_reduce", "ring", nodes, 2 * (nodes - 1), 2 * part)
                self.check(name, "all_reduce", "rabenseifner", nodes, 2 * log, 2 * part)
                self.check(name, "all_reduce", "recursive_doubling", nodes, log, log * s)
                self.check(name, "all_gather", "halving_doubling", nodes, log, part)
                self.check(name, "all_gather", "bruck", nodes, log, part)
                self.check(name, "all_to_all", "pairwise", nodes, nodes - 1, part)
                self.check(name, "all_to_all", "direct", nodes, 1, part)
                self.check(name, "all_to_all", "bruck", nodes, log, log / 2 * s)
                self.check(name, "broadcast", "ring", nodes, nodes - 1, s)

    def test_neighbours_of_a_torus_run_rings(self):
        self.check("torus", "all_reduce", "ring", 4, 6, 1.5 * self.S / self.B)
        self.check("torus", "all_gather", "ring", 4, 3, 0.75 * self.S / self.B)

    def test_a_torus_refuses_what_reaches_beyond_neighbours(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(compare.Fault, "exit 2.*neighbours"):
            self.machine(folder, "torus").predict("all_reduce", "rabenseifner", 4, self.S)

    def test_two_levels_share_the_uplink(self):
        # two leaves of two: the uplink carries 2 x 2.39 = 4.78 MB/s
        outer = compare.Link(self.L, self.UP)
        s, up = self.S / self.B, self.S / (2 * self.UP)
        self.check("two-level", "all_reduce", "ring", 4, 6, 1.5 * max(s, up), outer)
        # near first: S/2 and back inside, then S/4 and back from each of two nodes
        self.check("two-level", "all_reduce", "rabenseifner", 4, 4, 1.0 * s + 1.0 * up, outer)
        # both nodes of a leaf send all of S out
        self.check("two-level", "all_reduce", "recursive_doubling", 4, 2, s + 2 * up, outer)


class Recorded(unittest.TestCase):
    """Runs of fabric_in_a_box.py --save, predicted anew from their own ping-pongs."""

    def test_recorded_runs_are_predicted(self):
        files = sorted(glob.glob(os.path.join(HERE, "recorded", "*.csv")))
        self.assertGreaterEqual(len(files), 4)
        rows = []
        for name in files:
            with open(name, encoding="utf-8") as text:
                points = compare.read_points(text.read(), name)
            with tempfile.TemporaryDirectory() as folder:
                machine = compare.machine_of(TOOL, folder, points)
                rows += machine.rows([p for p in points if p.operation != "send_recv"])
        count, median, mean, worst = compare.summary(rows)
        print(f"recorded: {count} points, median error {median:.2f} %, mean {mean:.2f} %, worst {worst:.1f} %")
        self.assertGreaterEqual(count, 50)
        self.assertLessEqual(median, fabric_in_a_box.LIMIT)

    def test_the_command_reads_recorded_points(self):
        # the same files go through the project's own reader: nothing in them is malformed
        name = os.path.join(HERE, "recorded", "flat-4.csv")
        words = [TOOL, "validate", name, "--system", os.path.join(HERE, "fabrics", "flat.yaml"), "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


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
