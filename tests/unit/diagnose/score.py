"""Measures how often diagnose names the cause people found, and how often it calls a healthy run broken, on public threads and runs.

    score.py FABRICOST MEASUREMENTS [--all] [--left-out]

The cases are those of cases.py. MEASUREMENTS holds multinode/: diagnose/cases.csv and healthy.csv with their logs, sources.csv with logs/;
and second/multinode/ alike; without it the reports of threads.yaml are scored alone. The rules of slow runs were written with the cases of
the first in view, so its score is in sample; of the second 10 of 35 were right before it was read, of the reports 46 of 65 and of their
second batch 17 of 28, and what they taught that holds in general was added then. Of 182 further excerpts of public issues, judged one by
one, 87 were right, 63 in part and 32 wrong (those whose rules are new are batch 5, in sample); of 63 more that nobody had read, judged
after that, 37, 12 and 14, and the general forms of these were added as well. Of 81 more, of kinds that were rarely read (tables of MPI and
messages between two ends, stacks, schedulers, fabrics of AWS, Slingshot and Omni-Path), 50, 4 and 27 (batch 6 and what they taught are in
sample); of 41 read after that, 34 were right and 7 wrong. Of 40 of 2025 and 2026 more, 25 were right, 1 in part, 14 wrong, and 1 of 16
healthy ones was called sick; of 20 after what they taught (batch 9), 15, 2 and 3, and 2 of 13. Of 30 more 21 were right, of 17 of KV
transfer engines and launchers 8, of 12 after these 10 (those that were wrong are batch 10), and 5 of 53 healthy ones were called sick. Of
12 more 10 were right (batch 11: the other two), and none of 8 healthy ones was called sick. Of 46 more 29 were right, and none of 4
healthy ones was called sick (batch 12 and what they taught). Of 26 kept unread while 21 others taught rules 18 were right before and 19
after, of 11 more after that 9, and 1 of 13 healthy ones was called sick (batch 13: those that were wrong).
Of 35 kept unread while 34 of the same kinds taught rules, 24 were right before and 27 after, and 1 of 5 healthy ones was called sick
(batch 14: those of the 34 that were wrong). Of 25 kept unread while 26 of the same kinds taught rules (13 of these were right before, 23
after), 11 were right before and 13 after, and 1 of 12 healthy ones was called sick (batch 15: those of the 26 that were wrong);
of 17 read after that 11, and both of 2 healthy ones were called sick (batch 16: those of these 42 that were wrong).
Of 30 that were read, but not asked, while rules were taken from the messages of libraries, tools and drivers 20 were right before and 26
after, and none of 12 healthy ones was called sick; of 12 read after that 8 were right before and 10 after, and 1 of 2 healthy ones was
called sick.
The cross-validation leaves out counts, and the rules whose only source is a case of the fold; it, and the cases with what their owners
expected, run with --left-out alone. Prints one
line per case that is wrong (with --all every case) and fails below the bounds.
"""
import os
import sys
import tempfile

import cases
from cases import FINER, SICK, rows

# Bounds for cases read while the rules were written: they show a rule that breaks, not how good the rules are; UNSEEN shows that.
BOUNDS = {"confirmed": 0.70, "likely": 0.70, "expected": 0.70, "false alarms": 0.05}
UNSEEN = {"confirmed": 0.40, "likely": 0.40, "expected": 0.30, "false alarms": 0.10}
REPORTS = 0.98
LEFT_OUT = 0.60
FACTOR = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n}


def diagnose(tool, log, *options):
    found = cases.Case(log, (), file=log, options=options).diagnosed(tool)
    return found, "" if found else "refused"


def table_of(case):
    """The least log that shows a case's own figures: a rank list and one row."""
    nodes, local = int(case["nodes"] or 1), int(case["gpus_per_node"] or 8)
    n = nodes * local
    operation = case["operation"].strip()
    factor = FACTOR[operation](n)
    size = int(case["bytes"] or 8 << 30)
    bus = float(case["measured_busbw_GBps"])
    time = size / (bus / factor * 1e9) * 1e6
    gpu = "NVIDIA " + case["gpu"]
    lines = [f"# Collective test starting: {operation}_perf"]
    for r in range(n):
        lines.append(f"#  Rank {r:2d} Group  0 Pid {1000 + r} on node{r // local} device {r % local} [0x{16 + r % local:02x}] {gpu}")
    lines.append("#       size         count      type   redop    root     time   algbw   busbw #wrong")
    lines.append("#        (B)    (elements)                               (us)  (GB/s)  (GB/s)")
    lines.append(f"{size:12d} {size // 4:13d}     float     sum      -1 {time:10.1f} {bus / factor:7.2f} {bus:7.2f}      0")
    return "\n".join(lines) + "\n"


def shown(found):
    return ", ".join(f"{c['cause']} {c['confidence']:.2f}" for c in found["causes"][:3]) or "-"


def score_cases(tool, folder, verbose, told=False):
    """{group: [right, all]} over cases with a log; `told`: with what their owners expected in every case that says so."""
    out = {"confirmed": [0, 0], "likely": [0, 0]}
    as_predicted = 0
    for case in rows(os.path.join(folder, "cases.csv")):
        if not case["raw_file"]:
            continue
        group = "confirmed" if case["confirmed"] == "yes" else "likely"
        options = []
        if case["expected_busbw_GBps"] and (case["cause_class"] == "expected_value_wrong" or told):
            options = ["--expected", case["expected_busbw_GBps"] + " GB/s"]
        found, error = diagnose(tool, os.path.join(folder, case["raw_file"]), *options)
        named = [c["cause"] for c in found["causes"][:2]] if found else []
        right = any(cause == case["cause_class"] or cause in FINER.get(case["cause_class"], ()) for cause in named)
        if case["cause_class"] == "expected_value_wrong":
            right = right and found["state"] not in SICK
        out[group][0] += right
        as_predicted += bool(found) and found["state"] == "as_predicted" and case["cause_class"] != "expected_value_wrong"
        out[group][1] += 1
        if verbose or not right:
            print(f"{'ok  ' if right else 'miss'} {case['id']} {group:9} {case['cause_class']:22} {shown(found) if found else error[:100]}")
    print(f"broken runs called as predicted: {as_predicted}")
    return out


