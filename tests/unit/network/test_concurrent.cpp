// Collectives at the same time: hand cases with the link named, and properties.
#include "machines.hpp"

#include <fabricost/plan/network/at_once.hpp>
#include <fabricost/plan/network/until_end.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include "support/message_of.hpp"
#include "support/number_of.hpp"
#include "support/random_cases.hpp"

#include "catch.hpp"

#include <cstdio>

using namespace fabricost::plan;
using machines::first;
using machines::laid_out;

namespace {

std::vector<ConcurrentCollective> rings(const std::vector<std::vector<int>>& groups, Collective c = Collective::all_reduce) {
  std::vector<ConcurrentCollective> out;
  for (std::size_t i = 0; i < groups.size(); ++i) out.push_back({.name = "ring " + std::to_string(i), .collective = c, .ranks = groups[i]});
  return out;
}

/// The link that limits collective `which`.
const ContendedLink& limit_of(const Contention& c, std::size_t which) {
  return c.links[static_cast<std::size_t>(c.outcomes[which].bottleneck)];
}

}  // namespace

TEST_CASE("data-parallel rings of all tensor-parallel ranks: free with a NIC each, halved where two GPUs share one") {
  const std::vector<std::vector<int>> groups = strided_groups(16, 2, 8);
  REQUIRE(groups.size() == 8);
  CHECK(groups[3] == std::vector<int>{3, 11});

  const Topology apart = laid_out("dgx-h100", 2);
  for (const ConcurrentOutcome& o : contention(apart, rings(groups)).outcomes) {
    CHECK(o.slow_down() == Approx(1));
    CHECK(o.alone == Approx(50e9));  // two ranks: 2 (n-1)/n = 1 S through the NIC
  }
  const Topology together = laid_out("dgx-1-v100", 2);
  const std::vector<ConcurrentCollective> all = rings(groups);
  const Contention c = contention(together, all);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(c.outcomes[i].slow_down() == Approx(2));
    CHECK(c.outcomes[i].shared == Approx(12.5e9 / 2));
  }
  const ContendedLink& link = limit_of(c, 3);
  CHECK(link.name == "nic 1 of node 0 (out)");
  CHECK(link.load == Approx(link.capacity));
  CHECK(link.sharers == std::vector<int>{2, 3});
}

TEST_CASE("groups at once are no faster than their bytes cross the memory of a node without GPUDirect, nor than one alone") {
  const double bytes = 1e9;
  const auto passes = [](const GroupedOutcome& one) {  // of a node, each of whose GPUs' bytes are written and read as they leave and arrive
    const double ranks = one.size;
    return 4 * 2 * (ranks - 1) / ranks;
  };
  for (const char* name : {"dgx-h100", "dgx-b200"})  // with a port for each GPU: where two share one, predict counts what turns in memory once
    for (const char* rate : {"50GB/s", "100GB/s", "461GB/s", "2TB/s"})
      for (const int nodes : {2, 4, 16})
        for (const int apart : {1, 2, 4, 8}) {
          CAPTURE(name, rate, nodes, apart);
          const System staged = load_system(name, std::vector<std::string>{"nic.gdr=false", std::string{"host_memory_rate="} + rate});
          const GroupedCollective rings{.name = "data",
                                        .operation = {.collective = Collective::all_reduce, .bytes = units::B(bytes)},
                                        .choice = {.algorithm = Algorithm::ring},
                                        .size = nodes * 8 / apart,
                                        .stride = apart};
          const GroupedOutcome one = at_once(staged, nodes, std::vector{rings}).outcomes.front();
          // a ring leaves each node once for each group
          CHECK(one.seconds >= apart * passes(one) * bytes / staged.host_memory_rate.value.value() * (1 - 1e-9));
          const System direct = load_system(name);
          CHECK(one.seconds >= at_once(direct, nodes, std::vector{rings}).outcomes.front().seconds * (1 - 1e-9));
        }
}

TEST_CASE("two GPUs below one x16: alone each has it, together half") {
  const Topology t = laid_out("l40s-pcie", 0, {"tiers.pcie.peer_to_peer=false"});
  const std::vector<ConcurrentCollective> two{{.name = "first", .collective = Collective::send_recv, .ranks = {0, 2}},
                                              {.name = "second", .collective = Collective::send_recv, .ranks = {1, 4}}};
  const Contention c = contention(t, two);
  const double x16 = t.capacity(t.link(t.host_out, 0));
  CHECK(c.outcomes[0].alone == Approx(x16));
  CHECK(c.outcomes[0].slow_down() == Approx(2));
  CHECK(c.outcomes[1].slow_down() == Approx(2));
  CHECK(limit_of(c, 0).name == "pcie port of GPUs 0 and 1 (up)");
  CHECK(limit_of(c, 0).sharers == std::vector<int>{0, 1});
  // on ports of their own they do not meet
  const std::vector<ConcurrentCollective> apart{two[0], {.name = "second", .collective = Collective::send_recv, .ranks = {4, 6}}};
  CHECK(contention(t, apart).outcomes[0].slow_down() == Approx(1));
}

