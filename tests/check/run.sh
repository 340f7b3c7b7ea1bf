#!/usr/bin/env bash
# The long checks, one step after another: what `./quickstart check` does once everything is installed.
#   tests/check/run.sh [STEP...]        all of them, or those named (sanitizers, fuzz, page and alone are all their parts)
#   tests/check/run.sh --plan [DATE]    says which of them a run of that day (default today) takes when time is short, and when the others come
# With FABRICOST_CHECK_SECONDS set, time is short: the steps of the day's turn come first and then those of the days after it, as many as
# fit, so that within eight days each has been first once. A step that no longer fits is named, with the day on which it comes first; one
# that outlasts the time is stopped and counts as not finished; neither is a failure. Closes with a line for every step and exit status 1
# when one failed.
set -uo pipefail
set -m  # each step in a process group of its own, so that all of it can be stopped
cd "$(dirname "$0")/../.."
python="$PWD/.venv/bin/python"
jobs=$(nproc)
began=$SECONDS
sanitized=build-sanitized

random_calls() {
  PYTHONPATH="$PWD/build/python" FABRICOST_RANDOM_CALLS=100000 "$python" -m pytest -q tests/python/test_arguments.py
}
box() { ctest --test-dir build -C long -R '^fabric_in_a_box$' --output-on-failure; }
dask() { PYTHONPATH="$PWD/build/python" "$python" tests/python/check_dask.py; }
# One build, by clang, several files at a time (a third of the time) and without optimisation but for what fits and searches (another third),
# serves the sanitizers, the coverage and the fuzz targets. When time is short it counts no lines. Every test runs in it but those that build
# or install other programs, fit whole tables, read pages or time themselves. In such a build names that files keep to themselves meet: a
# redefinition is a name to make longer, or something that stands twice.
configured() { cmake --preset sanitized -DPython3_EXECUTABLE="$python" ${FABRICOST_CHECK_SECONDS:+-DCMAKE_CXX_FLAGS=} >/dev/null; }
sanitized_programs() { # PART OF: the test programs of one of so many parts of the alphabet
  local folders=() targets
  mapfile -t folders < <(printf "%s\n" tests/*/test_*.cpp tests/*/*/test_*.cpp | xargs -n 1 dirname | xargs -n 1 basename | sort -u)
  folders=("${folders[@]:$((${#folders[@]} * ($1 - 1) / $2)):$((${#folders[@]} * $1 / $2 - ${#folders[@]} * ($1 - 1) / $2))}")
  echo "test programs of ${folders[*]}"
  targets=("${folders[@]/#/test_}")
  configured &&
    cmake --build --preset sanitized -j "$jobs" --target "${targets[@]}" &&
    ctest --preset sanitized -C long -j "$jobs" -R "^unit\.($(IFS='|' && echo "${folders[*]}"))(\.measurements)?\$" -E '^unit\.calibrate\.measurements$'
}
sanitizers_1() { sanitized_programs 1 3; }
sanitizers_2() { sanitized_programs 2 3; }
sanitizers_3() { sanitized_programs 3 3; }
# With the examples but not their pages (_fresh).
exercised='contract\.commands|fuzz\.found|example\.[a-z_]*[^h]|gpu_stand_in\.command|gpu_probes\..*|cli\.(broken_inputs|contract)'
sanitizers_4() { # examples, commands of the contract, broken files
  local targets=(src/all examples/all) file
  configured || return
  for file in tests/*/CMakeLists.txt tests/*/*/CMakeLists.txt; do
    [ -f "$sanitized/${file%/*}/CTestTestfile.cmake" ] && targets+=("${file%/*}/all")
  done
  cmake --build --preset sanitized -j "$jobs" --target "${targets[@]}" &&
    ctest --preset sanitized -j "$jobs" -R "^($exercised)\$" &&
    ctest --preset sanitized -C long -R '^cli\.measure$' --repeat until-pass:2  # it keeps to times, which these builds stretch
}
sanitizers_5() { # all other tests of the command
  configured &&
    cmake --build --preset sanitized -j "$jobs" --target fabricost_tool &&
    ctest --preset sanitized -j "$jobs" -R '^cli\.' -E "^($exercised|cli\.(measure|calibrate|training))\$"
}
coverage() {
  local least=92
  [ -d "${FABRICOST_MEASUREMENTS:-../shared/measurements}" ] || least=0  # tests that read them were skipped
  "$python" tests/check/coverage.py "$sanitized" --least "$least"
}
fuzz() { configured && FUZZ_BUILD=$sanitized FUZZ_TIMEOUT=20 tests/robustness/fuzz/run.sh "${FABRICOST_FUZZ_SECONDS:-8}" "$1"; }
fuzz_1() { fuzz 1/2; }
fuzz_2() { fuzz 2/2; }
threads() {
  cmake --preset tsan -DPython3_EXECUTABLE="$python" >/dev/null &&
    cmake --build --preset tsan -j "$jobs" --target test_process &&
    ctest --preset tsan -R '^unit.process$'
}
page() { # PROGRAM PAGE: all of docs/PAGE.md
  PYTHONPATH=build/python "$python" tests/docs/accuracy/check_page.py "$1" "docs/$2.md" "${FABRICOST_MEASUREMENTS:-../shared/measurements}" || [ $? = 77 ]
}
accuracy() {
  cmake --build build -j "$jobs" --target fabricost_python && page examples/accuracy_page/accuracy_page.py accuracy &&
    ctest --test-dir build -C long -R '^accuracy\.from_sources_measured$' --output-on-failure
}
training() { cmake --build build -j "$jobs" --target fabricost_python && page examples/training_page.py training-accuracy; }
consumer() { ctest --test-dir build -C long -R '^consumer\.whole_library$' --output-on-failure; }
headers() {
  cmake --build build -j "$jobs" --target headers_alone &&
    ctest --test-dir build -C long -R '^structure.headers_alone$' --output-on-failure
}
# What repeats under another compiler, checker or command what every run asks.
long() { ctest --test-dir build -C long -j "$jobs" --output-on-failure -R "^($1)\$"; }
others_1() { long 'docs\.site|python\.checkers|compile_fail\.(gcc|clang)|gpu_probes\.compile|consumer\.fetch_content'; }
others_2() {
  cmake -S . -B build -DFABRICOST_BUILD_BENCHMARKS=ON >/dev/null &&
    cmake --build build -j "$jobs" --target fabricost_benchmark &&
    long 'benchmark\..*|cli\.options_of_(plan|explore|need|project)'
}
page_files() { # PART: each file of the page through emscripten's front end
  cmake --build build -j "$jobs" --target fabricost_contain && tests/web/compiles.sh build/src/core/fabricost_contain "$1" 2 || [ $? = 77 ]
}
page_1() { page_files 1; }
page_2() { page_files 2; }
alone() { # PART
  cmake -S . -B build-alone -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DFABRICOST_WARNINGS_AS_ERRORS=ON -DFABRICOST_BUILD_TESTS=OFF \
    -DFABRICOST_BUILD_PYTHON=ON -DPython3_EXECUTABLE="$python" >/dev/null && "$python" tests/check/alone.py build-alone "$1" 2
}
alone_1() { alone 1; }
alone_2() { alone 2; }
tidy() { cmake --preset tidy >/dev/null && cmake --build --preset tidy -j "$jobs"; }

