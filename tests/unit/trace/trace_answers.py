"""Shared parts of the checks of `fabricost trace`: its answer as a dict, rows of one operation, closeness."""
import json
import sys

from command import Command

COMMAND = Command(sys.argv[1], "trace")
MIB = 1 << 20


def found(*words):
    return json.loads(COMMAND.works(*map(str, words), "--json")) | {"question": ""}


def rows(answer, operation):
    return [row for row in answer["collectives"] if row["operation"] == operation]


def near(value, truth, part=1e-6):
    assert abs(value - truth) <= part * abs(truth), (value, truth)
