"""Steps and kernels that PyTorch took on one H100 (data/measurements), none of which any constant was fitted to."""
import csv
import math
import pathlib
import shlex
import statistics
import subprocess
import sys

import pytest

import fabricost as fc

MEASURED = pathlib.Path(__file__).parents[2] / "data" / "measurements"
ROWS = {row["id"]: row for row in csv.DictReader((MEASURED / "h100-steps.csv").read_text().splitlines())}
EAGER = {"stack": "pytorch-2026", "main_params_dtype": "none", "exp_avg_dtype": "bf16", "exp_avg_sq_dtype": "bf16", "headroom": 0,
         "tp": 1, "pp": 1, "cp": 1, "dp": 1, "zero": 0}
# the allocator's peak leaves out the context of the device and what lies between blocks
BESIDE = {"runtime", "fragmentation"}
# HS14 waits for the host, HS08 sorts its tokens in operations of their own
WIDER = {"HS14": 0.35, "HS08": 0.25, "HS09": 0.25, "HS10": 0.25}


def layout(row, folder, **more):
    model = row["model"]
    if row["layers"]:
        file = folder / f"{model}-{row['layers']}.yaml"
        file.write_text(f"extends: {model}\nname: {file.stem}\nlayers: {row['layers']}\n")
        model = str(file)
    words = shlex.split(row["options"])
    asked, key = {}, ""
    for word in words:
        if word.startswith("--"):
            key = word[2:].replace("-", "_")
            asked[key] = model  # --frozen-model has no value of its own: the model beside itself
        else:
            asked[key] = int(word) if word.isdigit() else word
    return fc.plan("dgx-h100", model, gpus=1, top=1, **{**EAGER, **asked, **more})[0]


@pytest.mark.parametrize("name", list(ROWS))
def test_a_measured_step_is_predicted(name, tmp_path):
    row = ROWS[name]
    best = layout(row, tmp_path)
    measured = float(row["step_ms"]) / 1e3
    assert abs(best.step_seconds / measured - 1) < WIDER.get(name, 0.1)


@pytest.mark.parametrize("name", list(ROWS))
def test_the_memory_of_a_measured_step_is_predicted(name, tmp_path):
    row = ROWS[name]
    used = sum(part.bytes for part in layout(row, tmp_path).memory if part.name not in BESIDE)
    assert abs(used / (float(row["peak_gib"]) * 2**30) - 1) < 0.1


def test_steps_in_the_middle_are_right_within_four_per_cent(tmp_path):
    errors = [abs(layout(row, tmp_path).step_seconds / (float(row["step_ms"]) / 1e3) - 1) for row in ROWS.values()]
    assert statistics.median(errors) < 0.04


def test_ones_own_kernels_price_steps_they_were_not_fitted_to(tmp_path):
    stack = fc.calibrate_stack("pytorch-2026", MEASURED / "h100-kernels.csv")
    stack.save(tmp_path)
    (own,) = (tmp_path / "stacks").iterdir()
    for name in ("HS01", "HS02", "HS03", "HS06", "HS07"):
        row = ROWS[name]
        step = layout(row, tmp_path, stack=str(own)).step_seconds
        assert math.isclose(step, float(row["step_ms"]) / 1e3, rel_tol=0.05), name


def test_kernels_without_pytorch_say_what_is_missing(tmp_path):
    code = "import sys; sys.modules['torch'] = None; from fabricost import kernels; sys.exit(kernels.main([sys.argv[1]]))"
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path / "k.csv")], capture_output=True, text=True)
    assert ran.returncode == 2 and "torch" in ran.stderr and not (tmp_path / "k.csv").exists()
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path / "none" / "k.csv")], capture_output=True, text=True)
    assert ran.returncode == 2 and "no file can be written there" in ran.stderr
