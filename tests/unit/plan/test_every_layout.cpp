// Bytes of every layout of a small grid against closed forms worked out here: what each rank sends, and what all ranks hold.
#include "every_layout.hpp"
#include "questions.hpp"

#include <fabricost/plan/training/parts.hpp>
#include <fabricost/plan/training/plan.hpp>
#include <fabricost/specs/load.hpp>

#include <catch.hpp>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

Model small(bool experts, int shared) {
  Model m;
  m.name = "small";
  m.layers = 4;
  m.hidden = 1024;
  m.heads = 16;
  m.kv_heads = 8;
  m.head_dim = 64;
  m.vocab = 32000;
  m.ffn = 4096;
  if (experts) {
    m.experts = 8;
    m.top_k = 2;
    m.expert_ffn = 512;
    m.shared_experts = shared;
    m.shared_ffn = shared * 512;
  }
  return m;
}

/// Of a ring of n: the share of a size that each rank sends in a gather or a scatter.
double of_ring(int n) { return (n - 1.0) / n; }

/// Bytes that a tensor rank sends for one microbatch of one layer, forward and backward. A block gathers and scatters once each way, and
/// gathers its input again in the backward; without sequence parallelism it sums twice.
double tensor_bytes(const Model& m, const Layout& l) {
  const double S = 2 * l.tokens() * m.hidden, again = l.recompute == Recompute::full ? 1 : 0;
  const double blocks = !m.mixture() || m.shared_experts > 0 ? 2 : 1;
  const double block = l.sequence_parallel ? 2 + 3 + 2 * again : 4 + 2 * again;
  const double results = m.mixture() && !l.sequence_parallel ? 2 + again : 0;
  const double rows = S * m.top_k * l.expert_tp / l.tp, cut = m.mixture() ? (4 + 2 * again) * rows * of_ring(l.expert_tp) : 0;
  return (blocks * block + results) * S * of_ring(l.tp) + cut;
}

}  // namespace

TEST_CASE("What the ranks of every layout send follows from its sizes alone") {
  const System system = load_system("dgx-h100");
  const Processor gpu = Processor::of(system);
  const Stack stack;
  for (const auto& of : {std::pair{false, 0}, {true, 0}, {true, 1}}) {
    const bool experts = of.first;  // names of a binding cannot be captured by every compiler
    const int shared = of.second;
    const Model m = small(experts, shared);
    GroupCosts costs(system);
    const int count = every_layout(m, 16, 64, [&](const Layout& l) {
      CAPTURE(experts, shared, l.tp, l.pp, l.cp, l.ep, l.expert_tp, l.sequence_parallel, l.zero, static_cast<int>(l.recompute));
      double tensor = 0, tokens = 0;
      const StepParts parts = parts_of_step(m, l, stack, gpu, costs);
      for (const StepExchange& x : parts.exchanges) {
        if (x.group == StepGroup::tensor) tensor += x.count * x.bytes * bus_factor(x.collective, x.at.ranks());
        if (x.group == StepGroup::expert) tokens += x.count * x.bytes;
      }
      const double passes = static_cast<double>(parts.layers) * l.microbatches();
      CHECK(tensor == Approx(passes * tensor_bytes(m, l)));
      const double once = l.ep > 1 ? 2 * l.tokens() / l.tp * m.hidden * m.top_k : 0;  // dispatched, combined, and both backward
      CHECK(tokens == Approx(passes * (l.recompute == Recompute::full ? 6 : 4) * once));
    });
    CHECK(count > 50);
  }
}

TEST_CASE("All ranks of every layout together hold each routed expert as often as it has replicas, and its states once where sharded") {
  const Model m = small(true, 0);
  const ParameterCount n = parameters_of(m);
  const double all = m.layers * m.experts * n.expert;
  const int count = every_layout(m, 16, 64, [&](const Layout& l) {
    CAPTURE(l.tp, l.pp, l.cp, l.ep, l.expert_tp, l.zero);
    double held = 0, owned = 0;
    for (int stage = 0; stage < l.pp; ++stage) {
      const StageContent at = stage_of(split_layers(m, l), m, l, stage).here;
      const double own = rank_parameters(stage_parameters(n, m, at), m, l, at.layers).experts;
      held += own * l.tp * l.cp * l.dp;
      owned += own / expert_shard_ranks(l) * l.tp * l.cp * l.dp;
    }
    CHECK(held == Approx(all * l.tp * l.cp * l.dp / (l.ep * l.expert_tp)));
    CHECK(owned == Approx(all));
  });
  CHECK(count > 100);
}
