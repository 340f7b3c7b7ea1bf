#include <fabricost/fabricost.hpp>
#include <fabricost/predict/fabric_of.hpp>

#include "catch.hpp"
#include "support/message_of.hpp"
#include "support/systems.hpp"

#include <algorithm>

using namespace fabricost::core;

namespace {

void expect_levels(const System& s, int ranks, int nodes, int inner, int outer) {
  INFO(s.name << " ranks " << ranks << " nodes " << nodes);
  const Levels levels = levels_of(s, ranks, nodes);
  CHECK(levels.sizes[0] == inner);
  CHECK((levels.count > 1 ? levels.sizes[1] : 1) == outer);
}

}  // namespace

TEST_CASE("ranks spread over domains", "[predict]") {
  const System box = systems::hopper_box();
  expect_levels(box, 0, 0, 8, 1);
  expect_levels(box, 0, 1, 8, 1);
  expect_levels(box, 4, 1, 4, 1);
  expect_levels(box, 4, 0, 4, 1);
  expect_levels(box, 1, 1, 1, 1);
  expect_levels(box, 0, 4, 8, 4);
  expect_levels(box, 64, 0, 8, 8);
  expect_levels(box, 8, 2, 4, 2);
  expect_levels(box, 2, 2, 1, 2);
  expect_levels(box, 12, 2, 6, 2);
  expect_levels(box, 12, 0, 6, 2);
  expect_levels(systems::lone_gpus(), 16, 16, 1, 16);
  expect_levels(systems::lone_gpus(), 16, 0, 1, 16);
}

TEST_CASE("eighteen trays are one domain, thirty-six are two", "[predict]") {
  const System rack = systems::rack();
  expect_levels(rack, 0, 0, 72, 1);
  expect_levels(rack, 0, 18, 72, 1);
  expect_levels(rack, 72, 0, 72, 1);
  expect_levels(rack, 72, 18, 72, 1);
  expect_levels(rack, 4, 1, 4, 1);
  expect_levels(rack, 32, 8, 32, 1);
  expect_levels(rack, 8, 8, 8, 1);
  expect_levels(rack, 0, 36, 72, 2);
  expect_levels(rack, 144, 0, 72, 2);
  expect_levels(rack, 36, 36, 18, 2);
  expect_levels(rack, 0, 27, 54, 2);
  const Fabric one = fabric_of(rack, {.nodes = 18});
  CHECK(one.domains() == 1);
  CHECK(one.nodes == 18);
  const Fabric two = fabric_of(rack, {.nodes = 36});
  CHECK(two.domains() == 2);
  CHECK(two.nics == 72);
  CHECK(two.outer_rate == Approx(72 * 50e9));
}

TEST_CASE("ranks that do not fit are refused with numbers", "[predict]") {
  const System box = systems::hopper_box();
  CHECK_THROWS_AS(levels_of(box, 13, 2), RequestError);
  CHECK_THROWS_AS(levels_of(box, 17, 2), RequestError);
  CHECK_THROWS_AS(levels_of(box, 9, 1), RequestError);
  CHECK_THROWS_AS(levels_of(box, -1, 1), RequestError);
  CHECK_THROWS_AS(levels_of(box, 8, -1), RequestError);
  CHECK_THROWS_AS(levels_of(systems::rack(), 4 * 19 + 1, 20), RequestError);
  const auto says = [&](int ranks, int nodes, std::string_view piece) {
    return support::contains(support::message_of([&] { return levels_of(box, ranks, nodes); }), piece);
  };
  CHECK(says(17, 2, "17 ranks"));
  CHECK(says(17, 2, "2 nodes of 8"));
  CHECK(says(13, 2, "13 ranks"));
  CHECK(says(13, 2, "take 12 or 14"));
  CHECK(says(13, 0, "13 ranks"));
}

