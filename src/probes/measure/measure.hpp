#pragma once
/// Measures a plan within a time budget; returns the rows, and the points not measured with the reason. Writes the machine beside the points,
/// as YAML; docs/reference/measured-files.md describes the keys.
///
/// Every step has a share of the remaining time by its weight. Unused time goes to the following steps, and
/// in the end to the steps that were cut short. A point whose estimated cost, from the previous size, does
/// not fit is listed as not measured. The first points of a plan are the most valuable.
///
/// A case that does not fit memory is tried at half its size. Cases that are unsupported or have a wrong
/// result are listed. A lost machine or an interrupt ends the run; earlier results are kept.

#include "measure/files/files.hpp"
#include "measure/plan/plan.hpp"
#include "measure/sample.hpp"

#include <functional>
#include <string>
#include <vector>

namespace fabricost::probes::measure {

struct MeasureOptions {
  double budget = 120;  ///< seconds
  SampleRules sampling{};
  std::string source{}, system{};  ///< of the rows
  Clock now{};
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(const Row&)> point = [](const Row&) {};  ///< called after each point
  std::function<void(const Progress&)> progress = [](const Progress&) {};
};

struct Measured {
  std::vector<Row> rows;
  std::vector<NotMeasured> not_measured;
  std::vector<State> before, after;  ///< of each unit; empty if it was lost
  double seconds = 0;                ///< duration
  bool complete = true;
  std::string ended{};  ///< the reason why it is incomplete
};

/// \throws RequestError when the processes cannot be divided evenly among the nodes
[[nodiscard]] Measured measure(Device& device, const Machine& machine, const Plan& plan, const MeasureOptions& options);

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
