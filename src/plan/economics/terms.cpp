#include <fabricost/fields/field.hpp>
#include <fabricost/plan/economics/terms.hpp>
#include <fabricost/plan/serving/plan.hpp>
#include <fabricost/plan/training/step.hpp>

#include <algorithm>
#include <utility>

namespace fabricost::plan {

AnswerTable<StepTerm> StepTerm::fields() {
  using A = StepTerm;
  return {gives(&A::name, "name", "name", "What it is."), gives(&A::time, "time_s", "seconds", "Its share of the time, s.")};
}

std::vector<StepTerm> terms_of(const StepTime& t) {
  std::vector<StepTerm> out{{"compute", units::s(t.compute)},
                            {"layer_floor", units::s(t.floor)},
                            {"tensor", units::s(t.tensor)},
                            {"context", units::s(t.context)},
                            {"expert", units::s(t.expert)},
                            {"hand_over", units::s(t.pipeline)},
                            {"bubble", units::s(t.bubble)},
                            {"data", units::s(t.data)},
                            {"accumulation", units::s(t.accumulation)},
                            {"optimizer", units::s(t.optimizer)},
                            {"stragglers", units::s(t.stragglers)}};
  for (const auto& [name, seconds] :
       {std::pair{"offload", t.offload}, std::pair{"tables", t.tables}, std::pair{"rows", t.rows}, std::pair{"frozen_model", t.frozen},
        std::pair{"input", t.input}, std::pair{"evaluation", t.evaluation}})
    if (seconds > 0) out.push_back({name, units::s(seconds)});
  return out;
}

double share_of(Time part, const std::vector<StepTerm>& all) {
  double sum = 0, above = 0;
  for (const StepTerm& t : all) sum += t.seconds(), above += std::max(0.0, t.seconds());
  const double whole = std::max(sum, above);
  return whole > 0 ? part.value() / whole : 0;
}

StepTerm largest(const std::vector<StepTerm>& terms) {
  StepTerm out;
  for (const StepTerm& term : terms)
    if (out.name.empty() || term.time > out.time) out = term;
  return out;
}

std::vector<StepTerm> first_token_terms(const ServingTime& t) {
  std::vector<StepTerm> out{{"prompt", units::s(t.prompt)}, {"queue", units::s(t.queue)}, {"transfer", units::s(t.transfer)}};
  if (t.reload > 0) out.push_back({"reload", units::s(t.reload)});
  out.push_back({"framework", units::s(t.ttft - t.prompt - t.queue - t.transfer - t.reload)});
  return out;
}

std::vector<StepTerm> terms_of(const ServingQuestion& q, const PricedServing& p) {
  if (p.time.tpot == 0) return {};  // answers of one token
  const ForwardTime& f = p.time.decode;
  const double scale = q.stack.stretch / q.stack.tokens_per_step();
  std::vector<StepTerm> out{{"weights_and_products", units::s(f.products * scale)},
                            {"attention", units::s(f.attention * scale)},
                            {"experts", units::s(f.experts * scale)},
                            {"elementwise", units::s(f.elementwise * scale)},
                            {"head", units::s(f.head * scale)},
                            {"kernels", units::s(f.kernels * scale)},
                            {"tensor", units::s(f.tensor * scale)},
                            {"exchange", units::s(f.exchange * scale)},
                            {"stages", units::s(f.stages * scale)}};
  if (p.time.host > 0) out.push_back({"host_memory", units::s(p.time.host)});
  double known = p.time.interference;
  for (const StepTerm& t : out) known += t.seconds();
  if (q.stack.overlaps) {  // the shorter of the two turns is hidden
    const double hidden = (f.seconds() - pass_seconds(f, q.stack)) * scale;
    out.push_back({"hidden", units::s(-hidden)});
    known -= hidden;
  }
  out.push_back({"framework", units::s(p.time.tpot - known)});
  // a decode worker reads no prompts: what arrives there waits for the step that runs
  out.push_back({p.apart ? "waiting_for_a_step" : "prompts_of_others", units::s(p.time.interference)});
  return out;
}

}  // namespace fabricost::plan
