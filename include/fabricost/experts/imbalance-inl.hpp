#pragma once
/// Bodies of imbalance.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/experts/imbalance.hpp>

namespace fabricost::core::detail {

/// P(fewer than k of the experts outside each set rang), by polynomials in the number that rang, below degree k. O(E k + n k^2).
class FewOthers {
 public:
  FewOthers(std::span<const int> set_of, int sets, int k)
      : set_of_(set_of),
        degree_(static_cast<std::size_t>(k)),
        group_(static_cast<std::size_t>(sets) * degree_),
        before_(group_.size() + degree_),
        after_(degree_),
        sum_(degree_),
        few_(static_cast<std::size_t>(sets)) {}

  /// \param chances that each expert rang
  [[nodiscard]] const std::vector<double>& operator()(std::span<const double> chances);

 private:
  void times(const double* a, const double* b, double* to) const;

  std::span<const int> set_of_;
  std::size_t degree_;
  std::vector<double> group_, before_, after_, sum_, few_;
};

FABRICOST_BODY const std::vector<double>& FewOthers::operator()(std::span<const double> chances) {
  std::fill(group_.begin(), group_.end(), 0.0);
  for (std::size_t s = 0; s < few_.size(); ++s) group_[s * degree_] = 1;
  for (std::size_t i = 0; i < chances.size(); ++i) {  // times (q + p z), below degree k
    const double p = chances[i], q = 1 - p;
    double* g = &group_[static_cast<std::size_t>(set_of_[i]) * degree_];
    for (std::size_t d = degree_ - 1; d > 0; --d) g[d] = g[d] * q + g[d - 1] * p;
    g[0] *= q;
  }
  std::fill(before_.begin(), before_.begin() + static_cast<std::ptrdiff_t>(degree_), 0.0);
  before_[0] = 1;
  for (std::size_t s = 0; s < few_.size(); ++s) times(&before_[s * degree_], &group_[s * degree_], &before_[(s + 1) * degree_]);
  std::fill(after_.begin(), after_.end(), 0.0);
  after_[0] = 1;
  for (std::size_t s = few_.size(); s-- > 0;) {
    const double* a = &before_[s * degree_];
    double fewer = 0, some = 0;
    for (std::size_t d = 0; d < degree_; ++d) {
      some += after_[d];
      sum_[d] = some;
    }
    for (std::size_t d = 0; d < degree_; ++d) fewer += a[d] * sum_[degree_ - 1 - d];
    few_[s] = fewer;
    times(after_.data(), &group_[s * degree_], sum_.data());
    after_.swap(sum_);
  }
  return few_;
}

FABRICOST_BODY void FewOthers::times(const double* a, const double* b, double* to) const {
  for (std::size_t d = degree_; d-- > 0;) {
    double x = 0;
    for (std::size_t j = 0; j <= d; ++j) x += a[j] * b[d - j];
    to[d] = x;
  }
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY std::vector<double> touch_chances(std::span<const double> weights, std::span<const int> set_of, int sets, int k) {
  const auto alive = std::count_if(weights.begin(), weights.end(), [](double w) { return w > 0; });
  if (alive < k)
    throw RequestError("tokens choose " + std::to_string(k) + " experts, but only " + std::to_string(alive) + " are ever chosen");
  constexpr double max_products = 8.1e6;  // of polynomials at one node of the quadrature
  if (static_cast<double>(k) * (static_cast<double>(weights.size()) + 2.0 * sets * k) > max_products)
    throw RequestError("tokens that choose " + std::to_string(k) + " of " + std::to_string(weights.size()) +
                       " experts unevenly are not priced: too many ways to count; take uniform routing");
  detail::FewOthers few_others{set_of, sets, k};
  std::vector<double> of_set(static_cast<std::size_t>(sets), 0), out(of_set.size(), 0), chances(weights.size());
  double total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    of_set[static_cast<std::size_t>(set_of[i])] += weights[i];
    total += weights[i];
  }
  const double step = std::min(0.1, 1.25 / std::sqrt(static_cast<double>(k)));  // the k-th clock rings within 1 / sqrt(k) of its time
  double t = 1e-7 / total;
  for (std::size_t s = 0; s < of_set.size(); ++s) out[s] = of_set[s] * t * std::exp(-step / 2);  // the part before the first node
  const int most_nodes = static_cast<int>(200 / step);
  for (int node = 0; node < most_nodes; ++node, t *= std::exp(step)) {
    for (std::size_t i = 0; i < weights.size(); ++i) chances[i] = 1 - std::exp(-weights[i] * t);
    const std::vector<double>& few = few_others(chances);
    double largest = 0;
    for (std::size_t s = of_set.size(); s-- > 0;) {
      const double rings = of_set[s] * t;
      const double add = step * rings * std::exp(-rings) * few[s];
      out[s] += add;
      if (out[s] > 0) largest = std::max(largest, add / out[s]);
    }
    if (t * total > k && largest < 1e-9) break;
  }
  for (double& p : out) p = std::min(1.0, p);
  return out;
}

}  // namespace fabricost::core

