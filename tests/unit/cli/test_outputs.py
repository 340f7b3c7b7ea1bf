"""What the command writes: never over what it read, whole or not at all, and nothing that acts on a terminal or in a spreadsheet.

    test_outputs.py FABRICOST SOURCE_DIR [unittest arguments]
"""
import json
import math
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

COMMAND = SOURCE = None
HEADER = "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes\n"
HOSTILE = ["x]}, evil: [1", "a: b", '"q', "'q", "#c", "&a", "*a", "!t", "null", "~", "yes", "1.5", "x], most_nodes: [1", "{a", "- b", "? c",
           "a\tb", "\\n", "\x1b[31mred", "\u202edrow", "\u2066x", "=cmd()", "+cmd", "@SUM(1)", "\ufeffbom", "ä ö", " lead", "a,b", "%a"]
SIZES = [2 ** e for e in range(12, 30)]
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


class Outputs(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.log = self.file("in.log", (SOURCE / "data/measurements/dgx-h100-all-reduce.txt").read_text(encoding="utf-8"))
        self.base = self.file("base.yaml", "name: base\nextends: dgx-h100\n")
        self.file("child.yaml", "name: child\nextends: base.yaml\n")
        gpu = (SOURCE / "data/gpus/h100-sxm.yaml").read_text(encoding="utf-8")
        self.file("gp.yaml", re.sub(r"(?m)^name:.*", "name: gp", gpu))
        self.file("gsys.yaml", "name: gsys\nextends: dgx-h100\ngpu: gp.yaml\n")

    def file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        return written(path, text)

    def run_it(self, line, **more):
        return subprocess.run([COMMAND, *(line if isinstance(line, list) else shlex.split(line))], cwd=self.folder, capture_output=True,
                              text=True, timeout=120, check=False, **more)

    def fine(self, line, **more):
        done = self.run_it(line, **more)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stderr}")
        return done.stdout

    def contents(self):
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in sorted(self.folder.rglob("*")) if path.is_file()}

    def refused_unchanged(self, line, says="lost"):
        before = self.contents()
        done = self.run_it(line)
        self.assertEqual(done.returncode, 2, f"{line}: {done.stderr or done.stdout[:200]}")
        self.assertIn(says, done.stderr, line)
        self.assertEqual(self.contents(), before, line)

    def traced(self):
        """A folder of traces, of a plan's step."""
        self.fine("plan train -m llama3-8b -s dgx-h100 -g 16 -b 32 --tp 2 --pp 2 --dp 4 --microbatch 1 --trace traces")
        return sorted((self.folder / "traces").iterdir())[0].relative_to(self.folder).as_posix()

    def test_no_output_replaces_a_file_that_was_read(self):
        one = self.traced()
        self.file("t.json", (self.folder / one).read_text(encoding="utf-8"))
        plan = self.fine("plan train -m llama3-8b -s dgx-h100 -g 16 -b 32 --tp 2 --pp 2 --dp 4 --microbatch 1 --json")
        self.file("plan.json", plan)
        (self.folder / "link.yaml").symlink_to("base.yaml")
        for line in (
            "trace t.json -s dgx-h100 --html t.json", "trace t.json -s dgx-h100 --perfetto t.json",
            f"trace traces -s dgx-h100 --html {one}", f"trace traces -s dgx-h100 --perfetto {one}",
            "trace traces -s dgx-h100 --against plan.json --html plan.json",
            "explore --train -m llama3-8b -s base.yaml -g 8 --vary global_batch=64,128 --csv base.yaml",
            "explore --train -m llama3-8b -b 64 -g 8 --vary system=base.yaml,dgx-h100 --csv base.yaml",
            "validate in.log -s child.yaml -o base.yaml", "tune -s child.yaml -r 16 -n 2 -o base.yaml",
            "calibrate -s child.yaml --from in.log -o base.yaml",
            "validate in.log -s gsys.yaml -o gp.yaml", "validate in.log -s child.yaml -o link.yaml", "validate in.log -s link.yaml -o base.yaml",
            "compare child.yaml dgx-a100 --train -m llama3-8b -g 8 -b 64 --plot base.yaml"):
            with self.subTest(line=line):
                self.refused_unchanged(line)

    def test_no_option_that_writes_takes_the_machine_it_is_asked_of(self):
        commands = re.findall(r"(?m)^  (\w+)  ", self.run_it("--help").stdout.split("Commands:")[1])
        asked = 0
        self.file("in.txt", self.log.read_text(encoding="utf-8"))
        questions = {"topo": "topo base.yaml", "calibrate": "calibrate -s base.yaml --from in.log", "measure": None,
                     "validate": "validate in.log -s base.yaml", "trace": f"trace {self.traced()} -s base.yaml",
                     "tune": "tune -s base.yaml -r 16 -n 2", "pipeline": None,  # asks of no file
                     "explore": "explore --train -m llama3-8b -s base.yaml -g 8 -b 64 --vary sequence=2048,4096",
                     "compare": "compare base.yaml dgx-a100 --train -m llama3-8b -g 8 -b 64",
                     "plan": None}  # a folder
        for command in commands:
            help_text = self.run_it(f"{command} --help").stdout
            for option in re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+)(?:,-\w)? (?:FILE|FOLDER)\s+(?:Write|Draw|Points; the)", help_text):
                self.assertIn(command, questions, f"{command} {option} writes: say here what to ask it")
                if questions[command] is not None:
                    asked += 1
                    self.refused_unchanged(f"{questions[command]} {option} base.yaml")
        self.assertGreater(asked, 5)

    def test_two_outputs_to_one_file_are_refused(self):
        one = self.traced()
        self.refused_unchanged(f"trace {one} -s dgx-h100 --html x --perfetto x", says="both write x")
        self.refused_unchanged(f"trace {one} -s dgx-h100 --html x --perfetto ./x", says="both write")

    def test_what_is_written_may_be_written_again(self):
        for _ in range(2):
            self.fine("calibrate -s dgx-h100 --from in.log -o mine.yaml")
            self.fine("predict all_reduce -s dgx-h100 --calibration mine.yaml --size 1MiB")

    def test_a_pipe_is_refused_and_not_waited_for(self):
        os.mkfifo(self.folder / "pipe.log")
        for command in ("trace pipe.log -s dgx-h100", "diagnose pipe.log", "validate pipe.log -s dgx-h100", "trace pipe.log in.log"):
            done = self.run_it(command)
            self.assertEqual((done.returncode, "is a pipe" in done.stderr), (2, True), f"{command}: {done.stderr}")

    def test_a_file_beyond_the_limit_leaves_nothing(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
        written(self.folder / "x.csv", "old\n")
        done = self.run_it("validate in.log -s dgx-h100 -o x.csv", preexec_fn=limited)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertEqual((self.folder / "x.csv").read_text(), "old\n")
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name.endswith(".tmp")], [])

    def test_a_name_may_be_as_long_as_the_file_system_allows(self):
        for length in (242, 250, 255):
            self.fine(f"validate in.log -s dgx-h100 -o {'x' * (length - 4)}.csv")

    def points(self, texts, sizes, *said_in):
        """A table whose rows have each text in these columns, at each size."""
        columns, text = HEADER.strip().split(","), HEADER
        for said in texts:
            for size in sizes:
                row = dict(source="made", system="dgx-h100", nodes=1, gpus_per_node=8, operation="all_reduce", dtype="half", bytes=size,
                           time_us=20 + size / 3e5, library="nccl", library_version="2.23")
                row.update(dict.fromkeys(said_in, said))
                text += ",".join('"' + str(row.get(c, "")).replace('"', '""') + '"' for c in columns) + "\n"
        self.file("points.csv", text)

    def test_what_is_written_as_yaml_reads_back_equal(self):
        for text in HOSTILE:
            with self.subTest(text=text):
                self.points([text], SIZES, "library", "source")
                done = self.run_it("calibrate -s dgx-h100 --from points.csv -o c.yaml")
                if done.returncode == 2:  # no such library: fine, if it says so
                    self.assertNotIn("internal", done.stderr)
                    continue
                self.fine("predict all_reduce -s dgx-h100 --size 1MiB --calibration c.yaml")
                made = (self.folder / "c.yaml").read_text(encoding="utf-8")
                self.assertIsNone(ACTS.search(made), repr(ACTS.search(made)))
                try:
                    import yaml
                except ImportError:
                    continue
                said = yaml.safe_load(made)["parts"][0]["measured"]
                self.assertNotIn("evil", said)
                if "libraries" in said:
                    self.assertEqual([one.split("-2.23")[0] for one in said["libraries"]], [re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]", " ", text)], made)

    def test_nothing_written_acts_on_a_terminal_or_in_a_spreadsheet(self):
        texts = [*HOSTILE, "\r=cmd()", "\t=cmd()"]
        self.points(texts, SIZES[:1], "notes", "library")
        self.fine("validate points.csv -s dgx-h100 -o out.csv")
        made = (self.folder / "out.csv").read_text(encoding="utf-8")
        self.assertEqual(len(made.splitlines()), 1 + len(texts))
        self.assertIsNone(ACTS.search(made), repr(ACTS.search(made)))
        for cell in re.findall(r'(?:^|,)"?\s*([=+@-][^",\n]*)', made, re.MULTILINE):
            self.assertTrue(math.isfinite(float(cell)), cell)
        self.fine("validate out.csv -s dgx-h100 -o again.csv")  # our own reader takes off what was put before a cell
        self.assertEqual((self.folder / "again.csv").read_text(encoding="utf-8").count("'=cmd"), made.count("'=cmd"))

    def test_a_message_does_not_repeat_a_long_value(self):
        for line in (["predict", "all_reduce", "-s", "x" * 100_000, "--size", "1MiB"], ["predict", "y" * 100_000, "-s", "dgx-h100"],
                     ["predict", "all_reduce", "-s", "dgx-h100", "--size", "9 z" * 40_000],
                     ["plan", "--train", "-m", "m" * 100_000, "-s", "dgx-h100", "-g", "8", "-b", "8"],
                     ["predict", "all_reduce", "-s", "dgx-h100", "--" + "o" * 100_000]):
            done = self.run_it(line)
            self.assertEqual(done.returncode, 2)
            self.assertLess(len(done.stderr), 10_000, done.stderr[:200])

    def test_a_picture_is_written_where_asked(self):
        self.fine("compare dgx-h100 dgx-b200 --serve -m llama3-8b -g 1 --plot out.svg")
        words = " ".join(xml.etree.ElementTree.parse(self.folder / "out.svg").getroot().itertext())
        for word in ("dgx-h100", "dgx-b200", "milliseconds a token", "USD per million tokens"):
            self.assertIn(word, words)

    def test_minus_nothing_is_nothing(self):
        self.assertNotIn("-0", self.fine("cost -s dgx-h100 --gpus 64 --hours 10 --price-kwh=-0"))

    def test_a_dump_without_sense_shows_no_saturated_numbers(self):
        entry = {"record_id": 1, "pg_id": 0, "process_group": ["0", "default"], "collective_seq_id": 1, "p2p_seq_id": 0, "op_id": 1,
                 "profiling_name": "nccl:all_reduce", "time_created_ns": 1, "input_sizes": [[10 ** 30, 5]], "input_dtypes": ["Half"],
                 "output_sizes": [[-3]], "output_dtypes": ["Half"], "state": "started", "time_discovered_started_ns": 2,
                 "time_discovered_completed_ns": None, "retired": False, "timeout_ms": 600000, "is_p2p": False, "frames": []}
        dump = {"version": "2.4", "pg_config": {"0": {"name": "0", "desc": "default", "ranks": "[0, 1]"}}, "pg_status": {},
                "entries": [entry]}
        for rank in (0, 1):
            self.file(f"dumps/nccl_trace_rank_{rank}", json.dumps(dump))
        said = self.run_it("diagnose dumps")
        for word in ("9223372036854775807", "nan", "1e+30", "inf"):
            self.assertNotIn(word, said.stdout + said.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} FABRICOST SOURCE_DIR [unittest arguments]")
    COMMAND, SOURCE = os.path.abspath(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
