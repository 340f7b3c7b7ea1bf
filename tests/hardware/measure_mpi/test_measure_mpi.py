#!/usr/bin/env python3
"""The MPI probe for real, over loopback: the device alone through `drive`, then the command under mpirun.

    test_measure_mpi.py TOOL [--drive PROGRAM --mpirun PROGRAM]

Exit status 77: there is no MPI here; it says what is missing.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

GIVEN = None
OPERATIONS = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv"}


def mpirun(ranks, *command, timeout=200, **variables):
    """A run of so many ranks on this machine, more than it has processors if need be: (exit status, stdout, stderr, seconds)."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_", "PMIX_", "FABRICOST_"))}
    environment.update({key: str(value) for key, value in variables.items()})
    words = [GIVEN.mpirun]
    if GIVEN.open_mpi:
        # this machine may have few processors, and others to serve: who waits sleeps
        nap = os.path.join(os.path.dirname(os.path.abspath(GIVEN.tool)), "libfabricost_idle_nap.so")
        variables = {**variables, "LD_PRELOAD": nap}
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        words += ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "self,vader,tcp",
                  "--mca", "btl_tcp_if_include", "lo"]
        for key, value in variables.items():
            if key.startswith("OMPI_"):  # mpirun hands those on by itself
                continue
            words += ["-x", f"{key}={value}"]
    start = time.monotonic()
    done = subprocess.run([*words, "-n", str(ranks), *command], capture_output=True, text=True, check=False, timeout=timeout,
                          env=environment, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr, time.monotonic() - start


class Device(unittest.TestCase):
    """Every process through measure/device.hpp, without the host logic."""

    def drive(self, ranks, what, **variables):
        return mpirun(ranks, GIVEN.drive, what, **variables)

    def timed(self, out):
        rows = {}
        for line in out.splitlines():
            words = line.split()
            if words[0] == "time" and words[1] != "pair":
                rows[tuple(words[1:5])] = (float(words[5]), float(words[6]))
        return rows

    def large_messages_take_longer(self, rows):
        """The quickest of some forty cases each: other work on this machine lengthens single ones."""
        small, large = (min(t for key, (t, _) in rows.items() if key[2] == size) for size in ("3072", "1048576"))
        self.assertGreater(small, 0)
        self.assertGreater(large, small)

    def test_every_collective_is_right_and_takes_time(self):
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                status, out, err, _ = self.drive(ranks, "every")
                self.assertEqual(status, 0, err)
                rows = self.timed(out)
                self.assertEqual({key[0] for key in rows}, OPERATIONS)
                for key, (device, host) in rows.items():
                    self.assertGreater(device, 0, key)
                    self.assertLess(abs(host - device), max(1e-4, 0.1 * device), f"{key}: two clocks, {device} and {host} s")
                self.large_messages_take_longer(rows)
                # only sums of types that MPI cannot add and counts that do not split evenly are refused
                for line in out.splitlines():
                    if line.startswith("unsupported"):
                        self.assertRegex(line, r"MPI has no sum of half|equal parts of whole")

    def test_processes_without_a_common_clock_are_timed_from_a_barrier(self):
        status, out, err, _ = self.drive(2, "every", DRIVE_APART=1)
        self.assertEqual(status, 0, err)
        self.assertIn("remark times: a barrier, then every process's own clock", out)
        self.large_messages_take_longer(self.timed(out))

    def test_results_nobody_computed_are_refused(self):
        status, out, err, _ = self.drive(3, "wrong")
        self.assertEqual((status, out.split()), (0, ["refused"]), err)

    def test_processes_out_of_step_all_hear_of_it(self):
        status, out, err, _ = self.drive(3, "mismatch")
        self.assertEqual(status, 0, err)
        self.assertRegex(out, r"fault the processes are not about to measure the same.*\n"
                              r"fault .*told to repeat it 1 to 2 times\nagreed 42 true")

    def test_too_large_for_memory_is_said_before_it_is_touched(self):
        status, out, err, _ = self.drive(2, "memory")
        self.assertEqual((status, out.count("memory ")), (0, 2), err)
        self.assertRegex(out, r"needs .* GB for the 2 processes of this host, which has .* GB left")

    def test_a_process_that_stands_still_is_not_waited_for(self):
        for what, said in (("stopped", "lost not all of the 3 processes answered within 3 s"), ("stuck", "is not done after 3 s")):
            with self.subTest(what):
                status, out, err, seconds = self.drive(3, what, DRIVE_LIMIT=3)
                self.assertNotEqual(status, 0)
                self.assertIn(said, out + err)
                self.assertLess(seconds, 40)


class Command(unittest.TestCase):
    def measure(self, ranks, folder, *words, **variables):
        out = os.path.join(folder, "measured.csv")
        status, said, err, seconds = mpirun(ranks, GIVEN.tool, "measure", "--mpi", "--quick", "--quiet", "-o", out, *words, **variables)
        return status, said, err, seconds, out

    def rows(self, out):
        with open(out, encoding="utf-8") as text:
            return list(csv.DictReader(text))

    def test_all_collectives_are_measured_in_the_time_given(self):
        for ranks in (4,):
            with self.subTest(ranks=ranks), tempfile.TemporaryDirectory() as folder:
                status, said, err, seconds, out = self.measure(ranks, folder, "--budget", "6")
                self.assertEqual(status, 0, err)
                self.assertLess(seconds, 30)
                rows = self.rows(out)
                self.assertEqual({r["operation"] for r in rows}, OPERATIONS)
                library = "openmpi" if GIVEN.open_mpi else "mpich"
                for r in rows:
                    taking_part = "2" if "pairs 0>1" in r["notes"] else str(ranks)
                    self.assertEqual((r["nodes"], r["gpus_per_node"], r["library"], r["dtype"]), ("1", taking_part, library, "float"), r)
                    self.assertEqual((r["algorithm"], r["protocol"]), ("", "simple"), r)
                    self.assertGreater(float(r["time_us"]), 0)
                    self.assertRegex(r["notes"], r"spread \d")
                for operation in OPERATIONS:
                    times = sorted((int(r["bytes"]), float(r["time_us"])) for r in rows if r["operation"] == operation)
                    if times[-1][0] >= 1 << 20:
                        self.assertGreater(times[-1][1], times[0][1], operation)
                self.assertTrue(os.path.exists(os.path.join(folder, "measured.machine.yaml")))
                self.assertEqual(sorted(os.listdir(folder)), ["measured.csv", "measured.machine.yaml"])
                # the project's own reader takes the file
                done = subprocess.run([GIVEN.tool, "validate", out, "--system", "dgx-h100", "--json"], capture_output=True, text=True,
                                      check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertGreater(json.loads(done.stdout)["points"], 0)

    def test_sizes_that_are_asked_for_are_the_ones_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            status, _, err, _, out = self.measure(2, folder, "--budget", "3", "--only", "all_reduce", "send_recv", "--sizes", "4KiB,64KiB")
            self.assertEqual(status, 0, err)
            found = {(r["operation"], r["bytes"]) for r in self.rows(out)}
            self.assertEqual(found, {(op, size) for op in ("all_reduce", "send_recv") for size in ("4096", "65536")})

    def test_a_forced_algorithm_stands_in_its_cell(self):
        if not GIVEN.open_mpi:
            self.skipTest("forcing algorithms is told by Open MPI's parameters, and this MPI is another")
        with tempfile.TemporaryDirectory() as folder:
            forced = {"OMPI_MCA_coll_tuned_use_dynamic_rules": 1, "OMPI_MCA_coll_tuned_allreduce_algorithm": "rabenseifner",
                      "OMPI_MCA_coll_tuned_bcast_algorithm": "binomial"}
            status, _, err, _, out = self.measure(4, folder, "--budget", "3", "--only", "all_reduce", "broadcast", "all_gather", "--sizes",
                                                  "64KiB", **forced)
            self.assertEqual(status, 0, err)
            cells = {r["operation"]: r["algorithm"] for r in self.rows(out)}
            self.assertEqual(cells, {"all_reduce": "rabenseifner", "broadcast": "", "all_gather": ""})
            with open(os.path.join(folder, "measured.machine.yaml"), encoding="utf-8") as text:
                machine = text.read()
            self.assertIn("allreduce/rabenseifner is forced by the environment: rabenseifner here", machine)
            self.assertIn("bcast/binomial is forced by the environment, which has no counterpart here", machine)

    def test_one_process_is_refused_with_the_way_to_start_several(self):
        with tempfile.TemporaryDirectory() as folder:
            status, said, err, _, out = self.measure(1, folder, "--budget", "3")
            self.assertEqual(status, 2, err)
            self.assertEqual(said, "")
            self.assertIn("mpirun -n 4 fabricost measure --mpi", err)
            self.assertFalse(os.path.exists(out))

    def test_a_wrong_timeout_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            status, said, err, _, _ = self.measure(2, folder, FABRICOST_MPI_TIMEOUT="soon")
            self.assertEqual((status, said), (2, ""))
            self.assertIn("FABRICOST_MPI_TIMEOUT=soon: write the seconds", err)


def why_not(given):
    if not given.drive:
        return "built without MPI; apt-get install libopenmpi-dev openmpi-bin, then configure again"
    if not given.mpirun or shutil.which(given.mpirun) is None:
        return "there is no mpirun; apt-get install openmpi-bin"
    return None


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("tool")
    arguments.add_argument("--drive", default="")
    arguments.add_argument("--mpirun", default="")
    GIVEN, rest = arguments.parse_known_args()
    reason = why_not(GIVEN)
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    said = subprocess.run([GIVEN.mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    GIVEN.open_mpi = "Open MPI" in said or "OpenRTE" in said  # mpirun, mpiexec
    unittest.main(argv=[sys.argv[0], *rest])
