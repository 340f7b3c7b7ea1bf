#!/usr/bin/env python3
"""Components and their folders: each uses only what stands before it; schedules know no hardware.

    check_layers.py SOURCE_DIR [--write]

Reads the #include lines of include/, src/ and bindings/; the headers of a folder and its compiled part are one. The table in
docs/architecture.md is made from the same lines: --write writes it, else it is compared. Exit status 1 and one line per fault."""

import pathlib
import re
import sys

# Components in the order in which they build on each other, and the folders of each in the same way. "." is include/fabricost itself.
COMPONENTS = {
    "core": {
        ".": "quantities, errors, names, the questions one can ask",
        "hardware": "GPU, link, tier, system as plain values; where every number comes from; constants of prices",
        "algorithms": "one file an algorithm: name, where it runs, what moves from whom to whom",
        "price": "protocols, the fabric in plain numbers, one header per fitted form, the general price from phases, terms",
        "choice": "what can run, NCCL's tuner, the engines' own all-reduces, the fastest",
        "predict": "system to fabric, curve, prediction, how sure it is",
        "experts": "routing, popularity, the fullest rank, exchange of tokens and the kernels of it",
        "parameters": "the one table that names, reads, writes and bounds constants",
        "text": "quantities, tables, CSV, lines",
        "specs": "YAML to values: systems and calibrations",
        "readings": "tables of points and what benchmarks print",
        "validation": "measured beside predicted, and what not to fit",
        "calibrate": "from points to constants: least squares with priors",
        "explain": "why, as text",
        "pictures": "SVG",
        "fields": "what questions are made of: fields with unit, range and words; machines and files by name",
        "answers": "questions that the command, Python and C++ ask alike",
        "cli": "the command, and core's subcommands",
    },
    "plan": {
        "network": "links, routes, what a collective puts on each link, collectives at once, storage and loads",
        "readings": "times of iterations",
        "pipeline": "pipeline schedules: bubbles, orders, the search for them",
        "model": "model shapes, layouts, stages, FLOPs",
        "memory": "what a rank holds, and what would make it fit",
        "kernels": "kernels on one GPU, software stacks, the groups of a layout",
        "serving": "prefill and decode, KV cache, engines; the search over deployments",
        "training": "layers, one step; the search over layouts",
        "economics": "money, power, failures, stragglers, comparing machines",
        "rl": "reinforcement learning: lengths of answers, generation that drains, an iteration, the split of GPUs",
        "specs": "YAML to values: models, stacks, prices",
        "explain": "why a step or a memory is what it is, as text",
        "pictures": "charts of pipelines and of machines beside each other",
        "fields": "models and stacks by name, terms of steps",
        "answers": "questions about jobs, deployments and purchases",
        "evaluation": "published results beside the model, and what is fitted to them",
        "cli": "their subcommands",
    },
    "observe": {
        "readings": "NCCL's own messages, dumps, topologies, traces",
        "trace": "ranks of one job beside each other: groups, clocks, who waited for whom",
        "diagnose": "what is wrong with a run",
        "answers": "questions about what ran",
        "cli": "their subcommands",
    },
    "probes": {
        "measure": "what to time, how often and what to believe; probes as plugins",
        "machine": "a whole machine from what `measure` wrote",
        "answers": "questions about this machine",
        "cli": "their subcommands",
    },
    "all": {
        "python": "the package",
        "web": "the page: questions and answers as JSON",
    },
}
PLACE = {(component, folder): (c, f) for c, (component, folders) in enumerate(COMPONENTS.items()) for f, folder in enumerate(folders)}

UMBRELLAS = {"fabricost.hpp", "plan.hpp", "observe.hpp"}  # of include/fabricost itself
GENERATED = {"version.hpp", "shipped_numbers.hpp", "hardware/shipped_priors.inc", "hardware/shipped_widths.inc",
             "hardware/shipped_tuners.inc", "hardware/shipped_plugin_names.inc", "choice/shipped_engine_names.inc", "choice/shipped_engines.inc",
             "choice/shipped_plugins.inc", "experts/shipped_exchanges.inc"}  # by configuring

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def included(header):
    """[(delimiter, path)] of a header's #include lines."""
    return INCLUDE.findall(header.read_text(encoding="utf-8"))


def folder_of(path):
    """The component and folder of a header's path below include/fabricost, or of a source's below src/COMPONENT."""
    parts = path.split("/")
    component = parts.pop(0) if parts[0] in COMPONENTS and parts[0] != "core" else "core"
    return component, parts[0] if len(parts) > 1 else "."


