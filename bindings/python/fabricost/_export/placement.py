"""Slurm's topology.yaml (24.05 and later) and topograph's model: which nodes share a block (an NVLink domain) and which a switch."""
from __future__ import annotations

import dataclasses
import itertools
import math
import os
import re
from typing import Any

from .. import _core
from .._extras import module
from .._input import text_of
from .shared import Format, Made, Option, yaml_text

_MOST_NODES = 1_000_000


@dataclasses.dataclass(frozen=True)
class Placement:
    """Blocks (what a scale-up domain joins) and switches by name; a switch has nodes, or switches below it."""

    blocks: dict[str, list[str]]
    leaves: dict[str, list[str]]
    above: dict[str, list[str]]

    def block_of(self, node: str) -> str | None:
        """The block in which a node is; None: in none."""
        return next((name for name, nodes in self.blocks.items() if node in nodes), None)

    def leaf_of(self, node: str) -> str | None:
        """The switch that a node hangs on; None: on none."""
        return next((name for name, nodes in self.leaves.items() if node in nodes), None)

    def _repr_html_(self) -> str:
        from .._html import rows_of

        rows = [{"kind": kind, "name": name, "has": folded(below)}
                for kind, of in (("block", self.blocks), ("switch", self.leaves), ("switch above", self.above)) for name, below in of.items()]
        nodes = {node for of in (self.blocks, self.leaves) for below in of.values() for node in below}
        return f"<div>{rows_of(rows, f'{len(nodes):,} nodes')}</div>" if rows else "<div>no nodes</div>"


