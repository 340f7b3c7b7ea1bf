#!/bin/sh
# Measures this machine, calibrates and compares it, and keeps the points with the machine's description in data/measurements.
#
#   examples/measure_and_calibrate.sh NAME [options of fabricost measure]
#   examples/measure_and_calibrate.sh h200 --quick
#
# FABRICOST names the command where it is not build/fabricost. An earlier measurement of that NAME is not overwritten.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
fabricost=${FABRICOST:-$root/build/fabricost}
if [ $# -lt 1 ]; then
  echo "usage: $0 NAME [options of fabricost measure]; NAME of what was measured, as in h200 or two-l40s" >&2
  exit 2
fi
name=$1
shift
kept=$root/data/measurements/$name
for file in "$kept.csv" "$kept.machine.yaml" "$kept.system.yaml"; do
  if [ -e "$file" ]; then
    echo "$0: $file is there already; choose another NAME, or move it away" >&2
    exit 2
  fi
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$fabricost" measure "$@" -o "$folder/$name.csv"
"$fabricost" calibrate --from "$folder/$name.csv" -o "$folder/$name.system.yaml"
mv "$folder/$name.csv" "$folder/$name.machine.yaml" "$folder/$name.system.yaml" "$root/data/measurements/"
echo "kept: $kept.csv, .machine.yaml and .system.yaml; fabricost machine $kept.system.yaml"
