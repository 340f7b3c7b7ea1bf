#pragma once
/// \file constants.hpp
/// The fitted numbers a schedule is priced with, in seconds, bytes and plain ratios. `calibrate` only ever changes these.
///
/// Each struct is one form of the model (see price/ring.hpp, in_switch.hpp, exchange.hpp, pcie.hpp, internode.hpp). The default
/// values are the prior for a machine nobody has measured: the geometric mean of the shipped Ampere, Hopper and Blackwell
/// calibrations (a test keeps them so). Rates are shares of the tier's one-way datasheet rate, so that a sibling with other
/// links scales by itself. What all machines have in common stands in form_constants.hpp.

#include <fabricost/hardware/compute_constants.hpp>
#include <fabricost/hardware/custom_constants.hpp>
#include <fabricost/hardware/form_constants.hpp>
#include <fabricost/hardware/moe_constants.hpp>

#include <array>
#include <cmath>
#include <string>

namespace fabricost {

/// How much a prediction rests on measurements of this very system, of one built like it, or on its datasheet alone.
enum class Basis : unsigned char { calibrated, sibling, datasheet };
[[nodiscard]] constexpr const char* name(Basis b) {
  return b == Basis::calibrated ? "calibrated" : b == Basis::sibling ? "sibling" : "datasheet";
}

/// Which operations or kernels the measurements behind a set of constants showed, a bit for each: operations by their place in
/// `Collective`, kernels by theirs in `ReduceKernel` (its place 0: called from Python) and `MoeKernel`. All bits: the file does not say.
struct Shown {
  unsigned here = ~0U;      ///< on this very machine
  unsigned alike = ~0U;     ///< on a machine whose scale-up domain has as many GPUs
  unsigned anywhere = ~0U;  ///< on some machine of the set
  [[nodiscard]] static constexpr bool has(unsigned bits, std::size_t place) { return (bits >> place & 1U) != 0; }
  friend constexpr bool operator==(const Shown&, const Shown&) = default;
};

inline constexpr double microsecond = 1e-6;
inline constexpr double kibibyte = 1024;
inline constexpr double mebibyte = 1024 * 1024;
inline constexpr double gibibyte = 1024 * 1024 * 1024;

/// The low-latency protocol inside a scale-up domain.
struct LowLatencyConstants {
  double hop = 1.0401 * microsecond;            ///< h: one serial step
  double channel_share = 0.386;                 ///< bL: rate of ONE channel over its part of the one-way rate
  double channels_cost = 1.1432 * microsecond;  ///< mc: cost of running many channels
  double full_threads = 0.41647 * microsecond;  ///< m0: cost once every thread of a channel has work
  double forward = 0.32561 * microsecond;       ///< mag: extra per forwarding step with every thread at work
  double reduce = 0.07 * microsecond;           ///< mrs: extra per reducing step
  double reduce_int8 = 0.09 * microsecond;      ///< i8L: the same for 8-bit types, on top
  double chunk_share = 0.68144;                 ///< ce: share of the volume that moves in whole 4 KiB chunks
  double chunk = 4096;                          ///< bytes of one channel's buffer step
};

/// 128-byte stores with a flag.
struct LowLatency128Constants {
  double floor = 14.813 * microsecond;  ///< f1
  double rate_share = 0.83;             ///< of the Simple ring rate
  double drain = 1.4;                   ///< steps' worth of volume beyond the schedule's
  double overlap = 1.4;                 ///< exponent of norm_q
};

/// Whole chunks.
struct SimpleConstants {
  double floor = 10.162 * microsecond;  ///< f
  double hop = 7.434 * microsecond;     ///< hs
  double overlap = 1.3154;              ///< q: 1 nothing overlaps, large: the larger of latency and volume hides the other
  double rate_share = 0.78618;          ///< B over the one-way rate
  double drain = 0.48006;               ///< x: the local copy at the end, in steps
  double cold_copy = 0.28626;           ///< y: extra volume while buffers are first touched, up to 1 MiB per channel and rank
  double reduce_scatter_rate = 1.0076;  ///< mrs2: reduce_scatter's rate over all_gather's
  double all_reduce_rate = 1.0429;      ///< mar
  double reduce_latency = 0.91762;      ///< rl: latency of a reducing step over a copying one
};

/// In-switch reduction of one domain.
struct InSwitchConstants {
  double floor = 22.302 * microsecond;     ///< fN
  double growth = 3.2345;                  ///< gN: how far the floor grows with size
  double growth_size = 22.666 * mebibyte;  ///< sN
  double rate_share = 0.94735;             ///< BN over the one-way rate, in terms of bus bandwidth
};

/// Point-to-point exchange inside a domain.
struct ExchangeConstants {
  double base = 8.6003 * microsecond;     ///< ca
  double hop = 0.99802 * microsecond;     ///< ha, per doubling of ranks
  double ll_ramp = 2.5231 * microsecond;  ///< ma, reached at 16 KiB per peer
  double floor = 2.1827 * microsecond;    ///< fS
  double ramp = 3.3817 * microsecond;     ///< mS, reached at 64 KiB per peer
  double rate_share = 0.73178;            ///< BS over the one-way rate
  double self_copy = 0.43608;             ///< xS: the rank's own part, in peers
  double cold_copy = 0.53668;             ///< yS
  double overlap = 1.3222;                ///< qS
};

/// A scale-up domain joined by NVLink, or anything NCCL drives like it.
struct ScaleUpConstants {
  double launch = 6.4112 * microsecond;  ///< c0: kernel launch and synchronisation
  LowLatencyConstants ll;
  LowLatency128Constants ll128;
  SimpleConstants simple;
  InSwitchConstants nvls;
  ExchangeConstants all_to_all;
  double int8_volume = 0.061759;            ///< i8: volume added by reductions of 8-bit types
  double tree_hop = 0.59643 * microsecond;  ///< one step of a tree's chain inside a domain of 4; longer chains pay more
  ScaleUpForm form;
};

/// A box whose GPUs meet over PCIe. The path changes with the number of ranks (one pair, one socket, two sockets), and with
/// it the rate; shares are of the x16 one-way rate.
struct PcieConstants {
  std::array<double, 3> ll_share{8.8 / 31.508, 3.15 / 31.508, 0.74 / 31.508};  ///< pair, socket, two sockets
  std::array<double, 3> simple_share{22.3 / 31.508, 5.04 / 31.508, 1.22 / 31.508};
  double launch = 5.2 * microsecond;
  double ll_hop = 1.17 * microsecond;
  double ll_overlap = 1.42;
  double drain = 0.18;
  double ll_all_reduce_rate = 1.17;
  double simple_floor = 10.2 * microsecond;
  double simple_hop = 5.9 * microsecond;
  double simple_overlap = 1.02;
  double warm_rate = 1.28;  ///< how much faster the first `warm_bytes` run while staging buffers sit in cache
  double warm_bytes = mebibyte;
  double reduce_scatter_rate = 1.03;
  double reduce_scatter_rate_two_sockets = 1.2;
  double exchange_pair_rate = 1.165;
  double exchange_base = 8.0 * microsecond;
  double exchange_hop = 1.37 * microsecond;
  double exchange_ll_share = 0.68;  ///< of the LL rate
  double exchange_floor = 7.7 * microsecond;
  PcieForm form;
};

/// Between nodes, one set per transport; rates are shares of the summed NIC rate. Defaults: the mean over transports.
struct TransportConstants {
  double tree_step = 9.3 * microsecond;             ///< L0: one network step of an LL tree
  double tree_growth = 10 * microsecond;            ///< L1: what it gains towards larger messages
  double ring_ll_step = 15 * microsecond;           ///< RL
  double ll128_step = 25 * microsecond;             ///< L2
  double ring_simple_step = 53 * microsecond;       ///< RS
  double ring_overlap = 1.3;                        ///< q of the norm between a Simple ring's steps and its volume
  double nvls_step = 83 * microsecond;              ///< LV
  double tree_simple_step = 81 * microsecond;       ///< LS
  double efficiency = 0.95;                         ///< eff
  double host_bridge = 0.63;                        ///< phd: what is left of the rate when GPU and NIC meet at the host bridge
  double ll_share = 0.19;                           ///< bll
  double exchange_share = 0.83;                     ///< ea
  double exchange_base = 5.7 * microsecond;         ///< Ca
  double exchange_peer = 6.7 * microsecond;         ///< La per remote peer
  double exchange_peer_simple = 2.1 * microsecond;  ///< LaS, added above 16 KiB per peer
  double exchange_tiny = 1;                         ///< how much dearer a remote peer is for a few bytes (Slingshot: 3)
  double no_gdr_rate = 0.86;                        ///< rate left without GPUDirect RDMA
  double no_gdr_step = 3;                           ///< how much dearer a Simple ring step is without it
  double nvls_floor = 34 * microsecond;             ///< launch included
  TransportForm form;

