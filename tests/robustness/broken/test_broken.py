#!/usr/bin/env python3
"""Broken inputs through the command: each is refused with exit 2, nothing on stdout, and a message that names place, value and remedy.

    python3 test_broken.py PATH/TO/fabricost [PART_OF_A_NAME...]

cases.yaml lists them: `run`, the arguments; `files`, what lies in the folder the command runs in, as text or as pieces of which one may
be repeated; `says`, what the message must hold. A path named ./KIND.yaml in `run` is made by `make` below. No case may take more than
5 s of processor time or 1 GB of memory, or leave anything in the folder. Cases that need a user without root's rights say why they skip.
"""
import os
import pathlib
import shlex
import signal
import socket
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("skipped: PyYAML is missing, and the cases are a YAML file")
    sys.exit(77)

HANGS_AFTER = 120  # s of wall-clock time; other programs may run
NOBODY = 65534


def written(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def text_of(pieces, texts):
    """A text, or pieces {repeat: TEXT, times: N}; `texts` by name stand for themselves as {{NAME}}."""
    if not isinstance(pieces, str):
        return "".join(p if isinstance(p, str) else p["repeat"] * p["times"] for p in pieces)
    for name, text in texts.items():
        pieces = pieces.replace("{{" + name + "}}", text)
    return pieces


def socket_at(path):
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path.name)
    os.chdir(here)


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(3 << 30)


def unreadable(path):
    written(path, "extends: dgx-h100\n")
    path.chmod(0)


MAKE = {
    "directory": pathlib.Path.mkdir,
    "fifo": os.mkfifo,
    "zero": lambda path: path.symlink_to("/dev/zero"),
    "missing": lambda path: None,
    "unreadable": unreadable,
    "sparse": sparse,
    "binary": lambda path: written(path, bytes(range(256)) * 8),
    "nul": lambda path: written(path, b"name: a\0b\n"),
    "latin1": lambda path: written(path, "title: Gerät\n".encode("latin-1")),
    "utf16": lambda path: written(path, "name: a\n".encode("utf-16")),
    "socket": socket_at,
}


def contents(folder):
    """The entries of a folder: names, kinds, sizes, times of change."""
    return {entry.name: (entry.stat(follow_symlinks=False).st_mode, entry.stat(follow_symlinks=False).st_size,
                         entry.stat(follow_symlinks=False).st_mtime_ns) for entry in os.scandir(folder)}


def run(tool, arguments, folder, user):
    """Exit status, stdout, stderr, seconds of processor time, most MB of memory."""
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    with tempfile.TemporaryDirectory() as counts:  # which lines ran, of a program that counts them and may not write where it was built
        os.chmod(counts, 0o777)
        environment = os.environ if user is None else {**os.environ, "GCOV_PREFIX": counts}
        process = subprocess.Popen([tool, *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   user=user)
        signal.alarm(HANGS_AFTER)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            signal.alarm(0)
    process.returncode = os.waitstatus_to_exitcode(status)
    out.seek(0), err.seek(0)
    return (process.returncode, out.read().decode(errors="replace"), err.read().decode(errors="replace"),
            usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def faults_of(tool, case, texts, user):
    """The faults in how the command took one case."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        for file, pieces in case.get("files", {}).items():
            written(folder / file, text_of(pieces, texts))
        for kind, make in MAKE.items():
            if f"./{kind}.yaml" in case["run"]:
                make(folder / f"{kind}.yaml")
        before = contents(folder)
        status, out, err, seconds, megabytes = run(tool, shlex.split(case["run"]), folder, user)
        faults = []
        if status != 2:
            faults.append(f"exit {status}, not 2")
        if out:
            faults.append(f"stdout: {out[:200]!r}")
        if not err.endswith("\n") or "internal error" in err or len(err) > 20_000:
            faults.append(f"a message of {len(err)} characters: {err[:200]!r}")
        faults += [f"does not say {part!r}: {err[:600]!r}" for part in case["says"] if part not in err]
        if seconds > 5:
            faults.append(f"{seconds:.1f} s of processor time")
        if megabytes > 1000:
            faults.append(f"{megabytes:.0f} MB of memory")
        if contents(folder) != before:
            faults.append(f"left in the folder: {sorted(contents(folder))}")
        return faults


def hangs(_signal, _frame):
    raise TimeoutError(f"no end after {HANGS_AFTER} s")


def runs_as(user, tool):
    """Whether another user can run the command: not in a checkout below /root."""
    try:
        return subprocess.run([tool, "--version"], user=user, capture_output=True, check=False).returncode == 0
    except PermissionError:
        return False


def main(tool, parts):
    table = yaml.safe_load((pathlib.Path(__file__).parent / "cases.yaml").read_text(encoding="utf-8"))
    signal.signal(signal.SIGALRM, hangs)
    names = [case["name"] for case in table["cases"]]
    assert len(set(names)) == len(names), "two cases of one name"
    assert len(names) >= 40, f"{len(names)} cases are fewer than 40"
    failed = tried = skipped = 0
    for case in table["cases"]:
        if parts and not any(part in case["name"] for part in parts):
            continue
        user = None
        if "./unreadable.yaml" in case["run"] and os.geteuid() == 0:
            user = NOBODY  # root reads everything
            if not runs_as(user, tool):
                print(f"skipped: {case['name']}: root reads everything, and another user cannot run {tool}")
                skipped += 1
                continue
        tried += 1
        for fault in faults_of(tool, case, table["texts"], user):
            failed += 1
            print(f"FAILED {case['name']}: fabricost {case['run'][:200]}\n    {fault}")
    print(f"{tried} broken inputs, {skipped} skipped, {failed} faults")
    return 1 if failed or tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
