// Gradients and weights between replicas, shared parameters and experts each among their own: against bytes over links counted here from
// the numbers of the GPUs alone, and against predict() of the same ranks.
#include "jobs.hpp"
#include "support/slow_build.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/step.hpp>

#include <catch.hpp>

#include <algorithm>
#include <map>
#include <vector>

using namespace fabricost::plan;

namespace {

/// Bytes per second that leave a scale-up domain by its NICs, and that leave a GPU inside it.
double way_out(const System& s) {
  const Tier* nic = s.tier(TierRole::nic);
  return nic->bandwidth.value.value() / nic->shared_by * nic->endpoints * s.domain / s.gpus_per_node;
}
double way_across(const System& s) { return s.tier(TierRole::scale_up)->bandwidth.value.value(); }

/// Groups of `size` GPUs, `stride` apart, that fill `gpus` GPUs; what they take together at the very least to give every member of each
/// group `bytes` that all its members hold in equal parts (or to take as much away).
double min_gather(const System& s, int gpus, int size, int stride, double bytes) {
  if (size < 2) return 0;
  std::map<int, std::map<int, int>> members;  // of each domain, by group
  for (int gpu = 0; gpu < gpus; ++gpu) ++members[gpu / s.domain][gpu / (size * stride) * stride + gpu % stride];
  double coming_in = 0, max_inside = 0;
  for (const auto& [domain, groups] : members)
    for (const auto& [group, here] : groups) {
      coming_in += bytes * (size - here) / size;
      if (here == size) max_inside = std::max(max_inside, bytes * (size - 1) / size / way_across(s));
    }
  return std::max(max_inside, coming_in / (static_cast<double>(members.size()) * way_out(s)));
}

/// Nothing hides, no factor: the data term is the exchange itself.
jobs::Job open_job(int i, bool experts) {
  jobs::Job job = jobs::random_job(i);
  support::Random random{support::seed * 31ULL + static_cast<std::uint64_t>(i)};
  if (experts) job.model = random.of(std::vector<std::string>{"mixtral-8x7b", "deepseek-v3", "qwen3-30b-a3b", "moe-1.8t"});
  Layout& l = job.layout;
  const Model& m = jobs::model(job.model);
  l.pp = l.vp = 1;
  l.ep = m.mixture() ? 1 << random.below(5) : 1;
  while (l.ep > 1 && (l.ep > m.experts || l.ep > l.tp * l.cp * l.dp)) l.ep /= 2;
  job.stack.data_exposed = job.stack.shard_exposed = job.stack.scale = 1;
  return job;
}

/// The least possible data term: shared parameters over every tp-th GPU, experts over every ep-th.
double min_data(const jobs::Job& job, const System& s) {
  const Layout& l = job.layout;
  const Model& m = jobs::model(job.model);
  const ParameterCount n = parameters_of(m);
  const double routed = m.expert_layers() * m.experts * n.expert;
  double out = 0;
  for (const bool experts : {false, true}) {
    const double held = experts ? l.ep : l.tp, count = (experts ? routed : n.total - routed) / held;
    const int replicas = static_cast<int>(l.gpus() / held);
    const auto min = [&](double bytes) { return min_gather(s, l.gpus(), replicas, static_cast<int>(held), bytes); };
    const double gather = min(2 * count), reduce = min(job.stack.gradient_bytes * count);
    if (l.zero == 3)
      out += l.microbatches() * (2 * gather + reduce);
    else if (l.zero == 0)
      out += reduce;  // a switch that adds sends what an all-gather sends
    else
      out += gather + (l.zero == 2 ? l.microbatches() : 1) * reduce;
  }
  return out;
}

StepTime priced(const jobs::Job& job, GroupCosts& costs) {
  return step_time(jobs::model(job.model), job.layout, job.stack, Processor::of(costs.system()), costs);
}
StepTime priced(const jobs::Job& job, const System& s) {
  GroupCosts costs(s, {.rule = Choice::Rule::fastest});
  return priced(job, costs);
}

System with(const System& s, TierRole role, double factor) {
  System out = s;
  for (Tier& tier : out.tiers)
    if (tier.role == role) support::scale_bandwidth(tier, factor);
  return out;
}

}  // namespace

TEST_CASE("gradients and weights never travel faster than their bytes over the links their ranks have", "[data]") {
  int sharded_experts = 0;
  for (int i = 0; i < support::draws(300); ++i) {
    const jobs::Job job = open_job(i, i % 2 == 0);
    const System& s = jobs::machine(job.system);
    support::Random random{support::seed + static_cast<std::uint64_t>(i)};
    const System machine = with(with(s, TierRole::nic, random.scaled(0.05, 4)), TierRole::scale_up, random.scaled(0.2, 2));
    INFO(i << ": " << job.text());
    REQUIRE(priced(job, machine).data >= min_data(job, machine) * (1 - 1e-9));
    sharded_experts += job.layout.zero == 3 && job.layout.ep > 1 && job.layout.gpus() > machine.domain;
  }
  CHECK(sharded_experts > support::draws(7));
}

