"""The package as a whole: documented, typed, its examples run."""
import doctest
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys

import pytest
from conftest import SOURCE

import fabricost as fc


def modules():
    return [fc] + [importlib.import_module(f"fabricost.{m.name}") for m in pkgutil.iter_modules(fc.__path__) if m.name != "__main__"]


def test_everything_public_is_documented_under_one_name():
    for name in fc.__all__:
        thing = getattr(fc, name)
        if not callable(thing):
            continue
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, what in vars(thing).items():
                assert member.startswith("_") or member in ("name", "value") or getattr(what, "__doc__", None), f"{name}.{member}"
        else:
            assert inspect.signature(thing) is not None
        assert thing.__module__.startswith("fabricost") and not thing.__module__.endswith("_core"), name


@pytest.mark.parametrize("module", modules(), ids=lambda m: m.__name__)
def test_examples_of_the_docstrings(module):
    results = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    assert sum(len(test.examples) for name in fc.__all__ if callable(getattr(fc, name))
               for test in finder.find(getattr(fc, name), name)) >= 15


def test_types_are_whole():
    """mypy --strict on the package (pyproject.toml)."""
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", os.devnull], capture_output=True, text=True, timeout=300,
                          cwd=SOURCE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_are_true():
    """mypy.stubtest compares _core.pyi with what the compiled module really has."""
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "fabricost._core", "--concise", "--mypy-config-file",
                           str(SOURCE / "pyproject.toml"), "--allowlist", str(SOURCE / "tests" / "python" / "stubtest_allowlist.txt")],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_costs_little():
    code = "import sys, fabricost; print(sorted({'numpy', 'pandas', 'matplotlib', 'tqdm', 'pyarrow'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
