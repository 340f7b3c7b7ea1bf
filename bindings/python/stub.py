#!/usr/bin/env python3
"""Writes the stub of the compiled module: what people wrote of it, and what its tables of fields tell.

    stub.py MODULE HAND STUB    MODULE: the built _core; HAND: _core.pyi.in; STUB: the file to write

Properties of records, arguments and answers of functions come from the tables, as the module tells them (`__annotations__`, `_types`).
HAND has the rest: classes and functions without a table, and of a class with one the members that are no fields. There
`Literal["function.argument"]` stands for the names that the table of that argument lists. Docstrings are the module's. The build runs this.
"""
import ast
import importlib.machinery
import importlib.util
import inspect
import pathlib
import re
import sys

WIDE = 120
COMMON = {  # members of many classes
    "__eq__": "def __eq__(self, other: object) -> bool: ...", "__hash__": "def __hash__(self) -> int: ...",
    "__getstate__": "def __getstate__(self) -> object: ...", "__setstate__": "def __setstate__(self, state: Any, /) -> None: ...",
    "__len__": "def __len__(self) -> int: ...", "to_dict": "def to_dict(self) -> dict[str, Any]: ...",
    "to_pandas": "def to_pandas(self) -> pd.DataFrame: ...", "to_yaml": "def to_yaml(self) -> str: ...",
}


def loaded(path):
    loader = importlib.machinery.ExtensionFileLoader("_core", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("_core", loader))
    loader.exec_module(module)
    return module


def documented(text, thing):
    """A definition that ends in `: ...`, with the docstring of what it defines; as it is where there is none."""
    words = inspect.cleandoc(getattr(thing, "__doc__", None) or "").replace("\\", "\\\\").replace(3 * '"', 3 * "'")
    if not words or not text.endswith(": ..."):
        return text
    indent = " " * (len(text) - len(text.lstrip()) + 4)
    words = "\n".join((indent + line).rstrip() for line in f'"""{words}"""'.splitlines())
    return f"{text[:-4]}\n{words}"


def described(kind, member):
    """A member that has a docstring of its own; Python's own of `__eq__` and the like say nothing."""
    return None if member.startswith("__") else getattr(kind, member, None)


def class_text(name, kind, by_hand):
    """`by_hand`: texts of members, by name; they come before those of COMMON."""
    base = "" if kind.__base__.__name__ == "pybind11_object" else f"({kind.__base__.__name__})"
    typed = {member: text for member, text in kind.__annotations__.items() if member not in by_hand}
    lines = [documented(f"class {name}{base}: ...", kind).removesuffix(" ...")]
    lines += [documented(f"    @property\n    def {member}(self) -> {text}: ...", getattr(kind, member)) for member, text in typed.items()]
    for member, texts in by_hand.items():
        lines += [documented(text, described(kind, member)) for text in texts]
    lines += [f"    {text}" for member, text in COMMON.items() if member in vars(kind) and vars(kind)[member] and member not in by_hand]
    return "\n".join(lines)


def lists_named(text, types):
    """`Literal["function.argument"]` as the names of that argument, and {those names: the alias that is made of them}."""
    aliases = {}

    def names(match):
        found = re.search(r"Literal\[[^\]]*\]", types[match[1]][match[2]])[0]
        line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        aliases[found] = line.split(":")[0]
        return found
    return re.sub(r'Literal\["(\w+)\.(\w+)"\]', names, text), aliases


def with_aliases(text, aliases):
    for names, alias in aliases.items():
        text = text.replace(names, alias)
    return text


QUANTITY = re.compile(r"^bytes|(bytes|bytes_per_second|seconds|hours|years)$")  # what _given.py reads from a text


def function_text(name, function, typed):
    arguments, starred = [], False
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            arguments.append("*")
            starred = True
        default = "" if one.default is one.empty else f" = {one.default!r}".replace("'", '"')
        given = typed[one.name]
        if QUANTITY.search(one.name):
            given = re.sub(r"^float\b", "float | str", given)
        arguments.append(f"{one.name}: {given}{default}")
    first, *others = typed["return"].split(" | ")
    given = first if not others else f"{first} | None" if others == ["None"] else f"{first} | Any"  # nobody should have to ask which
    line = f"def {name}({', '.join(arguments)}) -> {given}: ..."
    if len(line) > WIDE:
        line = f"def {name}(\n" + "".join(f"    {one},\n" for one in arguments) + f") -> {given}: ..."
    return documented(line, function)


def first_line(node):
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])


def with_docstrings(node, lines, end, module):
    """The lines from `end` to the end of a statement of HAND; definitions with the docstrings of the module."""
    thing, start = getattr(module, getattr(node, "name", ""), None), first_line(node) - 1
    text = "\n".join(lines[start:node.end_lineno])
    if isinstance(node, ast.FunctionDef) or isinstance(node, ast.ClassDef) and node.body[0].lineno == node.lineno:
        return [*lines[end:start], documented(text, thing)]
    if not isinstance(node, ast.ClassDef):
        return lines[end:node.end_lineno]
    at = first_line(node.body[0]) - 1
    head = "\n".join(lines[start:at])
    out = [*lines[end:start], documented(f"{head} ...", thing).removesuffix(" ...")]
    for member in node.body:
        begins = first_line(member) - 1
        text = "\n".join(lines[begins:member.end_lineno])
        out += [*lines[at:begins], documented(text, described(thing, member.name)) if isinstance(member, ast.FunctionDef) else text]
        at = member.end_lineno
    return out


def written(module, hand):
    hand, aliases = lists_named(hand, module._types)
    lines = hand.splitlines()
    classes = {name: thing for name, thing in vars(module).items()
               if inspect.isclass(thing) and thing.__name__ == name and "__annotations__" in vars(thing)}
    out, by_hand, end = [], {name: {} for name in classes}, 0
    for node in ast.parse(hand).body:
        if isinstance(node, ast.ClassDef) and node.name in classes:
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    text = "\n".join(lines[first_line(member) - 1:member.end_lineno])
                    by_hand[node.name].setdefault(member.name, []).append(text)
        else:
            out += with_docstrings(node, lines, end, module)
        end = node.end_lineno
    out += [class_text(name, kind, by_hand[name]) for name, kind in classes.items()]
    for name, typed in module._types.items():
        out.append(function_text(name, getattr(module, name), {one: with_aliases(text, aliases) for one, text in typed.items()}))
    names = ", ".join(f'"{name}"' for name in module.__all__)
    return "\n".join([*out, f"__all__ = [{names}]"]) + "\n"


def main(module, hand, stub):
    text = written(loaded(module), pathlib.Path(hand).read_text(encoding="utf-8"))
    pathlib.Path(stub).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
