#!/usr/bin/env python3
"""No text outside the command spells an option: a message names the field in angle brackets, and each interface spells it. What a refusal names
so is a field.

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


NAMED = re.compile(r"<([a-z_][a-z_0-9]*)(?:=[^>]*)?>")
FIELD = re.compile(r'asks\(\s*&\w+::(\w+),\s*"([a-z_0-9]*)"')  # without a name of its own it goes by its member's


def unknown_fields(texts):
    """(place, name) of each <name> in files that refuse which is no field of any question."""
    fields = {name or member for text in texts.values() for member, name in FIELD.findall(text)}
    for place, text in texts.items():
        if "Refusal(" not in text:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if line.lstrip().startswith(("//", "#include")):
                continue
            for name in (n for literal in LITERAL.findall(line) for n in NAMED.findall(literal)):
                if name not in fields:
                    yield f"{place}:{number}", name


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    sources = [p for folder in ("include", "src") for p in sorted((root / folder).rglob("*.?pp")) if "/cli/" not in p.as_posix()]
    found = [f"{p.relative_to(root)}:{number}: spells {option}; name the field, <field>" for p in sources
             for number, option in faults_of(p.read_text(encoding="utf-8"))]
    texts = {p.relative_to(root): p.read_text(encoding="utf-8") for p in sources}
    found += [f"{place}: <{name}> is no field" for place, name in unknown_fields(texts)]
    print("\n".join(found) or f"{len(sources)} files, no option spelled outside the command")
    sys.exit(1 if found or len(sources) < 100 else 0)
