#pragma once
/// The bucket algorithm on a 2-D or 3-D torus: rings along one axis after the other, with as many chunks in
/// flight as there are axes and directions, each starting on a different one, so that all 2 d links of a chip
/// carry data all the time (Sack & Gropp 2015).
///
///   all_reduce   2 sum(a_i - 1) steps; axes of one length: 2(n-1)/n S over all links together
///   all_gather, reduce_scatter   half of it
///   broadcast, reduce   as all_reduce: the root's data are scattered and gathered, or scattered sums gathered at the root
///                       (van de Geijn; Thakur, Rabenseifner, Gropp 2005, section 4.3), along the axes
///
/// The parts are equal, and each proceeds at its own pace: on axis i, a part already divided by axes j, k,
/// ... moves (a_i - 1)/(a_i a_j a_k ...) of itself. On axes of different length parts meet; those on one axis
/// share its links evenly. On two axes the result is the load of the longer axis' links (on 4 x 8 13 % above
/// the mean); on three, links also idle.
///
/// Without wrap-around an axis is a line: data turns at its ends, and every link carries twice as much.

#include <fabricost/algorithms/definition.hpp>

#include <algorithm>
#include <span>

namespace fabricost::core::algorithms {

/// Volume on the critical path of the bucket algorithm, as a multiple of S over all 2 d links of a chip: d
/// parts with their phases (one along each axis when scattering; gathering runs them in reverse), the links
/// of an axis shared evenly by the parts on it. \param open a bit for each axis that is a line: its links carry twice as much
[[nodiscard]] inline double bucket_volume(std::span<const int> dims, bool scatters, bool gathers, unsigned open = 0) {
  constexpr std::size_t max_axes = 8;
  const std::size_t axes = dims.size();
  assert(axes <= max_axes);
  const std::size_t phases = axes * ((scatters ? 1 : 0) + (gathers ? 1 : 0));
  // position in its own order of the axis a part is on: 0, 1, 2 when scattering, 2, 1, 0 when gathering
  const auto turn = [&](std::size_t phase) { return scatters && phase < axes ? phase : phases - 1 - phase; };
  const auto volume = [&](std::size_t part, std::size_t phase) {
    double left = 1;
    for (std::size_t f = 0; f < turn(phase); ++f) left /= dims[(part + f) % axes];
    const std::size_t axis = (part + turn(phase)) % axes;
    const double a = dims[axis];
    return left * (a - 1) / a * ((open >> axis & 1U) != 0 ? 2 : 1);
  };
  std::array<std::size_t, max_axes> at{};
  std::array<double, max_axes> remaining{};
  for (std::size_t part = 0; part < axes; ++part) remaining[part] = volume(part, 0);
  double time = 0;
  for (;;) {
    std::array<int, max_axes> sharing{};
    for (std::size_t part = 0; part < axes; ++part)
      if (at[part] < phases) ++sharing[(part + turn(at[part])) % axes];
    double next = -1;
    for (std::size_t part = 0; part < axes; ++part) {
      if (at[part] == phases) continue;
      const double due = remaining[part] * sharing[(part + turn(at[part])) % axes];
      if (next < 0 || due < next) next = due;
    }
    if (next < 0) return time;
    time += next;
    for (std::size_t part = 0; part < axes; ++part) {
      if (at[part] == phases) continue;
      remaining[part] -= next / sharing[(part + turn(at[part])) % axes];
      if (remaining[part] > 1e-14) continue;  // the remainder of a phase is rounding
      ++at[part];
      if (at[part] < phases) remaining[part] = volume(part, at[part]);
    }
  }
}

struct TorusBucket : Defaults {
  static constexpr std::string_view name = "torus_bucket";
  static constexpr bool reaches_neighbours = true, all_links = true;

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return op == Collective::send_recv ? "the bucket algorithm exists for collectives over all chips" : nullptr;
  }
  [[nodiscard]] static const char* why_not(const Case& p) {
    if (p.at.torus_axes < (p.collective == Collective::all_to_all ? 1 : 2)) return "these ranks fill no two or three axes of a torus";
    if (p.at.domains() > 1) return "the bucket algorithm stays inside one torus";
    return not_for(p.collective);
  }

  static void add_phases(Schedule& out, const Connectivity& at) {
    if (at.local() > 1) out.collective == Collective::all_to_all ? add_exchange(out, at) : add_rings(out, at);
  }

  /// Loads every wire of the torus equally; an exchange of ranks that fill no two axes takes their routes.
  template <class Network>
  static void traffic(Network& net, Collective op, std::span<const int> ranks, double sent) {
    if (op == Collective::all_to_all && !net.fill_axes(ranks))
      net.exchange(ranks, 1 / static_cast<double>(ranks.size()));
    else
      net.every_wire(ranks, sent, name);
  }

 private:
  static void add_rings(Schedule& out, const Connectivity& at) {
    const double n = at.local();
    const Collective collective = out.collective;
    const bool scatters = collective != Collective::all_gather, gathers = collective != Collective::reduce_scatter;
    double steps = 0;
    for (const int a : at.dims()) steps += a - 1;
    const unsigned open = at.wrap ? at.open_axes : ~0U;
    double volume = bucket_volume(at.dims(), scatters, gathers, open);
    // parts that meet on axes of different length may rather wait for each other between the halves, of which each can run as the other backwards
    if (scatters && gathers)
      volume = std::min(volume, 2 * std::min(bucket_volume(at.dims(), true, false, open), bucket_volume(at.dims(), false, true, open)));
    out.add({.level = 0,
             .steps = (scatters && gathers ? 2 : 1) * steps,
             .bytes = volume,
             .message = 1 / n,
             .forwards = collective == Collective::broadcast ? 2 * steps : gathers ? steps : 0,
             .reduces = reduces(collective) ? steps : 0});
  }
  /// all_to_all by dimension-ordered routes: on a wrapped axis of a chips a message travels a/4 hops on average (a/3 on a
  /// line), and every hop uses a link.  bytes = (n-1)/n S x mean hops over the chip's links. All messages leave at once; the
  /// furthest chip is floor(a/2) (a - 1 on a line) hops away along every axis.
  static void add_exchange(Schedule& out, const Connectivity& at) {
    const double n = at.local();
    double hops = 0;
    double furthest = 0;
    double longest = 0;
    for (std::size_t axis = 0; axis < at.dims().size(); ++axis) {
      const int a = at.dims()[axis];
      const bool wrap = at.closes(axis);
      // mean distance between two positions of an axis, equal ones included
      const double mean = wrap ? (a % 2 == 0 ? a / 4.0 : (a * a - 1) / (4.0 * a)) : (a * a - 1) / (3.0 * a);
      hops += mean;
      furthest += wrap ? std::floor(a / 2.0) : a - 1;
      // the busiest axis binds: its links (two of the chip's) carry `mean` of everything
      const double binding = wrap ? mean : (a % 2 == 0 ? a / 2.0 : (a * a - 1) / (2.0 * a));
      longest = std::fmax(longest, binding * static_cast<double>(at.torus_axes));
    }
    out.add({.level = 0, .steps = furthest, .bytes = longest, .message = 1 / n, .forwards = hops});
  }
};

}  // namespace fabricost::core::algorithms
