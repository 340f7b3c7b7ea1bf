/// Signals of the table alone: the shape of bandwidth over size, and its distance from the prediction.

#include "diagnose/context.hpp"

#include <fabricost/error.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace fabricost::observe::diagnosis {

// The shape of bandwidth over size: a collapse, a dip, flat and low, slow at small sizes.

namespace {

std::string at_line(const Shown& row) { return row.line > 0 ? fmt::format(" (line {})", row.line) : std::string{}; }
std::string at_size(const Shown& row) { return fmt::format("{} at {}", gigabytes(row.bus), size_text(Bytes::from_value(row.bytes))); }

/// Sizes where bandwidth matters more than latency.
std::vector<const Shown*> large_rows(const Context& c) {
  std::vector<const Shown*> out;
  for (const Shown& row : c.curve)
    if (row.bytes >= mebibyte && row.bus > 0) out.push_back(&row);
  return out;
}

double best_after(const std::vector<const Shown*>& rows, std::size_t i) {
  double best = 0;
  for (std::size_t j = i + 1; j < rows.size(); ++j) best = std::max(best, rows[j]->bus);
  return best;
}

std::optional<Facts> collapse(const Context& c, const Numbers& n) {
  const auto rows = large_rows(c);
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const double after = best_after(rows, i);
    if (after > rows[i]->bus / n["times"]) continue;
    return Facts{fmt::format("{}{}, then {} and never above {} again", at_size(*rows[i]), at_line(*rows[i]), at_size(*rows[i + 1]),
                             gigabytes(after))};
  }
  return std::nullopt;
}

/// A drop that larger sizes recover from: the tuner changes algorithm or protocol too early or too late. Every repeat shows it.
std::optional<Facts> dip(const Context& c, const Numbers& n) {
  const auto rows = large_rows(c);
  for (std::size_t i = 0; i + 2 < rows.size(); ++i) {
    if (rows[i + 1]->bus > n["fall"] * rows[i]->bus || rows[i + 1]->bytes > n["step"] * rows[i]->bytes) continue;
    if (rows[i + 1]->best > n["fall"] * rows[i]->best) continue;
    const double later = best_after(rows, i + 1);
    if (later < n["again"] * rows[i]->bus) continue;
    return Facts{at_size(*rows[i]) + at_line(*rows[i]), at_size(*rows[i + 1]), gigabytes(later)};
  }
  return std::nullopt;
}

/// At most of the large sizes one of the two columns takes longer than the other by about the same factor.
std::optional<Facts> one_place_slower(const Context& c, const Numbers& n) {
  std::vector<double> factors;
  const Shown* last = nullptr;
  for (const Shown& row : c.curve)
    if (row.bytes >= n["size"] && row.in_place > 0) factors.push_back(row.in_place), last = &row;
  if (factors.size() < 3) return std::nullopt;
  std::sort(factors.begin(), factors.end());
  const double usual = factors[factors.size() / 2];
  const auto same = std::count_if(factors.begin(), factors.end(), [&](double f) { return f < usual * n["same"] && usual < f * n["same"]; });
  if ((usual < n["ratio"] && 1 / usual < n["ratio"]) || 4 * same < 3 * static_cast<std::ptrdiff_t>(factors.size())) return std::nullopt;
  const bool in = usual > 1;
  return Facts{in ? "in place" : "out of place", in ? "out of place" : "in place", fmt::format("{:.2g}", in ? usual : 1 / usual),
               at_size(*last) + at_line(*last), gigabytes(last->best)};
}

/// Half of the large sizes or more, whose repeats differ: what ran beside them does, or packets are lost.
std::optional<Facts> unsteady(const Context& c, const Numbers& n) {
  std::vector<const Shown*> differ;
  std::size_t all = 0;
  for (const Shown& row : c.curve) {
    if (row.bytes < n["size"] || !(row.bus > 0)) continue;
    ++all;
    if (row.best > n["ratio"] * row.bus) differ.push_back(&row);
  }
  if (differ.size() < 2 || 2 * differ.size() < all) return std::nullopt;
  const auto worst =
      *std::max_element(differ.begin(), differ.end(), [](const Shown* a, const Shown* b) { return a->best / a->bus < b->best / b->bus; });
  return Facts{at_size(*worst) + at_line(*worst), gigabytes(worst->best), fmt::format("{}", differ.size()), fmt::format("{}", all)};
}

