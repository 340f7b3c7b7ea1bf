#pragma once
/// \file terms-inl.hpp
/// Bodies of terms.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/economics/terms.hpp>
#include <fabricost/plan/serving/plan.hpp>
#include <fabricost/plan/training/step.hpp>

#include <algorithm>

namespace fabricost::plan {

FABRICOST_BODY std::vector<TimeTerm> terms_of(const StepTime& t) {
  std::vector<TimeTerm> out{{"compute", t.compute},
                            {"layer_floor", t.floor},
                            {"tensor", t.tensor},
                            {"context", t.context},
                            {"expert", t.expert},
                            {"hand_over", t.pipeline},
                            {"bubble", t.bubble},
                            {"data", t.data},
                            {"accumulation", t.accumulation},
                            {"optimizer", t.optimizer},
                            {"stragglers", t.stragglers}};
  if (t.offload > 0) out.push_back({"offload", t.offload});
  return out;
}

FABRICOST_BODY double share_of(const TimeTerm& term, const std::vector<TimeTerm>& all) {
  double sum = 0, above = 0;
  for (const TimeTerm& t : all) sum += t.seconds, above += std::max(0.0, t.seconds);
  const double whole = std::max(sum, above);
  return whole > 0 ? term.seconds / whole : 0;
}

FABRICOST_BODY std::vector<TimeTerm> first_token_terms(const ServingTime& t) {
  return {{"prompt", t.prompt}, {"queue", t.queue}, {"transfer", t.transfer}, {"framework", t.ttft - t.prompt - t.queue - t.transfer}};
}

FABRICOST_BODY std::vector<TimeTerm> terms_of(const ServingQuestion& q, const PricedServing& p) {
  if (p.time.tpot == 0) return {};  // answers of one token
  const ForwardTime& f = p.time.decode;
  const double scale = q.stack.stretch / q.stack.tokens_per_step();
  std::vector<TimeTerm> out{{"weights_and_products", f.products * scale},
                            {"attention", f.attention * scale},
                            {"experts", f.experts * scale},
                            {"elementwise", f.elementwise * scale},
                            {"head", f.head * scale},
                            {"kernels", f.kernels * scale},
                            {"tensor", f.tensor * scale},
                            {"exchange", f.exchange * scale},
                            {"stages", f.stages * scale}};
  if (p.time.host > 0) out.push_back({"host_memory", p.time.host});
  double known = p.time.interference;
  for (const TimeTerm& t : out) known += t.seconds;
  if (q.stack.overlaps) {  // the shorter of the two turns is hidden
    const double hidden = (f.seconds() - pass_seconds(f, q.stack)) * scale;
    out.push_back({"hidden", -hidden});
    known -= hidden;
  }
  out.push_back({"framework", p.time.tpot - known});
  out.push_back({"prompts_of_others", p.time.interference});
  return out;
}

}  // namespace fabricost::plan
