#!/usr/bin/env bash
# The long checks, one step after another: what `./quickstart check` does once everything is installed.
#   tests/check/run.sh [STEP...]      all of them, or those named
# With FABRICOST_CHECK_SECONDS set, a step that no longer fits in that time is named and left out, and one that outlasts it is stopped and
# counts as not finished; neither is a failure. Closes with a line for every step and exit status 1 when one failed.
set -uo pipefail
set -m  # each step in a process group of its own, so that all of it can be stopped
cd "$(dirname "$0")/../.."
python="$PWD/.venv/bin/python"
jobs=$(nproc)
began=$SECONDS
budget=${FABRICOST_CHECK_SECONDS:-86400}
steps=()
failed=0

random_calls() {
  PYTHONPATH="$PWD/build/python" FABRICOST_RANDOM_CALLS=100000 "$python" -m pytest -q tests/python/test_arguments.py
}
dask() { PYTHONPATH="$PWD/build/python" "$python" tests/python/check_dask.py; }
# One build, by clang, several files at a time (a third of the time), serves the sanitizers, the coverage and the fuzz targets: every test
# runs in it but those that build or install other programs or time themselves. In such a build names that files keep to themselves meet: a
# redefinition is a name to make longer, or something that stands twice.
configured() { cmake --preset sanitized -DPython3_EXECUTABLE="$python" >/dev/null; }
sanitizers() {
  configured &&
    find build-sanitized -name '*.gcda' -delete &&
    cmake --build --preset sanitized -j "$jobs" &&
    ctest --preset sanitized -j "$jobs" \
      -E 'consumer|compile_fail|headers_alone|compile_time|mixed_versions|packaging.installed|fabric_in_a_box$|cli.measure|measure.mpi' &&
    ctest --preset sanitized -R 'cli.measure|measure.mpi' --repeat until-pass:2  # they keep to times, which these builds stretch
}
coverage() {
  local least=92
  [ -d "${FABRICOST_MEASUREMENTS:-../shared/measurements}" ] || least=0  # tests that read them were skipped
  "$python" tests/check/coverage.py build-sanitized --least "$least"
}
fuzz() { configured && FUZZ_BUILD=build-sanitized tests/fuzz/run.sh "${FABRICOST_FUZZ_SECONDS:-60}"; }
threads() {
  cmake --preset tsan -DPython3_EXECUTABLE="$python" >/dev/null &&
    cmake --build --preset tsan -j "$jobs" --target test_process &&
    ctest --preset tsan -R '^unit.process$'
}
tidy() { cmake --preset tidy >/dev/null && cmake --build --preset tidy -j "$jobs"; }

# name, seconds it takes on two cores, what it is
all=(
  "random_calls 20 100,000 random calls of the Python package"
  "dask 30 a sweep on a cluster of processes, one of them killed"
  "threads 150 thread sanitizer"
  "tidy 300 clang-tidy"
  "sanitizers 1300 address and undefined behaviour sanitizers over all tests"
  "coverage 80 lines of include/ and src/ that the tests run"
  "fuzz 1200 a minute of every fuzz target"
)

for entry in "${all[@]}"; do
  read -r name estimate what <<<"$entry"
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  left=$((budget - SECONDS + began))
  if [ "$name" = coverage ] && [[ "${steps[*]}" == *" sanitizers: "* ]]; then
    steps+=("left out   coverage: counts what the sanitizers' tests ran, which were not all run")
    continue
  fi
  if [ "$left" -lt "$estimate" ]; then
    steps+=("left out   $name: takes about $estimate s, $left s are left")
    continue
  fi
  printf '\n== %s (%s)\n' "$what" "$name"
  start=$SECONDS
  "$name" &
  child=$!
  (
    sleep "$left"
    kill -TERM -- "-$child" 2>/dev/null
  ) &
  watch=$!
  wait "$child"
  status=$?
  kill -- "-$watch" 2>/dev/null
  took=$((SECONDS - start))
  if [ "$status" = 0 ]; then
    steps+=("passed     $name, $took s")
  elif [ "$took" -ge "$left" ]; then
    steps+=("unfinished $name: stopped after $took s, when the time given was up")
  else
    steps+=("FAILED     $name, $took s, exit status $status")
    failed=1
  fi
done

printf '\n== long checks, %s s\n' "$((SECONDS - began))"
printf '%s\n' "${steps[@]}"
exit "$failed"
