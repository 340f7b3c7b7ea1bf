#!/usr/bin/env python3
"""Puts the pages of the site together: those of docs/ that are for users, and the generated references.

    stage.py FABRICOST OUT

Pages are Markdown that GitHub shows too. A page asks for what is generated with a line `<!-- generated: NAME -->`. Programs that print
pages are in the folder bin beside FABRICOST. Notebooks are run, and kept with their outputs in the folder notebooks beside OUT. Links
out of docs/, and to pages for developers, lead to the page that shows the file on the site, or to the repository.
"""
import importlib
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

import causes
import fields
import gallery
import notebooks
import reference_command
import reference_cpp
import reference_python

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/fabricost/fabricost/blob/main"
NOT_SHOWN = ("adr/", "architecture.md", "releasing.md", "how-to/accuracy-from-sources.md")
BELOW = {  # the pages that the sidebar of the site shows below another one; index.md names those of the first level
    "how-to/cluster-operator.md": ("reading-logs", "traces"),
    "how-to/capacity-planner.md": ("share-and-transfer",),
    "how-to/ml-engineer.md": ("training", "reinforcement-learning"),
    "how-to/buyer.md": ("need", "project"),
    "how-to/measure.md": ("reference/measured-files", "reference/probes"),
    "how-to/notebook.md": ("pictures", "notebooks"),
    "how-to/cpp-tool.md": ("units-mistakes",),
    "accuracy.md": ("accuracy-sources", "training-accuracy", "kernels-accuracy", "moe-domains")}
MISTAKES = "tests/structure/compile_fail/cases.txt"  # shown as the page units-mistakes
LONG = re.compile(r"(?m)^ {4}\$ (.{90,})$")
PICTURE = re.compile(r"(?m)^<!-- picture: ([\w-]+) \((.*)\) -->$")
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def is_shown(page):
    return not page.startswith(NOT_SHOWN)


def relinked(text, page, shown_from):
    """Links of a page as the site needs them. page: its place on the site; shown_from: its folder in the repository."""
    def link(match):
        words, target = match[1], match[2]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        at = posixpath.normpath(posixpath.join(shown_from, path))  # from the root of the repository
        if at.startswith("docs/") and at.endswith(".md") and is_shown(at.removeprefix("docs/")):
            site = at.removeprefix("docs/")
        elif re.fullmatch(r"examples/\w+\.cpp", at):
            site, anchor = "reference/examples.md", posixpath.basename(at).replace(".", "")
        elif notebook := re.fullmatch(r"examples/notebooks/(\w+)\.ipynb", at):
            site = f"notebooks/{notebook[1]}.md"
        elif at == MISTAKES:
            site = "units-mistakes.md"
        elif header := re.fullmatch(r"include/fabricost/(?:((?:(?:plan|observe|probes)/)?\w+)/)?(?:\w+/)*(\w+\.hpp)", at):
            site, anchor = f"reference/cpp/{(header[1] or 'words').replace('/', '-')}.md", header[2].replace(".", "")
        elif (ROOT / at).exists():
            return f"[{words}]({REPOSITORY}/{at})"
        else:
            sys.exit(f"{page}: the link to {target} leads nowhere")
        return f"[{words}]({posixpath.relpath(site, posixpath.dirname(page) or '.')}{'#' + anchor if anchor else ''})"
    # links inside code are none
    pieces = re.split(r"(?ms)(^```.*?^```$|^ {4}[^\n]*$|`[^`\n]*`)", text)
    return "".join(piece if i % 2 else LINK.sub(link, piece) for i, piece in enumerate(pieces))


def broken(match):
    """A long command in lines to copy, each but the last ending in a backslash."""
    lines = ["    $"]
    for word in re.findall(r"""(?:"[^"]*"|'[^']*'|\S)+""", match[1]):
        if len(lines[-1]) + len(word) > 88 and word.startswith("-"):
            lines.append("         ")
        lines[-1] += " " + word
    return " \\\n".join(lines)


def with_images(text, page, shown_from, images, drawn):
    """Pictures of the repository go along under images/; `<!-- picture: NAME (WHAT IT SHOWS) -->` asks for one that gallery.py draws."""
    images_of_page = posixpath.relpath("images", posixpath.dirname(page) or ".")

    def picture(match):
        drawn.add(match[1])
        return f"![{match[2]}]({images_of_page}/{match[1]}.png)"

    def image(match):
        if re.match(r"[a-z]+:", match[2]):
            return match[0]
        source = ROOT / posixpath.normpath(posixpath.join(shown_from, match[2]))
        if not source.is_file():
            sys.exit(f"{page}: the picture {match[2]} is not there")
        images[source.name] = source
        return f"![{match[1]}]({images_of_page}/{source.name})"
    return PICTURE.sub(picture, IMAGE.sub(image, text))


