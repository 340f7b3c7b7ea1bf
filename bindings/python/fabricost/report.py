"""fabricost report: one HTML file to mail, with a request, its answer, the pictures, the sources and the uncertainty.

The file is self-contained: pictures are inline, there are no scripts, and nothing is loaded from elsewhere. Every
figure equals the result of this package's functions. `python -m fabricost report` is the command line.
"""

from __future__ import annotations

import base64
import io
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from . import _html as html
from ._output import checked_output, written
from ._plot.style import pyplot, rate_text, seconds_text, size_text
from ._refused import worded

STYLE = """
:root{color-scheme:light}
body{font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",Arial,sans-serif;color:#1a1a1a;background:#fff;max-width:980px;
 margin:0 auto;padding:16px}
h1{font-size:24px;line-height:1.2;margin:8px 0}
h2{font-size:18px;margin:32px 0 8px;border-bottom:1px solid #ccc;padding-bottom:3px}
.when{color:#555;margin:0 0 16px}
.facts{display:flex;flex-wrap:wrap;gap:8px;margin:12px 0}
.facts div{border:1px solid #ccc;border-radius:6px;padding:6px 12px;min-width:110px}
.facts b{display:block;font-size:19px}
.facts span{color:#555;font-size:13px}
.wide{overflow-x:auto;margin:8px 0}
table{border-collapse:collapse;font-size:13px}
td,th{padding:1px 8px;vertical-align:top;text-align:right;white-space:nowrap}
td[style],th[style]{white-space:normal}
tr{border-bottom:1px solid #e4e4e4}
img{max-width:100%;height:auto;display:block;margin:8px 0}
pre{font:12px/1.35 ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;background:#f6f6f6;padding:10px;overflow-x:auto}
summary{cursor:pointer}
@media print{details>*{display:block}h2{break-after:avoid}img{break-inside:avoid}}
"""

NINE_IN_TEN = (
    "An interval is where nine measurements in ten should fall. It comes from the residuals of the fits, wider where a machine like "
    "this was not measured, and wider again for each doubling outside the measured sizes, ranks and nodes."
)


def _picture(draw: Callable[[], Any], what: str) -> str:
    """The drawing of `draw`, inline as SVG; `what` is its text for screen readers."""
    import matplotlib

    plt = pyplot()
    with matplotlib.rc_context({"svg.hashsalt": "fabricost", "svg.fonttype": "path", "figure.dpi": 100}):
        axes = draw()
        try:
            out = io.BytesIO()
            axes.figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        finally:
            plt.close(axes.figure)
    return f'<img alt="{html.escape(what)}" src="data:image/svg+xml;base64,{base64.b64encode(out.getvalue()).decode()}">'


def _wide(content: str) -> str:
    return f'<div class="wide">{content}</div>'


def _facts(pairs: Sequence[tuple[str, str]]) -> str:
    return '<div class="facts">' + "".join(f"<div><b>{html.escape(v)}</b><span>{html.escape(k)}</span></div>" for k, v in pairs) + "</div>"


