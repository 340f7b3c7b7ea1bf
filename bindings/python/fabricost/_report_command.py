"""`fabricost report`: a report's request as a command line. Exit status 2 and one message on stderr for an error of the user."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from . import _core
from ._command import status_of
from ._export.command import Parser  # one form of errors
from .names import operations


def _fault(text: str) -> NoReturn:
    from . import RequestError

    raise RequestError(text)


def _parser() -> Parser:
    out = Parser(
        prog="fabricost report",
        allow_abbrev=False,
        description="One self-contained HTML page with the answer, its pictures, sources and how sure it is",
        epilog="Example: fabricost report dgx-h100 all_reduce --size 256MiB --ranks 64 --log my_nccl_tests.log -o report.html",
    )
    add = out.add_argument
    add("system", metavar="SYSTEM", help="a name, or a YAML file")
    add("operation", metavar="OPERATION", nargs="?", help=" ".join(operations))
    add("-o", "--output", metavar="FILE", required=True, help="the page; replaced when it is whole")
    add("--title", help="of the page")
    ask = out.add_argument_group("a communication")
    ask.add_argument("--size", help="explained in full, as in 256MiB")
    ask.add_argument("--sizes", help="of the curve: 1KiB:8GiB:x2, 1MiB:16MiB:+1MiB, or 4KiB,64KiB")
    ask.add_argument("--ranks", type=int, default=0)
    ask.add_argument("--nodes", type=int, default=0)
    ask.add_argument("--dtype", default=None, help="half float double fp8 bfloat16 int8")
    ask.add_argument("--path", help="of send_recv: gpu-gpu nic gpu-host to-gpu from-gpu both-ways")
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
                _fault(f"--{name}: of which operation? Name it after the system: {' '.join(operations)}")
        return None
    name = asked.operation.lower().replace("-", "_")
    if name not in operations:
        import difflib

        near = difflib.get_close_matches(name, operations, 1)
        _fault(f'"{asked.operation}" is no operation; write {near[0] if near else "one of: " + " ".join(operations)}')
    size = None if asked.size is None else _core._size_of(asked.size, "--size")
    if name == "send_recv":
        if asked.nodes or asked.dtype:
            _fault("--nodes, --dtype: send_recv is between two; name its --path")
        return fc.SendRecv(bytes=size, path=asked.path or "gpu-gpu", **({"ranks": asked.ranks} if asked.ranks else {}))
    if asked.path:
        _fault(f"--path: is for send_recv, not {name}")
    return operations[name](bytes=size, ranks=asked.ranks, nodes=asked.nodes, dtype=asked.dtype or "half")


def _plan(asked: argparse.Namespace) -> dict[str, Any]:
    words = (
        ("tp", "pp", "ep", "dp", "isl", "osl", "batch", "precision", "stack")
        if asked.serve
        else ("sequence", "tp", "pp", "cp", "ep", "dp", "precision", "stack")
    )
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
            out[f"{name}_seconds"] = _core._seconds_of(getattr(asked, name), f"--{name}")
    return out


def _run(arguments: Sequence[str]) -> None:
    import fabricost as fc

    asked = _parser().parse_args(arguments)
    operation = _operation(asked)
    choice = {name: getattr(asked, name) for name in ("algorithm", "protocol", "choice") if getattr(asked, name)}
    fc.report(
        fc.load_system(asked.system, asked.set, asked.calibration),
        operation,
        sizes=None if asked.sizes is None else _core._sizes_of(asked.sizes, "--sizes"),
        log=asked.log,
        model=asked.model,
        gpus=asked.gpus,
        global_batch=asked.global_batch,
        serve=asked.serve,
        plan=_plan(asked),
        output=asked.output,
        title=asked.title,
        **choice,
    )


def main(arguments: Sequence[str]) -> int:
    """0: the page was written; 2: it cannot be made, a message on stderr says why, and nothing was written."""
    def with_options(text: str) -> str:
        return re.sub(r"\bgive ([a-z_]+)", lambda word: f"give --{word[1].replace('_', '-')}", text, flags=re.IGNORECASE)

    return status_of("report", _run, arguments, with_options)
