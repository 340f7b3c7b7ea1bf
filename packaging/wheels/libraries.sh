#!/usr/bin/env bash
# The libraries that a wheel carries, static, at the place where pyproject.toml's [tool.cibuildwheel] looks for them: those of vcpkg.json.
#   packaging/wheels/libraries.sh FOLDER        (cibuildwheel calls it once per machine; TRIPLET names the target as vcpkg does)
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${1:?"libraries.sh: name the folder to install into"}
release=2025.06.13  # of vcpkg: fixes the version of every library
command -v yum >/dev/null && yum install -y -q zip unzip  # manylinux; vcpkg unpacks with them
[ -d "$folder/vcpkg" ] || git clone -q --depth 1 --branch "$release" https://github.com/microsoft/vcpkg "$folder/vcpkg"
"$folder/vcpkg/bootstrap-vcpkg.sh" -disableMetrics
"$folder/vcpkg/vcpkg" install --x-manifest-root=packaging/vcpkg/fabricost --x-install-root="$folder/installed" \
  --triplet "${TRIPLET:?"libraries.sh: TRIPLET is not set (x64-linux, arm64-linux, arm64-osx, ...)"}" --allow-unsupported --clean-after-build
# one name for all machines; a copy, since a link is not to be had everywhere
rm -rf "$folder/target" && cp -R "$folder/installed/$TRIPLET" "$folder/target"