TEST_CASE("an all-reduce beside an all-to-all halves with it on NVLink, and gives way by weight") {
  const Topology t = laid_out("dgx-h100");
  std::vector<ConcurrentCollective> both{
      {.name = "gradients", .ranks = first(8)},
      {.name = "tokens", .collective = Collective::all_to_all, .algorithm = Algorithm::direct, .ranks = first(8)}};
  Contention c = contention(t, both);
  CHECK(c.outcomes[0].alone == Approx(450e9 / 1.75));
  CHECK(c.outcomes[1].alone == Approx(450e9 / 0.875));
  CHECK(c.outcomes[0].slow_down() == Approx(2));
  CHECK(c.outcomes[1].slow_down() == Approx(2));
  CHECK(limit_of(c, 1).name == "nvlink of GPU 0 (out)");
  CHECK(limit_of(c, 1).sharers == std::vector<int>{0, 1});
  both[0].weight = 3;
  c = contention(t, both);
  CHECK(c.outcomes[0].slow_down() == Approx(4.0 / 3));
  CHECK(c.outcomes[1].slow_down() == Approx(4));
}

TEST_CASE("one that is held up elsewhere leaves its part of the shared link to the other") {
  // with two NICs a node the ring over two nodes is held by them; the ring inside node 0 gets what it leaves of NVLink
  const Topology t = laid_out("dgx-h100", 2, {"nic.endpoints=2"});
  const std::vector<ConcurrentCollective> both{{.name = "across", .ranks = first(16)}, {.name = "inside", .ranks = first(8)}};
  const Contention c = contention(t, both);
  CHECK(c.outcomes[0].slow_down() == Approx(1));
  CHECK(limit_of(c, 0).name.substr(0, 3) == "nic");
  double max = 0;  // of the ring across on any NVLink of node 0
  const Traffic across = TrafficCounter{t}.count(Collective::all_reduce, Algorithm::ring, first(16));
  for (const LinkLoad& l : across.loads)
    if (l.link < t.link(t.gpu_out, 8)) max = std::max(max, l.bytes);
  CHECK(c.outcomes[1].shared == Approx((450e9 - max * c.outcomes[0].shared) / 1.75));
  CHECK(c.outcomes[1].slow_down() > 1.1);
}

TEST_CASE("8 senders to one NIC: an eighth of the port each") {
  const Topology t = laid_out("superpod-h100", 16);
  std::vector<ConcurrentCollective> senders;
  for (int node = 1; node <= 8; ++node)
    senders.push_back({.name = "node " + std::to_string(node), .collective = Collective::send_recv, .ranks = {8 * node, 0}});
  const Contention c = contention(t, senders);
  for (std::size_t i = 0; i < senders.size(); ++i) {
    CHECK(c.outcomes[i].shared == Approx(incast_rate(50e9, 8, 50e9)));
    CHECK(limit_of(c, i).name == "nic 0 of node 0 (in)");
  }
  CHECK(limit_of(c, 0).sharers.size() == 8);
}

TEST_CASE("hashing slows rings that cross a spine by the expected collisions, spreading does not") {
  // two racks of 2 nodes below tapered switches: 16 rings leave a rack over its 16 links
  const Topology t = laid_out("meta-24k-roce", 4);
  const std::vector<ConcurrentCollective> all = rings(strided_groups(32, 2, 16));
  REQUIRE(all.size() == 16);
  const Contention even = contention(t, all), hashed = contention(t, all, {.balancing = Balancing::hashed});
  const double expected = expected_max_load(16, 16);
  CHECK(expected > 2.5);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(even.outcomes[i].shared == Approx(50e9));
    CHECK(hashed.outcomes[i].shared == Approx(50e9 / expected));
  }
}

