"""Runs the notebooks of this folder in fresh kernels and holds what they print to what is stored, so that they cannot go stale.

    python examples/notebooks/run.py                     all; exit status 1 where one fails or prints something else
    python examples/notebooks/run.py 01_first_prediction  one
    python examples/notebooks/run.py --write             stores what they print

Compared are the texts of outputs, to the letter (blanks aside); a picture has only to be there, since fonts and versions of matplotlib
draw it a little differently. What goes to stderr, a path of this machine or a file above 150 KiB fails too.
Exit status 77, with the reason, where nbclient or a package the notebooks import is missing: a test that skips.
"""
from __future__ import annotations

import argparse
import asyncio
import base64
import difflib
import html
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MOST_BYTES = 150 * 1024
SECONDS_PER_CELL = 300
NEEDED = {"nbclient": "nbclient", "nbformat": "nbformat", "ipykernel": "ipykernel", "matplotlib": "matplotlib", "pandas": "pandas",
          "fabricost": "'.[plot,pandas]'"}
COLOURS = 64


def missing() -> list[str]:
    """The packages that pip has to install before a notebook can run."""
    return [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]


def text_of_page(page: str) -> str:
    """The text that a reader of HTML sees, roughly: no tags, no styles."""
    page = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", page))


def joined(value: Any) -> str:
    return "".join(value) if isinstance(value, list) else str(value)


def texts(output: Any) -> list[str]:
    """The texts of one output, blanks collapsed; 'a picture' stands for one."""
    if output["output_type"] == "stream":
        parts = [joined(output["text"])]
    else:
        data = output.get("data", {})
        if any(kind.startswith("image/") for kind in data):
            return ["a picture"]
        parts = [joined(data.get("text/plain", ""))]
        if "text/html" in data:
            parts.append(text_of_page(joined(data["text/html"])))
    return [" ".join(part.split()) for part in parts]


def printed(notebook: Any) -> list[str]:
    """Everything the code cells print, a line each, with the number of the cell."""
    lines = []
    for number, cell in enumerate((c for c in notebook["cells"] if c["cell_type"] == "code"), 1):
        streams = ""
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                streams += joined(output["text"])
                continue
            lines += [f"[{number}] {part}" for part in texts(output)]
        lines += [f"[{number}] {' '.join(part.split())}" for part in streams.splitlines() if part.strip()]
    return lines


def small_picture(png: str) -> str:
    """The same PNG in few colours, which is half the size and looks alike; as it was without Pillow."""
    try:
        from PIL import Image
    except ImportError:
        return png
    image = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    small = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


def merged(outputs: list[Any]) -> list[Any]:
    """Streams that follow each other as one: kernels cut them at will."""
    out: list[Any] = []
    for output in outputs:
        if out and output["output_type"] == out[-1]["output_type"] == "stream" and output["name"] == out[-1]["name"]:
            out[-1]["text"] = joined(out[-1]["text"]) + joined(output["text"])
        else:
            out.append(output)
    return out


def tidied(notebook: Any) -> Any:
    """Without what changes from run to run: times, identities, versions."""
    notebook["metadata"] = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                            "language_info": {"name": "python"}}
    count = 0
    for place, cell in enumerate(notebook["cells"], 1):
        cell["id"], cell["metadata"] = f"cell-{place:02}", {}
        if cell["cell_type"] != "code":
            continue
        count += 1
        cell["execution_count"] = count
        cell["outputs"] = merged(cell["outputs"])
        for output in cell["outputs"]:
            output.pop("transient", None)
            if "metadata" in output:
                output["metadata"] = {}
            if output["output_type"] == "execute_result":
                output["execution_count"] = count
            data = output.get("data", {})
            if "image/png" in data:
                data["image/png"] = small_picture(joined(data["image/png"]))
                data["text/plain"] = "a picture"
    return notebook


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
    with tempfile.TemporaryDirectory(prefix="nb") as folder:
        asyncio.run(within(folder))


def faults_of(notebook: Any) -> list[str]:
    """The faults of a stored notebook."""
    faults = []
    for number, cell in enumerate((c for c in notebook["cells"] if c["cell_type"] == "code"), 1):
        for output in cell["outputs"]:
            if output["output_type"] == "stream" and output["name"] == "stderr":
                faults.append(f"[{number}] writes to stderr: {joined(output['text']).strip()[:400]}")
            whole = " ".join(texts(output))
            for path in {str(ROOT), str(Path.home()), tempfile.gettempdir()} - {"/"}:
                if path + "/" in whole:
                    faults.append(f"[{number}] prints a path of this machine: {path}")
    return faults


def check(path: Path, write: bool) -> list[str]:
    """Runs one notebook; what is wrong with it. Stores it when asked to and nothing is."""
    import nbformat
    from nbclient.exceptions import CellExecutionError
    stored = nbformat.read(path, as_version=4)
    fresh = nbformat.from_dict(json.loads(json.dumps(stored)))
    try:
        run(fresh)
    except CellExecutionError as error:
        return ["a cell fails:\n" + re.sub(r"\x1b\[[0-9;]*m", "", str(error))]
    faults = faults_of(fresh)
    if write:
        content = nbformat.writes(tidied(fresh)) + "\n"
        if not faults:
            aside = path.with_suffix(".part")
            aside.write_text(content, encoding="utf-8")
            aside.replace(path)
    else:
        before, after = printed(stored), printed(fresh)
        faults += list(difflib.unified_diff(before, after, "stored", "now", lineterm="", n=0))
    if path.stat().st_size > MOST_BYTES:
        faults.append(f"{path.stat().st_size:,} bytes; a notebook may have {MOST_BYTES:,}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="notebooks, as 01_first_prediction; all when left out")
    parser.add_argument("--write", action="store_true", help="store what they print")
    asked = parser.parse_args()
    if absent := missing():
        print(f"skipped: pip install {' '.join(absent)}")
        return 77
    known = {path.stem: path for path in sorted(HERE.glob("*.ipynb"))}
    names = [Path(name).stem for name in asked.names] or list(known)
    if unknown := [name for name in names if name not in known]:
        print(f"no notebook {', '.join(unknown)}; there are {' '.join(known)}", file=sys.stderr)
        return 2
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    failed = 0
    for name in names:
        faults = check(known[name], asked.write)
        print(f"{name}: {'stored' if asked.write and not faults else 'as stored' if not faults else 'NOT as it should be'}", flush=True)
        for fault in faults:
            print("  " + fault.replace("\n", "\n  "))
        failed += bool(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