def check(root):
    """Faults of the headers below root/include/fabricost, as lines."""
    base = pathlib.Path(root) / "include" / "fabricost"
    headers = {str(p.relative_to(base)): p for p in sorted(base.rglob("*.hpp"))}
    faults = []
    if not headers:
        return [f"{base}: no headers found"]
    for name, path in headers.items():
        folder = folder_of(name)
        if folder not in PLACE:
            faults.append(f"{name}: folder {'/'.join(folder)} has no row in {pathlib.Path(__file__).name}")
            continue
        for delimiter, target in included(path):
            if delimiter == '"':
                faults.append(f'{name}: includes "{target}"; write <fabricost/...>')
                continue
            if not target.startswith("fabricost/"):
                continue
            target = target.removeprefix("fabricost/")
            if target == name.replace(".hpp", "-inl.hpp"):
                continue  # a header's own bodies, where they are not compiled once
            if target in GENERATED:
                continue
            if target not in headers:
                faults.append(f"{name}: includes {target}, which does not exist")
            elif target in UMBRELLAS and name not in UMBRELLAS:
                faults.append(f"{name}: includes an umbrella header")
            elif folder[1] == "algorithms" and folder_of(target)[1] == "hardware":
                faults.append(f"{name}: includes {target}; algorithms know no hardware")
    faults += borrowed(root)
    return faults + [f"{source}: uses {'/'.join(target)}, which stands after it" for source, target in uses(root)
                     if PLACE.get(target, (9, 0)) > PLACE.get(place_of(source), (-1, 0))]


def borrowed(root):
    """Faults of `detail::name` outside the folder whose headers or sources have the name in a namespace `detail`."""
    root = pathlib.Path(root)
    texts = {p.relative_to(root): p.read_text(encoding="utf-8")
             for top in ("include/fabricost", "src", "bindings") for p in sorted((root / top).rglob("*.[ch]pp"))}
    block = re.compile(r"^namespace (?:[\w:]*::)?detail \{$(.*?)^\}  // namespace", re.MULTILINE | re.DOTALL)
    own = {}
    for source, text in texts.items():
        for inside in block.findall(text):
            for name in re.findall(r"\w+", inside):
                own.setdefault(name, set()).add(place_of(source))
    return [f"{source}: uses detail::{name} of another folder; what two folders need is no detail"
            for source, text in texts.items() for name in sorted(set(re.findall(r"(?<!py::)(?<!pybind11::)\bdetail::(\w+)", text)))
            if place_of(source) not in own.get(name, {place_of(source)}) and place_of(source) != ("all", "web")]


def place_of(source):
    """The component and folder of a file below include/fabricost, src or bindings."""
    parts = source.parts
    if parts[0] == "bindings":
        return "all", "python"
    if parts[:2] == ("src", "web"):
        return "all", "web"
    return folder_of("/".join(parts[2:] if parts[0] == "include" else parts[1:]).removeprefix("core/"))


def uses(root):
    """[(file, (component, folder) it uses)] of everything compiled, from its #include lines."""
    root, found = pathlib.Path(root), []
    for source in sorted(p for top in ("include/fabricost", "src", "bindings") for p in (root / top).rglob("*.[ch]pp")):
        here = source.relative_to(root)
        for delimiter, target in included(source):
            if target.startswith("fabricost/"):
                target = target.removeprefix("fabricost/")
                if target not in GENERATED:
                    found.append((here, folder_of(target)))
            elif delimiter == '"':
                for component in ("core", "plan", "observe", "probes", ""):
                    if (root / "src" / component / target).exists():
                        found.append((here, place_of(pathlib.Path("src") / component / target)))
                        break
    umbrellas = {pathlib.Path("include/fabricost", name) for name in UMBRELLAS}
    return [(source, place) for source, place in found if place != place_of(source) and source not in umbrellas]


def drawing(root):
    """The components as a table: what a folder holds and which folders of its component it uses directly."""
    used = {place: set() for place in PLACE}
    for source, place in uses(root):
        used[place_of(source)].add(place)
    lines = ["| component | folder | what it holds | uses |", "|---|---|---|---|"]
    for component, folders in COMPONENTS.items():
        for folder, words in folders.items():
            place = component, folder
            own = [f"`{r[1]}`" for r in sorted(used[place], key=PLACE.get) if r[0] == component and r[1] != "."]
            others = [c for c in COMPONENTS if c != component and any(r[0] == c for r in used[place])]
            lines.append(f"| {component} | `{folder}` | {words} | {' '.join(own + others)} |")
    return "\n".join(lines) + "\n"


def drawn(root, write):
    """Faults of the drawing in docs/architecture.md."""
    page = pathlib.Path(root) / "docs" / "architecture.md"
    text = page.read_text(encoding="utf-8")
    begin, end = "<!-- the components: tests/structure/layers/check_layers.py --write -->\n", "<!-- end of the components -->\n"
    before, _, rest = text.partition(begin)
    old, _, after = rest.partition(end)
    if not after:
        return [f"{page}: has no place for the drawing between {begin.strip()} and {end.strip()}"]
    new = "\n" + drawing(root) + "\n"
    if write:
        page.write_text(before + begin + new + end + after, encoding="utf-8")
    elif old != new:
        return [f"{page}: the drawing is not what the #include lines say; write it anew with check_layers.py SOURCE_DIR --write"]
    return []


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--write"]):
        sys.exit(__doc__)
    faults = check(sys.argv[1]) + drawn(sys.argv[1], "--write" in sys.argv)
    print("\n".join(faults) if faults else "every folder uses only what stands before it, as drawn")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
