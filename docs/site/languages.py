"""Colours of code on the site: what language an indented block is written in, which Markdown does not say."""
import re

SHELL = (r"fabricost|pip|python3?|cmake|ctest|apt|apt-get|git|mpirun|srun|torchrun|docker|podman|conan|vcpkg|jupyter|export|"
         r"nvidia-smi|kubectl|c\+\+ |\./\w+|(?:build|packaging|bindings|examples)/\w+|[A-Z_]+=\S+ \w+")
PYTHON = re.compile(r"^(?:from [\w.]+ import|import [\w.]+)|\b(?:fc|plot|np|plt)\.\w+[(\[.)]|^\w+ = \w+\.\w+\(", re.MULTILINE)
CPP = re.compile(r"^\s*#include|^\s*using namespace|\bstd::\w|^\s*(?:const|constexpr|template|struct) .*[;{>]", re.MULTILINE)
CMAKE = re.compile(r"^(?:find_package|target_link_libraries|add_subdirectory|FetchContent_\w+)\(", re.MULTILINE)
YAML_LINE = re.compile(r"\s*(?:- )?[\w.'\"-]+:(?: .*)?$|\s*#.*$|\s*- .*$")


def of(text):
    """The name of the block's language for Pygments; "none" for tables, diagrams and output."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return "none"
    if lines[0].startswith("$ "):
        return "console"
    if lines[0].startswith(">>> "):
        return "pycon"
    for language, sign in (("cmake", CMAKE), ("cpp", CPP), ("python", PYTHON)):
        if sign.search(text):
            return language
    if all(YAML_LINE.match(line) for line in lines) and any(":" in line for line in lines):
        return "yaml"
    return "bash" if re.match(rf"(?:{SHELL})", lines[0]) else "none"


def connect(app):
    from docutils import nodes

    def name(_app, doctree):
        for block in doctree.findall(nodes.literal_block):
            if block.get("language", "none") in ("none", "default"):
                block["language"], block["force"] = of(block.astext()), True  # force: no warning where a lexer stumbles

    app.connect("doctree-read", name)
