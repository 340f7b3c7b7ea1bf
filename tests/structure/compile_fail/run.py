#!/usr/bin/env python3
"""Checks that the programs of cases.txt are rejected by g++ and clang++, and their corrected twins accepted.

    run.py                    every case, with each compiler that is installed
    run.py --only clang       with one of them; exit status 77 says that it is not there
    run.py --page FILE        also writes the page units-mistakes from the cases and the compilers' messages

A BAD line has to fail without any warning option and for another reason than a misspelt name; a GOOD line has to
compile with all warnings as errors.
Needs nothing but Python 3.9 and the compilers.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # a test run leaves no files in the source tree

from cases import Case, CasesError, read_cases  # noqa: E402
from compiler import MISSPELT, NAMES, Compiler, Unavailable  # noqa: E402
import page  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
LONGEST = 15  # lines of an error with its notes


def judge(compiler: Compiler, case: Case) -> tuple[list[str], str, int]:
    """The faults of the case itself, the first error line of its bad program, and the lines of its longest error."""
    problems = []
    bad = compiler.compile(case.bad, strict=False)
    if case.rejected and bad.ok:
        problems.append(f"BAD compiles: {case.bad}")
    elif case.rejected and MISSPELT.search(bad.message):
        problems.append(f"BAD fails for a misspelt name: {case.bad}\n      {bad.message}")
    elif case.rejected and bad.lines > LONGEST:
        problems.append(f"BAD: a message of {bad.lines} lines, at most {LONGEST}: {case.bad}")
    elif not case.rejected and not bad.ok:
        problems.append(f"ACCEPTED is rejected by now, call it BAD: {case.bad}\n      {bad.message}")
    good = compiler.compile(case.good, strict=True)
    if not good.ok:
        problems.append(f"GOOD does not compile: {case.good}\n      {good.message}")
    return problems, bad.message, bad.lines


def check_cases(compiler: Compiler, cases: list[Case], jobs: int) -> tuple[bool, dict[str, str]]:
    """Whether every case is as it should be, and the messages of those that are rejected."""
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        judged = list(pool.map(lambda case: judge(compiler, case), cases))
    verdicts = [problems for problems, _, _ in judged]
    for case, problems in zip(cases, verdicts):
        for problem in problems:
            print(f"  cases.txt:{case.line}: {case.title}\n    {problem}")

    def count(kind: str) -> int:
        return sum(p.startswith(kind) for problems in verdicts for p in problems)

    bad = sum(case.rejected for case in cases)
    gaps = len(cases) - bad
    print(
        f"{compiler.label}: {bad - count('BAD')} of {bad} mistakes rejected, "
        f"{len(cases) - count('GOOD')} of {len(cases)} corrections accepted, "
        f"{gaps - count('ACCEPTED')} of {gaps} known gaps still open; "
        f"longest message {max((lines for _, _, lines in judged), default=0)} lines; "
        f"{time.monotonic() - start:.1f} s"
    )
    return not any(verdicts), {case.title: message for case, (_, message, _) in zip(cases, judged) if case.rejected}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=NAMES, help="use this compiler only")
    parser.add_argument("--gcc", metavar="PROGRAM", help="g++ (found on the PATH when left out)")
    parser.add_argument("--clang", metavar="PROGRAM", help="clang++ (found on the PATH when left out)")
    include = HERE.parents[2] / "include"
    parser.add_argument("--include", type=pathlib.Path, default=include, metavar="DIR", help="folder of fabricost/")
    parser.add_argument("--isystem", action="append", default=[], metavar="DIR", help="further include folder (Boost)")
    parser.add_argument("--cases", type=pathlib.Path, default=HERE / "cases.txt")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--page", type=pathlib.Path, metavar="FILE", help="write the page")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    try:
        cases = read_cases(args.cases)
    except CasesError as error:
        print(error)
        return 1
    with tempfile.TemporaryDirectory(prefix="compile_fail.") as work:
        compilers = []
        for family in [args.only] if args.only else NAMES:
            try:
                path = getattr(args, family)
                compilers.append(Compiler(family, path, args.include, args.isystem, pathlib.Path(work)))
            except Unavailable as reason:
                print(f"skipped: {NAMES[family]}: {reason}")
        if not compilers:
            return SKIPPED
        checked = {compiler: check_cases(compiler, cases, args.jobs) for compiler in compilers}
        ok = all(ok for ok, _ in checked.values())
        if args.page and ok:
            page.write(args.page, cases, {c.family: page.Recorded(c.label, messages) for c, (_, messages) in checked.items()})
        return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
