#!/usr/bin/env python3
"""Builds the site as docs/build.sh does, warnings as errors, with a check of its links; skips where Sphinx or the package is missing.

    build_site.py BUILD
"""
import importlib.util
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    missing = [name for name in ("sphinx", "myst_parser", "furo", "latex2mathml", "yaml", "nbclient", "nbformat", "ipykernel", "matplotlib", "pandas",
                                "fabricost") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: {sys.executable} has no {', '.join(missing)} (pip install -r docs/requirements.txt; FABRICOST_BUILD_PYTHON=ON)")
        sys.exit(77)
    sys.exit(subprocess.run([ROOT / "docs/build.sh"], env={**os.environ, "PYTHON": sys.executable, "BUILD": sys.argv[1]}).returncode)
