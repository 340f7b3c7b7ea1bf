"""Keys: in every map of the format the schema has those the loader lists when it meets an unknown one, and a wrong type is refused."""
import re

from schema_documents import CALIBRATIONS, GOOD, KINDS, plain, schema_of


def resolved(checker, schema, kind):
    """A subschema with its $ref followed."""
    reference = schema.get("$ref", "")
    if reference.startswith("common.schema.json#/$defs/"):
        return checker.common[reference.rsplit("/", 1)[1]]
    if reference.startswith("calibration.schema.json#/$defs/") or (kind == "transport" and reference.startswith("#/$defs/")):
        return checker.schemas["calibration"]["$defs"][reference.rsplit("/", 1)[1]]
    if reference.startswith("#/$defs/"):
        return checker.schemas[schema_of(kind)]["$defs"][reference.rsplit("/", 1)[1]]
    return schema


def keys(checker):
    for kind in KINDS:
        if kind != "calibration":
            keys_of_map(checker, kind, [], checker.schemas[kind]["properties"])
    schema = checker.schemas["calibration"]
    for part in CALIBRATIONS:
        keys_of_map(checker, "calibration." + part, [], schema["properties"])
        for place, definition in ((["constants"], part), (["intervals"], part + "_intervals")):
            keys_of_map(checker, "calibration." + part, place, schema["$defs"][definition]["properties"])
    keys_of_map(checker, "calibration.parts", ["parts", 0], schema["$defs"]["part"]["properties"])


def keys_of_map(checker, kind, place, properties):
    """The loader must know exactly these keys in the map at `place`, and refuse a wrong type in each."""
    document = plain(GOOD[kind])
    at = document
    for step in place:
        at = at.setdefault(step, {}) if isinstance(at, dict) else at[step]
    path = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in place).lstrip(".")
    at["qqqqqqqqqqqqqqqq"] = 1
    said = checker.loader_says(kind, document)
    unknown = f"{path}.qqqqqqqqqqqqqqqq".lstrip(".")
    checker.expect(f": {unknown}: unknown key" in said, f"{kind} {unknown}: the loader takes a key that nobody knows: {said}")
    known = re.search(re.escape(unknown) + r": unknown key.*?known here: ([a-z0-9_ ]+)", said, re.S)
    checker.expect(known is not None, f"{kind} {path}: the loader does not list its keys: {said}")
    if known:
        loader = set(known.group(1).split())
        checker.expect(loader == set(properties), f"{kind} {path or 'top'}: only the loader has {sorted(loader - set(properties))}, "
                                                  f"only the schema {sorted(set(properties) - loader)}")
    for key, schema in properties.items():
        document = plain(GOOD[kind])
        at = document
        for step in place:
            at = at.setdefault(step, {}) if isinstance(at, dict) else at[step]
        schema = resolved(checker, schema, kind)
        collection = schema.get("type") in ("array", "object")
        at[key] = "wrong" if collection else [["wrong"]]
        said = checker.loader_says(kind, document)
        here = f"{path}.{key}".lstrip(".")
        checker.expect(f": {here}: " in said, f"{kind} {here}: the loader does not mind a wrong type: {said}")
        checker.expect(f": {here}: unknown key" not in said, f"{kind} {here}: the schema has it, the loader does not")
        if schema.get("type") == "object" and "properties" in schema:
            keys_of_map(checker, kind, place + [key], schema["properties"])
        elif schema.get("type") == "array" and schema["items"].get("$ref") == "#/$defs/tier":
            keys_of_map(checker, kind, place + [key, 0], checker.schemas[schema_of(kind)]["$defs"]["tier"]["properties"])
        for choice in schema.get("oneOf", []):
            if choice.get("type") == "object" and key in ("memory", "lanes", "ports", "endpoints"):
                at[key] = {"value": plain(GOOD[kind])[key] if not place else 8}
                value_map(checker, kind, document, at[key], here, choice["properties"])


def value_map(checker, kind, document, value, path, properties):
    """A number with its origin: the same three keys everywhere."""
    value["qqqqqqqqqqqqqqqq"] = 1
    said = checker.loader_says(kind, document)
    known = re.search(r"unknown key.*?known here: ([a-z ]+)", said, re.S)
    checker.expect(known is not None and set(known.group(1).split()) == set(properties), f"{kind} {path}: {said}")
