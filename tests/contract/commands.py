#!/usr/bin/env python3
"""Compares the command with its recording, byte for byte: stdout, stderr, exit status, and the files it writes.

    commands.py FABRICOST [GROUP...]                  compare; without groups all of them
    commands.py FABRICOST [GROUP...] --diff           and show what changed
    commands.py FABRICOST [GROUP...] --write          record again
    commands.py FABRICOST [GROUP...] --against OTHER  compare two builds of the command instead, in full, and show what differs

commands/GROUP.txt lists command lines, one a line, written as in a shell behind the word `fabricost`; `[--json]` at the end of a line
stands for two, one without and one with --json. recorded/GROUP.txt is what each printed (recorded.py says how it is kept). Every command
runs in an empty folder of its own with links to `data`, `files` (beside this script), `corpus` (tests/robustness/fuzz/corpus) and
`measurements` (those beside the source tree, or $FABRICOST_MEASUREMENTS); commands that name the last are skipped where there are
none, and when nothing else is left the exit status is 77. With ASAN_OPTIONS set it runs every fourth command.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import recorded

HERE = pathlib.Path(__file__).resolve().parent
MEASUREMENTS = pathlib.Path(os.environ.get("FABRICOST_MEASUREMENTS", recorded.ROOT.parent / "shared" / "measurements")).resolve()
LINKS = {"data": recorded.ROOT / "data", "files": HERE / "files", "corpus": recorded.ROOT / "tests" / "robustness" / "fuzz" / "corpus",
         "measurements": MEASUREMENTS}
SKIPPED = 77
ONE_OF = 4 if "ASAN_OPTIONS" in os.environ else 1  # a build with sanitizers takes some twenty times as long for each command
PLAIN_SURROUNDINGS = {k: v for k, v in os.environ.items()
                      if k in ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")}
DIFFERS = [(r'"seconds": [-\d.e+]+', '"seconds": SECONDS'),  # the time a search took
           (r"(?m)(?<=; )\d+\.\d+ s$", "SECONDS s"), (r"fabricost \d+\.\d+\.\d+[^\s,;)\"]*", "fabricost VERSION")]


def listed(group):
    """The command lines of a group."""
    out = []
    for line in (HERE / "commands" / f"{group}.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            both = line.endswith(" [--json]")
            out += [line.removesuffix(" [--json]"), *([line.removesuffix(" [--json]") + " --json"] if both else [])]
    twice = {line for line in out if out.count(line) > 1}
    assert not twice, f"{group}: listed twice: {sorted(twice)}"
    return out


def printed(tool, line):
    """The output of a command, as lines after a sign: none stdout, `!` stderr, `>` a file it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        for name, target in LINKS.items():
            if target.exists():
                os.symlink(target, os.path.join(folder, name))
        done = subprocess.run([tool, *shlex.split(line)], cwd=folder, capture_output=True, timeout=300, stdin=subprocess.DEVNULL,
                              env=PLAIN_SURROUNDINGS)
        out = [f"= exit {done.returncode}"] if done.returncode else []
        texts = [("", done.stdout), ("! ", done.stderr)]
        written = [path for path in pathlib.Path(folder).rglob("*") if path.is_file() and path.relative_to(folder).parts[0] not in LINKS]
        for path in sorted(written):
            texts.append((f"> {path.relative_to(folder)}: ", path.read_bytes()))
    for sign, text in texts:
        text = recorded.plain(text.decode("utf-8", "surrogateescape"), DIFFERS)
        out.append((sign, text))
    return out


def lines_of(parts, whole=False):
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        else:
            sign, text = part
            out += [sign + line for line in (text.splitlines() if whole else recorded.body(text))]
    return out


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("tool")
    parser.add_argument("groups", nargs="*")
    parser.add_argument("--diff", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--against")
    told = parser.parse_args()
    recorded.prove_that_it_can_fail()
    groups = told.groups or sorted(path.stem for path in (HERE / "commands").glob("*.txt"))
    tool = os.path.abspath(told.tool)
    changed, where, ran, left_out = [], [], 0, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        asked = {}
        for group in groups:
            lines = listed(group)
            skipped = [line for at, line in enumerate(lines) if at % ONE_OF or
                       "measurements/" in line.replace("data/measurements/", "") and not MEASUREMENTS.is_dir()]
            left_out += len(skipped)
            answers = {line: (pool.submit(printed, tool, line), told.against and pool.submit(printed, os.path.abspath(told.against), line))
                       for line in lines if line not in skipped}
            asked[group] = (answers, skipped)
        for group, (answers, skipped) in asked.items():
            ran += len(answers)
            if told.against:
                for line, (ours, theirs) in answers.items():
                    texts = [recorded.entry(line, lines_of(answer.result(), whole=True)) for answer in (theirs, ours)]
                    if texts[0] != texts[1]:
                        changed.append(line)
                        recorded.show(line, *texts, "other", "this")
                continue
            now = {line: recorded.entry(line, lines_of(ours.result())) for line, (ours, _) in answers.items()}
            changed += (new := recorded.compare(group, now, told.write, told.diff, skipped))
            where += [group] if new else []
    if left_out:
        print(f"skipped: {left_out} commands read measurements, and there are none at {MEASUREMENTS}")
    if changed and not told.against:
        print(f"\n{len(changed)} of {ran} commands no longer print what is recorded.")
        recorded.advise(f"{told.tool} {' '.join(where)}")
    else:
        print(f"{ran} commands, " + (f"{len(changed)} differ" if told.against else "recorded" if told.write else "all as recorded"))
    return 1 if changed else SKIPPED if left_out and not ran else 0


if __name__ == "__main__":
    sys.exit(main())
