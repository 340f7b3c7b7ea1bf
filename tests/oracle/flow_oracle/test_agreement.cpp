// The model's schedules, priced by price_phases, against the simulator: every (algorithm, fabric) pair that makes sense for 2 to 64 ranks.
#include "cases.hpp"

#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"
#include "support/systems.hpp"

using namespace flow;

namespace {

/// Rings over all links of a mesh: link-disjoint circles, each an equal part of the message.
void mesh_rings(const Fabric& f, const std::vector<std::vector<int>>& circles) {
  for (const Op op : ring_like) {
    const int n = f.net.ranks, copies = static_cast<int>(circles.size());
    std::vector<Ring> rings;
    for (int c = 0; c < copies; ++c) rings.push_back(ring_through(circles[static_cast<std::size_t>(c)], c));
    Program p(f.net, op, one_each(n, copies), 1.0 / n / copies);
    ring_collective(p, op, rings);
    agree("ring | " + f.name, text(op) + std::string(", ") + shape(n, 1), p, schedule_of(Algorithm::ring, collective(op), f.levels),
          f.costs, everywhere, exactly);
  }
}

/// A circle through all chips: along the last axis, on by one along the circle of the others, and so on. Needs their number to be a
/// multiple of the last axis.
std::vector<int> circle_of(const Grid& grid, int axes) {
  if (axes == 1) {
    std::vector<int> out;
    for (int i = 0; i < grid.length(0); ++i) out.push_back(i);
    return out;
  }
  const std::vector<int> inner = circle_of(grid, axes - 1);
  const int c = grid.length(axes - 1), stride = grid.stride(axes - 1);
  std::vector<int> out;
  for (std::size_t row = 0; row < inner.size(); ++row)
    for (int i = 0; i < c; ++i) out.push_back(inner[row] + around(i - static_cast<int>(row), c) * stride);
  return out;
}
int link_between(const Grid& grid, int a, int b, int sign_of_two) {
  for (int axis = 0; axis < grid.axes(); ++axis)
    for (const int sign : {sign_of_two, -sign_of_two})
      if (grid.next(a, axis, sign) == b) return grid.link(a, axis, sign);
  throw std::logic_error("these chips are no neighbours");
}

}  // namespace

TEST_CASE("below one switch every schedule takes exactly the simulated time", "[flow]") {
  const Expected e{everywhere, exactly};
  for (const int n : counts) {
    const Fabric f = flat(n);
    ring(f, e);
    chains(f, e);
    halving(f, e);
    bruck(f, e);
    one_partner_at_a_time(f, e);
    at_once(f, e);
    inference_kernels(f, e);
    level_by_level(f, e);
    at_once_in_two_levels(f, e);
    everything_to_a_partner(f, e);
    aggregated_trees(f, e);
    send_recv(f, e);
  }
}

TEST_CASE("trees and in-switch collectives below one switch", "[flow]") {
  for (const int n : counts) {
    if (n > 16) continue;
    const Fabric f = flat(n);
    tree(f, {in_the_limits, with_contention});
    for (const Op op : ring_like) {
      const auto seconds = [&](int chunks, double bytes) {
        std::vector<int> home = one_each(n, chunks);
        Program p(f.net, op, home, 1.0 / n / chunks);
        in_switch(p, op, chunks, near_hop, 1.0 / n / chunks);
        return p.seconds(bytes);
      };
      agree("nvls, pipelined | " + f.name, text(op) + std::string(", ") + shape(n, 1), endless_chunks(seconds, 8),
            schedule_of(Algorithm::nvls, collective(op), f.levels), f.costs, in_the_limits, with_contention);
    }
  }
}

TEST_CASE("one slow port sets the pace of everybody", "[flow]") {
  const Expected e{in_the_limits, exactly};
  for (const int n : counts) {
    const Fabric f = slow_port(n);
    ring(f, e);
    if (power_of_two(n)) halving(f, e);
    bruck(f, e);
    one_partner_at_a_time(f, e);
    at_once(f, e);
    inference_kernels(f, e);
    level_by_level(f, e);
    aggregated_trees(f, e);
  }
}

