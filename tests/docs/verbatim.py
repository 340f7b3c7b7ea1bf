#!/usr/bin/env python3
"""Runs the README and the pages for readers as a reader does, with the installed package alone: its command, its data, its extras.

    ENVIRONMENT/bin/python verbatim.py [PAGE...]        default: README.md, docs/install.md, docs/tutorial.md, docs/how-to

Of a block `    $ fabricost ...` the printed lines must be the page's; `>>>` examples are doctests; other Python runs, block after block.
Every other line of a shell is run with bash and must succeed, on files and programs that stand in for the reader's own. What cannot run
here is matched by `not_here` below, with the reason, and listed; a line that is neither is a fault.
Prints what it ran for each page; exit status 1 with the faults.
"""
import collections
import contextlib
import gzip
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

import pages

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.executable).parent  # of the environment: not resolved
INDENTED = re.compile(r"(?m)(?:^    .*\n|^\n(?=    ))+")
OUTPUT = re.compile(r"\S+:\d+:\d+: |from_sources: |schedule   what ")
PROGRAM = re.compile(r"(import|from|const|\w+Request) |\w+ = ")  # run whole; what else is indented are lines of a shell
not_here = {
    r"\./quickstart|git clone |export PATH=|pip install|apt-get |cmake |\(cd build|conan |vcpkg ": "installs or builds",
    r"packaging/|podman |rattler-build ": "packs",
    r"const (?:System|Time) |\w+Request \w+;|find_package\(|target_link|c\+\+ |#include":
        "needs a compiler; tests/consumer and examples/ compile it",
    r"(NCCL_DEBUG=\S+ )?mpirun |srun ": "needs a cluster",
    r"(examples/measure_\S+ .*|fabricost measure\b.*)$|found = fc\.measure": "needs GPUs; tests of `measure` have stand-ins for them",
    r"python3 (examples|tests|docs)/": "needs a checkout",
    r"(XLA_FLAGS|NCCL_TUNER_PLUGIN)=|AstraSim_|aiconfigurator |python -m dynamo|from dynamo|report = run_trace|python -c .from hta|import torch":
        "needs the other program",
    r"config(\.\w+)? = |import fabricost.torch|export NCCL_PROFILER_PLUGIN|fabricost exporter |scrape_configs|- job_name|static_configs":
        "needs the other program; tests/python/test_exporter.py serves and scrapes",
    r"from distributed import": "needs a scheduler; tests/python/check_dask.py has one",
    r"fabricost calibrate --system box.yaml|fabricost validate more.csv": "needs the points of a machine of one's own",
}


def stand_ins(folder, data):
    """Files and programs of the reader's own, on the page's own command lines."""
    log = (data / "measurements" / "dgx-h100-all-reduce.txt").read_bytes()
    for name in ("my.log", "later.log", "my-other.log", "rank0.log", "slurm-1234/rank0.log", "burn-in/node1.log", "burn-in/node2.log"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(log)
    (folder / "rank1.log.gz").write_bytes(gzip.compress(log))
    (folder / "dmesg.txt").write_text("[ 9.1] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n")
    for name, machine in (("mine", "dgx-h100"), ("this-machine", "dgx-h200")):
        (folder / f"{name}.yaml").write_text(f"extends: {machine}\nname: {name}\n")
    measured = (ROOT / "docs" / "how-to" / "measure.md").read_text(encoding="utf-8")
    for match in pages.CAT.finditer(measured):
        (folder / match[1]).write_text(textwrap.dedent(match[2]), encoding="utf-8")
    programs = folder / "programs"
    programs.mkdir()
    for name, prints in (("nvidia-smi", ROOT / "tests" / "contract" / "files" / "nvidia-topo.txt"), ("kubectl", folder / "my.log")):
        (programs / name).write_text(f"#!/bin/sh\nexec cat '{prints}'\n")
        (programs / name).chmod(0o755)
    return programs


class Page:
    def __init__(self, path, folder, data):
        self.path, self.folder, self.names = path, folder, {}
        self.text = path.read_text(encoding="utf-8")
        self.done, self.left, self.faults = collections.Counter(), [], []
        pages.lay_out(self.text, folder, data)
        self.programs = stand_ins(folder, data) if path.name != "measure.md" else folder

    def fault(self, text):
        self.faults.append(f"{self.path.relative_to(ROOT)}: {text}")

    def outputs(self):
        now = pages.fresh(str(BIN / "fabricost"), self.path, self.text, self.folder)
        if pages.SEARCHED.sub("", now) != pages.SEARCHED.sub("", self.text):
            self.fault("prints otherwise\n" + pages.first_difference(self.text, now))
        self.done["commands with their output"] = len(pages.BLOCK.findall(self.text))

    def doctests(self):
        if ">>>" in self.text:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                failed = pages.python_faults(self.path, self.folder)
            self.done["Python examples"] = self.text.count(">>>")
            if failed is None:
                self.fault("its Python examples need what the package with all extras does not bring")
            elif failed:
                self.fault(f"{failed} Python examples failed\n{printed.getvalue()}")

    def shell(self, line):
        self.done["lines of a shell"] += 1
        done = subprocess.run(["bash", "-ec", line], capture_output=True, text=True, timeout=300, cwd=self.folder,
                              env={**os.environ, "PATH": f"{BIN}:{self.programs}:{os.environ['PATH']}"})
        if done.returncode:
            self.fault(f"`{line}` ended with {done.returncode}: {done.stderr}")

    def python(self, block):
        self.done["blocks of Python"] += 1
        here = os.getcwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block, str(self.path), "exec"), self.names)
        except Exception as error:
            self.fault(f"{type(error).__name__}: {error}\n{block}")
        finally:
            os.chdir(here)

    def others(self):
        """Blocks that are neither a command with its output nor examples with theirs."""
        for match in INDENTED.finditer(self.text):
            block = textwrap.dedent(match[0]).strip("\n")
            if not block or block.startswith((">>> ", "$ ")) or OUTPUT.match(block):
                continue
            for text in [block] if PROGRAM.match(block) else [line for line in block.splitlines() if line and not line.startswith(" ")]:
                if text.startswith("$ "):
                    break  # a command and its output, held above
                if why := self.reason(text):
                    self.left.append((text.splitlines()[0], why))
                elif "fc." in text:
                    self.python(text)
                elif re.match(r"fabricost |nvidia-smi |kubectl ", text):
                    self.shell(text)
                else:
                    self.fault(f"is neither run nor excused: {text}")

    @staticmethod
    def reason(text):
        return next((why for pattern, why in not_here.items() if re.match(pattern, text)), None)


def main(arguments):
    import fabricost
    data = pathlib.Path(fabricost.__file__).parent / "data"
    paths = [pathlib.Path(a).resolve() for a in arguments] or [
        ROOT / "README.md", ROOT / "docs" / "install.md", ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
    faults, names = [], {}
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            page = Page(path, pathlib.Path(folder), data)
            page.names = names  # install.md goes on where the README ended
            page.outputs()
            page.doctests()
            page.others()
            faults += page.faults
            print(f"{path.relative_to(ROOT)}: " + (", ".join(f"{n} {what}" for what, n in page.done.items() if n) or "nothing to run"))
            for line, why in page.left:
                print(f"    not run, {why}: {line}")
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
