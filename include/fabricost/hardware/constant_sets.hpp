#pragma once
/// The numbers in the forms of prices, as structs: first those that all machines share (how a step grows with the message, where a ramp
/// ends, how far two parts overlap), then the fitted ones of collectives, kernels, engines' all-reduces and exchanges of experts.
///
/// A fit does not change the shared ones (FitTreatment::form), and a calibration file states one only where it differs; their sizes are in
/// bytes, a size "per device" is that of the message which one network device carries in one step. Fitted ones are in seconds, bytes and
/// plain ratios; rates are fractions of the tier's one-way datasheet rate, so they carry over to other links. Values, each with its source,
/// are in data/priors and data/calibrations.

#include <fabricost/namespaces.hpp>

#include <array>

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
  double ll_slice;                 ///< what a rank of a broadcast or reduction takes for a slice of LL, in LL hops
  double ll_fewest_threads;        ///< threads that carry a slice of a small message, as a fraction of a channel's
  double ring_chunk;               ///< bytes of a channel that a rank of a broadcast or reduction passes on at once under Simple
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
  double collnet_overlap;          ///< order of the norm of the times inside and between domains where the network's switches reduce
  double collnet_from;             ///< smallest size measured of it
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
  double attention_block; ///< s that a processor takes for each block of queries of fused attention beside its products
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

/// The low-latency protocol inside a scale-up domain.
struct LowLatencyConstants {
  double hop;            ///< h: one serial step
  double channel_share;  ///< bL: rate of one channel over its part of the one-way rate
  double channels_cost;  ///< mc: cost of running many channels
  double full_threads;   ///< m0: cost once every thread of a channel has work
  double forward;        ///< mag: extra per forwarding step with all threads busy
  double reduce;         ///< mrs: extra per reducing step
  double reduce_int8;    ///< i8L: additional to `reduce` for 8-bit types
  double chunk_share;    ///< ce: share of the volume that moves in whole 4 KiB chunks
  double chunk;          ///< bytes of one channel's buffer step
};

/// 128-byte stores with a flag.
struct LowLatency128Constants {
  double floor;       ///< f1
  double rate_share;  ///< of the Simple ring rate
  double drain;       ///< extra volume beyond the schedule's, in steps
  double overlap;     ///< exponent of norm_q
};

/// Whole chunks.
struct SimpleConstants {
  double floor;                ///< f
  double hop;                  ///< hs
  double overlap;              ///< q: order of norm_q of latency and volume; 1: no overlap, large: the larger hides the other
  double rate_share;           ///< B over the one-way rate
  double drain;                ///< x: the local copy at the end, in steps
  double cold_copy;            ///< y: extra volume while buffers are first touched, up to 1 MiB per channel and rank
  double reduce_scatter_rate;  ///< mrs2: reduce_scatter's rate over all_gather's
  double all_reduce_rate;      ///< mar
  double reduce_latency;       ///< rl: latency of a reducing step over a copying one
};

/// In-switch reduction of one domain.
struct InSwitchConstants {
  double floor;       ///< fN
  double chunk;       ///< lN: chunk size at which a chunk's latency takes as long as its bytes
  double fill;        ///< xN: rounds that fill the pipeline, in bytes beyond the smallest chunk
  double rate_share;  ///< BN over the one-way rate, in terms of the bus bandwidth of 8 ranks
};

/// Point-to-point exchange inside a domain.
struct ExchangeConstants {
  double base;        ///< ca
  double hop;         ///< ha, per doubling of ranks
  double ll_ramp;     ///< ma, reached at 16 KiB per peer
  double ll_share;    ///< la: LL rate of a channel over that of a ring's
  double channel;     ///< ck: a channel's time for a chunk (ScaleUpForm::exchange_chunk)
  double floor;       ///< fS
  double ramp;        ///< mS, reached at 64 KiB per peer
  double rate_share;  ///< BS over the one-way rate
  double self_copy;   ///< xS: the rank's own part, in peers
  double cold_copy;   ///< yS
  double overlap;     ///< qS
};

/// A scale-up domain joined by NVLink, or by any link that NCCL treats like it.
struct ScaleUpConstants {
  double launch;  ///< c0: kernel launch and synchronisation
  LowLatencyConstants ll;
  LowLatency128Constants ll128;
  SimpleConstants simple;
  InSwitchConstants nvls;
  ExchangeConstants all_to_all;
  double int8_volume;  ///< i8: volume added by reductions of 8-bit types
  double tree_hop;     ///< one step of a tree's chain inside a domain of 4; longer chains pay more
  ScaleUpForm form;
};

