"""`fabricost exporter`: what NCCL Inspector measured beside what the machine should give, for Prometheus.

Inspector (NCCL's plugins/profiler/inspector) writes JSON lines, or text files for the node exporter. The exporter reads both from files
and folders at each scrape, keeps the last calls of each communicator, collective and size in memory and nothing else, and says for each:
the median of the measured times, the predicted time, the interval of nine in ten measurements, and the verdict; where NCCL's own messages
are given, the causes that `fabricost diagnose` finds in them for what is slow.
"""
from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import json
import math
import os
import signal
import statistics
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from . import _core
from ._command import status_of
from ._extras import module
from .names import operations

_CALLS = {"allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter", "broadcast": "broadcast",
          "reduce": "reduce", "alltoall": "all_to_all"}
_FIRST_READ = 64 << 20  # bytes of a file's end that are read when it is first seen
_MOST_GROUPS = 4096     # communicators x collectives x sizes kept; the one unused longest goes first
VERDICTS = ("slow", "as_predicted", "fast")


@dataclasses.dataclass(frozen=True)
class Call:
    """One collective as Inspector saw it; `bytes` is nccl-tests' size."""

    communicator: str
    operation: str
    ranks: int
    nodes: int
    bytes: float
    seconds: float


@dataclasses.dataclass(frozen=True)
class Compared:
    """The calls of one communicator, collective and size, which is rounded to a power of two, beside the prediction."""

    communicator: str
    operation: str
    ranks: int
    nodes: int
    size: int
    calls: int
    measured: float
    predicted: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        return "slow" if self.measured > self.high else "fast" if self.measured < self.low else "as_predicted"

    def labels(self) -> list[str]:
        return [self.communicator, self.operation, str(self.ranks), str(self.nodes), str(self.size)]


def call_of(record: dict[str, Any]) -> Call | None:
    """A record of Inspector's JSON lines; None for sends, receives and its own statistics. Raises ValueError, KeyError, TypeError."""
    if "coll_perf" not in record:
        return None
    header, measured = record["header"], record["coll_perf"]
    operation, ranks = _CALLS[str(measured["coll"]).lower().replace("_", "")], int(header["n_ranks"])
    size = float(measured["coll_msg_size_bytes"]) * (ranks if operation in ("all_gather", "reduce_scatter") else 1)  # one rank's part there
    return _checked(Call(str(header.get("comm_name") or header["id"]), operation, ranks, int(header["nnodes"]), size,
                         float(measured["coll_exec_time_us"]) / 1e6))


def _checked(call: Call) -> Call | None:
    if not (0 < call.seconds < math.inf and 0 < call.bytes < math.inf and call.ranks >= 1 and call.nodes >= 1):
        raise ValueError(f"{call.operation} of {call.bytes} bytes in {call.seconds} s")
    return call if call.ranks > 1 else None


def calls_of_text(text: str) -> Iterator[Call]:
    """Of Inspector's file for the node exporter. It names a range of sizes; bandwidth and time say which. Raises ValueError, KeyError."""
    rates: dict[tuple[tuple[str, str], ...], float] = {}
    times: dict[tuple[tuple[str, str], ...], float] = {}
    for family in module("prometheus_client.parser").text_string_to_metric_families(text):
        kept = {"nccl_bus_bandwidth_gbs": rates, "nccl_collective_exec_time_microseconds": times}.get(family.name)
        if kept is not None:
            kept.update({tuple(sorted(sample.labels.items())): sample.value for sample in family.samples})
    for key, microseconds in times.items():
        labels = dict(key)
        operation, ranks = _CALLS[labels["collective"].lower()], int(labels["nranks"])
        if ranks > 1 and rates.get(key, 0.0) > 0:
            size = rates[key] * 1e9 / _core._bus_factor(operation, ranks) * microseconds / 1e6
            call = _checked(Call(labels["comm_name"], operation, ranks, int(labels["n_nodes"]), size, microseconds / 1e6))
            if call is not None:
                yield call


