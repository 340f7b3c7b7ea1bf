#!/usr/bin/env python3
"""Changes one operator of the model at a time and asks whether the tests notice.

    run.py BUILD [--sample N] [--seed S] [--jobs J] [--files price/ring.hpp ...] [--of core|plan|observe ...] [--again]

BUILD is a folder for the instrumented copy (a first build takes some ten minutes on two cores); the interpreter needs libclang.
Every mutant of price/, algorithms/ and
choice/ (or, with --of, of the planner, or of what reads logs and traces) that some test case comes past is run against those test cases, the quickest first, until one fails. Prints the share that was
noticed, and each survivor; exit status 1 below 85 %, or when a survivor is not in survivors.csv with the reason why no test can or need
notice it. A survivor is named by file, text of its line, and change, so that the list lives through edits elsewhere.
"""

import argparse
import concurrent.futures
import csv
import os
import random
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
# folders, and the programs that are asked
PARTS = {
    "core": (["include/fabricost/price", "include/fabricost/algorithms", "include/fabricost/choice"],
             ["test_algorithms", "test_price", "test_choice", "test_simulator", "test_predict", "test_flow_oracle", "test_custom_allreduce",
              "test_calibrate", "test_tune", "test_moe_kernels", "test_network"]),
    "plan": ([f"{place}/plan/{folder}" for folder in ("training", "serving", "economics", "memory", "pipeline", "rl", "network", "kernels")
              for place in ("include/fabricost", "src")],
             ["test_plan", "test_serving", "test_workload", "test_memory", "test_physics", "test_cost", "test_reliability", "test_project",
              "test_pipeline", "test_rl", "test_network", "test_flow_oracle", "test_moe_kernels", "test_custom_allreduce", "test_need"]),
    "observe": (["src/observe/diagnose", "src/observe/trace"], ["test_diagnose", "test_trace"]),
}
LEAST = 0.85  # of the mutants that tests come past


def say(*words):
    print(*words, flush=True)


