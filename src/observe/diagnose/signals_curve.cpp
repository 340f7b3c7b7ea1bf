/// \file signals_curve.cpp
/// The shape of bandwidth over size: a collapse, a dip, flat and low, slow at small sizes.

#include "diagnose/context.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::observe::diagnosis {

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

/// A drop that larger sizes recover from: the tuner changes algorithm or protocol too early or too late.
std::optional<Facts> dip(const Context& c, const Numbers& n) {
  const auto rows = large_rows(c);
  for (std::size_t i = 0; i + 2 < rows.size(); ++i) {
    if (rows[i + 1]->bus > n["fall"] * rows[i]->bus || rows[i + 1]->bytes > n["step"] * rows[i]->bytes) continue;
    const double later = best_after(rows, i + 1);
    if (later < n["again"] * rows[i]->bus) continue;
    return Facts{at_size(*rows[i]) + at_line(*rows[i]), at_size(*rows[i + 1]), gigabytes(later)};
  }
  return std::nullopt;
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

std::optional<Facts> between_two_ends(const Context& c, const Numbers&) { return found(c.transfers); }

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

}  // namespace

std::span<const Signal> curve_signals() {
  using enum QuantityKind;
  static const std::vector<Signal> all{
      {"collapse", collapse, {"shape"}, {{"times"}}},
      {"dip", dip, {"before", "at", "later"}, {{"fall"}, {"step"}, {"again"}}},
      {"late_launches", late_launches, {"time"}, {{"size", size}, {"time", time}}},
      {"few_channels_listed", few_channels_listed, {"channels"}, {{"channels", count}}},
      {"few_channels_on_nvlink", few_channels_on_nvlink, {"line"}, {{"channels", count}}},
      {"flat_and_low", flat_and_low, {"first", "last"}, {{"rate", link_rate}, {"flat"}, {"size", size}}},
      {"between_two_ends", between_two_ends},
      {"falls_off", falls_off, {"best", "last"}, {{"beyond"}, {"share"}, {"size", size}, {"least", link_rate}}},
      {"flat_and_slow_between_two", flat_and_slow_between_two, {"first", "last"}, {{"rate", link_rate}, {"flat"}, {"size", size}}},
      {"message_too_small", message_too_small, {"size", "shown"}, {{"size", size}, {"share"}}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
