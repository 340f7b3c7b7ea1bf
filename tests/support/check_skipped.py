"""A test case that could not read the measurements counts as skipped: its program ends with status 77 and names it.

    check_skipped.py PROGRAM...    Catch2 programs with cases tagged [measurements]
"""
import os
import re
import subprocess
import sys

SKIPPED = 77


def cases_of(program):
    """The number of cases that carry the tag."""
    listed = subprocess.run([program, "--list-tests", "[measurements]"], capture_output=True, text=True)
    return int(re.search(r"^(\d+) matching test case", listed.stdout, re.MULTILINE).group(1))


def check(program):
    """Runs the cases with no measurements to be found, and says how many there are."""
    nowhere = {**os.environ, "FABRICOST_MEASUREMENTS": "/nonexistent/measurements"}
    ran = subprocess.run([program, "[measurements]"], capture_output=True, text=True, env=nowhere)
    assert ran.returncode == SKIPPED, f"{program}: status {ran.returncode}, not {SKIPPED}\n{ran.stdout}{ran.stderr}"
    cases = cases_of(program)
    named = re.findall(r"^skipped: .*: no measurements at /nonexistent/measurements; set ", ran.stdout, re.MULTILINE)
    assert len(named) == cases, f"{program}: {len(named)} of {cases} cases say that they were skipped\n{ran.stdout}"
    return cases


if __name__ == "__main__":
    print(f"without measurements {sum(check(program) for program in sys.argv[1:])} test cases are skipped, and each says so")
