#!/usr/bin/env python3
"""Every source by itself, as a plain build compiles it, warnings as errors. Other builds compile several files at a time, which hides what a file
does not include.

    alone.py BUILD PART OF    BUILD: configured with CMAKE_EXPORT_COMPILE_COMMANDS; the PART-th OF so many parts of its sources
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

folder, part, parts = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
commands = {}
for entry in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8")):
    words = shlex.split(entry["command"])
    commands.setdefault(entry["file"], [*words[: words.index("-o")], "-O0", "-fsyntax-only", entry["file"]])
sources = sorted(file for file in commands if file.endswith(".cpp"))[part - 1 :: parts]


def compiled(source):
    """(source, what the compiler says; nothing where it has no fault)."""
    run = subprocess.run(commands[source], cwd=folder, capture_output=True, text=True, check=False)
    return source, run.stderr if run.returncode else ""


with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    faults = [(source, text) for source, text in pool.map(compiled, sources) if text]
for source, text in faults:
    print(f"{source}:\n{text}", file=sys.stderr)
print(f"{len(sources)} sources compiled alone, {len(faults)} with a fault")
sys.exit(bool(faults))
