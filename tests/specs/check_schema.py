#!/usr/bin/env python3
"""The JSON Schemas of data/ and the loader must know the same format.

    check_schema.py COMMAND [DATA]     the fabricost command; the data folder (default: the one of this checkout)

1. Every shipped file is valid in its schema, and so are calibrations that the command writes.
2. Broken documents are refused by the schema as they are by the loader.
3. Every key of a schema is a key of the loader, and the other way round.
4. Bounds of a calibration's constants are the loader's: both take the bound and refuse what lies beyond.

Exit status: 0 fine, 1 a difference, 77 skipped (says why).
"""

import copy
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
    import yaml
except ImportError as error:
    print(f"skipped: {error.name} is missing (pip install pyyaml jsonschema)")
    sys.exit(77)
import json

KINDS = {"gpu": ["gpus"], "link": ["links"], "switch": ["switches"], "system": ["systems", "clusters"], "calibration": ["calibrations"], "model": ["models"]}

# Calibrations have different keys by what they hold; after the point stands which (or parts: all of them in one file)
CALIBRATIONS = ["scale_up", "pcie", "transport"]


class Plain(yaml.SafeLoader):
    """YAML as the loader has it: a date is a text."""


Plain.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def plain(text):
    return yaml.load(text, Plain)


GOOD = {
    "gpu": """
name: card
title: A card
vendor: nvidia
generation: hopper
source: a test
confidence: assumed
memory: 80 GB
hbm: {bandwidth: 3350 GB/s, latency: 560 ns}
l2: {size: 50 MB, bandwidth: 5500 GB/s, latency: 150 ns}
compute: {fp16: 989 TFLOP/s}
units: 132
clock: 1830 MHz
power: 700 W
price: 2.95 USD/h
scale_up: {link: nvlink-4, links: 18}
host: {link: pcie-5, lanes: 16}
c2c: {link: nvlink-c2c, links: 10}
""",
    "link": """
name: wire
title: A wire
family: nvlink
source: a test
confidence: assumed
lanes: 2
lane_rate: 100 Gbit/s per direction
encoding: 1
bandwidth: 25 GB/s per direction
usable: 20 GB/s per direction
packet: {payload: 256 B, header: 24 B}
latency: 150 ns
""",
    "switch": """
name: chip
title: A chip
source: a test
confidence: assumed
link: nvlink-4
ports: 64
latency: 150 ns
in_network: [reduction, multicast]
""",
    "system": """
name: box
title: A box
source: a test
confidence: assumed
gpu: h100-sxm
gpus: 8
tiers:
  - {name: nvlink, role: scale_up, kind: switch, endpoints: 8, link: nvlink-4, links: 18, switch: nvswitch-3, switches: 4}
  - {name: nic, role: nic, kind: rails, endpoints: 8, link: infiniband-ndr, transport: infiniband, path: pxb, gdr: true}
""",
}

GOOD["model"] = """
name: shape-1.5
title: A shape
aliases: [A/Shape]
source: a test
confidence: assumed
layers: 12
hidden: 1024
vocab: 32000
positions: 0
tied: true
biases: false
attention: {heads: 16, kv_heads: 4, head_dim: 64}
ffn: {width: 4096, gated: true}
experts: {count: 8, top_k: 2, width: 2048, shared: 1, first_dense: 1, groups: 4, group_limit: 2}
window: {size: 128, layers: 4}
index: {heads: 4, head_dim: 64, tokens: 64}
mixer: {kind: mamba2, layers: 4, inner: 2048, keys: 128, heads: 32, state: 128}
predict_layers: 1
published: {parameters: 1.5e9, active: 0.5e9, other: 1e6}
"""

