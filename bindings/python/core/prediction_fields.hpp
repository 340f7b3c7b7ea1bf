#pragma once
/// What fields.hpp cannot count of a Prediction.

#include "fields.hpp"

#include <fabricost/price/fabric.hpp>

namespace fabricost::core {

// Found by fields.hpp. Types with constructors or a base have their fields named here; one that is added there stops the build here.
inline void pass_fields(python::FieldStream& stream, Fabric& f) {
  static_assert(sizeof(Fabric) == 376, "a field was added to Fabric or taken from it: here, too, then write its new size");
  auto& [levels, in_switch, sharp, neighbours_only, wrap, open_axes, torus_axes, torus] = static_cast<Connectivity&>(f);
  python::pass(stream, levels.sizes, levels.count, in_switch, sharp, neighbours_only, wrap, open_axes, torus_axes, torus, f.nodes,
               f.inner_rate, f.inner_latency_shift, f.full_rate, f.inner_exchanges, f.outer_rate, f.outer_latency_shift, f.nics,
               f.ring_taper, f.all_to_all_taper, f.inner_tier, f.inner_limit_tier, f.outer_tier, f.nic_limit_tier, f.ring_taper_tier,
               f.all_to_all_taper_tier, f.planned_per_gpu, f.channels, f.host_link_rate, f.pcie_rate, f.over_pcie, f.per_socket,
               f.peer_to_peer, f.switched, f.host_bridge, f.gpu_direct, f.generation, f.library, f.tuner, f.cpu, f.ll128, f.tuner_assumed,
               f.back_to_back, f.communicator, f.pcie_carried, f.pcie_exchanged, f.ll_until, f.ll128_until, f.ring_until, f.plugin,
               f.nccl_release);
}

}  // namespace fabricost::core
