"""Labelled cases of diagnose, for score.py and weigh.py: reports of failed runs (threads.yaml), complaints and healthy runs."""
import contextlib
import csv
import hashlib
import json
import os
import re
import subprocess
import tempfile

import yaml

try:  # reads the rules once for all cases; without the package each is a process
    import fabricost
except ImportError:
    fabricost = None

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDS = 5
# Cases name the classes of slow runs; causes of failures are finer than their "other".
FINER = {"other": {"fabric_manager", "imex", "gpu_fault", "gpu_memory", "host_memory", "locked_memory", "bootstrap_network", "link_failed",
                   "collective_mismatch", "rank_lost", "version_mismatch", "launch_mistake", "program_error", "plugin_missing",
                   "driver_mismatch"}}
SICK = ("failed", "slow")


class Case:
    """One log with its confirmed causes; none: a healthy run."""

    def __init__(self, name, causes, log="", file="", options=(), group=""):
        self.name, self.causes, self.log, self.file, self.options, self.group = name, set(causes), log, file, list(options), group
        for cause in causes:
            self.causes |= FINER.get(cause, set())
        self.fold = int(hashlib.sha256(name.encode()).hexdigest(), 16) % FOLDS

    def diagnosed(self, tool, data=None):
        """The answer; None where the file is refused."""
        environment = os.environ | ({"FABRICOST_DATA": data} if data else {})
        with contextlib.ExitStack() as stack:
            file = self.file
            if not file:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                file = os.path.join(folder, "run.log")
                with open(file, "w", encoding="utf-8") as out:
                    out.write(self.log + "\n")
            if fabricost and not data:
                words = {option.removeprefix("--"): value for option, value in zip(self.options[::2], self.options[1::2])}
                try:
                    return fabricost.diagnose(file, **words).to_dict()
                except fabricost.Error:
                    return None
            done = subprocess.run([tool, "diagnose", file, "--json", *self.options], capture_output=True, text=True, timeout=120,
                                  check=False, env=environment)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def right(self, answer):
        """Whether the first or second cause is the confirmed one; of a healthy run, whether it is not called sick."""
        if answer is None:
            return not self.causes
        if not self.causes:
            return answer["state"] not in SICK
        named = [c["cause"] for c in answer["causes"][:2]]
        return any(cause in self.causes for cause in named) and ("expected_value_wrong" not in self.causes or answer["state"] not in SICK)


def threads():
    """Reports of failed runs, and lines that look like trouble and are none."""
    with open(os.path.join(HERE, "threads.yaml"), encoding="utf-8") as file:
        read = yaml.safe_load(file)
    out = [Case(one["source"], one["cause"], log=one["log"], group=f"reports {one.get('batch', 1)}") for one in read["cases"]]
    return out + [Case(one["source"], (), log=one["log"], group="harmless") for one in read["healthy"]]


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def collected(multinode, group):
    """Complaints with a log, and healthy runs, of one collection."""
    folder = os.path.join(multinode, "diagnose")
    out = []
    for case in rows(os.path.join(folder, "cases.csv")):
        if case["raw_file"]:
            options = ()
            if case["expected_busbw_GBps"] and case["cause_class"] == "expected_value_wrong":
                options = ("--expected", case["expected_busbw_GBps"] + " GB/s")
            out.append(Case(f"{group} {case['id']} {case['url']}", [case["cause_class"]], file=os.path.join(folder, case["raw_file"]),
                            options=options, group=group))
    for case in rows(os.path.join(folder, "healthy.csv")):
        out.append(Case(f"{group} {case['id']}", (), file=os.path.join(folder, case["raw_file"]), group=group + " healthy"))
    for run in rows(os.path.join(multinode, "sources.csv")):
        log = os.path.join(multinode, "logs", run["id"] + ".txt")
        if run["health"] == "healthy" and os.path.exists(log):
            out.append(Case(run["id"], (), file=log, options=("--system", run["system"]), group=group + " healthy"))
    return out


