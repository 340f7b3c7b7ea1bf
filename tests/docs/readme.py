#!/usr/bin/env python3
"""Compares the README with its commands: of a block that begins with `    $ fabricost ...` every line that follows must stand in the
command's output, in that order; `    ...` marks lines left out. What the programs in C++ and Python say they print is what the command
predicts for their question.

    readme.py FABRICOST [README.md]
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from pages import missing

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?m)^    \$ fabricost (.*)\n((?:    .*\n)*)")


def programs(tool, text):
    """Faults of the figures beside the two programs."""
    words = ["all_reduce", "--system", "dgx-h100", "--ranks", "64", "--size", "256MiB", "--json"]
    p = json.loads(subprocess.run([tool, "predict", *words], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT).stdout)
    time, rate = p["time_us"], p["busbw_GBps"]
    low, high = p["interval_us"]
    printed = (f"// {time / 1e3:.2f} ms (nine in ten: {low / 1e3:.2f} ms to {high / 1e3:.2f} ms), busbw {rate:.1f} GB/s, {p['algorithm']} "
               f"{p['protocol']}, mostly {p['bottleneck']}",
               f"# {time:.0f} us, {rate:.0f} GB/s, {p['algorithm']} {p['protocol']}")
    assert "MiB(256), .ranks = 64" in text and "bytes=256 * fc.MiB, ranks=64" in text, "the programs ask another question"
    return [f"README.md: a program prints {line}" for line in printed if line not in text]


def main(arguments):
    tool = str(pathlib.Path(arguments[0]).resolve())
    readme = pathlib.Path(arguments[1]) if len(arguments) > 1 else ROOT / "README.md"
    blocks = BLOCK.findall(readme.read_text(encoding="utf-8"))
    assert len(blocks) >= 6, f"only {len(blocks)} commands with output in {readme}"
    others = programs(tool, readme.read_text(encoding="utf-8"))
    faults = len(others)
    print("".join(line + "\n" for line in others), end="", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "data").symlink_to(ROOT / "data")
        for command, quoted in blocks:
            done = subprocess.run([tool, *shlex.split(command)], capture_output=True, text=True, timeout=120, cwd=folder,
                                  env={**os.environ, "COLUMNS": "100"})
            assert done.returncode == 0, (command, done.stderr)
            assert quoted, f"no output is quoted below: fabricost {command}"
            line = missing(quoted, done.stdout)
            if line is not None:
                faults += 1
                print(f"README.md quotes of `fabricost {command}` a line it does not print there:\n  {line}\nit prints\n{done.stdout}",
                      file=sys.stderr)
    print(f"{len(blocks)} commands of the README" + ("" if faults else ", fresh"))
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
