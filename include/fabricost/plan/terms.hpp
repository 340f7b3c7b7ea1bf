#pragma once
/// \file terms.hpp
/// What a step or a token takes its time for, by name: the lists that tables, JSON and pictures show.

#include <fabricost/plan/serving.hpp>
#include <fabricost/workload/step.hpp>

#include <string_view>
#include <vector>

namespace fabricost {

/// One thing time is spent on, s.
struct TimeTerm {
  std::string_view name;
  double seconds = 0;
};

/// What a training step is made of; they sum to its time.
[[nodiscard]] inline std::vector<TimeTerm> terms_of(const StepTime& t) {
  return {{"compute", t.compute},    {"layer_floor", t.floor}, {"tensor", t.tensor}, {"context", t.context},     {"expert", t.expert},
          {"hand_over", t.pipeline}, {"bubble", t.bubble},     {"data", t.data},     {"optimizer", t.optimizer}, {"stack", t.stack}};
}

/// What a token of a served answer is made of; they sum to the time per token. What one half of a batch hides behind the other's work
/// (stacks that overlap) is the one negative term.
[[nodiscard]] inline std::vector<TimeTerm> terms_of(const ServingQuestion& q, const PricedServing& p) {
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
  double known = p.time.interference;
  for (const TimeTerm& t : out) known += t.seconds;
  if (q.stack.overlaps) {  // the smaller of the two halves' turns hides
    const double hidden = (f.seconds() - pass_seconds(f, q.stack)) * scale;
    out.push_back({"hidden", -hidden});
    known -= hidden;
  }
  out.push_back({"framework", p.time.tpot - known});
  out.push_back({"prompts_of_others", p.time.interference});
  return out;
}

}  // namespace fabricost
