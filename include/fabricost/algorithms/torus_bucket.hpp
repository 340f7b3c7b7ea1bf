#pragma once
/// \file torus_bucket.hpp
/// The bucket algorithm on a 2-D or 3-D torus: rings along one axis after the other, with as many chunks in
/// flight as there are axes and directions, each starting on a different one, so that all 2 d links of a chip
/// carry data all the time (Sack & Gropp 2015).
///
///   all_reduce   2 sum(a_i - 1) steps; axes of one length: 2(n-1)/n S over all links together
///   all_gather, reduce_scatter   half of it
///
/// The parts are equal, and each proceeds at its own pace: on axis i, a part already divided by axes j, k,
/// ... moves (a_i - 1)/(a_i a_j a_k ...) of itself. On axes of different length parts meet; those on one axis
/// share its links evenly. On two axes the result is the load of the longer axis' links (on 4 x 8 13 % above
/// the mean); on three, links also idle.
///
/// Without wrap-around an axis is a line: data turns at its ends, and every link carries twice as much.

#include <fabricost/algorithms/definition.hpp>

#include <span>

namespace fabricost::core::algorithms {

/// Volume on the critical path of the bucket algorithm, as a multiple of S over all 2 d links of a chip: d
/// parts with their phases (one along each axis when scattering; gathering runs them in reverse), the links
/// of an axis shared evenly by the parts on it. \param open a bit for each axis that is a line: its links carry twice as much
[[nodiscard]] double bucket_volume(std::span<const int> dims, bool scatters, bool gathers, unsigned open = 0);

struct TorusBucket : Defaults {
  static constexpr std::string_view name = "torus_bucket";
  static constexpr bool reaches_neighbours = true, all_links = true;

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return ring_like(op) || op == Collective::all_to_all ? nullptr : "the bucket algorithm exists for collectives over all chips";
  }
  [[nodiscard]] static const char* why_not(const Case& p);

  static void add_phases(Schedule& out, const Connectivity& at) {
    if (at.local() > 1) out.collective == Collective::all_to_all ? add_exchange(out, at) : add_rings(out, at);
  }

  /// Loads every wire of the torus equally.
  template <class Network>
  static void traffic(Network& net, Collective, std::span<const int> ranks, double sent) {
    net.every_wire(ranks, sent, name);
  }

 private:
  static void add_rings(Schedule& out, const Connectivity& at);
  /// all_to_all by dimension-ordered routes: on a wrapped axis of a chips a message travels a/4 hops on average (a/3 on a
  /// line), and every hop uses a link.  bytes = (n-1)/n S x mean hops over the chip's links. All messages leave at once; the
  /// furthest chip is floor(a/2) (a - 1 on a line) hops away along every axis.
  static void add_exchange(Schedule& out, const Connectivity& at);
};

}  // namespace fabricost::core::algorithms

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/algorithms/torus_bucket-inl.hpp>
#endif
