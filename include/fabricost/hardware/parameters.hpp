#pragma once
/// \file parameters.hpp
/// Every constant of a System, one row each (parameter.hpp says what of it). Whoever reads, writes, checks or fits constants walks these
/// tables; a new constant is a member of its struct and a row here.
///
/// Facts behind spreads and exponents: leave-one-generation-out of NCCL on A100, H100, B200; leave-one-cluster-out of 16 public clusters.

#include <fabricost/hardware/parameter.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace fabricost {

namespace detail {
inline constexpr double shortest = 1e-9, longest = 1e-2;  // seconds
}  // namespace detail

// the builtin: offsetof is a macro of a system header, and each use of it would leave lines of the preprocessor's own
#define FABRICOST_AT(set, member) ConstantSet::set, #member, __builtin_offsetof(decltype(Constants::set), member)
#define FABRICOST_AT_PLACE(set, member, i) \
  ConstantSet::set, #member "[" #i "]", __builtin_offsetof(decltype(Constants::set), member) + i * sizeof(double)  // NOLINT: i is a literal

inline constexpr auto scale_up_parameters = [] {
  using enum ConstantKind;
  using enum Fitted;
  using detail::shortest, detail::longest;
  return std::to_array<Parameter>({
      {"launch", FABRICOST_AT(scale_up, launch), seconds, shortest, longest, own, 0.05, 1},
      {"tree_hop", FABRICOST_AT(scale_up, tree_hop), seconds, shortest, longest, held},
      {"int8_volume", FABRICOST_AT(scale_up, int8_volume), number, 0, 1, shared, 0.1},
      {"ll.hop", FABRICOST_AT(scale_up, ll.hop), seconds, shortest, longest, own, 0.2, 0.7},
      {"ll.channel_share", FABRICOST_AT(scale_up, ll.channel_share), share, 0.001, 1, own, 0.15},
      {"ll.channels_cost", FABRICOST_AT(scale_up, ll.channels_cost), seconds, shortest, longest, own, 0.4, 1.5},
      {"ll.full_threads", FABRICOST_AT(scale_up, ll.full_threads), seconds, shortest, longest, shared, 0.1},
      {"ll.forward", FABRICOST_AT(scale_up, ll.forward), seconds, shortest, longest, own, 0.5, 0.5},
      {"ll.reduce", FABRICOST_AT(scale_up, ll.reduce), seconds, shortest, longest, held},
      {"ll.reduce_int8", FABRICOST_AT(scale_up, ll.reduce_int8), seconds, shortest, longest, held},
      {"ll.chunk_share", FABRICOST_AT(scale_up, ll.chunk_share), part, 0, 1, shared, 0.1},
      {"ll128.floor", FABRICOST_AT(scale_up, ll128.floor), seconds, shortest, longest, shared, 0.1},
      {"ll128.rate_share", FABRICOST_AT(scale_up, ll128.rate_share), share, 0.01, 1, held},
      {"ll128.drain", FABRICOST_AT(scale_up, ll128.drain), number, 0, 10, held},
      {"ll128.overlap", FABRICOST_AT(scale_up, ll128.overlap), order, 1, 12, held},
      {"simple.floor", FABRICOST_AT(scale_up, simple.floor), seconds, shortest, longest, own, 0.3, 0.5},
      {"simple.hop", FABRICOST_AT(scale_up, simple.hop), seconds, shortest, longest, own, 0.4, 0.7},
      {"simple.overlap", FABRICOST_AT(scale_up, simple.overlap), order, 1, 12, own, 0.3},
      {"simple.rate", FABRICOST_AT(scale_up, simple.rate_share), link_share, 0.001, 1.1, own, 0.1, 0, 1},
      {"simple.drain", FABRICOST_AT(scale_up, simple.drain), number, 0, 10, own, 0.35},
      {"simple.cold_copy", FABRICOST_AT(scale_up, simple.cold_copy), number, 0, 10, shared, 0.1},
      {"simple.reduce_scatter_rate", FABRICOST_AT(scale_up, simple.reduce_scatter_rate), share, 0.1, 2, own, 0.05},
      {"simple.all_reduce_rate", FABRICOST_AT(scale_up, simple.all_reduce_rate), share, 0.1, 2, shared, 0.03},
      {"simple.reduce_latency", FABRICOST_AT(scale_up, simple.reduce_latency), number, 0, 1, shared, 0.03},
      {"nvls.floor", FABRICOST_AT(scale_up, nvls.floor), seconds, shortest, longest, own, 0.25, 0.5},
      {"nvls.growth", FABRICOST_AT(scale_up, nvls.growth), number, 0, 100, shared, 0.1},
      {"nvls.growth_size", FABRICOST_AT(scale_up, nvls.growth_size), bytes, 1024, 1e12, shared, 0.1},
      {"nvls.rate", FABRICOST_AT(scale_up, nvls.rate_share), link_share, 0.001, 1.6, own, 0.1, 0, 1},
      {"all_to_all.base", FABRICOST_AT(scale_up, all_to_all.base), seconds, shortest, longest, own, 0.05, 1},
      {"all_to_all.hop", FABRICOST_AT(scale_up, all_to_all.hop), seconds, shortest, longest, shared, 0.1},
      {"all_to_all.ll_ramp", FABRICOST_AT(scale_up, all_to_all.ll_ramp), seconds, shortest, longest, shared, 0.1},
      {"all_to_all.floor", FABRICOST_AT(scale_up, all_to_all.floor), seconds, shortest, longest, shared, 0.1},
      {"all_to_all.ramp", FABRICOST_AT(scale_up, all_to_all.ramp), seconds, shortest, longest, own, 0.5},
      {"all_to_all.rate", FABRICOST_AT(scale_up, all_to_all.rate_share), link_share, 0.001, 1.1, own, 0.1, 0, 1},
      {"all_to_all.self_copy", FABRICOST_AT(scale_up, all_to_all.self_copy), number, 0, 10, own, 0.5},
      {"all_to_all.cold_copy", FABRICOST_AT(scale_up, all_to_all.cold_copy), number, 0, 10, shared, 0.1},
      {"all_to_all.overlap", FABRICOST_AT(scale_up, all_to_all.overlap), order, 1, 12, own, 0.3},
      {"ll.chunk", FABRICOST_AT(scale_up, ll.chunk), bytes, 512, 1e9, form},
      {"form.ring_cold_size", FABRICOST_AT(scale_up, form.ring_cold_size), bytes, 1024, 1e12, form},
      {"form.exchange_ramp_size", FABRICOST_AT(scale_up, form.exchange_ramp_size), bytes, 1024, 1e12, form},
      {"form.exchange_cold_size", FABRICOST_AT(scale_up, form.exchange_cold_size), bytes, 1024, 1e12, form},
      {"form.tree_chain", FABRICOST_AT(scale_up, form.tree_chain), share, 1, 20, form},
      {"form.tree_chain_power", FABRICOST_AT(scale_up, form.tree_chain_power), number, 0, 3, form},
      {"form.tree_ll_share", FABRICOST_AT(scale_up, form.tree_ll_share), share, 0.001, 1, form},
      {"form.rack_floor", FABRICOST_AT(scale_up, form.rack_floor), share, 1, 20, form},
      {"form.rack_floor_power", FABRICOST_AT(scale_up, form.rack_floor_power), number, 0, 3, form},
      {"form.rack_growth_size", FABRICOST_AT(scale_up, form.rack_growth_size), bytes, 1024, 1e12, form},
      {"form.rack_rate", FABRICOST_AT(scale_up, form.rack_rate), share, 0.1, 3, form},
      {"form.rack_measured_from", FABRICOST_AT(scale_up, form.rack_measured_from), bytes, 1, 1e12, form},
      {"form.planned_share", FABRICOST_AT(scale_up, form.planned_share), share, 0.1, 1, form},
  });
}();

