// The load of a collective on the links: against sending every message one by one, and against the schedules' own counts.
#include "catch.hpp"
#include "support/message_of.hpp"
#include "machines.hpp"

#include <fabricost/algorithms/schedule_of.hpp>

#include <set>

using namespace fabricost::plan;
using machines::carried;
using machines::check_exchange_one_by_one;
using machines::first;
using machines::laid_out;

TEST_CASE("an exchange counted by groups loads every link as its messages sent one by one do") {
  struct Where {
    std::string name;
    int nodes;
    std::vector<int> ranks;
  };
  std::vector<int> every_third, odd{1, 2, 9, 12, 17, 40, 63}, trays;
  for (int i = 0; i < 64; i += 3) every_third.push_back(i);
  for (int i = 0; i < 160; i += 2) trays.push_back(i);
  for (const Where& w : {Where{"dgx-h100", 1, first(8)},
                         {"superpod-h100", 40, {0, 9, 300, 301, 302, 17}},
                         {"superpod-h100", 8, first(64)},
                         {"superpod-h100", 8, odd},
                         {"dgx-1-v100", 2, first(16)},
                         {"tpu-v5p-cube", 16, every_third},
                         {"mi300x-8", 4, first(32)},
                         {"superpod-gb200", 40, trays},
                         {"aws-p5", 3, first(24)},
                         {"l40s-pcie", 1, first(8)},
                         {"frontier", 300, {0, 5, 900, 1100, 2300, 2399}},
                         {"meta-24k-roce", 800, {0, 1, 8, 16, 17, 3071, 3072, 3073, 6143, 6399}},
                         {"dgx-a100", 2, first(16)}}) {
    const Topology t = laid_out(w.name, w.nodes);
    for (const RouteOptions& options : {RouteOptions{}, RouteOptions{.relay_on_rails = false, .adaptive = false}}) {
      INFO(w.name << " " << w.ranks.size() << " ranks, relayed " << options.relay_on_rails << ", adaptive " << options.adaptive);
      check_exchange_one_by_one(t, w.ranks, options);
    }
  }
}

TEST_CASE("what leaves a domain is what the schedules say leaves it") {
  for (const int nodes : {2, 4, 8, 16}) {
    const Topology t = laid_out("superpod-h100", nodes);
    const Levels levels{8, nodes};
    const std::vector<int> ranks = first(8 * nodes);
    TrafficCounter counter{t};
    const auto leaves = [&](Collective c, Algorithm a) { return carried(t, counter.count(c, a, ranks), LinkKind::nic_out, 8); };
    INFO(nodes << " nodes");
    for (const Collective c : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast})
      CHECK(leaves(c, Algorithm::ring) == Approx(schedule_of(Algorithm::ring, c, levels).bytes(1)));
    CHECK(leaves(Collective::all_to_all, Algorithm::direct) ==
          Approx(schedule_of(Algorithm::direct, Collective::all_to_all, levels).bytes(1)));
    for (const Algorithm a : {Algorithm::halving_doubling, Algorithm::rabenseifner})
      CHECK(leaves(Collective::all_reduce, a) == Approx(schedule_of(a, Collective::all_reduce, levels).bytes(1)));
    CHECK(leaves(Collective::all_reduce, Algorithm::two_shot) ==
          Approx(schedule_of(Algorithm::two_shot, Collective::all_reduce, levels).bytes(1)));
    // (N - 1)/N S per half, all eight rails together
    CHECK(leaves(Collective::all_reduce, Algorithm::hierarchical) == Approx(2.0 * (nodes - 1) / nodes));
    // every domain but two roots sends half the data up a tree and all of it down to children, 2 S at most; all domains 2 (N - 1) S
    const double all = carried(t, counter.count(Collective::all_reduce, Algorithm::tree, ranks), LinkKind::nic_out);
    CHECK(all == Approx(2.0 * (nodes - 1)));
    for (int node = 0; node < nodes; ++node) {
      double out = 0;
      for (const LinkLoad& l : counter.count(Collective::all_reduce, Algorithm::tree, ranks).loads)
        if (t.block_of(l.link).kind == LinkKind::nic_out && (l.link - t.blocks[static_cast<std::size_t>(t.nic_out)].first) / 8 == node)
          out += l.bytes;
      CHECK(out <= schedule_of(Algorithm::tree, Collective::all_reduce, levels).bytes(1) + 1e-9);
    }
  }
}

