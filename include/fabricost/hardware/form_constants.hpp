#pragma once
/// \file form_constants.hpp
/// The numbers inside the forms of price/ that every machine has in common: how a step grows with the message, where a ramp ends, how far
/// two parts overlap. No machine has a value of its own, so a fit holds them (Fitted::form) and a calibration file states one only where
/// it differs from what is common. Values, each with its source, stand in data/priors. Sizes are bytes; a size "per device" is that of the
/// message a network device carries in one step.

namespace fabricost {

/// Of price/ring.hpp, in_switch.hpp, exchange.hpp, the part of a tree inside a domain (internode.hpp) and choice/launch.hpp.
struct ScaleUpForm {
  double ring_cold_size;      ///< volume per channel and rank up to which a ring's buffers are touched first
  double exchange_ramp_size;  ///< per peer, where the ramp of an exchange ends
  double exchange_cold_size;  ///< of all peers together, where an exchange has touched its buffers
  double tree_chain;          ///< a step of a chain of 14 steps (8 ranks) and more, in tree_hops
  double tree_chain_power;    ///< by which shorter chains are cheaper
  double tree_ll_share;       ///< rate of an LL tree over the Simple one's where it stays inside one domain
  double rack_floor;          ///< floor of in-switch reduction where a rack begins, over a server's
  double rack_floor_power;    ///< by which it grows with the ranks
  double rack_growth_size;    ///< over which it grows from a server's floor
  double rack_rate;           ///< rate of in-switch reduction in a rack over a server's
  double rack_measured_from;  ///< smallest size racks were measured with
  double planned_share;       ///< of the one-way rate, what NCCL plans with where a link does not state `usable`
  double host_gpu;            ///< what a processor takes to launch a collective on one GPU (choice/launch.hpp)
  double host_peer;           ///< to add a send or a receive to an exchange
  double host_module;         ///< what a module of XLA adds to the collective in it
  double host_threads;        ///< share of it that threads of one process leave, which wait for each other's locks
};

/// Of price/pcie.hpp, and of copies between GPU and host (predict/host_copy.hpp).
struct PcieForm {
  double two_sockets_share;  ///< rate of a ring across two sockets over the pair's, where GPUs write to each other
  double planned_share;      ///< as ScaleUpForm::planned_share, over PCIe
  double host_copies_from;   ///< smallest copy between GPU and host that `measure` times
  double host_copies_to;     ///< and the largest
};

/// Of price/internode.hpp, rail_exchange.hpp and generic.hpp, for all transports.
struct TransportForm {
  double host_bridge_one_way;      ///< rate left at the host bridge for operations in one direction
  double ll_growth_size;           ///< per device, at which half of an LL step's growth is reached: (1.7)^(1/2) kB
  double ring_ll_growth;           ///< growth of a ring's LL step over a tree's (tree_growth)
  double ring_simple_start;        ///< share of a ring's Simple step that an empty message takes
  double ring_simple_growth_size;  ///< per device, at which half of the rest is reached
  double ll128_inner_hops;         ///< an LL128 step inside a domain, in LL hops
  double ll128_overlap;            ///< order of the norm between steps and volume of an LL128 ring
  double tree_efficiency;          ///< rate of a tree over the NICs, over a ring's
  double tree_crowded;             ///< what is left of that beyond two domains: 1/1.85
  double tree_rate_overlap;        ///< order of the norm that joins the rates inside and between domains
  double tree_ll128_start;         ///< an LL128 tree's network step for an empty message, in ll128_steps
  double tree_ll128_growth_size;   ///< per device, at which half of one more ll128_step is added
  double tree_ll128_share;         ///< rate of an LL128 tree over the Simple one's
  double tree_simple_inner;        ///< a Simple tree's step inside a domain, in Simple hops
  double tree_simple_start;        ///< its network step for an empty message, in tree_simple_steps
  double tree_simple_growth_size;  ///< per device, at which half of one more tree_simple_step is added
  double nvls_start;               ///< share of an NVLSTree's step that an empty message takes
  double nvls_growth_size;         ///< per device, at which half of the rest is reached
  double exchange_tiny_size;       ///< per peer, below which an exchange pays exchange_tiny
  double send_recv_start;          ///< start of a message to another domain, in a ring's Simple steps
  double send_recv_efficiency;     ///< its share of its GPU's part of the NICs
  double send_recv_crowded;        ///< what is left of that beyond two domains
  double unfitted_step;            ///< a network step of an algorithm nobody fitted, in a ring's Simple steps
};

/// Of kernels/compute.hpp and training/layer.hpp.
struct ComputeForm {
  double tile;            ///< side of the rank that matrix products are cut to
  double start_products;  ///< products of a group that are started one after the other
  double row_step;        ///< values of a row that a block of threads loads at a time
  double row_overlap;     ///< order of the norm between a row's loads and the traffic of all rows
  double hidden_traffic;  ///< reads and writes of the hidden width per token and layer around attention: norms, residuals
  double routed_traffic;  ///< the same per routed token: sorting, weighting, adding up
};

/// Of price/custom_reduce.hpp.
struct CustomForm {
  double rate_overlap;   ///< order of the norm between the link and the loads in flight
  double growth_size;    ///< at which half of a one-shot kernel's growth is reached
  double host_overlap;   ///< order of the norm between the host's launch and the GPU's work
  double measured_from;  ///< smallest size the kernels were measured with
};

/// Of price/moe.hpp.
struct MoeForm {
  double rate_overlap;   ///< order of the norm between engines that run beside each other: SMs and wires, links and NICs
  double few_sms;        ///< up to which SMs do not hinder each other
  double copies_power;   ///< by which the first chunk's way grows with the copies of a token
  double floor_overlap;  ///< order of the norm between a floor and the volume that hides it
};

}  // namespace fabricost
