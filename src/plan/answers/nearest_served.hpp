#pragma once
/// Deployments for other questions, which read what is answered of too many requests. Private.

#include <fabricost/plan/answers/serve.hpp>

namespace fabricost::plan {

/// The answer; where more requests arrive than any deployment answers within the limits, the one that answers most of them alone.
[[nodiscard]] ServeAnswer nearest_served(const ServeRequest& asked);

}  // namespace fabricost::plan