TEST_CASE("absurd counts are refused, not overflowed", "[predict]") {
  const int max = std::numeric_limits<int>::max();
  for (const System& s : {systems::hopper_box(), systems::rack(), systems::lone_gpus()}) {
    INFO(s.name);
    for (const auto& [ranks, nodes] :
         std::vector<std::pair<int, int>>{{0, max}, {8, max}, {max, 0}, {max, 1}, {max, max}, {0, max / 2}, {2000000000, 1000000000}}) {
      INFO(ranks << " ranks on " << nodes << " nodes");
      try {
        const Levels levels = levels_of(s, ranks, nodes);
        CHECK(levels.sizes[0] > 0);
        CHECK(levels.sizes[1] > 0);
        if (ranks > 0) CHECK(levels.ranks() == ranks);
      } catch (const RequestError& e) {
        CHECK(std::string{e.what()}.find('-') == std::string::npos);  // no count has with_parameter negative
      }
    }
  }
}

TEST_CASE("a machine without NICs stays inside its domain", "[predict]") {
  System s = systems::hopper_box();
  s.tiers.erase(s.tiers.begin() + 1);
  CHECK_NOTHROW(predict(s, AllReduce{.bytes = units::MiB(1)}));
  CHECK(support::contains(support::message_of([&] { return predict(s, AllReduce{.bytes = units::MiB(1), .nodes = 2}); }), "nic"));
  CHECK_THROWS_AS(predict(s, SendRecv{.bytes = units::MiB(1), .path = Path::nic}), RequestError);
}

TEST_CASE("GPUs that nothing joins cannot talk inside a node", "[predict]") {
  System s = systems::hopper_box();
  s.tiers.erase(s.tiers.begin());
  CHECK_THROWS_AS(predict(s, AllReduce{.bytes = units::MiB(1)}), RequestError);
  const System lone = systems::lone_gpus();
  CHECK_NOTHROW(predict(lone, AllReduce{.bytes = units::MiB(1), .nodes = 16}));
  CHECK_NOTHROW(predict(lone, AllReduce{.bytes = units::MiB(1)}));  // one rank
  CHECK_NOTHROW(predict(lone, SendRecv{.bytes = units::MiB(1), .path = Path::nic}));
  CHECK_THROWS_AS(predict(lone, SendRecv{.bytes = units::MiB(1)}), RequestError);
  CHECK_THROWS_AS(predict(lone, SendRecv{.bytes = units::MiB(1), .path = Path::gpu_host}), RequestError);  // no host tier
}

TEST_CASE("GPUs of a mesh that share no link are refused, not priced at no rate", "[predict]") {
  System s = systems::cube_mesh_box();
  s.tiers[0].edges = {{0, 2, 1}, {1, 3, 1}, {2, 3, 2}};
  s.tiers[0].endpoints = 4;
  s.gpus_per_node = s.domain = 4;
  CHECK_NOTHROW(predict(s, AllReduce{.bytes = units::MiB(1), .ranks = 4}));
  CHECK_THROWS_AS(predict(s, AllReduce{.bytes = units::MiB(1), .ranks = 2}), RequestError);
}

TEST_CASE("a mesh offers the links to those that take part", "[predict]") {
  CHECK(fabric_of(systems::grace_hopper_quad(), {.ranks = 4}).inner_rate == Approx(450e9));
  CHECK(fabric_of(systems::grace_hopper_quad(), {.ranks = 2}).inner_rate == Approx(150e9));
  CHECK(fabric_of(systems::full_mesh_box(), {.ranks = 2}).inner_rate == Approx(64e9));
  CHECK(fabric_of(systems::full_mesh_box(), {.ranks = 8}).inner_rate == Approx(448e9));
  CHECK(fabric_of(systems::cube_mesh_box(), {.ranks = 8}).inner_rate == Approx(150e9));
  CHECK(fabric_of(systems::cube_mesh_box(), {.ranks = 2}).inner_rate == Approx(25e9));  // GPU 0 and 1 share one link
  CHECK(fabric_of(systems::cube_mesh_box(), {.ranks = 4}).inner_rate == Approx(100e9));
  CHECK(fabric_of(systems::hopper_box(), {.ranks = 2}).inner_rate == Approx(450e9));  // behind a switch all links lead everywhere
}