TEST_CASE("what leaves a GPU inside a domain is what the schedules say") {
  const Topology t = laid_out("dgx-h100");
  TrafficCounter counter{t};
  const Levels levels{8};
  const auto leaves = [&](Collective c, Algorithm a) { return carried(t, counter.count(c, a, first(8)), LinkKind::gpu_out) / 8; };
  CHECK(leaves(Collective::all_reduce, Algorithm::ring) == Approx(1.75));
  CHECK(leaves(Collective::all_to_all, Algorithm::direct) == Approx(0.875));
  CHECK(leaves(Collective::all_reduce, Algorithm::nvls) == Approx(schedule_of(Algorithm::nvls, Collective::all_reduce, levels).bytes(0)));
  CHECK(leaves(Collective::all_reduce, Algorithm::one_shot) == Approx(7));
  CHECK(leaves(Collective::all_reduce, Algorithm::halving_doubling) == Approx(1.75));
  CHECK(leaves(Collective::all_reduce, Algorithm::tree) == Approx(2 * 7 / 8.0));  // a chain's seven edges both ways, over eight GPUs
  CHECK(leaves(Collective::send_recv, Algorithm::direct) == Approx(1));           // every rank to the next
  const Traffic pair = counter.count(Collective::send_recv, Algorithm::direct, std::vector<int>{5, 2});
  CHECK(carried(t, pair, LinkKind::gpu_out) == Approx(1));
  CHECK(pair.sent_by_rank == 1);
}

TEST_CASE("bundles above the NICs carry what the NICs below them bring, less the taper") {
  int bundles = 0;
  for (const SystemName& one : system_names()) {
    const System system = load_system(one.name);
    const Tier* nic = system.tier(TierRole::nic);
    if (nic == nullptr || system.tier(TierRole::network) == nullptr) continue;
    const Topology t = topology_of(system, std::min(system.nodes, 256));
    CAPTURE(one.name);
    for (const NetworkLevel& level : t.levels) {
      if (level.up < 0) continue;
      ++bundles;
      const double below = level.span * std::ceil(1.0 * t.nics / t.nic_group) * nic->bandwidth.value.value();
      CHECK(level.lanes * t.capacity(t.blocks[static_cast<std::size_t>(level.up)].first) == Approx(below / level.taper));
    }
  }
  CHECK(bundles > 5);
}

TEST_CASE("the taper of a leaf holds what leaves it, also where it joins one node") {
  System system = load_system("superpod-h100");
  double alone = 0;
  for (const int nodes : {1, 2, 4}) {  // below a leaf; fewer of them have fewer links out
    for (Tier& tier : system.tiers)
      if (tier.role == TierRole::network) {
        const bool leaf = tier.name == system.tier(TierRole::network)->name;
        tier.endpoints = leaf ? nodes : 64;
        tier.oversubscription = leaf ? 7 : 1;
      }
    const Topology t = topology_of(system, 8);
    std::vector<int> all = first(64);
    const double rate = machines::alone(t, TrafficCounter{t}.count(Collective::all_to_all, Algorithm::direct, all)).rate;
    CHECK(rate >= alone);
    alone = rate;
    // out of each leaf goes (64 - m)/64 of what its m GPUs have, over a seventh of their NICs
    const double m = 8.0 * nodes;
    CHECK(rate == Approx(m * 50e9 / 7 / (m * (64 - m) / 64)).epsilon(0.01));
  }
}

