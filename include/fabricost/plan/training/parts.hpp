#pragma once
/// The parts of a step of a layout, by the functions that price it: kernels by kind, and every collective, with how often a rank of the
/// fullest stage needs it.
///
///   total of a collective   count x seconds of one; the step's term is the part that other work does not hide

#include <fabricost/plan/training/step.hpp>

#include <vector>

namespace fabricost::plan {

/// A collective of a step, as a rank of the fullest stage takes part in it.
struct StepExchange {
  StepGroup group = StepGroup::tensor;
  Collective collective = Collective::all_reduce;
  Placement at;
  double bytes = 0, seconds = 0, count = 0;
  [[nodiscard]] double total() const { return count * seconds; }
};

/// Seconds of a step's kernels on the fullest stage; they sum to StepTime::compute.
struct StepKernels {
  double products = 0, attention = 0, scan = 0, element = 0, adapters = 0, repeated = 0, head = 0, vision = 0;
};

struct StepParts {
  StepKernels kernels;
  std::vector<StepExchange> exchanges;
  int layers = 0;  ///< of the fullest stage
  double microbatches = 1;
};

/// \throws RequestError as step_time
[[nodiscard]] StepParts parts_of_step(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                      GroupCosts& costs);

/// Half width, in log, of the 5-95 % interval that the predictions of a step's exchanges give it: those of what nothing hides, each by its
/// share of the step.
[[nodiscard]] double network_width(const StepTime& time, const StepParts& parts, GroupCosts& costs);

}  // namespace fabricost::plan
