#pragma once
/// Plans of training, serving and reinforcement learning as text.

#include "cli/page.hpp"

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/answers/serve.hpp>

namespace fabricost::cli {

/// A warning of keys of a model's config.json that may say more of its shape; empty: there are none.
[[nodiscard]] std::string unread_text(const Model& model);

void text_of(Page& page, const PlanAnswer& answer);
void text_of(Page& page, const ServeAnswer& answer);
void text_of(Page& page, const RlAnswer& answer);

}  // namespace fabricost::cli
