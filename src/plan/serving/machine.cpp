#include <fabricost/plan/model/gate.hpp>
#include <fabricost/plan/serving/machine.hpp>

namespace fabricost::plan {

double ServingMachine::all_reduce_seconds(int ranks, double bytes, Launch launch) {
  if (ranks < 2 || bytes <= 0) return 0;
  const Curve& curve = reduce_.curve(Collective::all_reduce, place(ranks, 1, system().domain));
  const double seconds = curve.seconds(bytes);
  if (launch == Launch::graph || curve.ran_at(bytes).kernel == CollectiveKernel::library) return seconds;
  return host_call(seconds, bytes, gpu_.memory_rate, system().constants.custom).seconds();
}

double ServingMachine::exchange_seconds(const Model& m, int ranks, int ep, double tokens, WeightFormat weights, ServingPhase phase) {
  if (ranks < 2 || tokens <= 0) return 0;
  const ExchangeWays& ways = ways_of(m, ranks, ep, weights, phase);
  double best = std::numeric_limits<double>::infinity();
  for (const ExpertRoundTrip& trip : ways.kernels) best = std::min(best, trip(tokens));
  if (ways.gathers || ep < 2) {
    const double all = tokens * ranks * m.hidden * 2;
    const double out = weights == WeightFormat::bf16 || weights == WeightFormat::int4 ? all : all / 2;
    best = std::min(best, nccl_.seconds(Collective::all_gather, ways.at, out) + nccl_.seconds(Collective::reduce_scatter, ways.at, all));
  }
  if (ways.messages != nullptr) best = std::min(best, ways.messages->seconds(tokens, ways.narrow) + ways.messages->seconds(tokens));
  return best;
}

double ServingMachine::touched_share(const Model& m, double tokens) {
  const Gate gate{m.experts, m.top_k};
  if (!engine_.routing.skewed()) return touched_experts(gate, tokens) / m.experts;
  std::unique_ptr<TouchedExperts>& at = touched_[{m.experts, m.top_k}];
  if (!at) at = std::make_unique<TouchedExperts>(gate, engine_.routing);
  return (*at)(tokens);
}

const ServingMachine::ExchangeWays& ServingMachine::ways_of(const Model& m, int ranks, int ep, WeightFormat weights, ServingPhase phase) {
  const WaysKey key{m.experts, m.top_k, m.expert_groups, m.group_limit, m.hidden, ranks, ep, weights, phase};
  auto& [last_key, last] = last_ways_[static_cast<std::size_t>(phase)];
  if (last != nullptr && key == last_key) return *last;
  std::unique_ptr<ExchangeWays>& at = ways_[key];
  if (!at) at = std::make_unique<ExchangeWays>(find_ways(m, ranks, ep, weights, phase));
  last_key = key;
  last = at.get();
  return *at;
}

ServingMachine::ExchangeWays ServingMachine::find_ways(const Model& m, int ranks, int ep, WeightFormat weights, ServingPhase phase) {
  ExchangeWays out{.at = place(ranks, 1, system().domain), .kernels = {}, .gathers = engine_.gathers};
  const ExpertPlacement placed{ep, std::min(ep, out.at.local)};
  if (ep < 2 || ep % placed.per_domain != 0) {
    out.gathers = true;
    return out;
  }
  const Gate gate = divided_gate(m, ep);
  static const Popularity even;
  const Popularity& chosen = engine_.routing.skewed() ? popularity(m, ep) : even;
  const bool narrow = weights == WeightFormat::fp8 || weights == WeightFormat::fp4;
  for (const MoeKernel kernel : phase == ServingPhase::decode ? engine_.experts_decode : engine_.experts_prefill) {
    if (!runs_on(kernel, system(), placed)) continue;
    const Precision sent = !narrow ? Precision::bf16 : weights == WeightFormat::fp4 && is_trtllm(kernel) ? Precision::fp4 : Precision::fp8;
    try {
      out.kernels.emplace_back(system(), kernel, gate, placed, m.hidden, sent, engine_.routing, chosen);
    } catch (const RequestError&) {  // this kernel cannot connect these GPUs
    }
  }
  if (out.kernels.empty() && !out.gathers) {
    const double wide = token_bytes(m.hidden, Precision::bf16);
    const Copies copies = placed.domains() > 1 ? Copies::per_domain : Copies::per_rank;
    out.messages = &nccl_.experts(gate, placed, copies, wide, engine_.routing);
    if (narrow) out.narrow = token_bytes(m.hidden, Precision::fp8) / wide;
  }
  return out;
}

Gate ServingMachine::divided_gate(const Model& m, int ep) const {
  Gate gate = gate_of(m);
  const int held = held_experts(m, ep);
  if (engine_.copies > 0 && gate.limited() && held % gate.groups == 0)
    gate.experts = held;  // every group has as many copies
  else if (held != gate.experts)
    gate = {held, gate.top_k};
  return gate;
}

const Imbalance& ServingMachine::loads(const Model& m, int ep) {
  static const Imbalance even;
  if (ep < 2 || engine_.routing.kind == RoutingKind::balanced) return even;
  if (engine_.copies < 1) return nccl_.load(divided_gate(m, ep), engine_.routing, ep);
  const auto [at, fresh] = copied_.try_emplace({m.experts, m.top_k, ep});
  if (fresh) at->second = imbalance_of(divided_gate(m, ep), popularity(m, ep), ep);
  return at->second;
}

const Popularity& ServingMachine::popularity(const Model& m, int ep) {
  const std::tuple key{m.experts, m.top_k, ep};
  if (const auto at = chosen_.find(key); at != chosen_.end()) return at->second;
  const bool copied = engine_.copies > 0;
  Popularity chosen = popularity_of(copied ? gate_of(m) : divided_gate(m, ep), engine_.routing, ep);
  if (copied) chosen = with_copies(chosen, held_experts(m, ep) - m.experts, ep);
  return chosen_.emplace(key, std::move(chosen)).first->second;
}

}  // namespace fabricost::plan
