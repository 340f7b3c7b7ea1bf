#pragma once
/// \file measurements.hpp
/// Where the bulk tables of measurements are: beside the source tree, or where FABRICOST_MEASUREMENTS says.

#include <catch.hpp>

#include <cstdlib>
#include <filesystem>

namespace fabricost::test {

/// The folder; empty, with the reason printed, when it is not there.
inline std::filesystem::path measurements() {
  const char* given = std::getenv("FABRICOST_MEASUREMENTS");
  const std::filesystem::path path =
      given != nullptr ? std::filesystem::path(given) : std::filesystem::path(FABRICOST_SOURCE_DIR) / ".." / "shared" / "measurements";
  if (std::filesystem::is_directory(path)) return path;
  WARN("skipped: no measurements at " << path.string() << "; set FABRICOST_MEASUREMENTS to their folder");
  return {};
}

}  // namespace fabricost::test
