#!/usr/bin/env python3
"""The Debian packages and the archive of a build tree: their fields, a real installation and removal by dpkg, consumers against each tree.

    packages.py BUILD

dpkg installs into a folder with an admindir of its own (--root), so the system stays as it is. Exit status 77 without dpkg."""
import json
import os
import pathlib
import re
import shutil
import sys
import tarfile
import tempfile

import trees
import versions


def debian(build, packages, place, expected):
    version = versions.project_version(trees.SOURCE)
    [command] = packages.glob(f"fabricost_{version}_*.deb")
    [development] = packages.glob(f"libfabricost-dev_{version}_*.deb")
    fields = {d: dict(re.findall(r"^([\w-]+): (.*)$", trees.run("dpkg-deb", "-f", d), re.MULTILINE)) for d in (command, development)}
    checks = [(command, "Package", r"fabricost"), (command, "Version", re.escape(version)), (command, "Section", "science"),
              (command, "Depends", r".*libc6 \(>= .*"), (command, "Depends", r".*libyaml-cpp\S*.*"), (command, "Depends", r".*libfmt\S*.*"),
              (command, "Maintainer", r".+ <.+@.+>"), (command, "Description", r".{10,80}"), (development, "Section", "libdevel"),
              (development, "Depends", rf"fabricost \(= {re.escape(version)}\), .*libboost-dev.*libyaml-cpp-dev.*")]
    for deb, field, pattern in checks:
        if not re.fullmatch(pattern, fields[deb].get(field, "")):
            sys.exit(f"{deb.name}: {field} is \"{fields[deb].get(field)}\", wanted {pattern}")
    root = place / "root"
    (root / "var/lib/dpkg/updates").mkdir(parents=True)
    (root / "var/lib/dpkg/info").mkdir()
    (root / "var/lib/dpkg/status").touch()
    # dependencies are checked above; an empty root has none
    dpkg = ["dpkg", f"--root={root}", "--force-depends", "--force-not-root", "--log=/dev/null"]
    if os.geteuid() != 0:
        dpkg.insert(0, "fakeroot")
    trees.run(*dpkg, "-i", command, development)
    prefix = root / "usr"
    trees.holds_everything(prefix, build)
    if json.loads(trees.command_answers(prefix)) != expected:
        sys.exit("the command of the Debian package answers otherwise than the one of the build tree")
    said = [trees.consumer_by_cmake(prefix, place / "deb-cmake"), trees.consumer_by_pkg_config(prefix, place / "deb-pkg-config")]
    trees.run(*dpkg, "-r", "libfabricost-dev", "fabricost")
    if left := [f for f in trees.files(root) if not f.startswith("var/lib/dpkg/")]:
        sys.exit(f"left after dpkg -r: {left[:5]}")
    sizes = ", ".join(f"{deb.name} {deb.stat().st_size / 2**20:.1f} MiB" for deb in (command, development))
    return f"{sizes}; consumers: {said}"


def archive(build, packages, place, expected):
    [packed] = packages.glob("fabricost-*.tar.gz")
    with tarfile.open(packed) as opened:
        opened.extractall(place / "unpacked")
    [prefix] = (place / "unpacked").iterdir()
    trees.holds_everything(prefix, build)
    if json.loads(trees.command_answers(prefix)) != expected:
        sys.exit("the command of the archive answers otherwise than the one of the build tree")
    said = [trees.consumer_by_cmake(prefix, place / "tar-cmake"), trees.consumer_by_pkg_config(prefix, place / "tar-pkg-config")]
    return f"{packed.name} {packed.stat().st_size / 2**20:.1f} MiB; consumers: {said}"


def check(build, place):
    packages = place / "made"
    expected = json.loads(trees.run(build / "fabricost", *trees.QUESTION))
    for kind in ("DEB", "TGZ"):
        trees.run("cpack", "-G", kind, "-B", packages, "--config", build / "CPackConfig.cmake",
                  "-D", f"CPACK_OUTPUT_FILE_PREFIX={packages}", cwd=place)
    print(debian(build, packages, place, expected))
    print(archive(build, packages, place, expected))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    if not (shutil.which("dpkg") and shutil.which("dpkg-shlibdeps")):
        print("skipped: dpkg and dpkg-shlibdeps (Debian: dpkg-dev) are not here")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as place:  # outside the build tree, whose data programs inside it find
        check(build, pathlib.Path(place))


if __name__ == "__main__":
    main()
