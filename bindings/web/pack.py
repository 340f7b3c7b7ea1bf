#!/usr/bin/env python3
"""Puts the page together: a folder for a web server, and one HTML file that runs from disk.

    pack.py PAGE_DIR MODULE_DIR OUT    PAGE_DIR: bindings/web/page; MODULE_DIR has fabricost.js and fabricost.wasm; OUT is made anew

OUT/page/ is the folder, with the module packed by gzip and a service worker that keeps it; OUT/fabricost.html is the one file: styles and
modules inside, the module as text. Prints what each weighs, and by how much that is more than is aimed at."""

import base64
import gzip
import hashlib
import json
import pathlib
import re
import shutil
import sys

AIM_TRANSFERRED, AIM_IN_ONE = 700_000, 1_200_000  # bytes: of the folder's first visit, packed; of the one file
IMPORT = re.compile(r"^import (\{[^}]*\}) from '([^']+)';\n", re.MULTILINE)


def one_script(page):
    """All modules as one text, each behind those it imports; imports under another name become constants."""
    done, parts, declared = set(), [], {}

    def add(path):
        path = path.resolve()
        if path in done:
            return
        done.add(path)
        text, uses = path.read_text(encoding="utf-8"), []
        for names, source in IMPORT.findall(text):
            other = (path.parent / source).resolve()
            add(other)
            for name in filter(None, (n.strip() for n in names.strip("{} ").split(","))):
                theirs, _, ours = name.partition(" as ")
                if (other, theirs) not in declared:
                    sys.exit(f"{path}: imports {theirs}, which {source} does not export")
                uses.append(f"const {ours or theirs} = {declared[(other, theirs)]}.{theirs};")
        exported = re.findall(r"^export (?:async )?(?:const|function|class) (\w+)", text, re.MULTILINE)
        text = re.sub(r"^export ", "", IMPORT.sub("", text), flags=re.MULTILINE)
        scope = f"m{len(parts)}"
        declared.update({(path, name): scope for name in exported})
        parts.append(f"const {scope} = (() => {{\n{chr(10).join(uses)}\n{text}\nreturn {{ {', '.join(exported)} }};\n}})();")

    add(page / "app.js")
    return "\n".join(parts)


def inside(text):
    """As the content of a script element."""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def main(page, module, out):
    shutil.rmtree(out, ignore_errors=True)
    folder = out / "page"
    shutil.copytree(page, folder, ignore=shutil.ignore_patterns("service-worker.js"))
    glue = (module / "fabricost.js").read_text(encoding="utf-8")
    packed = gzip.compress((module / "fabricost.wasm").read_bytes(), 9, mtime=0)
    (folder / "fabricost.js").write_text(glue, encoding="utf-8")
    (folder / "fabricost.wasm.gz").write_bytes(packed)
    files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    name = hashlib.sha256(b"".join((folder / f).read_bytes() for f in files)).hexdigest()[:16]
    worker = (page / "service-worker.js").read_text(encoding="utf-8")
    worker = worker.replace("@NAME@", name).replace("@FILES@", json.dumps(["./", *files]))
    (folder / "service-worker.js").write_text(worker, encoding="utf-8")

    html = (page / "index.html").read_text(encoding="utf-8")
    both = glue + "\n" + (page / "worker.js").read_text(encoding="utf-8")
    style, script = (page / "style.css").read_text(encoding="utf-8"), one_script(page)
    html = html.replace('<link rel="stylesheet" href="style.css">', f"<style>\n{style}</style>")
    html = html.replace('<script type="module" src="app.js"></script>',
                        f'<script type="text/plain" id="module-bytes">{base64.b64encode(packed).decode()}</script>\n'
                        f'<script type="text/plain" id="worker-text">{inside(both)}</script>\n'
                        f'<script type="module">\n{inside(script)}</script>')
    (out / "fabricost.html").write_text(html, encoding="utf-8")

    transferred = sum(len(gzip.compress((folder / f).read_bytes(), 9)) for f in [*files, "service-worker.js"])
    one = (out / "fabricost.html").stat().st_size
    raw = (module / "fabricost.wasm").stat().st_size
    print(f"module {raw:,} bytes, {len(packed):,} packed; first visit {transferred:,}; one file {one:,}")
    for what, bytes_, aim in (("a first visit", transferred, AIM_TRANSFERRED), ("the one file", one, AIM_IN_ONE)):
        if bytes_ > aim:
            print(f"{what} is {bytes_ / aim:.1f} times the {aim:,} bytes that are aimed at")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*map(pathlib.Path, sys.argv[1:]))
