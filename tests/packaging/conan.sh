#!/usr/bin/env bash
# `conan create` of packaging/conan: builds the package from a copy of the sources, then its test package, which runs a consumer and
# the command.
#   conan.sh FOLDER
# CONAN names the program. Conan's home is FOLDER/home, so that nothing of the user's is touched. Exit status 77 without Conan 2.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/../.." && pwd)
conan=${CONAN:-conan}
if ! "$conan" --version 2>/dev/null | grep -q 'version 2'; then
  echo "skipped: no Conan 2 here (pip install conan; or CONAN=PATH)"
  exit 77
fi
rm -rf "$1" && mkdir -p "$1" && place=$(cd "$1" && pwd)
export CONAN_HOME=$place/home CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-2}
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$place CCACHE_NOHASHDIR=1
fi
"$conan" profile detect >"$place/log" 2>&1
fail() { echo "$1"; tail -40 "$place/log"; exit 1; }
"$conan" create "$checkout/packaging/conan" -s compiler.cppstd=gnu20 -s build_type=Release -c tools.cmake.cmaketoolchain:generator=Ninja \
  >>"$place/log" 2>&1 || fail "conan create failed"
grep -q 'us$' "$place/log" && grep -q 'algbw' "$place/log" || fail "the test package printed no prediction"
"$conan" list 'fabricost/*' 2>/dev/null | tail -3
rm -rf "$place" "$checkout/packaging/conan/test_package/build" "$checkout/packaging/conan/test_package/CMakeUserPresets.json"
