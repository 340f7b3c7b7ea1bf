#pragma once
/// Files that exist for the duration of a test.

#include "support/folder.hpp"

#include <fabricost/error.hpp>
#include <fabricost/readings/points.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace fabricost::test {

using namespace observe;

using support::Folder;

/// A log that does not name its machine.
inline const PointDefaults h100{.system = "dgx-h100"};

/// Points of a file with that text.
inline Points points_in(const std::string& text, const PointDefaults& otherwise = {}, const std::string& name = "file.txt") {
  const Folder folder;
  return read_points(folder.write(name, text), otherwise);
}

/// The message that refuses a file with that text; empty if it is read.
inline std::string refusal(const std::string& text, const PointDefaults& otherwise = {}, const std::string& name = "file.txt") {
  const Folder folder;
  try {
    (void)read_points(folder.write(name, text), otherwise);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// The first fault of a file with that text.
inline Issue first_fault(const std::string& text, const PointDefaults& otherwise = {}) {
  const Folder folder;
  try {
    (void)read_points(folder.write("file.csv", text), otherwise);
  } catch (const SpecError& error) {
    return error.issues().front();
  }
  return {};
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline int skipped_rows(const Points& points, const std::string& reason) {
  for (const Skipped& s : points.skipped)
    if (contains(s.reason, reason)) return s.rows;
  return 0;
}

}  // namespace fabricost::test
