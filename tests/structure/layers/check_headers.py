#!/usr/bin/env python3
"""Compiles every public header alone, twice in one file; then all of them with names poisoned that system headers define as macros.

    check_headers.py SOURCE_DIR BUILD_DIR CMAKE COMPILER [FLAG...]

The first is the build's target headers_alone. Exit status 1 and the compiler's words for each header that does not stand."""

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
    done = subprocess.run(command + ["-"], input=source, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def poisoned(others, headers):
    """Other people's headers first: some have a template parameter I."""
    lines = ([f"#if __has_include(<{h}>)\n#include <{h}>\n#endif" for h in others] +
             [f"#define {name} poisoned macro {name} @" for name in POISON] + [f"#include <{h}>" for h in headers])
    return "\n".join(lines) + "\nint main() {}\n"


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    source, build, cmake, compiler = sys.argv[1:5]
    base = pathlib.Path(source) / "include"
    command = [compiler, *FLAGS, f"-I{base}", *sys.argv[5:]]
    headers = sorted(str(p.relative_to(base)) for p in base.rglob("*.hpp"))
    if not headers:
        sys.exit(f"{base}: no headers found")
    others = sorted({h for name in headers for h in INCLUDE.findall((base / name).read_text(encoding="utf-8"))
                     if not h.startswith("fabricost/")})

    fine, words = compiles(command, poisoned(others, headers))
    if not fine:
        print(f"all headers with {', '.join(POISON)} poisoned: does not compile\n" + "\n".join(words.splitlines()[:6]))
    all_of_them = ["-k", "0"] if pathlib.Path(build, "build.ninja").exists() else ["-k"]  # also after the first that fails
    built = subprocess.run([cmake, "--build", build, "--target", "headers_alone", "-j", "2", "--", *all_of_them], capture_output=True,
                           text=True, check=False)
    if built.returncode != 0:
        said = "\n".join(line for line in built.stdout.splitlines() if not line.startswith("["))
        print("a header does not stand alone\n" + said[-6000:] + built.stderr[-2000:])
    objects = pathlib.Path(build, "tests", "CMakeFiles", "headers_alone.dir", "headers_alone")
    missing = [h for h in headers if not (objects / f"{h}.cpp.o").exists()] if fine and built.returncode == 0 else []
    if missing:
        print(f"not compiled alone: {', '.join(missing)}")
    if not fine or built.returncode != 0 or missing:
        sys.exit(1)
    print(f"all {len(headers)} headers stand alone")


if __name__ == "__main__":
    main()
