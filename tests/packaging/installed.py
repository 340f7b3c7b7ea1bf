#!/usr/bin/env python3
"""`cmake --install` of a build tree: complete, staged with DESTDIR, moved, in parts, and removed again.

    installed.py BUILD"""
import json
import pathlib
import sys
import tempfile

import trees


def check(build, place):
    expected = json.loads(trees.run(build / "fabricost", *trees.QUESTION))

    # staged for /usr, then moved to a prefix nobody knew
    trees.run("cmake", "--install", build, "--prefix", "/usr", DESTDIR=place / "stage")
    staged = place / "stage/usr"
    trees.holds_everything(staged, build)
    moved = place / "moved/somewhere else"  # with a blank, as people have
    moved.parent.mkdir()
    staged.rename(moved)
    if (answer := json.loads(trees.command_answers(moved))) != expected:
        sys.exit(f"the installed command answers {answer}, the one of the build tree {expected}")
    if left := trees.files(place / "stage"):
        sys.exit(f"installed outside the prefix: {left[:5]}")

    # the parts share no file and are together the whole
    is_hardened(moved / "bin/fabricost", build)
    parts = {part: place / part for part in ("Runtime", "Development")}
    for part, prefix in parts.items():
        trees.run("cmake", "--install", build, "--prefix", prefix, "--component", part)
    runtime, development = (set(trees.files(p)) for p in parts.values())
    if both := runtime & development:
        sys.exit(f"in both parts: {sorted(both)[:5]}")
    if difference := (runtime | development) ^ set(trees.files(moved)):
        sys.exit(f"in the parts or in the whole only: {sorted(difference)[:5]}")
    trees.command_answers(parts["Runtime"])

    # what was installed can be removed; a file of somebody else's stays
    prefix = place / "prefix"
    trees.run("cmake", "--install", build, "--prefix", prefix)
    (prefix / "share/theirs").write_text("")
    trees.run("cmake", "--build", build, "--target", "uninstall")
    left = [str(p.relative_to(prefix)) for p in prefix.rglob("*") if p.name == "theirs" or not p.is_dir() or "fabricost" in p.name]
    if left != ["share/theirs"]:
        sys.exit(f"left after uninstall: {left[:5]}")
    print(f"{len(runtime)} files of Runtime, {len(development)} of Development; moved, in parts and removed")


def is_hardened(command, build):
    """In a release build the stack and copies are checked, and the linker's tables are read-only (cmake/hardened.cmake)."""
    if "CMAKE_BUILD_TYPE:STRING=Release" not in (build / "CMakeCache.txt").read_text(encoding="utf-8"):
        return
    flags, calls = trees.run("readelf", "-dW", command), trees.run("readelf", "--dyn-syms", "-W", command)
    for sign, text in (("BIND_NOW", flags), ("__stack_chk_fail", calls), ("_chk@", calls)):
        if sign not in text:
            sys.exit(f"{command.name} is built without {sign} (cmake/hardened.cmake)")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as place:  # outside the build tree, whose data programs inside it find
        check(build, pathlib.Path(place))


if __name__ == "__main__":
    main()
