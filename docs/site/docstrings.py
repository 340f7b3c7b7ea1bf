"""Docstrings of the package are plain text that reads well in help(); here they become reStructuredText.

A paragraph stays a paragraph with nothing in it taken for markup except `code`; lines `name: what it is` become a list of
fields; `>>>` examples and indented lines stay as they are. So no docstring can break the site.
"""
import re

_FIELD = re.compile(r"^(\*{0,2}[a-z_]\w*(?:, \*{0,2}[a-z_]\w*)*): (\S.*)$")  # "Columns: a, b" is prose
_CODE = re.compile(r"``([^`]+)``|`([^`]+)`")


def _words(text):
    return re.sub(r"([\\*_|`<>])", r"\\\1", text)


def inline(text):
    """Text with `code` in it as reStructuredText."""
    out, end = [], 0
    for match in _CODE.finditer(text):
        before, code = _words(text[end:match.start()]), (match[1] or match[2]).strip().replace("\\", "\\\\")
        glue = r"\ " if before and not before[-1].isspace() else ""
        out += [before, f"{glue}``{code}``"]
        end = match.end()
        if end < len(text) and not text[end].isspace():
            out.append(r"\ ")
    return "".join(out) + _words(text[end:])


def _text(text):
    """One line of prose that nothing at its beginning or end turns into a list, a title or a block."""
    text = re.sub(r"::$", r":\\:", inline(text))
    text = re.sub(r"^(\(?\w+)([.)])(?=\s)", r"\1\\\2", text)
    return "\\" + text if re.match(r"[^\w\s\\`(]", text) else text


def _paragraph(lines):
    first = lines[0]
    if first == "Parameters" and len(lines) > 1 and set(lines[1]) == {"-"}:  # numpydoc: "name : type, default", its words indented below
        out = []
        for line in lines[2:]:
            name, kind = line.partition(" : ")[::2]
            kind = f" ({inline(kind)})" if kind else ""
            out.append("  " + inline(line.strip()) if line.startswith(" ") else f"* ``{name}``{kind}:")
        return [*out, ""]
    if first.startswith(">>>"):
        return [*lines, ""]
    if all(line.startswith("  ") for line in lines):  # a formula, a table
        return ["::", "", *("    " + line.strip("\n") for line in lines), ""]
    if re.match(r"[-*] ", first):
        out = []
        for line in lines:
            bullet = re.match(r"[-*] (.*)", line)
            out.append("* " + inline(bullet[1]) if bullet else "  " + inline(line.strip()))
        return [*out, ""]
    out, in_fields, prose = [], False, []
    for line in [*lines, ""]:
        field = _FIELD.match(line)
        if prose and (field or not line):
            out += [_text(" ".join(prose)), ""]
            prose = []
        if field:
            names = ", ".join(f"``{name}``" for name in field[1].split(", "))
            out.append(f"* {names}: {inline(field[2])}")
            in_fields = True
        elif in_fields and line.startswith(" "):
            out.append("  " + inline(line.strip()))
        elif line:
            if in_fields:
                out.append("")
                in_fields = False
            prose.append(line.strip())
    return [*out, ""]


def restructured(lines):
    """Lines of a docstring as lines of reStructuredText."""
    out, paragraph = [], []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line.rstrip())
        elif paragraph:
            # prose that leads into indented lines: two blocks
            indented = next((i for i, one in enumerate(paragraph) if i and one.startswith("  ") and not paragraph[0].startswith(" ")), None)
            if indented and not any(_FIELD.match(one) or re.match(r"[-*>]", one) for one in paragraph):
                out += _paragraph(paragraph[:indented]) + _paragraph_rest(paragraph[indented:])
            else:
                out += _paragraph(paragraph)
            paragraph = []
    return out


def _paragraph_rest(lines):
    """The rest of a paragraph after its prose: indented lines as a block, other lines as prose again."""
    cut = next((i for i, one in enumerate(lines) if not one.startswith("  ")), len(lines))
    rest = lines[cut:]
    return _paragraph(lines[:cut]) + (_paragraph(rest) if rest else [])


def connect(app):
    def convert(app, what, name, obj, options, lines):
        lines[:] = restructured(list(lines))
    app.connect("autodoc-process-docstring", convert)
