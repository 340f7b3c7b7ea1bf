/// A machine as text, tier by tier: rates, latencies, oversubscription, sources.

#include <fabricost/explain/explain.hpp>

#include "text/text_table.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace fabricost::core {

double ratio_to_next(const System& system, std::size_t i) {
  if (i + 1 >= system.tiers.size()) return 0;
  const double next = system.tiers[i + 1].bandwidth.value.value();
  return next > 0 ? system.tiers[i].bandwidth.value.value() / next : 0;
}

namespace {

/// GB/s with four digits, never with an exponent.
std::string gigabytes(Bandwidth rate) {
  const double value = rate.value() / 1e9;
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string tiers_table(const System& system) {
  TextTable table{"tier", "kind", ">joins", ">GB/s", ">both", ">latency", ">aggregate", ">bisection"};
  for (const Tier& tier : system.tiers) {
    const bool memory = tier.role == TierRole::memory;
    table.row({std::string{tier.name.view()}, std::string{name(tier.kind)}, std::to_string(tier.endpoints), gigabytes(tier.bandwidth.value),
               memory ? "-" : gigabytes(tier.bandwidth.value * 2.0), tier.latency.value.value() > 0 ? time_text(tier.latency.value) : "?",
               memory ? "-" : gigabytes(aggregate_of(system, tier)), memory ? "-" : gigabytes(bisection_of(system, tier))});
  }
  return table.text(2);
}

/// The rate that the switches of a network tier, the trunks of a first stage, or links that endpoints share hold back.
std::string tapers(const System& system) {
  std::string out;
  for (const Tier& tier : system.tiers) {
    if (tier.shared_by > 1)
      out += wrapped("  ", fmt::format("{}: {} {} share one link upward.", tier.name.view(), tier.shared_by,
                                       tier.role == TierRole::nic ? "NICs" : "GPUs"));
    if (const Bandwidth slot = tier.slot_bandwidth; slot > Bandwidth{} && slot < tier.bandwidth.value)
      out += wrapped("  ", fmt::format("{}: its slot, {}, carries {} of payload.", tier.name.view(), tier.slot, rate_text(slot)));
    if (tier.oversubscription > 1)
      out += wrapped("  ", fmt::format("{} is oversubscribed {:.4g}:1: 1/{:.4g} of what enters its {} from below can leave them upwards.",
                                       tier.name.view(), tier.oversubscription, tier.oversubscription,
                                       tier.role == TierRole::network ? "switches" : "first stage"));
  }
  return out;
}

std::string headline(const System& system) {
  const Tier* tier = system.tier(TierRole::scale_up);
  if (tier == nullptr || tier->endpoints < 2) return "";
  std::string out = wrapped(
      "  ", fmt::format(
                "{}: the headline of {} counts all {} GPUs and both directions; one way it is {}, and {} crosses the worst cut in halves.",
                tier->name.view(), rate_text(tier->aggregate() * 2.0), tier->endpoints, rate_text(tier->aggregate()),
                rate_text(tier->bisection())));
  if (const Tier* nic = system.tier(TierRole::nic); nic != nullptr) {
    const Bandwidth slot = nic->slot_bandwidth, one = slot > Bandwidth{} ? std::min(slot, nic->bandwidth.value) : nic->bandwidth.value;
    const Bandwidth share = one * (static_cast<double>(nic->endpoints) / system.gpus_per_node);
    const double ratio = tier->bandwidth.value / share;
    out += wrapped("  ", fmt::format("{} over {}: {:.3g} times, {} against {} a GPU, one way.", tier->name.view(), nic->name.view(), ratio,
                                     rate_text(tier->bandwidth.value), rate_text(share)));
  }
  return out;
}

std::string sources(const System& system) {
  std::string out;
  std::size_t widest = std::string_view{"machine"}.size();
  for (const Tier& tier : system.tiers) widest = std::max(widest, tier.name.view().size());
  const auto of = [&](std::string_view what) { return fmt::format("  {:<{}}  ", what, widest); };
  const std::string machine_source = system.provenance.source;
  if (!machine_source.empty()) out += wrapped(of("machine"), fmt::format("{} ({})", machine_source, name(system.provenance.confidence)));
  const Sourced<Bytes>& memory = system.gpu.memory;
  out += wrapped(of("memory"), fmt::format("{:.0f} MiB, as the driver shows it: {} ({})", memory.value.value() / mebibyte,
                                           memory.provenance.source.empty() ? "no source" : memory.provenance.source,
                                           name(memory.provenance.confidence)));
  for (const Tier& tier : system.tiers) {
    const Provenance& rate = tier.bandwidth.provenance;
    std::string text = rate.source.empty() ? "no source" : rate.source == machine_source ? "as the machine" : rate.source;
    text += fmt::format(" ({})", name(rate.confidence));
    if (tier.latency.value.value() > 0)
      text += fmt::format("; latency {}{}", name(tier.latency.provenance.confidence),
                          tier.latency.provenance.source == rate.source ? "" : ": " + tier.latency.provenance.source);
    out += wrapped(of(tier.name.view()), text);
  }
  return out;
}

std::string notes(const System& system) {
  std::string out;
  if (!system.notes.empty()) out += wrapped("  ", system.notes);
  for (const Tier& tier : system.tiers)
    if (!tier.notes.empty()) out += wrapped(fmt::format("  {}: ", tier.name.view()), tier.notes);
  return out;
}

}  // namespace

std::string show(const System& system) {
  const Constants& c = system.constants;
  std::string out = wrapped("", system.name + (system.title.empty() ? "" : ": " + system.title));
  out += wrapped("  ", fmt::format("{} GPUs ({}, {:.1f} GiB each) in {} node{} of {}; {}{}.", system.gpus(), system.gpu.name,
                                   system.memory().value() / gibibyte, system.nodes, system.nodes == 1 ? "" : "s", system.gpus_per_node,
                                   system.domain > 1 ? fmt::format("scale-up domain of {}", system.domain) : "no scale-up domain",
                                   system.pod > 0 ? fmt::format("; jobs get slices of a pod of {}", system.pod) : ""));
  out += "\nTiers, from the inside out\n" + tiers_table(system);
  out += wrapped("  ",
                 "GB/s is one way and per endpoint, \"both\" adds the two directions. Aggregate (all endpoints) and bisection are one way. "
                 "?: unknown.");
  out += tapers(system);
  out += headline(system);
  if (const std::string noted = notes(system); !noted.empty()) out += "\nNotes\n" + noted;
  out += "\nSources\n" + sources(system);
  out += "\nCalibration\n" + wrapped("  inside a domain  ", fmt::format("{} ({}): {}", c.name, name(c.basis), c.source));
  if (system.tier(TierRole::nic) != nullptr)
    out += wrapped("  between nodes    ", fmt::format("{} ({}{}): {}", c.transport_name, name(c.transport_basis),
                                                      c.transport_known ? "" : ", transport never measured", c.transport_source));
  return out;
}

}  // namespace fabricost::core
