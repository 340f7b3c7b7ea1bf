// Prices of algorithms without a fitted form: phases on levels, added up here a second time from the schedule alone.
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/price/price.hpp>

#include "catch.hpp"

using namespace fabricost::core;

namespace {

constexpr double launch = 5e-6, floor_ = 8e-6;

struct Added {
  double steps = 0, wire = 0;
  int level = 0;  ///< whose bytes take longer
};

/// Serial steps of every level; of each stage the phase that takes longest.
Added added(const Schedule& schedule, const std::array<LevelCost, 2>& cost) {
  Added out;
  std::map<int, std::vector<std::pair<double, int>>> stages;  // time, level
  for (const Phase& p : schedule) {
    const int level = std::min(p.level, 1);
    out.steps += p.steps * cost[static_cast<std::size_t>(level)].hop;
    stages[p.stage].emplace_back(p.bytes / cost[static_cast<std::size_t>(level)].rate, level);
  }
  std::array<double, 2> by_level{};
  for (const auto& [stage, phases] : stages) {
    const auto [time, level] =
        *std::max_element(phases.begin(), phases.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    out.wire += time;
    by_level[static_cast<std::size_t>(level)] += time;
  }
  out.level = by_level[1] > 0 && by_level[1] >= by_level[0] ? 1 : 0;
  return out;
}

Fabric fabric_of(Levels levels) {
  Fabric f;
  f.levels = levels;
  f.inner_rate = f.full_rate = 100e9;
  f.outer_rate = levels.count > 1 ? 40e9 : 0;
  f.switched = true;
  return f;
}

constexpr std::array<std::pair<Algorithm, Collective>, 14> pairs{{{Algorithm::ring, Collective::all_gather},
                                                                  {Algorithm::halving_doubling, Collective::all_reduce},
                                                                  {Algorithm::halving_doubling, Collective::reduce_scatter},
                                                                  {Algorithm::rabenseifner, Collective::all_reduce},
                                                                  {Algorithm::recursive_doubling, Collective::all_reduce},
                                                                  {Algorithm::bruck, Collective::all_gather},
                                                                  {Algorithm::bruck, Collective::all_to_all},
                                                                  {Algorithm::pairwise, Collective::all_to_all},
                                                                  {Algorithm::direct, Collective::all_to_all},
                                                                  {Algorithm::one_shot, Collective::all_reduce},
                                                                  {Algorithm::two_shot, Collective::all_reduce},
                                                                  {Algorithm::hierarchical, Collective::all_reduce},
                                                                  {Algorithm::hierarchical, Collective::all_to_all},
                                                                  {Algorithm::pat, Collective::reduce_scatter}}};

}  // namespace

TEST_CASE("the general price is what the phases of a schedule take, stage by stage", "[price]") {
  const std::array<LevelCost, 2> near_fast{{{1e-6, 100e9}, {4e-6, 10e9}}}, far_fast{{{3e-6, 5e9}, {2e-6, 400e9}}},
      equal{{{1e-6, 10e9}, {1e-6, 10e9}}};
  for (const auto& [algorithm, collective] : pairs)
    for (const Levels levels : {Levels{8}, Levels{8, 4}, Levels{2, 16}})
      for (const auto& cost : {near_fast, far_fast, equal}) {
        INFO(name(algorithm) << " " << name(collective) << " on " << levels.size(0) << " x " << levels.size(1));
        const Schedule schedule = schedule_of(algorithm, collective, fabric_of(levels));
        const Added sum = added(schedule, cost);
        const Line line = price_phases(schedule, cost, launch, floor_, 1);
        for (const double bytes : {0.0, 1e4, 1e9})
          CHECK(line(bytes) == Approx(launch + floor_ + sum.steps + sum.wire * bytes).epsilon(1e-12));
        CHECK(line.wire_level == sum.level);
      }
}

TEST_CASE("a step with one partner uses one link of a full mesh, all others use all", "[price]") {
  Fabric mesh = fabric_of(Levels{8});
  mesh.switched = false;
  const std::vector<Algorithm> one_partner{Algorithm::halving_doubling, Algorithm::rabenseifner, Algorithm::bruck,
                                           Algorithm::pairwise,         Algorithm::pat,          Algorithm::recursive_doubling};
  const std::vector<Algorithm> many{Algorithm::ring,           Algorithm::tree,          Algorithm::nvls,        Algorithm::nvls_tree,
                                    Algorithm::collnet_direct, Algorithm::collnet_chain, Algorithm::direct,      Algorithm::torus_bucket,
                                    Algorithm::one_shot,       Algorithm::two_shot,      Algorithm::hierarchical};
  std::vector<std::pair<Algorithm, bool>> rows;
  for (const Algorithm a : one_partner) rows.emplace_back(a, true);
  for (const Algorithm a : many) rows.emplace_back(a, false);
  for (const auto& [algorithm, one] : rows) {
    INFO(name(algorithm));
    CHECK(link_share(algorithm, mesh) == Approx(one ? 1.0 / 7 : 1.0));
    Fabric other = mesh;
    other.switched = true;
    CHECK(link_share(algorithm, other) == 1);
    other = mesh;
    other.over_pcie = true;
    CHECK(link_share(algorithm, other) == 1);
    other = mesh;
    other.neighbours_only = true;
    CHECK(link_share(algorithm, other) == 1);
    other = mesh;
    other.levels = Levels{2};
    CHECK(link_share(algorithm, other) == 1);
  }
}

TEST_CASE("a tapered network leaves an exchange less than a stream", "[price]") {
  Fabric f = fabric_of(Levels{8, 16});
  f.ring_taper = 0.5;
  f.all_to_all_taper = 0.25;
  CHECK(taper_share(Algorithm::ring, f) == 0.5);
  CHECK(taper_share(Algorithm::hierarchical, f) == 0.5);
  CHECK(taper_share(Algorithm::pairwise, f, Collective::all_to_all) == 0.5);
  CHECK(taper_share(Algorithm::direct, f, Collective::all_to_all) == 0.25);
  CHECK(taper_share(Algorithm::hierarchical, f, Collective::all_to_all) == 0.25);
}

TEST_CASE("the rates of the general price are those of a ring by what an algorithm can use of them", "[price]") {
  const Constants c;
  const auto slope = [&](Algorithm algorithm, Collective collective, const Fabric& f) {
    return price_generic(schedule_of(algorithm, collective, f), f, c, Protocol::simple).rate;
  };
  const auto plain = [&](Algorithm algorithm, Collective collective, const Fabric& f, double inner, double outer) {
    auto cost = level_costs(f, c, Protocol::simple, collective);
    cost[0].rate *= inner;
    cost[1].rate *= outer;
    return added(schedule_of(algorithm, collective, f), cost).wire;
  };
  Fabric mesh = fabric_of(Levels{8});
  mesh.switched = false;
  CHECK(slope(Algorithm::pairwise, Collective::all_to_all, mesh) ==
        Approx(plain(Algorithm::pairwise, Collective::all_to_all, mesh, 1.0 / 7, 1)));
  Fabric tapered = fabric_of(Levels{8});
  tapered.inner_exchanges = 0.5;
  CHECK(slope(Algorithm::direct, Collective::all_to_all, tapered) ==
        Approx(plain(Algorithm::direct, Collective::all_to_all, tapered, 0.5, 1)));
  CHECK(slope(Algorithm::pairwise, Collective::all_to_all, tapered) ==
        Approx(plain(Algorithm::pairwise, Collective::all_to_all, tapered, 1, 1)));
  Fabric two = fabric_of(Levels{2, 16});
  two.ring_taper = 0.5;
  two.all_to_all_taper = 0.125;
  CHECK(slope(Algorithm::direct, Collective::all_to_all, two) == Approx(plain(Algorithm::direct, Collective::all_to_all, two, 1, 0.25)));
  CHECK(level_costs(two, c, Protocol::simple, Collective::all_gather)[1].rate == Approx(c.transport.efficiency * 0.5 * 40e9));
  CHECK(slope(Algorithm::ring, Collective::all_gather, two) == Approx(plain(Algorithm::ring, Collective::all_gather, two, 1, 1)));
  Fabric torus = fabric_of(Levels{64});
  torus.torus_axes = 3;
  torus.torus = {4, 4, 4};
  torus.switched = false;
  torus.neighbours_only = true;
  torus.full_rate = 3 * torus.inner_rate;
  CHECK(slope(Algorithm::torus_bucket, Collective::all_reduce, torus) ==
        Approx(plain(Algorithm::torus_bucket, Collective::all_reduce, torus, 3, 1)));
}

TEST_CASE("protocols give the general price their hops, rates, floors and overlap", "[price]") {
  Constants c;
  c.scale_up.simple.overlap = 1.7;
  c.scale_up.ll128.overlap = 1.4;
  const Fabric f = fabric_of(Levels{8, 4});
  const double ring = c.scale_up.simple.rate_share * f.inner_rate;
  const auto price_of = [&](Protocol protocol, const Fabric& fabric) {
    return price_generic(schedule_of(Algorithm::hierarchical, Collective::all_reduce, fabric), fabric, c, protocol);
  };
  CHECK(price_of(Protocol::simple, f).overlap == 1.7);
  CHECK(price_of(Protocol::ll128, f).overlap == 1.4);
  CHECK(price_of(Protocol::ll, f).overlap == 1);
  const auto ll = level_costs(f, c, Protocol::ll, Collective::all_reduce);
  CHECK(ll[0].rate == Approx(std::min(0.5 * ring, c.scale_up.ll.channel_share * f.inner_rate)));
  c.scale_up.ll.channel_share = 1;  // then half the ring's rate binds: half of what LL stores are flags
  CHECK(level_costs(f, c, Protocol::ll, Collective::all_reduce)[0].rate == Approx(0.5 * ring));
  CHECK(ll[1].rate == Approx(c.transport.ll_share * level_costs(f, c, Protocol::simple, Collective::all_reduce)[1].rate));
  CHECK(level_costs(f, c, Protocol::ll128, Collective::all_reduce)[1].rate ==
        Approx(0.9375 * level_costs(f, c, Protocol::simple, Collective::all_reduce)[1].rate));
  Fabric staged = f;
  staged.gpu_direct = false;
  const double step = level_costs(f, c, Protocol::simple, Collective::all_reduce)[1].hop;
  CHECK(step == Approx(0.5 * c.transport.ring_simple_step));
  CHECK(level_costs(staged, c, Protocol::simple, Collective::all_reduce)[1].hop == Approx(step * c.transport.no_gdr_step));
  CHECK(level_costs(staged, c, Protocol::simple, Collective::all_reduce)[1].rate ==
        Approx(level_costs(f, c, Protocol::simple, Collective::all_reduce)[1].rate * c.transport.no_gdr_rate));
}

TEST_CASE("what nobody fitted a form to is priced from its phases", "[price]") {
  const Constants c;
  const auto same = [&](Algorithm algorithm, Collective op, const Fabric& f) {
    const Schedule s = schedule_of(algorithm, op, f);
    const Line one = price(s, f, c, Protocol::simple, false), general = price_generic(s, f, c, Protocol::simple);
    return one(0) == general(0) && one(1e6) == general(1e6) && one(1e9) == general(1e9);
  };
  Fabric known = fabric_of(Levels{8}), nodes = fabric_of(Levels{8, 4});
  known.library = nodes.library = Library::nccl;
  CHECK(same(Algorithm::direct, Collective::all_gather, known));
  // where all send to all at once, each message takes the time it was measured to take
  Fabric rack = fabric_of(Levels{72});
  CHECK(price(schedule_of(Algorithm::direct, Collective::all_gather, rack), rack, c, Protocol::simple, false)(0) ==
        Approx(c.scale_up.form.exchange_peer * std::pow(72, 1.5)));
  const Schedule all = schedule_of(Algorithm::direct, Collective::all_gather, nodes);
  CHECK(price(all, nodes, c, Protocol::simple, false)(0) ==
        Approx(std::max(price_generic(all, nodes, c, Protocol::simple)(0), 24 * c.transport.exchange_peer)));
  CHECK(same(Algorithm::hierarchical, Collective::all_reduce, nodes));
  CHECK(same(Algorithm::hierarchical, Collective::all_to_all, known));
  CHECK(same(Algorithm::nvls, Collective::all_reduce, nodes));
  CHECK(same(Algorithm::halving_doubling, Collective::all_reduce, known));
  CHECK_FALSE(same(Algorithm::ring, Collective::all_reduce, known));
  CHECK_FALSE(same(Algorithm::direct, Collective::all_to_all, known));
  CHECK_FALSE(same(Algorithm::hierarchical, Collective::all_to_all, nodes));
  Fabric unknown = known, unknown_nodes = nodes;
  unknown.library = unknown_nodes.library = Library::other;
  CHECK(same(Algorithm::ring, Collective::all_reduce, unknown));
  CHECK(same(Algorithm::ring, Collective::all_reduce, unknown_nodes));
  CHECK(same(Algorithm::direct, Collective::all_to_all, unknown));
  CHECK(same(Algorithm::hierarchical, Collective::all_to_all, unknown_nodes));
}

TEST_CASE("a schedule without a step costs the launch, on any number of ranks", "[price]") {
  const Constants c;
  Fabric f = fabric_of(Levels{8});
  const Line line = price(Schedule{Algorithm::ring, Collective::all_reduce, f.levels}, f, c, Protocol::simple, false);
  CHECK(line(1e9) == c.scale_up.launch);
  f.over_pcie = true;
  CHECK(price(Schedule{Algorithm::ring, Collective::all_reduce, f.levels}, f, c, Protocol::simple, false)(1e9) == c.pcie.launch);
}
