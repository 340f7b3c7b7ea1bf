#!/usr/bin/env python3
"""Compares a page with the output of its commands: a block that begins with `    $ fabricost ...` goes on with that command's output.

    page.py FABRICOST PAGE...            compare
    page.py FABRICOST PAGE... --write    write the outputs again
"""
import os
import re
import shlex
import subprocess
import sys

BLOCK = re.compile(r"(?m)^    \$ fabricost (.*)\n((?:(?:    .*)?\n)*?)(?=\n*(?:\S|    \$ |\Z))")


def indented(text):
    return "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())


def fresh(tool, page):
    def block(match):
        done = subprocess.run([tool, *shlex.split(match[1])], capture_output=True, text=True, timeout=60, env={**os.environ, "COLUMNS": "100"})
        assert done.returncode == 0, (match[1], done.stderr)
        return f"    $ fabricost {match[1]}\n{indented(done.stdout)}"
    text, blocks = BLOCK.subn(block, page)
    assert blocks > 0, "no command on the page"
    return text


if __name__ == "__main__":
    tool, pages, write = sys.argv[1], [a for a in sys.argv[2:] if a != "--write"], "--write" in sys.argv
    for path in pages:
        with open(path, encoding="utf-8") as file:
            page = file.read()
        now = fresh(tool, page)
        if write:
            with open(path, "w", encoding="utf-8") as file:
                file.write(now)
        elif now != page:
            sys.exit(f"{path} differs from what its commands print; write it again: page.py {tool} {path} --write")
    print("pages are fresh" if not write else "pages written")