class Reader:
    """Inspector's files below some paths. Keeps how far each was read, and the last `window` calls of each group."""

    def __init__(self, paths: Sequence[Path], window: int) -> None:
        self.paths, self.window = paths, window
        self.kept: collections.OrderedDict[tuple[Any, ...], collections.deque[Call]] = collections.OrderedDict()
        self.offsets: dict[Path, int] = {}
        self.unread = 0                       # lines that are no record
        self.missing: dict[str, str] = {}     # path: why it could not be read

    def groups(self) -> dict[tuple[Any, ...], list[Call]]:
        """Calls by communicator, collective, ranks, nodes and rounded size, after reading what is new."""
        self.missing = {}
        now: dict[tuple[Any, ...], list[Call]] = {}
        for path in self._files():
            try:
                if path.suffix == ".prom":
                    for call in calls_of_text(path.read_text(encoding="utf-8")):
                        now.setdefault(_group(call), []).append(call)
                else:
                    self._follow(path)
            except (OSError, ValueError, KeyError) as error:
                self.missing[str(path)] = f"{type(error).__name__}: {error}"
        return {**{key: list(calls) for key, calls in self.kept.items()}, **now}

    def _files(self) -> list[Path]:
        out: list[Path] = []
        for path in self.paths:
            if path.is_dir():
                out += sorted(one for one in path.rglob("*") if one.is_file() and one.suffix in (".prom", ".log", ".json", ".jsonl"))
            elif path.is_file():
                out.append(path)
            else:
                self.missing[str(path)] = "there is no such file or folder"
        return out

    def _follow(self, path: Path) -> None:
        """Takes the whole lines that were added since the last time."""
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            at = self.offsets.get(path, -1)
            begins = at < 0 or at > end  # new, or written anew
            at = max(0, end - _FIRST_READ) if begins else at
            file.seek(at)
            added = file.read(end - at)
        if begins and at > 0:
            added, at = added[added.find(b"\n") + 1:], at + added.find(b"\n") + 1
        whole = added.rfind(b"\n") + 1
        self.offsets[path] = at + whole
        for line in added[:whole].splitlines():
            text = line.strip().rstrip(b",")
            if text in (b"", b"[", b"]"):
                continue
            try:
                call = call_of(json.loads(text))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                self.unread += 1
                continue
            if call is not None:
                self._keep(call)

    def _keep(self, call: Call) -> None:
        key = _group(call)
        self.kept.setdefault(key, collections.deque(maxlen=self.window)).append(call)
        self.kept.move_to_end(key)
        if len(self.kept) > _MOST_GROUPS:
            self.kept.popitem(last=False)


def _group(call: Call) -> tuple[Any, ...]:
    return call.communicator, call.operation, call.ranks, call.nodes, 2 ** round(math.log2(call.bytes))


class Comparison:
    """Predicts what was read. `unpriced`: why groups have no prediction, and how many."""

    def __init__(self, system: Any) -> None:
        self.system = system
        self.unpriced: dict[str, int] = {}
        self._priced = functools.lru_cache(maxsize=65536)(self._price)

    def _price(self, operation: str, ranks: int, nodes: int, size: float) -> tuple[float, float, float]:
        found = _core.predict(self.system, operations[operation](bytes=size, ranks=ranks, nodes=nodes))
        return float(found.seconds), float(found.low_seconds), float(found.high_seconds)

    def of(self, groups: dict[tuple[Any, ...], list[Call]]) -> list[Compared]:
        out = []
        self.unpriced = {}
        for (communicator, operation, ranks, nodes, size), calls in groups.items():
            try:  # each call is compared at its own size, and the group told at the median one
                each = [(call.seconds, *self._priced(operation, ranks, nodes, call.bytes)) for call in calls]
            except _core.RequestError as error:
                self.unpriced[str(error)] = self.unpriced.get(str(error), 0) + 1
                continue
            predicted = statistics.median(one[1] for one in each)
            measured, low, high = (predicted * statistics.median(one[at] / one[1] for one in each) for at in (0, 2, 3))
            out.append(Compared(communicator, operation, ranks, nodes, size, len(calls), measured, predicted, low, high))
        return out


class Causes:
    """What `diagnose` says of NCCL's messages, of a file or a folder of them; read again when one has changed."""

    def __init__(self, log: Path | None, system: Any) -> None:
        self.log, self.system = log, system
        self.seen: set[tuple[str, float, int]] | None = None
        self.found: list[tuple[str, float, str]] = []

    def now(self) -> list[tuple[str, float, str]]:
        """cause, confidence, remedy. Raises OSError, ValueError."""
        if self.log is None:
            return []
        state = {(str(one), one.stat().st_mtime, one.stat().st_size) for one in (self.log.rglob("*") if self.log.is_dir() else [self.log])}
        if state != self.seen:
            self.found = [(one.cause, float(one.confidence), str(one.remedy)) for one in _core.diagnose(str(self.log), system=self.system).causes]
            self.seen = state
        return self.found


