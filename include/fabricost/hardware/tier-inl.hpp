#pragma once
/// Bodies of tier.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/hardware/tier.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace fabricost::core::detail {

/// Links of a mesh graph that cross the worst cut into halves; above 16 endpoints, those of the cut by index.
FABRICOST_BODY int cut_links(const std::vector<Edge>& edges, int endpoints) {
  if (endpoints > 16) {  // too many cuts to enumerate: the one by index
    int links = 0;
    for (const Edge& e : edges)
      if ((e.from < endpoints / 2) != (e.to < endpoints / 2)) links += e.links;
    return links;
  }
  const auto crossing = [&](unsigned mask) {
    int links = 0;
    for (const Edge& e : edges)
      if (((mask >> e.from) & 1U) != ((mask >> e.to) & 1U)) links += e.links;
    return links;
  };
  int best = -1;
  for (unsigned mask = 0; mask < (1U << endpoints); ++mask) {
    if (std::popcount(mask) != endpoints / 2) continue;
    const int links = crossing(mask);
    if (best < 0 || links < best) best = links;
  }
  return best;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY Bandwidth Tier::bisection() const {
  if (endpoints < 2) return bandwidth.value;  // nothing to cut
  const int smaller = endpoints / 2;          // an odd endpoint is on the larger side
  const double half = smaller;
  switch (kind) {
    case TierKind::memory: return bandwidth.value;
    case TierKind::host: {  // GPUs that share a link upward are on one side of the worst cut; peers below one switch do not pass it
      if (peer_to_peer && shared_by >= endpoints) return bandwidth.value * half;
      return bandwidth.value * std::ceil(half / std::max(1, shared_by));
    }
    case TierKind::switched:
    case TierKind::rails:
    case TierKind::fat_tree:
    case TierKind::dragonfly: return bandwidth.value * half / oversubscription;
    case TierKind::full_mesh: return bandwidth.value * (half * (endpoints - half) / (endpoints - 1));
    case TierKind::mesh_graph: return link_bandwidth * static_cast<double>(detail::cut_links(edges, endpoints));
    case TierKind::point_to_point: return bandwidth.value;
    case TierKind::ring: return link_bandwidth * 2.0;
    case TierKind::torus: {
      int all = 1;
      for (const int d : dims) all *= d;
      // halving an axis cuts one face of all/length links, two where the axis wraps around
      double least = all;
      for (std::size_t i = 0; i < dims.size(); ++i)
        if (dims[i] > 1) least = std::min(least, static_cast<double>(all) / dims[i] * (closes(i) && dims[i] > 2 ? 2.0 : 1.0));
      return link_bandwidth * least;
    }
  }
  return bandwidth.value;
}

}  // namespace fabricost::core