/// A server whose GPUs communicate over PCIe: one set for boards that stage in host memory, one for those whose GPUs write to each other.
/// The path, and with it the rate, depends on the number of ranks (one pair, one socket, two sockets). Shares are fractions of the x16
/// one-way rate.
struct PcieConstants {
  std::array<double, 3> ll_share;  ///< pair, socket, two sockets
  std::array<double, 3> simple_share;
  double launch;
  double ll_hop;
  double ll_overlap;
  double drain;
  double ll_all_reduce_rate;
  double simple_floor;
  double simple_hop;
  double simple_overlap;
  double warm_rate;  ///< speed-up of the first `warm_bytes`, while buffers are in cache
  double warm_bytes;
  double reduce_scatter_rate;
  double reduce_scatter_rate_two_sockets;
  double exchange_pair_rate;
  double exchange_two_sockets_rate;  ///< an exchange's rate across two sockets over a ring's, which crosses with one of its links
  double exchange_base;
  double exchange_hop;
  double exchange_ll_share;  ///< of the LL rate
  double exchange_floor;
  PcieForm form;
};

/// Between nodes, one set per transport. Rates are fractions of the summed NIC rate.
struct TransportConstants {
  double tree_step;             ///< L0: one network step of an LL tree
  double tree_growth;           ///< L1: increase of the step towards large messages
  double ring_ll_step;          ///< RL
  double ll128_step;            ///< L2
  double ring_simple_step;      ///< RS
  double ring_overlap;          ///< q of the norm between a Simple ring's steps and its volume
  double nvls_step;             ///< LV
  double tree_simple_step;      ///< LS
  double efficiency;            ///< eff
  double host_bridge;           ///< phd: fraction of the rate that remains when GPU and NIC meet at the host bridge
  double ll_share;              ///< bll
  double ll_rendezvous;         ///< growth of an LL tree's step up to messages that the network asks for first, over L1 (Slingshot: 4)
  double exchange_share;        ///< ea
  double exchange_base;         ///< Ca
  double exchange_peer;         ///< La per remote peer
  double exchange_peer_simple;  ///< LaS, added above 16 KiB per peer
  double exchange_tiny;         ///< factor on the cost of a remote peer for a few bytes (Slingshot: 3)
  double send_channel;          ///< bytes a second that one channel of a send carries
  double no_gdr_rate;           ///< fraction of the rate that remains without GPUDirect RDMA
  double no_gdr_step;           ///< factor on a Simple ring step without it
  double nvls_floor;            ///< including the launch
  TransportForm form;

  /// The prior of a machine with this `tree_step`: every constant is multiplied by r^follows, r = tree_step /
  /// its prior (Parameter::follows).
  [[nodiscard]] static TransportConstants from_tree_step(double tree_step);
};

struct ComputeConstants {
  double gemm;                ///< fraction of the dense peak that a large, aligned matrix product reaches
  double gemm_fp8;            ///< fraction of the fp8 peak, relative to `gemm`
  double gemm_fp4;            ///< fraction of the fp4 peak, relative to `gemm`
  double block_scales;        ///< factor on `gemm_fp8` where blocks of values have a scale each, rather than whole tensors
  double gemm_watts;          ///< W per 16-bit TFLOP/s of the GPU `gemm` was measured on; 0: one with another power is not told apart
  double gemm_peak;           ///< 16-bit TFLOP/s of one of its processors (SM); 0: a GPU of the same die and another clock is not told apart
  double gemm_start;          ///< s per matrix product, or other kernel of a layer
  double gemm_overlap;        ///< order q of the norm of its arithmetic and memory time
  double misaligned;          ///< extra time of a product with a side that is not a multiple of 64 on the rank
  double attention;           ///< fraction of the 16-bit peak that fused attention reaches, counting the causal half of the scores
  double attention_flash3;    ///< factor on it for FlashAttention-3
  double attention_flash2;    ///< factor on it for FlashAttention-2 and Triton's kernels on generations after Ampere
  double attention_backward;  ///< time of fused attention's backward over its forward
  double scores;              ///< unfused attention: efficiency of its two products, relative to `gemm`
  double score_bytes;         ///< unfused attention: bytes of memory traffic per score and forward
  double memory;              ///< fraction of the memory rate that streaming kernels reach
  double elementwise;         ///< memory traffic of norms, activations and residuals over its minimum
  double elementwise_old;     ///< factor on it for stacks before fused attention
  double row_traffic;         ///< memory traffic of a single element-wise kernel over its minimum
  double layer_floor;         ///< minimum s of a layer's forward: host launches, small kernels
  double floor_mixture;       ///< its factor in layers with experts
  double floor_expert;        ///< and its growth per expert of the rank
  double floor_overlap;       ///< order q of the norm of a layer's work and its floor
  double logit_bytes;         ///< memory traffic per logit of a fused cross entropy
  double logit_bytes_eager;   ///< the same for an unfused one
  double straggle;            ///< standard deviation of a node's time for a step, as a share: all wait for the slowest
  ComputeForm form;
};