TEST_CASE("between domains every schedule takes the simulated time", "[flow]") {
  for (const bool rails : {false, true})
    for (const auto& [g, N] : splits) {
      const Fabric f = domains(g, N, rails);
      ring(f, {in_the_limits, exactly});
      if (!rails) chains(f, {in_the_limits, exactly});
      if (!rails) tree(f, {in_the_limits, with_contention});
      if (power_of_two(g)) halving(f, {everywhere, exactly});
      if (!rails || g == 1) bruck(f, {in_the_limits, exactly});
      one_partner_at_a_time(f, {everywhere, exactly});
      at_once(f, {everywhere, exactly});
      level_by_level(f, {everywhere, exactly});
      at_once_in_two_levels(f, {everywhere, exactly});
      if (power_of_two(g)) everything_to_a_partner(f, {everywhere, exactly});
      if (g == 1) aggregated_trees(f, {everywhere, exactly});
      send_recv(f, {everywhere, exactly});
    }
}

TEST_CASE("where NICs are fast the inside binds", "[flow]") {
  for (const auto& [g, N] : splits) {
    if (g == 1) continue;
    const Fabric f = fast_nics(g, N);
    ring(f, {in_the_limits, exactly});
    chains(f, {in_the_limits, exactly});
    tree(f, {in_the_limits, with_contention});
    if (power_of_two(g)) halving(f, {everywhere, exactly});
    one_partner_at_a_time(f, {everywhere, exactly});
    at_once(f, {in_the_limits, exactly});
    level_by_level(f, {everywhere, exactly});
    at_once_in_two_levels(f, {everywhere, exactly});
    if (power_of_two(g)) everything_to_a_partner(f, {everywhere, exactly});
  }
}

TEST_CASE("in-switch inside and trees between domains stream through each other", "[flow]") {
  for (const bool fast : {false, true})
    for (const auto& [g, N] : splits) {
      if (g == 1 || !power_of_two(N) || g * N > 32) continue;
      const Fabric f = fast ? fast_nics(g, N) : domains(g, N, false);
      const int window = 2 * static_cast<int>(std::log2(N)) + 8;
      const auto seconds = [&](int chunks, double bytes) {
        Program p(f.net, Op::all_reduce, std::vector<int>(static_cast<std::size_t>(2 * chunks * f.g), 0), 0.5 / chunks / f.g);
        in_switch_tree(p, f.g, chunks, window, near_hop, 0.5 / chunks / f.g);
        return p.seconds(bytes);
      };
      agree("nvls_tree, pipelined | " + f.name, "all_reduce, " + shape(g, N), endless_chunks(seconds, 16),
            schedule_of(Algorithm::nvls_tree, Collective::all_reduce, f.levels), f.costs, in_the_limits, with_contention);
    }
}

TEST_CASE("a tapered network leaves rings and exchanges the share the fabric says", "[flow]") {
  for (const auto& [g, N, leaf] : std::vector<std::array<int, 3>>{
           {1, 4, 2}, {1, 8, 2}, {1, 8, 4}, {1, 16, 4}, {2, 4, 2}, {2, 8, 4}, {4, 4, 2}, {4, 8, 2}, {4, 16, 4}, {8, 4, 2}, {8, 8, 4}})
    for (const double taper : {1.5, 3.0, 7.0}) {
      const fabricost::core::System system = systems::machine("tapered", fabricost::core::Generation::hopper, g, g,
                                                        {systems::scale_up(fabricost::core::TierKind::switched, g, 1, B / 1e9, B / 1e9),
                                                         systems::nics(g, W / g / 1e9, systems::infiniband),
                                                         systems::network("leaf", leaf, taper), systems::network("spine", 1024)});
      const fabricost::core::Fabric priced = fabricost::core::fabric_of(system, {.collective = Collective::all_reduce, .ranks = g * N, .nodes = N});
      TwoLevels t{.group = g,
                  .groups = N,
                  .inner_rate = B,
                  .inner_latency = near_hop,
                  .outer_rate = W,
                  .outer_latency = far_hop,
                  .leaf = leaf,
                  .taper = taper};
      char name[32];
      std::snprintf(name, sizeof name, "leaves, %g:1", taper);
      Fabric f{"tapered leaves", two_levels(t), Levels{g, N}, {{near_hop, B}, {far_hop, W}}, g, N};
      const auto with = [&](Algorithm a) {
        Fabric out = f;
        out.costs.outer.rate = W * taper_share(a, priced);
        return out;
      };
      INFO(name << " of " << leaf);
      ring(with(Algorithm::ring), {in_the_limits, exactly});
      chains(with(Algorithm::ring), {in_the_limits, exactly});
      level_by_level(with(Algorithm::hierarchical), {in_the_limits, with_contention});
      at_once(with(Algorithm::direct), {in_the_limits, with_contention});
      Fabric exchange = f;
      exchange.costs.outer.rate = W * taper_share(Algorithm::hierarchical, priced, Collective::all_to_all);
      at_once_in_two_levels(exchange, {in_the_limits, with_contention});
    }
}

