#pragma once
/// \file plan_text.hpp
/// Plans of training, serving and reinforcement learning as text.

#include "cli/page.hpp"

#include <fabricost/answers/plan.hpp>
#include <fabricost/answers/rl.hpp>
#include <fabricost/answers/serve.hpp>

namespace fabricost::cli {

void text_of(Page& page, const PlanAnswer& answer);
void text_of(Page& page, const ServeAnswer& answer);
void text_of(Page& page, const RlAnswer& answer);

}  // namespace fabricost::cli
