"""fc.export: predictions and machines in the files that other programs read."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .. import _core
from .._refused import worded
from . import aiconfigurator, astra_sim, dynamo, grafana, nccl_tuner, placement, xla
from .shared import Exported, Format, check_output, write

FORMATS: dict[str, Format] = {
    one.name: one for module in (xla, dynamo, aiconfigurator, nccl_tuner, astra_sim, placement, grafana) for one in module.FORMATS}


@worded
def export(format: str, *, system: Any = None, output: str | os.PathLike[str] | None = None, **options: Any) -> Exported:
    """Writes predictions of a machine in the form that another program reads.

    Parameters
    ----------
    format : str
        xla, xla-matmul, dynamo, aiconfigurator, nccl-tuner, astra-sim, chakra, slurm, topograph or grafana.
    system : System | path | None, optional
        The machine, which need not exist; None for formats that describe none.
    output : path
        The file, or for formats of several files the folder; each file is replaced when it is whole.
    **options
        Of the format, as `fabricost export FORMAT --help` lists them, with underscores for dashes; sizes in bytes and times in seconds, or
        texts with units.

    Returns Exported: `files`, the paths written, and `notes`, sentences on how far the format follows the predictions and how its
    reader is told. Every number is predicted, none measured. Raises RequestError for what the format cannot say, ImportError without
    a package that writes it.

    >>> import fabricost as fc, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = fc.export("xla", system="dgx-h100", output=pathlib.Path(folder) / "table.pbtxt", ranks=[8], sizes="1MiB:64MiB:x2")
    >>> made.files[0].name
    'table.pbtxt'
    """
    return exported(format, system, output, options, lambda name: name)


def exported(name: str, system: Any, output: str | os.PathLike[str] | None, given: dict[str, Any], spelled: Any) -> Exported:
    """The same for both interfaces. spelled: an option's name as the user writes it."""
    if name in ("pytorch", "torch"):
        raise _core.RequestError("format: PyTorch reads no file; import fabricost.torch, which gives it the times of collectives")
    if not isinstance(name, str) or name not in FORMATS:
        raise _core.RequestError("format: " + _core._unknown(str(name), "a format", list(FORMATS)))
    chosen = FORMATS[name]
    if output is None:
        raise TypeError("export() needs output")
    if not isinstance(output, (str, os.PathLike)):
        raise TypeError(f"output: the path of a file is wanted, not {type(output).__name__}")
    check_output(Path(output), chosen.folder)
    known = {option.name: option for option in chosen.options}
    for key in given:
        if key not in known:
            raise _core.RequestError(f"{spelled(key)}: " + _core._unknown(key, f"an option of {name}", list(known)))
    values = {}
    for option in chosen.options:
        value = given.get(option.name)
        if value is None and option.needed:
            raise _core.RequestError(f"{spelled(option.name)}: {name} needs it: {option.help}")
        value = option.default if value is None else value
        values[option.name] = value if value is None else option.checked(value, spelled(option.name))
    if not chosen.machine:
        if system is not None:
            raise _core.RequestError(f"{spelled('system')}: {name} describes no machine")
        made = chosen.make(**values)
    else:
        if system is None:
            raise _core.RequestError(f"{spelled('system')}: which machine? `fabricost machine` lists them")
        made = chosen.make(system if isinstance(system, _core.System) else _core.load_system(system), **values)
    return Exported(write(Path(output), made.files, chosen.folder), list(made.notes))
