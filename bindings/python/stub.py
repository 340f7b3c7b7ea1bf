#!/usr/bin/env python3
"""Writes the stub of the compiled module: what people wrote of it, and what its tables of fields tell.

    stub.py MODULE HAND STUB    MODULE: the built _core; HAND: _core.pyi.in; STUB: the file to write

Properties, arguments and answers of functions come from the tables, as the module tells them (`__annotations__`, `_types`), members that
many classes have from COMMON. HAND has the rest: functions without a table and other members of classes. There
`Literal["function.argument"]` stands for the names that the table of that argument lists, `others: Literal["function"]` for the arguments
of that function that are not written, and `B = A` of two classes for B with the members that A has. Docstrings are the module's. The build
runs this.
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
    "__copy__": "def __copy__(self) -> Self: ...", "__deepcopy__": "def __deepcopy__(self, memo: dict[int, Any]) -> Self: ...",
    "__getstate__": "def __getstate__(self) -> object: ...", "__setstate__": "def __setstate__(self, state: Any, /) -> None: ...",
    "__len__": "def __len__(self) -> int: ...", "to_dict": "def to_dict(self) -> dict[str, Any]: ...",
    "to_pandas": "def to_pandas(self) -> pd.DataFrame: ...", "to_yaml": "def to_yaml(self) -> str: ...",
    "explain": "def explain(self) -> str: ...", "save": "def save(self, path: _Path) -> None: ...",
}
SEQUENCE = """    @overload
    def __getitem__(self, place: SupportsIndex) -> {0}: ...
    @overload
    def __getitem__(self, slice: slice) -> list[{0}]: ...
    def __iter__(self) -> Iterator[{0}]: ..."""


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


def class_text(kind, head, by_hand):
    """`head`: how it begins, of people's; `by_hand`: texts of members, by name; they come before those of COMMON."""
    name, base = kind.__name__, "" if kind.__base__.__name__ == "pybind11_object" else f"({kind.__base__.__name__})"
    typed = {member: text for member, text in vars(kind).get("__annotations__", {}).items() if member not in by_hand}
    row = typed.pop("__getitem__", None)
    lines = [documented(f"{head or f'class {name}{base}'}: ...", kind).removesuffix(" ...")]
    lines += [documented(f"    @property\n    def {member}(self) -> {text}: ...", getattr(kind, member)) for member, text in typed.items()]
    lines += [SEQUENCE.format(row)] if row else []
    for member, texts in by_hand.items():
        lines += [documented(text, described(kind, member)) for text in texts]
    lines += [documented(f"    {text}", described(kind, member)) for member, text in COMMON.items()
              if vars(kind).get(member) and member not in by_hand]
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


def argument_text(one, typed):
    default = "" if one.default is one.empty else f" = {one.default!r}".replace("'", '"')
    given = typed[one.name]
    if QUANTITY.search(one.name):
        given = re.sub(r"^float\b(?! \| str)", "float | str", given)
    return f"{one.name}: {given}{default}"


def function_text(name, function, typed):
    arguments, starred = [], False
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            arguments.append("*")
            starred = True
        arguments.append(argument_text(one, typed))
    first, *others = typed["return"].split(" | ")
    given = first if not others else f"{first} | None" if others == ["None"] else f"{first} | Any"  # nobody should have to ask which
    line = f"def {name}({', '.join(arguments)}) -> {given}: ..."
    if len(line) > WIDE:
        line = f"def {name}(\n" + "".join(f"    {one},\n" for one in arguments) + f") -> {given}: ..."
    return documented(line, function)


def others_written(hand, module, types):
    """`others: Literal["function"]` as the arguments of that function that stand for themselves nowhere before it."""
    def arguments(match):
        thing = getattr(module, match[1])
        parameters = inspect.signature(thing.__init__ if inspect.isclass(thing) else thing).parameters.values()
        before = hand[hand.rfind("def ", 0, match.start()):match.start()]
        return ", ".join(argument_text(one, types[match[1]]) for one in parameters
                         if one.name in types[match[1]] and not re.search(rf"\b{one.name}: ", before))
    return re.sub(r'others: Literal\["(\w+)"\]', arguments, hand)


def first_line(node):
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])


def text_of(node, lines):
    return "\n".join(lines[first_line(node) - 1:node.end_lineno])


def statement_text(node, lines, thing):
    text = text_of(node, lines)
    if isinstance(node, ast.ClassDef) and "\n" in text:  # an exception with attributes
        head, attributes = text.split("\n", 1)
        return documented(f"{head} ...", thing) + "\n" + attributes
    return documented(text, thing)


def members_of(node, lines):
    out = {}
    for member in node.body:
        if not isinstance(member, ast.Expr):
            out.setdefault(member.name if isinstance(member, ast.FunctionDef) else member.targets[0].id, []).append(text_of(member, lines))
    return out


def written(module, hand):
    hand, aliases = lists_named(hand, module._types)
    types = {name: {one: with_aliases(text, aliases) for one, text in typed.items()} for name, typed in module._types.items()}
    lines = others_written(hand, module, types).splitlines()
    classes = {name: kind for name, kind in vars(module).items() if type(kind).__name__ == "pybind11_type" and kind.__name__ == name}
    out, heads, by_hand, functions, end = [], {}, {}, set(), 0
    for node in ast.parse("\n".join(lines)).body:
        name = getattr(node, "name", "")
        if isinstance(node, ast.ClassDef) and name in classes:
            heads[name] = lines[node.lineno - 1].split(":")[0] if node.bases else ""
            by_hand[name] = members_of(node, lines)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in by_hand:
            like = node.value.id
            for other in [target.id for target in node.targets]:
                heads[other] = heads[like].replace(like, other)
                by_hand[other] = {member: [text.replace(like, other) for text in texts] for member, texts in by_hand[like].items()}
        else:
            functions.add(name)
            out += [*lines[end:first_line(node) - 1], statement_text(node, lines, getattr(module, name, None))]
        end = node.end_lineno
    out += [class_text(kind, heads.get(name), by_hand.get(name, {})) for name, kind in classes.items()]
    out += [function_text(name, getattr(module, name), typed) for name, typed in types.items() if name not in functions | {*classes}]
    names = ", ".join(f'"{name}"' for name in module.__all__)
    return "\n".join([*out, f"__all__ = [{names}]"]) + "\n"


def main(module, hand, stub):
    text = written(loaded(module), pathlib.Path(hand).read_text(encoding="utf-8"))
    pathlib.Path(stub).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
