#!/usr/bin/env python3
"""Each folder of include/fabricost may include only rows above its own; schedules know no hardware, prices and choices no units.

    check_layers.py SOURCE_DIR

Reads the #include lines. Exit status 1 and one line per fault when there is one."""

import pathlib
import re
import sys
import tempfile

# From the bottom up; a folder may include its own row and those before it. "." is include/fabricost itself.
ROWS = [["."], ["hardware"], ["schedule"], ["price"], ["choice"], ["predict"], ["network", "workload", "calibrate"], ["plan"], ["io"]]
ROW = {folder: row for row, folders in enumerate(ROWS) for folder in folders}

UMBRELLA = "fabricost.hpp"
GENERATED = {"version.hpp"}  # by configuring
# Boost.Units lives in these; whoever computes with plain doubles must not reach them, however far down.
WITH_UNITS = {"units.hpp", "operation.hpp"} | {f"hardware/{name}.hpp" for name in ("gpu", "link", "tier", "system", "provenance")}
WITHOUT_UNITS = ("schedule", "price", "choice")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def included(header):
    """[(delimiter, path)] of a header's #include lines."""
    return INCLUDE.findall(header.read_text(encoding="utf-8"))


def folder_of(path):
    return path.split("/")[0] if "/" in path else "."


def check(root):
    """Faults of the headers below root/include/fabricost, as lines."""
    base = pathlib.Path(root) / "include" / "fabricost"
    headers = {str(p.relative_to(base)): p for p in sorted(base.rglob("*.hpp"))}
    faults = []
    if not headers:
        return [f"{base}: no headers found"]
    ours = {}
    for name, path in headers.items():
        folder = folder_of(name)
        if folder not in ROW:
            faults.append(f"{name}: folder {folder} has no row in {pathlib.Path(__file__).name}")
            continue
        ours[name] = []
        for delimiter, target in included(path):
            if delimiter == '"':
                faults.append(f'{name}: includes "{target}"; write <fabricost/...>')
                continue
            if not target.startswith("fabricost/"):
                continue
            target = target.removeprefix("fabricost/")
            ours[name].append(target)
            if target in GENERATED:
                continue
            if target not in headers:
                faults.append(f"{name}: includes {target}, which does not exist")
            elif target == UMBRELLA:
                faults.append(f"{name}: includes the umbrella header")
            elif name != UMBRELLA and ROW.get(folder_of(target), 0) > ROW[folder]:
                faults.append(f"{name}: includes {target}, a row above its own")
            elif folder == "schedule" and folder_of(target) == "hardware":
                faults.append(f"{name}: includes {target}; schedules know no hardware")
    # what a header reaches, and through whom
    for name in ours:
        if folder_of(name) not in WITHOUT_UNITS:
            continue
        came_from, open_ = {name: None}, [name]
        while open_:
            at = open_.pop()
            for target in ours.get(at, []):
                if target not in came_from:
                    came_from[target] = at
                    open_.append(target)
        for reached in sorted(came_from):
            boost = reached in headers and any(t.startswith("boost/units") for _, t in included(headers[reached]))
            if reached in WITH_UNITS or boost:
                way, at = [reached], came_from[reached]
                while at is not None:
                    way.append(at)
                    at = came_from[at]
                faults.append(f"{name}: reaches units: {' <- '.join(way)}")
    # circles
    state = {}

    def visit(name, way):
        if state.get(name) == "done" or name not in ours:
            return
        if state.get(name) == "open":
            faults.append("circle: " + " -> ".join(way[way.index(name):] + [name]))
            return
        state[name] = "open"
        for target in ours[name]:
            visit(target, way + [name])
        state[name] = "done"

    for name in ours:
        visit(name, [])
    return faults


def prove_that_it_can_fail():
    """A tree with one fault of each kind must be refused, one without must pass."""
    def tree(files):
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder) / "include" / "fabricost"
            for name, text in files.items():
                (base / name).parent.mkdir(parents=True, exist_ok=True)
                (base / name).write_text(text)
            return check(folder)

    sound = {"units.hpp": "#include <boost/units/unit.hpp>\n", "hardware/kinds.hpp": "#include <array>\n",
             "schedule/s.hpp": "#include <cmath>\n",
             "price/p.hpp": "#include <fabricost/schedule/s.hpp>\n#include <fabricost/hardware/kinds.hpp>\n",
             "predict/x.hpp": "#include <fabricost/price/p.hpp>\n#include <fabricost/units.hpp>\n"}
    assert tree(sound) == [], tree(sound)
    for name, text, word in [("schedule/bad.hpp", "#include <fabricost/price/p.hpp>\n", "a row above"),
                             ("schedule/bad.hpp", "#include <fabricost/hardware/kinds.hpp>\n", "no hardware"),
                             ("price/bad.hpp", "#include <fabricost/units.hpp>\n", "reaches units"),
                             ("price/bad.hpp", '#include "p.hpp"\n', "write <fabricost"),
                             ("price/bad.hpp", "#include <fabricost/price/none.hpp>\n", "does not exist"),
                             ("newfolder/bad.hpp", "\n", "has no row"),
                             ("hardware/bad.hpp", "#include <fabricost/hardware/bad.hpp>\n", "circle")]:
        found = tree(sound | {name: text})
        assert any(word in line for line in found), (name, word, found)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    prove_that_it_can_fail()
    faults = check(sys.argv[1])
    print("\n".join(faults) if faults else "every header includes only rows below it")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
