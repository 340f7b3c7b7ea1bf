#!/usr/bin/env python3
"""Counts the lines of include/ and src/ that the tests ran.

    coverage.py BUILD [--least PERCENT] [--report FOLDER]

BUILD was compiled by clang with --coverage and its tests have run. Prints a table by folder and the files with most lines that nothing
ran, writes an HTML report into FOLDER (default BUILD/coverage) and exits with 1 below PERCENT. Not counted: code for GPUs, which only a
GPU runs.
"""

import argparse
import collections
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--report")
    asked = parser.parse_args()
    report = asked.report or os.path.join(asked.build, "coverage")
    os.makedirs(report, exist_ok=True)
    summary = os.path.join(report, "summary.json")
    subprocess.run(
        [sys.executable, "-m", "gcovr", "--gcov-executable", "llvm-cov gcov", "--root", ROOT, "--object-directory", asked.build,
         "--filter", "include/fabricost/", "--filter", "src/",
         "--exclude", "src/probes/measure/gpu/", "--gcov-exclude-directories", ".*CompilerIdCXX.*", "--exclude-throw-branches",
         "--merge-mode-functions", "merge-use-line-min",
         "--gcov-ignore-parse-errors", "negative_hits.warn", "--gcov-suspicious-hits-threshold", "0",
         "-j", str(os.cpu_count()), "--json-summary", summary,
         "--html-details", os.path.join(report, "index.html"), asked.build],
        check=True, cwd=ROOT)
    with open(summary, encoding="utf-8") as file:
        found = json.load(file)
    folders = collections.defaultdict(lambda: [0, 0])
    for entry in found["files"]:
        folder = folders[os.path.dirname(entry["filename"])]
        folder[0] += entry["line_covered"]
        folder[1] += entry["line_total"]
    for folder, (covered, total) in sorted(folders.items()):
        print(f"{100 * covered / max(1, total):6.1f} %  {covered:6} of {total:6}  {folder}")
    missed = sorted(found["files"], key=lambda e: e["line_covered"] - e["line_total"])[:15]
    print("most lines that nothing ran:")
    for entry in missed:
        print(f"  {entry['line_total'] - entry['line_covered']:5} of {entry['line_total']:5}  {entry['filename']}")
    share = 100 * found["line_covered"] / found["line_total"]
    print(f"{share:.1f} % of {found['line_total']} lines; {report}/index.html shows which")
    if share < asked.least:
        print(f"less than {asked.least} %", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
