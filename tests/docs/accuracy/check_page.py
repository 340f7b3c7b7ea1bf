#!/usr/bin/env python3
"""Is docs/accuracy.md what accuracy_page prints, docs/training-accuracy.md what training_page?   check_page.py PROGRAM PAGE MEASUREMENTS

Words must agree; numbers to 3 % or one in the last place that is printed, since compilers and processors round differently on a fit's
way to its minimum. Exit status 77 (skipped, with the reason) when the measurements are not there.
"""

import pathlib
import re
import subprocess
import sys

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def same(ours, theirs):
    """True when two lines differ in nothing but the rounding of their numbers."""
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    for a, b in zip(NUMBER.findall(ours), NUMBER.findall(theirs)):
        last_place = 10.0 ** -len(a.partition(".")[2])
        if abs(float(a) - float(b)) > max(0.03 * abs(float(a)), 1.01 * last_place):
            return False
    return True


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, page, measurements = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    if not measurements.is_dir():
        print(f"skipped: {measurements} is not there, so the page cannot be worked out again")
        sys.exit(77)
    run = subprocess.run([program, str(measurements)], capture_output=True, encoding="utf-8", timeout=600)
    if run.returncode != 0:
        sys.exit(f"{program} ended with {run.returncode}: {run.stderr.strip()}")
    fresh, kept = run.stdout.splitlines(), page.read_text(encoding="utf-8").splitlines() if page.is_file() else []
    for number, (ours, theirs) in enumerate(zip(fresh, kept), start=1):
        if not same(ours, theirs):
            sys.exit(f"{page}:{number}: is not what the program prints now\n  page:    {theirs}\n  program: {ours}\n"
                     f"write it again with: build/bin/{pathlib.Path(program).name} ../shared/measurements > docs/{page.name}")
    if len(fresh) != len(kept):
        sys.exit(f"{page} has {len(kept)} lines, the program prints {len(fresh)}")


if __name__ == "__main__":
    main()
