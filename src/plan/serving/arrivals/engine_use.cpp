/// What the engines of a found deployment run, and what drafts and copies of experts bring them.

#include "serving/arrivals/deployed.hpp"

#include <fabricost/plan/serving/offload.hpp>

#include <algorithm>
#include <cmath>

namespace fabricost::plan {

using detail::engine_of;
using detail::most_sequences;

double most_sequences_of(const System& system, const ServingQuestion& question, const PricedServing& deployment) {
  if (question.batch) return static_cast<double>(*question.batch);
  ServingMachine machine(system, question.constants, question.stack.kernels);
  const Engine engine = engine_of(question, deployment, machine);
  const double replicas = deployment.engine.attention_dp;
  return replicas * std::clamp(std::floor(room_for(engine, question.stack, question.isl + question.osl) / replicas), 1.0, most_sequences);
}

ExpertBalance expert_balance(const System& system, const ServingQuestion& question, const PricedServing& deployment) {
  ServingMachine machine(system, question.constants, question.stack.kernels);
  const Engine engine = engine_of(question, deployment, machine);
  const double held = machine.held_experts(question.model, deployment.engine.ep), rows = 1 + question.stack.drafts;
  return {.fullest = engine.fullest(rows * std::max(1.0, deployment.time.running / deployment.engine.attention_dp)),
          .copies = engine.expert_bytes() * (held - question.model.experts) / held,
          .anew = kv_link(system, 1, deployment.engine.ranks() <= system.domain).seconds(engine.expert_bytes())};
}

double draft_cost(const Model& model) {
  const double all = parameters_of(model).multiplied, head = static_cast<double>(model.hidden) * model.vocab;
  return ((all - head) / model.layers + head) / all;
}

DraftUse use_of_drafts(const System& system, const ServingQuestion& question, const PricedServing& deployment) {
  ServingMachine machine(system, question.constants, question.stack.kernels);
  const Engine engine = engine_of(question, deployment, machine);
  const double each = draft_cost(question.model), longer = 1 + question.stack.drafts * each, context = question.isl + question.osl;
  ServingStack without = question.stack;
  without.drafts = 0;
  without.stretch /= longer;
  without.prefill *= longer / (1 + each);
  const auto at = [&](const ServingStack& stack, double n) {  // requests or tokens per second
    const Engine here = question.host.weights + question.host.cache > 0 ? engine.with(min_host(engine, stack, n, context, question.host)) : engine;
    return deployment.apart ? 1 / decode_step(here, stack, n, question.isl + question.osl / 2).per_token
                            : aggregated(here, stack, {.isl = question.isl, .osl = question.osl, .concurrency = n, .cached = question.cached()}).rate;
  };
  const auto gain = [&](double n) { return at(question.stack, n) / at(without, n); };
  const double most = std::min(std::max(1.0, room_for(engine, question.stack, context)), most_sequences * deployment.engine.attention_dp);
  DraftUse out;
  if (!deployment.apart) out.gain = gain(std::min(std::max(1.0, deployment.batch), most));
  bool paid = false;
  for (double n = 1; n <= most; n *= 2) {
    const bool pays = gain(n) > 1;
    if (pays && !paid) out.batches.emplace_back(n, n);
    if (pays) out.batches.back().second = 2 * n > most ? std::numeric_limits<double>::infinity() : n;
    paid = pays;
  }
  return out;
}

}  // namespace fabricost::plan
