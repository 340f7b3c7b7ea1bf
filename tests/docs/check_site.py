#!/usr/bin/env python3
"""The built site as a reader meets it: every local link and anchor leads somewhere, every page can be reached from the first, every command
and every public Python name has its place.

    check_site.py HTML FABRICOST
"""
import html.parser
import importlib
import pathlib
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs/site"))
import reference_command
import reference_python

BESIDE = {"genindex.html", "search.html", "py-modindex.html"}  # Sphinx's own


class Page(html.parser.HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if given.get("id"):
            self.anchors.add(given["id"])
        if tag == "a" and given.get("name"):
            self.anchors.add(given["name"])
        for key in ("href", "src"):
            if given.get(key) and tag in ("a", "img", "link", "script"):
                self.links.append(given[key])


def broken_links(folder):
    """Faults as text, and the pages that links from index.html reach."""
    pages = {path.relative_to(folder).as_posix(): Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")
             if not {"_static", "page"} & set(path.relative_to(folder).parts)}
    faults, leads_to = [], {}
    for name, page in pages.items():
        leads_to[name] = set()
        for link in page.links:
            where = urllib.parse.urlsplit(link)
            if where.scheme or where.netloc:
                continue
            target = name if not where.path else (pathlib.PurePosixPath(name).parent / urllib.parse.unquote(where.path)).as_posix()
            if target.startswith("page/") and not (folder / "page").is_dir():
                continue  # the page that answers in a browser is taken along where it was built
            path = (folder / target).resolve()
            if not path.is_relative_to(folder) or not path.exists():
                faults.append(f"{name}: {link} leads to no file")
                continue
            target = path.relative_to(folder).as_posix()
            leads_to[name].add(target)
            anchor = urllib.parse.unquote(where.fragment)
            if anchor and target in pages and anchor not in pages[target].anchors:
                faults.append(f"{name}: {link} leads to no anchor")
    reached, todo = set(), ["index.html"]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += leads_to.get(name, ())
    faults += [f"{name}: no page leads here" for name in sorted(set(pages) - reached - BESIDE)]
    return faults, pages


def missing_reference(pages, tool):
    """Commands and Python names that the site does not show."""
    command = pages.get("reference/command.html", Page("")).anchors
    faults = [f"reference/command.html: {name} is missing" for name in reference_command.names(tool) if name not in command]
    package = importlib.import_module("fabricost")
    shown = {anchor for name, page in pages.items() if name.startswith("reference/python/") for anchor in page.anchors}
    modules = {name for name in package.__all__ if isinstance(getattr(package, name), type(sys))}
    for name in package.__all__:
        if f"fabricost.{name}" not in shown and f"module-fabricost.{name}" not in shown:
            faults.append(f"reference/python: fabricost.{name} is missing")
    assert modules <= set(package.__all__)
    other = [names for title, _, _, names in reference_python.grouped(package.__all__) if title == "Other"]
    return faults + [f"docs/site/reference_python.py: {' '.join(names)} stand in no group" for names in other]


def main(folder, tool):
    folder = pathlib.Path(folder).resolve()
    faults, pages = broken_links(folder)
    faults += missing_reference(pages, tool)
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        return 1
    print(f"{len(pages)} pages, {sum(len(p.links) for p in pages.values())} links, none broken")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