TEST_CASE("a ring on an axis of a torus sends half of its bytes either way") {
  const Topology t = laid_out("tpu-v5p-cube");
  TrafficCounter counter{t};
  const Traffic ring = counter.count(Collective::all_gather, Algorithm::ring, first(4));
  REQUIRE(ring.loads.size() == 8);  // four wires, both directions
  for (const LinkLoad& l : ring.loads) CHECK(l.bytes == Approx(0.375));
  std::set<int> ways;  // every rank of a send_recv sends to the next
  for (int i = 0; i < 4; ++i)
    for (const LinkUse& use : route(t, i, (i + 1) % 4)) ways.insert(use.link);
  std::set<int> loaded;
  for (const LinkLoad& l : counter.count(Collective::send_recv, Algorithm::direct, first(4)).loads) loaded.insert(l.link);
  CHECK(loaded == ways);
}

TEST_CASE("a ring through a torus goes from neighbour to neighbour, both ways") {
  Topology t = laid_out("tpu-v5p-cube");
  for (const bool wrap : {true, false})
    for (const int n : {8, 16, 32, 64}) {
      t.wrap = wrap;
      const Traffic ring = TrafficCounter{t}.count(Collective::all_gather, Algorithm::ring, first(n));
      CHECK(ring.loads.size() == static_cast<std::size_t>(2 * n));
      for (const LinkLoad& l : ring.loads) REQUIRE(l.bytes == Approx(ring.sent_by_rank / 2));
    }
}

TEST_CASE("a torus' exchange loads its wires as the schedule counts them") {
  const Topology t = laid_out("tpu-v5p-cube");
  const Traffic traffic = TrafficCounter{t}.count(Collective::all_to_all, Algorithm::direct, first(64));
  const double per_wire = schedule_of(Algorithm::torus_bucket, Collective::all_to_all, Connectivity{Levels{64}, t.dims, true}).bytes(0) / 6;
  CHECK(traffic.loads.size() == 64 * 6);
  for (const LinkLoad& l : traffic.loads) REQUIRE(l.bytes == Approx(per_wire));
  const Traffic bucket = TrafficCounter{t}.count(Collective::all_to_all, Algorithm::torus_bucket, first(64));
  CHECK(bucket.sent_by_rank == Approx(6 * per_wire));
  for (const LinkLoad& l : bucket.loads) REQUIRE(l.bytes == Approx(per_wire));
  // and by the cut: half the data of every rank crosses it, 2 x 16 wires of 100 GB/s each way
  const double by_bisection = 32 * 100e9 / (64 * 0.5 * 0.5);
  CHECK(machines::alone(t, traffic).rate == Approx(by_bisection));
}

TEST_CASE("the bucket algorithm on some axes of a torus loads their wires and no others") {
  const Topology t = laid_out("tpu-v5p-cube");
  std::vector<int> plane;  // 4 x 4 along y and z, x = 1
  for (int i = 0; i < 16; ++i) plane.push_back(1 + 4 * i);
  const Traffic traffic = TrafficCounter{t}.count(Collective::all_reduce, Algorithm::torus_bucket, plane);
  CHECK(traffic.sent_by_rank == Approx(2 * 15.0 / 16));
  CHECK(traffic.loads.size() == 16 * 4);
  for (const LinkLoad& l : traffic.loads) REQUIRE(l.bytes == Approx(2 * 15.0 / 16 / 4));
  const std::vector<int> line = first(4), scattered{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 63};
  for (const std::vector<int>& ranks : {line, scattered})
    CHECK(support::contains(
        support::message_of([&] { return TrafficCounter{t}.count(Collective::all_reduce, Algorithm::torus_bucket, ranks); }),
        "fill two or three axes"));
}

TEST_CASE("on half of a torus the bucket algorithm keeps to the wires inside, an exchange to its routes") {
  const Topology t = laid_out("tpu-v5p-cube");  // 4 x 4 x 4; the half is 4 x 4 x 2, a line along z
  const Traffic half = TrafficCounter{t}.count(Collective::all_reduce, Algorithm::torus_bucket, first(32));
  CHECK(half.loads.size() == 32 * 4 + 16 * 2);
  for (const LinkLoad& l : half.loads) REQUIRE(l.bytes == Approx(half.sent_by_rank / 6));
  const Traffic line = TrafficCounter{t}.count(Collective::all_to_all, Algorithm::torus_bucket, first(2));
  REQUIRE(line.loads.size() == 2);  // one wire, both ways
  for (const LinkLoad& l : line.loads) CHECK(l.bytes == Approx(0.5));
}

