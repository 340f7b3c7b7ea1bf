#pragma once
/// \file moe.hpp
/// The time of dispatch, combine or prepare of one layer's experts (experts/moe_kernels.hpp).

#include <fabricost/fields/named.hpp>
#include <fabricost/fields/terms.hpp>
#include <fabricost/experts/moe_kernels.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

inline constexpr std::array<std::string_view, 3> moe_operation_names{"moe_prepare", "moe_dispatch", "moe_combine"};
/// Names of operations, with those of expert exchange.
[[nodiscard]] std::vector<std::string> operation_names();
[[nodiscard]] constexpr auto words_of(MoePhase) { return EnumWords{moe_operation_names, "an exchange of experts"}; }

/// The data type of the exchanged tokens.
enum class TokenType : unsigned char { bfloat16, half, fp8, nvfp4 };
inline constexpr std::array<std::string_view, 4> token_type_names{"bfloat16", "half", "fp8", "nvfp4"};
[[nodiscard]] constexpr auto words_of(TokenType) { return EnumWords{token_type_names, "a type that tokens travel in"}; }
[[nodiscard]] inline std::optional<TokenType> parse_word(TokenType, std::string_view text) {
  const std::string t = folded(text);
  return t == "bf16"   ? TokenType::bfloat16
         : t == "fp16" ? TokenType::half
         : t == "fp4"  ? TokenType::nvfp4
                       : parse_enum<TokenType>(text, token_type_names);
}
[[nodiscard]] constexpr auto words_of(MoeKernel) { return EnumWords{moe_kernel_names, "an implementation"}; }
[[nodiscard]] inline std::optional<MoeKernel> parse_word(MoeKernel, std::string_view text) { return parse_moe_kernel(text); }

/// Machine and phase are not fields: each interface names them its own way.
struct MoeRequest {
  Machine system;
  std::string calibration;
  std::vector<std::string> overrides;
  MoePhase phase = MoePhase::dispatch;

  std::optional<double> tokens;
  std::optional<int> hidden, experts, top_k;
  int ranks = 0, nodes = 0;
  MoeKernel implementation = MoeKernel::deepep_normal;
  std::optional<TokenType> dtype;
  Routing distribution{.kind = RoutingKind::uniform};
  int groups = 0, group_limit = 0, sms = 0;

  static constexpr auto fields() {
    using R = MoeRequest;
    using enum Amount;
    constexpr Range or_none{0, any_count.max};
    return Table{asks(&R::tokens, "tokens", "--tokens", number, {0, 1e12}, "T", "Tokens per rank", true),
                 asks(&R::hidden, "hidden", "--hidden", count, any_count, "H", "Hidden size: numbers per token", true),
                 asks(&R::experts, "experts", "--experts", count, any_count, "E", "Experts over all ranks", true),
                 asks(&R::top_k, "top_k", "--top-k", count, any_count, "K", "Experts per token", true),
                 asks(&R::ranks, "ranks", "--ranks", count, any_count, "R", "GPUs; 0: one scale-up domain, or all of the nodes"),
                 asks(&R::nodes, "nodes", "--nodes,-n", count, any_count, "N", "Nodes the ranks are on; 0: as few as hold them"),
                 asks(&R::implementation, "implementation", "--implementation", "KERNEL",
                      "Kernel: deepep-normal (= deepep, default) deepep-low-latency\ntrtllm-NVLinkOneSided (= trtllm, flashinfer)\ntrtllm-NVLinkTwoSided mori nccl"),
                 asks(&R::dtype, "dtype", "--dtype", "TYPE", "bfloat16, half, fp8 or nvfp4; default what the kernel sends"),
                 asks(&R::distribution, "distribution", "--distribution", "D",
                      "Load of the experts: uniform (default), balanced,\nzipf:EXPONENT, or the tokens each expert received"),
                 asks(&R::groups, "groups", "--groups", count, or_none, "G", "Expert groups (node-limited routing)"),
                 asks(&R::group_limit, "group_limit", "--group-limit", count, or_none, "M", "Groups a token may use"),
                 asks(&R::sms, "sms", "--sms", count, or_none, "N", "SMs of deepep-normal; default 20")};
  }
};

struct MoeAnswer {
  std::string operation{}, system{};
  int nodes = 1, ranks = 1;
  std::string dtype{};
  Bytes bytes{};
  Time time{};
  Bandwidth algorithm_bandwidth{}, bus_bandwidth{};
  std::string implementation{}, protocol{}, binding_tier{}, basis{};
  std::vector<std::string> extrapolated{}, assumed{};
  std::pair<Time, Time> interval{};
  double tokens = 0, copies = 0;
  Bytes inside{}, across{};
  std::vector<Term> terms{};

  MoePrediction made{};                     ///< input of explain()
  std::shared_ptr<const System> machine{};  ///< the machine of the prediction

  static constexpr auto fields() {
    using A = MoeAnswer;
    constexpr JsonUnit us = in_microseconds;
    return Table{
        gives(&A::operation, "operation", "operation", "moe_dispatch, moe_combine or moe_prepare."),
        field::give_system<A>,
        gives(&A::nodes, "nodes", "nodes", "Nodes the ranks sit on."),
        field::give_ranks_of_run<A>,
        gives(&A::dtype, "dtype", "dtype", "What travels: bfloat16, fp8 or nvfp4."),
        gives(&A::bytes, "bytes", "bytes", "Bytes a rank's tokens send, copies that stay included: what kernels report."),
        field::give_seconds_of_terms<&A::time>,
        gives(&A::algorithm_bandwidth, "algbw_GBps", "algorithm_bytes_per_second", "bytes / seconds.", 1e9),
        gives(&A::bus_bandwidth, "busbw_GBps", "bus_bytes_per_second",
              "(inside_bytes + across_bytes) / seconds: what leaves the rank.", 1e9),
        gives(&A::implementation, "algorithm", "implementation", "The kernels."),
        gives(&A::protocol, "protocol", "", "simple."),
        field::give_binding_tier<A>,
        gives(&A::basis, "basis", "basis", "What the constants rest on: calibrated, sibling or datasheet."),
        gives(&A::extrapolated, "extrapolated", "extrapolated", "Which of sizes, ranks, nodes lie outside what was measured."),
        field::give_assumed<A>,
        gives(&A::interval, "interval_us", "interval_seconds", "(low, high), s: nine in ten measurements fall between.", us),
        gives(&A::tokens, "tokens_per_rank", "tokens", "Tokens of every rank."),
        gives(&A::copies, "copies", "copies", "Expected copies of a token that kernels count."),
        gives(&A::inside, "inside_bytes", "inside_bytes", "Of a rank, bytes to other GPUs of its domain."),
        gives(&A::across, "across_bytes", "across_bytes", "Of a rank, bytes to other domains."),
        field::give_terms<A>};
  }
};

/// Checks everything that needs no machine. \throws Refusal, RequestError
void check(const MoeRequest& request);
/// \throws Refusal, RequestError as predict; SpecError, RequestError as load_system
[[nodiscard]] MoeAnswer answer(const MoeRequest& request);

}  // namespace fabricost::core

namespace fabricost {
using core::MoeAnswer;
using core::MoeRequest;
}  // namespace fabricost
