#pragma once
/// Folder of the bulk tables of measurements: beside the source tree, or FABRICOST_MEASUREMENTS.

#include "support/skipped.hpp"

#include <catch.hpp>

#include <cstdlib>
#include <filesystem>

namespace fabricost::test {

/// The folder. If it does not exist the test case counts as skipped: the path is empty and the case returns.
/// Only cases tagged [measurements] may use it, since ctest runs those separately (unit.FOLDER.measurements)
/// and shows them as skipped.
inline std::filesystem::path measurements() {
  INFO("a test case that reads the measurements carries the tag [measurements]");
  REQUIRE(running_case_has("[measurements]"));
  const char* given = std::getenv("FABRICOST_MEASUREMENTS");
  const std::filesystem::path path =
      given != nullptr ? std::filesystem::path(given) : std::filesystem::path(FABRICOST_SOURCE_DIR) / ".." / "shared" / "measurements";
  if (std::filesystem::is_directory(path)) return path;
  skip_case("no measurements at " + path.string() + "; set FABRICOST_MEASUREMENTS to their folder");
  return {};
}

}  // namespace fabricost::test