TEST_CASE("a collective that an algorithm does not have has no traffic") {
  const Topology t = laid_out("dgx-h100");
  TrafficCounter counter{t};
  const auto refusal = [&](Collective c, Algorithm a) { return support::message_of([&] { return counter.count(c, a, first(8)); }); };
  CHECK(support::contains(refusal(Collective::all_gather, Algorithm::tree), "trees exist for all_reduce, broadcast and reduce"));
  CHECK(support::contains(refusal(Collective::all_to_all, Algorithm::ring), "cannot exchange point to point"));
  CHECK(support::contains(refusal(Collective::all_reduce, Algorithm::direct), "direct exists for all_to_all"));
}

TEST_CASE("domains of one GPU leave nothing for their switches to add") {
  const Topology t = laid_out("dgx-h100", 2);
  const std::vector<int> heads{0, 8};
  const Traffic traffic = TrafficCounter{t}.count(Collective::all_reduce, Algorithm::nvls_tree, heads);
  CHECK(traffic.sent_by_rank > 0);
  CHECK(carried(t, traffic, LinkKind::gpu_out) == 0);
  CHECK(carried(t, traffic, LinkKind::nic_out) == Approx(2));
  for (const Algorithm in_network : {Algorithm::collnet_direct, Algorithm::collnet_chain})  // each sends all of it up once
    CHECK(carried(t, TrafficCounter{t}.count(Collective::all_reduce, in_network, heads), LinkKind::nic_out) == Approx(2));
}

TEST_CASE("a refused collective leaves nothing behind for the next") {
  const Topology t = laid_out("dgx-1-v100");
  TrafficCounter counter{t};
  const std::vector<int> six = first(6);
  const Traffic before = counter.count(Collective::all_reduce, Algorithm::ring, first(8));
  CHECK(support::contains(support::message_of([&] { return counter.count(Collective::all_reduce, Algorithm::halving_doubling, six); }),
                          "power of two"));
  CHECK(support::contains(support::message_of([&] { return counter.count(Collective::all_reduce, Algorithm::nvls, six); }),
                          "joined by switches"));
  CHECK(support::contains(support::message_of([&] { return counter.count(Collective::all_reduce, Algorithm::pat, six); }),
                          "PAT exists for all_gather and reduce_scatter"));
  CHECK(support::contains(support::message_of([&] { return counter.count(Collective::all_reduce, Algorithm::collnet_chain, six); }),
                          "more than one domain"));
  const std::vector<int> twice{0, 1, 1}, off{0, 8};
  CHECK(support::contains(support::message_of([&] { return counter.count(Collective::all_reduce, Algorithm::ring, twice); }),
                          "GPU 1 is named twice"));
  CHECK(support::contains(support::message_of([&] { return counter.count(Collective::all_reduce, Algorithm::ring, off); }),
                          "GPU 8 of 0 to 7"));
  const Traffic after = counter.count(Collective::all_reduce, Algorithm::ring, first(8));
  REQUIRE(after.loads.size() == before.loads.size());
  for (std::size_t i = 0; i < after.loads.size(); ++i) CHECK(after.loads[i].bytes == before.loads[i].bytes);
}

TEST_CASE("rings and trees of a wired domain keep to its wires, in one node and over several") {
  for (const char* name : {"dgx-1-v100", "dgx-1-p100", "mi300x-8", "frontier"})
    for (const int nodes : {1, 3}) {
      INFO(name << ", " << nodes << " nodes");
      const Topology t = laid_out(name, nodes);
      TrafficCounter counter{t};
      for (const Algorithm a : {Algorithm::ring, Algorithm::tree})
        for (const LinkLoad& l : counter.count(Collective::all_reduce, a, first(t.gpus())).loads) {
          const LinkKind kind = t.block_of(l.link).kind;
          REQUIRE(kind != LinkKind::port_up);  // that would be a hop over the host
          if (nodes == 1) REQUIRE(kind == LinkKind::wire);
        }
    }
}