TEST_CASE("the ends of a line have one link, so that a ring along it has half of the rate") {
  System s = load_system("tpu-v5p-cube");
  s.pod = 0;
  s.gpus_per_node = s.domain = 8;
  for (Tier& tier : s.tiers)
    if (tier.role == TierRole::scale_up) {
      tier.endpoints = 8;
      tier.dims = {1, 8, 1};
    }
  const auto set_wrap = [&](bool wrap) {
    for (Tier& tier : s.tiers) tier.wrap = wrap;
  };
  for (const Collective op : {Collective::all_gather, Collective::all_reduce, Collective::broadcast, Collective::reduce_scatter}) {
    const Operation asked{.collective = op, .bytes = units::GiB(1), .ranks = 8};
    set_wrap(true);
    const Prediction closed = predict(s, asked);
    set_wrap(false);
    const Prediction open = predict(s, asked);
    CHECK(open.seconds > 1.9 * closed.seconds);
    CHECK(open.low >= bus_factor(op, 8) * 1073741824 / 100e9 * (1 - 1e-9));
  }
  CHECK(fabric_of(s, {.ranks = 4}).inner_rate == Approx(100e9));
}

TEST_CASE("a mesh has room for as many rings as its narrowest cut has links") {
  CHECK(fabric_of(load_system("mi250x-16gcd"), {.ranks = 16}).inner_rate == Approx(6 * 50e9));  // a die has 7, six join two halves
  System s = systems::cube_mesh_box();
  std::vector<Edge> quads;
  for (int half = 0; half < 8; half += 4)
    for (int a = 0; a < 4; ++a)
      for (int b = a + 1; b < 4; ++b) quads.push_back({half + a, half + b, 2});
  quads.push_back({3, 4, 1});
  s.tiers[0].edges = quads;
  CHECK(fabric_of(s, {.ranks = 8}).inner_rate == Approx(25e9));
  CHECK(predict(s, AllToAll{.bytes = units::GiB(1), .ranks = 8}).low >= 2 * units::GiB(1).value() / 25e9);
  CHECK(fabric_of(s, {.collective = Collective::all_to_all, .ranks = 8}).inner_exchanges ==
        Approx(7.0 / 16));  // 16 of its 7 messages on that link
}

TEST_CASE("NICs follow the GPUs that use them", "[predict]") {
  CHECK(fabric_of(systems::hopper_box(), {.ranks = 16, .nodes = 2}).outer_rate == Approx(400e9));
  CHECK(fabric_of(systems::hopper_box(), {.ranks = 8, .nodes = 2}).outer_rate == Approx(200e9));
  CHECK(fabric_of(systems::hopper_box(), {.ranks = 2, .nodes = 2}).outer_rate == Approx(50e9));
  CHECK(fabric_of(systems::cube_mesh_box(), {.ranks = 16, .nodes = 2}).outer_rate == Approx(50e9));  // four NICs of eight GPUs
  CHECK(fabric_of(systems::cube_mesh_box(), {.ranks = 2, .nodes = 2}).outer_rate == Approx(12.5e9));
}

TEST_CASE("what is staged in a node's memory passes it four times", "[predict]") {
  System s = load_system("dgx-b200");
  Tier& nic = *std::find_if(s.tiers.begin(), s.tiers.end(), [](const Tier& t) { return t.role == TierRole::nic; });
  const auto reached = [&](int ranks) {
    const Fabric f = fabric_of(s, {.ranks = ranks, .nodes = 2});
    CHECK(f.ring_taper == f.all_to_all_taper);
    return f.outer_rate * f.ring_taper;
  };
  CHECK(reached(16) == Approx(8 * 50e9));
  const auto chosen = predict(s, AllReduce{.bytes = units::GiB(8), .nodes = 16}).ran;
  nic.gpu_direct = false;
  CHECK(reached(16) == Approx(s.host_memory_rate.value.value() / 4));
  CHECK(reached(2) == Approx(50e9));  // one NIC is slower than that
  const Prediction staged = predict(s, AllReduce{.bytes = units::GiB(8), .nodes = 16});
  CHECK(staged.bottleneck().tier.view() == "host memory");
  CHECK(staged.ran == chosen);
  CHECK(in(staged.bus_bandwidth(), units::GB_per_s).value() < 135);
  s.host_memory_rate.value = {};
  CHECK(reached(16) == Approx(8 * 50e9));  // not known
}