CALIBRATION_HEAD = """
name: mine
title: A machine
systems: [dgx-h100]
source: a test
confidence: measured
date: 2026-01-31
notes: a note
"""
CALIBRATION_PARTS = {
    "scale_up": """
kind: scale_up
library: nccl
generation: hopper
measured: {bandwidth: 450 GB/s per direction, smallest: 512 B, largest: 512 MiB, fewest_ranks: 2, most_ranks: 8}
constants:
  launch: 4.7 us
  ll: {hop: 0.82 us, channel_share: 0.44}
  ll128: {floor: 14.7 us}
  simple: {rate: 387 GB/s per direction, overlap: 1.09}
  nvls: {rate: 473 GB/s per direction, growth_size: 22.7 MiB}
  all_to_all: {base: 6.3 us, rate: 343 GB/s per direction}
intervals: {ring_ll: 0.058, nvls: 0.06}
residuals:
  all: {points: 504, median: 2.4, mean: 3.2}
deviations:
  launch: 0.83
""",
    "pcie": """
kind: pcie
library: nccl
measured: {bandwidth: 31.5 GB/s per direction}
constants:
  ll_rate: {pair: 8.8 GB/s per direction}
  simple_rate: {pair: 19.7 GB/s per direction}
  launch: 5 us
  warm_bytes: 1 MiB
intervals: {pcie_ll: 0.08}
""",
    "transport": """
kind: transport
transport: infiniband
measured: {most_nodes: 10}
constants: {tree_step: 4.4 us, efficiency: 0.985}
intervals: {tree_ll: 0.21}
""",
}
for part, text in CALIBRATION_PARTS.items():
    GOOD["calibration." + part] = CALIBRATION_HEAD + text
all_parts = {"parts": [plain(part) for part in CALIBRATION_PARTS.values()]}
GOOD["calibration.parts"] = CALIBRATION_HEAD + yaml.safe_dump(all_parts, sort_keys=False)

REMOVE = object()

