"""docs/units-mistakes.md: from a compiler's first error line to the mistake and its fix."""

from __future__ import annotations

import dataclasses
import difflib
import pathlib
import re

from cases import Case
from compiler import NAMES

COMMAND = "python3 tests/structure/compile_fail/run.py --page docs/units-mistakes.md"
HEAD = f"""\
<!-- Made by `{COMMAND}` from tests/structure/compile_fail/cases.txt. Edit that. -->

# From the compiler's message to the mistake

A program that mixes units does not compile. Look for the first line with `error:` in the table of your compiler; it leads to
the mistakes that produce it, each with its fix. Below, the same by topic.

- `Quantity<wire_bit<1>, second<-1>>` has the unit bit/s: each base unit with its power. `ten<9>`, `two<30>` and `hour<1>` are the
  scales of counts, which tell GB, GiB and hours apart. The namespaces `fabricost::` and `fabricost::power::` and aliases in
  `{{aka ...}}` are left out, and long lines end in `...`.
- `[with Other = ...]` names what was given, `Powers` what is wanted.
- Numbers are those of the example.
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


def parse(text: str) -> dict[str, Recorded]:
    """The labels and messages of a page, to keep those of a compiler that is not here."""
    recorded: dict[str, Recorded] = {}
    for family, name in NAMES.items():
        label = re.search(rf"(?m)^Messages of ({re.escape(name)} .*)\.$", text)
        if label:
            title, earlier = r"^### (.*)\n\n", rf"(?:- (?!{re.escape(name)}:).*\n)*"
            found = re.findall(rf"(?m){title}{earlier}- {re.escape(name)}: `(.*)`$", text)
            recorded[family] = Recorded(label[1], dict(found))
    return recorded


def merged(found: dict[str, Recorded], old: dict[str, Recorded]) -> dict[str, Recorded]:
    return {family: found.get(family) or old[family] for family in NAMES if family in found or family in old}


def write(path: pathlib.Path, cases: list[Case], found: dict[str, Recorded]) -> int:
    old = parse(path.read_text(encoding="utf-8")) if path.exists() else {}
    if not found and not old:
        print("no compiler, so no messages: nothing was written")
        return 1
    path.write_text(render(cases, merged(found, old)), encoding="utf-8")
    print(f"{path}: {len(cases)} cases, messages of {' and '.join(r.label for r in merged(found, old).values())}")
    return 0


def compare(path: pathlib.Path, cases: list[Case], found: dict[str, Recorded]) -> int:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    old = parse(text)
    same = {}
    for family, record in found.items():
        if family in old and old[family].label != record.label:
            print(f"messages not compared: the page has those of {old[family].label}, here is {record.label}")
        else:
            same[family] = record
    expected = render(cases, merged(same, old))
    if expected == text:
        print(f"{path.name} is fresh: {len(cases)} cases; messages compared: {', '.join(same) or 'none'}")
        return 0
    print(f"{path.name} is not what its cases make it. Run\n    {COMMAND}")
    changes = difflib.unified_diff(text.splitlines(), expected.splitlines(), "the page", "made now", lineterm="", n=1)
    print("\n".join(list(changes)[:40]))
    return 1