def instrumented(build, compiler, folders, programs):
    """The project with mutants in these folders, built in BUILD/tree/build; what did not change keeps its time stamp."""
    tree = os.path.join(build, "tree")
    os.makedirs(tree, exist_ok=True)
    for name in ["tests", "examples", "cmake", "data", "docs", "CMakeLists.txt", "README.md"]:
        link = os.path.join(tree, name)
        if not os.path.islink(link):
            os.symlink(os.path.join(ROOT, name), link)
    shared = os.path.join(build, "shared")
    if not os.path.islink(shared) and os.path.isdir(os.path.join(ROOT, "..", "shared")):
        os.symlink(os.path.realpath(os.path.join(ROOT, "..", "shared")), shared)
    fresh, out = os.path.join(build, "new"), os.path.join(tree, "build")
    for name in ("include", "src"):
        if not os.path.isdir(os.path.join(tree, name)):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(tree, name))
    subprocess.run(["cmake", "-S", tree, "-B", out, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1",
                    f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_UNITY_BUILD=ON", "-DFABRICOST_BUILD_TOOL=OFF", "-DFABRICOST_BUILD_EXAMPLES=OFF",
                    "-DFABRICOST_INSTALL=OFF"], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(fresh, ignore_errors=True)
    for name in ("include", "src"):
        shutil.copytree(os.path.join(ROOT, name), os.path.join(fresh, name))
    subprocess.run([sys.executable, os.path.join(HERE, "instrument.py"), ROOT, os.path.join(out, "include"), fresh, *folders], check=True)
    for name in ("include", "src"):
        update(os.path.join(fresh, name), os.path.join(tree, name))
    subprocess.run(["cmake", "--build", out, "--target", *programs], check=True)
    return out


def update(source, target):
    """Copies what differs and removes what is gone."""
    for folder, _, files in os.walk(source):
        there = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(there, exist_ok=True)
        for name in set(os.listdir(there)) - set(files) - set(os.listdir(folder)):
            gone = os.path.join(there, name)
            (shutil.rmtree if os.path.isdir(gone) else os.remove)(gone)
        for name in files:
            old, new = os.path.join(there, name), os.path.join(folder, name)
            if not os.path.exists(old) or open(old, "rb").read() != open(new, "rb").read():
                shutil.copyfile(new, old)


def find(out, program):
    for folder, _, files in os.walk(out):
        if program in files and os.access(os.path.join(folder, program), os.X_OK):
            return os.path.join(folder, program)
    raise SystemExit(f"{program} was not built")


def runs(program, case, environment, limit):
    """True when the case passes."""
    name = case.replace("\\", "\\\\").replace(",", "\\,").replace("[", "\\[")
    try:
        done = subprocess.run([program, name, "--abort"], env={**os.environ, **environment}, timeout=limit, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def survey(out, build, programs):
    """Every test case: (seconds, program, name, mutants it comes past)."""
    cases = []
    seen = os.path.join(build, "reached.txt")
    for program in programs:
        path = find(out, program)
        names = subprocess.run([path, "--list-test-names-only"], capture_output=True, text=True, check=False).stdout.splitlines()
        for name in filter(None, names):
            start = time.monotonic()
            if not runs(path, name, {"FABRICOST_MUTANT": "0", "FABRICOST_MUTANTS_REACHED": seen}, 600):
                raise SystemExit(f"{program} \"{name}\" fails without any mutant")
            with open(seen, encoding="utf-8") as file:
                reached = {int(line) for line in file}
            cases.append((time.monotonic() - start, path, name, reached))
    return sorted(cases, key=lambda c: c[0])


def noticed_by(mutant, cases):
    for seconds, program, name, reached in cases:
        if mutant in reached and not runs(program, name, {"FABRICOST_MUTANT": str(mutant)}, 10 * seconds + 5):
            return f"{os.path.basename(program)}: {name}"
    return ""


def noticed_before(result, mutants):
    """{number: test case} of the last run, which was of the same mutants."""
    with open(result, encoding="utf-8", newline="") as file:
        last = {row["number"]: row for row in csv.DictReader(file)}
    if any(key(last[m["number"]]) != key(m) for m in mutants if m["number"] in last):
        raise SystemExit("the headers have changed since the last run: run without --again")
    return {number: row["noticed_by"] for number, row in last.items()}


def key(row):
    return row["file"], row["text"], row["from"], row["to"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--sample", type=int, default=0, help="this many mutants, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--files", nargs="*", default=[], help="only mutants of these headers")
    parser.add_argument("--of", choices=PARTS, nargs="+", default=["core"])
    parser.add_argument("--again", action="store_true", help="try only what survived the last run of the same mutants and is not explained")
    parser.add_argument("--compiler", default="g++")
    asked = parser.parse_args()
    build = os.path.abspath(asked.build)
    folders = [folder for part in asked.of for folder in PARTS[part][0]]
    programs = sorted({program for part in asked.of for program in PARTS[part][1]})
    out = instrumented(build, asked.compiler, folders, programs)
    with open(os.path.join(build, "new", "mutants.csv"), encoding="utf-8", newline="") as file:
        mutants = [row for row in csv.DictReader(file) if not asked.files or any(row["file"].endswith(f) for f in asked.files)]
    with open(os.path.join(HERE, "survivors.csv"), encoding="utf-8", newline="") as file:
        known = {key(row): row["why"] for row in csv.DictReader(file)}
    asked_of = {folder.removeprefix("include/") for folder in folders}
    gone = [row for row in known if not asked.files and os.path.dirname(row[0]) in asked_of and row not in map(key, mutants)]
    if gone:
        raise SystemExit("survivors.csv explains what is no longer there: " + "; ".join(" ".join(row) for row in gone))
    say(f"{len(mutants)} mutants; which test case comes past which?")
    cases = survey(out, build, programs)
    say(f"{len(cases)} test cases, {sum(c[0] for c in cases):.0f} s")
    if asked.sample and asked.sample < len(mutants):
        mutants = random.Random(asked.seed).sample(mutants, asked.sample)
        say(f"{len(mutants)} of them, drawn with seed {asked.seed}")
    reached = set().union(*(c[3] for c in cases))
    before = noticed_before(os.path.join(build, "result.csv"), mutants) if asked.again else {}
    survivors = []
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool, \
            open(os.path.join(build, "result.csv"), "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([*mutants[0], "noticed_by"])

        def try_out(m):
            if before.get(m["number"]):
                return before[m["number"]]
            explained = asked.again and key(m) in known
            return noticed_by(int(m["number"]), cases) if int(m["number"]) in reached and not explained else ""

        tried = pool.map(try_out, mutants)
        for done, (m, by) in enumerate(zip(mutants, tried), start=1):
            rows.writerow([*m.values(), by])
            file.flush()
            if not by:
                survivors.append(m)
            if done % 50 == 0:
                say(f"{done} of {len(mutants)}, {len(survivors)} survive so far")
    new = 0
    for m in survivors:
        why = known.get(key(m), "")
        new += not why
        past = "" if int(m["number"]) in reached else " (no test comes past it)"
        say(f"{m['file']}:{m['line']}:{m['column']}: {m['from']} -> {m['to']} survives{past}: {why or 'NOT EXPLAINED'}\n    {m['text']}")
    share = 1 - len(survivors) / len(mutants)
    say(f"{len(mutants) - len(survivors)} of {len(mutants)} mutants noticed, {100 * share:.1f} %; {len(survivors)} survive, "
        f"{new} of them unexplained")
    return 0 if share >= LEAST and new == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