  /// The constants that follow one measured latency when they were not fitted themselves: with r = L0 / 9.3 us,
  /// L1 = 10 r^0.5, LS = 81 r^0.7, RL = 15 r, L2 = 25 r^0.7, RS = 53 r^0.7, LV = 83 r^0.7, La, LaS, Ca by r^0.3.
  [[nodiscard]] static TransportConstants from_tree_step(double tree_step, const TransportForm& form = {}) {
    TransportConstants t{.form = form};
    const double r = tree_step / t.tree_step;
    t.tree_step = tree_step;
    t.tree_growth *= std::pow(r, 0.5);
    t.ring_ll_step *= r;
    for (double* latency : {&t.tree_simple_step, &t.ll128_step, &t.ring_simple_step, &t.nvls_step}) *latency *= std::pow(r, 0.7);
    for (double* latency : {&t.exchange_base, &t.exchange_peer, &t.exchange_peer_simple}) *latency *= std::pow(r, 0.3);
    return t;
  }
};

/// The width of a kernel that no calibration of this GPU generation has seen.
inline constexpr double unmeasured_kernel = 0.45;

/// Half width, in log time, of the interval that holds nine of ten measured points, by what ran.
struct IntervalWidths {
  double ring_ll = 0.048, ring_ll128 = 0.10, ring_simple = 0.058, nvls = 0.054, exchange_ll = 0.136, exchange_simple = 0.095;
  double internode_ring_ll = 0.5, internode_ring_ll128 = 0.15, internode_ring_simple = 0.19, tree_ll = 0.21, tree_ll128 = 0.27,
         tree_simple = 0.33, nvls_tree = 0.15, internode_exchange = 0.14;
  double pcie_ll = 0.18, pcie_simple = 0.14, pcie_exchange_ll = 0.16, pcie_exchange_simple = 0.24;
  double custom_one_shot = unmeasured_kernel, custom_two_shot = unmeasured_kernel, host_launch = unmeasured_kernel;
  double deepep_normal = unmeasured_kernel, deepep_low_latency = unmeasured_kernel, trtllm_one_sided = unmeasured_kernel,
         trtllm_two_sided = unmeasured_kernel;
  double sibling = 0.066;  ///< in quadrature: offset between installs of like systems
  /// Instead of `sibling`, of an engine's kernel measured only on machines with another number of GPUs in a domain: what nine in ten
  /// points of DeepEP (both kernels), vLLM, SGLang and TensorRT-LLM on GB200 are off by, beyond their own width and each kernel counting
  /// alike, when constants of an 8-GPU B200 price them (aiconfigurator data; by kernel 0.17 to 0.42)
  double other_domain = 0.30;
  double other_domain_call = 1.04;  ///< the same of a call from Python, where the host is another one too
  /// In quadrature: an operation no machine of the set was measured for, priced with the constants of others. What nine in ten of vidur's
  /// send_recv on a DGX H100 show (microsoft/vidur, data/profiling)
  double unmeasured_operation = 0.45;
  double datasheet = 0.42;            ///< a generation never measured
  double pcie_datasheet = 0.82;       ///< a PCIe board never measured (1.645 x 0.5)
  double unmeasured_cluster = 0.4;    ///< a cluster never fitted
  double unmeasured_transport = 1.2;  ///< a transport never fitted
  double unfitted_algorithm = 0.5;    ///< an algorithm priced from its schedule alone
  double below_sizes = 0.15;          ///< below the measured sizes: latency is flat there, but a few bytes may be faster still
  double below_rack_sizes = 0.5;      ///< in-switch reduction of a rack below 512 MiB: how its floor grows is assumed
  double beyond_sizes = 0.05;         ///< per factor of two beyond the measured sizes, of what was not the wire at their end
  double beyond_ranks = 0.10;         ///< per factor of two outside the measured ranks
  /// The least share of `beyond_sizes` on a machine that was not measured itself: 0.02 per factor of two. One-node runs of 1 to 16 GiB on
  /// such machines (public nccl-tests logs: ND A100 v4, H100 with NDR, Alps) are 0.01 to 0.02 a factor of two further off than to 512 MiB.
  double unseen_wire = 0.4;
  double host_copy = 0.15;  ///< of a measured tier to the host: copies bend where the engine starts to stream, a line does not
};

/// Everything a system is priced with, and where it was measured.
struct Constants {
  ScaleUpConstants scale_up;
  PcieConstants pcie;
  TransportConstants transport;
  ComputeConstants compute;
  CustomConstants custom;
  MoeConstants moe;
  IntervalWidths interval;

