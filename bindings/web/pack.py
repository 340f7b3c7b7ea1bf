#!/usr/bin/env python3
"""Puts the page together: a folder for a web server, and one HTML file that runs from disk.

    pack.py PAGE_DIR MODULE_DIR OUT    PAGE_DIR: bindings/web/page; MODULE_DIR has fabricost-first.* and fabricost-all.*; OUT is made anew

OUT/page/ is the folder, with both modules packed by gzip and a service worker that keeps them; OUT/fabricost.html is the one file: styles,
scripts, licences and the module with everything inside, as text; OUT/fabricost-first.html is the same with the first module. Prints what
each weighs, and by how much that is more than is aimed at."""

import base64
import gzip
import hashlib
import html as markup
import json
import pathlib
import re
import shutil
import sys

AIM_TRANSFERRED, AIM_IN_ONE = 700_000, 1_200_000  # bytes: of the folder's first visit, packed; of the one file
ROOT = pathlib.Path(__file__).resolve().parents[2]
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


def notices():
    """The licence, and the notices of others' code in the modules: every package carries them."""
    return "\n\n".join((ROOT / name).read_text(encoding="utf-8") for name in ("LICENSE", "THIRD_PARTY.md"))


def inside(text):
    """The text, escaped for the content of a script element."""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def digest(text):
    """Of an element's content, as a Content-Security-Policy names it."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def with_policy(html, scripts, styles):
    """The one file's policy: the scripts and styles inside it by their digests, the worker (or, in a browser without
    workers for files, the script) from its own text, nothing from elsewhere."""
    policy = ("default-src 'none'; script-src {} blob: 'wasm-unsafe-eval'; style-src {}; img-src data:; worker-src blob:; base-uri 'none'; "
              "form-action 'none'").format(" ".join(map(digest, scripts)), " ".join(map(digest, styles)))
    html, count = re.subn(r'(<meta http-equiv="Content-Security-Policy" content=")[^"]*', lambda found: found[1] + policy, html)
    if count != 1:
        sys.exit("index.html: one Content-Security-Policy is wanted")
    return html


SPARED = b"\0\r<"  # an HTML parser changes or may end the text at these; model.js reads them back


def as_text(data):
    """Bytes as text of seven bits a character (8/7 of their size in UTF-8, where base64 takes 4/3): one of SPARED and the seven bits
    behind it are one character of two bytes."""
    bits, kept, sevens = 0, 0, []
    for byte in data:
        kept, bits = kept << 8 | byte, bits + 8
        while bits >= 7:
            bits -= 7
            sevens.append(kept >> bits)
            kept &= (1 << bits) - 1
    if bits:
        sevens.append(kept << 7 - bits)
    out, at = [], 0
    while at < len(sevens):
        if sevens[at] in SPARED:
            out.append(chr(SPARED.index(sevens[at]) + 1 << 7 | (sevens[at + 1] if at + 1 < len(sevens) else 0)))
            at += 1
        else:
            out.append(chr(sevens[at]))
        at += 1
    return "".join(out)


def main(page, module, out):
    shutil.rmtree(out, ignore_errors=True)
    folder = out / "page"
    shutil.copytree(page, folder, ignore=shutil.ignore_patterns("service-worker.js"))
    glue = (module / "fabricost-all.js").read_text(encoding="utf-8")
    packed = {}
    for which in ("first", "all"):
        packed[which] = gzip.compress((module / f"fabricost-{which}.wasm").read_bytes(), 9, mtime=0)
        (folder / f"fabricost-{which}.wasm.gz").write_bytes(packed[which])
    (folder / "fabricost.js").write_text(glue, encoding="utf-8")
    files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    name = hashlib.sha256(b"".join((folder / f).read_bytes() for f in files)).hexdigest()[:16]
    later = ["fabricost-all.wasm.gz"]
    (folder / "notices.txt").write_text(notices(), encoding="utf-8")  # no part of a visit
    files = [f for f in files if f not in later]
    worker = (page / "service-worker.js").read_text(encoding="utf-8")
    worker = worker.replace("@NAME@", name).replace("@FILES@", json.dumps(["./", *files])).replace("@LATER@", json.dumps(later))
    (folder / "service-worker.js").write_text(worker, encoding="utf-8")

    style, script = "\n" + (page / "style.css").read_text(encoding="utf-8"), f"\n{inside(one_script(page))}"
    words = "\n" + inside((page / "old-browsers.js").read_text(encoding="utf-8"))
    both = glue + "\n" + (page / "worker.js").read_text(encoding="utf-8")
    ones = {}
    for file, which in (("fabricost.html", "all"), ("fabricost-first.html", "first")):
        html = (page / "index.html").read_text(encoding="utf-8")
        html = html.replace('<link rel="stylesheet" href="style.css">', f"<style>{style}</style>")
        html = html.replace('<script src="old-browsers.js"></script>', f"<script>{words}</script>")
        html = html.replace('<p><a href="notices.txt">licences</a></p>',
                            f'<details><summary>licences</summary><pre class="notices">{markup.escape(notices())}</pre>'
                            '</details>')
        html = html.replace('<script type="module" src="app.js"></script>',
                            f'<script type="text/plain" id="module-bytes" data-size="{len(packed[which])}" data-holds="{which}">'
                            f'{as_text(packed[which])}</script>\n'
                            f'<script type="text/plain" id="worker-text">{inside(both)}</script>\n'
                            f'<script type="module">{script}</script>')
        html = with_policy(html, (words, script), (style,))
        (out / file).write_text(html, encoding="utf-8", newline="")
        ones[file] = (out / file).stat().st_size

    transferred = sum(len(gzip.compress((folder / f).read_bytes(), 9)) for f in [*files, "service-worker.js"])
    print(f"first visit {transferred:,} bytes, {len(packed['first']):,} of them its module; the other module {len(packed['all']):,}; "
          + ", ".join(f"{file} {size:,}" for file, size in ones.items()))
    for what, bytes_, aim in (("a first visit", transferred, AIM_TRANSFERRED), ("fabricost.html", ones["fabricost.html"], AIM_IN_ONE)):
        if bytes_ > aim:
            print(f"{what} is {bytes_ / aim:.2f} times the {aim:,} bytes that are aimed at")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*map(pathlib.Path, sys.argv[1:]))
