#include <fabricost/plan/serving/certainty.hpp>

#include <cmath>

namespace fabricost::plan {

ServingCertainty certainty_of(const ServingQuestion& q, const PricedServing& p) {
  ServingCertainty out;
  const MeasuredLoads& measured = q.stack.measured;
  double doublings = 0;
  const auto compare = [&](double value, double max, const char* what) {
    if (max <= 0 || value <= max) return;
    doublings += std::log2(value / max);
    out.extrapolated.emplace_back(what);
  };
  compare(p.time.running / p.engine.gpus(), measured.sequences, "sequences");
  compare(q.isl, measured.prompt, "prompts");
  compare(q.osl, measured.answer, "answers");
  const double beyond = beyond_spread * doublings;
  out.ttft = interval_around(p.time.ttft, std::hypot(q.stack.spread_ttft, beyond));
  out.tpot = interval_around(p.time.tpot, std::hypot(q.stack.spread_tpot, beyond));
  const double answer = q.osl > 1 ? q.osl : 0, predicted = p.time.ttft + answer * p.time.tpot;
  out.rate = {p.tokens_per_s_per_gpu * predicted / (out.ttft.second + answer * out.tpot.second),
              p.tokens_per_s_per_gpu * predicted / (out.ttft.first + answer * out.tpot.first)};
  return out;
}

}  // namespace fabricost::plan
