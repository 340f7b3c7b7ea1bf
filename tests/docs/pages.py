#!/usr/bin/env python3
"""Compares the README and the pages of the site with the output of their commands and with tables of fields, and runs their Python examples.

    pages.py FABRICOST [PAGE...]            compare; default: README.md and all pages below docs/ with a block that begins `    $ fabricost`,
                                            or a table of fields
    pages.py FABRICOST [PAGE...] --write    write the outputs again

A page runs in an empty folder of its own with `data` linked into it, so that what one command writes the next can read. In a block with
lines `    ...`, and in the README, some of the output is left out: the others must stand in it in that order, and --write shows the lines of the same words again.
A block `    $ cat FILE` shows a file that the reader writes: it is put there before the commands run. A command that cannot answer (exit
status 2) is shown with its message. Examples that begin with `>>>` are run as doctests when the package can be imported and has what the
page says in a line `<!-- needs fabricost.NAME -->` or `<!-- needs MODULE -->`.

A table between `<!-- fields: NAME -->` and `<!-- end of fields -->` is what bin/fields_page beside the command prints under that name.
"""
import doctest
import importlib
import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
import fields  # noqa: E402

BLOCK = re.compile(r"(?m)^    \$ fabricost (.*)\n((?:(?:    .*)?\n)*?)(?=\n*(?:\S|    \$ |\Z))")
CAT = re.compile(BLOCK.pattern.replace(r"\$ fabricost (.*)", r"\$ cat (\S+)"))
HELD = re.compile(r"(?m)^    \$ fabricost |^ *>>> |^<!-- fields: ")
FIELDS = re.compile(r"(?m)^<!-- fields: (.*) -->\n(?:.*\n)*?<!-- end of fields -->$")
SEARCHED = re.compile(r"; \d+\.\d+ s$", re.M)  # how long a search took is another time each time


def lay_out(text, folder, data=ROOT / "data"):
    """The files a page shows, in its folder."""
    (folder / "data").symlink_to(data)
    for match in CAT.finditer(text):
        name = pathlib.PurePosixPath(match[1])
        assert not name.is_absolute() and ".." not in name.parts, match[1]
        lines = [line[4:] for line in match[2].rstrip("\n").split("\n")]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def indented(text):
    return "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())


def missing(quoted, output):
    """The first quoted line that the output lacks at its place, or None; `...` marks lines left out."""
    lines = iter(output.splitlines())
    for line in quoted.splitlines():
        line = line[4:].rstrip()
        if line != "..." and not any(line == printed.rstrip() for printed in lines):
            return line
    return None


def words(line):
    return re.sub(r"[-+.,\d]+", "", line).split()


def shown_again(quoted, output):
    """A block with `...` as the output is now, line for line: the same ones, or the next of the same words; None where a line has no such."""
    left, out = output.splitlines(), []
    for line in (line[4:] for line in quoted.splitlines()):
        if line.strip() != "...":
            same = [at for at, printed in enumerate(left) if printed.rstrip() == line.rstrip()]
            alike = same or [at for at, printed in enumerate(left) if words(printed) == words(line)]
            if not alike:
                return None
            line, left = left[alike[0]], left[alike[0] + 1:]
        out.append(line)
    return indented("\n".join(out))


KNOWN = {}  # answers where nothing but data was read and nothing written, by command line: pages show some commands again


def answered(tool, line, folder):
    alone = os.listdir(folder) == ["data"]
    if alone and line in KNOWN:
        return KNOWN[line]
    done = subprocess.run([tool, *shlex.split(line)], capture_output=True, text=True, timeout=120, cwd=folder,
                          env={**os.environ, "FABRICOST_DATA": "data", "COLUMNS": "100"})  # so that faults in it have the same path everywhere
    if alone and os.listdir(folder) == ["data"]:
        KNOWN[line] = done
    return done


def fresh(tool, path, text, folder):
    """The page with the outputs its commands print now."""
    def block(match):
        done = answered(tool, match[1], folder)
        assert done.returncode in (0, 2), (match[1], done.returncode, done.stderr)
        printed = done.stdout if done.returncode == 0 else done.stderr
        if "    ...\n" in match[2] or path == ROOT / "README.md":
            line = missing(SEARCHED.sub("", match[2]), SEARCHED.sub("", printed))
            if line is None:
                return match[0]
            if again := shown_again(match[2], printed):
                return f"    $ fabricost {match[1]}\n{again}"
            print(f"fabricost {match[1]} does not print\n  {line}", file=sys.stderr)
        return f"    $ fabricost {match[1]}\n{indented(printed)}"
    return BLOCK.sub(block, text)


def with_tables(text, known):
    """The page with its tables of fields as they are now. KeyError for a name there is not."""
    return FIELDS.sub(lambda match: f"<!-- fields: {match[1]} -->\n\n{known[match[1]]}\n<!-- end of fields -->", text)


def first_difference(page, now):
    for old, new in zip(page.splitlines(), now.splitlines()):
        if old != new:
            return f"  page: {old}\n  now:  {new}"
    return "  one is longer than the other"


def python_faults(path, folder):
    """The number of failed examples of a page, or None when the package, or the part that the page needs, is missing."""
    text = path.read_text(encoding="utf-8")
    if ">>>" not in text:
        return 0
    if importlib.util.find_spec("fabricost") is None:
        return None
    for name in re.findall(r"(?m)^<!-- needs fabricost\.(\w+) -->$", text):
        if not hasattr(importlib.import_module("fabricost"), name):
            return None
    if any(importlib.util.find_spec(name) is None for name in re.findall(r"(?m)^<!-- needs (\w+) -->$", text)):
        return None
    here = os.getcwd()
    os.chdir(folder)
    try:
        return doctest.testfile(str(path), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE).failed
    finally:
        os.chdir(here)


def main(arguments):
    write = "--write" in arguments
    tool, *pages = [a for a in arguments if a != "--write"]
    tool = str(pathlib.Path(tool).resolve())
    paths = [pathlib.Path(p).resolve() for p in pages] or [
        p for p in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if HELD.search(p.read_text(encoding="utf-8"))]
    known = fields.tables(pathlib.Path(tool).parent / "bin/fields_page")
    faults = commands = 0
    for path in paths:
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            text = path.read_text(encoding="utf-8")
            lay_out(text, folder)
            now = with_tables(fresh(tool, path, text, folder), known)
            commands += len(BLOCK.findall(text))
            if write:
                path.write_text(now, encoding="utf-8")
            elif SEARCHED.sub("", now) != SEARCHED.sub("", text):
                faults += 1
                name = path.relative_to(ROOT)
                print(f"{name} differs from what its commands and fields say; write it again: "
                      f"python3 tests/docs/pages.py FABRICOST {name} --write\n{first_difference(text, now)}", file=sys.stderr)
            failed = python_faults(path, folder)
            if failed is None:
                print(f"{path.relative_to(ROOT)}: Python examples not run: the package, or what they need of it, is not built here")
            else:
                faults += failed
    if not write and commands < 20 and not pages:
        print("fewer than 20 commands on all pages: were they found?", file=sys.stderr)
        return 1
    print(f"{len(paths)} pages, {commands} commands" + (", written" if write else "" if faults else ", fresh"))
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
