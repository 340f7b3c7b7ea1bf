#!/usr/bin/env python3
"""Every number of data/ says how far to trust it, and its source bears that out.

    check_confidences.py [DATA]     the data folder (default: the one of this checkout)

Exit status: 0 fine, 1 a number whose source does not bear its confidence out, 77 skipped (says why).
"""
import collections
import pathlib
import sys

try:
    import yaml
except ImportError:
    print("skipped: yaml is missing (pip install pyyaml)")
    sys.exit(77)

from confidence_rules import fault

NO_NUMBERS = {"name", "title", "vendor", "generation", "family", "kind", "notes", "extends", "source", "confidence", "date",
              "role", "cpu"}


def numbers(node, source, confidence, path=""):
    """(path, source, confidence) of every value below a node, inherited as the loader does."""
    if isinstance(node, dict):
        source, confidence = node.get("source", source), node.get("confidence", confidence)
        if "value" in node:
            yield path, source, confidence
            return
        for key, value in node.items():
            if key not in NO_NUMBERS:
                yield from numbers(value, source, confidence, f"{path}.{key}".lstrip("."))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from numbers(value, source, confidence, f"{path}[{i}]")
    else:
        yield path, source, confidence


def faults_of(kind, part, tree):
    """Lines for the numbers of one file whose source does not bear them out; how many there are of each confidence."""
    said, counts, seen = [], collections.Counter(), set()
    for path, source, confidence in numbers(tree, tree.get("source"), tree.get("confidence")):
        if confidence is None:  # nothing is promised: the loader takes it for assumed
            continue
        counts[confidence] += 1
        why = fault(kind, part, source, confidence)
        if why and (source, why) not in seen:
            seen.add((source, why))
            said.append(f"data/{kind}/{part}.yaml: {path}: {confidence}, but its source \"{source}\" {why}")
    return said, counts


def main():
    data = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[3] / "data"
    faults, counts = [], collections.Counter()
    for path in sorted(data.glob("*/*.yaml")):
        said, of_file = faults_of(path.parent.name, path.stem, yaml.safe_load(path.read_text(encoding="utf-8")))
        faults += said
        counts += of_file
    print("\n".join(faults))
    print(", ".join(f"{n} {confidence}" for confidence, n in counts.most_common()))
    return 1 if faults or sum(counts.values()) < 2000 else 0


if __name__ == "__main__":
    sys.exit(main())
