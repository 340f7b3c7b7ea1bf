#include <fabricost/plan/serving/question.hpp>

namespace fabricost::plan {

void check(const ServingQuestion& q, const System& system) {
  check(system);
  check(q.model);
  if (q.gpus < 1) throw Refusal("<gpus> must be at least 1");
  check_size(system, q.gpus);
  if (!(q.isl >= 1 && q.osl >= 1)) throw Refusal("<isl> and <osl> must be at least 1 token");
  if (q.ttft < 0 || q.tpot < 0) throw Refusal("<ttft_seconds> and <tpot_seconds> must be above zero");
  if (q.tpot > 0 && q.osl < 2)
    throw Refusal("<tpot_seconds> limits what follows the first token; an answer of <osl=1> has nothing after it");
  if (q.pool) {
    check(*q.pool->system);
    if (q.pool->gpus < 1) throw Refusal("<prefill_gpus> must be at least 1");
    check_size(*q.pool->system, q.pool->gpus);
    if (!q.disaggregated) throw Refusal("<prefill_system> is of prefill workers: add <disaggregated>");
    for (const System* one : {&system, q.pool->system.get()})
      if (one->tier(TierRole::nic) == nullptr) throw RequestError(one->name + ": has no NICs to send a cache over to other machines");
  }
  if (q.disaggregated && q.all_gpus() < 2) throw Refusal("<disaggregated> needs at least 2 GPUs: one to prefill, one to decode");
  if (q.prefill.any() && !q.disaggregated)
    throw Refusal("<prefill_tp>, <prefill_pp>, <prefill_ep> and <prefill_dp> are of prefill workers: add <disaggregated>");
  if (!q.pool && q.gpus > system.domain && system.tier(TierRole::nic) == nullptr && q.disaggregated)
    throw RequestError(system.name + ": has no NICs to send a cache over; take at most " + std::to_string(system.domain) + " GPUs");
}

}  // namespace fabricost::plan

namespace fabricost::plan::detail {

bool better(const PricedServing& a, const PricedServing& b) {
  const auto of_a = figures_of(a), of_b = figures_of(b);
  return of_a != of_b ? of_a < of_b : in_order(a.engine.ep, a.prefill.ep) < in_order(b.engine.ep, b.prefill.ep);
}

}  // namespace fabricost::plan::detail
