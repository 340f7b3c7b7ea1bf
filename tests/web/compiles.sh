#!/usr/bin/env bash
# Every file of the page through emscripten's compiler, without code: what it costs to know that the page can be built.
#   tests/web/compiles.sh CONTAIN [PART OF]    CONTAIN: fabricost_contain of a native build; PART OF: one of so many parts
# bindings/web/build.sh builds it whole, in minutes (.github/workflows/docs.yml). Status 77: emscripten is not here.
set -uo pipefail
cd "$(dirname "$0")/../.."
command -v emcmake >/dev/null || { echo "skipped: emscripten is not here: apt-get install emscripten"; exit 77; }
part=${2:-1} of=${3:-1} folder=build/web-syntax
export NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
emcmake cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE= -DFABRICOST_CONTAIN="$(realpath "$1")" >/dev/null || exit
ninja -C "$folder" -t compdb | python3 -c '
import json, re, sys
part, of = map(int, sys.argv[1:])
lines = [re.sub(r" -MD -MT \S+ -MF \S+ -o \S+", "", one["command"]) + " -O0 -fsyntax-only"
         for one in json.load(sys.stdin) if " -c " in one["command"] and "contained_" not in one["file"]]
lines.sort()
print("\0".join(lines[part - 1 :: of]), end="\0")' "$part" "$of" >"$folder/commands" || exit
echo "$(tr -cd '\0' <"$folder/commands" | wc -c) files"
cd "$folder" && xargs -0 -P "$(nproc)" -I {} sh -c '{} || { echo "FAILED: {}" | tail -c 200; exit 255; }' <commands
