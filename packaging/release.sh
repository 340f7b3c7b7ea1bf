#!/usr/bin/env bash
# The checklist of docs/releasing.md, run: each step prints what it does and ends the run where it fails. Nothing is tagged or uploaded.
#   packaging/release.sh [--dry-run] [--from STEP]
# --dry-run lists the steps with their commands; --from STEP goes on where an earlier run ended. What is made lies in dist/.
# JOBS: compilers at once (default: all cores). PYTHONS: the interpreters wheels are made for (default: python3).
# FUZZ_SECONDS: for each fuzz target (default: 600; two processors take three hours).
set -euo pipefail
umask 022  # the members of a .deb have the modes of whoever packs it
cd "$(dirname "$0")/.."
dry='' from=''
while [ $# -gt 0 ]; do
  case $1 in
  --dry-run) dry=1 ;;
  --from) from=${2:?"release.sh: --from needs the name of a step; --dry-run lists them"}; shift ;;
  *) echo "release.sh: unknown option \"$1\"; write --dry-run or --from STEP" >&2; exit 2 ;;
  esac
  shift
done
jobs=${JOBS:-$(nproc)}
version=$(sed -n 's/^project(fabricost VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
python=.venv/bin/python
epoch=$(git log -1 --format=%ct)
steps=(clean-tree version changelog tests check long fuzz mutants reproducible packages wheels docs sums)
if [ -n "$from" ] && [[ " ${steps[*]} " != *" $from "* ]]; then
  echo "release.sh: no step \"$from\"; the steps are: ${steps[*]}" >&2
  exit 2
fi

do_() { # runs or, with --dry-run, prints
  if [ -n "$dry" ]; then printf '    %s\n' "$*"; return; fi
  "$@" || { echo "release.sh: $step failed; mend it and go on with: packaging/release.sh --from $step" >&2; exit 1; }
}
shell() { # lines of a shell, likewise
  if [ -n "$dry" ]; then printf '    %s\n' "$1"; else do_ bash -euo pipefail -c "$1"; fi
}

step_clean-tree() { shell 'test -z "$(git status --porcelain)" || { git status --short; echo "commit or remove these first"; exit 1; }'; }
step_version() { do_ python3 tests/packaging/versions.py .; }
step_changelog() { do_ python3 packaging/changelog_section.py "$version"; }
step_tests() { do_ ./quickstart test; }
step_check() { do_ ./quickstart check; }
step_long() { do_ ctest --test-dir build -C long -L long -E packaging.reproducible --output-on-failure --no-tests=error; }
step_fuzz() { do_ tests/robustness/fuzz/run.sh "${FUZZ_SECONDS:-600}"; }
step_mutants() {
  do_ python3 -m venv build-mutants/venv
  do_ build-mutants/venv/bin/python -m pip install -q libclang
  do_ build-mutants/venv/bin/python tests/robustness/mutation/run.py build-mutants
}
step_reproducible() {
  do_ "$python" -m pip install -q build
  do_ env PYTHON="$PWD/$python" JOBS="$jobs" tests/packaging/reproducible.sh build-reproducible --whole
}
step_packages() {
  shell "export SOURCE_DATE_EPOCH=$epoch; cd build; for kind in DEB TGZ; do cpack -G \$kind -D CPACK_OUTPUT_FILE_PREFIX='$PWD/dist'; done"
  shell "rm -rf dist/_CPack_Packages"
  shell "git archive --format=tar.gz --prefix=fabricost-$version/ -o dist/fabricost-$version-source.tar.gz HEAD"
}
step_wheels() {
  local interpreter
  shell "export SOURCE_DATE_EPOCH=$epoch CMAKE_BUILD_PARALLEL_LEVEL=$jobs; packaging/wheels/build.sh ${PYTHONS:-python3}"
  for interpreter in ${PYTHONS:-python3}; do
    do_ "$python" tests/python/check_wheel.py "dist/fabricost-$version-$("$interpreter" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')"*.whl --python "$interpreter"
  done
  do_ python3 packaging/sbom.py "dist/fabricost-$version.cdx.json"
  do_ "$python" tests/python/check_wheel.py sdist
  shell "SOURCE_DATE_EPOCH=$epoch $python -m build --sdist --outdir dist ."
}
step_docs() { do_ env PYTHON="$PWD/$python" docs/build.sh --links; }
step_sums() { shell 'cd dist && rm -f SHA256SUMS && sha256sum * >../dist.sums && mv ../dist.sums SHA256SUMS && cat SHA256SUMS'; }

echo "release of fabricost $version"
for step in "${steps[@]}"; do
  [ -z "$from" ] || [ "$from" = "$step" ] || continue
  from=''
  printf '\n== %s\n' "$step"
  "step_$step"
done
printf '\n%s\n' "${dry:+would be }done; what follows is by hand: docs/releasing.md, \"Publish\""
