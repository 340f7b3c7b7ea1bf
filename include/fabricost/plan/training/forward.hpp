#pragma once
/// \file forward.hpp
/// The forward passes alone of a training step's sequences, as log-probabilities of given tokens need them: the step
/// without its exchange of data, accumulation and optimizer, times the share of the forward in its layers,
///
///   (layers F + head / 3) / (layers (F + B + W) + head)
///
/// which is the share of a pipeline's bubble, too.

#include <fabricost/plan/training/question.hpp>

namespace fabricost::plan {

/// Seconds. \throws as layer_times
[[nodiscard]] double forward_seconds(const TrainingQuestion& q, const System& system, const PricedLayout& priced);

}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/training/forward-inl.hpp>
#endif
