/// \file test_published_exchanges.cpp
/// The effect of an all-reduce beside an all_to_all, as published.

#include "catch.hpp"
#include "support/systems.hpp"

#include <fabricost/experts/expert_exchange.hpp>
#include <fabricost/plan/network/concurrent.hpp>
#include <fabricost/plan/network/topology_of.hpp>

using namespace fabricost::plan;

TEST_CASE("an all_to_all beside an all-reduce is slowed down between what fair sends and fair collectives say, as Lina measured") {
  // USENIX ATC 2023: 16 A100s behind 100 Gbit/s InfiniBand; worst slow-down 4.14
  constexpr double published_median = 1.83;
  const System s = systems::machine(
      "lina", Generation::ampere, 4, 4,
      {systems::scale_up(TierKind::switched, 4, 12, 25, 20), systems::nics(1, 12.5, systems::infiniband), systems::network("leaf", 64)});
  const Topology t = topology_of(s, 4);
  std::vector<int> all(16);
  std::iota(all.begin(), all.end(), 0);
  std::vector<ConcurrentCollective> both{
      {.name = "experts", .collective = Collective::all_to_all, .algorithm = Algorithm::direct, .ranks = all},
      {.name = "gradients", .collective = Collective::all_reduce, .ranks = all}};
  const double by_sends = contention(t, both).outcomes[0].slow_down();
  both[1].weight = 3.2;  // 12 of 15 sends of 4 ranks leave the node: as many bytes through the NIC for each collective
  const double by_collectives = contention(t, both).outcomes[0].slow_down();
  WARN("all_to_all beside all-reduce: slowed down " << by_sends << " with equal sends, " << by_collectives
                                                    << " with equal collectives; published median " << published_median);
  CHECK(by_sends < published_median);
  CHECK(by_collectives > published_median);
  CHECK(by_collectives == Approx(2));
  // the exchange priced with the share of the NICs that the published slow-down leaves
  ExpertExchange x{.gate = {16, 2}, .routing = {}, .placement = {16, 4}, .copies = Copies::per_expert, .bytes_per_token = 2048};
  const double alone = expert_exchange(s, x, 65536).seconds;
  x.nic_share = 1 / published_median;
  CHECK(expert_exchange(s, x, 65536).seconds / alone == Approx(published_median).epsilon(0.05));
}
