#!/usr/bin/env bash
# Builds the site into BUILD/docs/html and checks its links.
#   docs/build.sh                       with .venv/bin/python and build/
#   docs/build.sh --links               external links too (needs a network)
# PYTHON and BUILD name others. Needs docs/requirements.txt in that Python, the command, the package and the programs that print pages; the
# target docs (-DFABRICOST_BUILD_DOCS=ON) builds them and calls this.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d "${BUILD:=build}" ] || { echo "docs/build.sh: $BUILD is missing; run ./quickstart first" >&2; exit 2; }
BUILD=$(cd "$BUILD" && pwd)
PYTHON=${PYTHON:-.venv/bin/python}
[ -x "$BUILD/fabricost" ] || { echo "docs/build.sh: $BUILD/fabricost is missing; run ./quickstart first" >&2; exit 2; }
export PYTHONPATH="$BUILD/python${PYTHONPATH:+:$PYTHONPATH}"
fail() { echo "docs/build.sh: $1" >&2; exit 2; }
"$PYTHON" -c 'import fabricost' || fail "the Python package is not in $BUILD/python; build fabricost_python for $PYTHON"
for program in fields_page moe_domains; do
  [ -x "$BUILD/bin/$program" ] || fail "$BUILD/bin/$program is missing; build it, or the target docs (cmake -B $BUILD -DFABRICOST_BUILD_DOCS=ON)"
done
"$PYTHON" -c 'import sphinx, myst_parser, furo, latex2mathml, yaml, nbclient, nbformat, ipykernel, matplotlib, pandas' || fail "run $PYTHON -m pip install -r docs/requirements.txt"
"$PYTHON" docs/site/stage.py "$BUILD/fabricost" "$BUILD/docs/source"
# Sphinx leaves pages that it does not write again with links to pages that are gone: with other pages, all are written again.
pages=$(cd "$BUILD/docs/source" && find . -type f | sort)
[ "$pages" = "$(cat "$BUILD/docs/pages.txt" 2>/dev/null)" ] || rm -rf "$BUILD/docs/doctrees" "$BUILD/docs/html"
printf '%s\n' "$pages" > "$BUILD/docs/pages.txt"
"$PYTHON" -m sphinx -q -W --keep-going -n -b html -c docs -d "$BUILD/docs/doctrees" "$BUILD/docs/source" "$BUILD/docs/html"
rm -rf "$BUILD/docs/html/page"
if [ -d "$BUILD/page/page" ]; then
  cp -r "$BUILD/page/page" "$BUILD/docs/html/page"
else
  echo "the page that answers in a browser is left out: bindings/web/build.sh makes it"
fi
"$PYTHON" tests/docs/check_site.py "$BUILD/docs/html" "$BUILD/fabricost"
if [ "${1:-}" = --links ] && ! "$PYTHON" -c 'import socket; socket.getaddrinfo("github.com", 443)' 2>/dev/null; then
  echo "external links not checked: github.com is not to be found from here"
elif [ "${1:-}" = --links ]; then
  "$PYTHON" -m sphinx -q -n -b linkcheck -c docs -d "$BUILD/docs/doctrees" "$BUILD/docs/source" "$BUILD/docs/links"
fi
echo "site: $BUILD/docs/html/index.html"
