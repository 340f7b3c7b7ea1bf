#pragma once
/// The ring of a pointer chase: one random cycle through all lines of a working set, so that prefetchers and
/// open DRAM pages do not help.
///
/// Sattolo's algorithm (1986) draws each of the (n-1)! cycles of n lines with equal probability. A
/// permutation with several cycles would cover only part of the set and measure a smaller cache.

#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::probes::measure::gpu {

/// next[i] of line i, a cycle through all `lines`; the same for the same seed.
/// \throws std::invalid_argument for fewer than two lines or more than an index can name
[[nodiscard]] inline std::vector<std::uint32_t> chase_cycle(std::uint64_t lines, std::uint64_t seed = 1) {
  if (lines < 2 || lines > std::numeric_limits<std::uint32_t>::max())
    throw std::invalid_argument("a chase goes through 2 to 2^32 - 1 lines, not " + std::to_string(lines));
  std::vector<std::uint32_t> next(lines);
  for (std::uint64_t i = 0; i < lines; ++i) next[i] = static_cast<std::uint32_t>(i);
  std::mt19937_64 random(seed);
  for (std::uint64_t i = lines - 1; i > 0; --i) std::swap(next[i], next[random() % i]);  // never with itself, which keeps it a single cycle
  return next;
}

/// True if following `next` from line 0 visits every line once and returns.
[[nodiscard]] inline bool is_one_cycle(const std::vector<std::uint32_t>& next) {
  std::uint64_t at = 0, seen = 0;
  do {
    if (at >= next.size() || seen == next.size()) return false;
    at = next[at];
    ++seen;
  } while (at != 0);
  return seen == next.size();
}

/// The line reached from line 0 after `steps` steps.
[[nodiscard]] inline std::uint32_t after_steps(const std::vector<std::uint32_t>& next, std::uint64_t steps) {
  std::uint32_t at = 0;
  for (std::uint64_t i = steps % next.size(); i > 0; --i) at = next[at];
  return at;
}

}  // namespace fabricost::probes::measure::gpu
