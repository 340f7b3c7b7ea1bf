"""`fabricost export FORMAT`. Exit status 2 and one message on stderr for an error of the user."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from .. import _core
from .._command import status_of
from . import FORMATS, exported
from .shared import described


class Parser(argparse.ArgumentParser):
    """Whose errors are the package's."""

    def error(self, message: str) -> NoReturn:
        raise _core.RequestError(f"{message}; {self.prog} --help lists the options")


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _parser() -> Parser:
    out = Parser(prog="fabricost export", allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
                 description="Predictions and machines in the files that other programs read",
                 epilog="Example: fabricost export xla --system gb200-nvl72 -o table.pbtxt\nEach format's options: fabricost export FORMAT --help\n"
                 "Versions of the readers and what was checked in them: fabricost export --formats")
    formats = out.add_subparsers(dest="format", metavar="FORMAT", required=True, parser_class=Parser)
    for one in FORMATS.values():
        sub = formats.add_parser(one.name, help=one.title, description=one.title, epilog=f"Example: {one.example}", allow_abbrev=False)
        if one.machine:
            sub.add_argument("--system", "-s", required=True, help="a name, or a YAML file")
            sub.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="override one value")
            sub.add_argument("--calibration", default="", help="none, or a file")
        for option in one.options:
            sub.add_argument(_dashed(option.name), dest=option.name, required=option.needed, metavar=option.kind.upper(), help=option.help)
        sub.add_argument("-o", "--output", required=True, metavar="FOLDER" if one.folder else "FILE",
                         help=f"the {'folder' if one.folder else 'file'}; what is there is replaced when it is whole")
    return out


def _listed() -> str:
    return "\n".join(f"{one['format']}: {one['reader']}\n  checked  {one['checked']}{', ' + one['version'] if one['version'] else ''}\n"
                     f"  form     {one['address']}" for one in described())


def _run(arguments: Sequence[str]) -> None:
    if list(arguments) == ["--formats"]:
        print(_listed())
        return
    asked = vars(_parser().parse_args(arguments))
    name, output = asked.pop("format"), asked.pop("output")
    system = None
    if FORMATS[name].machine:
        system = _core.load_system(asked.pop("system"), asked.pop("set"), asked.pop("calibration"))
    made = exported(name, system, output, {key: value for key, value in asked.items() if value is not None}, _dashed)
    print("\n".join([f"{output}: predicted, not measured", *(f"  {note}" for note in made.notes)]))


def main(arguments: Sequence[str]) -> int:
    """0: written; 2: it cannot be, a message on stderr says why."""
    return status_of("export", _run, arguments)
