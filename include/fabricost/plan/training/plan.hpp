#pragma once
/// \file plan.hpp
/// The layout that trains a model fastest on a machine. Request: question.hpp; search: search.hpp.

#include <fabricost/hardware/slice.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/search.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

namespace fabricost::plan {

/// The fastest layouts that fit, the plainest of those near the fastest first (plain.hpp). They use all GPUs and the batch given, unless
/// fewer GPUs are faster (or, where it is allowed, another batch trains more tokens a second): then more GPUs never make a step longer. On
/// torus slices the others stay idle in the slice of all GPUs. For a single named layout, its fastest variant even if it does not fit
/// (TrainingPlan::fits). Deterministic. \throws RequestError when no layout is possible, with the reason and
/// the nearest possible one; for a stack's factor that makes the step shorter than its products take at the
/// peak
[[nodiscard]] TrainingPlan plan_training(const TrainingQuestion& asked, const System& system);

}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/training/plan-inl.hpp>
#endif
