/// \file signals_distance.cpp
/// The distance from the prediction compared with rates of the described machine: one adapter's, a ring's,
/// PCIe's, host memory's.

#include "diagnose/context.hpp"

#include <fabricost/error.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fabricost::observe::diagnosis {

namespace {

/// Slow by a factor within the bounds, if there are any.
std::optional<Facts> slower(const Context& c, const Numbers& n) {
  const double ratio = c.judged.ratio;
  if (ratio < n.get("least", 0) || ratio > n.get("most", std::numeric_limits<double>::infinity())) return std::nullopt;
  return Facts{against(c), fmt::format("{:.3g}", ratio)};
}

bool is_slow_between_nodes(const Context& c) { return c.judged.slow && c.system && c.judged.at->nodes > 1; }
bool is_slow_inside(const Context& c) { return c.judged.slow && c.system && c.judged.at->nodes <= 1; }

std::optional<Facts> slow(const Context& c, const Numbers&) {
  return c.judged.slow ? std::optional{Facts{compared_in_words(c)}} : std::nullopt;
}
std::optional<Facts> slower_between_nodes(const Context& c, const Numbers& n) {
  return is_slow_between_nodes(c) ? slower(c, n) : std::nullopt;
}
std::optional<Facts> slower_in_a_node(const Context& c, const Numbers& n) { return is_slow_inside(c) ? slower(c, n) : std::nullopt; }

std::optional<Facts> fabric_used(const Context& c, const Numbers&) {
  return found(std::any_of(c.info.net.begin(), c.info.net.end(), [](const auto& one) { return one.first != "Socket"; }));
}
std::optional<Facts> direct_connections(const Context& c, const Numbers&) {
  return found(std::any_of(c.info.net.begin(), c.info.net.end(), [](const auto& one) { return one.second.direct > 0; }));
}
std::optional<Facts> over_roce(const Context& c, const Numbers&) {
  const Tier* nic = c.system ? c.system->tier(TierRole::nic) : nullptr;
  return found(nic != nullptr && nic->transport.roce);
}
std::optional<Facts> boards_on_pcie(const Context& c, const Numbers&) {
  const Tier* up = c.system ? c.system->tier(TierRole::scale_up) : nullptr;
  return found(up != nullptr && up->kind == TierKind::host);
}

std::optional<Facts> rate_of_one_adapter(const Context& c, const Numbers& n) {
  if (!is_slow_between_nodes(c)) return std::nullopt;
  const Tier* nic = c.system->tier(TierRole::nic);
  if (nic == nullptr || nic->endpoints < n["adapters"]) return std::nullopt;
  const Bandwidth one = c.judged.at->bus_bandwidth * c.judged.ratio / nic->endpoints;
  for (const int used : {1, 2}) {
    if (used * 2 >= nic->endpoints) break;
    if (std::fabs(c.judged.at->bus_bandwidth / (used * one) - 1) < n["near"])
      return Facts{against(c), fmt::format("{}", used), fmt::format("{}", nic->endpoints), gigabytes(used * one)};
  }
  return std::nullopt;
}

/// About half of the rate of all adapters of the named machine, at the best of the large sizes and at most of them.
std::optional<Facts> half_of_the_adapters(const Context& c, const Numbers& n) {
  if (c.guessed || !is_slow_between_nodes(c) || c.judged.ratio < n["least"] || c.judged.ratio > n["most"])
    return std::nullopt;
  const Tier* nic = c.system->tier(TierRole::nic);
  if (nic == nullptr) return std::nullopt;
  if (c.judged.at->streamed || nic->endpoints == 1)
    return Facts{against(c), "half of what one adapter gives: its port or its PCIe link runs at half its rate"};
  return Facts{
      against(c),
      fmt::format("half of what the {} adapters of a node give: one of them runs at half its rate (a ring is as slow "
                  "as its slowest), or half of them are unused",
                  nic->endpoints)};
}

/// perftest, or OSU's bandwidth: no library of collectives ran.
std::optional<Facts> stream_of_messages(const Context& c, const Numbers&) {
  return found(c.judged.compared && c.judged.at->streamed);
}

/// The ring's own prediction fits where in-switch reduction was expected. Tested wherever the constants were
/// measured, because the interval widens beyond; this is one specific cause, so on a machine named by the
/// user a deviation outside the interval is enough.
std::optional<Facts> rate_of_the_ring(const Context& c, const Numbers& n) {
  if (!c.judged.compared || !c.system || c.judged.at->nodes > 1 || (c.guessed && !c.judged.slow)) return std::nullopt;
  int switched = 0, as_ring = 0;
  std::string example;
  for (const DiagnosedSize& one : c.sizes) {
    const bool named = one.collective == Collective::all_reduce && one.predicted > Time{} && one.nodes <= 1;
    if (!named || one.bytes.value() < n["size"]) continue;
    try {
      const Prediction chosen = predict(*c.system, one.operation());
      if (chosen.ran.algorithm != Algorithm::nvls || chosen.extrapolated.any()) continue;
      ++switched;
      const Prediction ring = predict(*c.system, one.operation(), Choice{.algorithm = Algorithm::ring});
      if (one.measured.value() < n["slower"] * chosen.high || one.measured.value() < ring.low / n["faster_than_ring"] ||
          one.measured.value() > ring.high * n["slower_than_ring"])
        continue;
      ++as_ring;
      example = fmt::format("{} at {} where reduction in the switch gives {} (at least {}) and a ring {}", gigabytes(one.bus_bandwidth),
                            size_text(one.bytes), gigabytes(chosen.bus_bandwidth()),
                            gigabytes(one.bus_bandwidth * one.measured / units::s(chosen.high)), gigabytes(ring.bus_bandwidth()));
    } catch (const RequestError&) {
      return std::nullopt;
    }
  }
  if (switched < 2 || 2 * as_ring < switched) return std::nullopt;
  return Facts{example};
}

std::optional<Facts> rate_of_pcie(const Context& c, const Numbers& n) {
  if (!is_slow_inside(c)) return std::nullopt;
  const Tier* up = c.system->tier(TierRole::scale_up);
  const Tier* host = host_tier(*c.system);
  if (up == nullptr || host == nullptr || up->kind == TierKind::host) return std::nullopt;
  const Bandwidth rate = host->bandwidth.value;
  if (c.judged.at->bus_bandwidth > n["above"] * rate) return std::nullopt;
  return Facts{against(c), gigabytes(rate), std::string{up->name.view()}};
}

std::optional<Facts> rate_of_shared_memory(const Context& c, const Numbers& n) {
  if (!is_slow_inside(c)) return std::nullopt;
  const Tier* host = host_tier(*c.system);
  if (host == nullptr || c.judged.at->bus_bandwidth > n["share"] * host->bandwidth.value) return std::nullopt;
  return Facts{against(c)};
}

std::optional<Facts> only_small_sizes(const Context& c, const Numbers& n) {
  if (!c.judged.slow_small) return std::nullopt;
  for (const DiagnosedSize& one : c.sizes)
    if (one.predicted > Time{} && one.bytes.value() <= n["size"])
      return Facts{size_text(one.bytes), time_text(one.measured), c.system->name,
                   time_text(one.predicted)};
  return std::nullopt;
}

}  // namespace

