#pragma once
/// \file parameters.hpp
/// The fitted constants by name: where each lives, what it is, how far it may go and how much is known of it before anything was
/// measured. Whoever reads, writes or fits constants walks these tables; a new constant is one row.
///
/// `spread`: standard deviation, in log, around the prior when one machine is fitted from a few points; `latency`, `rate`: how strongly
/// it follows the factor by which all latencies (rates) of that machine differ from the prior's; of kernels, that of ll.hop (kin.hpp).
/// Facts: leave-one-generation-out of NCCL on A100, H100, B200; leave-one-cluster-out of 16 public clusters.

#include <fabricost/hardware/constants.hpp>

#include <array>
#include <span>
#include <string_view>

namespace fabricost {

/// Which of a system's sets of constants.
enum class ConstantSet : unsigned char { scale_up, pcie, transport, compute, custom, moe };
inline constexpr std::array<std::string_view, 6> constant_set_names{"scale_up", "pcie", "transport", "compute", "custom", "moe"};
[[nodiscard]] constexpr std::string_view name(ConstantSet s) { return constant_set_names[static_cast<std::size_t>(s)]; }

/// How a constant is written: seconds, a rate given as its share of the one-way rate, bytes, a plain number.
enum class Measure : unsigned char { time, share, size, number };

/// Whether a joint fit of several machines gives every machine its own value, all of them one, or leaves it at what was set.
enum class Fitted : unsigned char { own, shared, held };

struct Parameter {
  std::string_view key;  ///< as in a calibration file, sections with a point: "ll.hop"
  Measure measure = Measure::number;
  double& (*of)(Constants&);
  double least = 0, most = 0;  ///< in SI units
  Fitted fitted = Fitted::own;
  double spread = 0.25;
  double latency = 0, rate = 0;

