#pragma once
/// \file imbalance-inl.hpp
/// Bodies of imbalance.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/experts/imbalance.hpp>

namespace fabricost::core::detail {

FABRICOST_BODY double at_most(double x, double mean, double d) {
  if (mean <= 0) return 1;
  if (d < 1e-4) return x >= mean - 1e-9 ? 1 : 0;
  const double n = (x + 0.5) / d + 0.5;  // of the Poisson, plus one
  if (n <= 0) return 0;
  const double z = 3 * std::sqrt(n) * (1 - 1 / (9 * n) - std::cbrt(mean / d / n));
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY double fullest_over_mean(std::span<const LoadClass> classes, double tokens, double max) {
  double n = 0, sum = 0, top = 0;
  for (const LoadClass& c : classes) {
    n += c.count;
    sum += c.count * c.mean;
    top = std::max(top, c.mean);
  }
  if (n <= 1 || sum <= 0 || !(tokens > 0)) return 1;
  const double mean = tokens * sum / n;
  double spread = 0, low = 0;
  for (const LoadClass& c : classes) {
    const double deviation = std::sqrt(tokens * c.mean * c.dispersion);
    spread = std::max(spread, deviation);
    low = std::max(low, tokens * c.mean - 8 * deviation);
  }
  low = std::max(0.0, std::floor(low));
  const double step = std::max(1.0, std::floor(spread / 6));
  double out = low;
  for (double x = low; x < tokens * max; x += step) {
    const double middle = x + (step - 1) / 2;
    double none_above = 1;
    for (const LoadClass& c : classes) {
      const double f = detail::at_most(middle, tokens * c.mean, c.dispersion);
      none_above *= c.count == 1 ? f : std::pow(f, c.count);
      if (none_above == 0) break;
    }
    out += step * (1 - none_above);
    if (1 - none_above < 1e-7 && middle > tokens * top) break;
  }
  return std::max(1.0, std::min(out, tokens * max) / mean);
}

FABRICOST_BODY std::vector<LoadClass> classes_of(std::span<const double> means, std::span<const double> dispersions) {
  std::vector<std::size_t> order(means.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return means[a] > means[b]; });
  std::vector<LoadClass> out;
  double first = 0;
  for (const std::size_t i : order) {
    if (!out.empty() && (means[i] >= 0.98 * first || out.size() == 48)) {
      LoadClass& c = out.back();
      c.mean = (c.mean * c.count + means[i]) / (c.count + 1);
      c.dispersion = (c.dispersion * c.count + dispersions[i]) / (c.count + 1);
      ++c.count;
    } else {
      out.push_back({means[i], dispersions[i], 1});
      first = means[i];
    }
  }
  return out;
}

FABRICOST_BODY std::vector<LoadClass> load_classes(const Gate& g, const Popularity& p, int sets) {
  const auto size = static_cast<std::size_t>(g.experts / sets);
  std::vector<double> means, dispersions;
  const double joint = g.experts > 1 ? g.experts / (g.experts - 1.0) : 1;
  for (std::size_t s = 0; s < static_cast<std::size_t>(sets); ++s) {
    double sum = 0, square = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const double share = p.shares[s * size + i];
      sum += share;
      square += share * share;
    }
    means.push_back(sum);
    dispersions.push_back(sum > 0 ? std::max(0.0, (1 - square / sum) * joint) : 0);
  }
  return classes_of(means, dispersions);
}

FABRICOST_BODY Imbalance imbalance_of(const Gate& g, const Popularity& p, int ranks) {
  return {load_classes(g, p, ranks), static_cast<double>(ranks), static_cast<double>(std::min(g.top_k, std::max(1, g.experts / ranks)))};
}

FABRICOST_BODY double load_imbalance(const Gate& g, const Routing& r, int ranks, double tokens) {
  static_cast<void>(touched_sets(g, ranks));
  if (r.kind == RoutingKind::balanced) return 1;
  return fullest_over_mean(load_classes(g, popularity_of(g, r, ranks), ranks), tokens, std::min(g.top_k, g.experts / ranks));
}

}  // namespace fabricost::core
