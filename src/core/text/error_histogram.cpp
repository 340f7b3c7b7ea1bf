/// \file error_histogram.cpp
/// Counts into fixed symmetric bins: narrow around zero, wider outside.

#include "text/error_histogram.hpp"

#include "text/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fabricost::core {
namespace {

constexpr std::array<double, 10> edges{-50, -25, -10, -5, -2, 2, 5, 10, 25, 50};
constexpr long long longest_bar = 48;

/// The bin of an error. Rounding is tolerated at edges: 100 x -0.05 is -5.000000000000001.
[[nodiscard]] std::size_t bin_of(double percent) {
  return static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), percent + 1e-9) - edges.begin());
}

}  // namespace

std::string error_histogram(const std::vector<double>& errors) {
  std::array<long long, edges.size() + 1> counts{};
  for (const double error : errors) ++counts[bin_of(100 * error)];
  const long long max = std::max(1LL, *std::max_element(counts.begin(), counts.end()));
  TextTable rows{">error %", ">points", ">share", ""};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string label = i == 0              ? fmt::format("below {:+.0f}", edges.front())
                              : i == edges.size() ? fmt::format("above {:+.0f}", edges.back())
                                                  : fmt::format("{:+.0f} to {:+.0f}", edges[i - 1], edges[i]);
    const double share = errors.empty() ? 0 : 100 * static_cast<double>(counts[i]) / static_cast<double>(errors.size());
    const long long bar = (counts[i] * longest_bar + max - 1) / max;
    rows.row({label, std::to_string(counts[i]), fmt::format("{:.1f} %", share), std::string(static_cast<std::size_t>(bar), '#')});
  }
  return rows.text(2);
}

}  // namespace fabricost::core