  [[nodiscard]] double value(const Constants& c) const { return of(const_cast<Constants&>(c)); }  // NOLINT: read only
};

namespace detail {
inline constexpr double shortest = 1e-9, longest = 1e-2;
}  // namespace detail

#define FABRICOST_OF(member) [](Constants& c) -> double& { return c.member; }  // NOLINT(bugprone-macro-parentheses): a member's name

inline constexpr std::array scale_up_parameters{
    Parameter{"launch", Measure::time, FABRICOST_OF(scale_up.launch), detail::shortest, detail::longest, Fitted::own, 0.05, 1},
    Parameter{"tree_hop", Measure::time, FABRICOST_OF(scale_up.tree_hop), detail::shortest, detail::longest, Fitted::held},
    Parameter{"int8_volume", Measure::number, FABRICOST_OF(scale_up.int8_volume), 0, 1, Fitted::shared, 0.1},
    Parameter{"ll.hop", Measure::time, FABRICOST_OF(scale_up.ll.hop), detail::shortest, detail::longest, Fitted::own, 0.2, 0.7},
    Parameter{"ll.channel_share", Measure::number, FABRICOST_OF(scale_up.ll.channel_share), 0.001, 1, Fitted::own, 0.15},
    Parameter{"ll.channels_cost", Measure::time, FABRICOST_OF(scale_up.ll.channels_cost), detail::shortest, detail::longest, Fitted::own,
              0.4, 1.5},
    Parameter{"ll.full_threads", Measure::time, FABRICOST_OF(scale_up.ll.full_threads), detail::shortest, detail::longest, Fitted::shared,
              0.1},
    Parameter{"ll.forward", Measure::time, FABRICOST_OF(scale_up.ll.forward), detail::shortest, detail::longest, Fitted::own, 0.5, 0.5},
    Parameter{"ll.reduce", Measure::time, FABRICOST_OF(scale_up.ll.reduce), detail::shortest, detail::longest, Fitted::held},
    Parameter{"ll.reduce_int8", Measure::time, FABRICOST_OF(scale_up.ll.reduce_int8), detail::shortest, detail::longest, Fitted::held},
    Parameter{"ll.chunk_share", Measure::number, FABRICOST_OF(scale_up.ll.chunk_share), 0, 1, Fitted::shared, 0.1},
    Parameter{"ll128.floor", Measure::time, FABRICOST_OF(scale_up.ll128.floor), detail::shortest, detail::longest, Fitted::shared, 0.1},
    Parameter{"ll128.rate_share", Measure::number, FABRICOST_OF(scale_up.ll128.rate_share), 0.01, 1, Fitted::held},
    Parameter{"ll128.drain", Measure::number, FABRICOST_OF(scale_up.ll128.drain), 0, 10, Fitted::held},
    Parameter{"ll128.overlap", Measure::number, FABRICOST_OF(scale_up.ll128.overlap), 1, 12, Fitted::held},
    Parameter{"simple.floor", Measure::time, FABRICOST_OF(scale_up.simple.floor), detail::shortest, detail::longest, Fitted::own, 0.3, 0.5},
    Parameter{"simple.hop", Measure::time, FABRICOST_OF(scale_up.simple.hop), detail::shortest, detail::longest, Fitted::own, 0.4, 0.7},
    Parameter{"simple.overlap", Measure::number, FABRICOST_OF(scale_up.simple.overlap), 1, 12, Fitted::own, 0.3},
    Parameter{"simple.rate", Measure::share, FABRICOST_OF(scale_up.simple.rate_share), 0.001, 1.1, Fitted::own, 0.1, 0, 1},
    Parameter{"simple.drain", Measure::number, FABRICOST_OF(scale_up.simple.drain), 0, 10, Fitted::own, 0.35},
    Parameter{"simple.cold_copy", Measure::number, FABRICOST_OF(scale_up.simple.cold_copy), 0, 10, Fitted::shared, 0.1},
    Parameter{"simple.reduce_scatter_rate", Measure::number, FABRICOST_OF(scale_up.simple.reduce_scatter_rate), 0.1, 2, Fitted::own, 0.05},
    Parameter{"simple.all_reduce_rate", Measure::number, FABRICOST_OF(scale_up.simple.all_reduce_rate), 0.1, 2, Fitted::shared, 0.03},
    Parameter{"simple.reduce_latency", Measure::number, FABRICOST_OF(scale_up.simple.reduce_latency), 0, 1, Fitted::shared, 0.03},
    Parameter{"nvls.floor", Measure::time, FABRICOST_OF(scale_up.nvls.floor), detail::shortest, detail::longest, Fitted::own, 0.25, 0.5},
    Parameter{"nvls.growth", Measure::number, FABRICOST_OF(scale_up.nvls.growth), 0, 100, Fitted::shared, 0.1},
    Parameter{"nvls.growth_size", Measure::size, FABRICOST_OF(scale_up.nvls.growth_size), 1024, 1e12, Fitted::shared, 0.1},
    Parameter{"nvls.rate", Measure::share, FABRICOST_OF(scale_up.nvls.rate_share), 0.001, 1.6, Fitted::own, 0.1, 0, 1},
    Parameter{"all_to_all.base", Measure::time, FABRICOST_OF(scale_up.all_to_all.base), detail::shortest, detail::longest, Fitted::own,
              0.05, 1},
    Parameter{"all_to_all.hop", Measure::time, FABRICOST_OF(scale_up.all_to_all.hop), detail::shortest, detail::longest, Fitted::shared,
              0.1},
    Parameter{"all_to_all.ll_ramp", Measure::time, FABRICOST_OF(scale_up.all_to_all.ll_ramp), detail::shortest, detail::longest,
              Fitted::shared, 0.1},
    Parameter{"all_to_all.floor", Measure::time, FABRICOST_OF(scale_up.all_to_all.floor), detail::shortest, detail::longest, Fitted::shared,
              0.1},
    Parameter{"all_to_all.ramp", Measure::time, FABRICOST_OF(scale_up.all_to_all.ramp), detail::shortest, detail::longest, Fitted::own,
              0.5},
    Parameter{"all_to_all.rate", Measure::share, FABRICOST_OF(scale_up.all_to_all.rate_share), 0.001, 1.1, Fitted::own, 0.1, 0, 1},
    Parameter{"all_to_all.self_copy", Measure::number, FABRICOST_OF(scale_up.all_to_all.self_copy), 0, 10, Fitted::own, 0.5},
    Parameter{"all_to_all.cold_copy", Measure::number, FABRICOST_OF(scale_up.all_to_all.cold_copy), 0, 10, Fitted::shared, 0.1},
    Parameter{"all_to_all.overlap", Measure::number, FABRICOST_OF(scale_up.all_to_all.overlap), 1, 12, Fitted::own, 0.3},
};

inline constexpr std::array pcie_parameters{
    Parameter{"ll_rate.pair", Measure::share, FABRICOST_OF(pcie.ll_share[0]), 1e-4, 1.1, Fitted::own, 0.25, 0, 1},
    Parameter{"ll_rate.socket", Measure::share, FABRICOST_OF(pcie.ll_share[1]), 1e-4, 1.1, Fitted::own, 0.5, 0, 1},
    Parameter{"ll_rate.two_sockets", Measure::share, FABRICOST_OF(pcie.ll_share[2]), 1e-4, 1.1, Fitted::own, 0.5, 0, 1},
    Parameter{"simple_rate.pair", Measure::share, FABRICOST_OF(pcie.simple_share[0]), 1e-4, 1.1, Fitted::own, 0.15, 0, 1},
    Parameter{"simple_rate.socket", Measure::share, FABRICOST_OF(pcie.simple_share[1]), 1e-4, 1.1, Fitted::own, 0.5, 0, 1},
    Parameter{"simple_rate.two_sockets", Measure::share, FABRICOST_OF(pcie.simple_share[2]), 1e-4, 1.1, Fitted::own, 0.5, 0, 1},
    Parameter{"launch", Measure::time, FABRICOST_OF(pcie.launch), detail::shortest, detail::longest, Fitted::own, 0.15, 1},
    Parameter{"ll_hop", Measure::time, FABRICOST_OF(pcie.ll_hop), detail::shortest, detail::longest, Fitted::own, 0.15, 1},
    Parameter{"ll_overlap", Measure::number, FABRICOST_OF(pcie.ll_overlap), 1, 12},
    Parameter{"drain", Measure::number, FABRICOST_OF(pcie.drain), 0, 10},
    Parameter{"ll_all_reduce_rate", Measure::number, FABRICOST_OF(pcie.ll_all_reduce_rate), 0.1, 3, Fitted::own, 0.1},
    Parameter{"simple_floor", Measure::time, FABRICOST_OF(pcie.simple_floor), detail::shortest, detail::longest, Fitted::own, 0.25, 0.5},
    Parameter{"simple_hop", Measure::time, FABRICOST_OF(pcie.simple_hop), detail::shortest, detail::longest, Fitted::own, 0.25, 0.5},
    Parameter{"simple_overlap", Measure::number, FABRICOST_OF(pcie.simple_overlap), 1, 12},
    Parameter{"warm_rate", Measure::number, FABRICOST_OF(pcie.warm_rate), 1, 3, Fitted::own, 0.1},
    Parameter{"warm_bytes", Measure::size, FABRICOST_OF(pcie.warm_bytes), 1024, 1e9, Fitted::held},
    Parameter{"reduce_scatter_rate", Measure::number, FABRICOST_OF(pcie.reduce_scatter_rate), 0.1, 3, Fitted::own, 0.05},
    Parameter{"reduce_scatter_rate_two_sockets", Measure::number, FABRICOST_OF(pcie.reduce_scatter_rate_two_sockets), 0.1, 3, Fitted::own,
              0.1},
    Parameter{"exchange_pair_rate", Measure::number, FABRICOST_OF(pcie.exchange_pair_rate), 0.1, 3, Fitted::own, 0.1},
    Parameter{"exchange_base", Measure::time, FABRICOST_OF(pcie.exchange_base), detail::shortest, detail::longest, Fitted::own, 0.15, 1},
    Parameter{"exchange_hop", Measure::time, FABRICOST_OF(pcie.exchange_hop), detail::shortest, detail::longest},
    Parameter{"exchange_ll_share", Measure::number, FABRICOST_OF(pcie.exchange_ll_share), 0.01, 3},
    Parameter{"exchange_floor", Measure::time, FABRICOST_OF(pcie.exchange_floor), detail::shortest, detail::longest, Fitted::own, 0.25,
              0.5},
};

/// `tree_step` leads: those below it that are not given follow it (TransportConstants::from_tree_step).
inline constexpr std::array transport_parameters{
    Parameter{"tree_step", Measure::time, FABRICOST_OF(transport.tree_step), 1e-7, 0.1, Fitted::own, 0.4, 1},
    Parameter{"tree_growth", Measure::time, FABRICOST_OF(transport.tree_growth), 1e-8, 0.1, Fitted::own, 0.5, 0},
    Parameter{"ring_ll_step", Measure::time, FABRICOST_OF(transport.ring_ll_step), 1e-7, 0.1, Fitted::own, 0.4, 0},
    Parameter{"ll128_step", Measure::time, FABRICOST_OF(transport.ll128_step), 1e-7, 0.1, Fitted::own, 0.5, 0},
    Parameter{"ring_simple_step", Measure::time, FABRICOST_OF(transport.ring_simple_step), 1e-7, 0.1, Fitted::own, 0.7, 0},
    Parameter{"ring_overlap", Measure::number, FABRICOST_OF(transport.ring_overlap), 1, 12, Fitted::own, 0.5, 0},
    Parameter{"nvls_step", Measure::time, FABRICOST_OF(transport.nvls_step), 1e-7, 0.1, Fitted::own, 0.6, 0},
    Parameter{"tree_simple_step", Measure::time, FABRICOST_OF(transport.tree_simple_step), 1e-7, 0.1, Fitted::held},
    Parameter{"efficiency", Measure::number, FABRICOST_OF(transport.efficiency), 0.01, 1, Fitted::own, 0.08, 0, 1},
    Parameter{"host_bridge", Measure::number, FABRICOST_OF(transport.host_bridge), 0.01, 1, Fitted::own, 0.2},
    Parameter{"ll_share", Measure::number, FABRICOST_OF(transport.ll_share), 0.001, 1, Fitted::own, 0.7},
    Parameter{"exchange_share", Measure::number, FABRICOST_OF(transport.exchange_share), 0.01, 1, Fitted::own, 0.3},
    Parameter{"exchange_tiny", Measure::number, FABRICOST_OF(transport.exchange_tiny), 1, 20, Fitted::own, 0.7},
    Parameter{"exchange_base", Measure::time, FABRICOST_OF(transport.exchange_base), 1e-7, 0.1, Fitted::held},
    Parameter{"exchange_peer", Measure::time, FABRICOST_OF(transport.exchange_peer), 1e-7, 0.1, Fitted::held},
    Parameter{"exchange_peer_simple", Measure::time, FABRICOST_OF(transport.exchange_peer_simple), 1e-7, 0.1, Fitted::held},
    Parameter{"no_gdr_rate", Measure::number, FABRICOST_OF(transport.no_gdr_rate), 0.01, 1, Fitted::held},
    Parameter{"no_gdr_step", Measure::number, FABRICOST_OF(transport.no_gdr_step), 1, 100, Fitted::held},
    Parameter{"nvls_floor", Measure::time, FABRICOST_OF(transport.nvls_floor), 1e-7, 0.1, Fitted::held},
};

/// Of one GPU generation, in the kernels of a transformer (kernels/compute.hpp). A few training runs say nothing of the held ones.
inline constexpr std::array compute_parameters{
    Parameter{"gemm", Measure::number, FABRICOST_OF(compute.gemm), 0.05, 1, Fitted::own, 0.2},
    Parameter{"gemm_fp8", Measure::number, FABRICOST_OF(compute.gemm_fp8), 0.1, 1, Fitted::held, 0.1},
    Parameter{"gemm_fp4", Measure::number, FABRICOST_OF(compute.gemm_fp4), 0.1, 1, Fitted::held, 0.2},
    Parameter{"gemm_start", Measure::time, FABRICOST_OF(compute.gemm_start), 1e-8, 1e-2, Fitted::own, 0.3},
    Parameter{"gemm_overlap", Measure::number, FABRICOST_OF(compute.gemm_overlap), 1, 12, Fitted::held, 0.2},
    Parameter{"misaligned", Measure::number, FABRICOST_OF(compute.misaligned), 0, 5, Fitted::shared, 0.7},
    Parameter{"attention", Measure::number, FABRICOST_OF(compute.attention), 0.01, 1, Fitted::own, 0.4},
    Parameter{"attention_old", Measure::number, FABRICOST_OF(compute.attention_old), 0.05, 1, Fitted::shared, 0.4},
    Parameter{"attention_backward", Measure::number, FABRICOST_OF(compute.attention_backward), 1, 10, Fitted::held, 0.1},
    Parameter{"scores", Measure::number, FABRICOST_OF(compute.scores), 0.05, 1, Fitted::held, 0.2},
    Parameter{"score_bytes", Measure::number, FABRICOST_OF(compute.score_bytes), 1, 100, Fitted::held, 0.2},
    Parameter{"memory", Measure::number, FABRICOST_OF(compute.memory), 0.1, 1, Fitted::own, 0.05},
    Parameter{"elementwise", Measure::number, FABRICOST_OF(compute.elementwise), 0.2, 10, Fitted::own, 0.4},
    Parameter{"elementwise_old", Measure::number, FABRICOST_OF(compute.elementwise_old), 0.1, 10, Fitted::shared, 0.4},
    Parameter{"row_traffic", Measure::number, FABRICOST_OF(compute.row_traffic), 0.5, 10, Fitted::shared, 0.2},
    Parameter{"layer_floor", Measure::time, FABRICOST_OF(compute.layer_floor), 1e-6, 0.1, Fitted::own, 0.5},
    Parameter{"floor_tensor", Measure::number, FABRICOST_OF(compute.floor_tensor), 0, 1, Fitted::held, 0.3},
    Parameter{"floor_old", Measure::number, FABRICOST_OF(compute.floor_old), 0.5, 5, Fitted::shared, 0.2},
    Parameter{"floor_mixture", Measure::number, FABRICOST_OF(compute.floor_mixture), 1, 20, Fitted::held, 0.3},
    Parameter{"floor_expert", Measure::number, FABRICOST_OF(compute.floor_expert), 0, 1, Fitted::held, 0.3},
    Parameter{"floor_overlap", Measure::number, FABRICOST_OF(compute.floor_overlap), 1, 12, Fitted::held, 0.2},
    Parameter{"logit_bytes", Measure::number, FABRICOST_OF(compute.logit_bytes), 2, 200, Fitted::held, 0.3},
    Parameter{"logit_bytes_eager", Measure::number, FABRICOST_OF(compute.logit_bytes_eager), 2, 400, Fitted::shared, 0.5},
    Parameter{"optimizer_bytes", Measure::number, FABRICOST_OF(compute.optimizer_bytes), 8, 200, Fitted::held, 0.2},
};

/// All-reduce kernels of inference engines on one GPU generation (price/custom_reduce.hpp).
inline constexpr std::array custom_parameters{
    Parameter{"pull_one_shot.start", Measure::time, FABRICOST_OF(custom.pull_one_shot.start), 1e-9, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"pull_one_shot.hop", Measure::time, FABRICOST_OF(custom.pull_one_shot.hop), 1e-9, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"pull_one_shot.growth", Measure::time, FABRICOST_OF(custom.pull_one_shot.growth), 1e-9, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"pull_one_shot.share", Measure::number, FABRICOST_OF(custom.pull_one_shot.share), 0.01, 0.95, Fitted::own, 0.1},
    Parameter{"pull_one_shot.kib", Measure::time, FABRICOST_OF(custom.pull_one_shot.kib), 1e-12, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"push_one_shot.start", Measure::time, FABRICOST_OF(custom.push_one_shot.start), 1e-9, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"push_one_shot.hop", Measure::time, FABRICOST_OF(custom.push_one_shot.hop), 1e-9, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"push_one_shot.growth", Measure::time, FABRICOST_OF(custom.push_one_shot.growth), 1e-9, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"push_one_shot.share", Measure::number, FABRICOST_OF(custom.push_one_shot.share), 0.01, 0.95, Fitted::own, 0.7},
    Parameter{"lamport_one_shot.start", Measure::time, FABRICOST_OF(custom.lamport_one_shot.start), 1e-9, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"lamport_one_shot.hop", Measure::time, FABRICOST_OF(custom.lamport_one_shot.hop), 1e-9, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"lamport_one_shot.growth", Measure::time, FABRICOST_OF(custom.lamport_one_shot.growth), 1e-9, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"lamport_one_shot.share", Measure::number, FABRICOST_OF(custom.lamport_one_shot.share), 0.01, 0.95, Fitted::own, 0.7},
    Parameter{"pull_two_shot.start", Measure::time, FABRICOST_OF(custom.pull_two_shot.start), 1e-9, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"pull_two_shot.floor", Measure::time, FABRICOST_OF(custom.pull_two_shot.floor), 1e-9, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"pull_two_shot.hop", Measure::time, FABRICOST_OF(custom.pull_two_shot.hop), 1e-9, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"pull_two_shot.share", Measure::number, FABRICOST_OF(custom.pull_two_shot.share), 0.01, 0.95, Fitted::own, 0.1},
    Parameter{"pull_two_shot.kib", Measure::time, FABRICOST_OF(custom.pull_two_shot.kib), 1e-12, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"pull_two_shot.overlap", Measure::number, FABRICOST_OF(custom.pull_two_shot.overlap), 1, 12, Fitted::own, 0.4},
    Parameter{"push_two_shot.start", Measure::time, FABRICOST_OF(custom.push_two_shot.start), 1e-9, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"push_two_shot.floor", Measure::time, FABRICOST_OF(custom.push_two_shot.floor), 1e-9, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"push_two_shot.hop", Measure::time, FABRICOST_OF(custom.push_two_shot.hop), 1e-9, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"push_two_shot.share", Measure::number, FABRICOST_OF(custom.push_two_shot.share), 0.01, 0.95, Fitted::own, 0.5},
    Parameter{"push_two_shot.overlap", Measure::number, FABRICOST_OF(custom.push_two_shot.overlap), 1, 12, Fitted::own, 0.4},
    Parameter{"lamport_two_shot.start", Measure::time, FABRICOST_OF(custom.lamport_two_shot.start), 1e-9, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"lamport_two_shot.floor", Measure::time, FABRICOST_OF(custom.lamport_two_shot.floor), 1e-9, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"lamport_two_shot.hop", Measure::time, FABRICOST_OF(custom.lamport_two_shot.hop), 1e-9, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"lamport_two_shot.share", Measure::number, FABRICOST_OF(custom.lamport_two_shot.share), 0.01, 0.95, Fitted::own, 0.5},
    Parameter{"lamport_two_shot.overlap", Measure::number, FABRICOST_OF(custom.lamport_two_shot.overlap), 1, 12, Fitted::own, 0.4},
    Parameter{"multicast.start", Measure::time, FABRICOST_OF(custom.multicast.start), 1e-9, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"multicast.floor", Measure::time, FABRICOST_OF(custom.multicast.floor), 1e-9, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"multicast.hop", Measure::time, FABRICOST_OF(custom.multicast.hop), 1e-9, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"multicast.share", Measure::number, FABRICOST_OF(custom.multicast.share), 0.01, 0.95, Fitted::own, 0.5},
    Parameter{"multicast.overlap", Measure::number, FABRICOST_OF(custom.multicast.overlap), 1, 12, Fitted::own, 0.4},
    Parameter{"symmetric_two_shot.start", Measure::time, FABRICOST_OF(custom.symmetric_two_shot.start), 1e-9, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"symmetric_two_shot.floor", Measure::time, FABRICOST_OF(custom.symmetric_two_shot.floor), 1e-9, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"symmetric_two_shot.hop", Measure::time, FABRICOST_OF(custom.symmetric_two_shot.hop), 1e-9, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"symmetric_two_shot.share", Measure::number, FABRICOST_OF(custom.symmetric_two_shot.share), 0.01, 0.95, Fitted::own, 0.1},
    Parameter{"symmetric_two_shot.kib", Measure::time, FABRICOST_OF(custom.symmetric_two_shot.kib), 1e-12, 1e-3, Fitted::own, 0.5},
    Parameter{"symmetric_two_shot.overlap", Measure::number, FABRICOST_OF(custom.symmetric_two_shot.overlap), 1, 12, Fitted::own, 0.4},
    Parameter{"host_launch", Measure::time, FABRICOST_OF(custom.host_launch), 1e-7, 1e-2, Fitted::own, 0.5},
    Parameter{"host_extra", Measure::time, FABRICOST_OF(custom.host_extra), 1e-9, 1e-2, Fitted::held, 0.5},
    Parameter{"host_copy", Measure::number, FABRICOST_OF(custom.host_copy), 0.1, 1, Fitted::held, 0.1},
};

/// Kernels of expert exchange of one GPU generation (price/moe.hpp).
inline constexpr std::array moe_parameters{
    Parameter{"normal_dispatch.start", Measure::time, FABRICOST_OF(moe.normal_dispatch.start), 1e-12, 1e-3, Fitted::own, 0.5, 0.5},
    Parameter{"normal_dispatch.start_copy", Measure::time, FABRICOST_OF(moe.normal_dispatch.start_copy), 1e-12, 1e-3, Fitted::own, 0.7,
              0.5},
    Parameter{"normal_dispatch.token", Measure::time, FABRICOST_OF(moe.normal_dispatch.token), 1e-12, 1e-3, Fitted::own, 0.7},
    Parameter{"normal_dispatch.token_kib", Measure::time, FABRICOST_OF(moe.normal_dispatch.token_kib), 1e-12, 1e-3, Fitted::held, 0.7},
    Parameter{"normal_dispatch.copy", Measure::time, FABRICOST_OF(moe.normal_dispatch.copy), 1e-12, 1e-3, Fitted::own, 1},
    Parameter{"normal_dispatch.copy_kib", Measure::time, FABRICOST_OF(moe.normal_dispatch.copy_kib), 1e-12, 1e-3, Fitted::own, 0.5},
    Parameter{"normal_dispatch.fill", Measure::number, FABRICOST_OF(moe.normal_dispatch.fill), 0.01, 1e4, Fitted::shared, 0.7},
    Parameter{"normal_dispatch.fill_tokens", Measure::number, FABRICOST_OF(moe.normal_dispatch.fill_tokens), 0.1, 1e4, Fitted::shared, 0.7},
    Parameter{"normal_dispatch.share", Measure::number, FABRICOST_OF(moe.normal_dispatch.share), 0.05, 0.95, Fitted::shared, 0.15},
    Parameter{"normal_dispatch.overlap", Measure::number, FABRICOST_OF(moe.normal_dispatch.overlap), 1, 12, Fitted::shared, 0.4},
    Parameter{"normal_dispatch.spread", Measure::number, FABRICOST_OF(moe.normal_dispatch.spread), 0.3, 1, Fitted::shared, 0.1},
    Parameter{"normal_combine.start", Measure::time, FABRICOST_OF(moe.normal_combine.start), 1e-12, 1e-3, Fitted::own, 0.5, 0.5},
    Parameter{"normal_combine.start_copy", Measure::time, FABRICOST_OF(moe.normal_combine.start_copy), 1e-12, 1e-3, Fitted::own, 0.7, 0.5},
    Parameter{"normal_combine.token", Measure::time, FABRICOST_OF(moe.normal_combine.token), 1e-12, 1e-3, Fitted::held, 0.7},
    Parameter{"normal_combine.token_kib", Measure::time, FABRICOST_OF(moe.normal_combine.token_kib), 1e-12, 1e-3, Fitted::own, 0.7},
    Parameter{"normal_combine.copy", Measure::time, FABRICOST_OF(moe.normal_combine.copy), 1e-12, 1e-3, Fitted::own, 1},
    Parameter{"normal_combine.copy_kib", Measure::time, FABRICOST_OF(moe.normal_combine.copy_kib), 1e-12, 1e-3, Fitted::own, 0.5},
    Parameter{"normal_combine.fill", Measure::number, FABRICOST_OF(moe.normal_combine.fill), 0.01, 1e4, Fitted::shared, 0.7},
    Parameter{"normal_combine.fill_tokens", Measure::number, FABRICOST_OF(moe.normal_combine.fill_tokens), 0.1, 1e4, Fitted::shared, 0.7},
    Parameter{"normal_combine.share", Measure::number, FABRICOST_OF(moe.normal_combine.share), 0.05, 0.95, Fitted::shared, 0.15},
    Parameter{"normal_combine.overlap", Measure::number, FABRICOST_OF(moe.normal_combine.overlap), 1, 12, Fitted::shared, 0.4},
    Parameter{"normal_combine.spread", Measure::number, FABRICOST_OF(moe.normal_combine.spread), 0.3, 1, Fitted::shared, 0.1},
    Parameter{"low_latency_dispatch.start", Measure::time, FABRICOST_OF(moe.low_latency_dispatch.start), 1e-12, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"low_latency_dispatch.expert", Measure::time, FABRICOST_OF(moe.low_latency_dispatch.expert), 1e-12, 1e-3, Fitted::own, 0.7,
              1},
    Parameter{"low_latency_dispatch.start_copy", Measure::time, FABRICOST_OF(moe.low_latency_dispatch.start_copy), 1e-12, 1e-3, Fitted::own,
              0.7, 1},
    Parameter{"low_latency_dispatch.token", Measure::time, FABRICOST_OF(moe.low_latency_dispatch.token), 1e-12, 1e-3, Fitted::shared, 0.7},
    Parameter{"low_latency_dispatch.token_kib", Measure::time, FABRICOST_OF(moe.low_latency_dispatch.token_kib), 1e-12, 1e-3,
              Fitted::shared, 0.7},
    Parameter{"low_latency_dispatch.share", Measure::number, FABRICOST_OF(moe.low_latency_dispatch.share), 0.05, 0.95, Fitted::own, 0.3},
    Parameter{"low_latency_dispatch.overlap", Measure::number, FABRICOST_OF(moe.low_latency_dispatch.overlap), 1, 12, Fitted::shared, 0.4},
    Parameter{"low_latency_combine.start", Measure::time, FABRICOST_OF(moe.low_latency_combine.start), 1e-12, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"low_latency_combine.expert", Measure::time, FABRICOST_OF(moe.low_latency_combine.expert), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"low_latency_combine.start_copy", Measure::time, FABRICOST_OF(moe.low_latency_combine.start_copy), 1e-12, 1e-3, Fitted::own,
              0.7, 1},
    Parameter{"low_latency_combine.token", Measure::time, FABRICOST_OF(moe.low_latency_combine.token), 1e-12, 1e-3, Fitted::shared, 0.7},
    Parameter{"low_latency_combine.token_kib", Measure::time, FABRICOST_OF(moe.low_latency_combine.token_kib), 1e-12, 1e-3, Fitted::shared,
              0.7},
    Parameter{"low_latency_combine.share", Measure::number, FABRICOST_OF(moe.low_latency_combine.share), 0.05, 0.95, Fitted::own, 0.3},
    Parameter{"low_latency_combine.overlap", Measure::number, FABRICOST_OF(moe.low_latency_combine.overlap), 1, 12, Fitted::shared, 0.4},
    Parameter{"one_sided_dispatch.start", Measure::time, FABRICOST_OF(moe.one_sided_dispatch.start), 1e-12, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"one_sided_dispatch.copy", Measure::time, FABRICOST_OF(moe.one_sided_dispatch.copy), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"one_sided_dispatch.step", Measure::time, FABRICOST_OF(moe.one_sided_dispatch.step), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"one_sided_dispatch.floor", Measure::time, FABRICOST_OF(moe.one_sided_dispatch.floor), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"one_sided_dispatch.token", Measure::time, FABRICOST_OF(moe.one_sided_dispatch.token), 1e-12, 1e-3, Fitted::own, 0.7},
    Parameter{"one_sided_dispatch.share", Measure::number, FABRICOST_OF(moe.one_sided_dispatch.share), 0.05, 0.95, Fitted::own, 0.3},
    Parameter{"one_sided_dispatch.overlap", Measure::number, FABRICOST_OF(moe.one_sided_dispatch.overlap), 1, 12, Fitted::own, 0.4},
    Parameter{"one_sided_combine.start", Measure::time, FABRICOST_OF(moe.one_sided_combine.start), 1e-12, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"one_sided_combine.copy", Measure::time, FABRICOST_OF(moe.one_sided_combine.copy), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"one_sided_combine.step", Measure::time, FABRICOST_OF(moe.one_sided_combine.step), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"one_sided_combine.floor", Measure::time, FABRICOST_OF(moe.one_sided_combine.floor), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"one_sided_combine.token", Measure::time, FABRICOST_OF(moe.one_sided_combine.token), 1e-12, 1e-3, Fitted::own, 0.7},
    Parameter{"one_sided_combine.share", Measure::number, FABRICOST_OF(moe.one_sided_combine.share), 0.05, 0.95, Fitted::own, 0.3},
    Parameter{"one_sided_combine.overlap", Measure::number, FABRICOST_OF(moe.one_sided_combine.overlap), 1, 12, Fitted::own, 0.4},
    Parameter{"prepare.start", Measure::time, FABRICOST_OF(moe.prepare.start), 1e-12, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"prepare.step", Measure::time, FABRICOST_OF(moe.prepare.step), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"prepare.token", Measure::time, FABRICOST_OF(moe.prepare.token), 1e-12, 1e-3, Fitted::own, 0.7},
    Parameter{"two_sided_dispatch.start", Measure::time, FABRICOST_OF(moe.two_sided_dispatch.start), 1e-12, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"two_sided_dispatch.copy", Measure::time, FABRICOST_OF(moe.two_sided_dispatch.copy), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"two_sided_dispatch.step", Measure::time, FABRICOST_OF(moe.two_sided_dispatch.step), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"two_sided_dispatch.floor", Measure::time, FABRICOST_OF(moe.two_sided_dispatch.floor), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"two_sided_dispatch.token", Measure::time, FABRICOST_OF(moe.two_sided_dispatch.token), 1e-12, 1e-3, Fitted::own, 0.7},
    Parameter{"two_sided_dispatch.share", Measure::number, FABRICOST_OF(moe.two_sided_dispatch.share), 0.05, 0.95, Fitted::own, 0.3},
    Parameter{"two_sided_dispatch.overlap", Measure::number, FABRICOST_OF(moe.two_sided_dispatch.overlap), 1, 12, Fitted::own, 0.4},
    Parameter{"two_sided_combine.start", Measure::time, FABRICOST_OF(moe.two_sided_combine.start), 1e-12, 1e-3, Fitted::own, 0.5, 1},
    Parameter{"two_sided_combine.copy", Measure::time, FABRICOST_OF(moe.two_sided_combine.copy), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"two_sided_combine.step", Measure::time, FABRICOST_OF(moe.two_sided_combine.step), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"two_sided_combine.floor", Measure::time, FABRICOST_OF(moe.two_sided_combine.floor), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"two_sided_combine.token", Measure::time, FABRICOST_OF(moe.two_sided_combine.token), 1e-12, 1e-3, Fitted::own, 0.7},
    Parameter{"two_sided_combine.share", Measure::number, FABRICOST_OF(moe.two_sided_combine.share), 0.05, 0.95, Fitted::own, 0.3},
    Parameter{"two_sided_combine.overlap", Measure::number, FABRICOST_OF(moe.two_sided_combine.overlap), 1, 12, Fitted::own, 0.4},
    Parameter{"two_sided_combine_fp4.start", Measure::time, FABRICOST_OF(moe.two_sided_combine_fp4.start), 1e-12, 1e-3, Fitted::own, 0.5,
              1},
    Parameter{"two_sided_combine_fp4.copy", Measure::time, FABRICOST_OF(moe.two_sided_combine_fp4.copy), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"two_sided_combine_fp4.step", Measure::time, FABRICOST_OF(moe.two_sided_combine_fp4.step), 1e-12, 1e-3, Fitted::own, 0.7, 1},
    Parameter{"two_sided_combine_fp4.floor", Measure::time, FABRICOST_OF(moe.two_sided_combine_fp4.floor), 1e-12, 1e-3, Fitted::own, 0.7,
              1},
    Parameter{"two_sided_combine_fp4.token", Measure::time, FABRICOST_OF(moe.two_sided_combine_fp4.token), 1e-12, 1e-3, Fitted::own, 0.7},
    Parameter{"two_sided_combine_fp4.share", Measure::number, FABRICOST_OF(moe.two_sided_combine_fp4.share), 0.05, 0.95, Fitted::own, 0.3},
    Parameter{"two_sided_combine_fp4.overlap", Measure::number, FABRICOST_OF(moe.two_sided_combine_fp4.overlap), 1, 12, Fitted::own, 0.4},
};

#undef FABRICOST_OF

[[nodiscard]] inline std::span<const Parameter> parameters_of(ConstantSet set) {
  switch (set) {
    case ConstantSet::scale_up: return scale_up_parameters;
    case ConstantSet::pcie: return pcie_parameters;
    case ConstantSet::transport: return transport_parameters;
    case ConstantSet::compute: return compute_parameters;
    case ConstantSet::custom: return custom_parameters;
    case ConstantSet::moe: return moe_parameters;
  }
  return {};
}

/// An interval's width by the name it has in a calibration file.
struct NamedWidth {
  std::string_view key;
  double IntervalWidths::*of;
  ConstantSet set;  ///< whose residuals it comes from
};
inline constexpr std::array interval_widths{
    NamedWidth{"ring_ll", &IntervalWidths::ring_ll, ConstantSet::scale_up},
    NamedWidth{"ring_ll128", &IntervalWidths::ring_ll128, ConstantSet::scale_up},
    NamedWidth{"ring_simple", &IntervalWidths::ring_simple, ConstantSet::scale_up},
    NamedWidth{"nvls", &IntervalWidths::nvls, ConstantSet::scale_up},
    NamedWidth{"exchange_ll", &IntervalWidths::exchange_ll, ConstantSet::scale_up},
    NamedWidth{"exchange_simple", &IntervalWidths::exchange_simple, ConstantSet::scale_up},
    NamedWidth{"pcie_ll", &IntervalWidths::pcie_ll, ConstantSet::pcie},
    NamedWidth{"pcie_simple", &IntervalWidths::pcie_simple, ConstantSet::pcie},
    NamedWidth{"pcie_exchange_ll", &IntervalWidths::pcie_exchange_ll, ConstantSet::pcie},
    NamedWidth{"pcie_exchange_simple", &IntervalWidths::pcie_exchange_simple, ConstantSet::pcie},
    NamedWidth{"internode_ring_ll", &IntervalWidths::internode_ring_ll, ConstantSet::transport},
    NamedWidth{"internode_ring_ll128", &IntervalWidths::internode_ring_ll128, ConstantSet::transport},
    NamedWidth{"internode_ring_simple", &IntervalWidths::internode_ring_simple, ConstantSet::transport},
    NamedWidth{"tree_ll", &IntervalWidths::tree_ll, ConstantSet::transport},
    NamedWidth{"tree_ll128", &IntervalWidths::tree_ll128, ConstantSet::transport},
    NamedWidth{"tree_simple", &IntervalWidths::tree_simple, ConstantSet::transport},
    NamedWidth{"nvls_tree", &IntervalWidths::nvls_tree, ConstantSet::transport},
    NamedWidth{"internode_exchange", &IntervalWidths::internode_exchange, ConstantSet::transport},
    NamedWidth{"custom_one_shot", &IntervalWidths::custom_one_shot, ConstantSet::custom},
    NamedWidth{"custom_two_shot", &IntervalWidths::custom_two_shot, ConstantSet::custom},
    NamedWidth{"host_launch", &IntervalWidths::host_launch, ConstantSet::custom},
    NamedWidth{"deepep_normal", &IntervalWidths::deepep_normal, ConstantSet::moe},
    NamedWidth{"deepep_low_latency", &IntervalWidths::deepep_low_latency, ConstantSet::moe},
    NamedWidth{"trtllm_one_sided", &IntervalWidths::trtllm_one_sided, ConstantSet::moe},
    NamedWidth{"trtllm_two_sided", &IntervalWidths::trtllm_two_sided, ConstantSet::moe},
};

}  // namespace fabricost
