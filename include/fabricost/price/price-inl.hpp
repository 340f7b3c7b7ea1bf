#pragma once
/// Bodies of price.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/price.hpp>

namespace fabricost::core {

FABRICOST_BODY bool has_fitted_form(Algorithm algorithm, Collective op, const Fabric& fabric) {
  if (fabric.library == Library::other) return false;
  const bool exchange = is_exchange(op);
  switch (algorithm) {
    case Algorithm::ring: return !exchange;
    case Algorithm::direct: return exchange;
    case Algorithm::tree: return op == Collective::all_reduce && fabric.domains() > 1;  // NCCL has no other
    case Algorithm::nvls: return fabric.domains() <= 1;
    case Algorithm::nvls_tree:
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain: return true;
    case Algorithm::two_shot: return changes_to_two_shot(op, fabric);  // two LL steps of a ring's kind (price/generic.hpp)
    default: return false;
  }
}

}  // namespace fabricost::core

namespace fabricost::core::detail {

/// The price by the form alone, without the minimum time that `price` enforces.
FABRICOST_BODY Line price_by_form(const Schedule& schedule, const Fabric& fabric, const Constants& c, Protocol protocol, bool byte_wide) {
  if (fabric.ranks() <= 1 || schedule.empty()) {
    Line line;
    line.add_base_part(TermKind::launch, 0, 1, fabric.over_pcie ? c.pcie.launch : c.scale_up.launch);
    return line;
  }
  const int channels = running_channels(fabric.channels, tables_of(fabric.tuner));
  const bool across = fabric.domains() > 1;
  const bool fitted = fabric.library != Library::other;
  switch (schedule.algorithm) {
    case Algorithm::ring:
      if (!fitted) break;
      if (across) return price_internode_ring(schedule, fabric, c, protocol);
      if (fabric.over_pcie) return price_pcie(schedule, fabric, c.pcie, protocol);
      return price_ring(schedule, fabric, c.scale_up, protocol, channels, byte_wide);
    case Algorithm::tree:
      if (!fitted && !across && fabric.neighbours_only) break;  // the step of NCCL's tree inside a node is no hop of a torus
      return price_tree(schedule, fabric, c, protocol);
    case Algorithm::nvls:
      if (!across) return price_in_switch(schedule, fabric, c.scale_up);
      break;
    case Algorithm::nvls_tree: return price_nvls_tree(schedule, fabric, c);
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain: return price_collnet(schedule, fabric, c);
    case Algorithm::direct:
      if (!fitted || !is_exchange(schedule.collective)) break;
      if (across) return price_internode_exchange(schedule, fabric, c);
      if (fabric.over_pcie) return price_pcie(schedule, fabric, c.pcie, protocol);
      return price_exchange(schedule, fabric, c.scale_up, protocol);
    case Algorithm::hierarchical:
      if (fitted && schedule.collective == Collective::all_to_all && across) return price_rail_exchange(schedule, fabric, c);
      break;
    default: break;
  }
  Line line = price_generic(schedule, fabric, c, protocol);
  if (!has_fitted_form(schedule.algorithm, schedule.collective, fabric)) add_peers(line, schedule, c);
  return line;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY Line price(const Schedule& schedule, const Fabric& fabric, const Constants& c, Protocol protocol, bool byte_wide) {
  Line line = detail::price_by_form(schedule, fabric, c, protocol, byte_wide);
  line.min = min_per_byte(schedule, fabric);
  return line;
}

FABRICOST_BODY double IntervalWidths::*interval_class(Candidate ran, Collective op, const Fabric& fabric) {
  using W = IntervalWidths;
  const bool across = fabric.domains() > 1;
  const bool exchange = is_exchange(op);
  const auto by_protocol = [&](double W::*ll, double W::*ll128, double W::*simple) {
    return ran.protocol == Protocol::ll ? ll : ran.protocol == Protocol::ll128 ? ll128 : simple;
  };
  if (ran.kernel != CollectiveKernel::library) return ran.algorithm == Algorithm::one_shot ? &W::custom_one_shot : &W::custom_two_shot;
  if (!has_fitted_form(ran.algorithm, op, fabric)) return &W::unfitted_algorithm;
  if (exchange && across) return &W::internode_exchange;
  if (fabric.over_pcie && !across)
    return exchange ? by_protocol(&W::pcie_exchange_ll, &W::pcie_exchange_ll, &W::pcie_exchange_simple)
                    : by_protocol(&W::pcie_ll, &W::pcie_ll, &W::pcie_simple);
  if (exchange) return by_protocol(&W::exchange_ll, &W::exchange_ll, &W::exchange_simple);
  switch (ran.algorithm) {
    case Algorithm::ring:
      return across ? by_protocol(&W::internode_ring_ll, &W::internode_ring_ll128, &W::internode_ring_simple)
                    : by_protocol(&W::ring_ll, &W::ring_ll128, &W::ring_simple);
    case Algorithm::tree: return by_protocol(&W::tree_ll, &W::tree_ll128, &W::tree_simple);
    case Algorithm::nvls: return &W::nvls;
    case Algorithm::two_shot: return by_protocol(&W::ring_ll, &W::ring_ll128, &W::ring_simple);
    default: return &W::nvls_tree;
  }
}

FABRICOST_BODY double fitted_half_width(const IntervalWidths& w, Candidate ran, Collective op, const Fabric& fabric) {
  return w.*interval_class(ran, op, fabric);
}

}  // namespace fabricost::core
