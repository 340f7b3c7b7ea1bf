"""Tables of what answers hold: numbers and words, and the few whole texts beside them.

A row is a question and, behind tabs, cells `path = value` of its answer; a question with many values has several rows. A question that ends
with [--json] is asked with and without --json; one without JSON has no cells. Words are compared exactly, numbers to TOLERANCE. A cell added by
hand, with any path, stays when the table is written again, and a question added without cells gets some.

--write keeps the paths that a question has in the table, and chooses for a new question

- of what is named as in DECISIONS the first three,
- of the numbers that are no whole numbers, hence computed, the first and, with less than three of those above, the last; numbers at the top
  of the answer come before those in its records; where there are none, the first three whole numbers, or else the first word,
- and every field (the last name of a path) that no other question has.

Of a list, and of a map under a name with `by_`, the first and the last entry can be chosen.
"""
import difflib
import math
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LINKS = {"data": ROOT / "data", "files": HERE / "files", "corpus": ROOT / "tests" / "robustness" / "fuzz" / "corpus"}
TOLERANCE = 1e-6
DECISIONS = {"algorithm", "protocol", "bottleneck", "verdict", "cause", "binding", "value", "after"}
LONGEST = 100
CELLS = 12  # in a row, so that a change shows as a line that can be read
NOTHING = ("0", "false", "null", "empty")
LONG_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[-+]?\d+)?|(?<![\w.])-?\d+e[-+]?\d+")


def plain(text, replaced=()):
    """Text without differences between runs and machines: (pattern, replacement) pairs, the folder of the sources, digits beyond the
    twelfth."""
    def rounded(match):
        digits = re.sub(r"e.*|\D", "", match[0]).lstrip("0")
        return f"{float(match[0]):.12g}" if len(digits) > 12 else match[0]
    for pattern, by in replaced:
        text = re.sub(pattern, by, text)
    return LONG_NUMBER.sub(rounded, text.replace(str(ROOT), "SOURCE"))


def leaves(value, path="", ends=False):
    """(path, value) of everything in an answer; with `ends`, of the first and last entry of lists only."""
    if isinstance(value, dict) and value:
        listed = re.search(r"by_\w*$", path)  # a map by names of machines, libraries or sizes
        entries = [(f'{path}["{key}"]' if listed else f"{path}.{key}" if path else key, one) for key, one in value.items()]
    elif isinstance(value, list) and value:
        listed, entries = True, [(f"{path}[{at}]", one) for at, one in enumerate(value)]
    else:
        yield path, text_of(value)
        return
    for place, one in entries[:1] + entries[1:][-1:] if ends and listed else entries:
        yield from leaves(one, place, ends)


def field_of(path):
    return re.sub(r'\["[^"]*"\]|\[\d+\]', "", path).split(".")[-1]


def text_of(value):
    """A value as it stands in the table."""
    if isinstance(value, bool) or value is None or value in ([], {}):
        return {True: "true", False: "false", None: "null"}[value] if not isinstance(value, (list, dict)) else "empty"
    if isinstance(value, (int, float)):
        return f"{value:.9g}"
    return plain(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n") or "empty"


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def agree(known, now):
    a, b = number(known), number(now)
    if a is None or b is None or math.isnan(a):
        return known == now
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-15)


def headline(answer):
    """The paths that a new question begins with."""
    ends = sorted(leaves(answer, ends=True), key=lambda leaf: len(re.findall(r"[.\[]", leaf[0])))
    short = [path for path, text in ends if len(text) <= LONGEST]
    computed = [path for path, text in ends if (number(text) or 0) % 1]
    whole = [path for path, text in ends if number(text)]
    decisions = [path for path in short if path.split(".")[-1] in DECISIONS][:3]
    return list(dict.fromkeys(decisions + (computed[:1] + ([] if decisions[2:] else computed[-1:]) or whole[:3] or short[:1])))


def paths_of(answers, rows):
    """{question: paths to keep}: those in the table, headlines of new questions, and fields that no question has in it."""
    paths = {question: list(rows.get(question) or headline(answer)) for question, answer in answers.items()}
    seen = {field_of(path) for of in [*rows.values(), *paths.values()] for path in of}
    for left_out in (NOTHING, ()):  # a value that says something shows a field best
        for question, answer in answers.items():
            for path, text in leaves(answer, ends=True):
                if field_of(path) not in seen and text not in left_out and len(text) <= LONGEST:
                    seen.add(field_of(path))
                    paths[question].append(path)
    return paths


BOTH = " [--json]"


def read(path):
    """{question as it stands in the table: {path: value}}."""
    rows = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        question, *cells = line.split("\t")
        of = rows.setdefault(question, {})
        for place, value in (cell.split(" = ", 1) for cell in cells):
            assert place not in of, f"{path.name}: twice: {question}: {place}"
            of[place] = value
    return rows


def asked(question):
    """The command lines of a question of the table."""
    return [question.removesuffix(BOTH), question.replace(BOTH, " --json")] if question.endswith(BOTH) else [question]


def write(path, rows):
    out = []
    for question, of in rows.items():
        cells = [f"{place} = {value}" for place, value in of.items()]
        out += ["\t".join([question, *cells[at:at + CELLS]]) + "\n" for at in range(0, len(cells), CELLS)] or [question + "\n"]
    path.write_text("".join(out), encoding="utf-8")


def compare(table, answers, written):
    """What differs of {command line: answer in JSON} from the table, as lines. Writes the table instead when told to."""
    rows = read(table)
    now = {question: dict(leaves(answers[asked(question)[-1]])) for question in rows if asked(question)[-1] in answers}
    if written:
        paths = paths_of({question: answers[asked(question)[-1]] for question in now}, rows)
        for question, values in now.items():
            kept = dict.fromkeys(path for path in values if path in paths[question])
            rows[question] = {path: values[path] for path in kept}
        write(table, rows)
        return []
    out = []
    for question, values in now.items():
        if not rows[question]:
            out.append(f"{question}: has no values in {table.name} yet")
        for path, value in rows[question].items():
            if not agree(value, values.get(path, "gone")):
                out.append(f"{question}: {path}: was {value}, is {values.get(path, 'gone')}")
    return out


def compare_refusals(table, refusals, questions, written):
    """The same of {question: what it is refused with}, a row each."""
    rows = dict(line.split("\t") for line in table.read_text(encoding="utf-8").splitlines()) if table.exists() else {}
    if written:
        rows.update(refusals)
        table.write_text("".join(f"{question}\t{rows[question]}\n" for question in questions if question in rows), encoding="utf-8")
    out = [f"{question}: is in {table.name} but no longer asked" for question in rows if question not in questions and not written]
    return out + [f"{question}: was {rows.get(question, 'no refusal')}, is {now}" for question, now in refusals.items()
                  if rows.get(question) != now]


def difference(title, before, after, *names):
    """How a text changed, as lines."""
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), *(f"{name}: {title}" for name in names), n=2, lineterm=""))


def report(changed, ran, what, written):
    """Prints what changed, and how it is written again; the exit status."""
    print("\n".join(changed), end="\n\n" if changed else "")
    print(f"{ran} {what}, " + ("written" if written else f"{len(changed)} differences" if changed else "all as in the tables"))
    if changed:
        path = f"PYTHONPATH={os.environ['PYTHONPATH']} " if os.environ.get("PYTHONPATH") else ""
        print(f"Users' programs rely on these. If a change is meant, write them again and say in CHANGELOG.md what changed and for whom:\n"
              f"{path}{sys.executable} {' '.join(sys.argv)} --write")
    return 1 if changed else 0
