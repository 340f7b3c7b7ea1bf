#!/usr/bin/env python3
"""The long checks of seven days with twelve minutes each: every step but coverage has been run, whatever day one begins on.

    check_rotation.py
"""
import datetime
import os
import pathlib
import re
import subprocess
import sys

RUN = pathlib.Path(__file__).resolve().parent / "run.sh"
SECONDS = 720
FIRST = datetime.date(2026, 12, 25)  # over the end of a year


def plan(day, seconds):
    environment = {**os.environ, "FABRICOST_CHECK_SECONDS": str(seconds)}
    done = subprocess.run([RUN, "--plan", str(day)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def main():
    steps = set(re.findall(r'(?m)^  "(\w+) \d+ ', RUN.read_text(encoding="utf-8"))) - {"coverage"}
    plans = [plan(FIRST + datetime.timedelta(at), SECONDS) for at in range(14)]
    runs = [set(re.findall(r"(?m)^runs +(\w+)", text)) for text in plans]
    for at in range(7):
        assert set().union(*runs[at:at + 7]) == steps, f"not within a week: {steps - set().union(*runs[at:at + 7])}"
    for text in plans:
        for name, date in re.findall(r"(?m)^left out +(\w+): .*, (\S+)$", text):
            assert name in runs[(datetime.date.fromisoformat(date) - FIRST).days % 7], f"{name} does not run on {date}"
        assert sum(map(int, re.findall(r"(?m)^runs .*about (\d+) s", text))) <= SECONDS, text
    assert "runs" not in plan(FIRST, 10)
    print(f"{len(steps)} steps, all within seven days of {SECONDS} s")


if __name__ == "__main__":
    if len(sys.argv) != 1:
        sys.exit(__doc__)
    main()