TEST_CASE("pairs of GPUs share an uplink to the root complex", "[flow]") {
  for (const int N : {2, 3, 4, 6, 8, 16, 32}) {
    const Fabric f = pcie_pairs(N);
    ring(f, {in_the_limits, exactly});
    chains(f, {in_the_limits, exactly});
    at_once(f, {in_the_limits, exactly});
    one_partner_at_a_time(f, {everywhere, exactly});
    level_by_level(f, {everywhere, exactly});
    halving(f, {everywhere, exactly});
    bruck(f, {in_the_limits, exactly});
    send_recv(f, {everywhere, exactly});
  }
}

TEST_CASE("a full mesh gives rings and direct sends all its links, a partner at a time one", "[flow]") {
  const double link = B / 7;
  for (const int n : {2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16}) {
    Fabric f{"full mesh", mesh(n, every_pair(n), link, near_hop), Levels{n}, {{near_hop, link * (n - 1)}, {far_hop, W}}, n, 1};
    at_once(f, {everywhere, exactly});
    inference_kernels(f, {everywhere, exactly});
    fabricost::core::Fabric priced;
    priced.levels = Levels{n};
    Fabric one_link = f;
    one_link.costs.inner.rate *= link_share(Algorithm::pairwise, priced);
    one_partner_at_a_time(one_link, {everywhere, exactly});
    halving(one_link, {everywhere, exactly});
    if (power_of_two(n)) {
      one_link.costs.inner.rate = f.costs.inner.rate * link_share(Algorithm::recursive_doubling, priced);
      everything_to_a_partner(one_link, {everywhere, exactly});
    }
    if (n != 3 && n != 6) bruck(one_link, {everywhere, exactly});
    if (n == 4 || n == 6 || n > 9) continue;  // 4 and 6 ranks have no n-1 link-disjoint circles; more take long to find
    std::vector<int> left(static_cast<std::size_t>(n * n), 1);
    std::vector<std::vector<int>> circles;
    REQUIRE(split_into_circles(left, n, n - 1, circles));
    mesh_rings(f, circles);
  }
}

TEST_CASE("the hybrid cube mesh carries six rings, one for each link of a GPU", "[flow]") {
  const fabricost::core::System system = systems::cube_mesh_box();
  std::vector<std::array<int, 3>> edges;
  std::vector<int> left(64, 0);
  for (const fabricost::core::Edge& e : system.tiers.front().edges) {
    edges.push_back({e.from, e.to, e.links});
    left[static_cast<std::size_t>(e.from * 8 + e.to)] = left[static_cast<std::size_t>(e.to * 8 + e.from)] = e.links;
  }
  const fabricost::core::Fabric priced = fabricost::core::fabric_of(system, {.collective = Collective::all_reduce, .ranks = 8});
  std::vector<std::vector<int>> circles;
  REQUIRE(split_into_circles(left, 8, 6, circles));
  const Fabric f{"hybrid cube mesh", mesh(8, edges, 25e9, near_hop), Levels{8}, {{near_hop, priced.inner_rate}, {far_hop, W}}, 8, 1};
  mesh_rings(f, circles);
}