TEST_CASE("fewer or more hashed flows than links wait for the fullest link alike") {
  const Topology t = laid_out("meta-24k-roce", 4);  // 16 links out of a rack
  const std::vector<ConcurrentCollective> once = rings(strided_groups(32, 2, 16));
  const std::vector<ConcurrentCollective> few(once.begin(), once.begin() + 8);
  std::vector<ConcurrentCollective> many = once;
  many.insert(many.end(), once.begin(), once.end());
  for (const auto& [all, flows] : {std::pair{few, 8.0}, {many, 32.0}}) {
    INFO(flows << " flows");
    const Contention even = contention(t, all), hashed = contention(t, all, {.balancing = Balancing::hashed});
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(hashed.outcomes[i].shared == Approx(50e9 / expected_max_load(flows, 16)));
      CHECK(even.outcomes[i].shared / hashed.outcomes[i].shared == Approx(expected_max_load(flows, 16) / std::max(1.0, flows / 16)));
    }
  }
}

TEST_CASE("concurrency properties on random groups: never faster than alone, order does not matter, no link above its capacity") {
  std::mt19937 random{11};
  for (const std::string name : {"superpod-h100", "dgx-1-v100", "mi300x-8", "meta-24k-roce", "frontier"}) {
    const Topology t = laid_out(name, name == "superpod-h100" ? 64 : name == "dgx-1-v100" || name == "mi300x-8" ? 4 : 800);
    for (int round = 0; round < 8; ++round) {
      std::vector<ConcurrentCollective> all;
      for (int c = 0; c < 6; ++c) {
        std::vector<int> pool = first(t.gpus());
        std::shuffle(pool.begin(), pool.end(), random);
        pool.resize(2 + random() % 7);
        std::sort(pool.begin(), pool.end());
        const bool exchange = random() % 3 == 0;
        all.push_back({.collective = exchange ? Collective::all_to_all : Collective::all_reduce,
                       .algorithm = exchange            ? Algorithm::direct
                                    : random() % 2 == 0 ? Algorithm::tree
                                                        : Algorithm::ring,
                       .ranks = pool});
      }
      const Contention c = contention(t, all);
      for (const ContendedLink& link : c.links) {
        REQUIRE(link.load <= link.capacity * (1 + 1e-9));
        REQUIRE(link.load == Approx(link.capacity));
      }
      std::vector<ConcurrentCollective> turned(all.rbegin(), all.rend());
      const Contention r = contention(t, turned);
      for (std::size_t i = 0; i < all.size(); ++i) {
        REQUIRE(c.outcomes[i].slow_down() >= 1);
        REQUIRE(r.outcomes[all.size() - 1 - i].shared == Approx(c.outcomes[i].shared));
        const Contention only = contention(t, std::span{&all[i], 1});
        REQUIRE(only.outcomes[0].shared == Approx(c.outcomes[i].alone));
      }
    }
  }
}

TEST_CASE("only the transfer of a prediction is slowed down") {
  const System system = load_system("dgx-h100");
  const Prediction large = predict(system, AllReduce{.bytes = units::GiB(1)}), little = predict(system, AllReduce{.bytes = units::B(8)});
  CHECK(contended_time(large, 1) == large.seconds);
  CHECK(contended_time(large, 2) / large.seconds == Approx(2).epsilon(0.05));
  CHECK(contended_time(little, 2) / little.seconds < 1.05);
}

// The groups of a layout at once: every answer is checked to be a fair sharing of the links, and each group's price against predict.

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

TEST_CASE("groups of a dragonfly send each other no more than the wires of any cut between them carry") {
  std::mt19937 random{17};
  for (const char* name : {"alps-gh200", "frontier"}) {
    const System system = load_system(name);
    const Topology t = topology_of(system, system.nodes / 4);
    const NetworkLevel& top = t.levels.back();
    const int nodes = t.nodes / top.span * top.span, groups = nodes / top.span, of_group = top.span * t.gpus_per_node;
    const double wires = t.blocks[static_cast<std::size_t>(top.pairs)].capacity;
    for (int round = 0; round < 6; ++round) {
      std::vector<int> to(static_cast<std::size_t>(groups));  // the group that each sends to: halves, the next one, or any
      for (int g = 0; g < groups; ++g) to[static_cast<std::size_t>(g)] = (g + (round == 0 ? groups / 2 : 1)) % groups;
      if (round > 1) std::shuffle(to.begin(), to.end(), random);
      std::vector<ConcurrentCollective> pairs;
      std::vector<int> from;
      for (int g = 0; g < groups; ++g)
        for (int i = 0; i < of_group && to[static_cast<std::size_t>(g)] != g; i += 8) {
          pairs.push_back({.collective = Collective::send_recv, .ranks = {g * of_group + i, to[static_cast<std::size_t>(g)] * of_group + i}});
          from.push_back(g);
        }
      const Contention all = contention(t, pairs);
      std::vector<double> sent(static_cast<std::size_t>(groups), 0);
      for (std::size_t f = 0; f < pairs.size(); ++f) sent[static_cast<std::size_t>(from[f])] += all.outcomes[f].shared;
      for (int cut = 0; cut < 200; ++cut) {
        std::vector<int> side(static_cast<std::size_t>(groups));
        for (int& one : side) one = static_cast<int>(random() % 2);
        double across = 0;
        for (int g = 0; g < groups; ++g)
          if (side[static_cast<std::size_t>(g)] == 0 && side[static_cast<std::size_t>(to[static_cast<std::size_t>(g)])] == 1)
            across += sent[static_cast<std::size_t>(g)];
        const auto ones = std::count(side.begin(), side.end(), 1);
        // groups that the job leaves alone stand on either side, whichever lets more pass
        const auto idle = top.groups - groups;
        const auto most = std::max((ones + idle) * (groups - ones), ones * (groups - ones + idle));
        CHECK(across <= static_cast<double>(most) * wires * (1 + 1e-3));
      }
    }
  }
}

