#include <fabricost/plan/serving/certainty.hpp>

#include <algorithm>
#include <cmath>

namespace fabricost::plan {

AskedSpread spread_of(const ServingStack& stack, const AskedRun& asked) {
  AskedSpread out{{stack.spread_tpot, stack.spread_ttft}, {}};
  const auto widen = [&](const ServingSpread& by, const char* what) {
    out.spread = {std::hypot(out.spread.tpot, by.tpot), std::hypot(out.spread.ttft, by.ttft)};
    out.extrapolated.emplace_back(what);
  };
  const MeasuredRuns& measured = stack.measured;
  const std::vector<std::string>& models = measured.models;
  if (!models.empty() && std::find(models.begin(), models.end(), asked.model) == models.end()) widen(stack.unseen_model, "model");
  if (!models.empty() && asked.apart && !measured.apart) widen(stack.unseen_apart, "disaggregation");
  double doublings = 0;
  const auto compare = [&](double value, double max, const char* what) {
    if (max <= 0 || value <= max) return;
    doublings += std::log2(value / max);
    out.extrapolated.emplace_back(what);
  };
  compare(asked.sequences, measured.sequences, "sequences");
  compare(asked.prompt, measured.prompt, "prompts");
  compare(asked.answer, measured.answer, "answers");
  const double beyond = beyond_spread * doublings;
  out.spread = {std::hypot(out.spread.tpot, beyond), std::hypot(out.spread.ttft, beyond)};
  return out;
}

ServingCertainty certainty_of(const ServingQuestion& q, const PricedServing& p) {
  const auto [spread, extrapolated] = spread_of(q.stack, {q.model.name, p.apart, p.time.running / p.engine.gpus(), q.isl, q.osl});
  ServingCertainty out;
  out.extrapolated = extrapolated;
  out.ttft = interval_around(p.time.ttft, spread.ttft);
  out.tpot = interval_around(p.time.tpot, spread.tpot);
  const double answer = q.osl > 1 ? q.osl : 0, predicted = p.time.ttft + answer * p.time.tpot;
  out.rate = {p.tokens_per_s_per_gpu * predicted / (out.ttft.second + answer * out.tpot.second),
              p.tokens_per_s_per_gpu * predicted / (out.ttft.first + answer * out.tpot.first)};
  return out;
}

}  // namespace fabricost::plan
