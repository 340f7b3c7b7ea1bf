#pragma once
/// \file constant_ranges.hpp
/// The fitted constants by name in the order of their structs, each with what it measures, from which follows the range it may have. The
/// ranges are wider than those of a fit (parameters/parameters.hpp): inside them every price is finite and above zero.
///
///   t  seconds, 0 to 100              r  a share or rate that divides, 1e-6 to 100     f  a part of a whole, 0 to 2
///   n  a plain number, 0 to 1e6       b  bytes or counts that divide, 1e-3 to 1e18     q  order of a norm, 1 to 1000
///   w  half width in log time, 0 to 10

#include <fabricost/hardware/constants.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace fabricost::detail {

struct ConstantRange {
  std::string_view name;
  double least = 0, most = 0;
};

/// The same as two plain arrays, which a compiler can compare several at a time.
template <std::size_t N>
struct ConstantBounds {
  std::array<double, N> least{}, most{};
};

consteval std::size_t words_in(std::string_view list) {
  std::size_t count = 0;
  for (const char c : list) count += c == ':' ? 1 : 0;
  return count;
}

/// Reads "name:kind name:kind ...".
template <std::size_t N>
consteval std::array<ConstantRange, N> ranges_of(std::string_view list) {
  std::array<ConstantRange, N> out{};
  for (ConstantRange& one : out) {
    while (list.front() == ' ') list.remove_prefix(1);
    const std::size_t colon = list.find(':');
    one.name = list.substr(0, colon);
    switch (list[colon + 1]) {
      case 't': one.most = 100; break;
      case 'r': one.least = 1e-6, one.most = 100; break;
      case 'f': one.most = 2; break;
      case 'n': one.most = 1e6; break;
      case 'b': one.least = 1e-3, one.most = 1e18; break;
      case 'q': one.least = 1, one.most = 1000; break;
      case 'w': one.most = 10; break;
      default: throw "a kind that is not listed above";
    }
    list.remove_prefix(colon + 2);
  }
  return out;
}

template <std::size_t N>
consteval ConstantBounds<N> bounds_of(const std::array<ConstantRange, N>& ranges) {
  ConstantBounds<N> out;
  for (std::size_t i = 0; i < N; ++i) out.least[i] = ranges[i].least, out.most[i] = ranges[i].most;
  return out;
}

inline constexpr std::string_view scale_up_words =
    "launch:t ll.hop:t ll.channel_share:r ll.channels_cost:t ll.full_threads:t ll.forward:t ll.reduce:t ll.reduce_int8:t "
    "ll.chunk_share:f ll.chunk:b ll128.floor:t ll128.rate_share:r ll128.drain:n ll128.overlap:q simple.floor:t simple.hop:t "
    "simple.overlap:q simple.rate_share:r simple.drain:n simple.cold_copy:n simple.reduce_scatter_rate:r simple.all_reduce_rate:r "
    "simple.reduce_latency:n nvls.floor:t nvls.growth:n nvls.growth_size:b nvls.rate_share:r all_to_all.base:t all_to_all.hop:t "
    "all_to_all.ll_ramp:t all_to_all.floor:t all_to_all.ramp:t all_to_all.rate_share:r all_to_all.self_copy:n all_to_all.cold_copy:n "
    "all_to_all.overlap:q int8_volume:n tree_hop:t";
inline constexpr std::string_view pcie_words =
    "ll_share[0]:r ll_share[1]:r ll_share[2]:r simple_share[0]:r simple_share[1]:r simple_share[2]:r launch:t ll_hop:t ll_overlap:q "
    "drain:n ll_all_reduce_rate:r simple_floor:t simple_hop:t simple_overlap:q warm_rate:r warm_bytes:b reduce_scatter_rate:r "
    "reduce_scatter_rate_two_sockets:r exchange_pair_rate:r exchange_base:t exchange_hop:t exchange_ll_share:r exchange_floor:t";
inline constexpr std::string_view transport_words =
    "tree_step:t tree_growth:t ring_ll_step:t ll128_step:t ring_simple_step:t ring_overlap:q nvls_step:t tree_simple_step:t "
    "efficiency:r host_bridge:r ll_share:r exchange_share:r exchange_base:t exchange_peer:t exchange_peer_simple:t exchange_tiny:n "
    "no_gdr_rate:r no_gdr_step:n nvls_floor:t";
inline constexpr std::string_view compute_words =
    "gemm:r gemm_fp8:r gemm_fp4:r gemm_start:t gemm_overlap:q misaligned:n attention:r attention_old:r attention_backward:n scores:r "
    "score_bytes:n memory:r elementwise:n elementwise_old:n row_traffic:n layer_floor:t floor_tensor:n floor_old:n floor_mixture:n "
    "floor_expert:n floor_overlap:q logit_bytes:n logit_bytes_eager:n optimizer_bytes:n";
