"""Checks that hold for any tree fabricost was installed into: used by installed.py and packages.py."""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
QUESTION = ["predict", "all_reduce", "--system", "dgx-h100", "--ranks", "8", "--size", "256MiB", "--json"]


def run(*words, cwd=None, **env):
    """The output of a command; ends the test with its messages if it fails. FABRICOST_DATA of the caller is not seen."""
    outside = {k: v for k, v in os.environ.items() if k != "FABRICOST_DATA"}
    env = outside | {k: str(v) for k, v in env.items()}
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, cwd=cwd, env=env)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def files(folder):
    return sorted(p.relative_to(folder).as_posix() for p in pathlib.Path(folder).rglob("*") if not p.is_dir())


def holds_everything(prefix, build):
    """Each header and each file of data, the command, the library, the package files."""
    held = set(files(prefix))
    wanted = {"include/" + p for p in files(SOURCE / "include")} | {"include/fabricost/version.hpp", "bin/fabricost"}
    wanted |= {"share/fabricost/data/" + p for p in files(SOURCE / "data")}
    if missing := wanted - held:
        sys.exit(f"{prefix} lacks {', '.join(sorted(missing)[:5])}")
    for pattern in ("**/libfabricost.*", "**/libfabricost_core.*", "**/cmake/fabricost/fabricost-config.cmake", "**/cmake/fabricost/fabricost-targets.cmake",
                    "**/pkgconfig/fabricost.pc"):
        if not list(prefix.glob(pattern)):
            sys.exit(f"{prefix} has no {pattern}")
    names_no_builder(prefix, build)


def names_no_builder(folder, build):
    """No installed file holds the path of the checkout or of the build tree."""
    for path in (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()):
        content = path.read_bytes()
        for place in (build, SOURCE):
            if os.fsencode(place) in content:
                sys.exit(f"{path.relative_to(folder)} names {place}, a folder of the machine that built it")


def command_answers(prefix):
    """The command finds its data from wherever it stands; returns what it answered."""
    command = prefix / "bin/fabricost"
    answer = run(command, *QUESTION, cwd="/")
    if "dgx-h100" not in run(command, "systems", cwd="/"):
        sys.exit(f"{command} systems does not know dgx-h100")
    return answer


def compiler():
    return shlex.split(os.environ.get("CXX", "c++"))


def consumer_by_cmake(prefix, place):
    """find_package against the tree; the program finds the tree's data although it stands elsewhere."""
    shutil.rmtree(place, ignore_errors=True)
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    run("cmake", "-S", SOURCE / "tests/packaging/consumers/find_package", "-B", place, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={compiler()[0]}", "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF", *launcher)
    run("cmake", "--build", place)
    return run(place / "consumer", cwd="/").strip()


def consumer_by_pkg_config(prefix, place, library_path=()):
    """pkg-config against the tree, nothing else said."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    [found] = prefix.glob("**/pkgconfig/fabricost.pc")
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "fabricost", PKG_CONFIG_PATH=found.parent))
    run(*compiler(), "-std=c++20", SOURCE / "tests/packaging/consumers/main.cpp", "-o", place / "consumer", *flags)
    return run(place / "consumer", cwd="/", LD_LIBRARY_PATH=":".join(map(str, library_path))).strip()
