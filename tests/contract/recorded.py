"""A recording of printed text, one file per group, small enough to read: kept, compared, and written again.

A group's file is one entry after another. An entry begins with its title (`$ ` and the command or call) and goes on with its body, each
line behind two blanks. A body of more than LINES lines keeps its first and last ones; of those between, and of what a line holds beyond
WIDTH characters, there are hashes, every so many lines, so that a difference still has a place.

Numbers are kept to 12 significant digits: another compiler or mathematics library may change the last of 17. What differs between runs or
machines (times taken, the version, folders) is replaced.
"""
import difflib
import hashlib
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDS = pathlib.Path(__file__).resolve().parent / "recorded"
LINES, FIRST, LAST, STRIDE, WIDTH = 80, 24, 4, 24, 240
LONG_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[-+]?\d+)?|(?<![\w.])-?\d+e[-+]?\d+")


def _rounded(match):
    digits = re.sub(r"e.*|\D", "", match[0]).lstrip("0")
    return f"{float(match[0]):.12g}" if len(digits) > 12 else match[0]


def plain(text, replaced=()):
    """Text without differences between runs: (pattern, replacement) pairs, the folder of the sources, digits beyond the twelfth."""
    for pattern, by in replaced:
        text = re.sub(pattern, by, text)
    return LONG_NUMBER.sub(_rounded, text.replace(str(ROOT), "SOURCE"))


def _hash(text):
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _short(line):
    return line if len(line) <= WIDTH else f"{line[:WIDTH - 60]} ... {len(line)} characters, SHA-256 {_hash(line)}"


def body(text):
    """The lines that are kept of a text."""
    lines = text.splitlines()
    if text and not text.endswith("\n"):
        lines.append("(no newline at the end)")
    if len(lines) <= LINES:
        return [_short(line) for line in lines]
    middle = lines[FIRST:-LAST]
    hashes = [f"... lines {FIRST + at + 1} to {FIRST + at + len(part)}, SHA-256 {_hash(chr(10).join(part))}"
              for at in range(0, len(middle), STRIDE) for part in [middle[at:at + STRIDE]]]
    return [*map(_short, lines[:FIRST]), *hashes, *map(_short, lines[-LAST:])]


def entry(title, lines):
    return "\n".join(["$ " + title, *(("  " + line).rstrip(" ") for line in lines)]) + "\n"


def entries(path):
    """The entries of a group's file by title."""
    if not path.exists():
        return {}
    parts = re.split(r"(?m)^(?=\$ )", path.read_text(encoding="utf-8", errors="surrogateescape"))
    return {part.splitlines()[0][2:]: part for part in parts if part}


def show(title, before, after, *names):
    """Prints how an entry changed."""
    titles = [f"{name}: {title}" for name in names]
    print("".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), *titles, n=2)), end="")


def compare(group, now, write, diff, skipped=()):
    """Titles of the group that differ from the record; `now` is {title: entry} in order. Writes the record again when told to."""
    path = RECORDS / f"{group}.txt"
    before = entries(path)
    if write:
        kept = {title: before[title] for title in skipped if title in before}
        RECORDS.mkdir(exist_ok=True)
        path.write_text("".join({**kept, **now}.values()), encoding="utf-8", errors="surrogateescape")
        return []
    changed = [title for title, text in now.items() if before.get(title) != text]
    gone = [title for title in before if title not in now and title not in skipped]
    for title in changed + gone:
        known = before.get(title, "")
        print(f"{group}: {'changed' if title in now and known else 'not recorded' if title in now else 'no longer in the list'}: {title}")
        if diff:
            show(title, known, now.get(title, ""), "recorded", "now")
    return changed + gone


def advise(arguments):
    """Says what to do about changes, with the arguments that name the groups in which they are."""
    path = f"PYTHONPATH={os.environ['PYTHONPATH']} " if os.environ.get("PYTHONPATH") else ""
    print(f"See how: {path}{sys.executable} {sys.argv[0]} {arguments} --diff\n"
          "A new algorithm, transport or machine stands in lists of names. Users' programs rely on what is recorded: if a change is\n"
          "meant, record it again with --write in place of --diff, and say in CHANGELOG.md what changed and for whom.")


def prove_that_it_can_fail():
    """A changed line is seen wherever it stands, a changed number down to its twelfth digit and no further."""
    lines = [f"line {number}" for number in range(10 * LINES)]
    for at in (0, FIRST, 5 * LINES, len(lines) - 1):
        other = lines[:at] + ["another"] + lines[at + 1:]
        assert body("\n".join(other)) != body("\n".join(lines)) and len(body("\n".join(other))) < LINES, at
    assert body("x" * 2 * WIDTH) != body("x" * (2 * WIDTH - 1) + "y") and body("end\n") != body("end")
    assert plain("1.00000000000049 of /a", [("/a", "A")]) == "1 of A" and plain("1.00000000049") != plain("1.00000000048")