TEST_CASE("on rings and tori neighbours send both ways at once", "[flow]") {
  std::vector<std::vector<int>> shapes{{4, 4},    {8, 4},    {4, 2},    {3, 3},    {6, 3},    {2, 2},   {8, 8},
                                       {4, 4, 4}, {2, 2, 2}, {4, 2, 2}, {4, 4, 2}, {8, 4, 2}, {3, 3, 3}};
  for (const int n : counts)
    if (n > 2) shapes.push_back({n});
  for (const auto& dims : shapes) {
    const Grid grid{dims, true};
    const int n = grid.chips();
    const double link = B / 6;
    Fabric f{dims.size() == 1   ? "ring of chips"
             : dims.size() == 2 ? "2-D torus"
                                : "3-D torus",
             grid_network(grid, link, near_hop),
             Levels{n},
             {{near_hop, 2 * link}, {far_hop, W}},
             n,
             1};
    std::string name;
    for (const int d : dims) name += (name.empty() ? "" : "x") + std::to_string(d);
    const std::vector<int> forwards = circle_of(grid, grid.axes());
    for (const Op op : ring_like) {
      std::vector<Ring> rings;
      for (const int sign : {1, -1}) {
        std::vector<int> members = forwards;
        if (sign < 0) std::reverse(members.begin(), members.end());
        Ring r = ring_through(members, sign > 0 ? 0 : 1);
        for (std::size_t i = 0; i < members.size(); ++i)
          r.links.push_back({link_between(grid, members[i], members[(i + 1) % members.size()], sign)});
        rings.push_back(r);
      }
      Program p(f.net, op, one_each(n, 2), 0.5 / n);
      ring_collective(p, op, rings);
      agree("ring | " + f.name, text(op) + std::string(", ") + name, p, schedule_of(Algorithm::ring, collective(op), f.levels), f.costs,
            everywhere, exactly);
    }
  }
}

TEST_CASE("the bucket algorithm and the exchange on a torus take what its busiest axis takes", "[flow]") {
  for (const auto& dims : std::vector<std::vector<int>>{
           {2, 2},  {3, 3}, {4, 4}, {5, 5},    {8, 8},    {2, 4},    {3, 5},    {4, 8},    {8, 4},    {2, 8},    {4, 16},
           {2, 16}, {6, 3}, {7, 5}, {2, 2, 2}, {3, 3, 3}, {4, 4, 4}, {2, 4, 4}, {2, 2, 4}, {4, 2, 8}, {2, 3, 4}, {4, 4, 2}}) {
    const Grid grid{dims, true};
    const int n = grid.chips();
    const double link = B / 6;
    bool cube = true;
    std::string name;
    for (const int d : dims) {
      cube = cube && d == dims.front();
      name += (name.empty() ? "" : "x") + std::to_string(d);
    }
    const Costs costs{{near_hop, 2 * grid.axes() * link}, {far_hop, W}};
    const std::string torus = dims.size() == 2 ? "2-D torus" : "3-D torus";
    const Network net = grid_network(grid, link, near_hop);
    for (const Op op : ring_like) {
      const auto run = [&](Op of, double bytes) {
        Program p(net, of, one_each(n, 2 * grid.axes()), 1.0 / n / (2 * grid.axes()));
        bucket(p, of, grid);
        return p.seconds(bytes);
      };
      const auto seconds = [&](double bytes) {  // an all_reduce may wait between its halves
        if (op != Op::all_reduce) return run(op, bytes);
        return std::min(run(op, bytes), run(Op::reduce_scatter, bytes) + run(Op::all_gather, bytes));
      };
      agree("torus_bucket | " + torus, text(op) + std::string(", ") + name, seconds,
            schedule_of(Algorithm::torus_bucket, collective(op), Connectivity{Levels{n}, dims, true}), costs,
            cube ? everywhere : in_the_limits, cube ? exactly : with_contention);
    }
    for (const bool wrap : {true, false}) {
      const Network lines = grid_network({dims, wrap}, link, near_hop);
      Program p(lines, Op::all_to_all, from_to(n), 1.0 / n, to_of(n));
      direct(p, Op::all_to_all);
      agree("torus exchange | " + torus + (wrap ? "" : ", no wrap"), "all_to_all, " + name, p,
            schedule_of(Algorithm::torus_bucket, Collective::all_to_all, Connectivity{Levels{n}, dims, wrap}), costs, in_the_limits,
            with_contention);
    }
  }
}

