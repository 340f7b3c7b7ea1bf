"""examples/accuracy_page/sources.yaml: which public runs there are, where their copies lie, and whether they are what was measured.

A run is known by the points our readers take from it, not by the bytes of its file: its checksum is that of one line a point, so
that prose and white space around a table do not matter and a changed number does. A copy may be the original file, a part of it,
or rows of a point CSV that name the run as their source.
"""
import collections
import csv
import functools
import hashlib
import pathlib
import re
import tempfile
import urllib.parse
import warnings

import fabricost as fc
import numpy as np
import yaml
from published_fetch import LARGEST, Fault, fetch
from published_formats import FORMATS, point_csv

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "examples/accuracy_page/sources.yaml"
SIDECAR = {"id": "id", "system": "system", "nodes": "nodes", "gpus_per_node": "gpus_per_node", "nics_per_node": "nics_per_node",
           "nic_gbps": "nic_gbps", "gdr": "gdr", "sharp": "sharp", "algorithm": "algorithm_forced", "protocol": "protocol_forced",
           "health": "health"}
NAME = re.compile(r"[A-Za-z0-9_.-]+")


@functools.cache
def shipped(machine):
    """The system of that name or alias; None where there is none."""
    try:
        return fc.load_system(machine)
    except fc.Error:
        return None


def load(path=SOURCES):
    """(sources, runs): every run with what its source says of all its runs, and the source itself under `from`."""
    with open(path, encoding="utf-8") as file:
        try:
            sources = yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader))["sources"]
            runs = [{**source.get("each", {}), **run, "from": source} for source in sources for run in source["runs"]]
            for run in runs:
                for key in ("id", "system", "health", "rows", "sha256"):
                    run[key]
                run["from"]["url"], run["from"]["licence"]
                if not NAME.fullmatch(run["id"]) or ".." in run.get("path", "").split("/"):  # both become names of files
                    raise ValueError(f"{path}: {run['id']}: id and path are names inside a folder")
        except (TypeError, AttributeError, KeyError) as error:
            raise ValueError(f"{path}: does not list sources as the head of sources.yaml says ({error})") from None
    return sources, runs


# --- reading ---

