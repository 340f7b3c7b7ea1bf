#!/usr/bin/env python3
"""Compiles every public header alone, twice in one file; then all of them with names poisoned that system headers define as macros.

    check_headers.py SOURCE_DIR COMPILER [FLAG...]

Exit status 1 and the compiler's first words for each header that does not stand alone."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

# complex.h, rpcndr.h, termios.h and sys/sysmacros.h define these; a header that uses them breaks under somebody's include.
POISON = ["I", "small", "B0", "major", "minor"]
FLAGS = ["-std=c++20", "-fsyntax-only", "-x", "c++", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.MULTILINE)


def compiles(command, source):
    """(True, "") or (False, what the compiler says)."""
    done = subprocess.run(command + ["-"], input=source, capture_output=True, text=True)
    return done.returncode == 0, done.stderr


def alone(header):
    return f"#include <{header}>\n#include <{header}>\nint main() {{}}\n"


def poisoned(others, headers, tail=""):
    """Other people's headers first: Boost has a template parameter I."""
    lines = ([f"#include <{h}>" for h in others] + [f"#define {name} poisoned macro {name} @" for name in POISON] +
             [f"#include <{h}>" for h in headers])
    return "\n".join(lines) + "\n" + tail + "int main() {}\n"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    base = pathlib.Path(sys.argv[1]) / "include"
    command = [sys.argv[2], *FLAGS, f"-I{base}", *sys.argv[3:]]
    headers = sorted(str(p.relative_to(base)) for p in base.rglob("*.hpp"))
    if not headers:
        sys.exit(f"{base}: no headers found")
    others = sorted({h for name in headers for h in INCLUDE.findall((base / name).read_text(encoding="utf-8"))
                     if not h.startswith("fabricost/")})

    # the check itself must be able to pass and to fail
    for source, wanted in [(poisoned([], [], "inline int f() { return 1; }\n"), True),
                           (poisoned([], [], "inline int f(int I) { return I; }\n"), False), ("std::string s;\n", False)]:
        if compiles(command, source)[0] != wanted:
            sys.exit(f"the check is broken: this should {'' if wanted else 'not '}compile with {' '.join(command)}\n{source}")

    faults = []
    sources = [alone(h) for h in headers] + [poisoned(others, headers)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        for name, (fine, words) in zip(headers + ["with " + ", ".join(POISON) + " poisoned: all"],
                                       pool.map(lambda source: compiles(command, source), sources)):
            if not fine:
                faults.append(f"{name}: does not compile\n" + "\n".join(words.splitlines()[:6]))
    print("\n".join(faults) if faults else f"all {len(headers)} headers stand alone")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
