#pragma once
/// Plans and deployments for other questions, which ask less of a search than its own command. Private.

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/serve.hpp>

namespace fabricost::plan {

/// The answer without the advice on a layout that fits and mostly waits, for which as many as ten more jobs are searched.
[[nodiscard]] PlanAnswer searched(const PlanRequest& request);

/// The answer; where more requests arrive than any deployment answers within the limits, the one that answers most of them alone.
[[nodiscard]] ServeAnswer nearest_served(const ServeRequest& asked);

}  // namespace fabricost::plan
