#!/usr/bin/env bash
# Builds the command, the library, the Debian packages and the archive twice: in different folders, at different times, under different
# umasks, time zones and languages. Compares bytes and prints the first difference.
#   reproducible.sh FOLDER             with ccache if there is one; every tenth object of the second build is compiled anew without it
#   reproducible.sh FOLDER --whole     all of both without ccache, the Python wheel and the source archive too: before a release
# FOLDER is emptied. PYTHON names the interpreter for the wheel (default python3), JOBS how many compilers run at once.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
checkout=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$1" && mkdir -p "$1" && place=$(cd "$1" && pwd)
whole=${2:-}
jobs=${JOBS:-2}
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git -C "$checkout" log -1 --format=%ct 2>/dev/null || stat -c %Y "$checkout/CHANGELOG.md")
export CCACHE_BASEDIR=$place CCACHE_NOHASHDIR=1
[ "$whole" != --whole ] || export CCACHE_DISABLE=1
unset CMAKE_CXX_COMPILER_LAUNCHER
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

copy() { # a checkout without history and build trees
  mkdir -p "$1"
  (cd "$checkout" &&
    tar cf - --exclude=__pycache__ CMakeLists.txt LICENSE THIRD_PARTY.md CHANGELOG.md README.md pyproject.toml cmake include src data bindings) |
    (cd "$1" && tar xf -)
}
build() { # checkout: builds and packs it
  cmake -S "$1" -B "$1/build" -G Ninja -DFABRICOST_BUILD_TESTS=OFF -DFABRICOST_BUILD_EXAMPLES=OFF "${launcher[@]}" >"$1.log"
  cmake --build "$1/build" -j "$jobs" >>"$1.log" || { tail -30 "$1.log"; exit 1; }
}
pack() {
  for kind in DEB TGZ; do
    [ $kind = TGZ ] || command -v dpkg-shlibdeps >/dev/null || { echo "no Debian packages compared: dpkg-shlibdeps is not here"; continue; }
    (cd "$1/build" && cpack -G $kind >>"$1.log") || { tail -30 "$1.log"; exit 1; }
  done
  [ "$whole" != --whole ] || "${PYTHON:-python3}" -m build --outdir "$1/build/packages" "$1" >>"$1.log" 2>&1 ||
    { tail -30 "$1.log"; exit 1; }
}

one=$place/one/fabricost another=$place/quite/another/place/fabricost
(umask 022; copy "$one")
(umask 027; copy "$another")  # now: somebody may edit the checkout meanwhile
(umask 022; build "$one"; pack "$one")
(
  umask 027
  export TZ=Pacific/Kiritimati LC_ALL=C.UTF-8
  find "$another" -exec touch -h -d '1999-12-31 23:59' {} +
  build "$another"
  if [ "$whole" != --whole ] && [ ${#launcher[@]} -gt 0 ]; then # objects from the cache say nothing about this folder
    find "$another/build" -name '*.cpp.o' | sort | awk 'NR % 10 == 1' | xargs rm
    CCACHE_DISABLE=1 build "$another"
  fi
  sleep 1
  umask 022  # the members of a .deb have the modes of whoever packs it
  pack "$another"
)

compared=0 differing=0
while read -r file; do
  compared=$((compared + 1))
  cmp -s "$one/build/$file" "$another/build/$file" && continue
  [ $differing = 0 ] && echo "first difference: $(cmp "$one/build/$file" "$another/build/$file" 2>&1 || true)"
  echo "differs: $file"
  differing=$((differing + 1))
done < <(cd "$one/build" && find . \( -path ./packages/_CPack_Packages -prune \) -o -type f \
  \( -path './packages/*' -o -name fabricost -o -name '*.a' -o -name '*.cpp.o' \) -print | sort)
# objects from a cache would carry the first folder's name
if named=$(grep -rlF "$place" "$one/build/fabricost" "$another/build/fabricost" "$another/build/src/core/libfabricost_core.a"); then
  echo "names the folder it was built in: $named"
  differing=$((differing + 1))
fi
[ $compared -gt 10 ] || { echo "only $compared files to compare: something was not built"; exit 1; }
[ $differing = 0 ] || exit 1
echo "$compared files the same: $(cd "$one/build" && ls fabricost src/core/libfabricost_core.a packages | grep -v : | paste -sd' ')"
rm -rf "$place"
