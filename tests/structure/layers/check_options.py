#!/usr/bin/env python3
"""No text outside the command spells an option: a message names the field in angle brackets, and each interface spells it.

    check_options.py SOURCE_DIR

Reads the string literals of include/ and src/ but src/COMPONENT/cli. Excused: what a table of fields declares (`asks(...)`), options of other tools,
and command lines to type into a shell. Exit status 1 and a line for each fault."""

import pathlib
import re
import sys

LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
OTHERS = {"--showtopo", "--bufferSize", "--buffer", "--bidirectional", "--host", "--cpunodebind", "--membind", "--mca"}
LINES = re.compile(r"fabricost [a-z]+( [a-z]+)? --[a-z-]+( \.\.\. --json)?|srun --mpi")


def faults_of(text):
    """(line, option) of each literal that spells one; the words of a declaration count, its option does not."""
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        for literal in LITERAL.findall(LINES.sub("", code)):
            if re.fullmatch(r"--[\w-]+(,-\w)?", literal) or re.fullmatch(r"-\w,--[\w-]+", literal):
                continue  # an option's own name in a table
            for option in OPTION.findall(literal):
                if option not in OTHERS and not literal.startswith("--nodes="):
                    yield number, option


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    sources = [p for folder in ("include", "src") for p in sorted((root / folder).rglob("*.?pp")) if "/cli/" not in p.as_posix()]
    found = [f"{p.relative_to(root)}:{number}: spells {option}; name the field, <field>" for p in sources
             for number, option in faults_of(p.read_text(encoding="utf-8"))]
    print("\n".join(found) or f"{len(sources)} files, no option spelled outside the command")
    sys.exit(1 if found or len(sources) < 100 else 0)
