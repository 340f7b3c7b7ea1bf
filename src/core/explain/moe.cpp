/// Explanation of a dispatch or combine: each line of price/moe.hpp with its numbers.

#include "explain/sections.hpp"
#include "text/text_table.hpp"

#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/explain/explain.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

namespace fabricost::core {
namespace detail {
namespace {

[[nodiscard]] std::string moved_text(double bytes) { return fmt::format("{:.6g} MB", bytes / 1e6); }

[[nodiscard]] std::string element_text(Precision p) { return p == Precision::fp8 ? "fp8" : p == Precision::fp4 ? "nvfp4" : "bfloat16"; }

[[nodiscard]] std::string moe_question(const System& system, const MoePrediction& p) {
  const MoeQuestion& q = p.question;
  return wrapped(
      "  ", fmt::format("{} of {:.15g} tokens of every rank, {} numbers each ({}), to {} of {} experts, by {}, over {} on {}: {} "
                        "of {}, on {}{}.",
                        name(q.phase), q.tokens, q.hidden, element_text(p.precision), q.gate.top_k, q.gate.experts, name(q.kernel),
                        counted(p.placement.ranks, "rank"), counted(p.nodes, "node"), counted(p.placement.domains(), "scale-up domain"),
                        p.placement.per_domain, system.name, system.title.empty() ? "" : " (" + system.title + ")"));
}

[[nodiscard]] std::string moe_moves(const MoePrediction& p) {
  const MoeWork& w = p.work;
  if (p.question.phase == MoePhase::prepare) return wrapped("  ", "Counts of tokens, before the tokens themselves.");
  std::string out =
      wrapped("  ", fmt::format("A token makes {:.6g} copies of {:.6g} bytes; a rank's tokens {} in all, copies that stay included.",
                                p.copies, w.bytes, moved_text(p.bytes)));
  TextTable table{"leaves", ">bytes of a rank"};
  table.row({"the rank, inside its domain", moved_text(p.inside_bytes)});
  if (p.placement.domains() > 1) table.row({"the domain", moved_text(p.across_bytes)});
  out += table.text(2);
  if (w.skew > 1 + 1e-9)
    out += wrapped("  ", fmt::format("Choices are skewed: the fullest rank receives {:.4g} times the copies of even choices.", w.skew));
  return out;
}

/// Resources that work concurrently, each alone, then combined; and the part outside.
[[nodiscard]] std::string moe_arithmetic(const MoePrediction& p) {
  const MoeCost& c = p.cost;
  const MoeVolume& v = c.alone;
  const MoeWork& w = p.work;
  if (p.question.kernel == MoeKernel::nccl)
    return wrapped("  ", fmt::format("One all_to_all of the library over {} with a copy for each expert = {} us; explain all_to_all tells "
                                     "what such a one is made of.",
                                     counted(p.placement.ranks, "rank"), micro(p.seconds)));
  const double wire = norm(v.inside, v.across, v.wire_order), volume = norm(v.work, wire, v.order);
  TextTable alone{"", "", "", ">"};
  if (v.work > 0)
    alone.row(
        {"work", fmt::format("of {:.0f} SMs", form_of(p.question.kernel) == MoeKernel::deepep_normal ? w.sms : w.all_sms), "=", micro(v.work)});
  if (v.inside > 0)
    alone.row({"inside",
               fmt::format("{} / {:.6g} GB/s  [{:.1f} % of {:.4g}]", moved_text(w.inside_bytes), w.inside_bytes / v.inside / 1e9,
                           100 * w.inside_bytes / v.inside / w.rate, w.rate / 1e9),
               "=", micro(v.inside)});
  if (v.across > 0)
    alone.row({"across", fmt::format("{} / {:.6g} GB/s", moved_text(w.across_bytes), w.across_bytes / v.across / 1e9), "=", micro(v.across)});
  std::string out = "  Times are microseconds.\n";
  if (volume > 0) {
    out += "  v: what runs beside each other, each alone\n" + alone.text(4);
    out += fmt::format("    wire = (inside^{0:.6g} + across^{0:.6g})^(1/{0:.6g}) = {1}\n", v.wire_order, micro(wire));
    out += fmt::format("    v = (work^{0:.6g} + wire^{0:.6g})^(1/{0:.6g}) = {1}\n", v.order, micro(volume));
  }
  const double floored = v.floor > 0 ? norm(v.floor, volume, v.floor_order) : volume;
  if (v.floor > 0)
    out += fmt::format("    with a floor of {1} below: (floor^{0:.6g} + v^{0:.6g})^(1/{0:.6g}) = {2}\n", v.floor_order, micro(v.floor),
                       micro(floored));
  const double shared = c.work + c.inside + c.across;
  // `start` includes a floor's share of the norm; the rest of it is launch
  const double start = v.floor > 0 ? c.start - (floored - shared) : c.start;
  TextTable sum{"", "", ">"};
  for (const auto& [what, seconds] : {std::pair{"launch", start},
                                      {"serial steps", c.steps},
                                      {"network step", c.network},
                                      {"pipeline fill", c.growth},
                                      {v.floor > 0 ? "v with its floor" : "v", v.floor > 0 ? floored : shared}})
    if (seconds != 0) sum.row({what, "=", micro(seconds)});
  sum.row({"time", "=", micro(p.seconds)});
  return out + "  The sum\n" + sum.text(4);
}

[[nodiscard]] std::string moe_sources(const System& system, const MoePrediction& p) {
  const Constants& c = system.constants;
  const bool library = p.question.kernel == MoeKernel::nccl;
  std::string out =
      library ? wrapped("  inside a domain  ", fmt::format("calibration {} ({}): {}", c.name, name(c.basis), c.source))
              : wrapped("  kernel           ", fmt::format("calibration {} ({}): {}", c.moe_name, name(c.moe_basis), c.moe_source));
  if (p.placement.domains() > 1)
    out += wrapped("  between nodes    ",
                   fmt::format("calibration {} ({}): {}", c.transport_name, name(c.transport_basis), c.transport_source));
  for (const TierRole role : {TierRole::scale_up, TierRole::nic}) {
    const Tier* tier = system.tier(role);
    const bool felt = role == TierRole::scale_up ? p.placement.per_domain > 1 : p.placement.domains() > 1;
    if (tier != nullptr && felt) out += wrapped(fmt::format("  {:<15}  ", tier->name.view()), tier_source(*tier));
  }
  return out;
}

}  // namespace
}  // namespace detail

std::string explain(const System& system, const MoePrediction& p) {
  using namespace detail;
  const Term& max = p.bottleneck();
  std::string out = "Question\n" + moe_question(system, p);
  for (const std::string& one : assumptions(system, p.nodes)) out += wrapped("  ", "Assumed: " + one + ".");
  if (const ExchangeKernel* own = exchange_of(p.question.kernel)) out += wrapped("  ", fmt::format("Assumed: {} is priced as {}.", own->name, own->notes));
  out += fmt::format("\nAnswer\n  {}   counted {}   sent {}\n", time_text(Time::from_value(p.seconds)),
                     rate_text(Bandwidth::from_value(p.algorithm_bandwidth())), rate_text(Bandwidth::from_value(p.bus_bandwidth())));
  out += "\nWhat moves\n" + moe_moves(p);
  out += "\nThe arithmetic\n" + moe_arithmetic(p);
  out += "\nThe terms, which sum to the time\n" + terms_table(p.terms, p.seconds);
  out += "\nWhat binds\n" + wrapped("  ", fmt::format("{}: its term \"{}\" is the largest, {:.0f} % of the time.", max.tier.view(),
                                                      max.name.view(), p.seconds > 0 ? 100 * max.time.value() / p.seconds : 0));
  out += "\nWhere the numbers come from\n" + moe_sources(system, p);
  return out + "\nHow sure\n" + wrapped("  ", certainty_text(p.low, p.high, p.min, p.basis, p.extrapolated));
}

}  // namespace fabricost::core
