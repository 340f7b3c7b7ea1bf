"""Picture of a pipeline's schedule: the work of each stage over time, and its waiting."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import style

BAR_STYLES = {
    "forward": (style.SKY, ""),
    "backward": (style.ORANGE, "///"),
    "weight": (style.GREEN, "...."),
    "full_backward": (style.VERMILLION, "\\\\\\"),
}
BAR_EDGE = "#00000070"  # also of the patterns
BAR_NAMES = {"forward": "forward", "backward": "backward", "weight": "weight gradient", "full_backward": "backward and weight gradient"}


def pipeline(run: Any, *, exchange_seconds: float | None = None, ax: Any = None) -> Any:
    """Gantt chart of a pipeline schedule: every piece of work of each stage with its microbatch, waiting in grey.

    run: a result of fabricost.pipeline. exchange_seconds: length of a hand-over, drawn as lines from stage to
    stage; by default lines are drawn between a forward and the next stage's if there is a gap between them.

    Returns the axes.
    """
    bars = run.bars
    scale, unit = _time_scale(float(bars["end_seconds"].max()))
    ax = style.axes(ax, style.WIDTH, 1.7 + 0.3 * run.stages)
    whole = float(bars["end_seconds"].max()) * scale
    width = ax.get_window_extent().width / ax.figure.dpi * 72
    for stage in range(run.stages):
        own = bars[bars["stage"] == stage]
        first, last = own["start_seconds"].min() * scale, own["end_seconds"].max() * scale
        ax.broken_barh([(first, last - first)], (stage - 0.4, 0.8), facecolor="#DDDDDD", edgecolor="none", zorder=1)
    rows = _rows(bars)
    for kind, (colour, hatch) in BAR_STYLES.items():
        for row in sorted({one for one, bar in zip(rows, bars) if bar["kind"] == kind}):
            spans = [
                (bar["start_seconds"] * scale, (bar["end_seconds"] - bar["start_seconds"]) * scale)
                for one, bar in zip(rows, bars)
                if one == row and bar["kind"] == kind
            ]
            ax.broken_barh(spans, row, facecolor=colour, hatch=hatch, edgecolor=BAR_EDGE, linewidth=0.5, zorder=2)
        _number(ax, [(one, bar) for one, bar in zip(rows, bars) if bar["kind"] == kind], scale, width / whole)
    handed = _hand_overs(bars, exchange_seconds)
    for (t0, s0), (t1, s1) in handed:
        ax.plot(
            [t0 * scale, t1 * scale], [s0 + 0.4 * np.sign(s1 - s0), s1 - 0.4 * np.sign(s1 - s0)], color="black", linewidth=0.8, zorder=4
        )
    ax.set_xlim(0, whole * 1.003)
    ax.set_ylim(run.stages - 0.5, -0.5)
    ax.set_yticks(range(run.stages))
    ax.tick_params(labelsize=style.SMALL)
    ax.set_ylabel("stage")
    ax.set_xlabel(f"time, {unit}")
    style.title(
        ax,
        f"{run.schedule}, {run.stages} stages, {run.microbatches} microbatches, step {style.seconds_text(run.step_seconds)}, "
        f"bubble {100 * run.bubble_over_total:.1f} %",
    )
    _gantt_legend(ax, bars, bool(handed))
    return ax


def _rows(bars: Any) -> list[tuple[float, float]]:
    """(bottom, height) of each bar: its stage, or half of it for two pieces that run as one, the forward above."""
    together: dict[tuple[int, float], int] = {}
    for bar in bars:
        key = int(bar["stage"]), float(bar["start_seconds"])
        together[key] = together.get(key, 0) + (bar["end_seconds"] > bar["start_seconds"])
    out = []
    for bar in bars:
        stage = float(bar["stage"])
        if together[int(stage), float(bar["start_seconds"])] < 2:
            out.append((stage - 0.4, 0.8))
        else:
            out.append((stage - 0.4, 0.4) if bar["kind"] == "forward" else (stage, 0.4))
    return out


def _number(ax: Any, bars: list[Any], scale: float, points: float) -> None:
    """Writes the microbatch into the bars of a kind if it fits all of them; `points`: width of a unit of time."""
    from matplotlib.patheffects import withStroke

    if not bars:
        return
    size = style.SMALL
    narrowest = min(bar["end_seconds"] - bar["start_seconds"] for _, bar in bars) * scale * points
    if narrowest < style.text_width(str(max(bar["microbatch"] for _, bar in bars)), size) + 1:
        return
    for (bottom, height), bar in bars:
        ax.text(
            (bar["start_seconds"] + bar["end_seconds"]) * scale / 2,
            bottom + height / 2,
            str(bar["microbatch"]),
            ha="center",
            va="center",
            fontsize=size,
            zorder=3,
            path_effects=[withStroke(linewidth=1.6, foreground="#FFFFFFCC")],
        )


def _time_scale(seconds: float) -> tuple[float, str]:
    return (1e6, "us") if seconds < 1e-3 else (1e3, "ms") if seconds < 10 else (1, "s")


def _hand_overs(bars: Any, exchange: float | None) -> list[tuple[tuple[float, int], tuple[float, int]]]:
    """Lines from the end of a microbatch's forward on a stage to its start on the next, when hand-overs take time."""
    forward = {
        (int(b["stage"]), int(b["chunk"]), int(b["microbatch"])): (float(b["start_seconds"]), float(b["end_seconds"]))
        for b in bars
        if b["kind"] == "forward"
    }
    pairs = [
        ((forward[stage, chunk, micro][1], stage), (forward[stage + 1, chunk, micro][0], stage + 1))
        for stage, chunk, micro in forward
        if (stage + 1, chunk, micro) in forward
    ]
    pairs = [(a, b) for a, b in pairs if b[0] >= a[0]]
    if not pairs:
        return []
    shortest = min(b[0] - a[0] for a, b in pairs)
    took = shortest if exchange is None else exchange
    if took <= 1e-9 * max(b[0] for _, b in pairs):
        return []
    return [((t0, s0), (t0 + took, s1)) for (t0, s0), (_, s1) in pairs]


def _gantt_legend(ax: Any, bars: Any, handed: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    present = [kind for kind in BAR_STYLES if (bars["kind"] == kind).any()]
    handles: list[Any] = [
        Patch(facecolor=BAR_STYLES[kind][0], hatch=BAR_STYLES[kind][1], edgecolor=BAR_EDGE, linewidth=0.5, label=BAR_NAMES[kind])
        for kind in present
    ]
    handles.append(Patch(facecolor="#DDDDDD", edgecolor="none", label="bubble"))
    if handed:
        handles.append(Line2D([], [], color="black", linewidth=0.8, label="hand-over"))
    style.legend(ax, columns=3, handles=handles)
