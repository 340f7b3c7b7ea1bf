/// Predicts the exchange of a layer of experts.

#include "text/joined.hpp"

#include <fabricost/answers/moe.hpp>
#include <fabricost/answers/predict.hpp>
#include <fabricost/explain/assumptions.hpp>
#include <fabricost/fields/field.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::core {

RequestTable<MoeRequest> MoeRequest::fields() {
  using R = MoeRequest;
  using enum Amount;
  constexpr Range or_none{0, any_count.max};
  return {asks(&R::tokens, "tokens", "--tokens", number, {0, 1e12}, "T", "Tokens per rank; on the command line also several, as 1:4096:x4", true),
          asks(&R::hidden, "hidden", "--hidden", count, any_count, "H", "Hidden size: numbers per token", true),
          asks(&R::experts, "experts", "--experts", count, any_count, "E", "Experts over all ranks", true),
          asks(&R::top_k, "top_k", "--top-k", count, any_count, "K", "Experts per token", true),
          asks(&R::ranks, "ranks", "--ranks", count, any_count, "R", "GPUs; 0: one scale-up domain, or all of the nodes"),
          asks(&R::nodes, "nodes", "--nodes,-n", count, any_count, "N", "Nodes the ranks are on; 0: as few as hold them"),
          asks(&R::implementation, "implementation", "--implementation", "KERNEL",
               "Kernel: deepep-normal (= deepep, default) deepep-low-latency\ntrtllm-NVLinkOneSided (= trtllm, "
               "flashinfer)\ntrtllm-NVLinkTwoSided mori nccl nccl-ep nixl-ep\n(-normal, the default, or -low-latency) deepep-v2"),
          asks(&R::dtype, "dtype", "--dtype", "TYPE", "bfloat16, half, fp8 or nvfp4; default what the kernel sends"),
          asks(&R::distribution, "distribution", "--distribution", "D",
               "Load of the experts: uniform (default), balanced,\nzipf:EXPONENT, or the tokens each expert received"),
          asks(&R::groups, "groups", "--groups", count, or_none, "G", "Expert groups (node-limited routing)"),
          asks(&R::group_limit, "group_limit", "--group-limit", count, or_none, "M", "Groups a token may use"),
          asks(&R::sms, "sms", "--sms", count, or_none, "N", "SMs of deepep-normal and its like; default 20")};
}

AnswerTable<MoeAnswer> MoeAnswer::fields() {
  using A = MoeAnswer;
  constexpr JsonUnit us = in_microseconds;
  return {
      gives(&A::operation, "operation", "operation", "moe_dispatch, moe_combine or moe_prepare."),
      field::give_system<A>,
      gives(&A::nodes, "nodes", "nodes", "Nodes the ranks sit on."),
      field::give_ranks_of_run<A>,
      gives(&A::dtype, "dtype", "dtype", "What travels: bfloat16, fp8 or nvfp4."),
      gives(&A::bytes, "bytes", "bytes", "Bytes a rank's tokens send, copies that stay included: what kernels report."),
      field::give_seconds_of_terms<&A::time>,
      gives(&A::algorithm_bandwidth, "algbw_GBps", "algorithm_bytes_per_second", "bytes / seconds.", 1e9),
      gives(&A::bus_bandwidth, "busbw_GBps", "bus_bytes_per_second", "(inside_bytes + across_bytes) / seconds: what leaves the rank.", 1e9),
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

namespace {

[[nodiscard]] Gate gate_of(const MoeRequest& r) { return {*r.experts, *r.top_k, r.groups, r.group_limit}; }

[[nodiscard]] Precision precision_of(TokenType t) {
  return t == TokenType::fp8 ? Precision::fp8 : t == TokenType::nvfp4 ? Precision::fp4 : Precision::bf16;
}
[[nodiscard]] TokenType type_of(Precision p) {
  return p == Precision::fp8 ? TokenType::fp8 : p == Precision::fp4 ? TokenType::nvfp4 : TokenType::bfloat16;
}

/// Ranks of the request; 0 where neither ranks nor nodes are given.
[[nodiscard]] int ranks_of(const MoeRequest& r, const System& system) {
  if (r.nodes == 0) return r.ranks;
  const long long max = static_cast<long long>(r.nodes) * system.gpus_per_node;
  if (r.ranks > max)
    throw Refusal(fmt::format("{} ranks do not fit on {} of {} GPUs; give a larger <nodes> or fewer <ranks>", r.ranks,
                              counted(r.nodes, "node"), system.gpus_per_node));
  return r.ranks > 0 ? r.ranks : static_cast<int>(std::min<long long>(max, static_cast<long long>(any_count.max)));
}

}  // namespace

void check(const MoeRequest& r) {
  std::vector<std::string> missing;
  if (!r.tokens) missing.emplace_back("<tokens=4096> (of every rank)");
  if (!r.hidden) missing.emplace_back("<hidden=7168> (numbers of a token)");
  if (!r.experts) missing.emplace_back("<experts=256> (over all ranks)");
  if (!r.top_k) missing.emplace_back("<top_k=8> (experts of a token)");
  if (!missing.empty()) throw Refusal("what is exchanged? Add " + joined(missing, ", "), true);
  check_ranges(r);
  if ((r.groups > 0) != (r.group_limit > 0))
    throw Refusal("<groups> and <group_limit> go together: a token's experts are in so many of the groups");
  check(gate_of(r));
}

MoeAnswer answer(const MoeRequest& r) {
  check(r);
  const auto system = std::make_shared<const System>(r.system.load(r.overrides, {}, r.calibration));
  MoeQuestion q{.phase = r.phase,
                .kernel = r.implementation,
                .gate = gate_of(r),
                .routing = r.distribution,
                .hidden = *r.hidden,
                .tokens = *r.tokens,
                .ranks = ranks_of(r, *system),
                .precision = {},
                .sms = r.sms};
  check_ranks(*system, {.ranks = q.ranks, .nodes = r.nodes});
  if (r.dtype) q.precision = precision_of(*r.dtype);
  const MoePrediction p = predict(*system, q);
  std::vector<std::string> assumed = assumptions(*system, p.nodes);
  if (const ExchangeKernel* own = exchange_of(q.kernel)) assumed.emplace_back(fmt::format("{} is priced as {}", own->name, own->notes));
  if (p.seconds == 0) assumed.emplace_back("all experts are on one GPU: nothing is exchanged, and no kernel is started for it");
  return {.operation = std::string{moe_operation_names[static_cast<std::size_t>(q.phase)]},
          .system = system->name,
          .nodes = p.nodes,
          .ranks = p.placement.ranks,
          .dtype = std::string{token_type_names[static_cast<std::size_t>(type_of(p.precision))]},
          .bytes = units::B(p.bytes),
          .time = units::s(p.seconds),
          .algorithm_bandwidth = units::B_per_s(p.algorithm_bandwidth()),
          .bus_bandwidth = units::B_per_s(p.bus_bandwidth()),
          .implementation = std::string{name(q.kernel)},
          .protocol = "simple",
          .binding_tier = std::string{p.bottleneck().tier.view()},
          .basis = std::string{name(p.basis)},
          .extrapolated = names_of(p.extrapolated),
          .assumed = std::move(assumed),
          .interval = {units::s(p.low), units::s(p.high)},
          .tokens = q.tokens,
          .copies = p.copies,
          .inside = units::B(p.inside_bytes),
          .across = units::B(p.across_bytes),
          .terms = {p.terms.begin(), p.terms.end()},
          .made = p,
          .machine = system};
}

}  // namespace fabricost::core