def every(measurements):
    """All cases there are."""
    out = threads()
    for folder, group in (("multinode", "first"), (os.path.join("second", "multinode"), "second")):
        place = os.path.join(measurements, folder)
        if measurements and os.path.exists(os.path.join(place, "diagnose", "cases.csv")):
            out += collected(place, group)
    return out


def data_folder():
    return os.environ.get("FABRICOST_DATA") or os.path.normpath(os.path.join(HERE, "..", "..", "..", "data"))


@contextlib.contextmanager
def changed(data, files):
    """A copy of the data folder in which some files of diagnosis/ have another text."""
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(data):
            if name != "diagnosis":
                os.symlink(os.path.join(os.path.abspath(data), name), os.path.join(folder, name))
        os.mkdir(os.path.join(folder, "diagnosis"))
        for name in os.listdir(os.path.join(data, "diagnosis")):
            text = files.get(name)
            if text is None:
                os.symlink(os.path.join(os.path.abspath(data), "diagnosis", name), os.path.join(folder, "diagnosis", name))
        for name, text in files.items():
            with open(os.path.join(folder, "diagnosis", name), "w", encoding="utf-8") as file:
                file.write(text)
        yield folder


def key_of(source):
    """Names an issue alike in a link and in "OWNER/REPOSITORY NUMBER": the same for "issue 19", "issues/19" and "pull/19"."""
    return {(repository.lower(), number) for repository, number in
            re.findall(r"([\w.-]+/[\w.-]+)(?:/(?:issues|pull)/|\s+(?:issues?|pull request)\s+|\s+)(\d+)", source)}


def without_rules_of(data, left_out):
    """{file: text} of the rule files without those rules whose only sources are cases that are left out. Positions, and so the names of
    the other rules, stay: what is left out keeps its row and loses its words."""
    gone = set().union(*(key_of(case.name) for case in left_out)) if left_out else set()
    out = {}
    for name in sorted(os.listdir(os.path.join(data, "diagnosis"))):
        with open(os.path.join(data, "diagnosis", name), encoding="utf-8") as file:
            text = file.read()
        lines, start, change = text.split("\n"), None, False
        for i, line in enumerate(lines):
            if line.startswith("- cause:"):
                start = i
            if line.startswith("  source:") and start is not None:
                sources = key_of(line)
                if sources and sources <= gone:
                    for k in range(start, i):
                        if lines[k].startswith("  words:"):
                            lines[k] = '  words: ["(left out of this fold)"]'
                            change = True
        if change:
            out[name] = "\n".join(lines)
    return out


def cross_validated(tool, cases, data, weights, found):
    """The number of right answers without the counts and the rules of their fold: in words, and the share of broken runs."""
    right = {}
    for fold in range(FOLDS):
        held = [case for case in cases if case.fold == fold]
        files = without_rules_of(data, held) | {"weights.yaml": weights([(c, a) for c, a in found if c.fold != fold])}
        with changed(data, files) as folder:
            for case in held:
                answer = case.diagnosed(tool, folder)
                group = right.setdefault(case.group, [0, 0, 0])
                group[0] += case.right(answer)
                group[1] += 1
                told = answer is not None and answer["state"] in SICK
                group[2] += bool(case.causes) and not told and "expected_value_wrong" not in case.causes
    broken = [g for name, g in right.items() if "healthy" not in name and name != "harmless"]
    healthy = [g for name, g in right.items() if "healthy" in name or name == "harmless"]
    parts = ", ".join(f"{name} {g[0]} of {g[1]}" for name, g in sorted(right.items()))
    good, total = sum(g[0] for g in broken), sum(g[1] for g in broken)
    text = (f"{good} of {total} broken runs right when left out ({good / max(1, total):.0%}), {sum(g[2] for g in broken)} not called sick; "
            f"{sum(g[1] - g[0] for g in healthy)} of {sum(g[1] for g in healthy)} healthy ones called sick ({parts})")
    return text, good / max(1, total)
