#!/usr/bin/env python3
"""Every command line of README, docs/, the command's help and tests/contract that asks what the page can be asked: by its fields of the
page's module, and of the command. Words must be equal and numbers agree to 1e-12.

    examples.py TOOL MODULE_DIR [--list]    MODULE_DIR has fabricost-all.*; --list says of each line left out why

A line that writes a file asks the same without it. Left out are lines that need a machine of the reader's own, or a file that no page
shows."""

import collections
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docs"))
from pages import ROOT, lay_out
from questions import Node, bare, differences

LINE = re.compile(r"^\s*(?:\$ )?(?:build/)?fabricost (\w[^: ]*(?: .*)?)$")
BESIDE = {"--json", "--svg", "--csv", "--plot", "--html", "--out", "-o", "--width", "--threads", "--trace"}  # and their value
OWN = re.compile("given more than once|exclude each other|leave it out|is not an option|its value is empty|need machine: of training")
FILE = re.compile(r"\.(ya?ml|json|csv|log|txt|out|gz|zst)$")


class LeftOut(Exception):
    pass


def command_lines(text):
    """Those in a page's blocks, their continued lines joined."""
    lines = re.sub(r"\\\n\s*", " ", text).split("\n")
    fenced = False
    for line in lines:
        if line.startswith("```"):
            fenced = not fenced
        elif (fenced or line.startswith("    ")) and (found := LINE.match(line)):
            yield re.split(r" {3,}", found[1])[0]


def pages(tool):
    """Title and text of what shows command lines."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    for path in [*sorted((ROOT / "tests/contract/commands").glob("*.txt")), ROOT / "tests/contract/refusals.tsv"]:
        lines = [re.sub(r"\[--json\]|\t.*", "", line) for line in path.read_text(encoding="utf-8").splitlines()]
        yield f"contract {path.stem}", "\n".join(f"    fabricost {line}" for line in lines)
    asked = subprocess.run([tool, "--help"], capture_output=True, encoding="utf-8", check=True).stdout
    for name in re.findall(r"(?m)^  ([a-z]+) ", asked):
        text = subprocess.run([tool, name, "--help"], capture_output=True, encoding="utf-8", check=False).stdout
        lines = re.findall(r"(?:Example:|^  ) +(fabricost .*)", re.sub(r" \\\n +", " ", text), re.MULTILINE)
        yield f"help of {name}", "\n".join(f"    {line}" for line in lines)


def words_of(line):
    """The words up to a pipe, a redirection or a comment."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        raise LeftOut("no whole command") from None
    ends = [i for i, word in enumerate(words) if word in ("|", ">", "<", "&&", ";", "...")]
    words = words[:ends[0]] if ends else words
    for at in reversed([i for i, word in enumerate(words) if word in BESIDE]):
        valued = at + 1 < len(words) and (FILE.search(words[at + 1]) or re.fullmatch(r"\d+", words[at + 1]))
        del words[at:at + (2 if valued else 1)]
    return [part for word in words for part in (word.split("=", 1) if re.match(r"--[a-z-]+=", word) else [word])]


def question_of(words, questions):
    """The question that most of the line's words name, and the other words."""
    best = None
    for question in questions:
        named = question["command"].split()[1:]
        first = [word for word in named if not word.startswith("-")]
        if named and words[:len(first)] == first and set(named) <= set(words) and (best is None or len(named) > len(best[1])):
            best = question, named
    if best is None:
        raise LeftOut(f"not asked on the page: {words[0]}")
    question, named = best
    rest = [word for i, word in enumerate(words) if word not in named or (i >= len(named) and not word.startswith("-"))]
    if question["name"] == "predict" and rest and rest[0].startswith("moe_"):
        question = next(one for one in questions if one["name"] == "moe")
    return question, rest