inline constexpr std::string_view custom_words =
    "pull_one_shot.start:t pull_one_shot.hop:t pull_one_shot.growth:t pull_one_shot.share:r pull_one_shot.kib:t "
    "pull_two_shot.start:t pull_two_shot.floor:t pull_two_shot.hop:t pull_two_shot.share:r pull_two_shot.overlap:q "
    "pull_two_shot.kib:t push_one_shot.start:t push_one_shot.hop:t push_one_shot.growth:t push_one_shot.share:r push_one_shot.kib:t "
    "push_two_shot.start:t push_two_shot.floor:t push_two_shot.hop:t push_two_shot.share:r push_two_shot.overlap:q "
    "push_two_shot.kib:t lamport_one_shot.start:t lamport_one_shot.hop:t lamport_one_shot.growth:t lamport_one_shot.share:r "
    "lamport_one_shot.kib:t lamport_two_shot.start:t lamport_two_shot.floor:t lamport_two_shot.hop:t lamport_two_shot.share:r "
    "lamport_two_shot.overlap:q lamport_two_shot.kib:t multicast.start:t multicast.floor:t multicast.hop:t multicast.share:r "
    "multicast.overlap:q multicast.kib:t symmetric_two_shot.start:t symmetric_two_shot.floor:t symmetric_two_shot.hop:t "
    "symmetric_two_shot.share:r symmetric_two_shot.overlap:q symmetric_two_shot.kib:t host_launch:t host_extra:t host_copy:r";
inline constexpr std::string_view moe_words =
    "normal_dispatch.start:t normal_dispatch.start_copy:t normal_dispatch.token:t normal_dispatch.token_kib:t normal_dispatch.copy:t "
    "normal_dispatch.copy_kib:t normal_dispatch.fill:n normal_dispatch.fill_tokens:b normal_dispatch.share:r "
    "normal_dispatch.overlap:q normal_dispatch.spread:f normal_combine.start:t normal_combine.start_copy:t normal_combine.token:t "
    "normal_combine.token_kib:t normal_combine.copy:t normal_combine.copy_kib:t normal_combine.fill:n normal_combine.fill_tokens:b "
    "normal_combine.share:r normal_combine.overlap:q normal_combine.spread:f low_latency_dispatch.start:t "
    "low_latency_dispatch.expert:t low_latency_dispatch.start_copy:t low_latency_dispatch.token:t low_latency_dispatch.token_kib:t "
    "low_latency_dispatch.share:r low_latency_dispatch.overlap:q low_latency_combine.start:t low_latency_combine.expert:t "
    "low_latency_combine.start_copy:t low_latency_combine.token:t low_latency_combine.token_kib:t low_latency_combine.share:r "
    "low_latency_combine.overlap:q one_sided_dispatch.start:t one_sided_dispatch.copy:t one_sided_dispatch.step:t "
    "one_sided_dispatch.floor:t one_sided_dispatch.token:t one_sided_dispatch.share:r one_sided_dispatch.overlap:q "
    "one_sided_combine.start:t one_sided_combine.copy:t one_sided_combine.step:t one_sided_combine.floor:t one_sided_combine.token:t "
    "one_sided_combine.share:r one_sided_combine.overlap:q prepare.start:t prepare.step:t prepare.token:t two_sided_dispatch.start:t "
    "two_sided_dispatch.copy:t two_sided_dispatch.step:t two_sided_dispatch.floor:t two_sided_dispatch.token:t "
    "two_sided_dispatch.share:r two_sided_dispatch.overlap:q two_sided_combine.start:t two_sided_combine.copy:t "
    "two_sided_combine.step:t two_sided_combine.floor:t two_sided_combine.token:t two_sided_combine.share:r "
    "two_sided_combine.overlap:q two_sided_combine_fp4.start:t two_sided_combine_fp4.copy:t two_sided_combine_fp4.step:t "
    "two_sided_combine_fp4.floor:t two_sided_combine_fp4.token:t two_sided_combine_fp4.share:r two_sided_combine_fp4.overlap:q";
inline constexpr std::string_view interval_words =
    "ring_ll:w ring_ll128:w ring_simple:w nvls:w exchange_ll:w exchange_simple:w internode_ring_ll:w internode_ring_ll128:w "
    "internode_ring_simple:w tree_ll:w tree_ll128:w tree_simple:w nvls_tree:w internode_exchange:w pcie_ll:w pcie_simple:w "
    "pcie_exchange_ll:w pcie_exchange_simple:w custom_one_shot:w custom_two_shot:w host_launch:w deepep_normal:w "
    "deepep_low_latency:w trtllm_one_sided:w trtllm_two_sided:w sibling:w other_domain:w other_domain_call:w unmeasured_operation:w "
    "datasheet:w pcie_datasheet:w unmeasured_cluster:w unmeasured_transport:w unfitted_algorithm:w below_sizes:w below_rack_sizes:w "
    "beyond_sizes:w beyond_ranks:w";

inline constexpr auto scale_up_ranges = ranges_of<words_in(scale_up_words)>(scale_up_words);
inline constexpr auto pcie_ranges = ranges_of<words_in(pcie_words)>(pcie_words);
inline constexpr auto transport_ranges = ranges_of<words_in(transport_words)>(transport_words);
inline constexpr auto compute_ranges = ranges_of<words_in(compute_words)>(compute_words);
inline constexpr auto custom_ranges = ranges_of<words_in(custom_words)>(custom_words);
inline constexpr auto moe_ranges = ranges_of<words_in(moe_words)>(moe_words);
inline constexpr auto interval_ranges = ranges_of<words_in(interval_words)>(interval_words);

inline constexpr auto scale_up_bounds = bounds_of(scale_up_ranges);
inline constexpr auto pcie_bounds = bounds_of(pcie_ranges);
inline constexpr auto transport_bounds = bounds_of(transport_ranges);
inline constexpr auto compute_bounds = bounds_of(compute_ranges);
inline constexpr auto custom_bounds = bounds_of(custom_ranges);
inline constexpr auto moe_bounds = bounds_of(moe_ranges);
inline constexpr auto interval_bounds = bounds_of(interval_ranges);

}  // namespace fabricost::detail