/// Without a machine to compare with.
std::optional<Facts> late_launches(const Context& c, const Numbers& n) {
  if (c.judged.compared || !c.one_node() || c.info.net.contains("Socket")) return std::nullopt;
  std::vector<double> times;
  for (const Shown& row : c.curve)
    if (row.bytes <= n["size"]) times.push_back(row.seconds);
  if (times.size() < 3) return std::nullopt;
  std::sort(times.begin(), times.end());
  const double usual = times[times.size() / 2];
  if (usual < n["time"]) return std::nullopt;
  return Facts{time_text(Time::from_value(usual))};
}

std::optional<Facts> few_channels_listed(const Context& c, const Numbers& n) {
  if (c.info.channels <= 0 || c.info.channels > n["channels"]) return std::nullopt;
  return Facts{cited(c.info.channels_line)};
}

/// NVLink needs many channels; two or four are what NCCL opens for PCIe.
std::optional<Facts> few_channels_on_nvlink(const Context& c, const Numbers& n) {
  bool nvlink = c.multicasts().value_or(false);
  for (const MatrixRow& row : c.info.matrix)
    for (const std::string& cell : row.cells) nvlink = nvlink || (cell.starts_with("NV") && row.cells.size() > 2);
  if (!nvlink || c.info.channels == 0 || c.info.channels > n["channels"]) return std::nullopt;
  return Facts{cited(c.info.channels_line)};
}

/// Without a machine to compare with: GPUs that never exceed a rate of PCIe, flat from 1 MiB on.
std::optional<Facts> flat_and_low(const Context& c, const Numbers& n) {
  const auto rows = large_rows(c);
  if (c.judged.compared || c.transfers || rows.size() < 3 || c.largest() < n["size"] || c.best_bus() > n["rate"] || !c.info.net.empty())
    return std::nullopt;
  if (rows.front()->bus < n["flat"] * c.best_bus() || !c.one_node()) return std::nullopt;
  return Facts{at_size(*rows.front()), at_size(*rows.back())};
}

/// Every size well beyond that of the best rate is far below it.
std::optional<Facts> falls_off(const Context& c, const Numbers& n) {
  if (c.curve.empty()) return std::nullopt;
  const auto best = std::max_element(c.curve.begin(), c.curve.end(), [](const Shown& a, const Shown& b) { return a.bus < b.bus; });
  double after = 0;
  const Shown* last = nullptr;
  for (const Shown& row : c.curve)
    if (row.bytes >= n["beyond"] * best->bytes) after = std::max(after, row.bus), last = &row;
  if (last == nullptr || last->bytes < n["size"] || best->bus < n["least"] || after > n["share"] * best->bus) return std::nullopt;
  return Facts{at_size(*best), at_size(*last)};
}

/// Messages between two ends that never exceed a rate of sockets or of copies, the same at all large sizes.
std::optional<Facts> flat_and_slow_between_two(const Context& c, const Numbers& n) {
  if (!c.transfers || c.judged.compared) return std::nullopt;
  std::vector<const Shown*> rows;
  for (const Shown& row : c.curve)
    if (row.bytes >= n["size"]) rows.push_back(&row);
  if (rows.size() < 3) return std::nullopt;
  const auto [least, most] = std::minmax_element(rows.begin(), rows.end(), [](const Shown* a, const Shown* b) { return a->bus < b->bus; });
  if ((*most)->bus > n["rate"] || (*least)->bus < n["flat"] * (*most)->bus) return std::nullopt;
  return Facts{at_size(*rows.front()), at_size(*rows.back())};
}

std::optional<Facts> message_too_small(const Context& c, const Numbers& n) {
  if (!(c.expected.rate > 0) || c.curve.empty() || c.largest() > n["size"]) return std::nullopt;
  const double shown = c.best_bus();
  if (shown >= n["share"] * c.expected.rate || c.judged.slow) return std::nullopt;
  return Facts{size_text(Bytes::from_value(c.largest())), gigabytes(shown)};
}

// The distance from the prediction compared with rates of the described machine: one adapter's, a ring's,
// PCIe's, host memory's.

/// Slow by a factor within the bounds, if there are any.
std::optional<Facts> slower(const Context& c, const Numbers& n) {
  const double ratio = c.judged.ratio;
  if (ratio < n.get("least", 0) || ratio > n.get("most", std::numeric_limits<double>::infinity())) return std::nullopt;
  return Facts{against(c), fmt::format("{:.3g}", ratio)};
}

bool is_slow_between_nodes(const Context& c) { return c.judged.slow && c.system && c.judged.at->nodes > 1 && !c.inside_a_domain(); }
bool is_slow_to_the_host(const Context& c) { return c.judged.slow && c.system && c.judged.at->path && is_host_path(*c.judged.at->path); }
bool is_slow_inside(const Context& c) { return c.judged.slow && c.system && c.judged.at->nodes <= 1 && !is_slow_to_the_host(c); }

