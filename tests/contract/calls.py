#!/usr/bin/env python3
"""Compares the Python package with what is kept of its answers: numbers, exceptions, and the public names with their arguments.

    calls.py [GROUP...]            compare; without groups all of them
    calls.py [GROUP...] --write    keep what it answers now

calls/GROUP.txt lists expressions, one a line; `name = ` before one keeps its value for the lines below. They know fc, np, pd, pickle, copy,
pathlib; command(words), the status and stderr of `fabricost report`. They run in a folder with links to `data`, `files` (beside this
script) and `corpus` (tests/robustness/fuzz/corpus). Needs numpy and pandas, else the exit status is 77.

    python-numbers.tsv     values in their answers, a record's behind the name of its type (table.py says which values)
    python-refusals.tsv    expressions that raise, the exception and the first line of its message
    python-names.txt       the public names of the package, their arguments and members
"""
import argparse
import contextlib
import copy
import enum
import inspect
import io
import os
import pathlib
import pickle
import re
import sys
import tempfile

import table

try:
    import numpy as np
    import pandas as pd
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import fabricost as fc

ASSIGNED = re.compile(r"([a-z_]\w*) = (.*)")
DEEPEST = 4
NAMES = table.HERE / "python-names.txt"


def command(words):
    """The output of `fabricost report`: status and stderr."""
    from fabricost import _report_command
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        return [_report_command.main(words.split()), errors.getvalue()]


def properties(kind):
    return [name for name in dir(kind) if not name.startswith("_") and isinstance(getattr(kind, name), property)]


def value_of(record, name, depth):
    try:
        return data_of(getattr(record, name), depth)
    except Exception as error:  # a property may refuse, too
        return raised(error)


def data_of(value, depth=0):
    """A value as dictionaries, lists, numbers and words: a record under the name of its type, a text as its lines."""
    if isinstance(value, enum.Enum):
        return value.name
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value if value.count("\n") == 0 else [line[:table.LONGEST] for line in value.splitlines()]
    if isinstance(value, np.ndarray) and value.dtype.names:
        return {name: data_of(value[name], depth) for name in value.dtype.names}
    if isinstance(value, (np.ndarray, np.generic)):
        return data_of(value.tolist(), depth)
    if isinstance(value, pd.DataFrame):
        return {"DataFrame": {name: data_of(value[name].to_numpy()) for name in value}}
    if isinstance(value, dict):
        return {str(key): data_of(one, depth + 1) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [data_of(one, depth) for one in value]
    kind = type(value)
    if kind.__module__.split(".")[0] != "fabricost" or depth >= DEEPEST or depth and kind is fc.System or not properties(kind):
        return repr(value).split("\n")[0]
    return {kind.__name__: {name: value_of(value, name, depth + 1) for name in properties(kind) if name != "search_seconds"}}


def raised(error):
    return f"{type(error).__name__}: {error}".split("\n")[0]


def outcomes(group):
    """({expression: answer}, {expression: exception}) of a group, in order."""
    known = {"fc": fc, "np": np, "pd": pd, "pickle": pickle, "copy": copy, "command": command, "pathlib": pathlib}
    answers, refusals = {}, {}
    for line in listed(group):
        assigned = ASSIGNED.fullmatch(line)
        name, expression = assigned.groups() if assigned else (None, line)
        try:
            value = eval(expression, known)
        except Exception as error:  # whatever it is belongs to the contract
            refusals[line] = raised(error)
            continue
        if name:
            known[name] = value
        answers[line] = data_of(value)
    return answers, refusals


def listed(group):
    """The expressions of a group."""
    lines = (table.HERE / "calls" / f"{group}.txt").read_text(encoding="utf-8").splitlines()
    out = [line for line in lines if line and not line.startswith("#")]
    assert len(set(out)) == len(out), f"{group}: listed twice: {sorted(line for line in out if out.count(line) > 1)}"
    return out


def names():
    """The public names of the package, a line each: a function with its arguments, a class with its members, another with its value."""
    def told(name, value):
        if isinstance(value, type):
            members = " ".join(told(member, getattr(value, member)) for member in sorted(vars(value)) if not member.startswith("_"))
            return f"{name} ({value.__mro__[1].__name__}): {members}".rstrip()
        if inspect.isroutine(value):
            try:
                return f"{name}{inspect.signature(value)}"
            except ValueError:
                return f"{name}(...)"
        return name if isinstance(value, (property, enum.Enum)) or inspect.ismodule(value) else f"{name} = {value}"
    return "".join(told(name, getattr(fc, name)) + "\n" for name in sorted(set(fc.__all__) | {n for n in dir(fc) if not n.startswith("_")}))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("groups", nargs="*")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    every = sorted(path.stem for path in (table.HERE / "calls").glob("*.txt"))
    answers, refusals = {}, {}
    start = os.getcwd()
    for group in asked.groups or every:
        with tempfile.TemporaryDirectory() as folder:
            for name, target in table.LINKS.items():
                os.symlink(target, os.path.join(folder, name))
            os.chdir(folder)
            answered, refused = outcomes(group)
            os.chdir(start)
        answers.update(answered)
        refusals.update({line: text.replace(folder, "FOLDER") for line, text in refused.items()})
    questions = [line for group in every for line in listed(group)]
    changed = table.compare(table.HERE / "python-numbers.tsv", answers, [one for one in questions if one not in refusals], asked.write,
                            fields=False)
    refusable = [one for one in questions if one not in answers]
    changed += table.compare_refusals(table.HERE / "python-refusals.tsv", refusals, refusable, asked.write)
    if asked.write:
        NAMES.write_text(names(), encoding="utf-8")
    changed += table.difference(NAMES.name, NAMES.read_text(encoding="utf-8"), names(), "was", "is")
    return table.report(changed, len(answers) + len(refusals), "calls", asked.write)


if __name__ == "__main__":
    sys.exit(main())
