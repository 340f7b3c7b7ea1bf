#pragma once
/// \file plan_text.hpp
/// Plans of training, serving and reinforcement learning as text.

#include "cli/runner.hpp"

#include <fabricost/answers/plan.hpp>
#include <fabricost/answers/rl.hpp>
#include <fabricost/answers/serve.hpp>

#include <string>

namespace fabricost::cli {

[[nodiscard]] std::string text_of(const PlanAnswer& answer, const Terminal& terminal);
[[nodiscard]] std::string text_of(const ServeAnswer& answer, const Terminal& terminal);
[[nodiscard]] std::string text_of(const RlAnswer& answer, const Terminal& terminal);

}  // namespace fabricost::cli
