/// \file moe.cpp
/// Predicts the exchange of a layer of experts.

#include <fabricost/answers/moe.hpp>
#include <fabricost/explain/assumptions.hpp>
#include <fabricost/fields/field.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fabricost::core {
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
  if (!r.tokens) throw Refusal("how many? Add <tokens=4096> of every rank", true);
  if (!r.hidden) throw Refusal("how many? Add <hidden=7168> numbers of a token", true);
  if (!r.experts) throw Refusal("how many? Add <experts=256> over all ranks", true);
  if (!r.top_k) throw Refusal("how many? Add <top_k=8> experts a token goes to", true);
  check_ranges(r);
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
  if (r.dtype) q.precision = precision_of(*r.dtype);
  const MoePrediction p = predict(*system, q);
  std::vector<std::string> assumed = assumptions(*system, p.nodes);
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
