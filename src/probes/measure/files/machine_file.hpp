#pragma once
/// \file machine_file.hpp
/// Writes the machine beside the points, as YAML; docs/reference/measured-files.md describes the keys.

#include "measure/measure.hpp"

#include <string>

namespace fabricost::probes::measure {

/// Contents of the file besides the machine and the results.
struct RunText {
  std::string date{};     ///< "2026-01-31T12:00:00Z"
  std::string version{};  ///< of fabricost
  std::string points{};   ///< file name of the CSV
  std::string system{}, system_because{};
  double budget = 0;  ///< seconds
  int processes = 1, nodes = 1;
};

[[nodiscard]] std::string machine_yaml(const Machine& machine, const Measured& measured, const RunText& run);

}  // namespace fabricost::probes::measure
