/// The size grid, and the search for bends.

#include "measure/plan/sizes.hpp"

#include <algorithm>
#include <cmath>

namespace fabricost::probes::measure {

namespace {

/// A round size between two others: a power of two if there is one, else 1.5 times one.
std::optional<std::uint64_t> between(std::uint64_t below, std::uint64_t above, std::uint64_t unit) {
  const double centre = 0.5 * (std::log2(static_cast<double>(below)) + std::log2(static_cast<double>(above)));
  for (const double size : {std::exp2(std::round(centre)), 1.5 * std::exp2(std::floor(centre)), std::exp2(centre)}) {
    const std::uint64_t out = fitting(static_cast<std::uint64_t>(size), unit);
    if (out > below && out < above) return out;
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t fitting(std::uint64_t bytes, std::uint64_t unit) { return std::max(bytes / unit, std::uint64_t{1}) * unit; }

std::vector<std::uint64_t> coarse_sizes(std::uint64_t min, std::uint64_t max, double factor, std::uint64_t unit) {
  std::vector<std::uint64_t> out;
  const auto add = [&](std::uint64_t bytes) {
    bytes = fitting(bytes, unit);
    if (out.empty() || bytes > out.back()) out.push_back(bytes);
  };
  for (double size = static_cast<double>(min); size < static_cast<double>(max) / std::sqrt(factor); size *= factor)
    add(static_cast<std::uint64_t>(size));
  add(max);
  return out;
}

double miss(const CurvePoint& below, const CurvePoint& at, const CurvePoint& above) {
  const auto x = [](const CurvePoint& p) { return std::log(static_cast<double>(p.bytes)); };
  const double share = (x(at) - x(below)) / (x(above) - x(below));
  return std::fabs(std::log(at.seconds) - (1 - share) * std::log(below.seconds) - share * std::log(above.seconds));
}

std::optional<std::uint64_t> next_size(const std::vector<CurvePoint>& curve, const std::set<std::uint64_t>& tried, const BendRules& rules,
                                       std::uint64_t unit) {
  struct Gap {
    double missed = 0, width = 0;
    std::uint64_t size = 0;
  };
  std::vector<Gap> gaps;
  const auto offer = [&](double missed, const CurvePoint& a, const CurvePoint& b) {
    const double width = static_cast<double>(b.bytes) / static_cast<double>(a.bytes);
    if (width < rules.finest * rules.finest) return;
    if (const auto size = between(a.bytes, b.bytes, unit); size && tried.count(*size) == 0) gaps.push_back({missed, width, *size});
  };
  if (curve.size() == 2) offer(rules.threshold, curve[0], curve[1]);
  for (std::size_t i = 1; i + 1 < curve.size(); ++i) {
    const double missed = miss(curve[i - 1], curve[i], curve[i + 1]);
    if (missed <= std::max(rules.threshold, 3 * curve[i].spread)) continue;
    offer(missed, curve[i - 1], curve[i]);
    offer(missed, curve[i], curve[i + 1]);
  }
  if (gaps.empty()) return std::nullopt;
  return std::max_element(gaps.begin(), gaps.end(),
                          [](const Gap& a, const Gap& b) { return a.missed != b.missed ? a.missed < b.missed : a.width < b.width; })
      ->size;
}

}  // namespace fabricost::probes::measure
