#!/usr/bin/env python3
"""Headers of one version with the compiled library of another do not link, and the linker's message names the version.

    mixed_versions.py COMPILER LIBRARY... INCLUDE INCLUDE

The headers of another version are these with another version.hpp before them on the search path. Exit status 1 with what went wrong."""
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = "#include <fabricost/compiled_part.hpp>\nint main() {}\n"


def link(compiler, libraries, includes, folder):
    """(0 or not, what the compiler and linker say)."""
    source = folder / "main.cpp"
    source.write_text(PROGRAM)
    # --no-as-needed: a shared library counts although main() calls nothing of it
    done = subprocess.run([compiler, "-std=c++20", "-O2", *(f"-I{i}" for i in includes), str(source), "-Wl,--no-as-needed", *libraries,
                           "-lyaml-cpp", "-lfmt", "-lpugixml", "-lz", "-lzstd", "-lsqlite3", "-ldl", "-o", str(folder / "program")],
                          capture_output=True, text=True)
    return done.returncode, done.stderr


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    compiler, *libraries, _, _ = sys.argv[1:]
    includes = sys.argv[-2:]
    [version_header] = [p for i in includes if (p := pathlib.Path(i) / "fabricost/version.hpp").exists()]
    text = version_header.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        status, words = link(compiler, libraries, includes, folder)
        if status:
            sys.exit(f"headers and library of one version do not link:\n{words}")
        other = folder / "other/fabricost/version.hpp"
        other.parent.mkdir(parents=True)
        # quoted and angled includes of <fabricost/...> search in order: this one comes first
        other.write_text(re.sub(r"fabricost_io_is_version_\w+", "fabricost_io_is_version_99_7_3", text))
        status, words = link(compiler, libraries, [folder / "other", *includes], folder)
        if status == 0:
            sys.exit("headers of version 99.7.3 link with this library")
        if "undefined reference to `fabricost_io_is_version_99_7_3'" not in words:
            sys.exit(f"the linker's message does not name the version:\n{words}")
    print("same version: links; another: undefined reference to `fabricost_io_is_version_99_7_3'")


if __name__ == "__main__":
    main()
