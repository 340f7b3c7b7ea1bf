"""One way to ask both sides about a document, the schema of its kind and the loader behind the command, and to count what is wrong."""
import json
import os
import pathlib
import subprocess
import tempfile

import jsonschema
import yaml
from schema_documents import GOOD, plain


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
        named = {f"{kind}.schema.json": schema for kind, schema in self.schemas.items()}
        self.validators = {kind: self.validator(schema, named) for kind, schema in self.schemas.items()}

    @staticmethod
    def validator(schema, named):
        jsonschema.Draft202012Validator.check_schema(schema)
        try:
            import referencing

            resources = [(name, referencing.Resource.from_contents(one)) for name, one in named.items()]
            return jsonschema.Draft202012Validator(schema, registry=referencing.Registry().with_resources(resources))
        except ImportError:  # jsonschema before 4.18
            resolver = jsonschema.RefResolver("", schema, store=named)
            return jsonschema.Draft202012Validator(schema, resolver=resolver)

    def expect(self, fine, what):
        self.checked += 1
        if not fine:
            self.faults += 1
            print("FAULT", what)

    def loader_says(self, kind, document):
        """The command's message about a document (empty: it loads). A system beside them names parts."""
        folder = pathlib.Path(self.folder.name)
        file = folder / f"{kind}.yaml"
        file.write_text(yaml.safe_dump(document, sort_keys=False))
        if kind.startswith("calibration"):
            command = [self.command, "predict", "all_gather", "--system", "dgx-h100", "--size", "1MiB", "--calibration", str(file)]
            return self.said(kind, command)
        if kind == "model":
            return self.said(kind, [self.command, "models", str(file)])
        if kind == "diagnosis":
            log = self.data / "measurements" / "dgx-h100-all-reduce.txt"
            return self.said(kind, [self.command, "diagnose", str(log)], FABRICOST_DATA=str(self.data_with(file)))
        if kind != "system":
            system = plain(GOOD["system"])
            if kind == "gpu":
                system["gpu"] = "./gpu.yaml"
            else:
                system["tiers"][1 if kind == "transport" else 0][kind] = f"./{kind}.yaml"
            file = folder / "around.yaml"
            file.write_text(yaml.safe_dump(system, sort_keys=False))
        return self.said(kind, [self.command, "show", str(file)])

    def data_with(self, rules):
        """The data folder with one more file of rules of diagnosis."""
        folder = rules.parent / "data"
        if not folder.exists():
            (folder / "diagnosis").mkdir(parents=True)
            for file in [*self.data.iterdir(), *(self.data / "diagnosis").iterdir()]:
                place = folder / file.relative_to(self.data)
                if not place.exists():
                    place.symlink_to(file.resolve())
            (folder / "diagnosis" / rules.name).symlink_to(rules)
        return folder

    def said(self, kind, command, **environment):
        run = subprocess.run(command, capture_output=True, text=True, timeout=20, env=os.environ | environment)
        if run.returncode not in (0, 2):
            self.expect(False, f"{kind}: the command ends with {run.returncode}: {run.stderr}")
        return run.stderr + run.stdout if run.returncode else ""
