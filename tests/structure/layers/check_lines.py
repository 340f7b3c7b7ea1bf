#!/usr/bin/env python3
"""No line of C++ or Python is longer than 140 columns, a column being a character, no file longer than 400 lines, and no folder of the
library holds more than 25 files of code.

    check_lines.py SOURCE_DIR

A line is excused when a single word of it, where the line is indented, would not fit either: a URL, say. A text between quotes is no such
word; both languages join two of them. Stubs for editors may be as long as what they describe. Exit status 1 and a line for each fault."""

import pathlib
import sys
import tempfile

COLUMNS = 140
FOLDERS = ("include", "src", "bindings", "tests", "examples")
SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cu", ".py", ".pyi"}
LINES = 400
FILES, ROOMS = 25, ("include", "src", "bindings")


def fits(line):
    indent = len(line) - len(line.lstrip())
    return len(line) <= COLUMNS or indent + max(map(len, line.split()), default=0) > COLUMNS


def check(root):
    """(faults as lines, files read) of the sources below root."""
    root = pathlib.Path(root)
    faults, files, held = [], 0, {}
    for folder in FOLDERS:
        for path in sorted(p for p in (root / folder).rglob("*") if p.suffix in SUFFIXES and p.is_file()):
            files += 1
            lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
            for number, line in enumerate(lines, 1):
                if not fits(line.rstrip("\r")):
                    faults.append(f"{path.relative_to(root)}:{number}: {len(line)} columns, at most {COLUMNS}")
            if len(lines) > LINES and path.suffix != ".pyi":
                faults.append(f"{path.relative_to(root)}: {len(lines)} lines, at most {LINES}: make two files of it")
            if folder in ROOMS:
                room = path.parent.relative_to(root).as_posix()
                held[room] = held.get(room, 0) + 1
    for room, count in held.items():
        if count > FILES:
            faults.append(f"{room}: {count} files of code, at most {FILES}: move files that belong together into a folder "
                          "of it (CMake finds those of src/answers, src/cli and bindings/python; headers keep their path)")
    return faults, files


def prove_that_it_can_fail():
    """140 columns pass and 141 do not, counted in characters; a word too long for any line is excused, beside a comment mark too."""
    words = "/ " * 70
    with tempfile.TemporaryDirectory() as folder:
        for name, text in [("src/room/long.cpp", "\n" * 400 + "x"), ("src/room/fits.cpp", "x\n" * 400), ("src/room/stub.pyi", "x\n" * 500),
                           *((f"src/full/{i}.cpp", "x\n") for i in range(26)), *((f"src/fits/{i}.cpp", "x\n") for i in range(25))]:
            file = pathlib.Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        faults, _ = check(folder)
    assert [fault.split(":")[0] for fault in faults] == ["src/room/long.cpp", "src/full"], faults
    with tempfile.TemporaryDirectory() as folder:
        for name, line in [("include/fits.hpp", words[:140]), ("src/too_long.cpp", words + "/"), ("src/letters.cpp", "ä " * 70),
                           ("tests/deep/too_long.py", "    " + words), ("examples/link.cpp", "//   https://" + "a" * 140),
                           ("docs/elsewhere.py", words * 2), ("tests/log.txt", words * 2)]:
            file = pathlib.Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"\n{line}\n\n", encoding="utf-8")
        faults, files = check(folder)
    assert files == 5 and [fault.split(" ")[0] for fault in faults] == ["src/too_long.cpp:2:", "tests/deep/too_long.py:2:"], faults


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    prove_that_it_can_fail()
    faults, files = check(sys.argv[1])
    if not files:
        faults.append(f"{sys.argv[1]}: no sources found")
    print("\n".join(faults) if faults else f"{files} files, no line beyond {COLUMNS} columns, no file beyond {LINES} lines")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
