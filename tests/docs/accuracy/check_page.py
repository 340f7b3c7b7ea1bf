#!/usr/bin/env python3
"""Is docs/accuracy.md what accuracy_page.py prints, docs/training-accuracy.md what training_page.py?

    check_page.py PROGRAM PAGE MEASUREMENTS [OPTION...]

Words must agree; numbers to 3 % or one in the last place that is printed, since compilers and processors round differently on a fit's
way to its minimum. With options, which the program is given, sections that it leaves out are left out here, and so are cells of tables
in which it prints "-". Exit status 77 (skipped, with the reason) when the measurements are not there.
"""

import pathlib
import re
import subprocess
import sys

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def same(ours, theirs):
    """True when two texts differ in nothing but the rounding of their numbers."""
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    for a, b in zip(NUMBER.findall(ours), NUMBER.findall(theirs)):
        last_place = 10.0 ** -len(a.partition(".")[2])
        if abs(float(a) - float(b)) > max(0.03 * abs(float(a)), 1.01 * last_place):
            return False
    return True


def same_cells(ours, theirs):
    """The same of a row of a table, but for cells that say nothing here."""
    cells = list(zip(ours.split("|"), theirs.split("|")))
    return ours.count("|") == theirs.count("|") and all(a.strip(" *") == "-" or same(a, b) for a, b in cells)


def sections(lines):
    """{heading: [(number, line)]} in order; lines before the first heading are under ""."""
    out, heading = {"": []}, ""
    for number, line in enumerate(lines, start=1):
        if line.startswith("## "):
            heading = line
        out.setdefault(heading, []).append((number, line))
    return out


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, page, measurements, options = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4:]
    if not measurements.is_dir():
        print(f"skipped: {measurements} is not there, so the page cannot be worked out again")
        sys.exit(77)
    command = [*([sys.executable] if program.endswith(".py") else []), program]
    run = subprocess.run([*command, str(measurements), *options], capture_output=True, encoding="utf-8", timeout=1800)
    if run.returncode != 0:
        sys.exit(f"{program} ended with {run.returncode}: {run.stderr.strip()}")
    kept = sections(page.read_text(encoding="utf-8").splitlines() if page.is_file() else [])
    fresh = sections(run.stdout.splitlines())
    again = f"write it again with: {program} ../shared/measurements > docs/{page.name}"
    if list(fresh) != [heading for heading in kept if heading in fresh or not options]:
        sys.exit(f"{page}: its sections are not those that the program prints now\n{again}")
    for heading, lines in fresh.items():
        for (_, ours), (number, theirs) in zip(lines, kept[heading]):
            if not same(ours, theirs) and not (options and same_cells(ours, theirs)):
                sys.exit(f"{page}:{number}: is not what the program prints now\n  page:    {theirs}\n  program: {ours}\n{again}")
        if len(lines) != len(kept[heading]):
            sys.exit(f"{page}: {heading or 'the introduction'} has {len(kept[heading])} lines, the program prints {len(lines)}\n{again}")


if __name__ == "__main__":
    main()
