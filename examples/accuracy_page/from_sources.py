#!/usr/bin/env python3
"""Makes docs/accuracy-sources.md: how far predictions are from what others published, from the runs that examples/accuracy_page/sources.yaml names.

    python3 examples/accuracy_page/from_sources.py --folder COPIES [--fetch] [--only WORD] [--whole] [--out PAGE]

COPIES is a folder of local copies; --fetch puts there what the network gives and is not there. Every copy is read with our readers
and compared with its checksum before it is priced with the shipped model. What cannot be used is a line on stderr. With --whole the page
has the machines that were fitted, too, what is left out and why, and each source.

Exit status: 0 all runs were read; 1 some were not, and the page says which; 2 no page could be made.
"""
import argparse
import collections
import os
import pathlib
import re
import sys
import tempfile

try:
    import fabricost as fc
    import yaml
    from published_figures import BETWEEN, ENGINES, INSIDE, PLACES, Errors, Figures
    from published_sources import SOURCES, Copies, fetch_all, load, record
except ImportError as error:
    print(f"from_sources: {error.name} is missing: pip install fabricost pyyaml (or PYTHONPATH=build/python)", file=sys.stderr)
    sys.exit(2)

HEAD = "| {} | points | median % | mean % | within 10 % | in the interval | interval score |\n|---|---|---|---|---|---|---|\n"


def row(name, errors):
    if not errors.points:
        return ""
    return (f"| {name} | {errors.points} | {errors.median:.1f} | {errors.mean:.1f} | {100 * errors.within:.0f} % | "
            f"{100 * errors.inside:.0f} % | {errors.score:.2f} |\n")


def collection(where, regime):
    """The line of the summary that a regime is part of."""
    first, *rest = regime.split(", ")
    if where == ENGINES:
        return f"{where}, {rest[0]}"
    if where == INSIDE and first not in ("CUDA graphs", "module of XLA"):
        return f"{where}: logs of benchmarks, {rest[0]}"
    return where if where == BETWEEN else f"{where}: {regime}"


def summary(figures):
    """The sources that no fit has seen beside those that were fitted."""
    groups = {}
    for key in sorted(figures.samples, key=lambda k: (PLACES.index(k[1]), k[3])):
        groups.setdefault(collection(key[1], key[3]), {True: [], False: []})[key[0]].append(figures.samples[key])
    out = ("| | in no fit: points | median / mean % | in the interval | fitted: points | median / mean % | in the interval |\n"
           "|---|---|---|---|---|---|---|\n")
    for name, sides in groups.items():
        cells = []
        for fitted in (False, True):
            errors = Errors(sides[fitted])
            cells += [str(errors.points or ""), errors.pair(), f"{100 * errors.inside:.0f} %" if errors.points else ""]
        out += f"| {name} | {' | '.join(cells)} |\n"
    return out


def section(figures, fitted):
    """By place: every machine, every regime, all."""
    keys = [key for key in figures.samples if key[0] == fitted]
    out = ""
    for where in PLACES:
        here = [key for key in keys if key[1] == where]
        if not here:
            continue
        out += f"### {where[0].upper()}{where[1:]}\n\n" + HEAD.format("machine")
        for machine in sorted({key[2] for key in here}):
            out += row(machine, figures.errors(fitted=fitted, where=where, machine=machine))
        out += row("**all**", figures.errors(fitted=fitted, where=where)) + "\n"
        if len({key[3] for key in here}) > 1:
            out += HEAD.format("launch" if where != BETWEEN else "spread")
            for regime in sorted({key[3] for key in here}, key=lambda r: [int(n) if n.isdigit() else n for n in re.split(r"(\d+)", r)]):
                out += row(regime, figures.errors(fitted=fitted, where=where, regime=regime))
            out += "\n"
    return out or "None of the runs that were read.\n\n"


def named(ids):
    """Runs by the number they begin with, neighbours together; one alone by its whole name."""
    if len(ids) == 1:
        return f"`{ids[0]}`"
    if len(ids) > 20:
        return f"{len(ids)} runs"
    count = collections.Counter(re.match(r"(N?\d+)_|", i)[1] or i for i in ids)
    out = []
    for n in sorted(count):
        last = out[-1] if out else None
        if last and n.isdigit() and last[1].isdigit() and int(n) == int(last[1]) + 1:
            last[1] = n
        else:
            out.append([n, n])
    runs = {n: f" ({k} runs)" if k > 1 else "" for n, k in count.items()}
    return ", ".join(a + runs[a] if a == b else f"{a} to {b}" for a, b in out)


def exclusions(figures):
    out = "| left out | machine | why | rows | median / mean % | in the interval |\n|---|---|---|---|---|---|\n"
    order = ("not read", "not priced", "left out", "complaint", "unclear", "not a size")
    for (_, machine, why), (ids, rows, errors) in sorted(figures.excluded.items(), key=lambda e: (order.index(e[0][0]), e[0][1], e[1][0])):
        why = why.replace("|", "\\|")
        inside = f"{100 * errors.inside:.0f} %" if errors.points else ""
        out += f"| {named(ids)} | {machine} | {why} | {rows or ''} | {errors.pair()} | {inside} |\n"
    return out


