#!/usr/bin/env python3
"""The version lives in project(VERSION) of CMakeLists.txt; what else states one says the same.

    versions.py SOURCE [BUILD]        prints the version; exit status 1 and a line per file that disagrees

With BUILD also what was built there: the command, the header, the package files, the Python package."""
import json
import pathlib
import re
import subprocess
import sys


def project_version(source):
    return re.search(r"project\(fabricost VERSION (\d+\.\d+\.\d+)", (source / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


def stated(source, build):
    """{where: version}."""
    out = {"CHANGELOG.md": re.search(r"^## (\S+)", (source / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]}
    manifest = source / "packaging/vcpkg/fabricost/vcpkg.json"
    out[str(manifest.relative_to(source))] = json.loads(manifest.read_text(encoding="utf-8"))["version"]
    recipe = source / "packaging/conda/recipe.yaml"
    out[str(recipe.relative_to(source))] = re.search(r'^  version: "([^"]+)"', recipe.read_text(encoding="utf-8"), re.MULTILINE)[1]
    if build is None:
        return out
    done = subprocess.run([build / "fabricost", "--version"], capture_output=True, text=True, check=True)
    out["fabricost --version"] = done.stdout.split()[-1]
    for name, pattern in [("include/fabricost/version.hpp", r'FABRICOST_VERSION "([^"]+)"'), ("fabricost.pc", r"^Version: (\S+)"),
                          ("installed/fabricost-config-version.cmake", r'set\(PACKAGE_VERSION "([^"]+)"\)')]:
        out[name] = re.search(pattern, (build / name).read_text(encoding="utf-8"), re.MULTILINE)[1]
    if list((build / "python/fabricost").glob("_core*.so")):
        done = subprocess.run([sys.executable, "-c", "import fabricost; print(fabricost.__version__)"], capture_output=True, text=True,
                              check=True, cwd=build / "python")
        out["fabricost.__version__"] = done.stdout.strip()
    return out


def literals(source, version):
    """Files that carry the version as text although they could take it from the project. Changelog and lists of history may."""
    known = {"CMakeLists.txt", "CHANGELOG.md", "packaging/vcpkg/fabricost/vcpkg.json"}
    out = []
    for folder in ("bindings", "cmake", "include", "src", "packaging"):
        for path in sorted((source / folder).rglob("*")):
            name = str(path.relative_to(source))
            if path.is_file() and path.suffix in {".cpp", ".hpp", ".py", ".cmake", ".in", ".txt", ".json", ".toml"} and name not in known:
                if re.search(rf'(?<![\d.]){re.escape(version)}(?![\d.])', path.read_text(encoding="utf-8")):
                    out.append(name)
    return out


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[1])
    version = project_version(source)
    faults = [f"{where}: {found}, but CMakeLists.txt has {version}"
              for where, found in stated(source, pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else None).items() if found != version]
    faults += [f"{name}: states {version}; take it from CMakeLists.txt" for name in literals(source, version)]
    print("\n".join(faults) if faults else version)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