std::optional<Facts> slow(const Context& c, const Numbers&) {
  return c.judged.slow ? std::optional{Facts{compared_in_words(c)}} : std::nullopt;
}
std::optional<Facts> slower_between_nodes(const Context& c, const Numbers& n) {
  if (!is_slow_between_nodes(c) || c.judged.at->bus_bandwidth.value() > n.get("under", std::numeric_limits<double>::infinity())) return std::nullopt;
  return slower(c, n);
}
std::optional<Facts> slower_in_a_domain(const Context& c, const Numbers& n) {
  return c.judged.slow && c.inside_a_domain() ? slower(c, n) : std::nullopt;
}
std::optional<Facts> slower_in_a_node(const Context& c, const Numbers& n) { return is_slow_inside(c) ? slower(c, n) : std::nullopt; }

std::optional<Facts> slower_to_the_host(const Context& c, const Numbers& n) { return is_slow_to_the_host(c) ? slower(c, n) : std::nullopt; }

std::optional<Facts> fabric_used(const Context& c, const Numbers&) {
  return found((!c.info.adapters.empty() && !c.info.network.starts_with("Socket")) ||
               std::any_of(c.info.net.begin(), c.info.net.end(), [](const auto& one) { return one.first != "Socket"; }));
}
std::optional<Facts> direct_connections(const Context& c, const Numbers&) {
  return found(std::any_of(c.info.net.begin(), c.info.net.end(), [](const auto& one) { return one.second.direct > 0; }));
}
/// As many adapters carry connections as the machine has.
std::optional<Facts> all_adapters_used(const Context& c, const Numbers&) {
  const Tier* nic = c.system ? c.system->tier(TierRole::nic) : nullptr;
  return found(nic != nullptr && std::ssize(fabric_of(c.info).devices) >= nic->endpoints);
}
std::optional<Facts> over_roce(const Context& c, const Numbers&) { return found(c.over_roce()); }
std::optional<Facts> over_infiniband(const Context& c, const Numbers&) { return found(c.over_infiniband()); }
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

/// The prediction fits with another network adapter than the machine's, at most of the large sizes.
std::optional<Facts> rate_with(const Context& c, const Numbers& n, const std::function<void(Tier&)>& change) {
  if (!is_slow_between_nodes(c)) return std::nullopt;
  System other = *c.system;
  for (Tier& tier : other.tiers)
    if (tier.role == TierRole::nic) change(tier);
  int large = 0, fits = 0;
  std::string example;
  for (const DiagnosedSize& one : c.sizes) {
    if (one.collective != c.judged.at->collective || one.ranks != c.judged.at->ranks || one.bytes.value() < n["size"]) continue;
    try {
      const Prediction changed = predict(other, one.operation());
      ++large;
      if (one.measured.value() < changed.low / n["faster"] || one.measured.value() > changed.high * n["slower"]) continue;
      ++fits;
      example = gigabytes(changed.bus_bandwidth());
    } catch (const RequestError&) {
      return std::nullopt;
    }
  }
  if (large == 0 || 2 * fits < large) return std::nullopt;
  return Facts{against(c), example};
}
/// In-switch reduction was expected, and the prediction without it fits.
std::optional<Facts> rate_without_sharp(const Context& c, const Numbers& n) {
  const Tier* nic = c.system ? c.system->tier(TierRole::nic) : nullptr;
  if (nic == nullptr || !nic->sharp) return std::nullopt;
  return rate_with(c, n, [](Tier& tier) { tier.sharp = false; });
}
std::optional<Facts> rate_without_gdr(const Context& c, const Numbers& n) {
  return rate_with(c, n, [](Tier& tier) { tier.gpu_direct = false; });
}

/// perftest, or OSU's bandwidth: no library of collectives ran.
std::optional<Facts> stream_of_messages(const Context& c, const Numbers&) {
  return found(c.judged.compared && c.judged.at->streamed);
}

/// The prediction with all adapters at a half or a quarter of their rate fits.
std::optional<Facts> rate_with_slow_ports(const Context& c, const Numbers& n) {
  const Tier* nic = c.system ? c.system->tier(TierRole::nic) : nullptr;
  if (nic == nullptr || slow_ports(c.info, *c.system)) return std::nullopt;
  for (const int part : {2, 4})
    if (auto facts = rate_with(c, n, [part](Tier& tier) { tier.bandwidth.value /= part; })) {
      constexpr int bits = 8;
      facts->push_back(fmt::format("{:.3g}", bits * nic->bandwidth.value.value() / part / 1e9));
      return facts;
    }
  return std::nullopt;
}

