"""Bounds of a calibration's constants: schema and loader both take the bound and refuse what lies beyond it."""
from schema_documents import CALIBRATIONS, GOOD, plain


def bounds(checker):
    """The ends of every number's range in the schema are the loader's, and quantities need their units in both."""
    schema = checker.schemas["calibration"]
    for part in CALIBRATIONS:
        for where, definition in (("constants", part), ("intervals", part + "_intervals")):
            for key, constant in schema["$defs"][definition]["properties"].items():
                inner = constant.get("properties", {None: constant})
                for name, one in inner.items():
                    bounds_of(checker, "calibration." + part, [where, key] + ([name] if name else []), resolved_width(checker, one))


def resolved_width(checker, one):
    return checker.schemas["calibration"]["$defs"]["width"] if one.get("$ref") == "#/$defs/width" else one


def bounds_of(checker, kind, place, one):
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
        said = checker.loader_says(kind, document)
        does = "refuses" if fine else "takes"
        checker.expect(checker.validators["calibration"].is_valid(document) == fine, f"{what}: the schema {does} it")
        checker.expect((said == "") == fine, f"{what}: the loader {does} it: {said}")