inline constexpr auto pcie_parameters = [] {
  using enum ConstantKind;
  using enum Fitted;
  using detail::shortest, detail::longest;
  return std::to_array<Parameter>({
      {"ll_rate.pair", FABRICOST_AT_PLACE(pcie, ll_share, 0), link_share, 1e-4, 1.1, own, 0.25, 0, 1},
      {"ll_rate.socket", FABRICOST_AT_PLACE(pcie, ll_share, 1), link_share, 1e-4, 1.1, own, 0.5, 0, 1},
      {"ll_rate.two_sockets", FABRICOST_AT_PLACE(pcie, ll_share, 2), link_share, 1e-4, 1.1, own, 0.5, 0, 1},
      {"simple_rate.pair", FABRICOST_AT_PLACE(pcie, simple_share, 0), link_share, 1e-4, 1.1, own, 0.15, 0, 1},
      {"simple_rate.socket", FABRICOST_AT_PLACE(pcie, simple_share, 1), link_share, 1e-4, 1.1, own, 0.5, 0, 1},
      {"simple_rate.two_sockets", FABRICOST_AT_PLACE(pcie, simple_share, 2), link_share, 1e-4, 1.1, own, 0.5, 0, 1},
      {"launch", FABRICOST_AT(pcie, launch), seconds, shortest, longest, own, 0.15, 1},
      {"ll_hop", FABRICOST_AT(pcie, ll_hop), seconds, shortest, longest, own, 0.15, 1},
      {"ll_overlap", FABRICOST_AT(pcie, ll_overlap), order, 1, 12},
      {"drain", FABRICOST_AT(pcie, drain), number, 0, 10},
      {"ll_all_reduce_rate", FABRICOST_AT(pcie, ll_all_reduce_rate), share, 0.1, 3, own, 0.1},
      {"simple_floor", FABRICOST_AT(pcie, simple_floor), seconds, shortest, longest, own, 0.25, 0.5},
      {"simple_hop", FABRICOST_AT(pcie, simple_hop), seconds, shortest, longest, own, 0.25, 0.5},
      {"simple_overlap", FABRICOST_AT(pcie, simple_overlap), order, 1, 12},
      {"warm_rate", FABRICOST_AT(pcie, warm_rate), share, 1, 3, own, 0.1},
      {"warm_bytes", FABRICOST_AT(pcie, warm_bytes), bytes, 1024, 1e9, held},
      {"reduce_scatter_rate", FABRICOST_AT(pcie, reduce_scatter_rate), share, 0.1, 3, own, 0.05},
      {"reduce_scatter_rate_two_sockets", FABRICOST_AT(pcie, reduce_scatter_rate_two_sockets), share, 0.1, 3, own, 0.1},
      {"exchange_pair_rate", FABRICOST_AT(pcie, exchange_pair_rate), share, 0.1, 3, own, 0.1},
      {"exchange_base", FABRICOST_AT(pcie, exchange_base), seconds, shortest, longest, own, 0.15, 1},
      {"exchange_hop", FABRICOST_AT(pcie, exchange_hop), seconds, shortest, longest},
      {"exchange_ll_share", FABRICOST_AT(pcie, exchange_ll_share), share, 0.01, 3},
      {"exchange_floor", FABRICOST_AT(pcie, exchange_floor), seconds, shortest, longest, own, 0.25, 0.5},
      {"form.two_sockets_share", FABRICOST_AT(pcie, form.two_sockets_share), share, 0.01, 1, form},
      {"form.planned_share", FABRICOST_AT(pcie, form.planned_share), share, 0.1, 1, form},
      {"form.host_copies_from", FABRICOST_AT(pcie, form.host_copies_from), bytes, 1, 1e12, form},
      {"form.host_copies_to", FABRICOST_AT(pcie, form.host_copies_to), bytes, 1, 1e15, form},
  });
}();