def score_expected(tool, folder, verbose):
    """Cases of wrong expectations that come without a log, on the log their figures make."""
    right = total = 0
    for case in rows(os.path.join(folder, "cases.csv")):
        known = case["measured_busbw_GBps"] and case["expected_busbw_GBps"] and case["operation"] in FACTOR and case["gpu"]
        if case["cause_class"] != "expected_value_wrong" or case["raw_file"] or not known:
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as log:
            log.write(table_of(case))
            log.flush()
            found, error = diagnose(tool, log.name, "--expected", case["expected_busbw_GBps"] + " GB/s")
        good = bool(found) and found["state"] not in SICK and "expected_value_wrong" in [c["cause"] for c in found["causes"][:2]]
        right += good
        total += 1
        if verbose or not good:
            print(f"{'ok  ' if good else 'miss'} {case['id']} expected  {case['gpu']} x {case['nodes']}: "
                  f"{(shown(found) + '; ' + found['verdict']) if found else error[:100]}")
    return [right, total]


def score_healthy(tool, multinode, verbose):
    """False alarms among healthy runs: [broken, all]."""
    folder = os.path.join(multinode, "diagnose")
    runs = [(case["id"], os.path.join(folder, case["raw_file"]), []) for case in rows(os.path.join(folder, "healthy.csv"))]
    for run in rows(os.path.join(multinode, "sources.csv")):
        log = os.path.join(multinode, "logs", run["id"] + ".txt")
        if run["health"] == "healthy" and os.path.exists(log):
            runs.append((run["id"], log, ["--system", run["system"]]))
    broken = 0
    for name, log, options in runs:
        found, error = diagnose(tool, log, *options)
        if not found:
            print(f"no answer {name}: {error[:160]}")
        elif found["state"] in SICK:
            broken += 1
            print(f"false alarm {name}: {shown(found)}; {found['verdict']}")
        elif verbose:
            print(f"ok   {name}: {found['verdict']}")
    return [broken, len(runs)]


def score(tool, multinode, bounds, verbose):
    """Prints the score of one collection; True when it falls below its bounds."""
    folder = os.path.join(multinode, "diagnose")
    scores = score_cases(tool, folder, verbose)
    scores["expected"] = score_expected(tool, folder, verbose)
    alarms = score_healthy(tool, multinode, verbose)
    failed = False
    for group, (right, total) in scores.items():
        print(f"{group:12} named first or second in {right} of {total} ({right / max(1, total):.0%}, at least {bounds[group]:.0%})")
        failed |= right < bounds[group] * total
    share = alarms[0] / max(1, alarms[1])
    print(f"false alarms {alarms[0]} of {alarms[1]} healthy runs ({share:.1%}, at most {bounds['false alarms']:.0%})")
    return failed or alarms[0] > bounds["false alarms"] * alarms[1]


def score_expecting(tool, folder, bounds, verbose):
    """The cases with what their owners expected, wherever it is known; True when too few are right."""
    told = score_cases(tool, os.path.join(folder, "diagnose"), verbose, told=True)
    right, total = (told["confirmed"][i] + told["likely"][i] for i in (0, 1))
    least = min(bounds["confirmed"], bounds["likely"])
    print(f"with --expected wherever a case has it: {right} of {total} ({right / max(1, total):.0%}, at least {least:.0%})")
    return right < least * total


def score_reports(tool, verbose):
    """Reports of failed runs, and harmless lines; True when too few are right."""
    right, total, failed = 0, 0, False
    for case in cases.threads():
        found = case.diagnosed(tool)
        good = case.right(found)
        if verbose or not good:
            print(f"{'ok  ' if good else 'miss'} {case.name} {sorted(case.causes)}: {shown(found) if found else 'refused'}")
        if case.causes:
            right, total = right + good, total + 1
            failed |= found is not None and found["state"] == "as_predicted"
        else:
            failed |= not good
    print(f"reports      named first or second in {right} of {total} ({right / total:.0%}, at least {REPORTS:.0%})")
    return failed or right < REPORTS * total


def score_left_out(tool, measurements):
    """The cross-validation; True when too few are right."""
    sys.argv = [sys.argv[0], tool, measurements]
    import weigh
    every = cases.every(measurements)
    text, share = weigh.left_out(tool, every, cases.data_folder())
    print("left out:    " + text)
    return share < LEFT_OUT


def main():
    tool, measurements = sys.argv[1], sys.argv[2]
    verbose = "--all" in sys.argv
    left_out = "--left-out" in sys.argv
    failed = score_left_out(tool, measurements) if left_out else score_reports(tool, verbose)
    second = os.path.join(measurements, "second", "multinode")
    for title, folder, bounds in (("Read after the rules of failures were written", second, UNSEEN),
                                  ("Read while the rules were written", os.path.join(measurements, "multinode"), BOUNDS)):
        if not os.path.exists(os.path.join(folder, "diagnose", "cases.csv")):
            print(f"left out: {folder}/diagnose is not there (the public cases are no part of the project)")
            continue
        print(f"\n{title}: {folder}\n")
        failed |= (score_expecting if left_out else score)(tool, folder, bounds, verbose)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
