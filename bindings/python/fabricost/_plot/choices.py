"""Pictures of decisions: layouts of a training job, trade-offs between two goals, goodput at scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import shared, style
from .._core import RequestError, System
from .._given import numbers

GIB = 2**30
LAYOUT_WORDS = ("tp", "pp", "vp", "cp", "ep", "dp", "expert_tp", "zero", "microbatch", "schedule", "recompute")


def _candidates(word: str, gpus: int, most: int) -> list[Any]:
    """Sensible values of a layout field."""
    if word == "zero":
        return [0, 1, 2, 3]
    if word == "recompute":
        return ["none", "selective", "full"]
    if word == "schedule":
        return ["1f1b", "interleaved", "zb_h1", "zb_v"]
    return [2**power for power in range(int(math.log2(min(gpus, most))) + 1)]


def layouts(
    system: System | str,
    model: Any,
    *,
    gpus: int,
    global_batch: int,
    rows: str = "tp",
    columns: str = "pp",
    row_values: Sequence[Any] | None = None,
    column_values: Sequence[Any] | None = None,
    ax: Any = None,
    **asked: Any,
) -> Any:
    """Heat map of the fastest layout for each pair of two layout fields: step time as colour and number, the best framed.

    Each cell is a full search of fabricost.plan with the two fields fixed. Hatched: no layout of the pair fits the
    memory. Empty: the pair is impossible (ranks that do not divide GPUs, layers, heads or batch).

    rows, columns: two of tp, pp, vp, cp, ep, dp, expert_tp, zero, microbatch, schedule, recompute. row_values,
    column_values: those to try; by default powers of two up to a domain's GPUs (tp, ep) or 64. asked: further
    arguments of plan.

    Returns the axes. Raises RequestError for another field, if nothing fits anywhere, and if plan does so for all cells.
    """
    from .._core import plan

    for what, word in (("rows", rows), ("columns", columns)):
        if word not in LAYOUT_WORDS:
            raise RequestError(f'{what}: "{word}" is none of {" ".join(LAYOUT_WORDS)}')
    if rows == columns:
        raise RequestError(f'columns: "{columns}" is what the rows show')
    machine = shared.machine_of(system)
    most = {"tp": machine.domain, "ep": 256, "dp": gpus}
    values = [
        list(given) if given is not None else _candidates(word, gpus, most.get(word, 64))
        for word, given in ((rows, row_values), (columns, column_values))
    ]
    steps, unfit = np.full((len(values[0]), len(values[1])), np.nan), []
    best, lacking, impossible = None, None, None
    for i, row in enumerate(values[0]):
        for j, column in enumerate(values[1]):
            try:
                one = plan(machine, model, gpus=gpus, global_batch=global_batch, **{**asked, "top": 1, rows: row, columns: column})[0]
            except RequestError as error:
                if error.reason == "memory":
                    unfit.append((i, j))
                    lacking = error
                else:
                    impossible = error
                continue
            if not one.fits:
                unfit.append((i, j))
                continue
            steps[i, j] = one.step_seconds
            if best is None or one.step_seconds < best.step_seconds:
                best = one
    if best is None:
        raise lacking or impossible or RequestError("rows, columns: nothing that was tried fits")
    ax = style.axes(ax, max(3.6, 1.1 + 0.52 * len(values[1])), 1.7 + 0.38 * len(values[0]))
    _heat(ax, steps, unfit)
    ax.set_xticks(range(len(values[1])), [str(v) for v in values[1]])
    ax.set_yticks(range(len(values[0])), [str(v) for v in values[0]])
    ax.tick_params(labelsize=style.SMALL)
    ax.set_xlabel(_word_label(columns))
    ax.set_ylabel(_word_label(rows))
    style.title(ax, f"{best.model} on {gpus:,} {machine.name} GPUs, {global_batch:,} sequences a step, step time in s")
    _heat_legend(ax, bool(unfit), bool(np.isnan(steps).sum() > len(unfit)))
    return ax


def _word_label(word: str) -> str:
    return {
        "tp": "tensor ranks (tp)",
        "pp": "pipeline stages (pp)",
        "vp": "chunks of a stage (vp)",
        "cp": "context ranks (cp)",
        "ep": "expert ranks (ep)",
        "dp": "data replicas (dp)",
        "expert_tp": "tensor ranks of an expert",
        "zero": "ZeRO stage",
        "microbatch": "microbatch, sequences",
    }.get(word, word)


def _heat(ax: Any, steps: np.ndarray, unfit: list[tuple[int, int]]) -> None:
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle
    import matplotlib

    low, high = np.nanmin(steps), np.nanmax(steps)
    norm, colours = LogNorm(low, high if high > low else low * 1.01), matplotlib.colormaps["cividis_r"]
    ax.pcolormesh(
        np.arange(steps.shape[1] + 1) - 0.5, np.arange(steps.shape[0] + 1) - 0.5, np.ma.masked_invalid(steps), cmap=colours, norm=norm
    )
    ax.invert_yaxis()
    for i, j in unfit:
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor="#EEEEEE", edgecolor="#888888", hatch="////", linewidth=0))
    top = np.unravel_index(np.nanargmin(steps), steps.shape)
    for (i, j), step in np.ndenumerate(steps):
        if np.isfinite(step):
            ax.text(
                j,
                i,
                f"{step:.3g}",
                ha="center",
                va="center",
                fontsize=style.SMALL,
                color=style.ink(colours(norm(step))),
                fontweight="bold" if (i, j) == top else "normal",
            )
    ax.add_patch(Rectangle((top[1] - 0.46, top[0] - 0.46), 0.92, 0.92, fill=False, edgecolor=style.VERMILLION, linewidth=2.6))
    ax.set_xticks(np.arange(-0.5, steps.shape[1]), minor=True)
    ax.set_yticks(np.arange(-0.5, steps.shape[0]), minor=True)
    ax.grid(which="minor", color="white", linewidth=1.2)
    ax.tick_params(which="minor", length=0)


def _heat_legend(ax: Any, unfit: bool, impossible: bool) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor="none", edgecolor=style.VERMILLION, linewidth=2, label="fastest")]
    if unfit:
        handles.append(Patch(facecolor="#EEEEEE", edgecolor="#888888", hatch="////", linewidth=0, label="does not fit"))
    if impossible:
        handles.append(Patch(facecolor="white", edgecolor="#999999", label="not possible"))
    style.legend(ax, handles=handles)


def _label_ends(ax: Any, points: list[tuple[float, float, str]]) -> None:
    """Labels the two ends of a front, each on its inner side."""
    low, high = ax.get_xlim()
    for x, y, text in (points[0], points[-1]) if len(points) > 1 else points:
        right = (x - low) / (high - low) > 0.5
        ax.annotate(
            text,
            (x, y),
            (-8 if right else 8, 9),
            textcoords="offset points",
            ha="right" if right else "left",
            va="bottom",
            fontsize=style.SMALL,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
        )


def _layout_text(plan: Any) -> str:
    words = [f"{word} {getattr(plan, word)}" for word in ("tp", "pp", "cp", "ep", "dp") if getattr(plan, word, 1) > 1]
    return " ".join(words) or "one GPU each"


def pareto(plans: Any, *, label: str | None = None, color: Any = None, ax: Any = None) -> Any:
    """Trade-off between two goals, with the front that nothing else beats in both.

    ServePlans: tokens per second and GPU against tokens per second and user (1 / time per token). Plans of
    training: step time against memory of a GPU. The front is plans.pareto(), over all layouts; the listed plans
    are shown as well. With ax= of an earlier call the front is added to that picture; the legend names each front by its differences.

    label: name of the front; by default its differences from the others. color: by default the next free one.

    Returns the axes. Raises TypeError for anything else, RequestError for axes that show something else.
    """
    front = plans.pareto() if hasattr(plans, "pareto") else None
    if front is None or len(front) == 0:
        raise TypeError("plans: a ServePlans or Plans is wanted, as plan_serve and plan give")
    serving = hasattr(front[0], "tpot_seconds")

    def place(one: Any) -> tuple[float, float]:
        if serving:
            return one.tokens_per_second_per_user, one.tokens_per_second_per_gpu
        return one.memory_bytes / GIB, one.step_seconds

    ordered = sorted(front, key=place)
    line = np.array([place(one) for one in ordered])
    listed = np.array([place(one) for one in plans])
    ax = style.axes(ax)
    what = ("tokens/s of a user", "tokens/s of a GPU") if serving else ("memory", "step time")
    shared.asked_show(ax, None, (what[1],), what[0])
    first = plans[0]
    facts = (str(first.model), f"{first.gpus:,} {first.system} GPUs", str(first.stack))
    state, curve = shared.start(ax, what, facts, label=label, color=color, note="")
    style.grid(ax)
    small: dict[str, Any] = {"linestyle": "none", "marker": "D", "markersize": 5, "markerfacecolor": "none", "markeredgewidth": 1.2}
    star: dict[str, Any] = {"linestyle": "none", "marker": "*", "markersize": 13, "color": style.ORANGE, "markeredgecolor": "black",
                            "markeredgewidth": 0.7}
    (curve.line,) = ax.plot(
        line[:, 0],
        line[:, 1],
        color=curve.colour,
        marker=curve.marker,
        markersize=5,
        linewidth=1.6,
        linestyle=curve.dashes,
        drawstyle="steps-pre" if serving else "steps-post",
        markeredgecolor="black",
        markeredgewidth=0.5,
        zorder=3,
    )
    edge = curve.colour if curve.number else style.VERMILLION
    ax.plot(listed[:, 0], listed[:, 1], markeredgecolor=edge, label="_listed", zorder=4, **small)
    ax.plot(*place(first), label="_first", zorder=5, **star)
    if not curve.number:
        state.extra = [style.proxy(label="listed, best first", markeredgecolor=style.VERMILLION, **small),
                       style.proxy(label="first of the list", **star)]
    ax.margins(0.08, 0.14)
    if not curve.number:
        _label_ends(ax, [(x, y, _layout_text(one)) for (x, y), one in zip(line, ordered)])
    ax.tick_params(labelsize=style.SMALL)
    if serving:
        ax.set_xlabel("tokens/s for each user")
        ax.set_ylabel("tokens/s for each GPU")
        ax.autoscale(True, axis="y")
        ax.set_ylim(0, None)
    else:
        ax.set_xlabel("memory of the fullest GPU, GiB")
        style.time_axis(ax, label="step time")
        low, high = min(one.line.get_ydata().min() for one in state.curves), max(one.line.get_ydata().max() for one in state.curves)
        if high < 10 * low:
            ax.set_yscale("linear")
            ax.set_ylabel("step time, s")
    shared.finish(ax, state, alone="nothing beats it in both")
    return ax


def goodput(gpus: Any = None, *, ax: Any = None, **asked: Any) -> Any:
    """Goodput of a job against its GPUs, with the losses: checkpoints, repeated work, recovery, waiting.

    gpus: numbers of GPUs; by default 512 to 65,536. asked: further arguments of fabricost.goodput.

    Returns the axes. Raises RequestError as goodput does.
    """
    from .._core import goodput as compute

    counts = [int(n) for n in (2 ** np.arange(9, 17) if gpus is None else np.unique(numbers(gpus, "gpus")))]
    if len(counts) < 2:
        raise RequestError("gpus: a curve needs two or more different numbers of GPUs")
    jobs = [compute(gpus=n, **asked) for n in counts]
    ax = style.axes(ax)
    style.grid(ax, "y")
    floor = np.zeros(len(jobs))
    for label, field, colour, hatch in (
        ("counts", "goodput", style.BLUE, ""),
        ("checkpoints", "checkpoints_share", style.SKY, "...."),
        ("done again", "lost_share", style.ORANGE, "////"),
        ("recovery", "recovery_share", style.VERMILLION, "\\\\\\\\"),
        ("waiting for a node", "waiting_share", style.GREY, "xxxx"),
    ):
        part = 100 * np.array([getattr(job, field) for job in jobs])
        if part.any():
            ax.bar(range(len(jobs)), part, bottom=floor, color=colour, hatch=hatch, edgecolor=style.ink(colour), linewidth=0.4, label=label)
        if field == "goodput":
            for i, value in enumerate(part):
                ax.text(i, value - 2, f"{value:.0f}", ha="center", va="top", color="white", fontsize=style.SMALL, fontweight="bold")
        floor += part
    ax.set_xticks(range(len(jobs)), [f"{n:,}" for n in counts])
    ax.tick_params(labelsize=style.SMALL)
    ax.set_ylim(0, 100)
    ax.set_xlabel("GPUs")
    ax.set_ylabel("share of the time, %")
    style.title(
        ax,
        f"goodput, {jobs[0].failures_per_1000_node_days:.3g} failures per 1,000 node-days, "
        f"checkpoints stop {style.seconds_text(jobs[0].stall_seconds)}, recovery {style.seconds_text(jobs[0].recovery_seconds)}",
    )
    style.legend(ax, columns=3)
    return ax
