"""Runs the Python examples of a README, in a folder of its own, on the data beside that README.

    python run_readme.py README.md [--all]

Each block goes on where the one before ended; those that need more than numpy (pictures, sweeps) are run with --all.
"""
import os
import pathlib
import sys
import tempfile
import textwrap

readme = pathlib.Path(sys.argv[1]).resolve()
section = readme.read_text().split("## From Python", 1)[1].split("\n## ", 1)[0]
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
code = [block for block in code if not block.startswith("pip ")]
first = code[0]
assert len(code) == 2 and "fc.predict(" in first and "fc.calibrate(" in first and "fc.sweep(" in code[1] and "fc.report(" in code[1]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pathlib.Path("data").symlink_to(readme.parent / "data")
    names: dict = {}
    for block in code if "--all" in sys.argv else [first]:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    made = {"dgx-h100.calibrated.yaml"} | ({"busbw.png", "report.html", "answers"} if "--all" in sys.argv else set())
    assert made <= set(os.listdir(folder)), os.listdir(folder)
    os.chdir("/")
