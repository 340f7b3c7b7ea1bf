#!/usr/bin/env python3
"""The cost of starting the command: processor time of a whole process, best of many, and its size without symbols.

    check_start.py COMMAND MOST_MB [STRIP]

Processor time, because other programs only ever add to it. Exit status 1 and a line per fault."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

RUNS = 5
MOST_MS = {"systems": 80.0, "models": 50.0}  # they read every file of their folders
OTHERS_MS = 24.0
SLACK = 2  # other machines, neighbours on the same core, caches they empty
QUESTIONS = ["--help", "systems", "show dgx-h100", "models", "predict all_reduce --system dgx-h100 --size 256MiB",
             "predict all_reduce --system aws-p5 --nodes 8 --size 1GiB --json"]


def milliseconds(command):
    best = float("inf")
    for _ in range(RUNS):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{' '.join(command)}: exit status {process.returncode}")
        best = min(best, 1e3 * (usage.ru_utime + usage.ru_stime))
    return best


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    command, most_bytes = sys.argv[1], 1e6 * float(sys.argv[2])
    faults = []
    for question in QUESTIONS:
        spent = milliseconds([command, *question.split()])
        print(f"{spent:6.1f} ms  {question}")
        most = MOST_MS.get(question, OTHERS_MS)
        if spent > most * SLACK:
            faults.append(f"{question}: {spent:.1f} ms; more than {SLACK} times {most}")
    strip = sys.argv[3] if len(sys.argv) == 4 else shutil.which("strip")
    if strip:
        with tempfile.TemporaryDirectory() as folder:
            bare = pathlib.Path(folder) / "fabricost"
            subprocess.run([strip, command, "-o", bare], check=True)
            size = bare.stat().st_size
        print(f"{size} bytes without symbols")
        if size > most_bytes:
            faults.append(f"{size} bytes without symbols; at most {most_bytes:.0f}")
    else:
        print("skipped: the size, because there is no strip here")
    print("\n".join(faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
