#pragma once
/// \file machine_file.hpp
/// The machine beside the points, as YAML: docs/reference/measured-files.md says what each key means.

#include "measure/measure.hpp"

#include <string>

namespace fabricost::measure {

/// What the file says besides the machine and what came of measuring it.
struct RunText {
  std::string date{};     ///< "2026-01-31T12:00:00Z"
  std::string version{};  ///< of fabricost
  std::string points{};   ///< file name of the CSV
  std::string system{}, system_because{};
  double budget = 0;  ///< seconds
  int processes = 1, nodes = 1;
};

[[nodiscard]] std::string machine_yaml(const Machine& machine, const Measured& measured, const RunText& run);

}  // namespace fabricost::measure
