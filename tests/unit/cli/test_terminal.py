"""On a terminal of 80 x 24 every -h is one screen, and every example of the help texts prints no longer line and breaks no word in two. Words
of the answers that are not plain English have a help of their own.

    test_terminal.py FABRICOST
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "unit" / "trace"))
from emit import Job  # noqa: E402

TOOL, LINES, COLUMNS = sys.argv[1], 24, 80
FILES = {"all_reduce.log": ROOT / "data/measurements/dgx-h100-all-reduce.txt", "topo.txt": ROOT / "tests/contract/files/nvidia-topo.txt"}
# commands of the Python package, of GPUs, of a shell; pictures and tables for programs; formulas, which stand in one line of at most 100
LEFT_OUT = ("explain ", "report ", "export ", "exporter ", "measure ", "completion ", "| ", "--svg", "--csv")
SLOW = ("moe-1.8t", "need nic.bandwidth")  # asked once: their tables are those of other examples
WORD = re.compile(r"[A-Za-z]{3,}")


def shown(*arguments, columns=COLUMNS, cwd=None):
    done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=120, cwd=cwd, stdin=subprocess.DEVNULL,
                          env={**os.environ, "COLUMNS": str(columns)})
    assert done.returncode == 0, (arguments, done.returncode, done.stderr)
    return done.stdout


def check_width(text, *about):
    """An address in a list of sources stays whole, so that it can be opened."""
    wide = [line for line in text.splitlines() if len(re.sub(r"https?://\S+$", "", line) if "://" in line[:COLUMNS] else line) > COLUMNS]
    assert not wide, (*about, wide)


def commands():
    return re.findall(r"(?m)^  (\w+) {2,}\S", shown("--help").split("Commands:")[1].split("Options:")[0])


def examples(command):
    text = shown(command, "--help")
    check_width(text, command, "--help")
    lines = text.split("\nExample: ")[-1].replace(" \\\n", " ").splitlines() if "\nExample: " in text else []
    return [" ".join(line.split()) for line in lines if line.strip().startswith("fabricost ")]


def test_help_is_one_screen():
    for command in (*commands(), "plan train", "plan serve", "plan rl", "compare train", "compare serve"):
        text = shown(*command.split(), "-h")
        check_width(text, command, "-h")
        assert len(text.splitlines()) <= LINES, (command, len(text.splitlines()))


def test_examples_are_within_the_terminal():
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, target in FILES.items():
            os.symlink(target, os.path.join(folder, name))
        job = Job(8, {"0": ("default_pg", list(range(8)))})
        for _ in range(4):
            job.compute(1000)
            job.collective("0", "allreduce", 32 << 20, 310.0)
        os.mkdir(os.path.join(folder, "traces"))
        job.write(os.path.join(folder, "traces"))
        for line in [line for command in commands() for line in examples(command)]:
            words = shlex.split(line.split(" > ")[0])[1:]
            if any(part in line for part in LEFT_OUT) or words[-1] == "-":
                continue
            text = shown(*words, cwd=folder)
            check_width(text, line)
            tried += 1
            if any(part in line for part in SLOW):
                continue
            whole = set(WORD.findall(shown(*words, columns=400, cwd=folder)))
            text = re.sub(r"\S*\.\.\.|(?m:^ +\d+  [FBWfbw.]+$)", "", text.split("more columns in a wider terminal")[0])  # cut, or a chart
            broken = [one for one in WORD.findall(text) if one not in whole]
            assert not broken, (line, broken)
    assert tried > 25, tried


# what a reader knows without us
PLAIN = set("""step s tokens/s/GPU % GiB nodes node ranks size time term share us ms tokens algorithm GPUs gradients weights products attention
experts copies network machine layout req/s batch GPU /user p99 nine in ten none full running end to compute tensor context expert data optimizer
accumulation elementwise head framework host memory queue transfer runs stages frozen model input evaluation reload library module""".split())


def words_of(command):
    """Of headings, of the names of terms, of what runs and of what the answer rests on."""
    text = shown(*command, columns=400)
    heads = [line.strip() for line in text.splitlines() if line.startswith("  ") and re.search(r"\S {2,}\S", line) and not re.search(r"\d", line)]
    out = {word for line in heads for word in re.split(r" {2,}", line)}
    answer = json.loads(shown(*command, "--json"))
    rows = [answer, *answer.get("layouts", [])]
    out |= {term["name"] for row in rows for term in row.get("terms", [])}
    return out | {row[key] for row in rows for key in ("algorithm", "protocol", "basis", "schedule", "recompute") if row.get(key)}


def test_words_of_the_answers_have_a_help():
    machine, seen = ("--system", "dgx-h100"), set()
    for command in (("predict", "all_reduce", *machine, "--size", "1MiB"), ("predict", "all_to_all", *machine, "--nodes", "4", "--size", "64KiB"),
                    ("predict", "all_reduce", *machine, "--nodes", "4", "--size", "1GiB"),
                    ("plan", "--train", "--model", "llama3-70b", *machine, "--gpus", "64", "--global-batch", "64", "--pp", "4"),
                    ("plan", "--serve", "--model", "llama3-8b", *machine, "--gpus", "2", "--request-rate", "2/s"),
                    ("plan", "--serve", "--model", "llama3-8b", *machine, "--gpus", "2")):
        seen |= words_of(command)
    listed, unknown = set(shown("help").split("TOPICS")[1].split()), []
    assert all(shown("help", word) for word in ("busbw", "Serial steps", "gdr_off"))
    for phrase in sorted(seen):
        parts = [phrase, *re.split(r"[ ,]+", phrase)]
        if all(part in PLAIN or not re.search("[a-z]{2}", part) for part in parts[1:]):
            continue
        known = [re.sub("[ _]", "-", part).lower() in listed or part in PLAIN for part in parts]
        if not known[0] and not all(known[1:]):
            unknown.append(phrase)
    assert not unknown, unknown
    assert len(seen) > 40, seen


def floats_of_bytes(value, key=""):
    """Counts of bytes that JSON has as floats."""
    if isinstance(value, dict):
        return [found for name, one in value.items() for found in floats_of_bytes(one, name)]
    if isinstance(value, list):
        return [found for one in value for found in floats_of_bytes(one, key)]
    return [key] if key.endswith("bytes") and isinstance(value, float) and value.is_integer() else []


def test_json_says_its_schema_and_its_question():
    for words in (("predict", "all_reduce", "--system", "dgx-h100", "--size", "1 MiB"), ("machine", "dgx-h100"), ("model", "llama3-8b"),
                  ("plan", "train", "--model", "llama3-8b", "--system", "dgx-h100", "--gpus", "8", "--global-batch", "8"),
                  ("plan", "serve", "--model", "llama3-8b", "--system", "dgx-h100", "--gpus", "4", "--disaggregated"),
                  ("cost", "failures", "--system", "dgx-h100", "--gpus", "1024", "--model", "llama3-8b"), ("diagnose", str(FILES["all_reduce.log"]))):
        answer = json.loads(shown(*words, "--json"))
        assert answer["schema"] == 1 and shlex.split(answer["question"]) == ["fabricost", *words, "--json"], words
        assert not floats_of_bytes(answer), (words, floats_of_bytes(answer)[:5])


if __name__ == "__main__":
    test_help_is_one_screen()
    test_json_says_its_schema_and_its_question()
    test_words_of_the_answers_have_a_help()
    test_examples_are_within_the_terminal()
    print("ok")
