#!/usr/bin/env bash
# The libraries that a wheel contains, static, in FOLDER/target, where build.sh and [tool.cibuildwheel] of pyproject.toml look for them.
#   packaging/wheels/libraries.sh FOLDER
set -euo pipefail
mkdir -p "${1:?"libraries.sh: name the folder to install into"}"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
if [ "${OS:-}" = Windows_NT ]; then  # no configure scripts: vcpkg, which GitHub's machines have
  vcpkg install --x-manifest-root=packaging/vcpkg/fabricost --x-install-root="$folder/installed" --triplet x64-windows-static-md --allow-unsupported
  rm -rf "$folder/target" && cp -R "$folder/installed/x64-windows-static-md" "$folder/target"
  exit
fi
command -v yum >/dev/null && yum install -y -q tcl patch  # manylinux
for tool in cmake tclsh patch make; do
  command -v $tool >/dev/null || { echo "libraries.sh: $tool is missing (Debian: apt-get install cmake tcl patch make)" >&2; exit 2; }
done
cmake -S packaging/wheels/libraries -B "$folder/libraries" -DCMAKE_INSTALL_PREFIX="$folder/target"
cmake --build "$folder/libraries" -j "$(getconf _NPROCESSORS_ONLN)"