TEST_CASE("a faster tier shortens the exchange of gradients and weights that cross it", "[data]") {
  int outside = 0, inside = 0;
  for (int i = 0; i < support::draws(200); ++i) {
    const jobs::Job job = open_job(i, i % 2 == 0);
    const System& s = jobs::machine(job.system);
    if (job.layout.dp * job.layout.cp < 2) continue;
    INFO(i << ": " << job.text());
    const TierRole role = job.layout.gpus() > s.domain ? TierRole::nic : TierRole::scale_up;
    const double slow = priced(job, with(s, role, 1.0 / 64)).data, faster = priced(job, with(s, role, 1.0 / 32)).data;
    CHECK(faster < slow);
    ++(role == TierRole::nic ? outside : inside);
  }
  CHECK(outside > support::draws(20));
  CHECK(inside > support::draws(20));
}

TEST_CASE("experts are exchanged between the ranks that hold the same ones, as predict() prices them", "[data]") {
  const System& s = jobs::machine("dgx-h100");
  const Model& m = jobs::model("mixtral-8x7b");
  const ParameterCount n = parameters_of(m);
  const double all = m.expert_layers() * m.experts * n.expert, shared = n.total - all;
  Layout l{.ep = 8, .dp = 32, .microbatch = 1, .global_batch = 96};
  Stack stack;
  stack.data_exposed = stack.shard_exposed = 1;
  const auto of = [&](Collective what, double bytes, int ranks, int nodes) {
    return predict(s, Operation{.collective = what, .bytes = Bytes::from_value(bytes), .ranks = ranks, .nodes = nodes}).seconds;
  };
  const auto data = [&] {
    GroupCosts costs(s);
    return step_time(m, l, stack, Processor::of(s), costs).data;
  };
  // eight expert ranks a node: the same experts on one GPU of each of four nodes, which has one of its NICs
  const auto gather = [&](double bytes) {
    return of(Collective::all_gather, bytes * shared, 32, 4) + of(Collective::all_gather, bytes * all / 8, 4, 4);
  };
  const auto reduce = [&](double bytes) {
    return of(Collective::reduce_scatter, bytes * shared, 32, 4) + of(Collective::reduce_scatter, bytes * all / 8, 4, 4);
  };
  l.zero = 1;
  CHECK(data() == Approx(reduce(4) + gather(2)).epsilon(1e-4));
  l.zero = 2;  // gradients are not kept from microbatch to microbatch, those of experts neither
  CHECK(data() == Approx(3 * reduce(4) + gather(2)).epsilon(1e-4));
  l.zero = 3;
  CHECK(data() == Approx(3 * (reduce(4) + 2 * gather(2))).epsilon(1e-4));
  // states shared by the 16 GPUs of two nodes: two nodes gather, what a GPU owns is all-reduced between the pairs of nodes
  l.shard = 16;
  const double near = of(Collective::reduce_scatter, 4 * shared, 16, 2) + of(Collective::reduce_scatter, 4 * all / 8, 2, 2) +
                      2 * of(Collective::all_gather, 2 * shared, 16, 2) + 2 * of(Collective::all_gather, 2 * all / 8, 2, 2);
  const double across = of(Collective::all_reduce, 4 * shared / 16, 2, 2) + of(Collective::all_reduce, 4 * all / 8 / 2, 2, 2);
  CHECK(data() == Approx(3 * near + across).epsilon(1e-4));
}

TEST_CASE("what is exposed of sharded weights is never more than their exchange, and never hides more than the work is long", "[data]") {
  for (int i = 0; i < support::draws(150); ++i) {
    jobs::Job job = open_job(i, i % 2 == 0);
    job.layout.zero = 3;
    const System s = with(jobs::machine(job.system), TierRole::nic, 0.1);
    GroupCosts costs(s, {.rule = Choice::Rule::fastest});
    const StepTime open = priced(job, costs);
    support::Random random{support::seed + static_cast<std::uint64_t>(i)};
    job.stack.shard_exposed = random.uniform(0, 1);
    const StepTime part = priced(job, costs);
    INFO(i << ": " << job.text());
    CHECK(part.data <= open.data * (1 + 1e-9));
    CHECK(part.seconds >= open.data * (1 - 1e-9));  // the step is at least its exchange
    CHECK(part.data >= job.stack.shard_exposed * open.data * (1 - 1e-9));
  }
}