# (kind, where, what is put there): refused by the schema and by the loader
BROKEN = [
    ("gpu", ["memory"], 80),
    ("gpu", ["memory"], "80"),
    ("gpu", ["memory"], "80 gb"),
    ("gpu", ["memory"], "-80 GB"),
    ("gpu", ["memory"], "nan GB"),
    ("gpu", ["memory"], ["80 GB"]),
    ("gpu", ["memory"], {"source": "a datasheet"}),
    ("gpu", ["memory"], {"value": "80 GB", "sorce": "a datasheet"}),
    ("gpu", ["memory"], {"value": "80 GB", "confidence": "sure"}),
    ("gpu", ["memory"], REMOVE),
    ("gpu", ["hbm"], REMOVE),
    ("gpu", ["hbm"], "3350 GB/s"),
    ("gpu", ["hbm", "bandwidth"], "3350 GB/s per direction"),
    ("gpu", ["hbm", "bandwidth"], REMOVE),
    ("gpu", ["hbm", "latency"], "560"),
    ("gpu", ["hbm", "notes"], "a note"),
    ("gpu", ["compute", "fp16"], "989 TFLOPS"),
    ("gpu", ["compute", "fp16"], REMOVE),
    ("gpu", ["vendor"], "nvidea"),
    ("gpu", ["generation"], "hoper"),
    ("gpu", ["units"], 0),
    ("gpu", ["units"], 1.5),
    ("gpu", ["clock"], "1830 MB"),
    ("gpu", ["power"], "700 hp"),
    ("gpu", ["price"], "2.95 EUR/h"),
    ("gpu", ["confidence"], "derived"),
    ("gpu", ["scale_up", "links"], REMOVE),
    ("gpu", ["colour"], "green"),
    ("gpu", ["name"], "My Card"),
    ("gpu", ["name"], REMOVE),
    ("link", ["lane_rate"], "100 Gbit/s"),
    ("link", ["lane_rate"], REMOVE),
    ("link", ["lanes"], REMOVE),
    ("link", ["bandwidth"], "50 GB/s"),
    ("link", ["bandwidth"], "25 GB/s one way"),
    ("link", ["encoding"], 1.01),
    ("link", ["encoding"], 0),
    ("link", ["encoding"], 97),
    ("link", ["packet", "header"], REMOVE),
    ("link", ["family"], "nvlinks"),
    ("link", ["adapter"], "x"),
    ("switch", ["ports"], 63.5),
    ("switch", ["ports"], REMOVE),
    ("switch", ["in_network"], "reduction"),
    ("switch", ["in_network"], ["broadcast"]),
    ("system", ["gpu"], REMOVE),
    ("system", ["gpus"], REMOVE),
    ("system", ["gpus"], "eight"),
    ("system", ["tiers"], REMOVE),
    ("system", ["tiers"], []),
    ("system", ["tiers"], "nvlink"),
    ("system", ["cpu"], "zen"),
    ("system", ["power"], "10.2"),
    ("system", ["price"], "98 USD/h"),
    ("system", ["tiers", 0, "name"], REMOVE),
    ("system", ["tiers", 0, "name"], "a-name-of-17-char"),
    ("system", ["tiers", 0, "role"], "memory"),
    ("system", ["tiers", 0, "role"], REMOVE),
    ("system", ["tiers", 0, "kind"], "memory"),
    ("system", ["tiers", 0, "kind"], "star"),
    ("system", ["tiers", 0, "endpoints"], REMOVE),
    ("system", ["tiers", 0, "bandwidth"], "450 GB/s"),
    ("system", ["tiers", 0, "efficiency"], 1.07),
    ("system", ["tiers", 0, "latency"], "500"),
    ("system", ["tiers", 0, "dims"], "4x4"),
    ("system", ["tiers", 0, "edges"], [[0, 1]]),
    ("system", ["tiers", 0, "edges"], [[-1, 1, 1]]),
    ("system", ["tiers", 0, "wrap"], "perhaps"),
    ("system", ["tiers", 0, "oversubscription"], 0.5),
    ("system", ["tiers", 0, "in_network"], ["broadcast"]),
    ("system", ["tiers", 0, "shared_with"], 2),
    ("system", ["tiers", 1, "transport"], "unknown"),
    ("system", ["tiers", 1, "transport"], REMOVE),
    ("system", ["tiers", 1, "path"], "pxp"),
    ("system", ["tiers", 1, "gdr"], "perhaps"),
    ("calibration.scale_up", ["name"], REMOVE),
    ("calibration.scale_up", ["name"], "My Machine"),
    ("calibration.scale_up", ["kind"], REMOVE),
    ("calibration.scale_up", ["kind"], "ring"),
    ("calibration.scale_up", ["kind"], "pcie"),
    ("calibration.scale_up", ["library"], "nckl"),
    ("calibration.scale_up", ["library"], "other"),
    ("calibration.scale_up", ["generation"], "hoper"),
    ("calibration.scale_up", ["confidence"], "sure"),
    ("model", ["layers"], REMOVE),
    ("model", ["layers"], 0),
    ("model", ["hidden"], "1024 B"),
    ("model", ["vocab"], 1.5),
    ("model", ["name"], "Shape"),
    ("model", ["tied"], "perhaps"),
    ("model", ["attention"], REMOVE),
    ("model", ["attention", "heads"], REMOVE),
    ("model", ["attention", "hads"], 16),
    ("model", ["experts", "top_k"], REMOVE),
    ("model", ["experts", "width"], -1),
    ("model", ["window", "layers"], REMOVE),
    ("model", ["mixer", "kind"], "mamba"),
    ("model", ["blocks"], "MEX"),
    ("model", ["predict_layers"], -1),
    ("model", ["published", "parameters"], "1.5 B"),
    ("model", ["aliases"], "A/Shape"),
    ("calibration.scale_up", ["systems"], "dgx-h100"),
    ("calibration.scale_up", ["measured"], REMOVE),
    ("calibration.scale_up", ["measured", "bandwidth"], REMOVE),
    ("calibration.scale_up", ["measured", "bandwidth"], "450 GB/s"),
    ("calibration.scale_up", ["measured", "smallest"], "512"),
    ("calibration.scale_up", ["measured", "most_ranks"], 0),
    ("calibration.scale_up", ["measured", "most_ranks"], 2000000),
    ("calibration.scale_up", ["measured", "most_rank"], 8),
    ("calibration.scale_up", ["constants"], REMOVE),
    ("calibration.scale_up", ["constants"], []),
    ("calibration.scale_up", ["constants", "launch"], 4.7),
    ("calibration.scale_up", ["constants", "launch"], "4.7 MB"),
    ("calibration.scale_up", ["constants", "lunch"], "4.7 us"),
    ("calibration.scale_up", ["constants", "ll"], 5),
    ("calibration.scale_up", ["constants", "ll", "launch"], "4.7 us"),
    ("calibration.scale_up", ["constants", "simple", "rate"], "387 GB/s"),
    ("calibration.scale_up", ["constants", "simple", "overlap"], "much"),
    ("calibration.scale_up", ["constants", "tree_step"], "4 us"),
    ("calibration.scale_up", ["intervals", "ring_ll"], 0),
    ("calibration.scale_up", ["intervals", "ring_ll"], 6),
    ("calibration.scale_up", ["intervals", "tree_ll"], 0.2),
    ("calibration.scale_up", ["residuals"], "small"),
    ("calibration.scale_up", ["deviations"], [1]),
    ("calibration.scale_up", ["parts"], []),
    ("calibration.scale_up", ["parts"], [{"kind": "transport", "measured": {"most_nodes": 2}, "constants": {"tree_step": "4 us"}}]),
    ("calibration.pcie", ["measured", "bandwidth"], REMOVE),
    ("calibration.pcie", ["constants", "ll_rate", "trio"], "5 GB/s per direction"),
    ("calibration.transport", ["transport"], "infinband"),
    ("calibration.transport", ["transport"], "unknown"),
    ("calibration.transport", ["constants", "tree_step"], REMOVE),
    ("calibration.transport", ["constants", "efficiency"], 1.2),
    ("calibration.transport", ["constants", "launch"], "4 us"),
    ("calibration.parts", ["parts"], "all"),
    ("calibration.parts", ["parts"], []),
    ("calibration.parts", ["parts"], {"kind": "scale_up"}),
    ("calibration.parts", ["parts", 0, "kind"], REMOVE),
    ("calibration.parts", ["parts", 0, "name"], "mine"),
    ("calibration.parts", ["parts", 1, "measured"], REMOVE),
    ("calibration.parts", ["parts", 2, "constants", "tree_step"], "4"),
    ("calibration.parts", ["parts", 2, "systems"], ["dgx-h100"]),
    ("calibration.parts", ["kind"], "scale_up"),
]


