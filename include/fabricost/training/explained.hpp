#pragma once
/// \file explained.hpp
/// The parts of a step of a layout, by the functions that price it: kernels by kind; every collective, with how often a rank of the
/// fullest stage needs it; and the layout that practitioners would take.
///
///   total of a collective   count x seconds of one; the step's term is the part that other work does not hide

#include <fabricost/training/plan.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace fabricost {

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
  double products = 0, attention = 0, scan = 0, element = 0, adapters = 0, repeated = 0, head = 0;
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

/// The layout by the rule that practitioners state (Narayanan et al., arXiv 2104.04473, takeaways 1 and 2, for dense models: tensor ranks
/// up to the GPUs of a node until the model fits, then the fewest stages; Megatron-Core's guide to mixtures of experts: experts spread over
/// the NVLink domain and no tensor ranks), with one sequence a microbatch and a distributed optimizer; nothing where none fits.
[[nodiscard]] std::optional<PricedLayout> usual_layout(const TrainingQuestion& question, const System& system);

}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/training/explained-inl.hpp>
#endif
