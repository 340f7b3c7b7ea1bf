#!/usr/bin/env python3
"""Code holds no number that somebody fitted, measured or chose: those stand in data/, with a source; and what stands there is read.

    check_numbers.py SOURCE_DIR

Reads the floating literals of the folders below. 0, 0.5, 1, 2 and powers of ten (units, per cent) may stand anywhere; what else a folder
needs is in its row, with why. Exit status 1 and file:line for each literal that no row allows, and for each row that nothing needs; the
same for a row of the tables `constants` and `numbers` in data/priors/ that no code but its struct names."""

import pathlib
import re
import sys

import yaml

ANYWHERE = {"0", "0.5", "1", "2", "100"}

# Folder or file below the source directory -> literals allowed there beside those, each with its reason. A folder counts with all below it,
# but for files that have a row of their own.
FOLDERS = {  # plan/NAME: headers and sources
    "src/observe/diagnose": {
        "1.25e8": "byte/s in a Gbit/s",
        "1.25e5": "byte/s in a Mbit/s",
        "1.25e11": "byte/s in a Tbit/s",
        "1.1": "runs that differ by less repeat each other",
        "1.05": "what a mix-up of units, directions or bandwidths is told within",
    },
    "src/observe/diagnose/quoted.cpp": {
        "0.02": "printed rates are rounded: rows of a table are told by time x rate = size",
        "0.01": "the same, of small rates",
    },
    "include/fabricost/price": {
        "0.1": "of a fitted latency, what stays where a tier's own is lower: a guard that keeps prices above zero",
        "690.0": "from where exp(-x) is 0",
        "6755399441055744.0": "1.5 x 2^52: adding it rounds to a whole number",
    },
    "include/fabricost/predict": {
        "0.9807852804032304": "zeros of the Chebyshev polynomial T8",
        "0.8314696123025452": "the same",
        "0.5555702330196022": "the same",
        "0.19509032201612825": "the same",
        "0.25": "a quarter of an octave, which a polynomial of the curve's table spans",
        "0.125": "half of that",
        "0.1": "of T7 to T6 where a polynomial has died out",
        "4e15": "bytes up to which a double holds whole numbers",
        "0.05": "rates of links of one generation differ by less, those of the next by a factor of two",
    },
    "include/fabricost/choice": {
        "0.0625": "of an octave, between two sizes at which prices are compared",
        "1125899906842624.0": "1 PiB",
    },
    "include/fabricost/hardware": {},
    "plan/network": {},
    "plan/memory": {},
    "include/fabricost/experts": {
        "0.98": "loads within 2 % of the first of a class of ranks are of that class",
        "0.1": "of a quadrature: its widest step, and",
        "1.25": "over the root of k, its step where the k-th of many clocks rings",
        "30.0": "-log(1 - share) where the share is 1",
        "8.1e6": "products of polynomials at one of its nodes, beyond which a choice of experts is refused",
    },
    "plan/kernels": {},
    "include/fabricost/parameters": {"1.645": "standard deviations that hold nine in ten of a normal distribution"},
    "plan/training": {
        "1.1": "sensitivity asks for 10 % more, as its words say",
        "0.01": "per cent by which a plainer layout may be slower: less than steps of one recipe differ from run to run",
    },
    "src/plan/training/step.cpp": {"128.0": "Megatron-LM pads a vocabulary to so many times the tensor ranks"},
    "plan/economics": {
        "0.01": "one per cent, the gain that is asked for",
        "0.57721566490153286": "Euler's constant",
        "2.3263478740408408": "standard deviations below which 99 % of a normal distribution lie",
        "50.0": "of an exponential tail, the half beyond its median over the hundredth beyond its 99th percentile",
    },
    "include/fabricost/plan/serving/constants.hpp": {},
    "include/fabricost/plan/serving/parameters.hpp": {},
    "include/fabricost/plan/serving/kv_cache.hpp": {},
    "include/fabricost/calibrate": {},
    "src/core/calibrate": {"1.4826": "median of |r| to the standard deviation of a normal distribution"},
    "src/probes/machine": {"0.001": "printed deviations have three digits"},
}
SUFFIXES = {".hpp", ".cpp", ".h"}
# Comments, raw strings, strings and characters; a quote between two digits separates thousands.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<end>[^(]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"'
                      r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)
FLOATING = re.compile(r"(?<![\w.])(?:\d[\d']*\.[\d']*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d[\d']*[eE][+-]?\d+)[fFlL]?(?!\w)")


def code_of(text):
    """C++ text without comments and strings, line by line as it was."""
    return NOT_CODE.sub(lambda found: "\n" * found.group().count("\n") + " ", text)


def literals(text):
    """[(line, literal)] of the floating literals in C++ text."""
    code = code_of(text)
    return [(code.count("\n", 0, found.start()) + 1, found.group()) for found in FLOATING.finditer(code)]


def value(literal):
    return float(literal.replace("'", "").rstrip("fFlL"))


def is_unit(literal):
    """A power of ten written as one."""
    return re.fullmatch(r"1(?:\.0?)?[eE][+-]?\d+[fFlL]?", literal) is not None


def check(root, folders):
    """(faults as lines, literals read) of the sources below root."""
    root, faults, read = pathlib.Path(root), [], 0
    for folder, allowed in folders.items():
        fine = {value(literal): literal for literal in allowed}
        needed = set()
        places = [root / "include/fabricost" / folder, root / "src" / folder] if folder.startswith("plan/") else [root / folder]
        files = [p for place in places for p in ([place] if place.is_file() else sorted(place.rglob("*"))) if p.suffix in SUFFIXES and p.is_file()]
        if not files:
            faults.append(f"{folder}: no sources found")
        for path in files:
            name = path.relative_to(root).as_posix()
            if name != folder and name in folders:
                continue
            for line, literal in literals(path.read_text(encoding="utf-8")):
                read += 1
                if value(literal) in {value(one) for one in ANYWHERE} or is_unit(literal):
                    continue
                if value(literal) in fine:
                    needed.add(fine[value(literal)])
                else:
                    faults.append(f"{name}:{line}: {literal} stands in the code; it belongs into data/, with its source")
        faults += [f"{folder}: {one} is allowed ({why}) and stands nowhere" for one, why in allowed.items() if one not in needed]
    return faults, read


def unread(root):
    """(faults as lines, rows read) of data/priors/: a row's member is named outside the declarations of include/fabricost/hardware/."""
    root, faults, rows, words = pathlib.Path(root), [], 0, set()
    structs = root / "include/fabricost/hardware"
    for folder in ("include", "src", "bindings"):
        for path in (root / folder).rglob("*"):
            if path.suffix in SUFFIXES and path.is_file() and (structs not in path.parents or path.name.endswith("-inl.hpp")):
                words.update(re.findall(r"\w+", code_of(path.read_text(encoding="utf-8"))))
    for path in sorted((root / "data/priors").rglob("*.yaml")):
        whole = yaml.safe_load(path.read_text(encoding="utf-8"))
        for table in ("constants", "numbers"):
            for key, row in (whole.get(table) or {}).items():
                rows += 1
                member = row.get("member", key) if isinstance(row, dict) else key
                if re.sub(r"\[.*", "", str(member)).split(".")[-1] not in words:
                    faults.append(f"{path.relative_to(root)}: nothing reads {table}.{key}")
    return faults, rows


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    faults, read = check(sys.argv[1], FOLDERS)
    more, rows = unread(sys.argv[1])
    faults += more
    print("\n".join(faults) if faults else f"{read} floating literals, none that belongs into data/; all {rows} of data/priors/ are read")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
