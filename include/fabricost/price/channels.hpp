#pragma once
/// \file channels.hpp
/// How many channels NCCL opens and how fast it believes each to be. It walks a list of candidate speeds from fast to slow,
/// keeps the (channels, speed) pair with the largest product (at most 32 channels, not below half the fastest that fits), and
/// splits fast channels in two (NVIDIA/nccl 2.30, graph/search.cc).

#include <fabricost/hardware/kinds.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace fabricost {

struct Channels {
  int count = 1;
  double rate = 0;  ///< bytes per second each
  [[nodiscard]] double total() const { return count * rate; }
};

namespace detail {
inline constexpr std::array<double, 13> speeds_ampere{40e9, 30e9, 20e9, 18e9, 15e9, 12e9, 10e9, 9e9, 7e9, 6e9, 5e9, 4e9, 3e9};
inline constexpr std::array<double, 11> speeds_hopper{60e9, 50e9, 40e9, 30e9, 24e9, 20e9, 15e9, 12e9, 11e9, 6e9, 3e9};
inline constexpr std::array<double, 12> speeds_blackwell{90e9, 80e9, 70e9, 60e9, 50e9, 45e9, 40e9, 30e9, 24e9, 20e9, 19e9, 18e9};

[[nodiscard]] inline bool hopper_or_later(Generation g) { return g >= Generation::hopper && is_nvidia(g); }
[[nodiscard]] inline std::span<const double> channel_speeds(Generation g) {
  if (!hopper_or_later(g)) return speeds_ampere;
  if (g == Generation::hopper) return speeds_hopper;
  return speeds_blackwell;
}
}  // namespace detail

/// The ring search over `total` bytes per second of one GPU's links.
[[nodiscard]] inline Channels search_channels(double total, Generation generation) {
  const bool modern = detail::hopper_or_later(generation);
  const double enough = total * (1 + 1e-12);
  const std::span<const double> speeds = detail::channel_speeds(generation);
  std::size_t at = 0;
  while (at < speeds.size() && speeds[at] > enough) ++at;
  Channels best;
  if (at < speeds.size()) {
    const double slowest = speeds[at] / 2 * (1 - 1e-12);
    double product = 0;  // of the best
    for (; at < speeds.size() && speeds[at] >= slowest; ++at) {
      const double speed = speeds[at];
      const double count = static_cast<int>(std::min(32.0, enough / speed));
      const double together = count * speed;
      if (!(together > product * (1 + 1e-12))) continue;
      best = {static_cast<int>(count), speed};
      product = together;
      if (product >= total) break;  // nothing is left over that a slower speed could use
    }
  }
  if (best.rate == 0) return {1, total};
  if (best.rate >= (modern ? 50e9 : 25e9) && (!modern || best.count > 4) && best.count <= 16) best = {2 * best.count, best.rate / 2};
  return best;
}

/// Channels NCCL runs collectives with inside a domain: twice what the search finds, 32 at most (24 on 8 A100 or H100, 32 on
/// 8 B200; found by fitting, equal to NCCL's own count).
[[nodiscard]] inline int running_channels(const Channels& found) { return std::clamp(2 * found.count, 1, 32); }

/// NVLS runs one channel per local rank, at the largest speed b with b (n + 1) <= total.
[[nodiscard]] inline Channels in_switch_channels(double usable_per_gpu, int ranks, Generation generation) {
  for (const double speed : detail::channel_speeds(generation))
    if (speed * (ranks + 1) <= usable_per_gpu * (1 + 1e-12)) return {ranks, speed};
  return {ranks, usable_per_gpu / (ranks + 1)};
}

}  // namespace fabricost
