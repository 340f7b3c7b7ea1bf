#!/usr/bin/env python3
"""docs/causes.md: what each cause of diagnose is, how to be sure, what helps, and which rules speak of it, from data/diagnosis.

    causes.py            exit status 1 and the first difference where the page is not what the data say
    causes.py --write    write it
"""
import pathlib
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/causes.md"
HEAD = """# Causes that diagnose names

`fabricost diagnose` names causes by these words and links to them. Each has what it is, how to be sure, and what its
rules say: what is seen, what to try, and where it was reported. The rules are rows of `data/diagnosis`
([format](spec-format.md#diagnosisnameyaml)). `python3 tests/docs/causes.py --write` writes this page from them.
"""


def flat(rule, above=None):
    """The rows of a rule, each with what stands above it."""
    row = {**(above or {}), **{key: value for key, value in rule.items() if key != "first_of"}}
    if "first_of" not in rule:
        return [row]
    return [one for each in rule["first_of"] for one in flat(each, row)]


def rows(files):
    for tree in files:
        for key in ("failures", "rules"):
            for rule in tree.get(key, ()):
                yield from flat(rule)


def seen_as(row):
    """The row's account of what happened, in a few words; empty: the name of its cause says it."""
    return row.get("what", "")


def code(text):
    return text.replace("\n", " ").replace("*", "\\*").replace("<", "\\<")


def page():
    files = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "data/diagnosis").glob("*.yaml"))]
    files.sort(key=lambda tree: tree["order"])
    words = next(tree["causes"] for tree in files if "causes" in tree)
    every = list(rows(files))
    settings = [one for tree in files for one in tree.get("settings", {}).get("variables", ())]
    out = [HEAD]
    for cause, text in words.items():
        out.append(f"\n## {cause}\n\n{text['is']}\n\n**How to be sure.** {text['sure']}\n")
        told = set()
        for row in every:
            if row.get("cause") != cause or row.get("as") in ("defence", "expectation", "last_resort"):
                continue
            what, remedy = seen_as(row), row.get("remedy", "")
            if (what, remedy) in told or not remedy or "{" in remedy:
                continue
            told.add((what, remedy))
            source = f" ({row['source']})" if row.get("source") else ""
            out.append(f"- {code(what) + ': ' if what else ''}{code(remedy)}{code(source)}\n" if len(told) > 1 else
                       f"\n**What helps**\n\n- {code(what) + ': ' if what else ''}{code(remedy)}{code(source)}\n")
        variables = sorted({one["variable"] for one in settings if one["cause"] == cause})
        if variables:
            out.append(f"\nVariables that cause it: {', '.join(f'`{one}`' for one in variables)}.\n")
    return "".join(out)


def main():
    now = page()
    if "--write" in sys.argv:
        PAGE.write_text(now, encoding="utf-8")
        return 0
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if old == now:
        print("docs/causes.md is what the data say")
        return 0
    for before, after in zip(old.splitlines() + ["(end)"], now.splitlines() + ["(end)"]):
        if before != after:
            print(f"docs/causes.md is stale: python3 tests/docs/causes.py --write\n  page: {before}\n  now:  {after}")
            break
    return 1


if __name__ == "__main__":
    sys.exit(main())
