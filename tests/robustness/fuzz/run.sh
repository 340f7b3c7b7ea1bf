#!/usr/bin/env bash
# Fuzzes every parser: builds the targets with libFuzzer and sanitizers in build-fuzz/ and runs each for some seconds.
#
#   tests/robustness/fuzz/run.sh SECONDS [TARGET...]      all targets when none is named; `build-fuzz/tests/robustness/fuzz/fuzz_replay --list` lists them
#   tests/robustness/fuzz/run.sh SECONDS K/N              every N-th target, from the K-th on
#
# Starts from the kept inputs (corpus/, found/), the project's own files that --list names, FUZZ_SEEDS/TARGET/ where that folder is given,
# and what earlier runs left in build-fuzz/grown/TARGET/. A finding (crash, sanitizer, more than 5 s or 1000 MB) is written to build-fuzz/findings/TARGET/ and fails the
# run. Mend the fault, keep the input in found/TARGET/ under a name that says what it is; ctest replays it (fuzz.found).
# CXX and FUZZ_BUILD choose another compiler (afl-clang-fast++) and build folder, FUZZ_TIMEOUT other seconds than 5: they are wall-clock
# time, and a machine with much else to do needs more. FUZZ_JOBS targets run at once (as many as processors).
set -euo pipefail
cd "$(dirname "$0")/../../.."

seconds=${1:?say for how many seconds each target is to run}
shift
case $seconds in *[!0-9]* | '') echo "run.sh: \"$seconds\" is no number of seconds" >&2; exit 2 ;; esac
build=${FUZZ_BUILD:-build-fuzz}

if [ ! -f "$build/build.ninja" ]; then
  cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="${CXX:-clang++}" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DFABRICOST_BUILD_FUZZERS=ON -DFABRICOST_BUILD_TESTS=OFF -DFABRICOST_BUILD_EXAMPLES=OFF \
    -DFABRICOST_INSTALL=OFF -DCMAKE_UNITY_BUILD=ON >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
  rm -f "$build.log"
fi
cmake --build "$build" -j "${FUZZ_JOBS:-$(nproc)}" --target fabricost_fuzz fuzz_replay
program=$PWD/$build/tests/robustness/fuzz/fabricost_fuzz
rm -rf "$build/seeds"
known=()
while read -r target seeds; do
  known+=("$target")
  mkdir -p "$build/seeds/$target"
  for seed in $seeds; do find "$seed" -maxdepth 1 -type f -exec cp {} "$build/seeds/$target" \;; done
done < <("$build/tests/robustness/fuzz/fuzz_replay" --list)
targets=("${@:-${known[@]}}")
if [[ $# = 1 && "$1" =~ ^([1-9])/([1-9])$ ]]; then
  targets=()
  for ((at = BASH_REMATCH[1] - 1; at < ${#known[@]}; at += BASH_REMATCH[2])); do targets+=("${known[at]}"); done
fi

for target in "${targets[@]}"; do
  if [[ " ${known[*]} " != *" $target "* ]]; then
    echo "run.sh: \"$target\" is no target; there are: ${known[*]}" >&2
    exit 2
  fi
done

fuzz() { # target
  local target=$1
  local grown=$PWD/$build/grown/$target findings=$PWD/$build/findings/$target log=$build/grown/$target.log folders folder
  mkdir -p "$grown" "$findings" "$build/targets"
  ln -sf "$program" "$build/targets/$target"
  folders=("$grown")
  for folder in "$build/seeds/$target" "tests/robustness/fuzz/corpus/$target" "tests/robustness/fuzz/found/$target" ${FUZZ_SEEDS:+"$FUZZ_SEEDS/$target"}; do
    [ -d "$folder" ] && folders+=("$folder")
  done
  if "$build/targets/$target" -max_total_time="$seconds" -rss_limit_mb=1000 -timeout="${FUZZ_TIMEOUT:-5}" -max_len=16384 \
    -print_final_stats=1 -artifact_prefix="$findings/" -dict="$words" "${folders[@]}" >"$log" 2>&1; then
    echo "$target: $(awk '/number_of_executed_units/ {n = $2} /peak_rss/ {m = $2} END {print n " executions, " m " MB at most"}' "$log")"
  else
    echo "$target: FAILED"
    tail -n 60 "$log"
    return 1
  fi
}
# the words that readers and fields compare with, as a dictionary; strings that need escaping are left out
words=$PWD/$build/words.dict
grep -rhoE '"[^"\\%{}]{2,32}"' src/*/{readings,specs,fields,cli} src/observe/diagnose include/fabricost/{readings,specs,fields} | sort -u >"$words"
export -f fuzz
export build program seconds words
# as many at once as there are processors
if ! printf '%s\n' "${targets[@]}" | xargs -P "${FUZZ_JOBS:-$(nproc)}" -I{} bash -c 'fuzz "$1"' fuzz {}; then
  echo "findings: see $build/findings" >&2
  exit 1
fi