/// Every rank reads and adds the data of all others.
struct OneShotConstants {
  double start;
  double hop;     ///< per doubling of ranks beyond a pair
  double growth;  ///< reached when every SM has work, half of it at 64 KiB
  double share;   ///< maximum, of the one-way rate
  double kib;     ///< time in which the loads in flight of a kernel fetch 1024 bytes; 0 for kernels that store
};

/// Every rank reduces its part, then all ranks collect all parts.
struct TwoShotConstants {
  double start;
  double floor;  ///< two barriers; the volume can hide them and the hops
  double hop;    ///< per doubling of ranks beyond a pair
  double share;
  double overlap;
  double kib;  ///< as above; for symmetric_two_shot with two ranks: every further rank adds as many loads
};

struct CustomConstants {
  /// vLLM, SGLang to 0.5.12: kernels read the memory of peers
  OneShotConstants pull_one_shot;
  TwoShotConstants pull_two_shot;
  /// SGLang from 0.5.14
  OneShotConstants push_one_shot;
  TwoShotConstants push_two_shot;
  /// TensorRT-LLM: the data itself is the flag
  OneShotConstants lamport_one_shot;
  TwoShotConstants lamport_two_shot;
  /// the switch reduces
  TwoShotConstants multicast;
  /// torch symmetric memory
  TwoShotConstants symmetric_two_shot;
  double host_launch;  ///< minimum time of a call from Python
  double host_extra;   ///< further time that such a call adds to a long kernel
  double host_copy;    ///< fraction of the memory rate at which the buffer is copied once
  CustomForm form;
};

/// DeepEP's normal kernels: a pair of SMs is a channel, which sends and receives chunks of tokens.
struct ChannelKernelConstants {
  double start;        ///< launch, layout and transfer of the first chunk
  double start_copy;   ///< added per KiB of a copy and square root of copies per token
  double token;        ///< one SM's fixed time per token
  double token_kib;    ///< and its time per KiB of the token
  double copy;         ///< one SM's fixed time per copy of a token
  double copy_kib;     ///< and its time per KiB of the copy
  double fill;         ///< extra cost of an SM's first chunks, in tokens
  double fill_tokens;  ///< tokens per SM at which it is reached
  double share;        ///< maximum, of the one-way rate
  double overlap;      ///< order of the norm of a token's time and its copies'
  double spread;       ///< n SMs do the work of n^spread (from 4 on), since they share memory and switch
};

/// DeepEP's low-latency kernels: one message per token and expert, on as many SMs as the experts occupy.
struct MessageKernelConstants {
  double start;
  double expert;      ///< per expert: counters to send and wait for
  double start_copy;  ///< per KiB of a copy and square root of copies
  double token;       ///< one SM's fixed time per token
  double token_kib;   ///< and its time per KiB of the token
  double share;
  double overlap;
};

/// TensorRT-LLM's kernels inside one NVLink domain, MORI's inside one mesh.
struct DomainKernelConstants {
  double start;
  double copy;   ///< per rank that a token goes to, one after the other; of one-sided kernels for copies of 1 KiB
  double step;   ///< per doubling of ranks: all ranks wait for the flags of all others
  double floor;  ///< latency that the volume can hide; the same
  double token;  ///< time of a rank per token besides the link: packing, adding, converting
  double share;
  double overlap;  ///< order of the norm of work and wire
};

/// The computation of each expert's tokens, before a two-sided dispatch.
struct PrepareConstants {
  double start, step, token;
};

struct MoeConstants {
  ChannelKernelConstants normal_dispatch;
  ChannelKernelConstants normal_combine;
  MessageKernelConstants low_latency_dispatch;
  MessageKernelConstants low_latency_combine;
  DomainKernelConstants one_sided_dispatch;
  DomainKernelConstants one_sided_combine;
  PrepareConstants prepare;
  DomainKernelConstants two_sided_dispatch;
  DomainKernelConstants two_sided_combine;
  DomainKernelConstants two_sided_combine_fp4;
  DomainKernelConstants mori_dispatch;
  DomainKernelConstants mori_combine;
  MoeForm form;
};

}  // namespace fabricost::core

namespace fabricost {
using core::ComputeConstants;
using core::MoeConstants;
using core::TransportConstants;
}  // namespace fabricost
