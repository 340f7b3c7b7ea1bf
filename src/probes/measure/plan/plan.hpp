#pragma once
/// The measurements for a machine in the order of their value: the few points that determine the model most
/// (fabricost/calibrate/probes.hpp), then the curve of every probe over size, then forced choices, other
/// types and the other GPUs.

#include "measure/device.hpp"
#include "measure/plan/sizes.hpp"

#include <fabricost/probes/measure/row.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace fabricost::probes::measure {

struct PlanOptions {
  bool quick = false;
  std::vector<std::string> only{};     ///< groups, words, collectives; empty: everything
  std::vector<int> gpus{};             ///< empty: all visible ones
  std::vector<std::uint64_t> sizes{};  ///< the only sizes, for cases that have one; empty: the plan's own, refined where curves bend
};

/// One case over size: sizes to measure in any case, and a range to refine.
struct Step {
  Case what{};  ///< its bytes are set during the measurement
  std::vector<std::uint64_t> sizes{};
  bool refine = false;     ///< between the smallest and the largest of `sizes`
  std::uint64_t unit = 1;  ///< sizes are multiples of it
  double weight = 1;       ///< share of the time
  int stage = 0;           ///< lower stages first
};

struct Plan {
  std::vector<Step> steps;  ///< in order
  std::vector<NotMeasured> not_measured;
  BendRules bends{};
};

/// "all_reduce on 8 GPUs, half, ring ll". Two cases that differ in more than size have different titles.
[[nodiscard]] std::string title_of(const Case& what);
/// "all_reduce on 8 GPUs, half, ring ll, 64 MiB"; without the size if the case has none.
[[nodiscard]] std::string title_with_size(const Case& what);

/// \throws RequestError for an unknown word in `only`, or a GPU that does not exist
[[nodiscard]] Plan plan(const Machine& machine, int processes, const PlanOptions& options);

}  // namespace fabricost::probes::measure
