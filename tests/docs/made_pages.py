#!/usr/bin/env python3
"""The pages of which git has the first lines alone are made, each as whole Markdown: headings, tables with equal rows, no number that is none.
Every page of docs/ that asks for something is given it, every cause that a rule names has its section.

    made_pages.py FABRICOST        programs that print pages are in the folder bin beside it

Exit status 77, with the reason, without PyYAML.
"""
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
WITH_PACKAGE = {"python", "headers", "notebooks"}  # docs.site makes them


def faults(text):
    """What is wrong with Markdown that a program made."""
    out = [] if re.search(r"(?m)^## ", text) else ["no section"]
    width = None
    for number, line in enumerate(re.sub(r"(?ms)^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text).splitlines(), 1):
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
        if cells and width and cells != width:
            out.append(f"line {number}: a row of {cells - 1} cells below one of {width - 1}")
        width = cells
        if cells and re.search(r"(?<![\w`])-?(?:nan|inf)\b", line):
            out.append(f"line {number}: {line}")
    return out


def main(tool):
    if importlib.util.find_spec("yaml") is None:
        print("skipped: pip install pyyaml")
        return 77
    import causes
    import stage
    made = stage.made_here(tool)
    asked = {name: path for path in (ROOT / "docs").rglob("*.md")
             for name in re.findall(r"(?m)^<!-- generated: ([\w-]+) -->$", path.read_text(encoding="utf-8"))}
    wrong = [f"{asked[name].relative_to(ROOT)} asks for {name}, which nothing makes" for name in asked.keys() - made.keys() - WITH_PACKAGE]
    wrong += [f"no page asks for {name}" for name in made.keys() - asked.keys()]
    texts = {name: make() for name, make in made.items()}
    wrong += [f"{name}: {fault}" for name, text in texts.items() for fault in faults(text)]
    files = causes.read()
    named = {row["cause"] for row in causes.rows(files) if "cause" in row}
    wrong += [f"causes: {cause} has no section" for cause in sorted(named) if f"## {cause}\n" not in texts["causes"]]
    for fault in wrong:
        print(fault, file=sys.stderr)
    print(f"{len(texts)} pages made, {sum(text.count(chr(10)) for text in texts.values()):,} lines")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
