// Exchanges of a step under any software: what predict says of them, whatever the stack's factor; and no step below their bytes.
#include "jobs.hpp"

#include <fabricost/plan/kernels/groups.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/parts.hpp>
#include <fabricost/plan/training/step.hpp>
#include <fabricost/predict/predict.hpp>

#include "support/slow_build.hpp"

#include <catch.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

using namespace fabricost::plan;
using jobs::random_job;

namespace {

StepParts parts_of(const jobs::Job& job, GroupCosts& costs) {
  return parts_of_step(jobs::model(job.model), job.layout, job.stack, Processor::of(costs.system()), costs);
}
StepTime time_of(const jobs::Job& job, GroupCosts& costs) {
  return step_time(jobs::model(job.model), job.layout, job.stack, Processor::of(costs.system()), costs);
}

/// Costs on a machine, compiled once.
GroupCosts& costs_on(const std::string& system) {
  static std::map<std::string, std::unique_ptr<GroupCosts>> known;
  std::unique_ptr<GroupCosts>& at = known[system];
  if (!at) at = std::make_unique<GroupCosts>(jobs::machine(system));
  return *at;
}

}  // namespace

TEST_CASE("no exchange of a step is shorter than what predict says of it", "[exchanges]") {
  int compared = 0;
  for (int i = 0; i < support::draws(1500); ++i) {
    jobs::Job job = random_job(i);
    job.stack.scale = support::Random{support::seed + static_cast<std::uint64_t>(i)}.scaled(0.3, 2);
    const System& system = jobs::machine(job.system);
    for (const StepExchange& x : parts_of(job, costs_on(job.system)).exchanges) {
      const bool trays = system.domain > system.gpus_per_node;  // a group of whole domains is no number of trays
      if (x.group == StepGroup::expert || (x.at.domains > 1 && trays)) continue;
      const Path path = x.group == StepGroup::stages && x.at.domains > 1 ? Path::nic : Path::gpu_gpu;
      const Operation op{.collective = x.collective,
                         .bytes = Bytes::from_value(x.bytes),
                         .ranks = x.at.ranks(),
                         .nodes = x.at.domains > 1 ? x.at.domains : 0,
                         .dtype = DataType::bfloat16,
                         .path = path};
      INFO(i << ": " << job.text() << ", " << step_group_names[static_cast<std::size_t>(x.group)] << " " << name(x.collective) << " of "
             << x.bytes << " bytes, " << x.at.local << " x " << x.at.domains);
      REQUIRE(x.seconds >= predict(system, op).seconds * (1 - 1e-6));
      ++compared;
    }
  }
  CHECK(compared > support::draws(3000));
}

TEST_CASE("a stack's factor changes no exchange, and where nothing hides them not their part of the step", "[exchanges]") {
  for (int i = 0; i < support::draws(500); ++i) {
    jobs::Job slow = random_job(i);
    slow.stack.tensor_exposed = slow.stack.data_exposed = slow.stack.context_exposed = slow.stack.expert_exposed = 1;
    slow.stack.shard_exposed = 1;
    slow.layout.pp = slow.layout.vp = 1;  // of several stages, which is the fullest depends on their kernels
    slow.layout.global_batch = slow.layout.dp * slow.layout.microbatch * 4;
    jobs::Job fast = slow;
    slow.stack.scale = 1.9;
    fast.stack.scale = 0.6;
    GroupCosts& costs = costs_on(slow.system);
    const std::vector<StepExchange> there = parts_of(slow, costs).exchanges, here = parts_of(fast, costs).exchanges;
    INFO(i << ": " << slow.text());
    REQUIRE(there.size() == here.size());
    for (std::size_t k = 0; k < here.size(); ++k) {
      CHECK(here[k].seconds == there[k].seconds);
      CHECK(here[k].count == there[k].count);
      CHECK(here[k].bytes == there[k].bytes);
    }
    const StepTime a = time_of(slow, costs), b = time_of(fast, costs);
    CHECK(a.tensor == b.tensor);
    CHECK(a.context == b.context);
    CHECK(a.expert == b.expert);
    CHECK(b.compute < a.compute);
    if (a.seconds > a.least * (1 + 1e-9) && b.seconds > b.least * (1 + 1e-9))
      CHECK(a.data == Approx(b.data).epsilon(1e-9));
  }
}

