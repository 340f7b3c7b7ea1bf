"""Reads cases.txt; the format is explained at its top."""

from __future__ import annotations

import dataclasses
import pathlib
import re

KEYS = {"FIX": "fix", "BAD": "bad", "GOOD": "good", "ACCEPTED": "bad"}


@dataclasses.dataclass
class Case:
    title: str
    group: str
    line: int
    fix: str = ""
    bad: str = ""
    good: str = ""
    rejected: bool = True  # False: `bad` is wrong, but compiles


class CasesError(Exception):
    """A mistake in cases.txt, with its line."""


def read_cases(path: pathlib.Path) -> list[Case]:
    cases: list[Case] = []
    group = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        where = f"{path.name}:{number}"
        if not line.strip() or line.startswith("//"):
            continue
        if line.startswith("## "):
            group = line[3:].strip()
        elif line.startswith("# "):
            cases.append(Case(line[2:].strip(), group, number))
        else:
            entry = re.fullmatch(r"(FIX|BAD|GOOD|ACCEPTED): (.+)", line)
            if not entry or not cases:
                raise CasesError(f"{where}: neither a comment, a title nor FIX:, BAD:, GOOD:, ACCEPTED: of a case")
            field = KEYS[entry[1]]
            if getattr(cases[-1], field):
                raise CasesError(f"{where}: second {entry[1]} of '{cases[-1].title}'; start a new case with '# '")
            setattr(cases[-1], field, entry[2].strip())
            cases[-1].rejected &= entry[1] != "ACCEPTED"
    check(cases, path.name)
    return cases


def check(cases: list[Case], name: str) -> None:
    if not any(case.rejected for case in cases):
        raise CasesError(f"{name}: no case with a BAD line, so nothing would be checked")
    seen: set[str] = set()
    for case in cases:
        where = f"{name}:{case.line}: '{case.title}'"
        if not (case.fix and case.bad and case.good):
            raise CasesError(f"{where} lacks FIX, GOOD, or one of BAD and ACCEPTED")
        if case.bad == case.good:
            raise CasesError(f"{where}: GOOD is the same program as the bad one")
        if case.title in seen:
            raise CasesError(f"{where} stands there twice; the page needs different titles")
        seen.add(case.title)
