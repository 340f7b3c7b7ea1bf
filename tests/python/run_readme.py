"""Runs the Python example of a README, in a folder of its own, on the data beside that README.

    python run_readme.py README.md
"""
import os
import pathlib
import sys
import tempfile
import textwrap

readme = pathlib.Path(sys.argv[1]).resolve()
section = readme.read_text().split("## From Python", 1)[1].split("\n## ", 1)[0]
lines = [line for line in section.splitlines() if line.startswith("    ") or not line.strip()]
code = textwrap.dedent("\n".join(lines)).replace("data/measurements/", f"{readme.parent}/data/measurements/")
assert "fc.predict(" in code and "fc.calibrate(" in code
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102
    assert pathlib.Path("dgx-h100.calibrated.yaml").exists()
    os.chdir("/")
