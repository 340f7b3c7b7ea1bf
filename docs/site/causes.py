"""The causes of diagnose: what each is, how to be sure, what helps, and which rules speak of it, from data/diagnosis."""
import pathlib

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


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


def plain(text):
    """Text of a rule on one line, nothing of it markup."""
    return text.replace("\n", " ").replace("*", "\\*").replace("<", "\\<")


def read():
    """The files of rules in their order."""
    files = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "data/diagnosis").glob("*.yaml"))]
    return sorted(files, key=lambda tree: tree["order"])


def names(files):
    """{cause: its words}, in their order."""
    return next(tree["causes"] for tree in files if "causes" in tree)


def page():
    """Markdown: a section a cause."""
    files = read()
    every = list(rows(files))
    settings = [one for tree in files for one in tree.get("settings", {}).get("variables", ())]
    out = []
    for cause, text in names(files).items():
        out.append(f"\n## {cause}\n\n{text['is']}\n\n**How to be sure.** {text['sure']}\n")
        told = set()
        for row in every:
            if row.get("cause") != cause or row.get("as") in ("defence", "expectation", "last_resort"):
                continue
            what, remedy = row.get("what", ""), row.get("remedy", "")
            if (what, remedy) in told or not remedy or "{" in remedy:
                continue
            if not told:
                out.append("\n**What helps**\n\n")
            told.add((what, remedy))
            source = f" ({row['source']})" if row.get("source") else ""
            out.append(plain(f"- {what + ': ' if what else ''}{remedy}{source}") + "\n")
        variables = sorted({one["variable"] for one in settings if one["cause"] == cause})
        if variables:
            out.append(f"\nVariables that cause it: {', '.join(f'`{one}`' for one in variables)}.\n")
    return "".join(out).lstrip("\n")
