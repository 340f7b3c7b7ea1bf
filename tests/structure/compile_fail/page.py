"""The page units-mistakes: from a compiler's first error line to the mistake and its fix."""

from __future__ import annotations

import dataclasses
import pathlib
import re

from cases import Case
from compiler import NAMES

HEAD = """\
<!-- Made from tests/structure/compile_fail/cases.txt by `python3 tests/structure/compile_fail/run.py --page FILE`. -->

# From the compiler's message to the mistake

A program that mixes units does not compile. Look for the first line with `error:` in the table of your compiler; it leads to
the mistakes that produce it, each with its fix. Below, the same by topic.

- `Quantity<wire_bit<1>, second<-1>>` has the unit bit/s: each base unit with its power. `ten<9>`, `two<30>` and `hour<1>` are the
  scales of counts, which tell GB, GiB and hours apart. The namespaces `fabricost::`, `power::` and `boost::units::` and aliases in
  `{aka ...}` are left out, and long lines end in `...`.
- `[with Other = ...]` names what was given, `Powers` what is wanted.
- Numbers are those of the example. `quantity` and `si` are those of Boost.Units, and `BoostByte`, `BoostBit`, `BoostHour` and
  `BoostBytePerSecond` units of it.
- An error has at most 15 lines with its notes, except where a compiler lists functions of the standard library.
- Every pair of programs here is compiled by the tests: the first must fail and the second must pass.
"""


@dataclasses.dataclass
class Recorded:
    """The messages of one compiler, and its version."""

    label: str
    messages: dict[str, str]  # by the title of the case


def render(cases: list[Case], recorded: dict[str, Recorded]) -> str:
    out = [HEAD]
    for family, record in recorded.items():
        out += [f"## {NAMES[family]}", "", f"Messages of {record.label}.", "", *index(cases, record), ""]
    group = ""
    for case in cases:
        if case.group != group:
            group = case.group
            out += [f"## {group}", ""]
        out += [f"### {case.title}", ""]
        for family, record in recorded.items():
            if case.rejected:
                out.append(f"- {NAMES[family]}: `{record.messages.get(case.title, '')}`")
        verb = "instead of" if case.rejected else "compiles all the same:"
        out += [f"- {verb} `{shown(case.bad)}`", f"- write `{shown(case.good)}`", "", case.fix, ""]
    return "\n".join(out).rstrip() + "\n"


def index(cases: list[Case], record: Recorded) -> list[str]:
    by_message: dict[str, list[str]] = {}
    for case in cases:
        if case.rejected:
            by_message.setdefault(record.messages.get(case.title, ""), []).append(case.title)
    rows = ["| first error line | mistake |", "|---|---|"]
    for message in sorted(by_message):
        titles = "; ".join(f"[{title}](#{anchor(title)})" for title in by_message[message])
        rows.append(f"| `{message.replace('|', chr(92) + '|')}` | {titles} |")
    return rows


def shown(body: str) -> str:
    """The program without the call that only keeps the compiler from warning about an unused variable."""
    body = re.sub(r"^use\((.*)\);$", r"\1", body)
    return re.sub(r" use\(\w+\);$", "", body)


def anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def write(path: pathlib.Path, cases: list[Case], recorded: dict[str, Recorded]) -> None:
    path.write_text(render(cases, recorded), encoding="utf-8")
    print(f"{path}: {len(cases)} cases, messages of {' and '.join(r.label for r in recorded.values())}")
