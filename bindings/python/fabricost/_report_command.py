"""`fabricost report`: the questions of a report as a command line. Exit status 2 and one message on stderr for what the asker can mend."""
from __future__ import annotations

import argparse
import re
import sys
from typing import Any, NoReturn, Sequence

UNITS = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kKMGT]?i?B|)", re.ASCII)
TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(s|ms|us)", re.ASCII)
OPERATIONS = {"all_reduce": "AllReduce", "all_gather": "AllGather", "reduce_scatter": "ReduceScatter", "broadcast": "Broadcast",
              "reduce": "Reduce", "all_to_all": "AllToAll", "send_recv": "SendRecv"}


def _fault(text: str) -> NoReturn:
    from . import RequestError
    raise RequestError(text)


def size_of(text: str, option: str) -> float:
    """Bytes of "256MiB". Raises RequestError."""
    found = SIZE.fullmatch(text.strip())
    if not found or found[2] not in UNITS:
        _fault(f'{option}: "{text}" is not a size; write a number and B, kB, MB, GB, KiB, MiB or GiB, as in 256MiB')
    return float(found[1]) * UNITS[found[2]]


def sizes_of(text: str) -> list[float]:
    """Bytes of "1KiB:8GiB:x2", "1MiB:16MiB:+1MiB" or "4KiB,64KiB". Raises RequestError."""
    if ":" not in text:
        return [size_of(one, "--sizes") for one in text.split(",")]
    parts = text.split(":")
    if len(parts) != 3 or parts[2][:1] not in ("x", "+"):
        _fault(f'--sizes: "{text}" is not first:last:step; write 1KiB:8GiB:x2 or 1MiB:16MiB:+1MiB')
    first, last = (size_of(one, "--sizes") for one in parts[:2])
    times = parts[2][0] == "x"
    step = size_of(parts[2][1:], "--sizes")
    if not (0 < first <= last and step > (1 if times else 0)):
        _fault(f'--sizes: "{text}" does not grow from its first to its last size')
    out = []
    while first <= last * (1 + 1e-12):
        out.append(first)
        first = first * step if times else first + step
        if len(out) > 10_000:
            _fault(f'--sizes: "{text}" are more than 10,000 sizes; take a larger step')
    return out


def seconds_of(text: str, option: str) -> float:
    found = TIME.fullmatch(text.strip())
    if not found:
        _fault(f'{option}: "{text}" is not a time; write a number and s, ms or us, as in 30ms')
    return float(found[1]) * {"s": 1, "ms": 1e-3, "us": 1e-6}[found[2]]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _fault(f"{message}; fabricost report --help lists the options")


def _parser() -> _Parser:
    out = _Parser(prog="fabricost report", allow_abbrev=False, description="One self-contained HTML page with the answer, its pictures, sources and how sure it is",
                  epilog="Example: fabricost report dgx-h100 all_reduce --size 256MiB --ranks 64 --log my_nccl_tests.log -o report.html")
    add = out.add_argument
    add("system", metavar="SYSTEM", help="a name, or a YAML file")
    add("operation", metavar="OPERATION", nargs="?", help=" ".join(OPERATIONS))
    add("-o", "--output", metavar="FILE", required=True, help="the page; replaced when it is whole")
    add("--title", help="of the page")
    ask = out.add_argument_group("a communication")
    ask.add_argument("--size", help="explained in full, as in 256MiB")
    ask.add_argument("--sizes", help="of the curve: 1KiB:8GiB:x2, 1MiB:16MiB:+1MiB, or 4KiB,64KiB")
    ask.add_argument("--ranks", type=int, default=0)
    ask.add_argument("--nodes", type=int, default=0)
    ask.add_argument("--dtype", default=None, help="half float double fp8 bfloat16 int8")
    ask.add_argument("--path", help="of send_recv: gpu-gpu gpu-host nic")
    for name, text in (("algorithm", "force one"), ("protocol", "force one"), ("choice", "nccl or fastest")):
        ask.add_argument(f"--{name}", help=text)
    ask.add_argument("--log", metavar="LOG", help="measured, to stand beside the prediction")
    machine = out.add_argument_group("the machine")
    machine.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="override one value")
    machine.add_argument("--calibration", default="", help="none, or a file")
    plan = out.add_argument_group("a model")
    plan.add_argument("--model", help="a name, or a YAML file")
    plan.add_argument("--serve", action="store_true", help="serve it rather than train it")
    for name in ("gpus", "global-batch", "sequence", "tp", "pp", "cp", "ep", "dp", "isl", "osl", "batch"):
        plan.add_argument(f"--{name}", type=int)
    for name in ("precision", "stack", "ttft", "tpot"):
        plan.add_argument(f"--{name}")
    return out


