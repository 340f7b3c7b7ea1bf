#pragma once
/// The compared fabrics and families of algorithms: how each runs in the simulator, and the schedule that
/// prices it.

#include "compare.hpp"
#include "partners.hpp"
#include "trees.hpp"

#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"

namespace flow {

using fabricost::core::Algorithm;
using fabricost::core::Collective;
using fabricost::core::Connectivity;
using fabricost::core::Levels;
using fabricost::core::Schedule;

inline Table& table() {
  static Table all;
  return all;
}

inline constexpr double B = 100e9, W = 70e9, near_hop = 1e-6, far_hop = 7e-6;
inline constexpr double exactly = 1e-9, with_contention = 0.03;

inline const std::vector<double> everywhere{tiny_message, middle_message, huge_message};
inline const std::vector<double> in_the_limits{tiny_message, huge_message};

inline const std::vector<Op> ring_like{Op::all_reduce, Op::all_gather, Op::reduce_scatter};
inline Collective collective(Op op) {
  switch (op) {
    case Op::all_reduce: return Collective::all_reduce;
    case Op::all_gather: return Collective::all_gather;
    case Op::reduce_scatter: return Collective::reduce_scatter;
    case Op::broadcast: return Collective::broadcast;
    case Op::reduce: return Collective::reduce;
    case Op::all_to_all: return Collective::all_to_all;
  }
  throw std::logic_error("no such collective");
}

/// One (algorithm, collective, fabric, ranks): the worst error over the sizes must be within `bound`.
inline void agree(const std::string& row, const std::string& what, const std::function<double(double)>& simulated, const Schedule& schedule,
                  const Costs& costs, const std::vector<double>& sizes, double bound) {
  double worst = 0;
  std::string at;
  for (const double bytes : sizes) {
    const double model = modelled(schedule, costs, bytes), real = simulated(bytes);
    if (off(model, real) >= worst) {
      worst = off(model, real);
      char text[128];
      std::snprintf(text, sizeof text, ", %g bytes: model %.6g s, simulated %.6g s", bytes, model, real);
      at = text;
    }
  }
  table().add(row, what + (worst > exactly ? at : ""), worst);
  INFO(row << ": " << what << at);
  CHECK(worst <= bound);
}
inline void agree(const std::string& row, const std::string& what, Program& program, const Schedule& schedule, const Costs& costs,
                  const std::vector<double>& sizes, double bound) {
  agree(
      row, what, [&](double bytes) { return program.seconds(bytes); }, schedule, costs, sizes, bound);
}
/// A pipeline's time in the limit of small chunks: it is a + b / chunks, so two numbers of chunks give a.
inline std::function<double(double)> endless_chunks(const std::function<double(int, double)>& seconds, int chunks) {
  return [seconds, chunks](double bytes) {
    return bytes == tiny_message ? seconds(1, bytes) : 2 * seconds(2 * chunks, bytes) - seconds(chunks, bytes);
  };
}

inline std::vector<int> from_to(int n) {
  std::vector<int> home;
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to) home.push_back(from);
  return home;
}
inline std::vector<int> to_of(int n) {
  std::vector<int> goal;
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to) goal.push_back(to);
  return goal;
}
inline std::vector<int> counted(int n, int first = 0) {
  std::vector<int> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), first);
  return out;
}
inline std::string shape(int g, int N) { return N == 1 ? std::to_string(g) + " ranks" : std::to_string(g) + " x " + std::to_string(N); }
inline bool power_of_two(int n) { return (n & (n - 1)) == 0; }

inline const std::vector<int> counts{2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24, 32, 48, 64};
inline const std::vector<std::array<int, 2>> splits{{1, 2}, {1, 3}, {1, 4}, {1, 8}, {1, 16}, {2, 2}, {2, 3}, {2, 4}, {3, 2}, {3, 3}, {4, 2},
                                                    {4, 3}, {4, 4}, {4, 8}, {5, 3}, {6, 4},  {8, 2}, {8, 3}, {8, 4}, {8, 8}, {16, 4}};

/// Expected accuracy of a family on a fabric.
struct Expected {
  std::vector<double> sizes;
  double bound;
};

struct Fabric {
  std::string name;
  Network net;
  Levels levels;
  Costs costs;
  int g, N;
  bool rails = false;
};
inline Fabric flat(int n) { return {"flat switch", flat_switch(n, B, near_hop), Levels{n}, {{near_hop, B}, {near_hop, B}}, n, 1}; }
inline Fabric slow_port(int n) {
  return {"one slow port", flat_switch(n, B, near_hop, n / 2, 0.4), Levels{n}, {{near_hop, 0.4 * B}, {near_hop, B}}, n, 1};
}
inline Fabric domains(int g, int N, bool rails) {
  TwoLevels t{
      .group = g, .groups = N, .inner_rate = B, .inner_latency = near_hop, .outer_rate = W, .outer_latency = far_hop, .rails = rails};
  return {rails ? "domains, rails" : "domains, shared NICs", two_levels(t), Levels{g, N}, {{near_hop, B}, {far_hop, W}}, g, N, rails};
}
/// A fabric limited inside the group.
inline Fabric fast_nics(int g, int N) {
  TwoLevels t{.group = g, .groups = N, .inner_rate = B, .inner_latency = near_hop, .outer_rate = 3 * g * B, .outer_latency = far_hop};
  return {"domains, fast NICs", two_levels(t), Levels{g, N}, {{near_hop, B}, {far_hop, 3 * g * B}}, g, N};
}
/// Pairs of GPUs below a PCIe switch whose uplink is as fast as a GPU's.
inline Fabric pcie_pairs(int N) {
  TwoLevels t{.group = 2,
              .groups = N,
              .inner_rate = B,
              .inner_latency = near_hop,
              .outer_rate = B,
              .outer_latency = far_hop,
              .through_ports = true};
  return {"PCIe pairs", two_levels(t), Levels{2, N}, {{near_hop, B}, {far_hop, B}}, 2, N};
}