/// `tree_step` leads: those below it that are not given follow it (TransportConstants::from_tree_step).
inline constexpr auto transport_parameters = [] {
  using enum ConstantKind;
  using enum Fitted;
  return std::to_array<Parameter>({
      {"tree_step", FABRICOST_AT(transport, tree_step), seconds, 1e-7, 0.1, own, 0.4, 1},
      {"tree_growth", FABRICOST_AT(transport, tree_growth), seconds, 1e-8, 0.1, own, 0.5, 0},
      {"ring_ll_step", FABRICOST_AT(transport, ring_ll_step), seconds, 1e-7, 0.1, own, 0.4, 0},
      {"ll128_step", FABRICOST_AT(transport, ll128_step), seconds, 1e-7, 0.1, own, 0.5, 0},
      {"ring_simple_step", FABRICOST_AT(transport, ring_simple_step), seconds, 1e-7, 0.1, own, 0.7, 0},
      {"ring_overlap", FABRICOST_AT(transport, ring_overlap), order, 1, 12, own, 0.5, 0},
      {"nvls_step", FABRICOST_AT(transport, nvls_step), seconds, 1e-7, 0.1, own, 0.6, 0},
      {"tree_simple_step", FABRICOST_AT(transport, tree_simple_step), seconds, 1e-7, 0.1, held},
      {"efficiency", FABRICOST_AT(transport, efficiency), share, 0.01, 1, own, 0.08, 0, 1},
      {"host_bridge", FABRICOST_AT(transport, host_bridge), share, 0.01, 1, own, 0.2},
      {"ll_share", FABRICOST_AT(transport, ll_share), share, 0.001, 1, own, 0.7},
      {"exchange_share", FABRICOST_AT(transport, exchange_share), share, 0.01, 1, own, 0.3},
      {"exchange_tiny", FABRICOST_AT(transport, exchange_tiny), number, 1, 20, own, 0.7},
      {"exchange_base", FABRICOST_AT(transport, exchange_base), seconds, 1e-7, 0.1, held},
      {"exchange_peer", FABRICOST_AT(transport, exchange_peer), seconds, 1e-7, 0.1, held},
      {"exchange_peer_simple", FABRICOST_AT(transport, exchange_peer_simple), seconds, 1e-7, 0.1, held},
      {"no_gdr_rate", FABRICOST_AT(transport, no_gdr_rate), share, 0.01, 1, held},
      {"no_gdr_step", FABRICOST_AT(transport, no_gdr_step), number, 1, 100, held},
      {"nvls_floor", FABRICOST_AT(transport, nvls_floor), seconds, 1e-7, 0.1, held},
      {"form.host_bridge_one_way", FABRICOST_AT(transport, form.host_bridge_one_way), share, 0.01, 1, form},
      {"form.ll_growth_size", FABRICOST_AT(transport, form.ll_growth_size), bytes, 1, 1e9, form},
      {"form.ring_ll_growth", FABRICOST_AT(transport, form.ring_ll_growth), number, 0, 10, form},
      {"form.ring_simple_start", FABRICOST_AT(transport, form.ring_simple_start), part, 0, 1, form},
      {"form.ring_simple_growth_size", FABRICOST_AT(transport, form.ring_simple_growth_size), bytes, 1, 1e9, form},
      {"form.ll128_inner_hops", FABRICOST_AT(transport, form.ll128_inner_hops), number, 0, 100, form},
      {"form.ll128_overlap", FABRICOST_AT(transport, form.ll128_overlap), order, 1, 12, form},
      {"form.tree_efficiency", FABRICOST_AT(transport, form.tree_efficiency), share, 0.01, 1, form},
      {"form.tree_crowded", FABRICOST_AT(transport, form.tree_crowded), share, 0.01, 1, form},
      {"form.tree_rate_overlap", FABRICOST_AT(transport, form.tree_rate_overlap), order, 1, 12, form},
      {"form.tree_ll128_start", FABRICOST_AT(transport, form.tree_ll128_start), number, 0, 10, form},
      {"form.tree_ll128_growth_size", FABRICOST_AT(transport, form.tree_ll128_growth_size), bytes, 1, 1e9, form},
      {"form.tree_ll128_share", FABRICOST_AT(transport, form.tree_ll128_share), share, 0.01, 1, form},
      {"form.tree_simple_inner", FABRICOST_AT(transport, form.tree_simple_inner), number, 0, 10, form},
      {"form.tree_simple_start", FABRICOST_AT(transport, form.tree_simple_start), number, 0, 10, form},
      {"form.tree_simple_growth_size", FABRICOST_AT(transport, form.tree_simple_growth_size), bytes, 1, 1e9, form},
      {"form.nvls_start", FABRICOST_AT(transport, form.nvls_start), part, 0, 1, form},
      {"form.nvls_growth_size", FABRICOST_AT(transport, form.nvls_growth_size), bytes, 1, 1e9, form},
      {"form.exchange_tiny_size", FABRICOST_AT(transport, form.exchange_tiny_size), bytes, 1, 1e9, form},
      {"form.send_recv_start", FABRICOST_AT(transport, form.send_recv_start), number, 0, 10, form},
      {"form.send_recv_efficiency", FABRICOST_AT(transport, form.send_recv_efficiency), share, 0.01, 1, form},
      {"form.send_recv_crowded", FABRICOST_AT(transport, form.send_recv_crowded), share, 0.01, 1, form},
      {"form.unfitted_step", FABRICOST_AT(transport, form.unfitted_step), number, 0, 10, form},
  });
}();

