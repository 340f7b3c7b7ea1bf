#pragma once
/// \file explained.hpp
/// The layout that practitioners would take.

#include <fabricost/plan/training/parts.hpp>
#include <fabricost/plan/training/plan.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace fabricost::plan {

/// The layout by the rule that practitioners state (Narayanan et al., arXiv 2104.04473, takeaways 1 and 2, for dense models: tensor ranks
/// up to the GPUs of a node until the model fits, then the fewest stages; Megatron-Core's guide to mixtures of experts: experts spread over
/// the NVLink domain and no tensor ranks), with one sequence a microbatch and a distributed optimizer; nothing where none fits.
[[nodiscard]] std::optional<PricedLayout> usual_layout(const TrainingQuestion& question, const System& system);

}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/training/explained-inl.hpp>
#endif
