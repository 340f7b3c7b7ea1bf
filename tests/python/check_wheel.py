"""The package as a user gets it: pip in an empty environment, then the README's example, the command and a report.

    check_wheel.py [checkout] [sdist] [WHEEL]... [--python PYTHON]... [--pip OPTION]...

checkout: `pip install .`; sdist: a source archive is made, and installed from somewhere else. Default: checkout. Both compile everything,
which takes minutes; ccache is used where it is installed. WHEEL: a file, which must contain its libraries and runs the README and the
how-to pages with all extras (tests/docs/verbatim.py). --python: with this interpreter; default the one that runs this. --pip: handed to
pip install, as in --pip=--config-settings=build-dir=build-wheel. Run by packaging/release.sh. Prints what it saw, fails otherwise.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
QUESTION = ["predict", "all_reduce", "--system", "dgx-h100", "--ranks", "64", "--size", "256MiB", "--json"]
SAME = "import fabricost as fc; print(repr(fc.predict(fc.load_system('dgx-h100'), fc.AllReduce(256 * fc.MiB, ranks=64)).seconds))"
# the data and the command that answer are the wheel's own
INSIDE = """
import importlib.metadata, pathlib, sys, fabricost
home = pathlib.Path(fabricost.__file__).parent
assert home.is_relative_to(sys.prefix), home
held = {p.relative_to(home).as_posix() for p in home.rglob("*") if p.is_file()}
for name in ("py.typed", "_core.pyi", "data/systems/dgx-h100.yaml", "bin/fabricost"):
    assert name in held, name
notices = [p.name for p in importlib.metadata.files("fabricost") if "dist-info" in str(p)]
assert "LICENSE" in notices and "THIRD_PARTY.md" in notices, notices
assert fabricost.__version__ == importlib.metadata.version("fabricost")
needed = [r for r in importlib.metadata.requires("fabricost") if "extra ==" not in r]
assert [r.split(">")[0] for r in needed] == ["numpy"], needed
print(len(held), "files,", round(sum(p.stat().st_size for p in home.rglob("*") if p.is_file()) / 2**20, 1), "MiB")
"""


def run(*words, cwd, **more):
    """The output of a command; its stderr if it fails. Nothing of this checkout or this environment is seen."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "FABRICOST", "VIRTUAL_ENV"))}
    if shutil.which("ccache"):
        env.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
    env.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, cwd=cwd, env=env, **more)
    if done.returncode:
        sys.exit(f"check_wheel: {' '.join(map(str, words))}: exit status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def environment(python, folder):
    """The Python of an empty environment."""
    run(python, "-m", "venv", folder, cwd=folder.parent)
    return folder / "bin" / "python"


def archive(python, folder):
    """A source archive of the checkout."""
    tools = environment(python, folder / "tools")
    run(tools, "-m", "pip", "install", "-q", "--disable-pip-version-check", "build", cwd=folder)
    run(tools, "-m", "build", "--sdist", "--outdir", folder / "archive", SOURCE, cwd=folder)
    [made] = (folder / "archive").glob("*.tar.gz")
    return made


def check(python, kind, options, folder):
    what = {"checkout": SOURCE, "sdist": None}.get(kind, kind) or archive(python, folder)
    begun = time.monotonic()
    mine = environment(python, folder / "venv")
    away = folder / "away"
    away.mkdir()
    run(mine, "-m", "pip", "install", "-q", "--disable-pip-version-check", *options, what, cwd=away)
    took = time.monotonic() - begun
    held = run(mine, "-c", INSIDE, cwd=away).strip()
    run(mine, SOURCE / "tests" / "python" / "run_readme.py", SOURCE / "README.md", cwd=away)
    command = folder / "venv" / "bin" / "fabricost"
    systems = run(command, "systems", cwd=away)
    assert "dgx-h100" in systems and "gb200-nvl72" in systems, systems
    seconds = float(run(mine, "-c", SAME, cwd=away))
    for words in ([command], [mine, "-m", "fabricost"]):
        asked = json.loads(run(*words, *QUESTION, cwd=away))
        assert abs(asked["time_us"] / 1e6 / seconds - 1) < 1e-12, (asked["time_us"], seconds)
    if what == kind:
        outside = {line.split()[0] for file in (folder / "venv").glob("lib/python*/site-packages/fabricost/**/*")
                   if file.name == "fabricost" and file.is_file() or file.suffix == ".so"
                   for line in run("ldd", file, cwd=away).splitlines()}
        assert not any(name in line for line in outside for name in ("fmt", "yaml", "pugi", "libz", "sqlite")), outside
    run(mine, "-m", "pip", "install", "-q", "--disable-pip-version-check", *options, "fabricost[all]", cwd=away)
    run(mine, SOURCE / "tests" / "docs" / "verbatim.py", cwd=away)
    run(mine, "-m", "fabricost", "report", "dgx-h100", "all_reduce", "--size", "256MiB", "--ranks", "64", "-o", "report.html", cwd=away)
    page = (away / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and page.count("data:image/svg+xml") >= 2, page[:200]
    version = run(mine, "-c", "import platform; print(platform.python_version())", cwd=away).strip()
    print(f"Python {version}, {kind}: installed in {took:.0f} s ({held}); README, systems, predict {1e6 * seconds:.1f} us, report "
          f"{len(page) // 1024} KiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="checkout|sdist|WHEEL")
    parser.add_argument("--python", action="append")
    parser.add_argument("--pip", action="append", default=[])
    asked = parser.parse_args()
    asked.kinds = [str(pathlib.Path(kind).resolve()) if kind.endswith(".whl") else kind for kind in asked.kinds]
    if unknown := [kind for kind in asked.kinds if kind not in ("checkout", "sdist") and not pathlib.Path(kind).is_file()]:
        parser.error(f"{' '.join(unknown)}: write checkout, sdist or the file of a wheel")
    for python in asked.python or [getattr(sys, "_base_executable", sys.executable)]:
        for kind in asked.kinds or ["checkout"]:
            with tempfile.TemporaryDirectory() as folder:
                check(python, kind, asked.pip, pathlib.Path(folder))


if __name__ == "__main__":
    main()