/// Of one GPU generation, in the kernels of a transformer (kernels/compute.hpp). A few training runs say nothing of the held ones.
inline constexpr auto compute_parameters = [] {
  using enum ConstantKind;
  using enum Fitted;
  return std::to_array<Parameter>({
      {"gemm", FABRICOST_AT(compute, gemm), share, 0.05, 1, own, 0.2},
      {"gemm_fp8", FABRICOST_AT(compute, gemm_fp8), share, 0.1, 1, held, 0.1},
      {"gemm_fp4", FABRICOST_AT(compute, gemm_fp4), share, 0.1, 1, held, 0.2},
      {"gemm_start", FABRICOST_AT(compute, gemm_start), seconds, 1e-8, 1e-2, own, 0.3},
      {"gemm_overlap", FABRICOST_AT(compute, gemm_overlap), order, 1, 12, held, 0.2},
      {"misaligned", FABRICOST_AT(compute, misaligned), number, 0, 5, shared, 0.7},
      {"attention", FABRICOST_AT(compute, attention), share, 0.01, 1, own, 0.4},
      {"attention_old", FABRICOST_AT(compute, attention_old), share, 0.05, 1, shared, 0.4},
      {"attention_backward", FABRICOST_AT(compute, attention_backward), number, 1, 10, held, 0.1},
      {"scores", FABRICOST_AT(compute, scores), share, 0.05, 1, held, 0.2},
      {"score_bytes", FABRICOST_AT(compute, score_bytes), number, 1, 100, held, 0.2},
      {"memory", FABRICOST_AT(compute, memory), share, 0.1, 1, own, 0.05},
      {"elementwise", FABRICOST_AT(compute, elementwise), number, 0.2, 10, own, 0.4},
      {"elementwise_old", FABRICOST_AT(compute, elementwise_old), number, 0.1, 10, shared, 0.4},
      {"row_traffic", FABRICOST_AT(compute, row_traffic), number, 0.5, 10, shared, 0.2},
      {"layer_floor", FABRICOST_AT(compute, layer_floor), seconds, 1e-6, 0.1, own, 0.5},
      {"floor_tensor", FABRICOST_AT(compute, floor_tensor), number, 0, 1, held, 0.3},
      {"floor_old", FABRICOST_AT(compute, floor_old), number, 0.5, 5, shared, 0.2},
      {"floor_mixture", FABRICOST_AT(compute, floor_mixture), number, 1, 20, held, 0.3},
      {"floor_expert", FABRICOST_AT(compute, floor_expert), number, 0, 1, held, 0.3},
      {"floor_overlap", FABRICOST_AT(compute, floor_overlap), order, 1, 12, held, 0.2},
      {"logit_bytes", FABRICOST_AT(compute, logit_bytes), number, 2, 200, held, 0.3},
      {"logit_bytes_eager", FABRICOST_AT(compute, logit_bytes_eager), number, 2, 400, shared, 0.5},
      {"optimizer_bytes", FABRICOST_AT(compute, optimizer_bytes), number, 8, 200, held, 0.2},
      {"form.tile", FABRICOST_AT(compute, form.tile), divisor, 1, 1e6, form},
      {"form.start_products", FABRICOST_AT(compute, form.start_products), number, 1, 1000, form},
      {"form.row_step", FABRICOST_AT(compute, form.row_step), divisor, 1, 1e6, form},
      {"form.row_overlap", FABRICOST_AT(compute, form.row_overlap), order, 1, 12, form},
      {"form.hidden_traffic", FABRICOST_AT(compute, form.hidden_traffic), number, 0, 1000, form},
      {"form.routed_traffic", FABRICOST_AT(compute, form.routed_traffic), number, 0, 1000, form},
  });
}();

