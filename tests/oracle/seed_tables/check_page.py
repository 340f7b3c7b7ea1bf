"""Is the committed page what the program prints?   check_page.py PROGRAM PAGE

Prints the first differing line of both and exits 1 when it is not; exits 0 when it is.
"""

import itertools
import pathlib
import subprocess
import sys


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, page = sys.argv[1], pathlib.Path(sys.argv[2])
    run = subprocess.run([program], capture_output=True, encoding="utf-8", timeout=120)
    if run.returncode != 0:
        sys.exit(f"{program} ended with {run.returncode}: {run.stderr.strip()}")
    if not page.is_file():
        sys.exit(f"{page} does not exist; write it with: {program} > {page}")
    committed = page.read_bytes().decode("utf-8")
    if run.stdout == committed:
        print(f"{page.name}: fresh, {run.stdout.count(chr(10))} lines")
        return
    nothing = "(the end)"
    lines = itertools.zip_longest(committed.splitlines(), run.stdout.splitlines(), fillvalue=nothing)
    for number, (old, new) in enumerate(lines, start=1):
        if old != new:
            sys.exit(f"{page}:{number}: stale\n  page:    {old}\n  program: {new}\nwrite it anew with: {program} > {page}")
    sys.exit(f"{page}: differs in line ends only; write it anew with: {program} > {page}")


if __name__ == "__main__":
    main()
