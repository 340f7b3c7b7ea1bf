"""Answers in a notebook: small HTML tables with the object's own figures, all text escaped.

Notebooks call `_repr_html_` of a cell's last value; `attach` adds it to the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from ._plot.style import rate_text, seconds_text, size_text

GIB = 2**30
MOST_ROWS = 10
LEFT, WORDS = ' style="text-align:left"', ' style="text-align:left;white-space:nowrap"'
LONGEST_UNBROKEN = 24


def escape(text: Any) -> str:
    from html import escape as escaped  # imported on first use

    return escaped(str(text))


def _numeric(cell: str) -> bool:
    return cell[:1].isdigit() or cell in ("-", "...", "")


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "", foot: Sequence[Any] | None = None) -> str:
    """A table with its caption; columns of numbers (with units) are right-aligned, others left-aligned."""
    texts = [[str(cell) for cell in row] for row in rows]
    columns = [[row[i] for row in texts] for i in range(len(head))]
    looks = ["" if all(map(_numeric, column)) else WORDS if max(map(len, column)) <= LONGEST_UNBROKEN else LEFT for column in columns]

    def cells(row: Iterable[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}{look}>{escape(cell)}</{tag}>" for cell, look in zip(row, looks)) + "</tr>"

    body = "".join(cells(row, "td") for row in texts)
    end = f"<tfoot>{cells(foot, 'th')}</tfoot>" if foot is not None else ""
    top = line(caption) if caption else ""
    return f'{top}<table style="text-align:right"><thead>{cells(head, "th")}</thead><tbody>{body}</tbody>{end}</table>'


Columns = dict[str, Callable[[Any], Any]]  # the head of a column, and what it shows of a row


def listed(rows: Iterable[Any], columns: Columns, caption: str = "") -> str:
    return table(list(columns), [[shown(row) for shown in columns.values()] for row in rows], caption)


def named(*names: str) -> Columns:
    """Columns of attributes, as they are."""
    return {name: attrgetter(name) for name in names}


def line(text: str) -> str:
    return f'<p style="margin:6px 0">{escape(text)}</p>'


def verdict(answer: Any) -> str:
    """The first line of what an answer prints."""
    return repr(answer).splitlines()[0]


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def between(interval: tuple[float, float]) -> str:
    return f"{seconds_text(interval[0])} to {seconds_text(interval[1])}"


def counted(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _shared_terms(terms: Sequence[Any], total: float, caption: str = "") -> str:
    """Terms that sum to a time, with their shares; zero ones are omitted."""
    tiered = bool(terms) and hasattr(terms[0], "tier")
    rows = [[t.name, *([t.tier] if tiered else []), seconds_text(t.seconds), percent(t.seconds / total)] for t in terms if t.seconds != 0]
    head = ["term", *(["tier"] if tiered else []), "time", "share"]
    return table(head, rows, caption, ["total", *([""] if tiered else []), seconds_text(total), "100.0 %"])


def sure(basis: str, extrapolated: Sequence[str]) -> str:
    """The basis of a prediction, as a sentence."""
    rests = {
        "calibrated": "constants fitted to this machine's own runs",
        "sibling": "constants fitted to runs of a machine built like it",
        "datasheet": "datasheets, no run of such a machine",
    }.get(basis, basis)
    outside = f"; outside what was measured: {', '.join(extrapolated)}" if extrapolated else ""
    return f"{basis}: {rests}{outside}"


def prediction(p: Any) -> str:
    """A Prediction: what ran, its time, terms and uncertainty."""
    op = p.operation
    asked = f"{op.collective} of {size_text(op.bytes)} ({op.dtype}) over {counted(p.ranks, 'rank')} on {counted(p.nodes, 'node')}"
    caption = f"{asked}: {p.algorithm} {p.protocol}"
    after = (
        f"algbw {rate_text(p.algorithm_bytes_per_second)}, busbw {rate_text(p.bus_bytes_per_second)}; {sure(p.basis, p.extrapolated)}"
    )
    return f"<div>{line(verdict(p))}{_shared_terms(p.terms, p.seconds, caption)}{line(after)}</div>"


CURVE: Columns = {
    "size": lambda p: size_text(p.operation.bytes),
    "ranks": lambda p: f"{p.ranks:,}",
    "time": lambda p: seconds_text(p.seconds),
    "nine in ten": lambda p: between(p.interval_seconds),
    "busbw": lambda p: rate_text(p.bus_bytes_per_second),
    "runs": lambda p: f"{p.algorithm} {p.protocol}",
    "bottleneck": lambda p: p.bottleneck.tier,
}


def predictions(p: Any) -> str:
    """Predictions: a sample of rows, the first and the last."""
    import numpy as np

    size = int(np.prod(p.shape))
    places = list(range(size)) if size <= MOST_ROWS else [*range(MOST_ROWS // 2), *range(size - MOST_ROWS // 2, size)]
    rows: list[list[Any]] = []
    for i, place in enumerate(places):
        if i and place != places[i - 1] + 1:
            rows.append(["...", *[""] * (len(CURVE) - 1)])
        one = p[tuple(int(k) for k in np.unravel_index(place, p.shape))]
        rows.append([shown(one) for shown in CURVE.values()])
    caption = f"{size:,} predictions of {p.operation.collective} on {p.system.name}, shape {p.shape}"
    return table(list(CURVE), rows, caption)


def tiers(system: Any, sources: bool = True) -> str:
    columns: Columns = {
        "tier": lambda t: t.name,
        "kind": lambda t: t.kind,
        "joins": lambda t: t.endpoints,
        "one way": lambda t: rate_text(t.bytes_per_second),
        "latency": lambda t: seconds_text(t.latency_seconds) if t.latency_seconds > 0 else "-",
        **named("confidence", *(["source"] if sources else [])),
    }
    return listed(system.tiers, columns)


def system(s: Any) -> str:
    """A System: its tiers from the innermost outwards, rates of one endpoint in one direction."""
    caption = (
        f"{s.name}: {s.title}. {counted(s.gpus, 'GPU')} in {counted(s.nodes, 'node')} of {s.gpus_per_node}, scale-up domain of {s.domain}"
    )
    return f"<div>{line(caption)}{tiers(s)}</div>"


def training_plan(p: Any) -> str:
    """A TrainingPlan: its layout, step, memory and terms."""
    layout = (
        f"{p.model} on {p.gpus:,} {p.system} GPUs: tp {p.tp} pp {p.pp} vp {p.vp} cp {p.cp} ep {p.ep} dp {p.dp}, ZeRO {p.zero}, "
        f"microbatch {p.microbatch}, {p.schedule}, recompute {p.recompute}"
    )
    after = (
        f"{p.memory_bytes / GIB:.1f} GiB, MFU {percent(p.mfu)} counting all scores, "
        f"{percent(p.mfu_causal)} causal ones, {p.tokens_per_second_per_gpu:,.1f} tokens/s/GPU; {p.stack}"
    )
    return f"<div>{line(verdict(p))}{_shared_terms(p.terms, p.step_seconds, layout)}{line(after)}</div>"


def plans(p: Any) -> str:
    """Plans: the layouts, fastest first."""
    first = p[0]
    caption = (
        f"{first.model} on {first.gpus:,} {first.system} GPUs, {p.global_batch:,} sequences of {p.sequence:,} tokens a step, "
        f"{p.precision}, {first.stack}: {p.evaluated:,} layouts evaluated, {p.pruned:,} left out"
    )
    columns: Columns = {
        "step s": lambda x: f"{x.step_seconds:.4g}",
        "tokens/s/GPU": lambda x: f"{x.tokens_per_second_per_gpu:,.1f}",
        "MFU %, all scores": lambda x: f"{100 * x.mfu:.1f}",
        "causal": lambda x: f"{100 * x.mfu_causal:.1f}",
        "GiB": lambda x: f"{x.memory_bytes / GIB:.1f}",
        **named("tp", "pp", "vp", "cp", "ep", "dp"),
        "ZeRO": lambda x: x.zero,
        **named("microbatch", "schedule", "recompute"),
    }
    return f"<div>{line(verdict(p))}{listed(list(p)[:MOST_ROWS], columns, caption)}</div>"


def serve_plan(p: Any) -> str:
    """A ServePlan: the deployment, its times and the terms of a token."""
    (t0, t1), (o0, o1) = p.interval_ttft_seconds, p.interval_tpot_seconds
    caption = (
        f"{p.model} in {p.precision} on {p.gpus:,} {p.system} GPUs: {p.replicas} x tp {p.tp} pp {p.pp} ep {p.ep} dp {p.dp}, "
        f"batch {p.batch:,.0f}"
    )
    if p.disaggregated:
        caption += f", prefill {p.prefill_workers} x tp {p.prefill_tp} pp {p.prefill_pp} ep {p.prefill_ep} dp {p.prefill_dp}"
    after = (
        f"TTFT {seconds_text(p.ttft_seconds)} (nine in ten {seconds_text(t0)} to {seconds_text(t1)}), TPOT {seconds_text(p.tpot_seconds)} "
        f"({seconds_text(o0)} to {seconds_text(o1)}), {p.tokens_per_second_per_gpu:,.1f} tokens/s/GPU, "
        f"{p.memory_bytes / GIB:.1f} GiB; {p.stack}"
    )
    return f"<div>{line(verdict(p))}{_shared_terms(p.terms, p.tpot_seconds, caption)}{line(after)}</div>"


def serve_plans(p: Any) -> str:
    """ServePlans: the deployments, most tokens per second and GPU first."""
    first = p[0]
    caption = f"{first.model} in {first.precision} on {first.gpus:,} {first.system} GPUs, {first.stack}: {p.evaluated:,} deployments evaluated"
    columns: Columns = {
        "tokens/s/GPU": lambda x: f"{x.tokens_per_second_per_gpu:,.1f}",
        "tokens/s/user": lambda x: f"{x.tokens_per_second_per_user:.3g}",
        "TTFT": lambda x: seconds_text(x.ttft_seconds),
        "TPOT": lambda x: seconds_text(x.tpot_seconds),
        "batch": lambda x: f"{x.batch:,.0f}",
        "GiB": lambda x: f"{x.memory_bytes / GIB:.1f}",
        "engines": lambda x: x.replicas,
        **named("tp", "pp", "ep", "dp"),
        "prefill": lambda x: x.prefill_workers or "-",
    }
    return f"<div>{line(verdict(p))}{listed(list(p)[:MOST_ROWS], columns, caption)}</div>"


_ERRORS: Columns = {
    "points": lambda e: f"{e.points:,}",
    "median": lambda e: percent(e.median_error, 2),
    "mean": lambda e: percent(e.mean_error, 2),
    "within 10 %": lambda e: percent(e.within_10_percent, 0),
    "within 25 %": lambda e: percent(e.within_25_percent, 0),
    "in the interval": lambda e: percent(e.interval_coverage, 0),
}


def _errors_row(name: str, e: Any) -> list[Any]:
    return [name, *(shown(e) for shown in _ERRORS.values())]


def validation(v: Any) -> str:
    """A Validation: errors over all points and by group."""
    rows = [_errors_row(name, e) for group in (v.by_operation, v.by_system, v.by_size) for name, e in group.items() if e.points]
    skipped = "".join(line(f"skipped {count:,}: {reason}") for reason, count in v.skipped.items())
    errors = table(["points of", *_ERRORS], rows, "error = |predicted / measured - 1|", _errors_row("all", v.total))
    return f"<div>{errors}{skipped}</div>"


def _constant(value: float, unit: str) -> str:
    if unit == "seconds":
        return seconds_text(value)
    if unit == "bytes_per_second":
        return rate_text(value)
    return size_text(value) if unit == "bytes" else f"{value:.4g}"


def fit(f: Any) -> str:
    """A Fit: errors before and after, and the constants the data determined."""
    known = [c for c in f.constants if c.determined]
    caption = (
        f"{f.system.name}: {f.points:,} points, median error {percent(f.median_error_before, 2)} before, "
        f"{percent(f.median_error, 2)} after; "
        f"{len(known)} of {len(f.constants)} constants narrowed"
    )
    columns: Columns = {
        "set": lambda c: c.set,
        "constant": lambda c: c.name,
        "fitted": lambda c: _constant(c.value, c.unit),
        "+-": lambda c: f"{100 * c.relative_error:.1f} %",
        "before": lambda c: _constant(c.before, c.unit),
    }
    return listed(known, columns, caption)


def diagnosis(d: Any) -> str:
    """A Diagnosis: the verdict and the likely causes."""
    rows = [[c.cause, percent(c.confidence, 0), c.evidence, c.remedy] for c in d.causes]
    return f"<div>{line(d.verdict)}{table(['cause', 'confidence', 'seen', 'try'], rows) if rows else ''}</div>"


def _figure(name: str, value: Any) -> str:
    """Four digits without an exponent; watts with a prefix."""
    if not isinstance(value, float) or value != value:
        return "" if value is None else str(value)
    if name == "watts" or name.endswith("_watts"):
        scale, unit = next((one for one in ((1e6, "MW"), (1e3, "kW")) if value >= one[0]), (1.0, "W"))
        return f"{value / scale:.4g} {unit}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def _scalar(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float))


def rows_of(rows: Sequence[dict[str, Any]], caption: str) -> str:
    """The scalar columns of records that have a value in any of them."""
    shown = rows[:MOST_ROWS]
    head = [key for key in rows[0] if all(_scalar(row.get(key)) for row in shown) and any(row.get(key) not in (None, "") for row in shown)]
    more = line(f"{len(rows) - MOST_ROWS:,} more") if len(rows) > MOST_ROWS else ""
    return table(head, [[_figure(key, row.get(key)) for key in head] for row in shown], caption) + more


def record(answer: Any) -> str:
    """Any other answer: what it prints, then its longest list of records, or its own figures."""
    fields = answer.to_dict()
    lines = str(answer).splitlines()
    lists = [(name, value) for name, value in fields.items() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if lists:
        name, longest = max(lists, key=lambda one: len(one[1]))
        return f"<div>{''.join(line(text) for text in lines if not text.startswith('  '))}{rows_of(longest, name)}</div>"
    said = "".join(map(line, lines))
    own = [[name, _figure(name, value)] for name, value in fields.items() if value not in (None, "") and _scalar(value)]
    return f"<div>{said}{table(['', 'value'], own)}</div>"


VIEWS: dict[str, Callable[[Any], str]] = {
    "Prediction": prediction, "Predictions": predictions, "System": system, "TrainingPlan": training_plan, "Plans": plans,
    "ServePlan": serve_plan, "ServePlans": serve_plans, "Validation": validation, "Fit": fit, "Diagnosis": diagnosis,
}


def attach(module: Any) -> None:
    """Adds `_repr_html_` to the classes of the compiled module."""
    for name in module.__all__:
        thing = getattr(module, name)
        if isinstance(thing, type) and (name in VIEWS or hasattr(thing, "to_dict")):
            thing._repr_html_ = VIEWS.get(name, record)  # type: ignore[attr-defined]