/// The rate of a slow stream of messages is that of a known link.
std::optional<Facts> slow_stream_within(const Context& c, const Numbers& n) {
  if (!c.judged.slow || !c.judged.at->streamed) return std::nullopt;
  const double rate = c.judged.at->bus_bandwidth.value();
  return rate >= n["least"] && rate <= n["most"] ? std::optional{Facts{against(c)}} : std::nullopt;
}

/// The ring's own prediction fits where in-switch reduction was expected. Tested wherever the constants were
/// measured, because the interval widens beyond; this is one specific cause, so on a machine named by the
/// user a deviation outside the interval is enough.
std::optional<Facts> rate_of_the_ring(const Context& c, const Numbers& n) {
  if (!c.judged.compared || !c.system || (c.judged.at->nodes > 1 && !c.inside_a_domain()) || (c.guessed && !c.judged.slow))
    return std::nullopt;
  int switched = 0, as_ring = 0;
  std::string example;
  for (const DiagnosedSize& one : c.sizes) {
    const bool named = one.collective == Collective::all_reduce && one.predicted > Time{} && one.nodes == c.judged.at->nodes;
    if (!named || one.bytes.value() < n["size"] || one.unforced != one.predicted) continue;
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

std::span<const Signal> curve_signals() {
  using enum QuantityKind;
  using enum Threshold::Use;
  static const std::vector<Signal> all{
      {"collapse", collapse, {"shape"}, {{"times"}}},
      {"dip", dip, {"before", "at", "later"}, {{"fall"}, {"step"}, {"again"}}},
      {"unsteady", unsteady, {"at", "best", "times", "of"}, {{"size", size}, {"ratio"}}},
      {"late_launches", late_launches, {"time"}, {{"size", size}, {"time", time}}},
      {"few_channels_listed", few_channels_listed, {"channels"}, {{"channels", count}}},
      {"few_channels_on_nvlink", few_channels_on_nvlink, {"line"}, {{"channels", count}}},
      {"flat_and_low", flat_and_low, {"first", "last"}, {{"rate", link_rate}, {"flat"}, {"size", size}}},
      {"between_two_ends", [](const Context& c, const Numbers&) { return found(c.transfers); }},
      {"falls_off", falls_off, {"best", "last"}, {{"beyond"}, {"share"}, {"size", size}, {"least", link_rate}}},
      {"flat_and_slow_between_two", flat_and_slow_between_two, {"first", "last"}, {{"rate", link_rate}, {"flat"}, {"size", size}}},
      {"message_too_small", message_too_small, {"size", "shown"}, {{"size", size}, {"share"}}},
      {"slow", slow, {"compared"}},
      {"slower_between_nodes",
       slower_between_nodes,
       {"against", "ratio"},
       {{"least", number, optional}, {"most", number, optional}, {"under", link_rate, optional}}},
      {"slower_in_a_domain", slower_in_a_domain, {"against", "ratio"}, {{"least", number, optional}, {"most", number, optional}}},
      {"slower_in_a_node", slower_in_a_node, {"against", "ratio"}, {{"least", number, optional}, {"most", number, optional}}},
      {"slower_to_the_host", slower_to_the_host, {"against", "ratio"}, {{"least", number, optional}, {"most", number, optional}}},
      {"fabric_used", fabric_used},
      {"direct_connections", direct_connections},
      {"all_adapters_used", all_adapters_used},
      {"over_roce", over_roce},
      {"over_infiniband", over_infiniband},
      {"rate_without_sharp", rate_without_sharp, {"against", "rate"}, {{"size", size}, {"faster"}, {"slower"}}},
      {"rate_without_gdr", rate_without_gdr, {"against", "rate"}, {{"size", size}, {"faster"}, {"slower"}}},
      {"one_place_slower", one_place_slower, {"slow", "fast", "factor", "at", "best"}, {{"size", size}, {"ratio"}, {"same"}}},
      {"boards_on_pcie", boards_on_pcie},
      {"rate_of_one_adapter", rate_of_one_adapter, {"against", "used", "endpoints", "rate"}, {{"near"}, {"adapters", count}}},
      {"half_of_the_adapters", half_of_the_adapters, {"against", "half"}, {{"least"}, {"most"}}},
      {"stream_of_messages", stream_of_messages},
      {"slow_stream_within", slow_stream_within, {"against"}, {{"least", link_rate}, {"most", link_rate}}},
      {"rate_with_slow_ports", rate_with_slow_ports, {"against", "rate", "port"}, {{"size", size}, {"faster"}, {"slower"}}},
      {"rate_of_the_ring", rate_of_the_ring, {"example"}, {{"size", size}, {"slower"}, {"faster_than_ring"}, {"slower_than_ring"}}},
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
        {"forcing_costs"},
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