/// All-reduce kernels of inference engines on one GPU generation (price/custom_reduce.hpp).
inline constexpr auto custom_parameters = [] {
  using enum ConstantKind;
  using enum Fitted;
  return std::to_array<Parameter>({
      {"pull_one_shot.start", FABRICOST_AT(custom, pull_one_shot.start), seconds, 1e-9, 1e-3, own, 0.5, 1},
      {"pull_one_shot.hop", FABRICOST_AT(custom, pull_one_shot.hop), seconds, 1e-9, 1e-3, own, 0.5, 1},
      {"pull_one_shot.growth", FABRICOST_AT(custom, pull_one_shot.growth), seconds, 1e-9, 1e-3, own, 0.7, 1},
      {"pull_one_shot.share", FABRICOST_AT(custom, pull_one_shot.share), share, 0.01, 0.95, own, 0.1},
      {"pull_one_shot.kib", FABRICOST_AT(custom, pull_one_shot.kib), seconds, 1e-12, 1e-3, own, 0.5, 1},
      {"push_one_shot.start", FABRICOST_AT(custom, push_one_shot.start), seconds, 1e-9, 1e-3, own, 0.5, 1},
      {"push_one_shot.hop", FABRICOST_AT(custom, push_one_shot.hop), seconds, 1e-9, 1e-3, own, 0.5, 1},
      {"push_one_shot.growth", FABRICOST_AT(custom, push_one_shot.growth), seconds, 1e-9, 1e-3, own, 0.7, 1},
      {"push_one_shot.share", FABRICOST_AT(custom, push_one_shot.share), share, 0.01, 0.95, own, 0.7},
      {"lamport_one_shot.start", FABRICOST_AT(custom, lamport_one_shot.start), seconds, 1e-9, 1e-3, own, 0.5, 1},
      {"lamport_one_shot.hop", FABRICOST_AT(custom, lamport_one_shot.hop), seconds, 1e-9, 1e-3, own, 0.5, 1},
      {"lamport_one_shot.growth", FABRICOST_AT(custom, lamport_one_shot.growth), seconds, 1e-9, 1e-3, own, 0.7, 1},
      {"lamport_one_shot.share", FABRICOST_AT(custom, lamport_one_shot.share), share, 0.01, 0.95, own, 0.7},
      {"pull_two_shot.start", FABRICOST_AT(custom, pull_two_shot.start), seconds, 1e-9, 1e-3, own, 0.5, 1},
      {"pull_two_shot.floor", FABRICOST_AT(custom, pull_two_shot.floor), seconds, 1e-9, 1e-3, own, 0.7, 1},
      {"pull_two_shot.hop", FABRICOST_AT(custom, pull_two_shot.hop), seconds, 1e-9, 1e-3, own, 0.7, 1},
      {"pull_two_shot.share", FABRICOST_AT(custom, pull_two_shot.share), share, 0.01, 0.95, own, 0.1},
      {"pull_two_shot.kib", FABRICOST_AT(custom, pull_two_shot.kib), seconds, 1e-12, 1e-3, own, 0.5, 1},
      {"pull_two_shot.overlap", FABRICOST_AT(custom, pull_two_shot.overlap), order, 1, 12, own, 0.4},
      {"push_two_shot.start", FABRICOST_AT(custom, push_two_shot.start), seconds, 1e-9, 1e-3, own, 0.5, 1},
      {"push_two_shot.floor", FABRICOST_AT(custom, push_two_shot.floor), seconds, 1e-9, 1e-3, own, 0.7, 1},
      {"push_two_shot.hop", FABRICOST_AT(custom, push_two_shot.hop), seconds, 1e-9, 1e-3, own, 0.7, 1},
      {"push_two_shot.share", FABRICOST_AT(custom, push_two_shot.share), share, 0.01, 0.95, own, 0.5},
      {"push_two_shot.overlap", FABRICOST_AT(custom, push_two_shot.overlap), order, 1, 12, own, 0.4},
      {"lamport_two_shot.start", FABRICOST_AT(custom, lamport_two_shot.start), seconds, 1e-9, 1e-3, own, 0.5, 1},
      {"lamport_two_shot.floor", FABRICOST_AT(custom, lamport_two_shot.floor), seconds, 1e-9, 1e-3, own, 0.7, 1},
      {"lamport_two_shot.hop", FABRICOST_AT(custom, lamport_two_shot.hop), seconds, 1e-9, 1e-3, own, 0.7, 1},
      {"lamport_two_shot.share", FABRICOST_AT(custom, lamport_two_shot.share), share, 0.01, 0.95, own, 0.5},
      {"lamport_two_shot.overlap", FABRICOST_AT(custom, lamport_two_shot.overlap), order, 1, 12, own, 0.4},
      {"multicast.start", FABRICOST_AT(custom, multicast.start), seconds, 1e-9, 1e-3, own, 0.5, 1},
      {"multicast.floor", FABRICOST_AT(custom, multicast.floor), seconds, 1e-9, 1e-3, own, 0.7, 1},
      {"multicast.hop", FABRICOST_AT(custom, multicast.hop), seconds, 1e-9, 1e-3, own, 0.7, 1},
      {"multicast.share", FABRICOST_AT(custom, multicast.share), share, 0.01, 0.95, own, 0.5},
      {"multicast.overlap", FABRICOST_AT(custom, multicast.overlap), order, 1, 12, own, 0.4},
      {"symmetric_two_shot.start", FABRICOST_AT(custom, symmetric_two_shot.start), seconds, 1e-9, 1e-3, own, 0.5, 1},
      {"symmetric_two_shot.floor", FABRICOST_AT(custom, symmetric_two_shot.floor), seconds, 1e-9, 1e-3, own, 0.7, 1},
      {"symmetric_two_shot.hop", FABRICOST_AT(custom, symmetric_two_shot.hop), seconds, 1e-9, 1e-3, own, 0.7, 1},
      {"symmetric_two_shot.share", FABRICOST_AT(custom, symmetric_two_shot.share), share, 0.01, 0.95, own, 0.1},
      {"symmetric_two_shot.kib", FABRICOST_AT(custom, symmetric_two_shot.kib), seconds, 1e-12, 1e-3, own, 0.5},
      {"symmetric_two_shot.overlap", FABRICOST_AT(custom, symmetric_two_shot.overlap), order, 1, 12, own, 0.4},
      {"host_launch", FABRICOST_AT(custom, host_launch), seconds, 1e-7, 1e-2, own, 0.5},
      {"host_extra", FABRICOST_AT(custom, host_extra), seconds, 1e-9, 1e-2, held, 0.5},
      {"host_copy", FABRICOST_AT(custom, host_copy), share, 0.1, 1, held, 0.1},
      {"push_one_shot.kib", FABRICOST_AT(custom, push_one_shot.kib), seconds, 0, 1e-3, form},
      {"lamport_one_shot.kib", FABRICOST_AT(custom, lamport_one_shot.kib), seconds, 0, 1e-3, form},
      {"push_two_shot.kib", FABRICOST_AT(custom, push_two_shot.kib), seconds, 0, 1e-3, form},
      {"lamport_two_shot.kib", FABRICOST_AT(custom, lamport_two_shot.kib), seconds, 0, 1e-3, form},
      {"multicast.kib", FABRICOST_AT(custom, multicast.kib), seconds, 0, 1e-3, form},
      {"form.rate_overlap", FABRICOST_AT(custom, form.rate_overlap), order, 1, 100, form},
      {"form.growth_size", FABRICOST_AT(custom, form.growth_size), bytes, 1, 1e12, form},
      {"form.host_overlap", FABRICOST_AT(custom, form.host_overlap), order, 1, 100, form},
      {"form.measured_from", FABRICOST_AT(custom, form.measured_from), bytes, 1, 1e12, form},
  });
}();

