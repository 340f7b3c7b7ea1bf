#!/usr/bin/env python3
"""What outsiders read and machines run beside the code: workflows call scripts that exist, and THIRD_PARTY.md names each library in use.

    project_files.py SOURCE"""
import json
import os
import pathlib
import re
import sys

CALLED = re.compile(r"(?<![\w/@.])(?:\./)?((?:docs|packaging|tests|examples)/[\w./-]+\.(?:sh|py)|quickstart)\b")


def faults(source):
    out, calls = [], 0
    files = [*source.glob(".github/workflows/*.yml"), source / ".pre-commit-config.yaml", source / "pyproject.toml"]
    for path in files:
        for name in CALLED.findall(path.read_text(encoding="utf-8")):
            calls += 1
            if not (source / name).is_file():
                out.append(f"{path.relative_to(source)} calls {name}, which is not there")
            elif not name.endswith(".py") and not os.access(source / name, os.X_OK):
                out.append(f"{path.relative_to(source)} calls {name}, which cannot be executed")
    if calls < 10:
        out.append(f"only {calls} calls found in {len(files)} files")
    notices = re.sub(r"[^a-z0-9]", "", (source / "THIRD_PARTY.md").read_text(encoding="utf-8").lower())
    manifest = json.loads((source / "packaging/vcpkg/fabricost/vcpkg.json").read_text(encoding="utf-8"))
    needed = [*manifest["dependencies"], *manifest["features"]["tool"]["dependencies"]]
    for library in [one for one in needed if isinstance(one, str)] + ["pybind11"]:
        word = re.sub(r"[^a-z0-9]", "", library.removesuffix("3"))
        if word not in notices:
            out.append(f"THIRD_PARTY.md does not name {library}")
    return out


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = faults(pathlib.Path(sys.argv[1]))
    print("\n".join(found) if found else "workflows call what exists, notices name every library")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
