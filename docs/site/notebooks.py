"""The notebooks of examples/notebooks as pages: their text, their code, and the outputs stored in them."""
import base64
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/notebooks"


def _block(text, language):
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def page(path, draw):
    """A notebook as Markdown. draw(name, bytes): keeps a picture, returns its address."""
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


def pages(draw):
    """{file name without its end: Markdown} of all."""
    return {path.stem: page(path, draw) for path in sorted(FOLDER.glob("*.ipynb"))}
