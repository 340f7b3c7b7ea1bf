#include <fabricost/plan/serving/plan.hpp>

#include "serving/search.hpp"

namespace fabricost::plan {

namespace detail {

constexpr double longest_wait = 86400;  // s

/// Asks with the usual limit on TTFT, doubled until a deployment keeps it. Of a given load it is no question which is best.
template <class Ask>
[[nodiscard]] auto within_usual(const ServingQuestion& question, Ask&& ask) {
  if (question.ttft > 0 || question.usual_ttft <= 0 || question.batch || question.concurrency > 0) return ask(question);
  ServingQuestion limited = question;
  limited.ttft = question.usual_ttft;
  if (auto found = ask(limited); !found.empty()) return found;
  auto any = ask(question);
  if (any.empty()) return any;
  for (limited.ttft *= 2; limited.ttft < longest_wait; limited.ttft *= 2)
    if (auto found = ask(limited); !found.empty()) return found;
  return any;
}

}  // namespace detail

ServingPlan plan_serving(const System& system, const ServingQuestion& question) {
  check(question, system);
  return detail::within_usual(question, [&](const ServingQuestion& q) {
    ServingPlan out = detail::ServingSearch{q, system}.run();
    out.ttft = q.ttft;
    return out;
  });
}

std::vector<PricedServing> serving_pareto(const System& system, const ServingQuestion& question) {
  check(question, system);
  return detail::within_usual(question, [&](const ServingQuestion& q) { return detail::ServingSearch{q, system}.pareto(); });
}

std::vector<EngineLayout> engine_layouts(const System& system, const ServingQuestion& question) {
  check(question, system);
  return detail::ServingSearch{question, system}.layouts();
}

}  // namespace fabricost::plan
