"""What type checkers other than mypy say of the package; one of the long checks."""
import json
import pathlib
import subprocess
import sys

import pytest
from conftest import SOURCE

import fabricost as fc


def test_pyright_finds_the_same_mistakes(tmp_path):
    """The sample's ignored lines are errors to pyright, too, and the others none."""
    pytest.importorskip("basedpyright")
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps({"typeCheckingMode": "standard", "reportUnnecessaryTypeIgnoreComment": "error",
                                  "include": [str(SOURCE / "tests" / "python" / "sample_of_types.py")],
                                  "extraPaths": [str(pathlib.Path(fc.__file__).parents[1])]}))
    done = subprocess.run([sys.executable, "-m", "basedpyright", "-p", str(config), "--pythonpath", sys.executable],
                          capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0 and "0 errors" in done.stdout, done.stdout + done.stderr


def test_stubs_are_true():
    """mypy.stubtest compares _core.pyi (bindings/python/stub.py) with what the compiled module really has."""
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "fabricost._core", "--concise", "--mypy-config-file",
                           str(SOURCE / "pyproject.toml"), "--allowlist", str(SOURCE / "tests" / "python" / "stubtest_allowlist.txt")],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
