"""The notebooks of examples/notebooks as pages: their text, their code, and what they print. They are run for it."""
import base64
import importlib.util
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "examples/notebooks/run.py"


def runner():
    """The program that runs them, as a module."""
    spec = importlib.util.spec_from_file_location("notebooks_run", RUN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _block(text, language):
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def page(path, draw):
    """A notebook that was run, as Markdown. draw(name, bytes): keeps a picture, returns its address."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    out, pictures = [], 0
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            out.append(text + "\n")
            continue
        out.append(_block(text, "python"))
        for one in cell.get("outputs", []):
            data = one.get("data", {})
            if "image/png" in data:
                pictures += 1
                out.append(f"![output]({draw(f'{path.stem}-{pictures}.png', base64.b64decode(''.join(data['image/png'])))})\n")
            elif "text/plain" in data or "text" in one:
                out.append(_block("".join(data.get("text/plain", one.get("text", ""))), "text"))
    return "\n".join(out)


def pages(folder, package, draw):
    """{file name without its end: Markdown} of all. A notebook with its outputs is kept in the folder until it, the package or data change."""
    program = runner()
    shared = [RUN, *(RUN.parent / "logs").iterdir(), *pathlib.Path(package.__file__).parent.rglob("*.*"), *(ROOT / "data").rglob("*.*")]
    changed = max(path.stat().st_mtime for path in shared if "__pycache__" not in path.parts)
    out = {}
    for name, source in program.notebooks().items():
        kept = folder / source.name
        if not kept.exists() or kept.stat().st_mtime < max(changed, source.stat().st_mtime):
            _, faults = program.executed(source, folder)
            if faults:
                sys.exit(f"examples/notebooks/{source.name}:\n" + "\n".join(faults))
        out[name] = page(kept, draw)
    return out
