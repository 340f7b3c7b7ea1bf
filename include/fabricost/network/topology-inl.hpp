#pragma once
/// \file topology-inl.hpp
/// Bodies of topology.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/network/topology.hpp>

namespace fabricost::core {

FABRICOST_BODY double Topology::capacity(int link) const {
  const LinkBlock& b = block_of(link);
  if (b.kind != LinkKind::wire || shape == TierKind::torus) return b.capacity;
  return b.capacity * wires[static_cast<std::size_t>((link - b.first) % wires_per_domain())].links;
}

FABRICOST_BODY int Topology::wire_between(int from, int to) const {
  const auto begin = wires.begin() + first_wire[static_cast<std::size_t>(from)];
  const auto end = wires.begin() + first_wire[static_cast<std::size_t>(from) + 1];
  const auto at = std::lower_bound(begin, end, to, [](const Wire& w, int n) { return w.to < n; });
  return at != end && at->to == to ? static_cast<int>(at - wires.begin()) : -1;
}

}  // namespace fabricost::core
