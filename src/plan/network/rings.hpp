#pragma once
/// Link-disjoint directed rings through a domain joined by wires: the rings an algorithm can run side by
/// side, each over its own part of the data.
///
///   ring bandwidth = rings x rate of one link          at most the links of the least connected endpoint
///
/// The hybrid cube mesh of a DGX-1V has 6 links of 25 GB/s at each GPU and 6 such rings: the double links
/// form one ring used twice, the single links one used once, each in both directions: 150 GB/s one way. A
/// complete graph has one ring per neighbour, except with 4 and 6 endpoints (Tillson, J. Combinatorial Theory
/// B 29, 1980).

#include <fabricost/plan/network/topology.hpp>

#include <vector>

namespace fabricost::plan {

/// Link-disjoint directed rings through all of `endpoints`, each as the order in which it visits them. As
/// many as the search finds, which is the maximum for the meshes that are built. Empty if there is none.
[[nodiscard]] std::vector<std::vector<int>> disjoint_rings(int endpoints, const std::vector<Wire>& wires);

/// The same for some endpoints of a wired domain, given by their numbers in it.
[[nodiscard]] std::vector<std::vector<int>> disjoint_rings(const Topology& t, const std::vector<int>& members);

}  // namespace fabricost::plan