inline std::vector<Ring> rings_of(const Fabric& f) {
  if (!f.rails || f.g == 1) return {ring_through(counted(f.g * f.N), 0)};
  std::vector<Ring> rings;  // ring j enters a domain at rank j and leaves it from the rank before
  for (int j = 0; j < f.g; ++j) {
    std::vector<int> members;
    for (int d = 0; d < f.N; ++d)
      for (int i = 0; i < f.g; ++i) members.push_back(d * f.g + (j + i) % f.g);
    rings.push_back(ring_through(members, j));
    // blocks by position in the ring, so that slot homes are ranks
  }
  return rings;
}
inline void ring(const Fabric& f, const Expected& e) {
  const int n = f.net.ranks;
  for (const Op op : ring_like) {
    const std::vector<Ring> rings = rings_of(f);
    const int copies = static_cast<int>(rings.size());
    Program p(f.net, op, one_each(n, copies), 1.0 / n / copies);
    ring_collective(p, op, rings);
    agree("ring | " + f.name, text(op) + std::string(", ") + shape(f.g, f.N), p, schedule_of(Algorithm::ring, collective(op), f.levels),
          f.costs, e.sizes, e.bound);
  }
}
inline void chains(const Fabric& f, const Expected& e) {
  for (const Op op : {Op::broadcast, Op::reduce}) {
    const int n = f.net.ranks;
    const auto seconds = [&](int chunks, double bytes) {
      Program p(f.net, op, std::vector<int>(static_cast<std::size_t>(chunks), op == Op::broadcast ? 0 : n - 1), 1.0 / chunks);
      chain(p, counted(n), op == Op::reduce);
      return p.seconds(bytes);
    };
    agree("ring, pipelined | " + f.name, text(op) + std::string(", ") + shape(f.g, f.N), endless_chunks(seconds, 64),
          schedule_of(Algorithm::ring, collective(op), f.levels), f.costs, e.sizes, e.bound);
  }
}
inline void tree(const Fabric& f, const Expected& e) {
  if (!power_of_two(f.N)) return;
  for (const Op op : {Op::all_reduce, Op::broadcast, Op::reduce}) {
    if (op != Op::all_reduce && f.N > 1) continue;  // the second tree has another root
    const int depth = 2 * (f.g + static_cast<int>(std::log2(f.N)));
    const auto seconds = [&](int chunks, double bytes) {
      Program p(f.net, op, std::vector<int>(static_cast<std::size_t>(2 * chunks), 0), 0.5 / chunks);
      double_tree(p, op, f.g, chunks, op == Op::all_reduce ? depth + 4 : chunks);
      return p.seconds(bytes);
    };
    agree("tree, pipelined | " + f.name, text(op) + std::string(", ") + shape(f.g, f.N), endless_chunks(seconds, 32),
          schedule_of(Algorithm::tree, collective(op), f.levels), f.costs, e.sizes, e.bound);
  }
}
inline void halving(const Fabric& f, const Expected& e) {
  for (const bool near_first : {true, false})
    for (const Op op : ring_like) {
      const int n = f.net.ranks;
      // an all-reduce divides its data among the ranks that are not folded
      std::vector<int> home;
      for (int r = 0; r < n; ++r)
        if (op != Op::all_reduce || (r % f.g < power_of_two_below(f.g) && r / f.g < power_of_two_below(f.N))) home.push_back(r);
      Program p(f.net, op, home, 1.0 / static_cast<double>(home.size()));
      HalvingDoubling run(p, {f.g, f.N}, near_first, op);
      run();
      agree(std::string(near_first ? "rabenseifner" : "halving_doubling") + " | " + f.name, text(op) + std::string(", ") + shape(f.g, f.N),
            p, schedule_of(near_first ? Algorithm::rabenseifner : Algorithm::halving_doubling, collective(op), f.levels), f.costs, e.sizes,
            e.bound);
    }
}
inline void bruck(const Fabric& f, const Expected& e) {
  const int n = f.net.ranks;
  Program exchange(f.net, Op::all_to_all, from_to(n), 1.0 / n, to_of(n));
  bruck_exchange(exchange);
  agree("bruck | " + f.name, "all_to_all, " + shape(f.g, f.N), exchange, schedule_of(Algorithm::bruck, Collective::all_to_all, f.levels),
        f.costs, e.sizes, e.bound);
  Program gather(f.net, Op::all_gather, one_each(n), 1.0 / n);
  bruck_gather(gather);
  agree("bruck | " + f.name, "all_gather, " + shape(f.g, f.N), gather, schedule_of(Algorithm::bruck, Collective::all_gather, f.levels),
        f.costs, e.sizes, e.bound);
}
inline void one_partner_at_a_time(const Fabric& f, const Expected& e) {
  const int n = f.net.ranks;
  Program p(f.net, Op::all_to_all, from_to(n), 1.0 / n, to_of(n));
  pairwise(p, f.g);
  agree("pairwise | " + f.name, "all_to_all, " + shape(f.g, f.N), p, schedule_of(Algorithm::pairwise, Collective::all_to_all, f.levels),
        f.costs, e.sizes, e.bound);
}
inline void at_once(const Fabric& f, const Expected& e) {
  const int n = f.net.ranks;
  for (const Op op : {Op::all_to_all, Op::all_gather, Op::reduce_scatter}) {
    Program p(f.net, op, op == Op::all_to_all ? from_to(n) : one_each(n), 1.0 / n, to_of(n));
    direct(p, op);
    agree("direct | " + f.name, text(op) + std::string(", ") + shape(f.g, f.N), p, schedule_of(Algorithm::direct, collective(op), f.levels),
          f.costs, e.sizes, e.bound);
  }
}
inline void at_once_in_two_levels(const Fabric& f, const Expected& e) {
  const int n = f.net.ranks;
  Program p(f.net, Op::all_to_all, from_to(n), 1.0 / n, to_of(n));
  two_level_exchange(p, f.g);
  agree("hierarchical | " + f.name, "all_to_all, " + shape(f.g, f.N), p,
        schedule_of(Algorithm::hierarchical, Collective::all_to_all, f.levels), f.costs, e.sizes, e.bound);
}
inline void everything_to_a_partner(const Fabric& f, const Expected& e) {
  Program p(f.net, Op::all_reduce, {0}, 1);
  recursive_doubling(p, {f.g, f.N});
  agree("recursive_doubling | " + f.name, "all_reduce, " + shape(f.g, f.N), p,
        schedule_of(Algorithm::recursive_doubling, Collective::all_reduce, f.levels), f.costs, e.sizes, e.bound);
}
inline void inference_kernels(const Fabric& f, const Expected& e) {
  const int n = f.net.ranks;
  Program one(f.net, Op::all_gather, one_each(n), 1);  // every rank's whole vector to every other
  direct(one, Op::all_gather);
  agree("one_shot | " + f.name, "all_reduce, " + shape(f.g, f.N), one, schedule_of(Algorithm::one_shot, Collective::all_reduce, f.levels),
        f.costs, e.sizes, e.bound);
  Program two(f.net, Op::all_reduce, one_each(n), 1.0 / n);
  direct(two, Op::reduce_scatter);
  direct(two, Op::all_gather);
  agree("two_shot | " + f.name, "all_reduce, " + shape(f.g, f.N), two, schedule_of(Algorithm::two_shot, Collective::all_reduce, f.levels),
        f.costs, e.sizes, e.bound);
}
inline void level_by_level(const Fabric& f, const Expected& e) {
  const int n = f.net.ranks;
  for (const Op op : ring_like) {
    Program p(f.net, op, one_each(n), 1.0 / n);
    hierarchical(p, op, f.g);
    agree("hierarchical | " + f.name, text(op) + std::string(", ") + shape(f.g, f.N), p,
          schedule_of(Algorithm::hierarchical, collective(op), f.levels), f.costs, e.sizes, e.bound);
  }
}
inline void aggregated_trees(const Fabric& f, const Expected& e) {
  const int n = f.net.ranks;
  for (const Op op : {Op::all_gather, Op::reduce_scatter}) {
    Program p(f.net, op, one_each(n), 1.0 / n);
    pat(p, op);
    agree("pat | " + f.name, text(op) + std::string(", ") + shape(f.g, f.N), p, schedule_of(Algorithm::pat, collective(op), f.levels),
          f.costs, e.sizes, e.bound);
  }
}
inline void send_recv(const Fabric& f, const Expected& e) {
  const int n = f.net.ranks;  // every rank to the one a group further, or to its neighbour
  Program p(f.net, Op::all_to_all, counted(n), 1, [&] {
    std::vector<int> goal;
    for (int r = 0; r < n; ++r) goal.push_back((r + (f.N > 1 ? f.g : 1)) % n);
    return goal;
  }());
  std::vector<Send> step;
  for (int r = 0; r < n; ++r) step.push_back({{r, (r + (f.N > 1 ? f.g : 1)) % n, {r}, false}, 0, {}, {}});
  p.step(step);
  Costs each = f.costs;
  each.outer.rate /= f.g;  // a rank's share of its group's outer rate
  agree("send_recv | " + f.name, shape(f.g, f.N), p, send_recv_schedule(f.levels, f.N > 1 ? 1 : 0), each, e.sizes, e.bound);
}

}  // namespace flow