TEST_CASE("GPUs that share a link upward exchange no faster than it carries", "[predict]") {
  System box = load_system("rtx-pro-6000-pcie");
  box.constants.basis = Basis::sibling;
  Tier& pcie = *std::find_if(box.tiers.begin(), box.tiers.end(), [](const Tier& t) { return t.role == TierRole::scale_up; });
  const auto asked = [&](int ranks) { return predict(box, AllToAll{.bytes = units::GiB(1), .ranks = ranks}); };
  const double alone = asked(4).seconds, pair = asked(2).seconds;
  pcie.shared_by = 2;
  // two GPUs send half of 1 GiB each over the link that they share
  const double link = pcie.bandwidth.value.value();
  CHECK(asked(4).seconds >= std::max(alone, 2 * 0.5 * 1073741824.0 / link));
  CHECK(asked(4).low >= 2 * 0.5 * 1073741824.0 / link);
  CHECK(asked(2).seconds == Approx(pair));
  pcie.shared_by = 4;
  CHECK(asked(8).low >= 4 * 0.5 * 1073741824.0 / link);
}

TEST_CASE("tapered uplinks slow what crosses them", "[predict]") {
  // 4 nodes to a leaf, a third of their rate goes on to the spine; 128 below a spine switch
  const System tapered = systems::tapered_boxes();
  CHECK(fabric_of(tapered, {.nodes = 4}).ring_taper == 1);
  CHECK(fabric_of(tapered, {.nodes = 4}).all_to_all_taper == 1);
  const Fabric crossing = fabric_of(tapered, {.nodes = 16});
  CHECK(crossing.ring_taper == 1);  // four uplinks' worth of a third carry one ring's stream
  // 4 nodes send 12/15 of what leaves them over 4/3 of a node's rate
  CHECK(crossing.all_to_all_taper == Approx((1.0 / 3) * (15.0 / 16) / (12.0 / 16)));
  const auto seconds = [&](const System& s, int nodes) { return predict(s, AllToAll{.bytes = units::GiB(1), .nodes = nodes}).seconds; };
  System even = tapered;
  for (Tier& t : even.tiers) t.oversubscription = 1;
  CHECK(seconds(tapered, 4) == Approx(seconds(even, 4)));
  CHECK(seconds(tapered, 16) > 2 * seconds(even, 16));
  CHECK(predict(tapered, AllToAll{.bytes = units::GiB(1), .nodes = 16}).bottleneck().tier.view() == "leaf");
  // an all_gather that sends to everybody at once crosses the spine as an all_to_all does; a ring's stream is not held back there
  const Operation gather{.collective = Collective::all_gather, .bytes = units::GiB(1), .nodes = 16};
  const Prediction all_at_once = predict(tapered, gather, {.algorithm = Algorithm::direct});
  CHECK(all_at_once.ran.algorithm == Algorithm::direct);
  CHECK(all_at_once.bottleneck().tier.view() == "leaf");
  CHECK(predict(tapered, gather, {.algorithm = Algorithm::ring}).bottleneck().tier.view() != "leaf");
}

TEST_CASE("oversubscription is a switch's uplinks against its downlinks: what stays below it is untouched, tiers multiply", "[predict]") {
  System s = systems::tapered_boxes();  // leaf 4 nodes 3:1, spine 32 leaves 1.5:1, core
  const auto all_to_all = [&](int nodes) { return fabric_of(s, Operation{.collective = Collective::all_to_all, .nodes = nodes}); };
  for (const int nodes : {2, 4}) {
    CHECK(all_to_all(nodes).all_to_all_taper == 1);
    CHECK(all_to_all(nodes).ring_taper == 1);
    CHECK(all_to_all(nodes).outer_rate == Approx(400e9));
  }
  // 512 nodes below four spines: three quarters of the traffic leave a spine by 1/(3 x 1.5) of its nodes' NICs
  CHECK(all_to_all(512).all_to_all_taper == Approx((1.0 / 4.5) * (511.0 / 512) / 0.75));
  CHECK(all_to_all(512).all_to_all_taper_tier == "spine");
  CHECK(all_to_all(16).all_to_all_taper_tier == "leaf");
  // one node below each leaf: its uplinks are what that node has
  s.tiers[2].endpoints = 1;
  CHECK(all_to_all(4).all_to_all_taper == Approx(1.0 / 3));
  CHECK(all_to_all(4).ring_taper == Approx(1.0 / 3));
  CHECK(all_to_all(4).ring_taper_tier == "leaf");
  CHECK(aggregate_of(s, s.tiers[2]) == s.tiers[2].bandwidth.value * (128.0 * 8));
  CHECK(aggregate_of(s, s.tiers[3]).value() == Approx(50e9 * 128 * 8 / 3));
  CHECK(aggregate_of(s, s.tiers[4]).value() == Approx(50e9 * 128 * 8 / 4.5));
}

