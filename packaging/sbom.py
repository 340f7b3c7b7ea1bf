#!/usr/bin/env python3
"""Writes what a wheel contains of others as a CycloneDX list (https://cyclonedx.org): name, version, licence, checksum of the source.

    sbom.py [FILE]        without FILE to standard output

Versions and checksums are those of packaging/wheels/libraries/CMakeLists.txt, licences those of THIRD_PARTY.md."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# names in Debian's pool that are not the table's
NAMES = {"fmtlib": "fmt", "libzstd": "zstd", "sqlite3": "SQLite", "libeigen3-dev": "Eigen", "libboost1.83-dev": "Boost.Units",
         "libcli11-dev": "CLI11", "nlohmann-json3-dev": "nlohmann/json"}
SOURCE = re.compile(r"/([\w.-]+?)_(?:[\w.]+%2breally)?(\d[\d.]*\d)[^\s)]*?\.(?:orig\.tar\.\w+|deb)\b"
                    r"(?:(?!pool\(|compiled\(|headers\().)*?\b([0-9a-f]{64})\b", re.DOTALL)


def components():
    third = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    licences = dict(re.findall(r"^\| \[([\w./-]+)\]\([^)]*\)[^|]*\| ([^|]+) \|", third, re.MULTILINE))
    text = (ROOT / "packaging/wheels/libraries/CMakeLists.txt").read_text(encoding="utf-8")
    out = []
    for package, version, checksum in SOURCE.findall(text):
        name = NAMES.get(package, package)
        known = licences[name].strip()
        licence = {"license": {"name": known}} if " " in known else {"license": {"id": known}}
        out.append({"type": "library", "name": name, "version": version, "licenses": [licence],
                    "hashes": [{"alg": "SHA-256", "content": checksum}]})
    return sorted(out, key=lambda one: one["name"].lower())


def main(arguments):
    version = re.search(r"project\(fabricost VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    subject = {"type": "application", "name": "fabricost", "version": version, "licenses": [{"license": {"id": "Apache-2.0"}}]}
    text = json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": subject},
                       "components": components()}, indent=2) + "\n"
    if arguments:
        pathlib.Path(arguments[0]).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
