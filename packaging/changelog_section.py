#!/usr/bin/env python3
"""Prints the section of CHANGELOG.md of a version.

    changelog_section.py VERSION

Exit status 1 when there is none, it is still "(unreleased)", or it has no "Predictions changed" (write "None." where nothing moved)."""
import pathlib
import re
import sys


def fault(text, version):
    """The fault of a release's section; None when there is none."""
    found = re.search(rf"^## {re.escape(version)}(?P<note>[^\n]*)\n(?P<body>.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        return f"CHANGELOG.md has no section \"## {version}\""
    if "unreleased" in found["note"]:
        return f"CHANGELOG.md: write the date for \"(unreleased)\" in \"## {version}{found['note']}\""
    if "Predictions changed" not in found["body"]:
        return (f"CHANGELOG.md: the section of {version} has no \"Predictions changed\"; "
                "write which, by how much, against which data, or None.")
    return None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    text = (pathlib.Path(__file__).resolve().parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
    if words := fault(text, sys.argv[1]):
        sys.exit(words)
    print(re.search(rf"^## {re.escape(sys.argv[1])}.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[0].rstrip())


if __name__ == "__main__":
    main()
