// Collectives until each ends: hand cases, and properties of random layouts of all machines: never shorter than alone, never longer than one
// after the other where the groups of each advance alike. FABRICOST_QUESTIONS sets how many are asked (default 600; a release is asked 100,000).
#include <fabricost/plan/network/at_once.hpp>

#include "catch.hpp"
#include "machines.hpp"
#include "support/number_of.hpp"
#include "support/random_cases.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include <cstdio>

using namespace fabricost::plan;

namespace {

GroupedCollective over(Collective c, double bytes, int size, int stride, double weight = 1) {
  return {.name = std::string{name(c)},
          .operation = {.collective = c, .bytes = Bytes::from_value(bytes)},
          .choice = {},
          .size = size,
          .stride = stride,
          .weight = weight};
}

long long questions() { return support::number_of("FABRICOST_QUESTIONS", 600); }

/// One to four collectives of random groups.
std::vector<GroupedCollective> random_collectives(support::Random& random, int gpus) {
  std::vector<std::pair<int, int>> cuts;
  for (int size = 2; size <= gpus; ++size)
    for (int stride = 1; gpus % size == 0 && stride * size <= gpus; ++stride)
      if (gpus % (size * stride) == 0) cuts.emplace_back(size, stride);
  std::vector<GroupedCollective> out;
  if (cuts.empty()) return out;
  const std::vector<Collective> kinds{Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all,
                                      Collective::broadcast};
  for (int c = 0, n = 1 + random.below(4); c < n; ++c) {
    const auto [size, stride] = random.of(cuts);
    out.push_back(over(random.of(kinds), std::floor(random.scaled(256, 2e10)), size, stride,
                       random.one_in(4) ? std::exp2(random.below(5) - 2) : 1));
  }
  return out;
}

}  // namespace

TEST_CASE("the shorter of two collectives frees its links: both at once take no longer than one after the other") {
  const System system = load_system("dgx-h100");
  const std::vector<GroupedCollective> two{over(Collective::all_reduce, 1 << 30, 4, 8), over(Collective::all_to_all, 1 << 28, 4, 8)};
  const ConcurrentGroups all = at_once(system, 4, two);
  const GroupedOutcome &reduce = all.outcomes[0], &exchange = all.outcomes[1];
  CHECK(reduce.slow_down == Approx(2));
  CHECK(exchange.end == Approx(exchange.seconds));  // the other one runs all the time
  CHECK(reduce.end < reduce.seconds);
  CHECK(reduce.end == Approx(reduce.alone.seconds + exchange.alone.seconds).epsilon(0.01));
  CHECK(all.end == reduce.end);
  CHECK(all.in_turn == Approx(reduce.alone.seconds + exchange.alone.seconds));
  CHECK(all.end <= all.in_turn);
}

TEST_CASE("a collective without others ends when all its groups do, as its slow-down says") {
  const System system = load_system("aws-p4d");  // two GPUs a NIC
  const std::vector<GroupedCollective> one{over(Collective::all_reduce, 1 << 30, 8, 8)};
  const ConcurrentGroups all = at_once(system, 8, one);
  CHECK(all.outcomes[0].slow_down == Approx(2));
  CHECK(all.end == all.outcomes[0].seconds);
  CHECK(all.in_turn == all.end);
}

TEST_CASE("three that share a link end one by one, each at the rate that the ones before left it") {
  const Topology t = machines::laid_out("dgx-h100", 2);
  std::vector<ConcurrentCollective> three;
  for (int i = 0; i < 3; ++i)
    three.push_back({.collective = Collective::send_recv, .algorithm = Algorithm::direct, .ranks = {0, 8}, .weight = i == 2 ? 2.0 : 1.0});
  const ConcurrentFlows flows{t, three};
  const std::vector<AloneTime> alone{{.fixed = 0, .wire = 1}, {.fixed = 0, .wire = 2}, {.fixed = 0, .wire = 3}};
  const std::vector<double> ends = until_end(flows, alone, {0, 1, 2});
  CHECK(ends[0] == Approx(4));                  // a quarter of the link; then 1 of the others is left, and 1
  CHECK(ends[2] == Approx(5.5));                // two thirds: 1 in 1.5
  CHECK(ends[1] == Approx(6));                  // alone: the half that is left
  CHECK(until_end(flows, alone, {1})[1] == 2);  // without the others
  CHECK(until_end(flows, alone, {1})[0] == 0);
}

TEST_CASE("random collectives at once: never shorter than alone, and as alike groups advance never longer than one after the other") {
  std::vector<System> all_machines;
  for (const SystemName& one : system_names()) all_machines.push_back(load_system(one.name));
  long long answered = 0, alike = 0, longer = 0;
  double worst = 1;
  for (long long i = 0, n = questions(); i < n; ++i) {
    support::Random random{support::seed + 104729ULL * static_cast<std::uint64_t>(i)};
    const System& machine = random.of(all_machines);
    const auto stated = stated_gpus(machine);
    const int most = stated ? static_cast<int>(*stated / machine.gpus_per_node) : 32;
    int nodes = 1 + random.below(std::min(most, 32));
    if (random.one_in(2)) nodes = 1 << static_cast<int>(std::log2(nodes));
    const System system = slice_for(machine, static_cast<long long>(nodes) * machine.gpus_per_node);
    const ConcurrentOptions options{.balancing = random.one_in(4) ? Balancing::hashed : Balancing::even};
    try {
      const Topology t = topology_of(system, nodes);
      const std::vector<GroupedCollective> asked = random_collectives(random, t.gpus());
      if (asked.empty()) continue;
      const ConcurrentGroups all = at_once(system, nodes, asked, options);
      ++answered;
      double last = 0;
      for (const GroupedOutcome& one : all.outcomes) {
        REQUIRE(one.end >= one.alone.seconds * (1 - 1e-9));
        REQUIRE(one.end <= all.end);
        REQUIRE(one.by_itself >= one.alone.seconds * (1 - 1e-9));
        last = std::max(last, one.end);
      }
      REQUIRE(last == all.end);
      const ConcurrentFlows flows{t, all.flat, options};
      std::vector<AloneTime> alone;
      std::vector<int> everything;
      for (std::size_t f = 0; f < all.flat.size(); ++f)
        alone.push_back(alone_time_of(all.outcomes[static_cast<std::size_t>(all.of[f])].alone)), everything.push_back(static_cast<int>(f));
      const std::vector<double> ends = until_end(flows, alone, everything);
      bool same = true;
      for (std::size_t f = 1; f < ends.size(); ++f)
        same = same && (all.of[f] != all.of[f - 1] || std::fabs(ends[f] / ends[f - 1] - 1) < 1e-9);
      alike += same;
      longer += all.end > all.in_turn * (1 + 1e-9);
      worst = std::max(worst, all.end / all.in_turn);
      INFO(system.name << " on " << nodes << " nodes, question " << i);
      if (same) REQUIRE(all.end <= all.in_turn * (1 + 1e-9));
      REQUIRE(all.end <= 1.5 * all.in_turn);
    } catch (const RequestError&) {  // no price for such groups
    }
  }
  std::printf("  at once: %lld answered, groups alike in %lld; longer than one after the other %lld times, at most %.4f x\n", answered, alike,
              longer, worst);
  CHECK(answered > questions() / 2);
  CHECK(alike > answered / 2);
  CHECK(static_cast<double>(longer) <= 0.001 * static_cast<double>(answered) + 1);
}
