#!/usr/bin/env python3
"""Compares the public names of the Python package, with their arguments and members, with those kept in python-names.txt.

    python_names.py            compare
    python_names.py --write    keep what they are now

Its numbers and refusals are the command's: tests/python/test_same_as_command.py, test_arguments.py. Exit status 77 without numpy."""
import enum
import inspect
import sys

import table

try:
    import fabricost as fc
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

NAMES = table.HERE / "python-names.txt"


def told(name, value):
    """A function with its arguments, a class with its members, another with its value."""
    if isinstance(value, type):
        members = " ".join(told(member, getattr(value, member)) for member in sorted(vars(value)) if not member.startswith("_"))
        return f"{name} ({value.__mro__[1].__name__}): {members}".rstrip()
    if inspect.isroutine(value):
        try:
            return f"{name}{inspect.signature(value)}"
        except ValueError:
            return f"{name}(...)"
    return name if isinstance(value, (property, enum.Enum)) or inspect.ismodule(value) else f"{name} = {value}"


def main():
    now = "".join(told(name, getattr(fc, name)) + "\n" for name in sorted(set(fc.__all__) | {n for n in dir(fc) if not n.startswith("_")}))
    write = sys.argv[1:] == ["--write"]
    if write:
        NAMES.write_text(now, encoding="utf-8")
    return table.report(table.difference(NAMES.name, NAMES.read_text(encoding="utf-8"), now, "was", "is"), now.count("\n"), "names", write)


if __name__ == "__main__":
    sys.exit(main())
