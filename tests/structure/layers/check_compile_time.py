#!/usr/bin/env python3
"""Measures the time that including our headers takes a compiler at -O0, beside <vector>.

    check_compile_time.py SOURCE_DIR COMPILER [FLAG...]

Processor time, best of several runs, because other programs only ever add to it. On a machine where <vector> takes longer than on the one
the limits were set on, they grow in proportion. What is counted rather than timed does not depend on the machine: bytes after the
preprocessor, and that the headers of prices, schedules and choices bring in no quantities. Exit status 1 and a line per fault."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

RUNS = 3
VECTOR_SECONDS = 0.12  # <vector> alone, g++ 12 at -O0, where the limits were set
# header: seconds measured there, preprocessed bytes at most.
LIMITS = {"fabricost/fabricost.hpp": (1.0, 2_850_000), "fabricost/units.hpp": (0.45, 1_850_000)}
SLACK = 2  # of seconds: the processor's clock, its neighbours
PLAIN = ("price", "algorithms", "choice")


def cost(command, header, runs):
    """(least processor seconds, preprocessed text) of a file with one #include."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "include.cpp"
        source.write_text(f"#include <{header}>\n")
        preprocessed = subprocess.run([*command, "-E", str(source)], capture_output=True, text=True, check=True).stdout
        seconds = []
        for _ in range(runs):
            process = subprocess.Popen([*command, "-O0", "-c", str(source), "-o", os.devnull])
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                sys.exit(f"{header}: does not compile")
            seconds.append(usage.ru_utime + usage.ru_stime)
        return min(seconds, default=0), preprocessed


def faults_of(header, seconds, vector, size, limits):
    """The values beyond the limits."""
    most = limits[0] * max(1, vector / VECTOR_SECONDS) * SLACK
    out = []
    if seconds > most:
        out.append(f"{header}: {seconds:.2f} s, {seconds / vector:.1f} times <vector>; at most {most:.2f} s here")
    if size > limits[1]:
        out.append(f"{header}: {size} bytes after the preprocessor; at most {limits[1]}")
    return out


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    base = pathlib.Path(sys.argv[1]) / "include"
    command = [sys.argv[2], "-std=c++20", "-x", "c++", f"-I{base}", *sys.argv[3:]]
    timed = "12." in subprocess.run([sys.argv[2], "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    if not timed:
        print("skipped: seconds and bytes, whose limits are g++ 12's; this is another compiler")
    faults = []
    vector = cost(command, "vector", RUNS if timed else 0)[0]
    for header, limits in LIMITS.items() if timed else ():
        seconds, text = cost(command, header, RUNS)
        print(f"{header}: {seconds:.2f} s, {seconds / vector:.1f} times <vector> ({vector:.2f} s); {len(text)} bytes preprocessed")
        faults += faults_of(header, seconds, vector, len(text), limits)
    plain = sorted(str(p.relative_to(base)) for folder in PLAIN for p in (base / "fabricost" / folder).glob("*.hpp"))
    units = re.compile(r'^# \d+ "[^"]*fabricost/units.hpp"', re.MULTILINE)
    assert units.search(cost(command, "fabricost/units.hpp", 0)[1])
    with tempfile.TemporaryDirectory() as folder:  # all at once: one of them is enough to be found
        source = pathlib.Path(folder) / "include.cpp"
        source.write_text("".join(f"#include <{header}>\n" for header in plain))
        text = subprocess.run([*command, "-E", str(source)], capture_output=True, text=True, check=True).stdout
    if units.search(text):
        faults.append(f"the headers of {', '.join(PLAIN)} include units.hpp; see what they include")
    else:
        print(f"{len(plain)} headers of {', '.join(PLAIN)}: no units.hpp")
    print("\n".join(faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
