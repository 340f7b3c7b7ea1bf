"""The package as a whole: documented, typed, its examples run."""
import doctest
import importlib
import inspect
import os
import pathlib
import pkgutil
import re
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


def test_every_answer_is_a_table_in_a_notebook():
    """Also the answers that have no view of their own."""
    views = [thing for name in fc.__all__ if inspect.isclass(thing := getattr(fc, name)) and hasattr(thing, "to_dict")]
    assert len(views) > 20 and all(hasattr(view, "_repr_html_") for view in views), views
    job = dict(model="llama3-8b", gpus=64, global_batch=128)
    for answer in (fc.compare(["dgx-h100", "dgx-b200"], train=True, **job), fc.cost("dgx-h100", gpus=64),
                   fc.goodput(gpus=1024, system="dgx-h100"), fc.explore(system="dgx-h100", vary={"domain": [8, 16]}, **job)):
        shown = answer._repr_html_()
        assert shown.count("<table") == 1 and shown.count("<tr>") > 2 and "\n" not in shown, shown[:300]


def test_what_a_folder_or_a_file_holds_is_a_table_in_a_notebook(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("yaml")
    swept = fc.sweep({"system": ["dgx-h100"], "bytes": [2.0**k for k in range(10, 30)], "ranks": [8]}, tmp_path / "swept", progress=False)
    made = fc.export("slurm", system="gb200-nvl72", output=tmp_path / "topology.yaml", nodes=36, leaf=18)
    for answer, has in ((swept, "10 more"), (fc.read_placement(made.files[0]), "node[1-18]")):
        shown = answer._repr_html_()
        assert shown.count("<table") == 1 and has in shown, shown[:300]


def test_arguments_are_documented_as_numpydoc_does():
    """Of every public function, with type and default: `sequence : int, default 4096`; several of another function in one line."""
    functions = [name for name in fc.__all__ if callable(getattr(fc, name)) and not inspect.isclass(getattr(fc, name))]
    assert len(functions) > 40
    for name in functions:
        asked = set(inspect.signature(getattr(fc, name)).parameters)
        words = inspect.getdoc(getattr(fc, name)).partition("Parameters\n----------\n")[2]
        listed = re.findall(r"(?m)^(?:\*{0,2}(\w+) : \S.*|\*\*(\w+)|(\w+(?:, \w+)+))\n    \S", words)
        assert {one for names in listed for one in ", ".join(filter(None, names)).split(", ")} == asked, name


def test_types_are_whole():
    """mypy --strict on the built package (pyproject.toml), whose stub is made of the tables of fields, and on a sample of its use."""
    pytest.importorskip("mypy")
    sample = SOURCE / "tests" / "python" / "sample_of_types.py"
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", os.devnull, str(pathlib.Path(fc.__file__).parent), str(sample)],
                          capture_output=True, text=True, timeout=300, cwd=SOURCE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_python_of_the_project_passes_ruff():
    """With the version and the rules that contributors' commits are held to."""
    pytest.importorskip("ruff")
    hooks = (SOURCE / ".pre-commit-config.yaml").read_text()
    wanted = re.search(r"ruff==([\d.]+)", hooks)[1]
    assert f"ruff=={wanted}" in (SOURCE / "quickstart").read_text()
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--no-cache", str(SOURCE)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_costs_little():
    code = ("import sys, fabricost; heavy = {'numpy', 'pandas', 'matplotlib', 'tqdm', 'pyarrow'}; print(sorted(heavy & set(sys.modules)))\n"
            "import fabricost.plot; print(sorted(heavy & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n['numpy']\n"


def test_a_sub_interpreter_is_refused_and_does_not_hang():
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    inner = f"import sys; sys.path[:] = {sys.path!r}\ntry: import fabricost\nexcept ImportError as error: print(error, flush=True)"
    code = f"import {name} as i\nn = i.create()\ni.run_string(n, {inner!r})\ni.destroy(n)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "main interpreter only" in done.stdout, done.stderr


# --- modules that only some functions need

HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
"""
NEEDS = {
    "pandas": ("pandas", ["fc.predict(s, fc.AllReduce([1, 2])).to_pandas()", "fc.plan(s, 'llama3-8b', gpus=8, global_batch=8).to_pandas()",
                          "fc.validate(log, system=s).to_pandas()", "fc.diagnose(log).to_pandas()", "fc.tune(s).to_pandas()",
                          "fc.calibrate(s, log).to_pandas()", "p.to_pandas()"]),
    "xarray": ("xarray", ["fc.predict(s, fc.AllReduce([1, 2])).to_xarray()"]),
    "pyarrow": ("sweep", ["fc.sweep({'system': s, 'bytes': [1]}, 'new')"]),
    "tqdm": ("sweep", ["fc.sweep({'system': s, 'bytes': [1]}, 'new')"]),
    "matplotlib": ("plot", ["fc.plot.busbw(s, fc.AllReduce())", "fc.plot.terms(s, fc.AllReduce(1e6), 'size')",
                            "fc.plot.residuals(fc.validate(log, system=s))", "fc.plot.topology(s)", "fc.plot.pipeline(p)",
                            "fc.plot.pareto(fc.plan(s, 'llama3-8b', gpus=8, global_batch=8))", "fc.report(s)",
                            "fc.plot.layouts(s, 'llama3-8b', gpus=8, global_batch=8)"]),
}


@pytest.mark.parametrize("hidden", NEEDS)
def test_a_missing_module_is_named_with_the_extra_that_brings_it(tmp_path, log, hidden):
    extra, asked = NEEDS[hidden]
    code = HIDE.format(hidden={hidden}) + f"""
import fabricost as fc
s, log = fc.load_system("dgx-h100"), {str(log)!r}
p = fc.pipeline(schedule="1f1b", stages=2, microbatches=4, forward_seconds=1e-3)
for ask in {asked!r}:
    try: eval(ask)
    except ImportError as error: assert str(error) == "{hidden} is needed for this: pip install 'fabricost[{extra}]'", error
    else: raise AssertionError(ask)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    if hidden == "tqdm" and "pyarrow is needed" in done.stderr:
        pytest.skip("pyarrow is not installed")
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())


def extras():
    """The extras of pyproject.toml: name to modules."""
    text = (SOURCE / "pyproject.toml").read_text().split("[project.optional-dependencies]", 1)[1].split("\n[", 1)[0]
    return {name: re.findall(r'"([A-Za-z0-9_.-]+)', modules) for name, modules in re.findall(r"(?m)^(\w+) = \[(.*)\]", text)}


def test_every_module_that_is_asked_for_by_name_stands_in_its_extra():
    from fabricost._extras import EXTRAS

    for module, extra in EXTRAS.items():
        wheel = {"yaml": "pyyaml"}.get(module, module.replace("_", "-"))
        assert wheel in extras()[extra], (module, extra)


def test_the_readme_runs_with_the_extras_it_names(tmp_path):
    """Modules of other extras are hidden from it."""
    readme = SOURCE / "README.md"
    named = re.search(r"pip install '\.\[([\w,]+)\]'", readme.read_text())[1].split(",")
    there = {module for extra in named for module in extras()[extra]}
    for module in there:
        pytest.importorskip(module)
    hidden = {module for modules in extras().values() for module in modules} - there - {"fabricost"}  # which "all" names
    code = HIDE.format(hidden=hidden) + f"""
import runpy
sys.argv = ["run_readme.py", {str(readme)!r}, "--all"]
runpy.run_path({str(SOURCE / "tests" / "python" / "run_readme.py")!r}, run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=tmp_path,
                          env={**os.environ, "MPLBACKEND": "Agg"})
    assert done.returncode == 0, done.stderr


def test_without_the_compiled_part_the_error_says_that_it_is_not_built():
    done = subprocess.run([sys.executable, "-c", "import fabricost"], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(pathlib.Path(SOURCE) / "bindings" / "python")})
    assert done.returncode == 1
    assert "ImportError: the compiled part of fabricost is not built" in done.stderr
