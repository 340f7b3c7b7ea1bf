/// \file tables.cpp
/// Shared by all tables: verdicts, numbers as text, finding a row, and the additive reference of the tests.

#include "tables.hpp"

#include "specs.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace seed_tables {

using namespace fabricost::plan;

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::reproduced: return "reproduced";
    case Verdict::qualified: return "qualified";
    case Verdict::corrected: return "corrected";
    case Verdict::unverifiable: return "not checkable";
    case Verdict::added: return "not in the texts";
  }
  return "";
}

Verdict judge(double said_low, double said_high, double ours, double tolerance) {
  return ours >= said_low * (1 - tolerance) && ours <= said_high * (1 + tolerance) ? Verdict::reproduced : Verdict::corrected;
}

std::string Figure::text() const {
  if (std::isnan(value)) return note.empty() ? "-" : note;
  std::string out = seed_tables::text(value, decimals);
  if (!unit.empty()) out += unit == "x" ? unit : fmt::format(" {}", unit);
  if (low < high) out += fmt::format(" ({} to {})", seed_tables::text(low, decimals), seed_tables::text(high, decimals));
  if (!note.empty()) out += fmt::format(" ({})", note);
  return out;
}

const Row& Table::row(std::string_view label) const {
  for (const Row& row : rows)
    if (row.label == label) return row;
  throw std::out_of_range(title + ": no row " + std::string{label});
}

double AdditiveRing::operator()(double bytes, int ranks) const {
  return start + step * 2 * (ranks - 1) + bus_factor(Collective::all_reduce, ranks) * bytes / bytes_per_second;
}

AdditiveRing additive_ring(std::string_view link_name) {
  const Link& one = link(link_name);
  if (link_name == "nvlink-3") return {8.1e-6, 0.98e-6, gpu("a100-sxm-80").scale_up_links * one.bandwidth.value.value()};
  if (link_name == "nvlink-4") return {4.8e-6, 0.79e-6, gpu("h100-sxm").scale_up_links * one.bandwidth.value.value()};
  if (link_name == "nvlink-5") return {6.7e-6, 1.36e-6, gpu("b200-sxm").scale_up_links * one.bandwidth.value.value()};
  // PCIe: NCCL's own planning constants for LL, never measured; before encoding, as the reference figures took it
  if (link_name == "pcie-4" || link_name == "pcie-5") return {6.6e-6, 1.0e-6, 1e9 * raw_rate(one)};
  throw std::out_of_range("no additive reference for " + std::string{link_name});
}

}  // namespace seed_tables