/// Kernels of expert exchange of one GPU generation (price/moe.hpp).
inline constexpr auto moe_parameters = [] {
  using enum ConstantKind;
  using enum Fitted;
  return std::to_array<Parameter>({
      {"normal_dispatch.start", FABRICOST_AT(moe, normal_dispatch.start), seconds, 1e-12, 1e-3, own, 0.5, 0.5},
      {"normal_dispatch.start_copy", FABRICOST_AT(moe, normal_dispatch.start_copy), seconds, 1e-12, 1e-3, own, 0.7, 0.5},
      {"normal_dispatch.token", FABRICOST_AT(moe, normal_dispatch.token), seconds, 1e-12, 1e-3, own, 0.7},
      {"normal_dispatch.token_kib", FABRICOST_AT(moe, normal_dispatch.token_kib), seconds, 1e-12, 1e-3, held, 0.7},
      {"normal_dispatch.copy", FABRICOST_AT(moe, normal_dispatch.copy), seconds, 1e-12, 1e-3, own, 1},
      {"normal_dispatch.copy_kib", FABRICOST_AT(moe, normal_dispatch.copy_kib), seconds, 1e-12, 1e-3, own, 0.5},
      {"normal_dispatch.fill", FABRICOST_AT(moe, normal_dispatch.fill), number, 0.01, 1e4, shared, 0.7},
      {"normal_dispatch.fill_tokens", FABRICOST_AT(moe, normal_dispatch.fill_tokens), divisor, 0.1, 1e4, shared, 0.7},
      {"normal_dispatch.share", FABRICOST_AT(moe, normal_dispatch.share), share, 0.05, 0.95, shared, 0.15},
      {"normal_dispatch.overlap", FABRICOST_AT(moe, normal_dispatch.overlap), order, 1, 12, shared, 0.4},
      {"normal_dispatch.spread", FABRICOST_AT(moe, normal_dispatch.spread), part, 0.3, 1, shared, 0.1},
      {"normal_combine.start", FABRICOST_AT(moe, normal_combine.start), seconds, 1e-12, 1e-3, own, 0.5, 0.5},
      {"normal_combine.start_copy", FABRICOST_AT(moe, normal_combine.start_copy), seconds, 1e-12, 1e-3, own, 0.7, 0.5},
      {"normal_combine.token", FABRICOST_AT(moe, normal_combine.token), seconds, 1e-12, 1e-3, held, 0.7},
      {"normal_combine.token_kib", FABRICOST_AT(moe, normal_combine.token_kib), seconds, 1e-12, 1e-3, own, 0.7},
      {"normal_combine.copy", FABRICOST_AT(moe, normal_combine.copy), seconds, 1e-12, 1e-3, own, 1},
      {"normal_combine.copy_kib", FABRICOST_AT(moe, normal_combine.copy_kib), seconds, 1e-12, 1e-3, own, 0.5},
      {"normal_combine.fill", FABRICOST_AT(moe, normal_combine.fill), number, 0.01, 1e4, shared, 0.7},
      {"normal_combine.fill_tokens", FABRICOST_AT(moe, normal_combine.fill_tokens), divisor, 0.1, 1e4, shared, 0.7},
      {"normal_combine.share", FABRICOST_AT(moe, normal_combine.share), share, 0.05, 0.95, shared, 0.15},
      {"normal_combine.overlap", FABRICOST_AT(moe, normal_combine.overlap), order, 1, 12, shared, 0.4},
      {"normal_combine.spread", FABRICOST_AT(moe, normal_combine.spread), part, 0.3, 1, shared, 0.1},
      {"low_latency_dispatch.start", FABRICOST_AT(moe, low_latency_dispatch.start), seconds, 1e-12, 1e-3, own, 0.5, 1},
      {"low_latency_dispatch.expert", FABRICOST_AT(moe, low_latency_dispatch.expert), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"low_latency_dispatch.start_copy", FABRICOST_AT(moe, low_latency_dispatch.start_copy), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"low_latency_dispatch.token", FABRICOST_AT(moe, low_latency_dispatch.token), seconds, 1e-12, 1e-3, shared, 0.7},
      {"low_latency_dispatch.token_kib", FABRICOST_AT(moe, low_latency_dispatch.token_kib), seconds, 1e-12, 1e-3, shared, 0.7},
      {"low_latency_dispatch.share", FABRICOST_AT(moe, low_latency_dispatch.share), share, 0.05, 0.95, own, 0.3},
      {"low_latency_dispatch.overlap", FABRICOST_AT(moe, low_latency_dispatch.overlap), order, 1, 12, shared, 0.4},
      {"low_latency_combine.start", FABRICOST_AT(moe, low_latency_combine.start), seconds, 1e-12, 1e-3, own, 0.5, 1},
      {"low_latency_combine.expert", FABRICOST_AT(moe, low_latency_combine.expert), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"low_latency_combine.start_copy", FABRICOST_AT(moe, low_latency_combine.start_copy), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"low_latency_combine.token", FABRICOST_AT(moe, low_latency_combine.token), seconds, 1e-12, 1e-3, shared, 0.7},
      {"low_latency_combine.token_kib", FABRICOST_AT(moe, low_latency_combine.token_kib), seconds, 1e-12, 1e-3, shared, 0.7},
      {"low_latency_combine.share", FABRICOST_AT(moe, low_latency_combine.share), share, 0.05, 0.95, own, 0.3},
      {"low_latency_combine.overlap", FABRICOST_AT(moe, low_latency_combine.overlap), order, 1, 12, shared, 0.4},
      {"one_sided_dispatch.start", FABRICOST_AT(moe, one_sided_dispatch.start), seconds, 1e-12, 1e-3, own, 0.5, 1},
      {"one_sided_dispatch.copy", FABRICOST_AT(moe, one_sided_dispatch.copy), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"one_sided_dispatch.step", FABRICOST_AT(moe, one_sided_dispatch.step), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"one_sided_dispatch.floor", FABRICOST_AT(moe, one_sided_dispatch.floor), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"one_sided_dispatch.token", FABRICOST_AT(moe, one_sided_dispatch.token), seconds, 1e-12, 1e-3, own, 0.7},
      {"one_sided_dispatch.share", FABRICOST_AT(moe, one_sided_dispatch.share), share, 0.05, 0.95, own, 0.3},
      {"one_sided_dispatch.overlap", FABRICOST_AT(moe, one_sided_dispatch.overlap), order, 1, 12, own, 0.4},
      {"one_sided_combine.start", FABRICOST_AT(moe, one_sided_combine.start), seconds, 1e-12, 1e-3, own, 0.5, 1},
      {"one_sided_combine.copy", FABRICOST_AT(moe, one_sided_combine.copy), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"one_sided_combine.step", FABRICOST_AT(moe, one_sided_combine.step), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"one_sided_combine.floor", FABRICOST_AT(moe, one_sided_combine.floor), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"one_sided_combine.token", FABRICOST_AT(moe, one_sided_combine.token), seconds, 1e-12, 1e-3, own, 0.7},
      {"one_sided_combine.share", FABRICOST_AT(moe, one_sided_combine.share), share, 0.05, 0.95, own, 0.3},
      {"one_sided_combine.overlap", FABRICOST_AT(moe, one_sided_combine.overlap), order, 1, 12, own, 0.4},
      {"prepare.start", FABRICOST_AT(moe, prepare.start), seconds, 1e-12, 1e-3, own, 0.5, 1},
      {"prepare.step", FABRICOST_AT(moe, prepare.step), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"prepare.token", FABRICOST_AT(moe, prepare.token), seconds, 1e-12, 1e-3, own, 0.7},
      {"two_sided_dispatch.start", FABRICOST_AT(moe, two_sided_dispatch.start), seconds, 1e-12, 1e-3, own, 0.5, 1},
      {"two_sided_dispatch.copy", FABRICOST_AT(moe, two_sided_dispatch.copy), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"two_sided_dispatch.step", FABRICOST_AT(moe, two_sided_dispatch.step), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"two_sided_dispatch.floor", FABRICOST_AT(moe, two_sided_dispatch.floor), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"two_sided_dispatch.token", FABRICOST_AT(moe, two_sided_dispatch.token), seconds, 1e-12, 1e-3, own, 0.7},
      {"two_sided_dispatch.share", FABRICOST_AT(moe, two_sided_dispatch.share), share, 0.05, 0.95, own, 0.3},
      {"two_sided_dispatch.overlap", FABRICOST_AT(moe, two_sided_dispatch.overlap), order, 1, 12, own, 0.4},
      {"two_sided_combine.start", FABRICOST_AT(moe, two_sided_combine.start), seconds, 1e-12, 1e-3, own, 0.5, 1},
      {"two_sided_combine.copy", FABRICOST_AT(moe, two_sided_combine.copy), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"two_sided_combine.step", FABRICOST_AT(moe, two_sided_combine.step), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"two_sided_combine.floor", FABRICOST_AT(moe, two_sided_combine.floor), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"two_sided_combine.token", FABRICOST_AT(moe, two_sided_combine.token), seconds, 1e-12, 1e-3, own, 0.7},
      {"two_sided_combine.share", FABRICOST_AT(moe, two_sided_combine.share), share, 0.05, 0.95, own, 0.3},
      {"two_sided_combine.overlap", FABRICOST_AT(moe, two_sided_combine.overlap), order, 1, 12, own, 0.4},
      {"two_sided_combine_fp4.start", FABRICOST_AT(moe, two_sided_combine_fp4.start), seconds, 1e-12, 1e-3, own, 0.5, 1},
      {"two_sided_combine_fp4.copy", FABRICOST_AT(moe, two_sided_combine_fp4.copy), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"two_sided_combine_fp4.step", FABRICOST_AT(moe, two_sided_combine_fp4.step), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"two_sided_combine_fp4.floor", FABRICOST_AT(moe, two_sided_combine_fp4.floor), seconds, 1e-12, 1e-3, own, 0.7, 1},
      {"two_sided_combine_fp4.token", FABRICOST_AT(moe, two_sided_combine_fp4.token), seconds, 1e-12, 1e-3, own, 0.7},
      {"two_sided_combine_fp4.share", FABRICOST_AT(moe, two_sided_combine_fp4.share), share, 0.05, 0.95, own, 0.3},
      {"two_sided_combine_fp4.overlap", FABRICOST_AT(moe, two_sided_combine_fp4.overlap), order, 1, 12, own, 0.4},
      {"form.rate_overlap", FABRICOST_AT(moe, form.rate_overlap), order, 1, 100, form},
      {"form.few_sms", FABRICOST_AT(moe, form.few_sms), divisor, 1, 1000, form},
      {"form.copies_power", FABRICOST_AT(moe, form.copies_power), number, 0, 3, form},
      {"form.floor_overlap", FABRICOST_AT(moe, form.floor_overlap), order, 1, 100, form},
  });
}();

#undef FABRICOST_AT
#undef FABRICOST_AT_PLACE

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

}  // namespace fabricost
