"""Runs the Python examples of a README and of the docs/install.md beside it, in a folder of its own, on the data beside that README.

    python run_readme.py README.md [--all]

Each block goes on where the one before ended; the last, which needs more than numpy (pictures, sweeps), is run with --all.
"""
import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import textwrap

readme = pathlib.Path(sys.argv[1]).resolve()


def blocks_of(page, heading):
    """Indented blocks below a heading, but for shell commands."""
    section = page.read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    blocks, inside = [], False
    for line in section.splitlines():
        if line.startswith("    "):
            if not inside:
                blocks.append([])
            inside = True
            blocks[-1].append(line)
        elif line.strip():
            inside = False
        elif inside:
            blocks[-1].append("")
    code = [textwrap.dedent("\n".join(block)) for block in blocks]
    return [block for block in code if not block.startswith("pip ")]


code = blocks_of(readme, "From Python") + blocks_of(readme.parent / "docs" / "install.md", "Python")
for block, call in zip(code, ("fc.predict(", "fc.calibrate(", "fc.sweep("), strict=True):
    assert call in block, (call, block)
assert "fc.report(" in code[-1]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pathlib.Path("data").symlink_to(readme.parent / "data")
    names: dict = {}
    for block in code if "--all" in sys.argv else code[:-1]:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block, "README.md", "exec"), names)
        for line in re.findall(r"(?m)^print.*  # (.*)$", block):  # what stands beside a line is what it prints
            assert line in printed.getvalue().splitlines(), (line, printed.getvalue())
    made = {"dgx-h100.calibrated.yaml"} | ({"busbw.png", "report.html", "answers"} if "--all" in sys.argv else set())
    assert made <= set(os.listdir(folder)), os.listdir(folder)
    os.chdir("/")
