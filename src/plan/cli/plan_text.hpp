#pragma once
/// Plans of training, serving and reinforcement learning as text.

#include "cli/page.hpp"

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/answers/serve.hpp>

#include <string>
#include <vector>

namespace fabricost::cli {

/// A warning of keys of a model's config.json that may say more of its shape; empty: there are none.
[[nodiscard]] std::string unread_text(const Model& model);

/// At most `top` rows of a Pareto front, spread evenly over it from one end to the other.
template <class Row>
[[nodiscard]] std::vector<Row> spread_over(const std::vector<Row>& front, int top) {
  const auto size = front.size(), most = static_cast<std::size_t>(top);
  if (size <= most) return front;
  std::vector<Row> out;
  for (std::size_t i = 0; i < most; ++i) out.push_back(front[most == 1 ? 0 : (2 * i * (size - 1) + most - 1) / (2 * (most - 1))]);
  return out;
}
/// "10 of 23, spread over the front: --top 23 prints all"; empty: all are shown.
[[nodiscard]] inline std::string spread_text(std::size_t size, int top) {
  return size <= static_cast<std::size_t>(top) ? "" : fmt::format("{} of {}, spread over the front: --top {} prints all.", top, size, size);
}

void text_of(Page& page, const PlanAnswer& answer);
void text_of(Page& page, const ServeAnswer& answer);
void text_of(Page& page, const RlAnswer& answer);

}  // namespace fabricost::cli
