#!/bin/sh
# The page, from nothing, on Debian 12: bindings/web/build.sh [OUT]
#
#     apt-get install emscripten, and what ./quickstart installs
#
# OUT (build/page) gets the folder page/ for a web server and the one file fabricost.html. A native program, which parses data/, is built
# first unless FABRICOST_CONTAIN names one; compilers are cached by ccache where it is there.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:-$source/build/page}
work=${FABRICOST_WEB_BUILD:-$source/build/web}
launcher=
if command -v ccache >/dev/null; then launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
export NODE_PATH=${NODE_PATH:-/usr/share/nodejs}  # where Debian keeps acorn, which a node from elsewhere does not look for
command -v emcmake >/dev/null || { echo "emcmake is not here: apt-get install emscripten" >&2; exit 2; }
contain=${FABRICOST_CONTAIN:-}
if [ -z "$contain" ]; then
  cmake -S "$source" -B "$work-host" -G Ninja -DFABRICOST_BUILD_TOOL=OFF -DFABRICOST_BUILD_TESTS=OFF -DFABRICOST_BUILD_EXAMPLES=OFF \
    -DFABRICOST_INSTALL=OFF $launcher >/dev/null
  cmake --build "$work-host" --target fabricost_contain
  contain=$work-host/src/core/fabricost_contain
fi
emcmake cmake -S "$source" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE= $launcher \
  -DFABRICOST_CONTAIN="$contain" >/dev/null
cmake --build "$work"
python3 "$source/bindings/web/pack.py" "$source/bindings/web/page" "$work" "$out"