def validated(points, **shape):
    """fc.validate without its warnings: the page says what is wrong with a run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fc.FabricostWarning)
        return fc.validate(points, **shape)


def read_text(run, text, table=False):
    """(points, rows our reader cannot use by reason) of a text, described as sources.yaml describes the run."""
    if "operation" in run and not table:
        text = f"# {run['operation']}_perf\n{text}"
    with tempfile.TemporaryDirectory(prefix="fabricost-source-") as made:
        folder = pathlib.Path(made)
        with open(folder / "sources.csv", "w", encoding="utf-8", newline="") as file:
            out = csv.writer(file)
            out.writerow(SIDECAR.values())
            out.writerow([run.get(key, "") for key in SIDECAR])
        file = folder / f"{run['id']}.{'csv' if table else 'txt'}"
        file.write_text(text, encoding="utf-8", newline="")
        shape = {} if table or "nodes" not in run else {"nodes": run["nodes"], "ranks": run["nodes"] * run["gpus_per_node"]}
        if shipped(run["system"]):  # some formats need it; others are read, to be refused by name when they are priced
            shape["system"] = run["system"]
        points = fc.read_log(file, **shape)
        reasons = validated(file, **shape).skipped if shipped(run["system"]) else {}
    for column in ("launch", "library_version"):  # what the text does not say
        if column in run and (column == "launch" or not any(points[column])):
            points = with_text(points, column, run[column])
    return points, {why: rows for why, rows in reasons.items() if "do not fit" not in why}


def with_text(points, name, text):
    """The points with one column of text replaced."""
    kinds = [(n, f"U{len(text)}" if n == name else points.dtype[n]) for n in points.dtype.names]
    out = np.empty(len(points), kinds)
    for column in points.dtype.names:
        out[column] = text if column == name else points[column]
    return out


def lines_of(points):
    """A canonical line a point: operation, type, bytes, microseconds with six digits, in place, ranks, and whether Python launched it."""
    return [f"{p['operation']} {p['dtype']} {p['bytes']:.0f} {p['seconds'] * 1e6:.6g} {p['in_place']} {p['ranks']}"
            f"{' python' if 'launched from Python' in str(p['notes']) else ''}" for p in points]


def checksum(lines):
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def chosen(run, points):
    """The points that the checksum names: all of them, or that many in a row; None when none have it."""
    lines, count = lines_of(points), run["rows"]
    for at in range(max(0, len(lines) - count) + 1):
        part = lines[at:at + count]
        if len(part) == count and checksum(part) == run["sha256"]:
            return points[at:at + count]
    return None


def pieces(run, text):
    """The text, the lines that sources.yaml names, and each table of it with what stands between it and the one before."""
    lines = text.splitlines(keepends=True)
    if "lines" in run:
        first, last = run["lines"]
        yield "".join(line for number, line in enumerate(lines, 1) if number < first and "busbw" in line) + "".join(lines[first - 1:last])
    yield text
    heads = [i for i, line in enumerate(lines) if "algbw" in line and "time" in line]
    if len(heads) > 1:
        ends = [*heads[1:], len(lines)]
        starts = [0, *(max([i for i in range(h, e) if lines[i].split() and lines[i].split()[0].isdigit()], default=h) + 1
                       for h, e in zip(heads, ends))]
        for start, end in zip(starts, ends):
            yield "".join(lines[start:end])


def read_file(run, path):
    """(points, reasons, what is wrong) of one copy; points of a copy that is not what was measured are None."""
    try:
        text = pathlib.Path(path).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        return None, {}, f"{path}: {error.strerror}"
    wrong = None
    how = FORMATS.get(run.get("as", ""))
    parts = [text] if how else list(pieces(run, text))
    for piece in parts:
        try:
            points, reasons = read_text(run, point_csv(how(piece, run), run["id"]), True) if how else read_text(run, piece)
        except (fc.Error, KeyError, ValueError) as error:
            wrong = wrong or f"{path}: cannot be read ({str(error).splitlines()[0].split(': ', 1)[-1]})"
            continue
        found = chosen(run, points)
        if found is not None:
            return found, reasons, None
        wrong = f"{path}: its points are not those of sources.yaml ({len(points)} rows read, {run['rows']} wanted, checksum differs)"
    return None, {}, wrong if len(parts) == 1 else f"{path}: no table of it has the {run['rows']} points of sources.yaml"


# --- copies ---

class Copies:
    """A folder of local copies: as they lie in their repositories, as ID.txt, or as rows of point CSVs."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.by_name, self.rows = collections.defaultdict(list), collections.defaultdict(list)
        for path in sorted(p for p in self.folder.rglob("*") if p.is_file()):
            self.by_name[path.stem].append(path)
            if path.suffix == ".csv":
                self.index(path)

    def index(self, path):
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            table = csv.DictReader(file)
            if not {"source", "system", "operation", "bytes", "time_us"} <= set(table.fieldnames or ()):
                return
            for row in table:
                self.rows[path.name, row["source"]].append(row)

    def place(self, run):
        """The path of a fetched file."""
        at = urllib.parse.urlsplit(run["from"]["url"])
        commit = f"@{run['commit']}" if "commit" in run else ""
        return self.folder / "fetched" / at.netloc / f"{at.path.strip('/')}{commit}" / run.get("path", "raw")

    def files_of(self, run):
        """Files that should be the run's."""
        return [p for p in (self.place(run),) if p.is_file()] + self.by_name[run["id"]]

    def rows_of(self, run):
        """Rows of point CSVs that are the run's."""
        wanted = run.get("copy", {})
        return [row for (file, source), rows in self.rows.items() for row in rows
                if source == wanted.get("source", run["id"]) and file == wanted.get("file", file)
                and row["system"] == wanted.get("system", row["system"])
                and row["operation"] in wanted.get("operations", [row["operation"]])]

    def read(self, run):
        """(points, reasons, what is wrong) of the first copy that is what was measured."""
        wrong = None
        for path in self.files_of(run):
            points, reasons, said = read_file(run, path)
            if points is not None:
                return points, reasons, None
            wrong = wrong or f"{run['id']}: {said.replace(f'{self.folder}/', '')}"
        rows = self.rows_of(run)
        if rows:
            try:
                points, reasons = read_text(run, point_csv(rows, run["id"]), True)
            except fc.Error as error:
                return None, {}, f"{run['id']}: cannot be read ({str(error).splitlines()[0].split(': ', 1)[-1]})"
            found = chosen(run, points)
            if found is not None:
                return found, reasons, None
            wrong = wrong or f"{run['id']}: {len(points)} rows of point CSVs are not the {run['rows']} of sources.yaml (checksum differs)"
        return None, {}, wrong or f"{run['id']}: no copy in {self.folder}; {how_to_get(run)}"


def record(run, copies):
    """The entry of sources.yaml for the first copy: `rows: 60, sha256: ...`, of each part of the file that can be read."""
    said = {}
    how = FORMATS.get(run.get("as", ""))
    for text in [path.read_text(encoding="utf-8", errors="replace") for path in copies.files_of(run)[:1]] or [None]:
        for piece in [None] if text is None else [text] if how else pieces(run, text):
            try:
                rows = copies.rows_of(run) if piece is None else how(piece, run) if how else None
                points, _ = read_text(run, piece if rows is None else point_csv(rows, run["id"]), rows is not None)
                said[f"rows: {len(points)}, sha256: {checksum(lines_of(points))}"] = None
            except (fc.Error, KeyError, ValueError):
                continue
    return list(said)


def address(run, ref=None):
    """The URL of a run's file; None where a person has to copy it."""
    source = run["from"]
    if "raw" in source:
        return source["raw"]
    if "path" not in run or not source["url"].startswith("https://github.com/"):
        return None
    return f"{source['url']}/raw/{ref or run.get('commit') or source.get('commit') or 'HEAD'}/{urllib.parse.quote(run['path'])}"


def how_to_get(run):
    url = address(run)
    if url and "by_hand" not in run:
        return f"fetch {url}"
    return f"copy {run.get('by_hand', 'its table')} from {run['from']['url']} to {run['id']}.txt there"


def fetch_all(runs, copies, base=None):
    """Fetches the files that no copy stands for. Returns lines that say what could not be had."""
    faults, tried = [], {}
    for run in runs:
        url, place = address(run), copies.place(run)
        if url is None or "by_hand" in run or place.is_file() or copies.by_name[run["id"]] or copies.rows_of(run) or place in tried:
            continue
        urls = list(dict.fromkeys([url, address(run, "HEAD")]))
        if base:
            urls = [base + urllib.parse.urlsplit(u).path for u in urls]
        tried[place] = True
        try:
            fetch(urls, place, local=base is not None, largest=LARGEST)
        except Fault as fault:
            faults.append(f"fetch: {fault}")
    return faults