class Collector:
    """Of prometheus_client: the metrics of one scrape."""

    def __init__(self, system: Any, reader: Reader, causes: Causes) -> None:
        self.reader, self.causes, self.comparison = reader, causes, Comparison(system)
        self.lock = threading.Lock()  # scrapes come from threads

    def describe(self) -> Iterable[Any]:
        return []

    def collect(self) -> Iterator[Any]:
        with self.lock:
            yield from self._metrics()

    def _metrics(self) -> Iterator[Any]:
        family = module("prometheus_client.core").GaugeMetricFamily
        compared = self.comparison.of(self.reader.groups())
        labels = ["communicator", "operation", "ranks", "nodes", "bytes"]
        for name, text, field in (
                ("measured_seconds", "Median of the measured times", "measured"), ("predicted_seconds", "Predicted time", "predicted"),
                ("predicted_low_seconds", "Lower end of the interval of nine in ten measurements", "low"),
                ("predicted_high_seconds", "Upper end of the interval of nine in ten measurements", "high"),
                ("calls", "Calls that the median is of", "calls")):
            metric = family(f"fabricost_{name}", text + ", of a communicator's collective near a size", labels=labels)
            for one in compared:
                metric.add_metric(one.labels(), getattr(one, field))
            yield metric
        verdict = family("fabricost_verdict", "1 for the verdict that holds: slow, as_predicted or fast", labels=[*labels, "verdict"])
        for one in compared:
            for word in VERDICTS:
                verdict.add_metric([*one.labels(), word], float(one.verdict == word))
        yield verdict
        yield from self._causes(family, sorted({one.communicator for one in compared if one.verdict == "slow"}))
        unread = family("fabricost_unread", "Lines that are no record of Inspector, files that cannot be read, groups without a prediction",
                        labels=["what", "reason"])
        unread.add_metric(["lines", "no record"], self.reader.unread)
        for path, why in self.reader.missing.items():
            unread.add_metric(["file", f"{path}: {why}"], 1)
        for why, count in self.comparison.unpriced.items():
            unread.add_metric(["groups", why], count)
        yield unread

    def _causes(self, family: Any, slow: list[str]) -> Iterator[Any]:
        metric = family("fabricost_cause", "Confidence, 0 to 1, of a cause that diagnose finds in NCCL's messages, of a slow communicator",
                        labels=["communicator", "cause", "remedy"])
        if slow:
            try:
                found = self.causes.now()
            except (OSError, ValueError) as error:
                self.reader.missing[str(self.causes.log)] = f"{type(error).__name__}: {error}"
                found = []
            for communicator in slow:
                for cause, confidence, remedy in found:
                    metric.add_metric([communicator, cause, remedy], confidence)
        yield metric


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise _core.RequestError(f'--listen: "{text}" is no address; write 127.0.0.1:9465, or 0.0.0.0:9465 for other machines')
    return host.strip("[]"), int(port)


def _parser() -> argparse.ArgumentParser:
    from ._export.command import Parser  # one form of errors

    out = Parser(prog="fabricost exporter", allow_abbrev=False, description="Serves NCCL Inspector's measurements beside predictions, for Prometheus",
                 epilog="Example: fabricost exporter --system dgx-h100 --from /var/lib/node_exporter/nccl_inspector")
    out.add_argument("--system", "-s", required=True, help="a name, or a YAML file")
    out.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="override one value")
    out.add_argument("--calibration", default="", help="none, or a file")
    out.add_argument("--from", dest="sources", action="append", required=True, metavar="PATH", help="Inspector's files, or folders of them")
    out.add_argument("--nccl-log", metavar="LOG", help="NCCL's messages (NCCL_DEBUG=INFO), a file or a folder, in which causes are sought")
    out.add_argument("--listen", default="127.0.0.1:9465", metavar="HOST:PORT", help="default 127.0.0.1:9465, this machine alone")
    out.add_argument("--window", type=int, default=256, metavar="N", help="calls kept of each communicator, collective and size; default 256")
    out.add_argument("--once", action="store_true", help="print the metrics once, and serve nothing")
    return out


def _serve(arguments: Sequence[str]) -> None:
    asked = _parser().parse_args(arguments)
    if not 1 <= asked.window <= 1_000_000:
        raise _core.RequestError(f"--window: {asked.window} is not from 1 to 1000000")
    host, port = _address(asked.listen)
    system = _core.load_system(asked.system, asked.set, asked.calibration)
    client = module("prometheus_client")
    log = Path(asked.nccl_log) if asked.nccl_log else None
    if log is not None and not log.exists():
        raise _core.RequestError(f"--nccl-log {log}: there is no such file or folder")
    registry = client.CollectorRegistry()
    registry.register(Collector(system, Reader([Path(one) for one in asked.sources], asked.window), Causes(log, system)))
    if asked.once:
        sys.stdout.write(client.generate_latest(registry).decode())
        return
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        client.start_http_server(port, addr=host, registry=registry)
    except OSError as error:
        raise _core.RequestError(f"--listen {asked.listen}: {error.strerror}; take another port") from error
    print(f"fabricost exporter: {system.name} at http://{asked.listen}/metrics", flush=True)
    stop.wait()


def main(arguments: Sequence[str]) -> int:
    """0: ended by a signal; 2: it cannot serve, and a message on stderr says why."""
    return status_of("exporter", _serve, arguments)