def _operation(asked: argparse.Namespace) -> Any:
    import fabricost as fc
    if asked.operation is None:
        for name in ("size", "sizes", "ranks", "nodes", "dtype", "path", "algorithm", "protocol", "choice"):
            if getattr(asked, name):
                _fault(f"--{name}: of which operation? Name it after the system: {' '.join(OPERATIONS)}")
        return None
    name = asked.operation.lower().replace("-", "_")
    if name not in OPERATIONS:
        import difflib
        near = difflib.get_close_matches(name, OPERATIONS, 1)
        _fault(f'"{asked.operation}" is no operation; write {near[0] if near else "one of: " + " ".join(OPERATIONS)}')
    size = None if asked.size is None else size_of(asked.size, "--size")
    if name == "send_recv":
        if asked.ranks or asked.nodes or asked.dtype:
            _fault("--ranks, --nodes, --dtype: send_recv is between two; name its --path")
        return fc.SendRecv(bytes=size, path=asked.path or "gpu-gpu")
    if asked.path:
        _fault(f"--path: is for send_recv, not {name}")
    return getattr(fc, OPERATIONS[name])(bytes=size, ranks=asked.ranks, nodes=asked.nodes, dtype=asked.dtype or "half")


def _plan(asked: argparse.Namespace) -> dict[str, Any]:
    words = (("tp", "pp", "ep", "dp", "isl", "osl", "batch", "precision", "stack") if asked.serve else
             ("sequence", "tp", "pp", "cp", "ep", "dp", "precision", "stack"))
    every = ("sequence", "tp", "pp", "cp", "ep", "dp", "isl", "osl", "batch", "precision", "stack", "ttft", "tpot")
    for name in every:
        if getattr(asked, name) is not None:
            if asked.model is None:
                _fault(f"--{name}: of which model? Add --model")
            if name not in (*words, *(("ttft", "tpot") if asked.serve else ())):
                _fault(f"--{name}: is for {'training' if asked.serve else '--serve'}")
    out = {name: getattr(asked, name) for name in words if getattr(asked, name) is not None}
    for name in ("ttft", "tpot"):
        if getattr(asked, name) is not None:
            out[f"{name}_seconds"] = seconds_of(getattr(asked, name), f"--{name}")
    return out


def _run(arguments: Sequence[str]) -> None:
    import fabricost as fc
    asked = _parser().parse_args(arguments)
    operation = _operation(asked)
    choice = {name: getattr(asked, name) for name in ("algorithm", "protocol", "choice") if getattr(asked, name)}
    fc.report(fc.load_system(asked.system, asked.set, asked.calibration), operation,
              sizes=None if asked.sizes is None else sizes_of(asked.sizes), log=asked.log, model=asked.model, gpus=asked.gpus,
              global_batch=asked.global_batch, serve=asked.serve, plan=_plan(asked), output=asked.output, title=asked.title, **choice)


def main(arguments: Sequence[str]) -> int:
    """0: the page is there; 2: it cannot be made, a message on stderr says why, and nothing was written."""
    try:
        _run(arguments)
    except (ValueError, OSError, TypeError, ImportError) as error:
        print(f"fabricost report: {error}", file=sys.stderr)
        return 2
    return 0