def expanded(listed: str | list[str]) -> list[str]:
    """node[01-03,7],login -> node01 node02 node03 node7 login, as Slurm reads hosts."""
    out: list[str] = []
    for word in itertools.chain.from_iterable(re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", one) for one in ([listed] if isinstance(listed, str) else listed)):
        parts = re.split(r"\[([^\]]*)\]", word.strip())
        each = [[part] if at % 2 == 0 else [n for span in part.split(",") for n in _span(span, word)] for at, part in enumerate(parts)]
        if len(out) + math.prod(map(len, each)) > _MOST_NODES:
            raise _core.RequestError(f"nodes: {word!r} lists more than {_MOST_NODES} nodes")
        out += map("".join, itertools.product(*each))
    return out


def _span(text: str, word: str) -> list[str]:
    first, _, last = text.partition("-")
    if not re.fullmatch("[0-9]{1,18}", first) or not re.fullmatch("[0-9]{1,18}", last or first) or int(last or first) - int(first) >= _MOST_NODES:
        raise _core.RequestError(f"nodes: {word!r} is no list of nodes; write node[1-18] or node[1-3,7]")
    return [str(n).zfill(len(first)) for n in range(int(first), int(last or first) + 1)]


def folded(nodes: list[str]) -> str:
    """The shortest such text of consecutive numbers: node01 node02 -> node[01-02]."""
    runs: list[tuple[str, str, str]] = []
    for node in nodes:
        match = re.fullmatch(r"(.*?)(\d+)", node)
        stem, number = (match[1], match[2]) if match else (node, "")
        if runs and number and runs[-1][0] == stem and runs[-1][2] and len(number) == len(str(int(runs[-1][2]) + 1).zfill(len(runs[-1][2]))) \
                and int(number) == int(runs[-1][2]) + 1:
            runs[-1] = (stem, runs[-1][1], number)
        else:
            runs.append((stem, number, number))
    return ",".join(stem + (first if first == last else f"[{first}-{last}]") for stem, first, last in runs)


def planned(system: Any, nodes: int, name: str, leaf: int | None) -> Placement:
    """The nodes of a machine in order: a block for each domain of several nodes, a leaf for each `leaf` of them."""
    hosts = expanded(name if "[" in name else f"{name}[1-{nodes}]")
    if len(hosts) != nodes:
        raise _core.RequestError(f"name: {name} names {len(hosts)} nodes, not the {nodes} asked for")
    if leaf is None and "leaf" in system.tiers:
        below = system.tiers["leaf"]  # of rails each node has a port at every leaf; of a fat tree one for each NIC
        leaf = below.endpoints if below.kind == "rails" else below.endpoints // max(1, system.tiers["nic"].endpoints)
    each, block = min(nodes, leaf or nodes), max(1, system.domain // system.gpus_per_node)

    def cut(size: int, word: str) -> dict[str, list[str]]:
        return {f"{word}{at // size + 1}": hosts[at:at + size] for at in range(0, nodes, size)}

    leaves = cut(max(each, block) if each % block else each, "leaf")
    return Placement(cut(block, "block") if block > 1 else {}, leaves, {"spine": list(leaves)} if len(leaves) > 1 else {})


def slurm_text(p: Placement, name: str = "fabricost") -> str:
    switches: list[Any] = [{"switch": s, "children": folded(below)} for s, below in p.above.items()]
    switches += [{"switch": s, "nodes": folded(nodes)} for s, nodes in p.leaves.items()]
    out: list[Any] = []
    if p.blocks:
        sizes = [min(map(len, p.blocks.values()))]
        while sizes[-1] * 2 <= sizes[0] * len(p.blocks):
            sizes.append(sizes[-1] * 2)
        out.append({"topology": f"{name}-block", "cluster_default": True, "block": {
            "block_sizes": sizes, "blocks": [{"block": b, "nodes": folded(nodes)} for b, nodes in p.blocks.items()]}})
    out.append({"topology": f"{name}-tree", "cluster_default": not p.blocks, "tree": {"switches": switches}})
    return yaml_text(out)


def topograph_text(p: Placement) -> str:
    blocks = []
    for leaf, nodes in p.leaves.items():
        for block, those in itertools.groupby(nodes, p.block_of):
            blocks.append({"switch": leaf, "nodes": [folded(list(those))], **({"labels": {"accelerator.topograph.run/domain": block}} if block else {})})
    above = {name: {"switches": below} for name, below in p.above.items()}
    return yaml_text({**({"switches": above} if above else {}), "blocks": blocks})


def read_placement(path: str | os.PathLike[str]) -> Placement:
    """Blocks and switches of a Slurm topology.yaml or a topograph model: which nodes of a job share an NVLink domain or a switch.

    Parameters
    ----------
    path : path
        The file.

    Raises RequestError for another file, ImportError without PyYAML.
    """
    yaml = module("yaml")
    try:
        tree = yaml.safe_load(text_of(path))
        if isinstance(tree, list):
            return _from_slurm(tree)
        if isinstance(tree, dict) and "blocks" in tree:
            return _from_topograph(tree)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _core.RequestError(f"path {path}: is no Slurm topology.yaml and no topograph model ({type(error).__name__}: {error})") from error
    raise _core.RequestError(f"path {path}: has neither Slurm's list of topologies nor topograph's blocks")


def _from_slurm(tree: list[Any]) -> Placement:
    out = Placement({}, {}, {})
    for one in tree:
        for block in one.get("block", {}).get("blocks", ()):
            out.blocks[str(block["block"])] = expanded(block["nodes"])
        for switch in one.get("tree", {}).get("switches", ()):
            kept, key = (out.leaves, "nodes") if "nodes" in switch else (out.above, "children")
            kept[str(switch["switch"])] = expanded(switch[key])
    return out


def _from_topograph(tree: dict[str, Any]) -> Placement:
    out = Placement({}, {}, {})
    for name, switch in (tree.get("switches") or {}).items():
        if switch.get("switches"):
            out.above[str(name)] = expanded(switch["switches"])
    for block in tree["blocks"]:
        nodes = expanded(block["nodes"])
        out.leaves.setdefault(str(block["switch"]), []).extend(nodes)
        labels = block.get("labels") or {}  # the key was accelerated.topology.nvidia.com/level-0 and others before
        named = block.get("name") or next((label for key, label in labels.items() if "accelerat" in key), None)
        if named:
            out.blocks.setdefault(str(named), []).extend(nodes)
    return out


_OPTIONS = (Option("nodes", "count", "how many; default the machine's"), Option("name", "word", "of the nodes, as node or rack[1-18]", "node"),
            Option("leaf", "count", "nodes below one switch; default the machine's"))


def _format(name: str, title: str, text: Any, note: str) -> Format:
    def made(system: Any, nodes: int | None, name: str, leaf: int | None) -> Made:
        p = planned(system, nodes or system.nodes, name, leaf)
        return Made({"": text(p).encode()}, [f"{sum(map(len, p.leaves.values()))} nodes in {len(p.blocks) or 'no'} blocks, "
                                             f"below {len(p.leaves)} switches.", note])

    return Format(name, title, made, _OPTIONS, example=f"fabricost export {name} --system gb200-nvl72 --nodes 72 -o topology.yaml")


FORMATS = [_format("slurm", "Slurm: topology.yaml of block and tree", slurm_text, "Put it beside slurm.conf and run scontrol reconfigure."),
           _format("topograph", "topograph: a model of the cluster, for Kubernetes and Slurm", topograph_text,
                   "The parameter modelFileName of topograph's test provider and simulated clouds names it.")]
