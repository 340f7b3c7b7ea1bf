#pragma once
/// \file collective_constants.hpp
/// The fitted constants of collectives, in seconds, bytes and plain ratios.
///
/// Each struct belongs to one form of the model (price/ring.hpp, in_switch.hpp, exchange.hpp, pcie.hpp,
/// internode.hpp). Rates are fractions of the tier's one-way datasheet rate, so they carry over to other
/// links. Constants common to all machines are in form_constants.hpp, values in data/{calibrations,priors}.

#include <fabricost/hardware/form_constants.hpp>

#include <array>

namespace fabricost::core {

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

}  // namespace fabricost::core

namespace fabricost {
using core::TransportConstants;
}  // namespace fabricost