TEST_CASE("halves of a dragonfly send each other what the wires between them carry") {
  const System system = load_system("alps-gh200");
  const Topology t = topology_of(system);
  const NetworkLevel& top = t.levels.back();
  const double wires = bisection_of(system, system.tiers.back()).value();
  for (const bool both_ways : {false, true}) {
    std::vector<ConcurrentCollective> pairs;
    for (int gpu = 0; gpu < t.gpus() / (both_ways ? 1 : 2); ++gpu)
      pairs.push_back({.collective = Collective::send_recv, .ranks = {gpu, (gpu + t.gpus() / 2) % t.gpus()}});
    const Contention all = contention(t, pairs);
    double across = 0;
    for (const ConcurrentOutcome& one : all.outcomes) across += one.shared;
    INFO("both ways " << both_ways);
    CHECK(across / (both_ways ? 2 : 1) == Approx(wires).epsilon(1e-3));
    const double of_pair = 2 * wires / top.groups;  // what a group sends to its partner
    CHECK(all.detoured == Approx(1 - wires * 4 / top.groups / top.groups / of_pair).epsilon(1e-3));
  }
}

TEST_CASE("an exchange of a whole dragonfly fits the wires between its groups") {
  const System system = load_system("alps-gh200");
  GroupedCollective asked = over(Collective::all_to_all, Algorithm::direct, 4 * 2688, 1);
  const ConcurrentGroups all = at_once(system, 2688, std::vector{asked});
  CHECK(all.contention.detoured == 0);
  CHECK(all.outcomes[0].slow_down == Approx(1));
}

TEST_CASE("a collective by itself is no faster than its own routes") {
  const auto slowed = [](const char* name, int nodes, Collective op, int size, RouteOptions routes) {
    const System system = load_system(name);
    GroupedCollective asked = over(op, Algorithm::ring, size, 1);
    asked.choice.algorithm.reset();
    const ConcurrentGroups all = at_once(system, nodes, std::vector{asked}, {.routes = routes});
    const GroupedOutcome& one = all.outcomes[0];
    CHECK(one.seconds >= one.alone.operation.bytes.value() / all.contention.outcomes[0].alone * (1 - 1e-9));
    CHECK(one.end == Approx(one.seconds));
    return one.slow_down;
  };
  CHECK(slowed("frontier", 256, Collective::all_to_all, 2048, {}) == Approx(1));
  // two groups of 128 nodes meet on one of 73 bundles
  CHECK(slowed("frontier", 256, Collective::all_to_all, 2048, {.adaptive = false}) > 30);
  for (const int nodes : {1, 4, 8, 16})
    for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::all_to_all})
      CHECK(slowed("tpu-v5p", nodes, op, 4 * nodes, {}) == Approx(1).epsilon(0.01));
}

TEST_CASE("nodes that fill no whole domains are priced as predict prices them") {
  const System system = load_system("gb200-nvl72");
  const std::vector<GroupedCollective> asked{over(Collective::all_reduce, Algorithm::ring, 108, 1)};
  const ConcurrentGroups all = at_once(system, 27, asked);
  const Operation same{.collective = Collective::all_reduce, .bytes = units::MiB(64), .nodes = 27};
  CHECK(all.outcomes[0].alone.seconds == Approx(predict(system, same, {.algorithm = Algorithm::ring}).seconds));
}

// Collectives until each ends: hand cases, and properties of random layouts of all machines: never shorter than alone, never longer than one
// after the other where the groups of each advance alike. FABRICOST_QUESTIONS sets how many are asked (default 600; a release is asked 100,000).

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