std::span<const Signal> distance_signals() {
  using enum QuantityKind;
  using enum Threshold::Use;
  static const std::vector<Signal> all{
      {"slow", slow, {"compared"}},
      {"slower_between_nodes",
       slower_between_nodes,
       {"against", "ratio"},
       {{"least", number, optional}, {"most", number, optional}}},
      {"slower_in_a_node",
       slower_in_a_node,
       {"against", "ratio"},
       {{"least", number, optional}, {"most", number, optional}}},
      {"fabric_used", fabric_used},
      {"direct_connections", direct_connections},
      {"over_roce", over_roce},
      {"boards_on_pcie", boards_on_pcie},
      {"rate_of_one_adapter",
       rate_of_one_adapter,
       {"against", "used", "endpoints", "rate"},
       {{"near"}, {"adapters", count}}},
      {"half_of_the_adapters", half_of_the_adapters, {"against", "half"}, {{"least"}, {"most"}}},
      {"stream_of_messages", stream_of_messages},
      {"rate_of_the_ring",
       rate_of_the_ring,
       {"example"},
       {{"size", size}, {"slower"}, {"faster_than_ring"}, {"slower_than_ring"}}},
      {"rate_of_pcie", rate_of_pcie, {"against", "rate", "tier"}, {{"above"}}},
      {"rate_of_shared_memory", rate_of_shared_memory, {"against"}, {{"share"}}},
      {"only_small_sizes", only_small_sizes, {"size", "time", "system", "predicted"}, {{"size", size}}},
      {"judgement",
       nullptr,
       {},
       {{"cases_of_a_weight"},
        {"met_by_chance"},
        {"further_lines"},
        {"least_bits"},
        {"margin"},
        {"margin_of_guess"},
        {"margin_of_small"},
        {"half_lost"},
        {"smallest_large", size},
        {"smallest_streamed", size},
        {"largest_small", size},
        {"wires_of_guess"},
        {"beside_a_failure"}}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