TEST_CASE("names of results are whole", "[predict]") {
  for (const std::string_view algorithm : algorithm_names) CHECK(Label{algorithm}.view() == algorithm);
  for (const std::string_view protocol : protocol_names) CHECK(Label{protocol}.view() == protocol);
  for (const char* term : term_names) CHECK(Label{term}.view() == term);
}

TEST_CASE("confidence follows what was measured", "[predict]") {
  System s = systems::hopper_box();
  const auto width = [&](const Operation& op) {
    const Prediction p = predict(s, op);
    return std::log(p.high / p.seconds);
  };
  const Operation inside = AllReduce{.bytes = units::MiB(1), .ranks = 8};
  const Operation across = AllReduce{.bytes = units::MiB(1), .nodes = 4};
  s.constants.basis = Basis::calibrated;
  const double calibrated = width(inside);
  CHECK(predict(s, inside).basis == Basis::calibrated);
  CHECK_FALSE(predict(s, inside).extrapolated.any());
  s.constants.basis = Basis::sibling;
  const double sibling = width(inside);
  s.constants.basis = Basis::datasheet;
  const double datasheet = width(inside);
  CHECK(calibrated < sibling);
  CHECK(sibling < datasheet);
  CHECK(datasheet > 0.4);

  s.constants.basis = s.constants.transport_basis = Basis::calibrated;
  s.constants.transport_known = true;
  s.constants.most_nodes = 16;
  const double known = width(across);
  CHECK(predict(s, across).basis == Basis::calibrated);
  s.constants.transport_basis = Basis::sibling;
  const double cluster_unknown = width(across);
  s.constants.transport_known = false;
  const double transport_unknown = width(across);
  CHECK(known < cluster_unknown);
  CHECK(cluster_unknown < transport_unknown);
  CHECK(predict(s, across).basis == Basis::datasheet);

  s.constants.most_nodes = 2;
  CHECK(predict(s, across).extrapolated.nodes);
  CHECK(width(across) > transport_unknown);
  CHECK(predict(s, AllReduce{.bytes = units::GiB(16), .ranks = 8}).extrapolated.sizes);
  CHECK(width(AllReduce{.bytes = units::GiB(16), .ranks = 8}) > width(AllReduce{.bytes = units::MiB(512), .ranks = 8}));
  System rack = systems::rack();
  CHECK(predict(rack, AllReduce{.bytes = units::MiB(1)}).extrapolated.ranks);
}

TEST_CASE("between nodes that were measured themselves, sizes beyond theirs are extrapolated, whatever was measured inside", "[predict]") {
  System s = systems::hopper_box();
  s.constants.transport_basis = Basis::calibrated;
  s.constants.transport_known = true;
  s.constants.most_nodes = 16;
  const auto at = [&](Bytes bytes) { return predict(s, AllReduce{.bytes = bytes, .nodes = 4}); };
  const auto width = [](const Prediction& p) { return std::log(p.high / p.seconds); };
  s.constants.transport_smallest = 8192, s.constants.transport_largest = 8 * 1073741824.0;
  const Prediction known = at(units::MiB(256));
  CHECK_FALSE(known.extrapolated.sizes);
  CHECK_FALSE(at(units::GiB(8)).extrapolated.sizes);
  CHECK(at(units::KiB(1)).extrapolated.sizes);
  s.constants.transport_largest = 65536;
  CHECK(at(units::KiB(128)).extrapolated.sizes);
  CHECK(at(units::MiB(256)).extrapolated.sizes);
  CHECK(width(at(units::MiB(256))) > width(known));
  CHECK_FALSE(predict(s, AllReduce{.bytes = units::MiB(256), .ranks = 8}).extrapolated.sizes);
}
