#!/usr/bin/env python3
"""Tests of files that outsiders read or machines run: workflows call scripts that exist, THIRD_PARTY.md and the recipes name each library
in use.

    project_files.py SOURCE"""
import json
import os
import pathlib
import re
import subprocess
import sys

CALLED = re.compile(r"(?<![\w/@.])(?:\./)?((?:docs|packaging|tests|examples)/[\w./-]+\.(?:sh|py)|quickstart)\b")


def faults(source):
    out, calls = [], 0
    files = [*source.glob(".github/workflows/*.yml"), source / ".pre-commit-config.yaml", source / "pyproject.toml"]
    for path in files:
        for name in CALLED.findall(path.read_text(encoding="utf-8")):
            calls += 1
            if not (source / name).is_file():
                out.append(f"{path.relative_to(source)} calls {name}, which is not there")
            elif not name.endswith(".py") and not os.access(source / name, os.X_OK):
                out.append(f"{path.relative_to(source)} calls {name}, which cannot be executed")
    if calls < 10:
        out.append(f"only {calls} calls found in {len(files)} files")
    def letters(text):
        return re.sub(r"[^a-z0-9]", "", text.lower())
    third = (source / "THIRD_PARTY.md").read_text(encoding="utf-8")
    loaded = {letters(name) for name in re.findall(r"^\| \[([\w-]+)\].*\| loads \|", third, re.MULTILINE)}
    notices, recipe, container = (letters((source / name).read_text(encoding="utf-8"))
                                  for name in ("THIRD_PARTY.md", "packaging/conda/recipe.yaml", "packaging/container/Containerfile"))
    manifest = json.loads((source / "packaging/vcpkg/fabricost/vcpkg.json").read_text(encoding="utf-8"))
    needed = [*manifest["dependencies"], *manifest["features"]["tool"]["dependencies"]]
    for library in [one for one in needed if isinstance(one, str)] + ["pybind11"]:
        word = letters(library.removesuffix("3"))
        for name, text, needs in (("THIRD_PARTY.md", notices, True), ("packaging/conda/recipe.yaml", recipe, True),
                                  ("packaging/container/Containerfile", container, word in loaded)):
            if needs and word not in text:
                out.append(f"{name} does not name {library}")
    if len(loaded) < 6:
        out.append(f"THIRD_PARTY.md: only {sorted(loaded)} are said to be loaded")
    listed = subprocess.run([sys.executable, source / "packaging/sbom.py"], capture_output=True, text=True, check=True).stdout
    if missing := loaded - {letters(one["name"]) for one in json.loads(listed)["components"]}:
        out.append(f"packaging/sbom.py does not find {sorted(missing)} among the libraries of wheels")
    return out + without_notice(third)


def without_notice(text):
    """Libraries of the table whose copyright and licence text do not stand below it, as these licences ask."""
    table, notices = text.split("## Notices")
    sections = {part.split("\n")[0]: part for part in notices.split("\n### ")}
    out = []
    for name, licence in re.findall(r"^\| \[([\w/-]+)\]\([^)]*\) \| ([\w.-]+) \|", table, re.MULTILINE):
        if licence.startswith("MPL"):  # asks for the address of the sources
            continue
        if not re.search(rf"^- {re.escape(name)}: Copyright .*(?:.|\n)*^> \S", sections.get(licence, ""), re.MULTILINE):
            out.append(f"THIRD_PARTY.md: the notices of {licence} lack {name}, or the licence's text")
    return out


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = faults(pathlib.Path(sys.argv[1]))
    print("\n".join(found) if found else "workflows call what exists, notices name every library")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
