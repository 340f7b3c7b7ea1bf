// The groups of a layout at once: every answer is checked to be a fair sharing of the links, and each group's price against predict.
#include <fabricost/plan/network/at_once.hpp>

#include "catch.hpp"
#include "support/message_of.hpp"
#include "machines.hpp"

using namespace fabricost::plan;

namespace {

GroupedCollective over(Collective c, Algorithm a, int size, int stride) {
  return {.name = std::string{name(c)},
          .operation = {.collective = c, .bytes = units::MiB(64)},
          .choice = {.algorithm = a},
          .size = size,
          .stride = stride};
}

/// Rates fill no link beyond its capacity, and every group is held by a full link. \return how many links are full
int fair(const System& system, int nodes, const ConcurrentGroups& all) {
  const Topology t = topology_of(system, nodes);
  TrafficCounter counter{t};
  std::vector<double> load(static_cast<std::size_t>(t.links()), 0);
  std::vector<Traffic> traffic;
  for (std::size_t f = 0; f < all.flat.size(); ++f) {
    traffic.push_back(counter.count(all.flat[f].collective, all.flat[f].algorithm, all.flat[f].ranks));
    for (const LinkLoad& l : traffic.back().loads) load[static_cast<std::size_t>(l.link)] += l.bytes * all.contention.outcomes[f].shared;
  }
  int full = 0;
  for (int l = 0; l < t.links(); ++l) {
    REQUIRE(load[static_cast<std::size_t>(l)] <= t.capacity(l) * (1 + 1e-9));
    full += load[static_cast<std::size_t>(l)] >= t.capacity(l) * (1 - 1e-9);
  }
  for (const Traffic& one : traffic) {
    bool held = false;
    for (const LinkLoad& l : one.loads) held = held || load[static_cast<std::size_t>(l.link)] >= t.capacity(l.link) * (1 - 1e-9);
    REQUIRE(held);
  }
  return full;
}

}  // namespace

TEST_CASE("collectives of a layout share links fairly and none is faster than alone") {
  for (const auto& [machine, nodes] : {std::pair<const char*, int>{"dgx-h100", 4},
                                       {"aws-p4d", 4},
                                       {"dgx-1-v100", 4},
                                       {"superpod-h100", 40},
                                       {"meta-24k-roce", 16},
                                       {"superpod-gb200", 36},
                                       {"mi300x-8", 2}}) {
    const System system = load_system(machine);
    const int per_node = system.gpus_per_node, gpus = nodes * per_node;
    INFO(machine);
    const std::vector<GroupedCollective> asked{over(Collective::all_gather, Algorithm::ring, per_node, 1),
                                               over(Collective::all_reduce, Algorithm::ring, gpus / system.domain, system.domain),
                                               over(Collective::all_to_all, Algorithm::direct, gpus, 1),
                                               over(Collective::all_reduce, Algorithm::recursive_doubling, gpus, 1)};
    for (std::size_t some = 1; some <= asked.size(); ++some) {
      const std::span<const GroupedCollective> these{asked.data(), some};
      const ConcurrentGroups all = at_once(system, nodes, these);
      CHECK(fair(system, nodes, all) > 0);
      for (const GroupedOutcome& one : all.outcomes) {
        CHECK(one.least_slow_down >= 1 - 1e-12);
        CHECK(one.slow_down >= one.least_slow_down);
        CHECK(one.seconds >= one.alone.seconds * (1 - 1e-12));
        CHECK(one.groups * one.size == gpus);
      }
    }
  }
}

TEST_CASE("a group's price alone is predict's for the nodes and domains it lies on") {
  const System h100 = load_system("dgx-h100"), racks = load_system("gb200-nvl72");
  const auto alone = [](const System& s, int nodes, int size, int stride) {
    const std::vector<GroupedCollective> one{over(Collective::all_reduce, Algorithm::ring, size, stride)};
    return at_once(s, nodes, one).outcomes.front().alone;
  };
  const auto asked = [](const System& s, int ranks, int nodes) {
    return predict(s, Operation{.collective = Collective::all_reduce, .bytes = units::MiB(64), .ranks = ranks, .nodes = nodes},
                   {.algorithm = Algorithm::ring});
  };
  CHECK(alone(h100, 4, 4, 1).seconds == asked(h100, 4, 1).seconds);
  CHECK(alone(h100, 4, 16, 1).seconds == asked(h100, 16, 2).seconds);
  CHECK(alone(h100, 4, 4, 8).seconds == asked(h100, 4, 4).seconds);
  CHECK(alone(h100, 4, 8, 4).seconds == asked(h100, 8, 4).seconds);  // two of each node
  // one GPU of each of two racks: 36 trays, but two domains
  const Prediction two = alone(racks, 36, 2, 72);
  CHECK(two.ranks == 2);
  CHECK(two.bottleneck().tier == "nic");
  CHECK(alone(racks, 36, 18, 4).bottleneck().tier == "nvlink");  // one of each tray of a rack
}

TEST_CASE("groups along different axes of a torus do not slow each other down") {
  const System system = load_system("tpu-v5p");
  GroupedCollective planes = over(Collective::all_reduce, Algorithm::torus_bucket, 16, 1);
  const GroupedCollective lines = over(Collective::all_gather, Algorithm::ring, 4, 16);
  planes.choice.algorithm.reset();
  const std::vector<GroupedCollective> asked{planes, lines};
  const ConcurrentGroups all = at_once(system, 16, asked);
  CHECK(all.outcomes[0].alone.ran.algorithm == Algorithm::torus_bucket);
  for (const GroupedOutcome& one : all.outcomes) CHECK(one.slow_down == Approx(1));
}

TEST_CASE("nodes that fill no whole domains are priced as predict prices them") {
  const System system = load_system("gb200-nvl72");
  const std::vector<GroupedCollective> asked{over(Collective::all_reduce, Algorithm::ring, 108, 1)};
  const ConcurrentGroups all = at_once(system, 27, asked);
  const Operation same{.collective = Collective::all_reduce, .bytes = units::MiB(64), .nodes = 27};
  CHECK(all.outcomes[0].alone.seconds == Approx(predict(system, same, {.algorithm = Algorithm::ring}).seconds));
}
