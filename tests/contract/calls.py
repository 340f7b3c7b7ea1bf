#!/usr/bin/env python3
"""Compares the Python package with its recording: the result or exception of every call, with all fields of every record.

    calls.py [GROUP...]            compare; without groups all of them
    calls.py [GROUP...] --diff     and show what changed
    calls.py [GROUP...] --write    record again

calls/GROUP.txt lists expressions, one a line; `name = ` before one keeps its value for the lines below. recorded/python-GROUP.txt is what
each gave (recorded.py says how it is kept). They know fc, np, pd, pickle, copy; members(thing), its public names with their docstrings;
command(words), the streams and status of `fabricost report`. They run in a folder with links to `data`, `files` (beside this script) and
`corpus` (tests/robustness/fuzz/corpus). Needs numpy and pandas, else the exit status is 77.
"""
import argparse
import contextlib
import copy
import dataclasses
import inspect
import io
import os
import pathlib
import pickle
import re
import sys
import tempfile
import types

import recorded

try:
    import numpy as np
    import pandas as pd
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import fabricost as fc

HERE = pathlib.Path(__file__).resolve().parent
LINKS = {"data": recorded.ROOT / "data", "files": HERE / "files", "corpus": recorded.ROOT / "tests" / "robustness" / "fuzz" / "corpus"}
ASSIGNED = re.compile(r"([a-z_]\w*) = (.*)")
DIFFERS = [(re.escape(fc.__version__), "VERSION"),
           (r" at 0x[0-9a-f]+", ""), (r"(?m)^(\s*\.search_seconds: ).*$", r"\1SECONDS")]
DEEPEST = 4


def members(thing):
    """Public names of a module or class with the text they document themselves by; of those that Python's own classes give it, their
    origin, since the words differ between Python's versions."""
    def told(name):
        value = getattr(thing, name)
        own = next((base for base in getattr(thing, "__mro__", ()) if name in vars(base)), None)
        if own is not None and own.__module__ == "builtins":
            return f"of {own.__name__}"
        if not (callable(value) or isinstance(value, property)):
            return type(value).__name__
        return value.__doc__ and inspect.cleandoc(value.__doc__)  # Python 3.13 takes the indentation away itself
    return {name: told(name) for name in sorted(dir(thing)) if not name.startswith("_")}


def command(words):
    """The output of `fabricost report`: status and stderr."""
    from fabricost import _report_command
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        return _report_command.main(words.split()), errors.getvalue()


def kind_of(dtype):
    return "text" if dtype.kind in "OUTS" or "str" in str(dtype) else str(dtype)


def told(value, depth=0):
    """A value as lines: its type where that is not plain, and all that it holds."""
    if value is None or isinstance(value, (bool, int, str, bytes, types.ModuleType)):
        return (value if isinstance(value, str) and depth == 0 else repr(value)).splitlines() or ["''"]
    if isinstance(value, float):
        return [repr(float(value))]
    if isinstance(value, np.generic):
        return [f"{kind_of(value.dtype)} {value.item()!r}"]
    if isinstance(value, np.ndarray):
        kinds = kind_of(value.dtype)
        if value.dtype.names:
            kinds = f"{{{', '.join(f'{n}: {kind_of(value.dtype[n])}' for n in value.dtype.names)}}}"
        return [f"array {kinds} {value.shape}", *("  " + repr(row) for row in (value.tolist() if value.ndim else [value.tolist()]))]
    if isinstance(value, pd.DataFrame):
        kinds = ", ".join(f"{name}: {kind_of(kind)}" for name, kind in value.dtypes.items())
        return [f"DataFrame {len(value)} x {{{kinds}}}", *("  " + line for line in value.to_csv(index=False).splitlines())]
    if isinstance(value, dict):
        return indented("dict", {repr(k): v for k, v in value.items()}, depth, "")
    if isinstance(value, (list, tuple)):
        if all(isinstance(one, (bool, int, float, str, type(None))) for one in value):
            return [repr(value)]
        return indented(type(value).__name__, {str(at): one for at, one in enumerate(value)}, depth, "")
    if dataclasses.is_dataclass(value) or type(value).__module__.split(".")[0] != "fabricost":
        return [f"{type(value).__name__} {value!r}"]
    names = [name for name in dir(type(value)) if not name.startswith("_") and isinstance(getattr(type(value), name), property)]
    if depth and isinstance(value, fc.System):
        names = []
    return indented(f"{type(value).__name__} {value!r}", {name: (lambda name=name: getattr(value, name)) for name in names}, depth, ".")


def indented(title, parts, depth, sign):
    out = [title]
    for name, part in parts.items():
        lines = outcome(part, depth + 1) if callable(part) else told(part, depth + 1)
        if depth >= DEEPEST:
            lines = lines[:1]
        out += [f"  {sign}{name}: {lines[0]}", *("  " + line for line in lines[1:])]
    return out


def outcome(call, depth=0):
    """The value that a call returns, or its exception: type, message, and further members."""
    try:
        return told(call(), depth)
    except Exception as error:  # whatever it is belongs to the contract
        lines = [f"raises {type(error).__name__}: {error}"]
        lines += [f"  .{name}: {getattr(error, name)!r}" for name in ("reason", "file", "line", "column") if hasattr(error, name)]
        lines += [f"  .issue: {(issue.path, issue.message, issue.remedy)!r}" for issue in getattr(error, "issues", [])]
        return "\n".join(lines).splitlines()


def answers(group, replaced):
    """{expression: entry} of a group, in order."""
    known = {"fc": fc, "np": np, "pd": pd, "pickle": pickle, "copy": copy, "members": members, "command": command, "pathlib": pathlib}
    now = {}
    for line in (HERE / "calls" / f"{group}.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        assert line not in now, f"{group}: listed twice: {line}"
        assigned = ASSIGNED.fullmatch(line)
        name, expression = assigned.groups() if assigned else (None, line)

        def call(expression=expression, name=name):
            value = eval(expression, known)
            if name:
                known[name] = value
            return value
        text = recorded.plain("\n".join(outcome(call)) + "\n", replaced)
        now[line] = recorded.entry(line, recorded.body(text))
    return now


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("groups", nargs="*")
    parser.add_argument("--diff", action="store_true")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    recorded.prove_that_it_can_fail()
    groups = asked.groups or sorted(path.stem for path in (HERE / "calls").glob("*.txt"))
    changed, where, ran = [], [], 0
    start = os.getcwd()
    for group in groups:
        with tempfile.TemporaryDirectory() as folder:
            for name, target in LINKS.items():
                os.symlink(target, os.path.join(folder, name))
            os.chdir(folder)
            now = answers(group, [(re.escape(os.getcwd()), "FOLDER"), *DIFFERS])
            os.chdir(start)
        ran += len(now)
        changed += (new := recorded.compare(f"python-{group}", now, asked.write, asked.diff))
        where += [group] if new else []
    if changed:
        print(f"\n{len(changed)} of {ran} calls no longer give what is recorded.")
        recorded.advise(" ".join(where))
    else:
        print(f"{ran} calls, {'recorded' if asked.write else 'all as recorded'}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
