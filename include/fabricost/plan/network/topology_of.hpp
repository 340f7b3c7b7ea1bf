#pragma once
/// From a System to its links: the number of each kind and their rates.
///
///   wires      link rate x links between the two; a full mesh splits a GPU's links over its peers, a torus over its 2 d ways
///   trunk      GPUs of a first stage x rate / oversubscription
///   PCIe       rate x payload share, for the GPU's own link and for the port that `shared_by` GPUs have together
///   NICs       the rate of one, or of the slot it sits in where that is less
///   tier       span x NICs x NIC rate / product of the oversubscriptions below, as predictions take it; not built where it is the NICs'
///              own links
///   dragonfly  of a group's way out an even part to each other group

#include <fabricost/error.hpp>
#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/network/topology.hpp>

namespace fabricost::plan {

/// The links of `nodes` nodes of a machine (0: all it has).
/// \throws RequestError for a count below zero, a scale-up tier that does not fit the domain, or a machine of more than 2^24 links
[[nodiscard]] Topology topology_of(const System& system, int nodes = 0);

}  // namespace fabricost::plan

namespace fabricost {
using plan::topology_of;
}  // namespace fabricost