TEST_CASE("no step, and no fast end of its interval, is shorter than its exchanges allow", "[exchanges]") {
  int bound = 0;
  for (int i = 0; i < support::draws(3000); ++i) {
    jobs::Job job = random_job(i);
    support::Random random{support::seed * 17ULL + static_cast<std::uint64_t>(i)};
    job.stack.scale = random.scaled(0.05, 1.5);  // below what any software reaches: exchanges are left
    job.stack.expert_exposed = random.uniform(0, 1);
    job.stack.context_exposed = random.uniform(0, 1);
    job.stack.spread = random.scaled(0.05, 1);
    const Model& m = jobs::model(job.model);
    GroupCosts& costs = costs_on(job.system);
    const Processor gpu = Processor::of(costs.system());
    const StepTime t = time_of(job, costs);
    INFO(i << ": " << job.text() << " scale " << job.stack.scale);
    REQUIRE(t.seconds >= t.exposed() * (1 - 1e-12));
    REQUIRE(t.seconds >= t.least);
    const StepWork work = step_work(m, job.layout.sequence, job.layout.global_batch, 0);
    const auto [low, high] = step_interval(t, parts_of(job, costs), job.stack, costs, job.layout.precision, work, job.layout.gpus());
    REQUIRE(low >= t.least);
    REQUIRE(low >= std::min(t.seconds, work.min_seconds(job.layout.gpus(), gpu.peak(job.layout.precision))));
    REQUIRE(low <= t.seconds);
    REQUIRE(high >= t.seconds);
    double inside = 0, across = 0;  // every call, at its links' full rate
    for (const StepExchange& x : parts_of(job, costs).exchanges) {
      if (x.group == StepGroup::expert || x.group == StepGroup::stages) continue;
      (x.at.domains > 1 ? across : inside) += x.count * costs.curve(x.collective, x.at).min_seconds(x.bytes);
    }
    REQUIRE(t.least >= std::max(inside, across) * (1 - 1e-9));
    bound += low == t.least;
  }
  CHECK(bound > support::draws(100));
}

// Gradients and weights between replicas, shared parameters and experts each among their own: against bytes over links counted here from
// the numbers of the GPUs alone, and against predict() of the same ranks.

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

// The places of a parallel group's ranks, and the cost of its collectives.

TEST_CASE("a group keeps all its ranks and never puts more in a domain than fit", "[groups]") {
  for (int n = 1; n <= 96; ++n)
    for (const int stride : {1, 2, 4, 8, 16, 64})
      for (const int domain : {1, 4, 8, 72}) {
        const Placement at = place(n, stride, domain);
        INFO(n << " ranks " << stride << " apart on domains of " << domain);
        REQUIRE(at.ranks() == n);
        REQUIRE(at.local >= 1);
        if (at.local > 1) REQUIRE(at.local * stride <= domain);
        if (n * stride <= domain) REQUIRE(at.domains == 1);
      }
}

TEST_CASE("tensor ranks fill a node, data ranks behind them sit one to a node", "[groups]") {
  CHECK(place(8, 1, 8).local == 8);
  CHECK(place(16, 8, 8).local == 1);
  CHECK(place(16, 8, 8).domains == 16);
  CHECK(place(16, 8, 72).local == 8);  // nine replicas would fit an NVL72; sixteen divide into twice eight
  CHECK(place(64, 1, 72).domains == 1);
}

TEST_CASE("a group's collective costs what predict says of the same ranks", "[groups]") {
  for (const char* name : {"dgx-h100", "gb200-nvl72"}) {
    const System& system = jobs::machine(name);
    GroupCosts costs(system);
    for (const Collective c : {Collective::all_reduce, Collective::all_gather, Collective::all_to_all})
      for (const double bytes : {4096.0, 1e6, 3e8}) {
        const Prediction one = predict(system, Operation{.collective = c, .bytes = Bytes::from_value(bytes), .ranks = system.domain});
        CHECK(costs.seconds(c, {system.domain, 1}, bytes) == Approx(one.seconds));
        const int nodes = 4 * system.domain / system.gpus_per_node;
        const Prediction four =
            predict(system, Operation{.collective = c, .bytes = Bytes::from_value(bytes), .ranks = 4 * system.domain, .nodes = nodes});
        CHECK(costs.seconds(c, {system.domain, 4}, bytes) == Approx(four.seconds));
      }
  }
  // also where the library is told what to leave out or to use
  const System& h100 = jobs::machine("dgx-h100");
  Choice without_nvls, windows;
  without_nvls.ways.nvls = false;
  windows.ways.symmetric = true;
  for (const Choice& choice : {without_nvls, windows}) {
    GroupCosts costs(h100, choice);
    for (const double bytes : {1e5, 2e6, 3e8}) {
      const Operation op{.collective = Collective::all_reduce, .bytes = Bytes::from_value(bytes), .ranks = 8};
      CHECK(costs.seconds(op.collective, {8, 1}, bytes) == Approx(predict(h100, op, choice).seconds));
    }
  }
}

TEST_CASE("one rank, or nothing to move, costs nothing", "[groups]") {
  GroupCosts costs(jobs::machine("dgx-h100"));
  CHECK(costs.seconds(Collective::all_reduce, {1, 1}, 1e9) == 0);
  CHECK(costs.seconds(Collective::all_reduce, {8, 4}, 0) == 0);
}
