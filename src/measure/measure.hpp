#pragma once
/// \file measure.hpp
/// Measuring a plan within a budget of time: points in, rows out, and what was not measured and why.
///
/// Every step has a share of the time that is left, by its weight; what it does not use flows on to the steps behind it, and once
/// all have had theirs, what is left goes to those that were cut short. A point whose cost, estimated from the size before it, does
/// not fit is listed as not measured. The first points of a plan are those worth most, so that a small budget is spent well.
///
/// A case that does not fit memory is tried at half its size. A case the machine cannot do, or whose result is wrong, is listed. A machine
/// that is lost, and an interrupt, end the run: what was measured until then stays.

#include "measure/files/rows.hpp"
#include "measure/plan/plan.hpp"
#include "measure/sample.hpp"

#include <functional>
#include <string>
#include <vector>

namespace fabricost::measure {

struct MeasureOptions {
  double budget = 120;  ///< seconds
  SampleRules sampling{};
  std::string source{}, system{};  ///< of the rows
  Clock now{};
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(const Row&)> point = [](const Row&) {};  ///< as soon as it is measured
  std::function<void(const Progress&)> progress = [](const Progress&) {};
};

struct Measured {
  std::vector<Row> rows;
  std::vector<NotMeasured> not_measured;
  std::vector<State> before, after;  ///< of each unit; empty where that was lost
  double seconds = 0;                ///< it took
  bool complete = true;
  std::string ended{};  ///< why it is not complete
};

/// \throws RequestError when the processes do not spread evenly over the nodes
[[nodiscard]] Measured measure(Device& device, const Machine& machine, const Plan& plan, const MeasureOptions& options);

}  // namespace fabricost::measure
