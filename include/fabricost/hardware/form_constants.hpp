#pragma once
/// \file form_constants.hpp
/// Constants inside the forms of price/ that all machines share: how a step grows with the message, where a
/// ramp ends, how far two parts overlap. A fit does not change them (FitTreatment::form), and a calibration file
/// states one only where it differs. Values, each with its source, are in data/priors. Sizes are in bytes; a
/// size "per device" is that of the message which one network device carries in one step.

#include <fabricost/namespaces.hpp>

namespace fabricost::core {

/// Constants of price/ring.hpp, in_switch.hpp, exchange.hpp, trees inside a domain (internode.hpp) and choice/launch.hpp.
struct ScaleUpForm {
  double ring_cold_size;      ///< volume per channel and rank up to which a ring's buffers are touched for the first time
  double exchange_ramp_size;  ///< per peer, where the ramp of an exchange ends
  double exchange_cold_size;  ///< of all peers together, at which an exchange has touched all its buffers
  double tree_chain;          ///< a step of a chain of at least 14 steps (8 ranks), in tree_hops
  double tree_chain_power;    ///< exponent by which shorter chains are cheaper
  double tree_ll_share;       ///< rate of an LL tree over a Simple one's inside one domain
  double exchange_chunk;        ///< bytes that a channel of an exchange moves at once
  double exchange_peer;         ///< an exchange of n ranks takes at least this, times n^(3/2),
  double exchange_peer_ranks;   ///< up to this many ranks; each further one takes as long as the last
  double exchange_peer_overlap; ///< order of the norm between that and LL's volume
  double rack_hop_power;        ///< exponent by which a Simple ring's step gets shorter beyond 8 ranks
  double switch_head;           ///< time of in-switch algorithms per rank that gathers a part, up to 32
  double switch_rank;           ///< time that reducing adds per rank, once a rank's data fill the threads
  double switch_rank_size;      ///< size of S over which that sets in
  double switch_gather;         ///< an in-switch all_gather's time for its bytes over an all_reduce's
  double switch_scatter;        ///< the same of reduce_scatter
  double rack_floor_power;      ///< exponent by which an NVLSTree's floor and steps grow beyond a server's ranks
  double planned_share;       ///< share of the one-way rate that NCCL plans with where a link states no `usable`
  double host_gpu;            ///< a processor's time to launch a collective on one GPU (choice/launch.hpp)
  double host_peer;           ///< to add a send or a receive to an exchange
  double host_module;         ///< time that a module of XLA adds to the collective in it
  double host_threads;        ///< share of it that threads of one process leave, which wait for each other's locks
  double rccl_ll_until;       ///< size up to which RCCL runs LL inside a node
  double rccl_ll128_until;    ///< the same of LL128 in an all_reduce of eight
  double rccl_ring_until;     ///< size up to which that is a ring, before it takes two steps
  double rccl_host_gpu;       ///< a processor's time to launch a collective of RCCL on one GPU (choice/launch.hpp)
  double rccl_call;           ///< a call of RCCL beside its kernel, where the GPUs wait for it: each call timed by itself
  double rccl_module;         ///< time of a module of XLA around a collective of RCCL, beside it
  double rccl_module_rank;    ///< and for each rank
  double rccl_module_peer;    ///< and for each send or receive of a rank
};

/// Constants of price/pcie.hpp, and of copies between GPU and host (predict/host_copy.hpp).
struct PcieForm {
  double planned_share;       ///< as ScaleUpForm::planned_share, for PCIe
  double peers_ll_share;      ///< share of LL's rate that is left across two sockets where GPUs write to each other
  double planned_sockets;     ///< bytes that NCCL plans to move in a second between two AMD processors
  double copy_share;          ///< of the link's rate, what a copy between GPU and host reaches
  double copy_share_both;     ///< and each of two in both directions at once
  double copy_start_to;       ///< time of a copy of a few bytes to the GPU
  double copy_start_from;     ///< and from it
  double copy_start_both;     ///< and of two at once
  double copy_link;           ///< bytes a second, one way, of the links that those were measured over
  double host_copies_from;    ///< smallest copy between GPU and host that `measure` times
  double host_copies_to;      ///< and the largest
};

/// Constants of price/internode.hpp, rail_exchange.hpp and generic.hpp, for all transports.
struct TransportForm {
  double host_bridge_one_way;      ///< fraction of the rate that remains at the host bridge for one-directional operations
  double ll_growth_size;           ///< per device, at which half of an LL step's growth is reached: (1.7)^(1/2) kB
  double ll_rendezvous_size;       ///< per device, at which half of ll_rendezvous is reached
  double ring_ll_growth;           ///< growth of a ring's LL step over a tree's (tree_growth)
  double ring_simple_start;        ///< a ring's Simple step for an empty message, as a fraction
  double ring_simple_growth_size;  ///< per device, at which half of the rest is reached
  double ll128_inner_hops;         ///< an LL128 step inside a server among others, in LL hops
  double ll128_share;              ///< what LL128 leaves of the NICs' rate: 120 of 128 bytes are data
  double ll128_overlap;            ///< order of the norm between steps and volume of an LL128 ring
  double tree_near;                ///< domains up to which a tree's network steps all take the same
  double tree_far;                 ///< fraction of a step that each doubling of domains beyond adds
  double tree_rate_overlap;        ///< order of the norm of the rates inside and between domains
  double tree_ll128_start;         ///< an LL128 tree's network step for an empty message, in ll128_steps
  double tree_ll128_growth_size;   ///< per device, at which half of one more ll128_step is added
  double tree_ll128_share;         ///< rate of an LL128 tree over the Simple one's
  double tree_simple_inner;        ///< a Simple tree's step inside a domain, in Simple hops
  double tree_simple_start;        ///< its network step for an empty message, in tree_simple_steps
  double tree_simple_growth_size;  ///< per device, at which half of one more tree_simple_step is added
  double nvls_start;               ///< an NVLSTree's step for an empty message, as a fraction
  double nvls_growth_size;         ///< per device, at which half of the rest is reached
  double exchange_tiny_size;       ///< per peer, below which an exchange pays exchange_tiny: 128 B do, 256 do not
  double send_recv_start;          ///< start of a message to another domain, in a ring's Simple steps
  double send_recv_efficiency;     ///< fraction that it reaches of its GPU's part of the NICs
  double send_channels;            ///< channels to a peer for each NIC of its GPU, half of them among many nodes
  double send_channels_nodes;      ///< per such NIC, the nodes beyond which they are halved
  double collnet_overlap;          ///< order of the norm of the times inside and between domains where the network's switches reduce
  double unfitted_step;            ///< a network step of an algorithm without a fitted form, in a ring's Simple steps
};

/// Constants of kernels/compute.hpp and training/layer.hpp.
struct ComputeForm {
  double tile;            ///< size to which matrix products are tiled
  double start_products;  ///< products of a group that are launched one after the other
  double row_step;        ///< values of a row that a thread block loads at a time
  double row_overlap;     ///< order of the norm between a row's loads and the traffic of all rows
  double hidden_traffic;  ///< reads and writes of the hidden width per token and layer around attention: norms, residuals
  double routed_traffic;  ///< the same per routed token: sorting, weighting, adding up
  double biased_traffic;  ///< and of experts with biases, for each value of both widths: biases in 32 bit, limits of the activation
  double layer_kernels;   ///< element-wise kernels and attention of a layer's forward, each with a start
  double ring_kernels;    ///< kernels of one more step of a ring of context ranks
  double power;           ///< exponent with which clocks follow the power of GPUs of one generation
  double full_clock;      ///< share of the peak that the best products reach where power does not lower the clock
};

/// Constants of price/custom_reduce.hpp.
struct CustomForm {
  double rate_overlap;   ///< order of the norm of link time and load time
  double growth_size;    ///< size at which half of a one-shot kernel's growth is reached
  double host_overlap;   ///< order of the norm of the host's launch and the GPU's work
  double measured_from;  ///< smallest size measured for these kernels
};

/// Constants of price/moe.hpp.
struct MoeForm {
  double rate_overlap;   ///< order of the norm of rates in parallel: SMs and wires, links and NICs
  double few_sms;        ///< number of SMs up to which they do not contend
  double copies_power;   ///< exponent of the first chunk's time in the copies of a token
  double floor_overlap;  ///< order of the norm of a floor and the volume that hides it
  double copy_power;     ///< exponent of a copy's latency in its bytes, where one block handles a token
};

}  // namespace fabricost::core