# name, seconds it takes on two cores, what it is; the first step that needs the sanitizers' build makes what they share, besides
shared=225
all=(
  "random_calls 20 100,000 random calls of the Python package"
  "dask 30 a sweep on a cluster of processes, one of them killed"
  "box 200 Open MPI on networks of namespaces, beside what is predicted"
  "threads 150 thread sanitizer"
  "others_1 160 the documentation site, pyright and stubtest, programs that must not compile by the other compiler, kernels by the CUDA compiler, the library as an archive"
  "others_2 130 the benchmark, every option of plan, explore, need and project"
  "page_1 130 every second file of the page through the front end of emscripten"
  "page_2 130 the other files of the page"
  "tidy 300 clang-tidy"
  "headers 260 every public header compiled alone"
  "alone_1 170 every second source compiled by itself, warnings as errors"
  "alone_2 170 the other sources"
  "consumer 150 the library compiled in a project of its own"
  "accuracy 190 the errors of collectives by fits that have not seen them, and the copies of the sources"
  "training 420 the errors of training steps by fits that have not seen them"
  "sanitizers_1 325 address and undefined behaviour sanitizers: the first third of the test programs"
  "sanitizers_2 350 address and undefined behaviour sanitizers: the second third of them"
  "sanitizers_3 300 address and undefined behaviour sanitizers: the last third of them"
  "sanitizers_4 360 address and undefined behaviour sanitizers: examples, commands of the contract, broken files"
  "sanitizers_5 190 address and undefined behaviour sanitizers: all other tests of the command"
  "coverage 80 lines of include/ and src/ that the tests run"
  "fuzz_1 145 every second fuzz target"
  "fuzz_2 145 the other fuzz targets"
)
# The checks that a day runs first when time is short, day after day; coverage needs all the sanitizers' tests and training makes 47 fits: only a full run has them.
turns=("alone_1 alone_2" "sanitizers_1 random_calls others_1" "box accuracy others_2" "sanitizers_2 page_1" "tidy headers consumer"
  "sanitizers_3 threads dask" "sanitizers_5 fuzz_1 fuzz_2" "sanitizers_4 page_2")

