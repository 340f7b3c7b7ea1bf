#!/usr/bin/env python3
"""Tables of software stacks in pages, from data/stacks, data/workloads and data/priors.

    stacks.py            exit status 1 and the first difference where a table is not what the data say
    stacks.py --write    write them

Between `<!-- stacks -->` and `<!-- end of stacks -->` stand all stacks of training, after `<!-- stacks: NAME NAME -->` those; after
`<!-- serving stacks -->` all of serving.
"""
import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = re.compile(r"(?m)^<!-- (serving )?stacks(?:: ([\w.\- ]+))? -->\n(?:.*\n)*?<!-- end of stacks -->$")
DEFAULTS = {"nemo": " on NVIDIA's GPUs before Blackwell", "nemo-2025-09": " on Blackwell",
            "maxtext-tpu": " on TPUs", "rocm-mlperf": " on AMD's Instinct", "megatron-core": " elsewhere", "vllm": ""}


def read(path):
    return yaml.safe_load((ROOT / "data" / path).read_text(encoding="utf-8"))


def percent(spread):
    return f"{100 * spread:.0f} %"


def named(name):
    return f"`{name}`{', the default' + DEFAULTS[name] if name in DEFAULTS else ''}"


def table(head, rows):
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def of_training(names=None):
    """A row for each stack: its own published steps, else the program whose factor it has, else none."""
    fitted, unfitted = read("workloads/stacks.yaml")["stacks"], read("priors/stack.yaml")["numbers"]["spread"]["value"]
    stacks = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "data/stacks").glob("*.yaml"))}

    def program(name):
        """The stack whose factor it has: its file's, or that of a file it extends."""
        while name and "factor_of" not in stacks[name]:
            name = stacks[name].get("extends")
        return name and stacks[name]["factor_of"]

    def row(name):
        own, other = fitted.get(name), program(name)
        variants = [one for key, one in fitted.items() if other and one.get("factor_of", key) == other]
        steps = f"{own['rows']}" if own else f"none, the factor of `{other}`" if other in fitted else "none"
        shown = [own] if own else variants
        seen = ", ".join(dict.fromkeys(one for on in shown for one in on.get("generations", [])))
        seen += ", with experts" if any(on.get("experts") for on in shown) else ""
        return [stacks[name]["title"], named(name), steps, seen or "-", percent(own["spread"] if own else unfitted)]
    return table(["you run", "`--stack`", "published steps", "on", "spread"], [row(name) for name in names or stacks])


def of_serving(names=None):
    stacks, fitted = read("workloads/serving-stacks.yaml")["stacks"], read("workloads/serving.yaml")["stacks"]

    def row(name):
        runs = [f"{one['rows']} on {on} ({percent(one['spread_tpot'])}, {percent(one['spread_ttft'])})"
                for on, one in fitted.get(name, {}).items()]
        title, version = stacks[name]["title"], stacks[name].get("version")
        return [f"{title} {version}" if version and " " not in title else title, named(name), "; ".join(runs) or "none"]
    return table(["you run", "`--stack`", "published runs (spread of TPOT, of TTFT)"], [row(name) for name in names or stacks])


def fresh(text):
    def one(match):
        names = match[2].split() if match[2] else None
        head = match[0].split("\n", 1)[0]
        return f"{head}\n\n{(of_serving if match[1] else of_training)(names)}\n\n<!-- end of stacks -->"
    return TABLE.subn(one, text)


def main():
    found = faults = 0
    for path in sorted((ROOT / "docs").rglob("*.md")):
        old = path.read_text(encoding="utf-8")
        now, tables = fresh(old)
        found += tables
        if "--write" in sys.argv:
            path.write_text(now, encoding="utf-8")
        elif now != old:
            faults += 1
            line = next(pair for pair in zip(old.splitlines(), now.splitlines()) if pair[0] != pair[1])
            print(f"{path.relative_to(ROOT)} is stale: python3 tests/docs/stacks.py --write\n  page: {line[0]}\n  now:  {line[1]}")
    if found == 0:
        print("no page has a table of stacks: were they found?")
    return 1 if faults or not found else 0


if __name__ == "__main__":
    sys.exit(main())
