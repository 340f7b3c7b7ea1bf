#!/usr/bin/env python3
"""The style of pages and help texts: no sentence of more than 40 words, no phrase that readers stumbled over, one spelling for each term.

    words.py [FABRICOST]         pages of the checkout; with the command, also the help of each of its commands

Code (blocks, words between backticks) is not read. Left out are pages that a program writes, whose sentences are in that
program, and the change log, a list."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_WORDS = 40
PAGES = ["*.md", "docs/**/*.md", "data/**/*.md"]
LISTS = {"CHANGELOG.md"}
WRITTEN = {"docs/accuracy.md", "docs/accuracy-sources.md", "docs/constants-worth.md", "docs/kernels-accuracy.md", "docs/performance.md",
           "docs/training-accuracy.md", "docs/units-mistakes.md"}

# what to avoid, and what to write
PHRASES = {
    r"(?<!there )(?:is|are|was|were) no (?!(?:longer|more|less|fewer|better|worse|one|doubt|different|faster|slower|larger|smaller)\b)":
        "\"is not a\", \"there is no\"",
    r"(?:n't|not) (?:yet )?there yet": "what is missing",
    r"nobody's": "\"no published value\"",
    r"speaks? for": "\"describes\", \"applies to\"",
    r"reckon\w*": "\"calculate\"",
    r"work(?:ed|s)? off": "\"execute\"",
    r"\w+fold(?= apart| as)": "\"differ by a factor of\"",
    r"firm to soft": "\"from most to least reliable\"",
    r"kept? apart by|held apart by": "\"distinguished by\"",
    r"what it goes with": "\"correlated with\"",
    r"whoever \w+ it": "a plain clause",
    r"as (?:it|they) will": "a plain clause",
    r"is to be (?:had|found)": "\"is available\", \"is in\"",
    r"most_|least_": "max_, min_",
}
# a spelling and those it replaces
TERMS = {
    "all-reduce": r"all ?reduces?|allReduce",
    "all-gather": r"all ?gathers?",
    "all-to-all": r"all ?to ?all(?!, deepep)",  # but for the value of an option, spelled as Megatron-Core does
    "reduce-scatter": r"reduce ?scatters?",
    "microbatch": r"micro[- ]batch(?:es)?",
    "scale-up": r"scale up(?= (?:domain|tier|network|link))",
    "datasheet": r"data[- ]sheets?",
    "oversubscription": r"over-subscription|over-subscribed",
    "GPUDirect": r"GPU[- ][Dd]irect|gpudirect",
    "NVLink": r"NVlink|Nvlink|NV-Link|nvlink",
    "InfiniBand": r"Infiniband|infiniband|Infini-[Bb]and",
    "NCCL": r"Nccl",
    "busbw": r"bus[- ]bw|busBW|BusBW",
    "recomputation": r"re-computation",
    "goodput": r"good-put",
    "checkpoint": r"check-points?",
    "slow-down": r"slowdowns?",
    "PyTorch": r"Pytorch|pytorch",
    "GitHub": r"Github|github(?!\.)",
    "nccl-tests": r"nccltests|NCCL[- ][Tt]ests|nccl tests",
    "H100s": r"H100's",
}
BANNED = [(re.compile(rf"(?<![\w/.-]){bad}", re.I if bad[0].islower() else 0), good) for bad, good in PHRASES.items()]
BANNED += [(re.compile(rf"(?<![\w/.`-])(?:{bad})(?![\w/`-]|\.\w)"), f"\"{good}\"") for good, bad in TERMS.items()]
ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|No|Fig|cf|al)\.$")


def plain(text):
    """Markdown without code, comments and link targets; every blank line, list item and table cell ends a sentence."""
    text = re.sub(r"(?ms)^(```+|:::+).*?^\1\s*$", "\n", text)
    text = re.sub(r"(?m)^>.*$", "", text)  # quoted from others
    text = re.sub(r"(?s)<!--.*?-->|\$\$.*?\$\$", "\n", text)
    text = re.sub(r"(?m)(?:^\s*\n|\A)(?:^(?: {4,}|\t).*\n?|^\s*\n)+", lambda m: re.sub(r"(?m)^(?: {4}|\t).*$", "", m[0]), text)
    text = re.sub(r"(`+)(?:(?!\1).|\n(?!\n))+?\1", "CODE", text)
    text = re.sub(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\([^()]*\))?[^()]*\)", r"\1", text)
    text = re.sub(r"<?https?://\S+", "ADDRESS", text)
    text = re.sub(r"(?m)^\s*\|?[-:| ]{3,}\|?\s*$", "", text)  # the rule below the head of a table
    text = re.sub(r"(?m)^#+ .*$|^\s*(?:[-*+]|\d+\.) ", lambda m: "\n\n" + m[0].lstrip("#-*+ "), text)
    return re.sub(r"(?m)^\|.*$", lambda m: "\n\n" + m[0].replace("|", "\n\n"), text)


def sentences(text):
    """(line, sentence) of Markdown."""
    for paragraph in re.split(r"\n\s*\n", plain(text)):
        start = []
        for word in paragraph.split():
            start.append(word)
            if re.search(r"[.!?][\"')*_]*$", word) and not ABBREVIATED.search(word):
                yield " ".join(start)
                start = []
        if start:
            yield " ".join(start)


def faults(text):
    """The faults of a text, as lines."""
    out = []
    for sentence in sentences(text):
        words = [w for w in sentence.split() if re.search(r"\w", w)]
        if len(words) > MOST_WORDS:
            out.append(f"{len(words)} words: {' '.join(words[:12])} ...")
        for bad, good in BANNED:
            if found := bad.search(sentence):
                at = max(0, found.start() - 30)
                out.append(f"\"...{sentence[at:found.end() + 30]}...\": write {good}")
    return out


def helps(tool):
    """{command: its help}, each entry a paragraph."""
    def of(*words):
        return subprocess.run([tool, *words, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    names = re.findall(r"(?m)^  ([a-z]+) {2,}\S", of().split("Subcommands:", 1)[-1])
    assert len(names) > 10, names
    entry = re.compile(r"(?m)^(?=\S| {2}\S)")
    return {f"fabricost {name} --help": "\n\n".join(re.sub(r"\s+", " ", part) for part in entry.split(of(name))) for name in names}


def main(arguments):
    pages = sorted({page for pattern in PAGES for page in ROOT.glob(pattern)})
    texts = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in pages}
    texts = {name: text for name, text in texts.items() if name not in WRITTEN | LISTS}
    if arguments:
        texts |= helps(arguments[0])
    count = 0
    for name, text in texts.items():
        for fault in faults(text):
            print(f"{name}: {fault}", file=sys.stderr)
            count += 1
    print(f"{len(texts)} texts, {count} faults" if count else f"{len(texts)} texts in the project's style")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