def examples():
    out = []
    for path in sorted((ROOT / "examples").glob("*.cpp")):
        out.append(f"## {path.name}\n\n```cpp\n{path.read_text(encoding='utf-8').rstrip()}\n```\n")
    return "\n".join(out)


def printed(program):
    """A page that a program prints, without its title and the sentence that names the program: the page that asks for it has both."""
    page = subprocess.run([program], capture_output=True, text=True, timeout=120, check=True).stdout
    return re.sub(r"\A(?:Written|This page is printed) by [^.]*\.md`[^.]*\.\s+", "", page.partition("\n\n")[2])


def made_here(tool):
    """What the pages of docs/ ask for and what needs no package: {name: function that returns Markdown}."""
    programs = pathlib.Path(tool).resolve().parent / "bin"
    return {"commands": lambda: reference_command.page(tool), "examples": examples, "causes": causes.page,
            "fields": lambda: fields.page(fields.tables(programs / "fields_page")),
            "moe-domains": lambda: printed(programs / "moe_domains")}


def mistakes(path):
    """The page units-mistakes. Compilers write it anew where its cases, units.hpp or the programs that make it changed."""
    folder = (ROOT / MISTAKES).parent
    sources = [ROOT / "include/fabricost/units.hpp", ROOT / MISTAKES, *folder.glob("*.py")]
    if not path.exists() or path.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        done = subprocess.run([sys.executable, folder / "run.py", "--page", path], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"the page of {MISTAKES} was not made:\n{done.stdout}{done.stderr}")
    return path.read_text(encoding="utf-8")


def contents(folder, files):
    return "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(f"{folder}/{file}" for file in files) + "\n```\n"


def below(page):
    """What the sidebar shows below a page."""
    return "".join(["\n```{toctree}\n:hidden:\n\n", *(f"/{one}\n" for one in BELOW[page]), "```\n"]) if page in BELOW else ""


def main(tool, out):
    out = pathlib.Path(out)
    package = importlib.import_module("fabricost")
    python, cpp = reference_python.pages(package), reference_cpp.pages(ROOT)
    generated = made_here(tool) | {"python": lambda: contents("python", python), "headers": lambda: contents("cpp", cpp)}
    staged = {f"reference/python/{file}.rst": text for file, text in python.items()}
    staged |= {f"reference/cpp/{file}.md": text for file, text in cpp.items()}
    (out / "images").mkdir(parents=True, exist_ok=True)

    def kept(name, picture):
        (out / "images" / name).write_bytes(picture)
        return f"../images/{name}"
    lessons = notebooks.pages(out.parent / "notebooks", package, kept)
    generated["notebooks"] = lambda: contents("notebooks", lessons)
    for file, text in lessons.items():
        staged[f"notebooks/{file}.md"] = relinked(text, f"notebooks/{file}.md", "examples/notebooks")
    images, drawn = {}, set()
    for source in sorted((ROOT / "docs").rglob("*.md")):
        page = source.relative_to(ROOT / "docs").as_posix()
        if not is_shown(page):
            continue
        shown_from = posixpath.dirname("docs/" + page)
        text = with_images(relinked(source.read_text(encoding="utf-8"), page, shown_from), page, shown_from, images, drawn)
        text = LONG.sub(broken, text)
        staged[page] = re.sub(r"(?m)^<!-- generated: ([\w-]+) -->$", lambda match: generated[match[1]](), text) + below(page)
    staged["units-mistakes.md"] = mistakes(out.parent / "units-mistakes.md")
    for page, text in staged.items():  # unchanged pages keep their time, so that Sphinx reads only what changed
        path = out / page
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    try:
        gallery.draw(out / "images", drawn)
    except ImportError as missing:
        sys.exit(f"the pictures of the pages: {missing}")
    for name, source in images.items():
        if not (out / "images" / name).exists() or (out / "images" / name).read_bytes() != source.read_bytes():
            shutil.copyfile(source, out / "images" / name)
    for path in [*out.rglob("*.md"), *out.rglob("*.rst")]:
        if path.relative_to(out).as_posix() not in staged:
            path.unlink()
            (out.parent / "html" / path.relative_to(out)).with_suffix(".html").unlink(missing_ok=True)
    print(f"{len(staged)} pages in {out}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