def fields_of(question, words):
    by_option = {option: field for field in question["fields"] for option in field.get("option", "").split(",") if option}
    placed = [field for field in question["fields"] if field.get("option", "-")[0] != "-"]
    out, words = {}, list(words)

    def put(field, value):
        if field["type"] in ("texts", "machines", "files"):
            out.setdefault(field["name"], []).append(value)
        else:
            out[field["name"]] = value

    while words:
        word = words.pop(0)
        if word.startswith("-") and not re.match(r"-[\d.]", word):
            if word not in by_option:
                raise LeftOut(f"{question['name']} has no field for {word}")
            field = by_option[word]
            if field["type"] == "flag":
                out[field["name"]] = not field.get("default", False)
            elif words:
                put(field, words.pop(0))
        elif placed:
            put(placed[0], word)
            if placed[0]["type"] not in ("texts", "machines", "files"):
                placed.pop(0)
        else:
            raise LeftOut("a word too many")
    return out


def files_of(question, fields, folder):
    """Texts of the files that fields name, which then are plain names. \\throws LeftOut for a file where the page takes none"""
    files, kinds = {}, {field["name"]: field["type"] for field in question["fields"]}
    for name, value in fields.items():
        for each in value if isinstance(value, list) else [value]:
            if kinds[name] in ("file", "files"):
                if not (folder / each).is_file() or "/" in each:
                    raise LeftOut("a file that the page does not show")
                files[each] = (folder / each).read_text(encoding="utf-8", errors="replace")
            elif isinstance(each, str) and FILE.search(each):
                raise LeftOut("a machine, a model or a calibration of one's own")
    return files


def main():
    tool, module = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
    if not (module / "fabricost-all.wasm").exists() or not shutil.which("node"):
        print("skipped: the page's module is not built (bindings/web/build.sh, which needs emscripten), or node is not here")
        sys.exit(77)
    node = Node(module)
    questions = node.ask_all([("questions", {})])[0]["answer"]["questions"]
    asked, left_out, seen = [], collections.Counter(), set()
    for title, text in pages(tool):
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            lay_out(text, folder)
            (folder / "files").symlink_to(ROOT / "tests/contract/files")
            for line in command_lines(text):
                try:
                    words = words_of(line)
                    question, rest = question_of(words, questions)
                    fields = fields_of(question, rest)
                    files = files_of(question, fields, folder)
                except LeftOut as why:
                    left_out[str(why)] += 1
                    if "--list" in sys.argv:
                        print(f"{title}: fabricost {line}\n    {why}")
                    continue
                key = json.dumps([question["name"], fields, files])
                if key in seen:
                    continue
                seen.add(key)
                if not fields:
                    left_out["nothing is asked"] += 1
                    continue
                done = subprocess.run([tool, *words, "--json"], capture_output=True, encoding="utf-8", check=False, cwd=folder, timeout=300,
                                      env={**os.environ, "FABRICOST_DATA": "data"}, stdin=subprocess.DEVNULL)
                if done.returncode != 0 and OWN.search(done.stderr):
                    left_out["a refusal of the command line's own"] += 1
                    continue
                asked.append((f"{title}: fabricost {line}", question, fields, files, done))
    answers = node.ask_all([(question["name"], fields, files) for _, question, fields, files, _ in asked])
    faults, worst, refused = [], 0, 0
    for (line, question, fields, _, done), answer in zip(asked, answers):
        if (done.returncode != 0) != ("error" in answer):
            faults.append(f"{line}\n    command: {done.returncode} {done.stderr[:300]}\n    module: {json.dumps(answer)[:300]}")
        elif "error" in answer:
            refused += 1
            names = {name for field in question["fields"] for name in (field["name"], field.get("option", ""))}
            theirs, ours = (bare(text, names) for text in (done.stderr, answer["error"]["text"]))
            if theirs != ours:
                faults.append(f"{line}\n    {' '.join(theirs)}\n    {' '.join(ours)}")
        else:
            found, error = differences(answer["answer"], json.loads(done.stdout))
            worst = max(worst, error)
            if found:
                faults.append(f"{line}   # {json.dumps(fields)}\n    " + "\n    ".join(found[:4]))
    print("\n".join(faults))
    for why, count in left_out.most_common():
        print(f"left out {count}: {why}")
    print(f"{len(asked)} examples, {refused} of them refused; worst relative error {worst:.2g}; {len(faults)} differ")
    sys.exit(1 if faults or len(asked) < 500 else 0)


if __name__ == "__main__":
    main()