  Basis basis = Basis::datasheet;                   ///< of the constants inside a node
  Basis transport_basis = Basis::datasheet;         ///< of those between nodes
  bool transport_known = false;                     ///< this transport was measured on some cluster
  Shown operations, transport_operations;           ///< by those two sets, places of `Collective`
  double smallest = 512, largest = 512 * mebibyte;  ///< measured sizes, bytes
  int fewest_ranks = 2, most_ranks = 8;             ///< measured ranks inside a domain
  int most_nodes = 1;                               ///< measured nodes, or domains where those are larger

  std::string name = "prior";  ///< of the calibration
  std::string source = "geometric mean of the Ampere, Hopper and Blackwell calibrations";
  Basis compute_basis = Basis::datasheet;  ///< of what kernels reach
  std::string compute_name = "prior";
  std::string compute_source = "geometric mean of the Ampere, Hopper and Blackwell calibrations";
  Basis custom_basis = Basis::datasheet;  ///< of inference engines' all-reduce kernels
  Shown custom_kernels;                   ///< places of `ReduceKernel`
  std::string custom_name = "prior";
  std::string custom_source = "between the Ampere, Hopper and Blackwell calibrations";
  Basis moe_basis = Basis::datasheet;  ///< of the kernels of expert exchange; those no interval was narrowed for stay datasheet
  Shown moe_kernels;                   ///< places of `MoeKernel`
  int moe_most_ranks = 16;             ///< measured
  std::string moe_name = "prior";
  std::string moe_source = "between the Hopper and Blackwell calibrations";
  std::string transport_name = "prior";
  std::string transport_source = "mean over the measured transports";
};

}  // namespace fabricost
