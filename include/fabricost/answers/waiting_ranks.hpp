#pragma once
/// \file waiting_ranks.hpp
/// Ranks that wait for the slowest among them: what `stragglers` is asked, from a distribution or from measured times.

#include <fabricost/economics/stragglers.hpp>
#include <fabricost/readings/iteration_times.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace fabricost {

struct WaitingRanks {
  Jitter jitter;
  std::optional<MeasuredTimes> measured;
  IterationTimes times;
  double ranks = 0;
  int barriers = 1;
  std::vector<SlowKind> slow;
  int rails = 0, lost = 1;
  LostRail reroute = LostRail::spread;
  double network = 0;  ///< share of a step that waits for it

  /// Expected time of a step over so many ranks, all jitter and no slow hosts. \throws RequestError as expected_maximum
  [[nodiscard]] double step(double n) const { return measured ? measured->expected_maximum(n) : expected_step(jitter, n, barriers); }
  [[nodiscard]] double mean() const { return measured ? measured->mean() : jitter.mean; }
  [[nodiscard]] double deviation() const { return measured ? measured->deviation() : jitter.deviation; }
};

/// Ranks whose mean lies more than 5 % above the middle one's, the slowest first: slow all the time, not now and then. By place in
/// `rank_names`.
[[nodiscard]] inline std::vector<std::size_t> slow_ranks(const IterationTimes& t) {
  constexpr double slow_from = 1.05;
  std::vector<std::size_t> out;
  if (t.ranks < 3) return out;
  std::vector<double> sorted = t.rank_means;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  const double middle = sorted[sorted.size() / 2];
  for (std::size_t i = 0; i < t.rank_means.size(); ++i)
    if (t.rank_means[i] > slow_from * middle) out.push_back(i);
  std::sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) { return t.rank_means[a] > t.rank_means[b]; });
  return out;
}

/// Numbers of ranks a table shows: round ones, and the one asked about.
[[nodiscard]] inline std::vector<double> shown_ranks(double ranks) {
  std::vector<double> out{1, 8, 64, 512, 4096, 16384, 131072};
  if (std::find(out.begin(), out.end(), ranks) == out.end()) out.push_back(ranks);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace fabricost
