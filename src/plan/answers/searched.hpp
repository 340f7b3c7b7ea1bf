#pragma once
/// Plans for other questions, which read their layouts alone. Private.

#include <fabricost/plan/answers/plan.hpp>

namespace fabricost::plan {

/// The answer without the advice on a layout that fits and mostly waits, for which as many as ten more jobs are searched.
[[nodiscard]] PlanAnswer searched(const PlanRequest& request);

}  // namespace fabricost::plan
