"""Runs the notebooks of this folder in fresh kernels. They are stored without outputs; the site shows them with what they print.

    python examples/notebooks/run.py                      all; exit status 1 with the faults
    python examples/notebooks/run.py 01_first_prediction  one
    python examples/notebooks/run.py --to FOLDER          also writes them there, with their outputs

A fault is a cell that fails or writes to stderr, a printed path of this machine, a figure with a decimal point that the text quotes and no
cell prints or computes with, and an output that is stored here.
Exit status 77, with the reason, where nbclient or a package the notebooks import is missing: a test that skips.
"""
from __future__ import annotations

import argparse
import asyncio
import html
import importlib.util
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS_PER_CELL = 300
NEEDED = {"nbclient": "nbclient", "nbformat": "nbformat", "ipykernel": "ipykernel", "matplotlib": "matplotlib", "pandas": "pandas",
          "fabricost": "'.[plot,pandas]'"}
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")


def missing() -> list[str]:
    """The packages that pip has to install before a notebook can run."""
    return [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]


def notebooks() -> dict[str, Path]:
    """The notebooks of this folder by name."""
    return {path.stem: path for path in sorted(HERE.glob("*.ipynb"))}


def joined(value: Any) -> str:
    return "".join(value) if isinstance(value, list) else str(value)


def text_of(output: Any) -> str:
    """The text that a reader sees of one output; empty for a picture."""
    if output["output_type"] == "stream":
        return joined(output["text"])
    data = output.get("data", {})
    if any(kind.startswith("image/") for kind in data):
        return ""
    page = re.sub(r"<(style|script)\b.*?</\1>", " ", joined(data.get("text/html", "")), flags=re.DOTALL)
    return joined(data.get("text/plain", "")) + " " + html.unescape(re.sub(r"<[^>]*>", " ", page))


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(notebook: Any) -> None:
    """Runs it in a kernel of this interpreter, in this folder. Raises CellExecutionError where a cell does."""
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    async def within(folder: str) -> None:
        over = {"transport": "ipc", "ip": str(Path(folder) / "kernel")} if os.name == "posix" else {}  # no port that others could reach
        manager = AsyncKernelManager(kernel_name="python3", **over)
        manager.kernel_spec.argv[0] = sys.executable
        try:
            here = {"metadata": {"path": str(HERE)}}
            await NotebookClient(notebook, km=manager, timeout=SECONDS_PER_CELL, resources=here).async_execute()
        finally:
            if manager.has_kernel:
                await manager.shutdown_kernel(now=True)
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    with tempfile.TemporaryDirectory(prefix="nb") as folder:
        asyncio.run(within(folder))


def quoted_faults(notebook: Any) -> list[str]:
    """Figures with a decimal point in the text that no code and no output has, to the digits that the text gives."""
    shown = " ".join(joined(cell["source"]) + " " + " ".join(map(text_of, cell["outputs"])) for cell in code_cells(notebook))
    there = [found.replace(",", "") for found in re.findall(r"\d[\d,]*(?:\.\d+)?", shown)]
    faults = []
    for cell in (cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"):
        text = re.sub(r"`[^`]*`|\]\([^)]*\)", " ", joined(cell["source"]))
        for number in (found.replace(",", "") for found in NUMBER.findall(text) if "." in found):
            digits = len(number.partition(".")[2])
            if not any(f"{float(one):.{digits}f}" == number for one in there if len(one.partition(".")[2]) >= digits):
                line = next(line for line in text.splitlines() if number in line.replace(",", ""))
                faults.append(f"the text says {number}, and no cell prints it: {line.strip()}")
    return faults


def faults_of(notebook: Any) -> list[str]:
    """The faults of a notebook that was run."""
    faults = []
    for number, cell in enumerate(code_cells(notebook), 1):
        for output in cell["outputs"]:
            if output["output_type"] == "stream" and output["name"] == "stderr":
                faults.append(f"[{number}] writes to stderr: {joined(output['text']).strip()[:400]}")
            for path in {str(ROOT), str(Path.home()), tempfile.gettempdir()} - {"/"}:
                if path + "/" in text_of(output):
                    faults.append(f"[{number}] prints a path of this machine: {path}")
    return faults + quoted_faults(notebook)


def write(notebook: Any, path: Path) -> None:
    """Writes it whole or not at all."""
    import nbformat
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(f".{os.getpid()}.part")
    aside.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    aside.replace(path)


def executed(path: Path, to: Path | None = None) -> tuple[Any, list[str]]:
    """A notebook after its run, and its faults. Without faults it is written to this folder, too."""
    import nbformat
    from nbclient.exceptions import CellExecutionError
    notebook = nbformat.read(path, as_version=4)
    faults = [f"stores outputs: jupyter nbconvert --clear-output --inplace {path.name}"] if any(c["outputs"] for c in code_cells(notebook)) else []
    try:
        run(notebook)
    except CellExecutionError as error:
        return notebook, [*faults, "a cell fails:\n" + re.sub(r"\x1b\[[0-9;]*m", "", str(error))]
    faults += faults_of(notebook)
    if to is not None and not faults:
        write(notebook, to / path.name)
    return notebook, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="notebooks, as 01_first_prediction; all when left out")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="write them with their outputs there")
    asked = parser.parse_args()
    known = notebooks()
    names = [Path(name).stem for name in asked.names] or list(known)
    if unknown := [name for name in names if name not in known]:
        print(f"no notebook {', '.join(unknown)}; there are {' '.join(known)}", file=sys.stderr)
        return 2
    if absent := missing():
        print(f"skipped: pip install {' '.join(absent)}")
        return 77
    failed = 0
    for name in names:
        _, faults = executed(known[name], asked.to)
        print(f"{name}: {'NOT as it should be' if faults else 'runs'}", flush=True)
        for fault in faults:
            print("  " + fault.replace("\n", "\n  "))
        failed += bool(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