day_of() { # DATE: the number of a day
  local second
  second=$(LC_ALL=C date -u -d "$1" +%s) && echo $((second / 86400))
}
first_day() { # STEP DAY: the next day after that one on which the step comes first
  local ahead
  for ahead in "${!turns[@]}"; do
    [[ " ${turns[($2 + 1 + ahead) % ${#turns[@]}]} " == *" $1 "* ]] && LC_ALL=C date -u -d "@$((($2 + 1 + ahead) * 86400))" '+%A, %Y-%m-%d'
  done
}
in_turn() { # DAY: the steps, those of its turn first
  local ahead words=""
  for ahead in "${!turns[@]}"; do words+=" ${turns[($1 + ahead) % ${#turns[@]}]}"; done
  echo "$words"
}
described() { # STEP: its seconds and what it is
  local entry
  for entry in "${all[@]}"; do [ "${entry%% *}" = "$1" ] && echo "${entry#* }"; done
}
about() { # STEP: its seconds, with what the sanitizers' build shares where that is not there yet
  local seconds words
  read -r seconds words <<<"$(described "$1")"
  [[ "$1" =~ ^(sanitizers|fuzz)_ && "$have_shared" = no ]] && seconds=$((seconds + shared))
  echo "$seconds"
}
left_out() { echo "left out   $1: takes about $2 s, $3 s are left; comes first on $(first_day "$1" "$today")"; }

have_shared=no
steps=()
failed=0
if [ "${1:-}" = --plan ]; then
  today=$(day_of "${2:-today}") || exit 2
  left=${FABRICOST_CHECK_SECONDS:-720}
  echo "long checks of $(LC_ALL=C date -u -d "@$((today * 86400))" '+%A, %Y-%m-%d'), $left s given:"
  for name in $(in_turn "$today"); do
    needs=$(about "$name")
    if [ "$left" -lt "$needs" ]; then
      left_out "$name" "$needs" "$left"
      continue
    fi
    echo "runs       $name, about $needs s: $(described "$name" | cut -d' ' -f2-)"
    left=$((left - needs))
    [[ "$name" =~ ^(sanitizers|fuzz)_ ]] && have_shared=yes
  done
  echo "left out   coverage: counts what all the sanitizers' tests ran; training: makes 47 fits; ./quickstart check has both"
  exit
fi

today=$(day_of today)
if [ -n "${FABRICOST_CHECK_SECONDS:-}" ]; then
  read -ra chosen <<<"$(in_turn "$today")"
else
  read -ra chosen <<<"${all[*]%% *}"
  export FABRICOST_FUZZ_SECONDS=${FABRICOST_FUZZ_SECONDS:-60}  # nobody waits
fi
for word in "$@"; do
  [[ " ${all[*]%% *} " == *" $word"[\ _]* ]] || { echo "run.sh: \"$word\" is no step; there are: ${all[*]%% *}" >&2 && exit 2; }
done
has_shared() { [ -f "$sanitized/src/core/libfabricost_core.a" ] && have_shared=yes; }
has_shared
[ -d "$sanitized" ] && { [ $# = 0 ] || [[ " $* " == *" sanitizers "* ]]; } && find "$sanitized" -name '*.gcda' -delete  # coverage counts anew

for name in "${chosen[@]}"; do
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* && " $* " != *" ${name%_*} "* ]]; then continue; fi
  left=$((${FABRICOST_CHECK_SECONDS:-86400} - SECONDS + began))
  needs=$(about "$name")
  if [ "$name" = coverage ] && [[ $# = 0 && $(grep -c '^passed     sanitizers_' <<<"$(printf '%s\n' "${steps[@]}")") -lt 5 ]]; then
    steps+=("left out   coverage: counts what all the sanitizers' tests ran, and they did not all pass")
    continue
  fi
  if [ "$left" -lt "$needs" ]; then
    steps+=("$(left_out "$name" "$needs" "$left")")
    continue
  fi
  printf '\n== %s (%s)\n' "$(described "$name" | cut -d' ' -f2-)" "$name"
  start=$SECONDS
  "$name" &
  child=$!
  (
    sleep "$left"
    kill -TERM -- "-$child" 2>/dev/null
  ) &
  watch=$!
  disown "$watch"  # it is killed below; no word of that
  wait "$child"
  status=$?
  kill -- "-$watch" 2>/dev/null
  took=$((SECONDS - start))
  has_shared
  if [ "$status" = 0 ]; then
    steps+=("passed     $name, $took s")
  elif [ "$took" -ge "$left" ]; then
    steps+=("unfinished $name: stopped after $took s, when the time given was up; comes first on $(first_day "$name" "$today")")
  else
    steps+=("FAILED     $name, $took s, exit status $status")
    failed=1
  fi
done

printf '\n== long checks, %s s\n' "$((SECONDS - began))"
printf '%s\n' "${steps[@]}"
exit "$failed"