def sources_table(sources, runs, figures):
    out = "| source | commit | licence | runs | rows | points | median / mean % |\n|---|---|---|---|---|---|---|\n"
    for source in sources:
        own = [run for run in runs if run["from"] is source]
        if not own:
            continue
        errors = Errors([s for run in own for s in figures.by_run[run["id"]]])
        url = source["url"]
        link = f"[{re.sub(r'^https://(github.com/)?', '', url)}]({url})" if url.startswith("https://") else url
        commit = "several" if any("commit" in run for run in source["runs"]) else str(source.get("commit", ""))[:9]
        out += (f"| {link} | {commit} | {source['licence']} | {len(own)} | {sum(r['rows'] for r in own)} | "
                f"{errors.points or ''} | {errors.pair()} |\n")
    return out


def page(sources, runs, read, figures, whole):
    used = sum(points is not None for points, _, _ in read)
    out = f"""# Accuracy on published runs

Written by `python3 examples/accuracy_page/from_sources.py --folder ../shared/measurements --out docs/accuracy-sources.md`; with a
network anybody makes it, by `--fetch` ([how](how-to/accuracy-from-sources.md)). `examples/accuracy_page/sources.yaml` names {len(runs)} runs;
{used} were read here, with the points they had. Error is 100 |predicted / measured - 1|; repeats are merged by their median first; an
interval should hold nine in ten points. The interval score is the mean width of the intervals in log time, and 20 times the distance
of points outside: less is better. `--whole` adds the machines that were fitted, every run left out with its reason, and each source.

A machine counts as fitted when a shipped calibration names it or `sources.yaml` says what rests on its run, whoever measured it.

{summary(figures)}
## Machines in no fit

{section(figures, False)}"""
    if not whole:
        return out.rstrip("\n") + "\n"
    return f"""{out}## Machines that were fitted

{section(figures, True)}## Left out

Rows in no figure above, by machine and reason, with the error of the shipped model where it has one. Numbers are those that the
runs' names in `sources.yaml` begin with.

{exclusions(figures)}
## Sources

Each by itself; `points` are merged repeats that are in a figure above. `HEAD`: no commit is recorded. Licences are those of the tables
(`not recorded`: ask there before you publish one); no table is part of this project.

{sources_table(sources, runs, figures)}"""


def write_page(path, text):
    """All of the page, or the one that was there."""
    path = pathlib.Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".page-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(name, 0o644)
    os.replace(name, path)


def arguments(given):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True, help="local copies; fetched files go to fetched/ in it")
    parser.add_argument("--fetch", action="store_true", help="fetch what is not there")
    parser.add_argument("--only", default="", help="sources whose URL contains this")
    parser.add_argument("--whole", action="store_true", help="the machines that were fitted, too, what is left out and why, and each source")
    parser.add_argument("--out", help="the page; default: stdout")
    parser.add_argument("--record", metavar="ID", help="print what sources.yaml has to say of this run's copy, and no page")
    parser.add_argument("--sources", default=str(SOURCES), help="default: examples/accuracy_page/sources.yaml")
    parser.add_argument("--base", help="fetch from http://localhost:PORT instead, for tests")
    return parser.parse_args(given)


def recorded(runs, copies, name):
    """Prints `rows` and `sha256` of a run's copy; of a file with several tables of the file and of each."""
    said = record(runs[0], copies) if runs else []
    if not said:
        raise ValueError(f"{name}: {'no copy in ' + str(copies.folder) + ' has points' if runs else 'is not in sources.yaml'}")
    print("\n".join(said))
    return 0


def main(given=None):
    args = arguments(given)
    try:
        sources, runs = load(args.sources)
        runs = [run for run in runs if args.only in run["from"]["url"]]
        if not runs:
            raise ValueError(f"no source has {args.only} in its URL")
        folder = pathlib.Path(args.folder)
        if args.fetch:
            folder.mkdir(parents=True, exist_ok=True)
        if not folder.is_dir():
            raise ValueError(f"{folder}: is no folder; --fetch makes it")
        faults = fetch_all(runs, Copies(folder), args.base) if args.fetch else []
        copies = Copies(folder)
        if args.record:
            return recorded([run for run in runs if run["id"] == args.record], copies, args.record)
        read = [copies.read(run) for run in runs]
        faults += [wrong for _, _, wrong in read if wrong]
        for fault in faults:
            print(f"from_sources: {fault}", file=sys.stderr)
        if all(points is None for points, _, _ in read):
            raise ValueError("no run could be read, so there is nothing to write a page about")
        text = page(sources, runs, read, Figures(runs, read), args.whole)
        if args.out:
            write_page(args.out, text)
        else:
            print(text, end="")
    except (OSError, ValueError, KeyError, yaml.YAMLError, fc.Error) as error:
        print(f"from_sources: {str(error).splitlines()[0]}", file=sys.stderr)
        return 2
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
