"""The C++ reference: headers by folder with the comments that open them and all that they declare for users, read from the sources."""
import importlib.util
import pathlib
import re
import sys

import cpp_declarations


def components(root):
    """The components and their folders in order, as the layer test knows them: {component: {folder: what it holds}}."""
    spec = importlib.util.spec_from_file_location("check_layers", pathlib.Path(root) / "tests" / "structure" / "layers" / "check_layers.py")
    layers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(layers)
    return layers.COMPONENTS


def prose(lines):
    """Lines of comments as Markdown: nothing is markup except `code`; what is indented is a block."""
    out, block = [], []

    def flush():
        if block:
            indent = min(len(line) - len(line.lstrip()) for line in block if line.strip())
            out.extend(["", "```text", *(line[indent:] for line in block), "```", ""])
            block.clear()
    for line in lines:
        if line.startswith("  ") and line.strip() and not (out and re.match(r"- ", out[-1])):
            block.append(line)
        elif not line.strip() and block:
            block.append("")
        else:
            while block and not block[-1].strip():
                block.pop()
            flush()
            out.append(escaped(line.strip()))
    while block and not block[-1].strip():
        block.pop()
    flush()
    return "\n".join(out)


def escaped(text):
    pieces = re.split(r"(`[^`]+`)", text)  # every second one is code
    return "".join(p if i % 2 else re.sub(r"([\\*_<>\[\]|$#~`{}])", r"\\\1", p) for i, p in enumerate(pieces))


def file_comment(text):
    """The comment that opens a header, after what refuses a compiler; empty when there is none."""
    match = re.match(r"(?:#(?:pragma once|if|error|endif).*\n)*((?:///.*\n)*)", text)
    return [line[3:].removeprefix(" ") for line in match[1].splitlines()] if match else []


def described(comment):
    """A comment as Markdown: \\param and \\throws begin sentences of their own."""
    lines = []
    for line in comment:
        pieces = re.split(r"\\(param|throws|returns?) ?", line)
        lines.append(pieces[0])
        for word, text in zip(pieces[1::2], pieces[2::2]):
            if word == "param":
                name, _, rest = text.partition(" ")
                lines += ["", f"`{name}`: {rest}"]
            else:
                lines += ["", f"{'Throws' if word == 'throws' else 'Returns'} {text}"]
    return prose(lines).strip()


def shown(declaration):
    """A declaration as Markdown; what the fields of a request or an answer mean says their table."""
    after = f"  // {declaration.after}" if declaration.after else ""
    table = re.search(r"\b(?:Request|Answer)Table<\w+> fields\(\)", declaration.text)
    return (f"```cpp\n{declaration.text};{after}\n```\n\n" + (f"{described(declaration.comment)}\n" if declaration.comment else "")
            + ("What each field means: [fields](../fields.md).\n" if table else ""))


def folders(root):
    """{folder: title} of the public headers, in the order in which they build on each other."""
    return {"": "Words"} | {f"{prefix}{folder}": f"{prefix.replace('/', ': ')}{folder}".capitalize()
                            for component, all_of_it in components(root).items()
                            for prefix in ["" if component == "core" else f"{component}/"] for folder in all_of_it if folder != "."}


def headers(root, folder):
    """The headers of a folder; bodies (-inl.hpp) declare nothing for users."""
    every = (pathlib.Path(root) / "include/fabricost" / folder).glob("**/*.hpp" if folder else "*.hpp")
    return sorted(one for one in every if not one.name.endswith("-inl.hpp"))


def public(text):
    """The names that a header of core puts into namespace fabricost, in its last block; None for headers of other components."""
    if not re.search(r"(?m)^namespace fabricost(::core(::\w+)?)? \{", text):
        return None
    block = re.search(r"(?m)^namespace fabricost \{\n((?:(?:using|namespace) .*\n)+)\}", text)
    return set(re.findall(r"(?:core|plan)::(\w+);", block[1])) if block else set()


def for_users(text):
    """The declarations of a header that are for users: of core those that are named in namespace fabricost."""
    only = public(text)
    return [one for one in cpp_declarations.declared(text) if only is None or one.name in only]


def held_by_answers(base):
    """Of plan: the types of requests and answers and those that they hold."""
    found = [(header, one) for header in base.rglob("plan/**/*.hpp") if not header.name.endswith("-inl.hpp")
             for one in cpp_declarations.declared(header.read_text(encoding="utf-8")) if one.kind in ("struct", "class", "enum", "alias")]
    text = {one.name: re.sub(r"//.*", "", one.text) for _, one in found}
    todo = [one.name for header, one in found if "plan/answers/" in header.as_posix()]
    out = set()
    while todo:
        if (name := todo.pop()) not in out:
            out.add(name)
            todo += [word for word in re.findall(r"\b[A-Z]\w+", text[name]) if word in text]
    return out | {"answer"}


def names(root):
    """The public names: the text of docs/reference/cpp-names.txt, a line for each header that has some."""
    base = pathlib.Path(root) / "include/fabricost"
    of_plan = held_by_answers(base)
    out = []
    for header in sorted((one for one in base.rglob("*.hpp") if not one.name.endswith("-inl.hpp")),
                         key=lambda one: one.relative_to(base).as_posix()):
        text = header.read_text(encoding="utf-8")
        only = public(text)
        found = sorted({one.name for one in cpp_declarations.declared(text)} if only is None else only)
        if header.relative_to(base).parts[0] == "plan":
            found = [name for name in found if name in of_plan]
        if found:
            out.append(f"{header.relative_to(base).as_posix()}: {' '.join(found)}\n")
    return "".join(out)


def pages(root):
    """{file name: Markdown}, one page a folder."""
    base = pathlib.Path(root) / "include/fabricost"
    out = {}
    for folder, title in folders(root).items():
        page = [f"# {title}\n", f"`include/fabricost/{folder + '/' if folder else ''}`\n"]
        for header in headers(root, folder):
            text = header.read_text(encoding="utf-8")
            page += [f"## {header.name}\n", f"`#include <fabricost/{header.relative_to(base)}>`\n", prose(file_comment(text)) + "\n"]
            page += [shown(one) for one in for_users(text)]
        if len(page) > 2:
            out[folder.replace("/", "-") or "words"] = "\n".join(page)
    return out


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("reference_cpp.py --write      lists the public names in docs/reference/cpp-names.txt")
    here = pathlib.Path(__file__).resolve().parents[2]
    (here / "docs/reference/cpp-names.txt").write_text(names(here), encoding="utf-8")
