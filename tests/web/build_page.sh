#!/bin/sh
# bindings/web/build.sh where emscripten is; else says so and is skipped.
command -v emcmake >/dev/null || { echo "skipped: emscripten is not here: apt-get install emscripten"; exit 77; }
exec "$(dirname "$0")/../../bindings/web/build.sh" "$@"
