#pragma once
/// \file load.hpp
/// Imbalance of expert ranks: the fullest rank over the mean, the choices a capacity factor drops and pads,
/// and the effect of replicas.
///
/// T tokens give rank r X_r choices, mean T m_r and variance T m_r d_r; the layer waits for the largest:
///
///   E[max] = sum over x >= 0 of 1 - prod_r F_r(x)        F_r: d_r x Poisson(T m_r / d_r), by the Wilson-Hilferty normal approximation
///   d = (1 - mean share of the rank's experts) E / (E - 1)
///
/// In uniform routing d = (E - k) / (E - 1): hypergeometric choices, corrected for the fixed sum of all
/// loads. Within 3 % of simulated tokens from one token per rank on (tests/unit/experts).

#include <fabricost/experts/popularity.hpp>

#include <limits>
#include <utility>

namespace fabricost {

namespace detail {

/// P(d x Poisson(mean / d) <= x), x a whole number of choices.
[[nodiscard]] inline double at_most(double x, double mean, double d) {
  if (mean <= 0) return 1;
  if (d < 1e-4) return x >= mean - 1e-9 ? 1 : 0;
  const double n = (x + 0.5) / d + 0.5;  // of the Poisson, plus one
  if (n <= 0) return 0;
  const double z = 3 * std::sqrt(n) * (1 - 1 / (9 * n) - std::cbrt(mean / d / n));
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

}  // namespace detail

/// Ranks (or experts, or nodes) with equal load distribution.
struct LoadClass {
  double mean = 0;        ///< choices one token gives it
  double dispersion = 1;  ///< variance over mean
  double count = 1;
};

/// Expected largest load over the mean load. \param classes of all ranks \param tokens of all ranks together
/// \param max choices of one token that a single rank can take
[[nodiscard]] inline double fullest_over_mean(std::span<const LoadClass> classes, double tokens, double max) {
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

/// Groups ranks into classes of similar mean: equal within 2 %, at most 48 classes.
[[nodiscard]] inline std::vector<LoadClass> classes_of(std::span<const double> means, std::span<const double> dispersions) {
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

/// Fullest over mean for any number of tokens: computed at two points per octave, linear in log2(tokens).
class Imbalance {
 public:
  Imbalance() { values_.fill(1); }
  /// \param tokens_per_unit tokens of all ranks per unit of the argument (number of ranks for tokens per
  /// rank)
  Imbalance(std::span<const LoadClass> classes, double tokens_per_unit, double max) {
    even_ = false;
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = fullest_over_mean(classes, tokens_per_unit * std::exp2(static_cast<double>(i) / 2), max);
  }
  /// \param tokens at least 1 (fewer count as 1); above 2^20 as 2^20
  [[nodiscard]] double operator()(double tokens) const { return even_ ? 1 : at(position(tokens)); }
  /// Position of a number of tokens in every such table, so that several share one logarithm.
  [[nodiscard]] static double position(double tokens) {
    return std::clamp(2 * std::log2(std::max(1.0, tokens)), 0.0, static_cast<double>(points - 1));
  }
  [[nodiscard]] double at(double position) const {
    const auto i = std::min(static_cast<std::size_t>(position), points - 2);
    return values_[i] + (position - static_cast<double>(i)) * (values_[i + 1] - values_[i]);
  }
  [[nodiscard]] bool even() const { return even_; }

 private:
  bool even_ = true;
  static constexpr std::size_t points = 41;
  std::array<double, points> values_{};
};

/// Choices of one token that each of `sets` equal runs of experts gets, with their dispersion.
[[nodiscard]] inline std::vector<LoadClass> load_classes(const Gate& g, const Popularity& p, int sets) {
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

/// Expected choices of the fullest of `ranks` ranks over the mean, for `tokens` tokens of all ranks together.
/// Balanced routing: 1.
/// \throws as popularity_of and touched_sets
[[nodiscard]] inline double load_imbalance(const Gate& g, const Routing& r, int ranks, double tokens) {
  static_cast<void>(touched_sets(g, ranks));
  if (r.kind == RoutingKind::balanced) return 1;
  return fullest_over_mean(load_classes(g, popularity_of(g, r, ranks), ranks), tokens, std::min(g.top_k, g.experts / ranks));
}

/// Effect of a capacity factor on the choices of `tokens` tokens.
struct CapacityOutcome {
  double slots = 0;    ///< places each expert keeps: ceil(factor x tokens x k / E)
  double dropped = 0;  ///< share of the choices without a place
  double padded = 0;   ///< share of the places that stay empty but are moved and computed
  double moved = 0;    ///< places over choices: factor on traffic and work due to padding
};

/// Choices of expert i are binomial(tokens, share i); those above the slots are dropped, free slots are
/// padded (GShard, arXiv 2006.16668). Without padding (`dropless` kernels with a limit) only the dropped
/// share applies. Balanced routing fills every slot evenly.
/// \throws RequestError for a factor that is not above zero, and as popularity_of
[[nodiscard]] inline CapacityOutcome capacity_outcome(const Gate& g, const Routing& r, double tokens, double factor) {
  if (!(factor > 0) || std::isinf(factor)) throw RequestError("capacity factor: must be above zero; 1 is the mean load");
  if (!(tokens >= 1) || std::isinf(tokens)) throw RequestError("capacity: at least one token");
  const Popularity p = popularity_of(g, r, 1);
  CapacityOutcome out;
  const double choices = tokens * g.top_k;
  out.slots = std::ceil(factor * choices / g.experts - 1e-9);
  double lost = 0;
  if (r.kind == RoutingKind::balanced) {
    lost = std::max(0.0, choices - out.slots * g.experts);
  } else {
    double last_share = -1, last = 0;
    for (const double share : p.shares) {
      if (share != last_share) {  // uniform: all are equal
        last_share = share;
        const double over = tokens * share - out.slots;
        last = std::max(0.0, over);
        if (share > 0 && share < 1 && out.slots < tokens) {
          // E[(X - c)+] = sum of (x - c) P(x), upwards from c + 1, or from its mode if that is larger
          const double rise = std::log(share), stay = std::log1p(-share);
          const double from = std::max(out.slots + 1, std::floor(tokens * share - 12 * std::sqrt(tokens * share * (1 - share)) - 12));
          double log_p =
              std::lgamma(tokens + 1) - std::lgamma(from + 1) - std::lgamma(tokens - from + 1) + from * rise + (tokens - from) * stay;
          double sum = 0;
          for (double x = from; x <= tokens; ++x) {
            const double add = (x - out.slots) * std::exp(log_p);
            sum += add;
            if (x > tokens * share && add < 1e-12 * (sum + 1e-300)) break;
            log_p += std::log((tokens - x) / (x + 1)) + rise - stay;
          }
          last = sum;
        }
      }
      lost += last;
    }
  }
  const double places = out.slots * g.experts;
  out.dropped = lost / choices;
  out.padded = std::max(0.0, 1 - (choices - lost) / places);
  out.moved = places / choices;
  return out;
}

/// Experts with copies, spread over ranks.
struct Replication {
  std::vector<int> copies;           ///< of each expert
  std::vector<int> expert_of_slot;   ///< slots of rank 0, then of rank 1, ...
  std::vector<double> load_of_rank;  ///< choices one token gives it
  double ratio = 1;                  ///< heaviest rank over the mean
};

/// Copies for the heaviest experts and an even packing, both greedy: each of `redundant` copies goes to the
/// expert with the highest load per copy; copies are then placed, heaviest first, on the least loaded rank
/// with a free slot (the load balancer DeepSeek describes for serving, arXiv 2412.19437, section 3.4, and
/// publishes as EPLB; its hierarchical variant is not modelled). A copy takes an equal part of its expert's
/// tokens. \throws RequestError when the slots do not divide over the ranks
[[nodiscard]] inline Replication replicate(std::span<const double> shares, int ranks, int redundant) {
  const int slots = static_cast<int>(shares.size()) + redundant;
  if (ranks < 1 || redundant < 0 || slots % ranks != 0)
    throw RequestError(std::to_string(shares.size()) + " experts and " + std::to_string(redundant) + " copies do not divide over " +
                       std::to_string(ranks) + " ranks; take " +
                       std::to_string(ranks > 0 ? (ranks - static_cast<int>(shares.size()) % ranks) % ranks : 0) +
                       " copies, or that many and multiples of the ranks more");
  Replication out;
  out.copies.assign(shares.size(), 1);
  const auto load = [&](int i) { return shares[static_cast<std::size_t>(i)] / out.copies[static_cast<std::size_t>(i)]; };
  for (int c = 0; c < redundant; ++c) {
    int heaviest = 0;
    for (int i = 1; i < static_cast<int>(shares.size()); ++i)
      if (load(i) > load(heaviest)) heaviest = i;
    ++out.copies[static_cast<std::size_t>(heaviest)];
  }
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(shares.size()); ++i)
    order.insert(order.end(), static_cast<std::size_t>(out.copies[static_cast<std::size_t>(i)]), i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return load(a) > load(b); });
  const auto each = static_cast<std::size_t>(slots / ranks);
  std::vector<std::vector<int>> rank(static_cast<std::size_t>(ranks));
  out.load_of_rank.assign(rank.size(), 0);
  for (const int i : order) {
    std::size_t best = rank.size();
    for (std::size_t r = 0; r < rank.size(); ++r)
      if (rank[r].size() < each && (best == rank.size() || out.load_of_rank[r] < out.load_of_rank[best])) best = r;
    rank[best].push_back(i);
    out.load_of_rank[best] += load(i);
  }
  double sum = 0, max = 0;
  for (std::size_t r = 0; r < rank.size(); ++r) {
    out.expert_of_slot.insert(out.expert_of_slot.end(), rank[r].begin(), rank[r].end());
    sum += out.load_of_rank[r];
    max = std::max(max, out.load_of_rank[r]);
  }
  out.ratio = sum > 0 ? max * ranks / sum : 1;
  return out;
}

}  // namespace fabricost
