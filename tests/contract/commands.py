#!/usr/bin/env python3
"""Compares the command with what is kept of its answers: numbers, refusals, and some whole texts.

    commands.py FABRICOST [GROUP...]                  compare; without groups all of them
    commands.py FABRICOST [GROUP...] --write          keep what it answers now
    commands.py FABRICOST [GROUP...] --against OTHER  compare two builds of the command instead, in full, and show what differs

Command lines are written as in a shell behind the word `fabricost`:

    numbers.tsv        command lines and values in their JSON (table.py says which); one without JSON answers a text and nothing else. Groups:
                       `answers`, `measurements` for those that read the measurements, or the first word, as `predict`
    refusals.tsv       group `refusals`: command lines that end with exit status 2, and the first line of what they say
    snapshots/*.txt    group `snapshots`: a command line in the first line behind `$ `, and all that it prints and writes

Every command runs in an empty folder of its own with links to `data`, `files` (beside this script), `corpus` (tests/robustness/fuzz/corpus)
and `measurements` (those beside the source tree, or $FABRICOST_MEASUREMENTS); commands that name the last are skipped where there are
none, and when nothing else is left the exit status is 77. With ASAN_OPTIONS set it runs every fourth command.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import table
from table import HERE

MEASUREMENTS = pathlib.Path(os.environ.get("FABRICOST_MEASUREMENTS", table.ROOT.parent / "shared" / "measurements")).resolve()
LINKS = {**table.LINKS, "measurements": MEASUREMENTS}
NUMBERS = HERE / "numbers.tsv"
ALL = ["answers", "measurements", "refusals", "snapshots"]
SKIPPED = 77
ONE_OF = 4 if "ASAN_OPTIONS" in os.environ else 1  # a build with sanitizers takes some twenty times as long for each command
PLAIN_SURROUNDINGS = {k: v for k, v in os.environ.items()
                      if k in ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")}
DIFFERS = [(r'(?m)^  "seconds": [-\d.e+]+', '  "seconds": null'),  # the time a search took
           (r"(?m)(?<=; )\d+\.\d+ s$", "SECONDS s"), (r"fabricost \d+\.\d+\.\d+[^\s,;)\"]*", "fabricost VERSION")]


def listed(group):
    """The command lines of a group."""
    if group == "refusals":
        return [line.split("\t")[0] for line in (HERE / "refusals.tsv").read_text(encoding="utf-8").splitlines()]
    if group == "snapshots":
        return list(snapshots())
    lines = [line for question in table.read(NUMBERS) for line in table.asked(question)]
    twice = {line for line in lines if lines.count(line) > 1}
    assert not twice, f"listed twice: {sorted(twice)}"
    if group in ALL:
        return [line for line in lines if measured(line) == (group == "measurements")]
    return [line for line in lines if line.split()[0] == group]


def measured(line):
    """Whether it reads the measurements beside the source tree."""
    return "measurements/" in line.replace("data/measurements/", "")


def snapshots():
    """{command line: file} of the snapshots."""
    files = {}
    for path in sorted((HERE / "snapshots").glob("*.txt")):
        title = path.read_text(encoding="utf-8", errors="surrogateescape").split("\n")[0]
        assert title.startswith("$ ") and title[2:] not in files, f"{path.name}: {title}"
        files[title[2:]] = path
    return files


def answered(tool, line):
    """Exit status and texts of a command: stdout, stderr, and the files it wrote by name."""
    with tempfile.TemporaryDirectory() as folder:
        for name, target in LINKS.items():
            if target.exists():
                os.symlink(target, os.path.join(folder, name))
        done = subprocess.run([tool, *shlex.split(line)], cwd=folder, capture_output=True, timeout=300, stdin=subprocess.DEVNULL,
                              env=PLAIN_SURROUNDINGS)
        written = [path for path in pathlib.Path(folder).rglob("*") if path.is_file() and path.relative_to(folder).parts[0] not in LINKS]
        files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(written)}
    out, errors, *files_now = (table.plain(text.decode("utf-8", "surrogateescape"), DIFFERS)
                               for text in (done.stdout, done.stderr, *files.values()))
    return done.returncode, out, errors, dict(zip(files, files_now))


def whole(line, answer):
    """An answer as text, its command line first: stdout, then stderr behind `! `, then each file that it wrote behind `> NAME: `."""
    status, out, errors, files = answer
    lines = ["$ " + line] + ([f"= exit {status}"] if status else [])
    for sign, text in [("", out), ("! ", errors), *((f"> {name}: ", text) for name, text in files.items())]:
        lines += [sign + line for line in text.splitlines()] + (["(no newline at the end)"] if text and not text.endswith("\n") else [])
    return "\n".join(line.rstrip(" ") for line in lines) + "\n"


def compared(group, answers, written):
    """What differs of {command line: answer} from what is kept, as lines."""
    if group == "snapshots":
        out, files = [], snapshots()
        for line, answer in answers.items():
            known, now = files[line].read_text(encoding="utf-8", errors="surrogateescape"), whole(line, answer)
            if written:
                files[line].write_text(now, encoding="utf-8", errors="surrogateescape")
            elif known != now:
                out += table.difference(files[line].name, known, now, "was", "is")
        return out
    if group == "refusals":
        now = {line: errors.split("\n")[0] for line, (_, _, errors, _) in answers.items()}
        out = table.compare_refusals(HERE / "refusals.tsv", now, listed(group), written)
        return out + [f"{line}: exit status {status} with {len(text)} characters is no refusal"
                      for line, (status, text, errors, _) in answers.items() if status != 2 or text or not errors]
    out = [f"{line}: no answer: exit status {status}, {len(text)} characters, stderr: {errors.strip()}"
           for line, (status, text, errors, _) in answers.items() if status or errors or not text]
    values = {line: json.loads(text) for line, (_, text, _, _) in answers.items() if line.endswith(" --json") and text}
    return out + table.compare(NUMBERS, values, written)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("tool")
    parser.add_argument("groups", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--against")
    told = parser.parse_args()
    groups = told.groups or ALL
    tool, other = os.path.abspath(told.tool), told.against and os.path.abspath(told.against)
    lines = {group: listed(group) for group in groups}
    left_out = {line for group in groups for line in lines[group] if measured(line)} if not MEASUREMENTS.is_dir() else set()
    if other:  # an answer in JSON has a text, too
        lines = {"": list(dict.fromkeys(one for group in groups for line in lines[group] for one in (line, line.removesuffix(" --json"))))}
    changed, ran = [], 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        asked = {group: {line: (pool.submit(answered, tool, line), other and pool.submit(answered, other, line))
                         for line in of[::ONE_OF] if line not in left_out} for group, of in lines.items()}
        for group, answers in asked.items():
            ran += len(answers)
            if other:
                for line, both in answers.items():
                    ours, theirs = (whole(line, one.result()) for one in both)
                    if ours != theirs:
                        changed.append(line)
                        print("\n".join(table.difference(line, theirs, ours, "other", "this")))
            else:
                changed += compared(group, {line: ours.result() for line, (ours, _) in answers.items()}, told.write)
    if left_out:
        print(f"skipped: {len(left_out)} commands read measurements, and there are none at {MEASUREMENTS}")
    if other:
        print(f"{ran} commands, {len(changed)} differ")
        return 1 if changed else 0
    return table.report(changed, ran, "commands", told.write) or (SKIPPED if left_out and not ran else 0)


if __name__ == "__main__":
    sys.exit(main())
