"""Picture of a machine: one node's GPUs, their scale-up links, and the tiers above, each link with its one-way rate."""

from __future__ import annotations

from typing import Any

from . import shared, style
from .._core import System, Tier

MOST_DRAWN = 8
HOST = ("pcie", "c2c")
SCALE_UP = ("nvlink", "xgmi", "ici", "ualink")
KIND_WORDS = {
    "switch": "switches",
    "full_mesh": "each with each",
    "mesh_graph": "mesh",
    "ring": "ring",
    "torus": "torus",
    "host": "to the host",
    "point_to_point": "point to point",
    "rails": "rails",
    "fat_tree": "fat tree",
    "dragonfly": "dragonfly",
}


def _places(count: int) -> list[tuple[float, str]]:
    """Positions of boxes, 0 to 1; a gap marks omitted ones."""
    if count <= MOST_DRAWN:
        return [((i + 0.5) / count, str(i)) for i in range(count)]
    shown = [str(i) for i in range(MOST_DRAWN - 2)] + ["...", str(count - 1)]
    return [((i + 0.5) / MOST_DRAWN, name) for i, name in enumerate(shown)]


def _box(ax: Any, x: float, y: float, width: float, height: float, text: str, colour: str, size: float = style.SMALL) -> None:
    from matplotlib.patches import FancyBboxPatch

    ax.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.012",
            mutation_aspect=0.5,
            facecolor=colour,
            edgecolor="black",
            linewidth=0.8,
            zorder=3,
        )
    )
    ax.text(x, y, text, ha="center", va="center", fontsize=size, color=style.ink(colour), zorder=4)


def _caption(tier: Tier) -> str:
    latency = f"\n{style.seconds_text(tier.latency_seconds)} a hop" if tier.latency_seconds > 0 else ""
    return f"{style.rate_text(tier.bytes_per_second)} one way{latency}"


def topology(system: System | str, *, ax: Any = None) -> Any:
    """A machine's tiers from the GPUs upwards: GPUs, the scale-up network, PCIe or C2C, NICs and the network between nodes.

    Every link shows the rate of one endpoint in ONE direction, GB/s of 10^9 byte/s, and the latency of one hop;
    the figures are those of system.tiers. Of more than 8 GPUs or NICs only some are drawn.

    Returns the axes.
    """
    system = shared.machine_of(system)
    tiers = list(system.tiers)
    memory = [t for t in tiers if t.kind == "memory"]
    scale_up = [t for t in tiers if t.name in SCALE_UP]
    host = [t for t in tiers if t.name in HOST]
    nics = [t for t in tiers if t.name == "nic"]
    placed = {t.name for t in memory + scale_up + host + nics}
    network = [t for t in tiers if t.name not in placed]
    rows = len(scale_up) + len(host) + len(nics) + len(network)
    ax = style.axes(ax, style.WIDTH, 1.5 + 0.72 * rows)
    left, right = 0.01, 0.68
    gpus = max(system.domain, system.gpus_per_node)
    spots = [(left + (right - left) * x, name) for x, name in _places(gpus)]
    step = 1.0
    y = 0.0
    width = 0.8 * (right - left) / len(spots)
    for tier in reversed(scale_up):
        _bar(ax, tier, (left + right) / 2, y - step, right - left, _joined(tier, gpus, "GPUs"), spots, y)
    for x, name in spots:
        if name == "...":
            ax.text(x, y, "...", ha="center", va="center", fontsize=12)
        else:
            _box(ax, x, y, width, 0.5, f"GPU\n{name}", style.GREY)
    rates = "\n".join(f"{t.name} {style.rate_text(t.bytes_per_second)}" for t in memory)
    ax.text(right + 0.02, y, rates, ha="left", va="center", fontsize=style.SMALL)
    below = [x for x, name in spots if name != "..."]
    for tier in host:
        y = _row(ax, tier, below, y, step, left, right)
    for tier in nics:
        y += step
        own = [(left + (right - left) * x, name) for x, name in _places(tier.endpoints)]
        for x, name in own:
            near = x if host else _nearest(below, x)  # below: a bar, or GPUs
            if name == "...":
                ax.text(x, y, "...", ha="center", va="center", fontsize=12)
                continue
            _link(ax, (near, y - step + 0.22), (x, y - 0.2), tier.name)
            _box(ax, x, y, min(0.1, 0.72 * (right - left) / len(own)), 0.4, "NIC", style.tier_colour(tier.name))
        ax.text(right + 0.02, y, f"{tier.name}, {tier.endpoints} a node:\n{_caption(tier)}", ha="left", va="center", fontsize=style.SMALL)
        below = [x for x, name in own if name != "..."]
    for tier in network:
        y = _row(ax, tier, below, y, step, left, right)
        below = [left + (right - left) * (i + 0.5) / 4 for i in range(4)]
    ax.set_xlim(0, 1.0)
    ax.set_ylim(-step * len(scale_up) - 0.45, y + 0.45)
    ax.set_axis_off()
    nodes = f"{system.nodes:,} nodes of {system.gpus_per_node}" if system.nodes > 1 else "one node"
    style.title(ax, f"{system.name}, {system.gpus:,} GPUs in {nodes}, every rate in one direction")
    return ax


def _nearest(places: list[float], x: float) -> float:
    return min(places, key=lambda place: abs(place - x))


def _joined(tier: Tier, count: int, what: str) -> str:
    return f"{tier.name}: {KIND_WORDS.get(tier.kind, tier.kind)} of {count} {what}"


def _link(ax: Any, start: tuple[float, float], end: tuple[float, float], tier: str) -> None:
    ax.plot([start[0], end[0]], [start[1], end[1]], color=style.tier_colour(tier), linewidth=1.6, zorder=1, solid_capstyle="round")


def _bar(ax: Any, tier: Tier, x: float, y: float, width: float, text: str, spots: list[tuple[float, str]], to: float) -> None:
    _box(ax, x, y, width, 0.4, text, style.tier_colour(tier.name))
    for at, name in spots:
        if name != "...":
            _link(ax, (at, to), (at, y), tier.name)
    ax.text(x + width / 2 + 0.02, y, f"{tier.name}, each GPU:\n{_caption(tier)}", ha="left", va="center", fontsize=style.SMALL)


def _row(ax: Any, tier: Tier, below: list[float], y: float, step: float, left: float, right: float) -> float:
    """A tier drawn as one bar above the parts it joins; returns its height."""
    top = y + step
    for x in below:
        _link(ax, (x, y + 0.18), (x, top), tier.name)
    each = "each GPU" if tier.kind == "host" else "each link"
    _box(
        ax,
        (left + right) / 2,
        top,
        right - left,
        0.4,
        f"{tier.name}: {KIND_WORDS.get(tier.kind, tier.kind)}, joins {tier.endpoints}",
        style.tier_colour(tier.name),
    )
    ax.text(right + 0.02, top, f"{tier.name}, {each}:\n{_caption(tier)}", ha="left", va="center", fontsize=style.SMALL)
    return top