def schema_of(kind):
    return kind.split(".")[0]


class Checker:
    def __init__(self, command, data):
        self.command = command
        self.data = data
        self.faults = 0
        self.checked = 0
        self.folder = tempfile.TemporaryDirectory(prefix="fabricost-schema-")
        common = json.loads((data / "schema" / "common.schema.json").read_text())
        self.schemas = {p.name.split(".")[0]: json.loads(p.read_text()) for p in (data / "schema").glob("*.schema.json")}
        self.common = common["$defs"]
        self.validators = {kind: self.validator(schema, common) for kind, schema in self.schemas.items()}

    @staticmethod
    def validator(schema, common):
        jsonschema.Draft202012Validator.check_schema(schema)
        try:
            import referencing

            resource = referencing.Resource.from_contents(common)
            registry = referencing.Registry().with_resource("common.schema.json", resource)
            return jsonschema.Draft202012Validator(schema, registry=registry)
        except ImportError:  # jsonschema before 4.18
            resolver = jsonschema.RefResolver("", schema, store={"common.schema.json": common})
            return jsonschema.Draft202012Validator(schema, resolver=resolver)

    def expect(self, fine, what):
        self.checked += 1
        if not fine:
            self.faults += 1
            print("FAULT", what)

    def loader_says(self, kind, document):
        """What the command says of a document (empty: it loads). Parts are named by a system beside them."""
        folder = pathlib.Path(self.folder.name)
        file = folder / f"{kind}.yaml"
        file.write_text(yaml.safe_dump(document, sort_keys=False))
        if kind.startswith("calibration"):
            command = [self.command, "predict", "all_gather", "--system", "dgx-h100", "--size", "1MiB", "--calibration", str(file)]
            return self.said(kind, command)
        if kind == "model":
            return self.said(kind, [self.command, "models", str(file)])
        if kind != "system":
            system = plain(GOOD["system"])
            if kind == "gpu":
                system["gpu"] = "./gpu.yaml"
            else:
                system["tiers"][0][kind] = f"./{kind}.yaml"
            file = folder / "around.yaml"
            file.write_text(yaml.safe_dump(system, sort_keys=False))
        return self.said(kind, [self.command, "show", str(file)])

    def said(self, kind, command):
        run = subprocess.run(command, capture_output=True, text=True, timeout=20)
        if run.returncode not in (0, 2):
            self.expect(False, f"{kind}: the command ends with {run.returncode}: {run.stderr}")
        return run.stderr + run.stdout if run.returncode else ""

    def shipped_files(self):
        for kind, folders in KINDS.items():
            for folder in folders:
                for file in sorted((self.data / folder).glob("*.yaml")):
                    document = plain(file.read_text())
                    problems = [f"{list(e.absolute_path)}: {e.message[:200]}" for e in self.validators[kind].iter_errors(document)]
                    self.expect(not problems, f"{folder}/{file.name}: {problems[:2]}")
        aliases = yaml.safe_load((self.data / "aliases.yaml").read_text())
        self.expect(self.validators["aliases"].is_valid(aliases), "aliases.yaml")

    def written_files(self):
        """What `fabricost calibrate -o` writes, for one machine and for several together, is valid too."""
        folder = pathlib.Path(self.folder.name) / "written"
        folder.mkdir()
        log = str(self.data / "measurements" / "dgx-h100-all-reduce.txt")
        table = folder / "points.csv"
        head = "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes\n"
        rows = [
            ("dgx-a100", 1, 8, "all_gather", 2048, 16),
            ("l40s-pcie", 1, 2, "all_reduce", 4096, 8),
            ("aws-p5", 2, 8, "all_reduce", 1 << 28, 2300),
        ]
        lines = [f"x,{system},{nodes},{gpus},{op},half,{size},{time},,nccl,,,,\n" for system, nodes, gpus, op, size, time in rows]
        table.write_text(head + "".join(lines))
        alone = ["--system", "dgx-h100", "--from", log, "-o", str(folder / "mine.yaml")]
        for arguments in (alone, ["--from", str(table), "-o", str(folder)]):
            run = subprocess.run([self.command, "calibrate", *arguments], capture_output=True, text=True, timeout=60)
            self.expect(run.returncode == 0, f"calibrate {arguments} ends with {run.returncode}: {run.stderr}")
        files = sorted(folder.glob("*.yaml"))
        self.expect(len(files) == 4, f"calibrate wrote {[file.name for file in files]}")
        for file in files:
            found = self.validators["calibration"].iter_errors(plain(file.read_text()))
            problems = [f"{list(e.absolute_path)}: {e.message[:200]}" for e in found]
            self.expect(not problems, f"calibrate -o {file.name}: {problems[:2]}")

    def broken_documents(self):
        for kind, text in GOOD.items():
            document = plain(text)
            self.expect(self.validators[schema_of(kind)].is_valid(document), f"{kind}: the schema refuses a good document")
            self.expect(self.loader_says(kind, document) == "", f"{kind}: the loader refuses a good document: {self.loader_says(kind, document)}")
        for kind, place, value in BROKEN:
            document = plain(GOOD[kind])
            at = document
            for step in place[:-1]:
                at = at[step]
            if value is REMOVE:
                del at[place[-1]]
            else:
                at[place[-1]] = copy.deepcopy(value)
            what = f"{kind} {place} = {'(left out)' if value is REMOVE else value}"
            self.expect(not self.validators[schema_of(kind)].is_valid(document), f"{what}: the schema takes it")
            self.expect(self.loader_says(kind, document) != "", f"{what}: the loader takes it")

    def resolved(self, schema, kind):
        """A subschema with its $ref followed."""
        reference = schema.get("$ref", "")
        if reference.startswith("common.schema.json#/$defs/"):
            return self.common[reference.rsplit("/", 1)[1]]
        if reference.startswith("#/$defs/"):
            return self.schemas[schema_of(kind)]["$defs"][reference.rsplit("/", 1)[1]]
        return schema

    def keys(self):
        for kind in KINDS:
            if kind != "calibration":
                self.keys_of_map(kind, [], self.schemas[kind]["properties"])
        schema = self.schemas["calibration"]
        for part in CALIBRATIONS:
            self.keys_of_map("calibration." + part, [], schema["properties"])
            for place, definition in ((["constants"], part), (["intervals"], part + "_intervals")):
                self.keys_of_map("calibration." + part, place, schema["$defs"][definition]["properties"])
        self.keys_of_map("calibration.parts", ["parts", 0], schema["$defs"]["part"]["properties"])

    def bounds(self):
        """The ends of every number's range in the schema are the loader's, and quantities need their units in both."""
        schema = self.schemas["calibration"]
        for part in CALIBRATIONS:
            for where, definition in (("constants", part), ("intervals", part + "_intervals")):
                for key, constant in schema["$defs"][definition]["properties"].items():
                    inner = constant.get("properties", {None: constant})
                    for name, one in inner.items():
                        self.bounds_of("calibration." + part, [where, key] + ([name] if name else []), self.resolved_width(one))

    def resolved_width(self, one):
        return self.schemas["calibration"]["$defs"]["width"] if one.get("$ref") == "#/$defs/width" else one

    def bounds_of(self, kind, place, one):
        if place[-1] in ("source", "confidence"):
            return
        tries = [(5, False)]  # a quantity without its unit
        if "minimum" in one:
            least, most = one["minimum"], one["maximum"]
            tries = [(least, True), (most, True), (least - 0.0001, False), (most * 1.01, False)]
        for value, fine in tries:
            document = plain(GOOD[kind])
            at = document
            for step in place[:-1]:
                at = at.setdefault(step, {})
            at[place[-1]] = value
            what = f"{kind} {'.'.join(place)} = {value}"
            said = self.loader_says(kind, document)
            does = "refuses" if fine else "takes"
            self.expect(self.validators["calibration"].is_valid(document) == fine, f"{what}: the schema {does} it")
            self.expect((said == "") == fine, f"{what}: the loader {does} it: {said}")

    def keys_of_map(self, kind, place, properties):
        """The loader must know exactly these keys in the map at `place`, and refuse a wrong type in each."""
        document = plain(GOOD[kind])
        at = document
        for step in place:
            at = at.setdefault(step, {}) if isinstance(at, dict) else at[step]
        path = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in place).lstrip(".")
        at["qqqqqqqqqqqqqqqq"] = 1
        said = self.loader_says(kind, document)
        unknown = f"{path}.qqqqqqqqqqqqqqqq".lstrip(".")
        self.expect(f": {unknown}: unknown key" in said, f"{kind} {unknown}: the loader takes a key that nobody knows: {said}")
        known = re.search(re.escape(unknown) + r": unknown key.*?known here: ([a-z0-9_ ]+)", said, re.S)
        self.expect(known is not None, f"{kind} {path}: the loader does not list its keys: {said}")
        if known:
            loader = set(known.group(1).split())
            self.expect(loader == set(properties), f"{kind} {path or 'top'}: only the loader has {sorted(loader - set(properties))}, only the schema {sorted(set(properties) - loader)}")
        for key, schema in properties.items():
            document = plain(GOOD[kind])
            at = document
            for step in place:
                at = at.setdefault(step, {}) if isinstance(at, dict) else at[step]
            schema = self.resolved(schema, kind)
            collection = schema.get("type") in ("array", "object")
            at[key] = "wrong" if collection else [["wrong"]]
            said = self.loader_says(kind, document)
            here = f"{path}.{key}".lstrip(".")
            self.expect(f": {here}: " in said, f"{kind} {here}: the loader does not mind a wrong type: {said}")
            self.expect(f": {here}: unknown key" not in said, f"{kind} {here}: the schema has it, the loader does not")
            if schema.get("type") == "object" and "properties" in schema:
                self.keys_of_map(kind, place + [key], schema["properties"])
            elif schema.get("type") == "array" and schema["items"].get("$ref") == "#/$defs/tier":
                self.keys_of_map(kind, place + [key, 0], self.schemas[schema_of(kind)]["$defs"]["tier"]["properties"])
            for choice in schema.get("oneOf", []):
                if choice.get("type") == "object" and key in ("memory", "lanes", "ports", "endpoints"):
                    at[key] = {"value": plain(GOOD[kind])[key] if not place else 8}
                    self.value_map(kind, document, at[key], here, choice["properties"])

    def value_map(self, kind, document, value, path, properties):
        """A number with its origin: the same three keys everywhere."""
        value["qqqqqqqqqqqqqqqq"] = 1
        said = self.loader_says(kind, document)
        known = re.search(r"unknown key.*?known here: ([a-z ]+)", said, re.S)
        self.expect(known is not None and set(known.group(1).split()) == set(properties), f"{kind} {path}: {said}")


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 1
    command = sys.argv[1]
    data = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).resolve().parents[2] / "data"
    if not pathlib.Path(command).is_file():
        print(f"skipped: there is no command {command}")
        return 77
    checker = Checker(str(pathlib.Path(command).resolve()), data)
    checker.shipped_files()
    checker.written_files()
    checker.broken_documents()
    checker.keys()
    checker.bounds()
    print(f"{checker.checked} checks, {checker.faults} faults")
    return 1 if checker.faults else 0


if __name__ == "__main__":
    sys.exit(main())
