#!/usr/bin/env python3
"""Parts of the page that need no module, under node: its CSV, its addresses. Status 77: no node is here.

    parts.py PAGE_DIR"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SCRIPT = """
import { csv } from './export.js';
import { readAddress } from './state.js';
const cells = ['=cmd()', '+1+2', '@SUM(1)', '-2+3', '\\r=cmd()', '\\t=x', ' =x', '-1.5', '+3e5', '1,5', 'a"b', 'x\\u001b[31m', '\\u202edrow', 'plain'];
const links = ['#constructor=1', '#__proto__=1&toString=2', '#view=ask&system=a&system=b'].map((hash) => readAddress(hash, ['curve', 'ask']));
console.log(JSON.stringify({ rows: csv({ head: ['a'], body: cells.map((one) => [one]) }).split('\\n').slice(1, -1),
  fields: links.map((one) => Object.entries(one.fields)) }));
"""


def main(page):
    if not shutil.which("node"):
        print("skipped: no node is here")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "page"
        shutil.copytree(page, folder)
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / "parts.js").write_text(SCRIPT)
        done = subprocess.run(["node", "parts.js"], cwd=folder, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rows"] == ["'=cmd()", "'+1+2", "'@SUM(1)", "'-2+3", "' =cmd()", "' =x", "' =x", "-1.5", "+3e5", '"1,5"', '"a""b"',
                             "x [31m", '" drow"', "plain"], found["rows"]
    assert found["fields"] == [[["constructor", "1"]], [["__proto__", "1"], ["toString", "2"]], [["system", ["a", "b"]]]], found["fields"]
    html = (page / "index.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy and "default-src 'none'" in policy[1] and "unsafe-inline" not in policy[1] and "unsafe-eval'" not in policy[1].replace("wasm-unsafe-eval'", "")
    assert not re.search(r"<script(?![^>]*src=)", html) and not re.search(r"\son\w+=", html) and "<style" not in html and "style=" not in html
    print("the page's CSV, addresses and policy hold")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]).resolve())