TEST_CASE("the slices that jobs get of a pod take what their torus takes, link by link", "[flow]") {
  fabricost::core::System pod = fabricost::core::load_system("tpu-v5p-cube");
  for (const int chips : {8, 16, 32, 64, 128}) {
    const fabricost::core::System slice = fabricost::core::slice_for(pod, chips);
    const fabricost::core::Tier& tier = *slice.tier(fabricost::core::TierRole::scale_up);
    const fabricost::core::Fabric priced = fabricost::core::fabric_of(pod, {.collective = Collective::all_to_all, .ranks = chips});
    CHECK(priced.domains() == 1);
    CHECK(priced.wrap == tier.wrap);
    const Costs costs{{near_hop, priced.full_rate}, {far_hop, W}};
    const Network net = grid_network({tier.dims, tier.wrap}, tier.bandwidth.value.value() / tier.links, near_hop);
    Program p(net, Op::all_to_all, from_to(chips), 1.0 / chips, to_of(chips));
    direct(p, Op::all_to_all);
    const Connectivity at{Levels{chips}, std::span<const int>(priced.torus).first(priced.torus_axes), priced.wrap};
    agree("torus exchange | slice of a pod", "all_to_all, " + std::to_string(chips) + " chips", p,
          schedule_of(Algorithm::torus_bucket, Collective::all_to_all, at), costs, in_the_limits, with_contention);
  }
}

TEST_CASE("what phases do not see is known and bounded", "[flow]") {
  // A phase has one rate and one number of bytes for all endpoints of a level. Where ranks of a domain differ, or a tapered network meets
  // its traffic in bursts, that is a mean: these pairs are counted apart.
  Table agreed = table();
  table() = Table{};
  const double apart = 7;
  for (const auto& [g, N] : splits) {
    if (g == 1) continue;
    bruck(domains(g, N, true), {in_the_limits, apart});  // few ranks of a domain cross its border at a time, each through its own NIC
    bruck(fast_nics(g, N), {in_the_limits, apart});      // steps bound inside and steps bound across add, they do not stream
    if (!power_of_two(g))                                // folded ranks leave their rail idle, and the others run ahead of them
      for (const Fabric& f : {domains(g, N, true), domains(g, N, false), fast_nics(g, N)}) {
        halving(f, {everywhere, apart});
        everything_to_a_partner(f, {everywhere, apart});
      }
    // latency and volume of two levels overlap in a ring when neither binds
    Fabric f = domains(g, N, false);
    f.name += ", in between";
    ring(f, {{middle_message}, apart});
  }
  for (const double taper : {1.5, 3.0}) {  // all of a leaf's domains cross at once, or none
    TwoLevels t{.group = 2,
                .groups = 8,
                .inner_rate = B,
                .inner_latency = near_hop,
                .outer_rate = W,
                .outer_latency = far_hop,
                .leaf = 4,
                .taper = taper};
    const Fabric f{"tapered leaves", two_levels(t), Levels{2, 8}, {{near_hop, B}, {far_hop, W * std::min(1.0, 4 / taper)}}, 2, 8};
    one_partner_at_a_time(f, {in_the_limits, apart});
    bruck(f, {in_the_limits, apart});
    halving(f, {in_the_limits, apart});
    tree(f, {in_the_limits, apart});
  }
  std::printf("\nCounted apart, because phases do not see what differs:\n");
  table().print();
  table() = agreed;
}

TEST_CASE("at least 500 combinations were compared", "[flow]") {
  table().print();
  const Row all = table().total();
  if (all.combinations == 0) return;  // run alone
  CHECK(all.combinations >= 500);
  CHECK(all.within == all.combinations);
}
