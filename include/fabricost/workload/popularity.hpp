#pragma once
/// \file popularity.hpp
/// Experts that are not chosen alike: what each, and each rank or node, gets of a token.
///
/// Skewed choices (Zipf, a histogram) are drawn one after the other in proportion to a weight w per expert (Plackett-Luce: what the k
/// largest of logits with Gumbel noise are). With an exponential clock of rate w for each expert the first k to ring are the choice, so
/// that
///
///   P(a set of weight W is touched) = int W exp(-W t) P(fewer than k of the others rang by t) dt
///
/// exact to the quadrature (1e-5). A limit on groups with skewed choices is priced by the ratio it has under uniform ones, which is an
/// approximation: within 10 % of simulated tokens for exponents up to 1.5 (tests/experts).

#include <fabricost/workload/routing.hpp>

#include <cstdint>
#include <span>
#include <utility>

namespace fabricost {

/// P(one token touches each set), choices drawn in proportion to `weights` without replacement. O(nodes of the quadrature x (E k + n k)),
/// about a millisecond for 256 experts. \param set_of for each expert, 0 to sets - 1
/// \throws RequestError when fewer than k experts have a weight
[[nodiscard]] inline std::vector<double> touch_chances(std::span<const double> weights, std::span<const int> set_of, int sets, int k) {
  std::vector<double> of_set(static_cast<std::size_t>(sets), 0), out(of_set.size(), 0);
  double total = 0;
  int alive = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    of_set[static_cast<std::size_t>(set_of[i])] += weights[i];
    total += weights[i];
    alive += weights[i] > 0;
  }
  if (alive < k)
    throw RequestError("tokens choose " + std::to_string(k) + " experts, but only " + std::to_string(alive) + " are ever chosen");
  const auto degree = static_cast<std::size_t>(k);  // polynomials in the number chosen, below k
  std::vector<double> group(static_cast<std::size_t>(sets) * degree), before(group.size() + degree), after(degree), sum(degree);
  constexpr double step = 0.1;
  double t = 1e-7 / total;
  for (std::size_t s = 0; s < of_set.size(); ++s) out[s] = of_set[s] * t * std::exp(-step / 2);  // everything earlier
  for (int node = 0; node < 2000; ++node, t *= std::exp(step)) {
    std::fill(group.begin(), group.end(), 0.0);
    for (std::size_t s = 0; s < of_set.size(); ++s) group[s * degree] = 1;
    for (std::size_t i = 0; i < weights.size(); ++i) {  // times (q + p z), below degree k
      const double q = std::exp(-weights[i] * t), p = 1 - q;
      double* g = &group[static_cast<std::size_t>(set_of[i]) * degree];
      for (std::size_t d = degree - 1; d > 0; --d) g[d] = g[d] * q + g[d - 1] * p;
      g[0] *= q;
    }
    const auto times = [&](const double* a, const double* b, double* to) {
      for (std::size_t d = degree; d-- > 0;) {
        double x = 0;
        for (std::size_t j = 0; j <= d; ++j) x += a[j] * b[d - j];
        to[d] = x;
      }
    };
    std::fill(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(degree), 0.0);
    before[0] = 1;
    for (std::size_t s = 0; s < of_set.size(); ++s) times(&before[s * degree], &group[s * degree], &before[(s + 1) * degree]);
    std::fill(after.begin(), after.end(), 0.0);
    after[0] = 1;
    double largest = 0;
    for (std::size_t s = of_set.size(); s-- > 0;) {
      const double* a = &before[s * degree];
      double fewer = 0, some = 0;  // P(fewer than k of the other sets)
      for (std::size_t d = 0; d < degree; ++d) {
        some += after[d];
        sum[d] = some;
      }
      for (std::size_t d = 0; d < degree; ++d) fewer += a[d] * sum[degree - 1 - d];
      const double rings = of_set[s] * t;
      const double add = step * rings * std::exp(-rings) * fewer;
      out[s] += add;
      if (out[s] > 0) largest = std::max(largest, add / out[s]);
      std::vector<double>& next = sum;
      times(after.data(), &group[s * degree], next.data());
      after.swap(next);
    }
    if (t * total > k && largest < 1e-9) break;
  }
  for (double& p : out) p = std::min(1.0, p);
  return out;
}

/// How the experts of a layer are chosen, in expert order. `shares[i]` = P(one token chooses expert i), which sum to k.
struct Popularity {
  std::vector<double> weights;  ///< Plackett-Luce
  std::vector<double> shares;
};

namespace detail {

/// Experts in an order of their own for every seed (a 64-bit linear congruential generator, Knuth's constants).
[[nodiscard]] inline std::vector<int> shuffled(int count, std::uint64_t seed) {
  std::vector<int> out(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] = i;
  std::uint64_t state = seed * 6364136223846793005ULL + 1442695040888963407ULL;
  for (std::size_t i = out.size(); i > 1; --i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::swap(out[i - 1], out[static_cast<std::size_t>((state >> 33) % i)]);
  }
  return out;
}

/// Largest sum of `shares` over equal runs.
[[nodiscard]] inline double heaviest_run(std::span<const double> shares, int runs) {
  const std::size_t size = shares.size() / static_cast<std::size_t>(runs);
  double most = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(runs); ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += shares[r * size + i];
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace detail

/// Weights and shares of every expert. Zipf's ranks of popularity stand in random order: of 15 orders, the one whose heaviest of `ranks`
/// ranks is the median. A histogram gives the shares k c / sum; its weights are -log(1 - share), the rates at which independent clocks give
/// them. \throws RequestError for a gate that is none, a negative exponent, a histogram of another length, without a sum, or in which an
/// expert receives more than every token could send it
[[nodiscard]] inline Popularity popularity_of(const Gate& g, const Routing& r, int ranks) {
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
  if (!(r.exponent >= 0 && r.exponent <= 20)) throw RequestError("zipf: an exponent must be 0 to 20");
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

/// P(one token touches each of `sets` equal runs of experts): what each rank or node receives of every token when copies to it are made
/// once. \throws as touched_sets and touch_chances
[[nodiscard]] inline std::vector<double> touched_each(const Gate& g, const Routing& r, const Popularity& p, int sets) {
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

}  // namespace fabricost