namespace fabricost::core::detail {

/// Experts in a different order for every seed (a 64-bit linear congruential generator, Knuth's constants).
FABRICOST_BODY std::vector<int> shuffled(int count, std::uint64_t seed) {
  std::vector<int> out(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] = i;
  std::uint64_t state = seed * 6364136223846793005ULL + 1442695040888963407ULL;
  for (std::size_t i = out.size(); i > 1; --i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::swap(out[i - 1], out[static_cast<std::size_t>((state >> 33) % i)]);
  }
  return out;
}

FABRICOST_BODY double heaviest_run(std::span<const double> shares, int runs) {
  const std::size_t size = shares.size() / static_cast<std::size_t>(runs);
  double max = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(runs); ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += shares[r * size + i];
    max = std::max(max, sum);
  }
  return max;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY Popularity popularity_of(const Gate& g, const Routing& r, int ranks) {
  check(g);
  const auto E = static_cast<std::size_t>(g.experts);
  Popularity out;
  if (!r.skewed()) {
    out.weights.assign(E, 1.0);
    out.shares.assign(E, static_cast<double>(g.top_k) / g.experts);
    return out;
  }
  if (r.kind == RoutingKind::histogram) {
    if (r.histogram.size() != E)
      throw RequestError("histogram: " + std::to_string(r.histogram.size()) + " counts for " + std::to_string(g.experts) + " experts");
    double sum = 0;
    for (const double c : r.histogram) {
      if (!(c >= 0) || std::isinf(c)) throw RequestError("histogram: " + std::to_string(c) + " must be a count, zero or more");
      sum += c;
    }
    if (!(sum > 0)) throw RequestError("histogram: all counts are zero; give at least one token");
    for (std::size_t i = 0; i < E; ++i) {
      const double share = g.top_k * r.histogram[i] / sum;
      if (share > 1 + 1e-9)
        throw RequestError("histogram: expert " + std::to_string(i) + " receives " + std::to_string(share) +
                           " of every token; with top_k " + std::to_string(g.top_k) + " none can have more than 1/" +
                           std::to_string(g.top_k) + " of all choices");
      out.shares.push_back(std::min(1.0, share));
      out.weights.push_back(share >= 1 - 1e-12 ? 30.0 : -std::log1p(-share));
    }
    return out;
  }
  if (!(r.exponent >= 0 && r.exponent <= steepest_zipf)) throw RequestError("zipf: an exponent must be 0 to 10");
  std::vector<double> weights(E);
  std::vector<int> alone(E);
  for (std::size_t i = 0; i < E; ++i) {
    weights[i] = std::pow(static_cast<double>(i + 1), -r.exponent);
    alone[i] = static_cast<int>(i);
  }
  const std::vector<double> shares = touch_chances(weights, alone, g.experts, g.top_k);
  const int runs = g.experts % std::max(1, ranks) == 0 ? std::max(1, ranks) : 1;
  std::vector<std::pair<double, std::uint64_t>> heaviest;
  std::vector<double> order(E);
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const std::vector<int> at = detail::shuffled(g.experts, seed);
    for (std::size_t i = 0; i < E; ++i) order[i] = shares[static_cast<std::size_t>(at[i])];
    heaviest.emplace_back(detail::heaviest_run(order, runs), seed);
  }
  std::sort(heaviest.begin(), heaviest.end());
  const std::vector<int> at = detail::shuffled(g.experts, heaviest[heaviest.size() / 2].second);
  for (std::size_t i = 0; i < E; ++i) {
    out.weights.push_back(weights[static_cast<std::size_t>(at[i])]);
    out.shares.push_back(shares[static_cast<std::size_t>(at[i])]);
  }
  return out;
}

FABRICOST_BODY std::vector<double> touched_each(const Gate& g, const Routing& r, const Popularity& p, int sets) {
  const double alike = touched_sets(g, sets);
  if (!r.skewed()) return std::vector<double>(static_cast<std::size_t>(sets), alike / sets);
  std::vector<int> set_of(static_cast<std::size_t>(g.experts));
  const int size = g.experts / sets;
  for (int i = 0; i < g.experts; ++i) set_of[static_cast<std::size_t>(i)] = i / size;
  std::vector<double> out = touch_chances(p.weights, set_of, sets, g.top_k);
  if (g.limited()) {
    const double less = alike / touched_sets({g.experts, g.top_k}, sets);
    for (double& x : out) x *= less;
  }
  return out;
}

}  // namespace fabricost::core

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
