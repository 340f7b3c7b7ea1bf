"""Counts in how many labelled cases each rule of diagnose was right, and writes data/diagnosis/weights.yaml.

    weigh.py FABRICOST [MEASUREMENTS] [--write]

The cases are those of cases.py: reports of failed runs (threads.yaml) and, where MEASUREMENTS is there, complaints and healthy
runs. Without --write it prints the cross-validation: five folds, in each of which the counts, and the rules whose only source
is a case of the fold, are left out; for the weights as written and for the counted ones.
"""
import collections
import os
import sys

import cases

HEAD = """# In how many labelled cases a rule held and its cause was the confirmed one (right), or was not (wrong; healthy runs among
# them). A rule's weight is (right + n w) / (right + wrong + n), w the weight that it states and n `cases_of_a_weight` of comparison.yaml.
# Written by tests/unit/diagnose/weigh.py FABRICOST MEASUREMENTS --write
name: weights
title: How often rules were right
source: "tests/unit/diagnose/threads.yaml and the complaints and healthy runs of tests/unit/diagnose/score.py, counted"
confidence: measured
order: 41
"""


def count(found):
    """{rule: [right, wrong]} over answers with their cases."""
    out = collections.defaultdict(lambda: [0, 0])
    for case, answer in found:
        for rule in {r["rule"]: r for r in answer.get("rules", ())}.values():
            out[rule["rule"]][rule["cause"] not in case.causes] += 1
    return out


def lines_of(found):
    rows = [f"- {{rule: {rule}, right: {right}, wrong: {wrong}}}\n" for rule, (right, wrong) in sorted(count(found).items())]
    return "counted:\n" + "".join(rows) if rows else ""


def answers(tool, every, data):
    """[(case, its answer)] with the weights as they are written."""
    with cases.changed(data, {"weights.yaml": HEAD + lines_of([])}) as plain:
        return [(case, answer) for case in every if (answer := case.diagnosed(tool, plain)) is not None]


def left_out(tool, every, data, counted=True):
    """The cross-validation, in words and as the share of broken runs that are right."""
    found = answers(tool, every, data) if counted else []
    return cases.cross_validated(tool, every, data, lambda some: HEAD + lines_of(some if counted else []), found)


def main():
    tool = sys.argv[1]
    measurements = next((a for a in sys.argv[2:] if not a.startswith("--")), "")
    every = cases.every(measurements)
    data = cases.data_folder()
    if "--write" in sys.argv:
        lines = lines_of(answers(tool, every, data))
        with open(os.path.join(data, "diagnosis", "weights.yaml"), "w", encoding="utf-8") as file:
            file.write(HEAD + lines)
        print(f"{max(0, len(lines.splitlines()) - 1)} rules of {len(every)} cases")
        return
    for title, counted in (("weights as written", False), ("weights counted", True)):
        print(f"{title}: {left_out(tool, every, data, counted)[0]}")


if __name__ == "__main__":
    main()
