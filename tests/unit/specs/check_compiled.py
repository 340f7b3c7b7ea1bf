#!/usr/bin/env python3
"""Checks the files of data/ that are compiled in: each is valid in its schema (where jsonschema can be imported), and
cmake/shipped_numbers.cmake makes every table, puts a second version beside the first, and refuses broken lines with their place.

    check_compiled.py CMAKE SOURCE_DIR

Exit status 1 and a line for each fault."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SCHEMAS = {"prior": "priors", "policy": "policies", "tuner": "tuners", "engine": "engines", "plugin": "plugins",
           "exchange": "exchanges"}  # kind: folder
FOLDERS = ("priors", "policies", "tuners", "engines", "plugins", "exchanges", "prices")
MADE = ("shipped_numbers.hpp", "hardware/shipped_priors.inc", "hardware/shipped_widths.inc", "hardware/shipped_tuners.inc",
        "hardware/shipped_plugin_names.inc", "choice/shipped_engine_names.inc", "choice/shipped_engines.inc",
        "choice/shipped_plugins.inc", "experts/shipped_exchanges.inc")

# (file, a text of it, what it becomes, what the message says)
BROKEN = [
    ("priors/moe.yaml", "  form.few_sms: {", "  form few sms {", "moe.yaml:"),
    ("priors/memory.yaml", "{value: 40000000, ", "{value: 40000000, spread: 0.1, ", "is no number"),
    ("policies/fits.yaml", "  min_width: {value: 0.01}", "  least_width: {}", "is no number"),
    ("engines/vllm.yaml", "hand_over:", "hand over", "is no `key: value` line"),
    ("plugins/aws-p5.yaml", "ring_simple:", "ring_fast:", "is no algorithm with its protocol"),
    ("exchanges/deepep-v2.yaml", "sms: 64", "SMs64: 64", "is no `key: value` line"),
    ("exchanges/deepep-v2.yaml", "sms: 64", "blocks: 64", "is no key of a kernel"),
    ("plugins/aws-p5.yaml", "ranks_per_node: 2", "ranks: 2", "is no collective with ranks of a node"),
]


def invalid(data):
    """The files that their schema refuses, with the reason."""
    try:
        import jsonschema
        import referencing
        import yaml
    except ImportError as missing:
        return print(f"schemas were not asked: {missing.name} is missing") or []
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in (data / "schema").glob("*.json")}
    registry = referencing.Registry().with_resources([(name, referencing.Resource.from_contents(one)) for name, one in schemas.items()])
    return [f"{path}: {'.'.join(map(str, fault.absolute_path))}: {fault.message[:200]}" for kind, folder in SCHEMAS.items()
            for path in sorted((data / folder).glob("*.yaml")) for fault in jsonschema.Draft202012Validator(
                schemas[f"{kind}.schema.json"], registry=registry).iter_errors(json.loads(json.dumps(yaml.safe_load(path.read_text(encoding="utf-8")), default=str)))]


def run(cmake, source, data, out):
    done = subprocess.run([cmake, f"-DDATA={data}", f"-DOUT={out}", "-P", str(source / "cmake/shipped_numbers.cmake")],
                          capture_output=True, text=True, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    cmake, source = sys.argv[1], pathlib.Path(sys.argv[2])
    faults = invalid(source / "data")
    with tempfile.TemporaryDirectory() as folder:
        data, out = pathlib.Path(folder) / "data", pathlib.Path(folder) / "out"
        for name in FOLDERS:
            shutil.copytree(source / "data" / name, data / name)
        shutil.copyfile(data / "tuners/nccl-2.30.yaml", data / "tuners/nccl-2.4.yaml")
        status, said = run(cmake, source, data, out)
        if status:
            sys.exit(f"the shipped files are refused: {said}")
        faults += [f"{name}: was not written" for name in MADE if not (out / name).is_file()]
        tuners = (out / "hardware/shipped_tuners.inc").read_text(encoding="utf-8")
        if "{ nccl_2_4, nccl_2_12, nccl_2_25, nccl_2_28, nccl_2_30, }" not in tuners or "newest_tuner = Tuner::nccl_2_30;" not in tuners:
            faults.append("versions of a tuner do not stand side by side, 2.30 after 2.4")
        for name, text, broken, words in BROKEN:
            whole = (data / name).read_text(encoding="utf-8")
            if text not in whole:
                faults.append(f"{name}: the case is stale, there is no \"{text}\"")
                continue
            (data / name).write_text(whole.replace(text, broken, 1), encoding="utf-8")
            status, said = run(cmake, source, data, out)
            if not status or words not in said or name not in said:
                faults.append(f"{name}: \"{broken}\" is taken, or refused without its place: {said}")
            (data / name).write_text(whole, encoding="utf-8")
    print("\n".join(faults) if faults else f"{len(MADE)} files, {len(BROKEN)} broken ones refused")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