class _Page:
    """Sections in order; the head is written last."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.parts: list[str] = []

    def section(self, heading: str, *content: str) -> None:
        self.parts.append(f"<section><h2>{html.escape(heading)}</h2>{''.join(content)}</section>")

    def text(self, version: str) -> str:
        seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
        when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">"
            f"<title>{html.escape(self.title)}</title><style>{STYLE}</style></head><body><h1>{html.escape(self.title)}</h1>"
            f'<p class="when">fabricost {html.escape(version)}, {when}</p>{"".join(self.parts)}</body></html>\n'
        )


def _asked(pairs: Sequence[tuple[str, Any]]) -> str:
    return _wide(html.table(["asked", ""], [[name, value] for name, value in pairs if value is not None and value != ""]))


def _operation_text(op: Any) -> str:
    from . import Operation, RequestError

    if isinstance(op, Operation):
        return op.collective
    raise RequestError(f"operation: an Operation is wanted, as AllReduce(256 * MiB), not {type(op).__name__}")


def _predicted(page: _Page, system: Any, op: Any, sizes: Any, samples: Any, choice: dict[str, Any]) -> None:
    """One size in full, and the curve over sizes."""
    import fabricost as fc
    from . import plot
    from ._plot.curves import again, default_sizes

    if op.bytes is not None:
        p = fc.predict(system, op, **choice)
        page.section(
            "Prediction",
            _facts(
                [
                    ("predicted time", seconds_text(p.seconds)),
                    ("nine in ten", html.between(p.interval_seconds)),
                    ("bus bandwidth", rate_text(p.bus_bytes_per_second)),
                    ("runs", f"{p.algorithm} {p.protocol}"),
                    ("mostly in", p.bottleneck.tier),
                    ("basis", p.basis),
                ]
            ),
            _wide(html.prediction(p)),
            _picture(lambda: plot.terms(system, op, "size", _round_sizes(float(op.bytes)), **choice), "terms of the time by size"),
        )
        page.section("The arithmetic", f"<pre>{html.escape(fc.explain(system, op, **choice))}</pre>")
    asked = default_sizes() if sizes is None else sizes
    curve = fc.predict(system, again(op, bytes=asked), **choice)
    pictures = [
        _picture(
            lambda: plot.busbw(system, op, None if samples is not None and sizes is None else asked, measured=samples, **choice),
            "bus bandwidth against message size",
        )
    ]
    if curve[0].nodes > 1 or op.bytes is not None:
        pictures.append(_picture(lambda: plot.roofline(system, op, asked, **choice), "time by tier against message size"))
    every = max(1, len(asked) // 24)
    page.section("Over sizes", *pictures, _wide(_curve_table(curve[::every])))


def _round_sizes(size: float) -> list[float]:
    """The requested size among powers of four around it."""
    return sorted({size * 4.0**power for power in range(-5, 4) if size * 4.0**power >= 1})


def _curve_table(curve: Any) -> str:
    shown = html.CURVE
    columns: html.Columns = {
        **{name: shown[name] for name in ("size", "time", "nine in ten", "busbw", "runs")},
        "mostly in": shown["bottleneck"],
        "basis": lambda p: p.basis,
        "outside the measured": lambda p: " ".join(p.extrapolated),
    }
    return html.listed(curve, columns)


def _outside(s: Any) -> str:
    """On which side of its interval a measurement lies; nothing inside."""
    if s["low_seconds"] <= s["measured_seconds"] <= s["high_seconds"]:
        return ""
    return "slower" if s["measured_seconds"] > s["high_seconds"] else "faster"


_POINTS: html.Columns = {
    "operation": lambda s: s["operation"],
    "size": lambda s: size_text(s["bytes"]),
    "ranks": lambda s: f"{s['ranks']:,}",
    "measured": lambda s: seconds_text(s["measured_seconds"]),
    "predicted": lambda s: seconds_text(s["predicted_seconds"]),
    "nine in ten": lambda s: html.between((s["low_seconds"], s["high_seconds"])),
    "predicted / measured": lambda s: f"{s['predicted_seconds'] / s['measured_seconds']:.2f}",
    "outside": _outside,
}


def _measured(page: _Page, system: Any, log: str, checked: Any) -> None:
    """A log compared with its prediction, and its likely faults."""
    import fabricost as fc
    from . import plot

    found = fc.diagnose(log, system=system)
    page.section(
        "Measured beside predicted",
        _facts(
            [
                ("verdict", "healthy" if found.healthy else "nothing to judge" if found.state == "nothing_to_judge" else "not healthy"),
                ("points", f"{len(checked):,}"),
                ("median error", html.percent(checked.median_error, 2)),
                ("inside the interval", html.percent(checked.total.interval_coverage, 0)),
            ]
        ),
        _wide(html.diagnosis(found)),
        _picture(lambda: plot.residuals(checked), "predicted over measured time against message size"),
        _wide(html.validation(checked)),
        f"<details><summary>every point</summary>{_wide(html.listed(checked.samples, _POINTS))}</details>",
        *[html.line(note) for note in found.notes],
    )


def _trained(page: _Page, system: Any, model: Any, gpus: int, global_batch: int, asked: dict[str, Any]) -> Any:
    import fabricost as fc
    from . import plot

    plans = fc.plan(system, model, gpus=gpus, global_batch=global_batch, **asked)
    best = plans[0]
    words = {name: value for name, value in asked.items() if name not in ("top", "tp", "pp")}
    gains = [[one.change, f"{one.step_seconds:.4g}", f"{100 * one.gain:+.2f} %"] for one in plans.sensitivity()[:8]]
    page.section(
        "Training plan",
        _facts(
            [
                ("a step", seconds_text(best.step_seconds)),
                ("nine in ten", html.between(best.interval_seconds)),
                ("MFU, all scores", html.percent(best.mfu)),
                ("MFU, causal scores", html.percent(best.mfu_causal)),
                ("tokens/s/GPU", f"{best.tokens_per_second_per_gpu:,.1f}"),
                ("memory of a GPU", f"{best.memory_bytes / html.GIB:.1f} GiB"),
            ]
        ),
        _wide(html.plans(plans)),
        _wide(html.training_plan(best)),
        _picture(
            lambda: plot.layouts(system, model, gpus=gpus, global_batch=global_batch, **words), "step time by tensor ranks and stages"
        ),
        _picture(lambda: plot.pareto(plans), "step time against memory"),
        _wide(html.table(["what would help", "step s", "gain"], gains)),
    )
    return best


def _served(page: _Page, system: Any, model: Any, gpus: int, asked: dict[str, Any]) -> Any:
    import fabricost as fc
    from . import plot

    plans = fc.plan_serve(system, model, gpus=gpus, **asked)
    best = plans[0]
    page.section(
        "Serving plan",
        _facts(
            [
                ("tokens/s/GPU", f"{best.tokens_per_second_per_gpu:,.1f}"),
                ("time to first token", seconds_text(best.ttft_seconds)),
                ("time per token", seconds_text(best.tpot_seconds)),
                ("batch", f"{best.batch:,.0f}"),
            ]
        ),
        _wide(html.serve_plans(plans)),
        _wide(html.serve_plan(best)),
        _picture(lambda: plot.pareto(plans), "tokens per second and GPU against tokens per second and user"),
    )
    return best


@worded
def report(
    system: Any,
    operation: Any = None,
    *,
    sizes: Any = None,
    log: str | os.PathLike[str] | None = None,
    model: Any = None,
    gpus: int | None = None,
    global_batch: int | None = None,
    serve: bool = False,
    plan: dict[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    title: str | None = None,
    **choice: Any,
) -> Any:
    """One self-contained HTML page: the request, the machine, the answers with their pictures, sources of the numbers, and the uncertainty.

    Parameters
    ----------
    system : System | path
        The machine.
    operation : Operation | None, optional
        Its bytes, if given, are explained in full, and a curve over sizes is drawn.
    sizes : array | sequence | None, default 1 KiB to 16 GiB
        Sizes of that curve, byte.
    log : path | None, optional
        A benchmark's output, compared with its prediction and diagnosed.
    model : Model | path | None, optional
        With gpus: the training plan or, with serve, the serving plan.
    gpus : int | None, optional
        GPUs of the plan.
    global_batch : int | None, optional
        Sequences per step of the training plan.
    serve : bool, default False
        The model is served, not trained.
    plan : dict | None, optional
        Further arguments of plan or plan_serve, as in {"sequence": 8192}.
    output : path | None, optional
        The file, replaced only when the page is complete; its Path is returned. A link stays a link; anything but a regular file (a device,
        a pipe, a folder) is refused. None: the page is returned as text.
    title : str | None, optional
        Heading of the page.
    **choice
        algorithm, protocol and choice, as in predict.

    Raises RequestError for an empty or incomplete request, ImportError without matplotlib, and whatever the functions it calls raise.
    """
    import fabricost as fc
    from ._given import numbers
    from ._plot.curves import again

    machine = fc.load_system(system) if isinstance(system, (str, os.PathLike)) else system
    if not isinstance(machine, fc.System):
        raise TypeError(f"system: a System, or its name or path, is wanted, not {type(system).__name__}")
    collective = None if operation is None else _operation_text(operation)
    if model is not None and gpus is None:
        raise fc.RequestError("gpus: on how many GPUs does the model run? Give gpus")
    if model is None and (gpus is not None or serve or global_batch is not None or plan):
        raise fc.RequestError("model: gpus, global_batch, serve and plan are asked about a model; give model")
    if model is not None and not serve and global_batch is None:
        raise fc.RequestError("global_batch: how many sequences a step? Give global_batch, or serve=True")
    if sizes is not None and operation is None:
        raise fc.RequestError("sizes: sizes of what? Give an operation")
    path = None if output is None else checked_output(output)
    sizes = None if sizes is None else numbers(sizes, "sizes", "byte")
    pyplot()
    name = None if model is None else model if isinstance(model, str) else model.name
    subject = ", ".join(one for one in (collective, name) if one)
    page = _Page(title or (f"{subject} on {machine.name}" if subject else machine.name))
    checked = None if log is None else fc.validate(os.fspath(log), system=machine)
    page.section(
        "Asked",
        _asked(
            [
                ("system", machine.name),
                ("operation", collective),
                ("size", None if getattr(operation, "bytes", None) is None else size_text(operation.bytes)),
                ("sizes", None if sizes is None else f"{size_text(min(sizes))} to {size_text(max(sizes))}, {len(sizes)} of them"),
                ("ranks", getattr(operation, "ranks", 0) or None),
                ("nodes", getattr(operation, "nodes", 0) or None),
                ("data type", getattr(operation, "dtype", None)),
                *choice.items(),
                ("log", None if log is None else Path(log).name),
                ("model", name),
                ("GPUs", gpus),
                ("global batch", global_batch),
                ("serve", "yes" if serve else None),
                *(plan or {}).items(),
            ]
        ),
    )
    if operation is not None:
        ran = fc.predict(machine, operation if operation.bytes is not None else again(operation, bytes=1.0), **choice)
        same = None if checked is None else checked.samples
        if same is not None:
            same = same[(same["operation"] == collective) & (same["ranks"] == ran.ranks) & (same["nodes"] == ran.nodes)]
        samples = same if same is not None and len(same) else None
        _predicted(page, machine, operation, sizes, samples, choice)
    if checked is not None:
        _measured(page, machine, os.fspath(log), checked)  # type: ignore[arg-type]
    best = None
    if model is not None:
        many = cast("int", gpus)
        best = (
            _served(page, machine, model, many, plan or {})
            if serve
            else _trained(page, machine, model, many, cast("int", global_batch), plan or {})
        )
    _machine(page, machine)
    _how_sure(page, machine, operation, sizes, choice, best)
    text = page.text(fc.__version__)
    if path is None:
        return text
    return written(path, text)


def _machine(page: _Page, machine: Any) -> None:
    from . import plot

    page.section(
        "The machine and where its numbers come from",
        html.line(f"{machine.name}: {machine.title}"),
        _picture(lambda: plot.topology(machine), f"tiers of {machine.name}"),
        _wide(html.tiers(machine)),
        html.line(
            "Rates are those of one endpoint in one direction; latency is that of one hop. Confidence says what kind of source it is."
        ),
    )


def _how_sure(page: _Page, machine: Any, operation: Any, sizes: Any, choice: dict[str, Any], best: Any) -> None:
    import fabricost as fc
    from ._plot.curves import again, default_sizes, regions

    said = []
    if operation is not None:
        curve = fc.predict(machine, again(operation, bytes=default_sizes() if sizes is None else sizes), **choice)
        bases = list(dict.fromkeys(p.basis for p in curve))
        said += [html.line(html.sure(basis, [])) for basis in bases]
        for kinds, first, last in regions([", ".join(p.extrapolated) for p in curve]):
            if kinds:
                said.append(
                    html.line(
                        f"From {size_text(curve[first].operation.bytes)} to {size_text(curve[last].operation.bytes)} the curve lies "
                        f"outside what was measured: {kinds}"
                    )
                )
    if best is not None:
        said.append(
            html.line(
                f"The plan rests on the stack {best.stack} as it was fitted to published runs; fabricost's "
                f"{'README' if isinstance(best, fc.ServePlan) else 'docs/training-accuracy.md'} has the errors."
            )
        )
    page.section("How sure", *said, html.line(NINE_IN_TEN))
