#pragma once
/// \file channels.hpp
/// Number of channels NCCL opens and the speed its planning assumes for each. NCCL walks a list of candidate
/// speeds from fast to slow, keeps the (channels, speed) pair with the largest product (at most 32 channels,
/// not below half the fastest that fits), and splits fast channels in two. Speeds and limits are those of a
/// version's tables (hardware/tuner.hpp).

#include <fabricost/hardware/tuner.hpp>

#include <algorithm>
#include <cmath>

namespace fabricost {

struct Channels {
  int count = 1;
  double rate = 0;  ///< bytes per second each
  [[nodiscard]] double total() const { return count * rate; }
};

/// The ring search over `total` bytes per second of one GPU's links.
[[nodiscard]] inline Channels search_channels(double total, Generation generation, const TunerTables& tables = tables_of(newest_tuner)) {
  const std::size_t row = tuner_generation(generation);
  const double enough = total * (1 + 1e-12);
  const double* speed = tables.speeds[row];
  while (*speed > enough) ++speed;
  Channels best;
  if (*speed > 0) {
    const double slowest = *speed / 2 * (1 - 1e-12);
    double product = 0;  // of the best
    for (; *speed > 0 && *speed >= slowest; ++speed) {
      const double count = static_cast<int>(std::min(tables.max_channels, enough / *speed));
      const double together = count * *speed;
      if (!(together > product * (1 + 1e-12))) continue;
      best = {static_cast<int>(count), *speed};
      product = together;
      if (product >= total) break;  // nothing is left for a slower speed
    }
  }
  if (best.rate == 0) return {1, total};
  if (best.rate >= tables.split_from[row] && best.count > tables.split_above[row] && best.count <= tables.split_to)
    best = {2 * best.count, best.rate / 2};
  return best;
}

/// Channels that collectives use inside a domain: twice the search result, at most 32.
[[nodiscard]] inline int running_channels(const Channels& found, const TunerTables& tables = tables_of(newest_tuner)) {
  return static_cast<int>(std::clamp(tables.running_factor * found.count, 1.0, tables.max_channels));
}

/// NVLS uses one channel per local rank, at the largest speed b with b (n + 1) <= total.
[[nodiscard]] inline Channels in_switch_channels(double planned_per_gpu, int ranks, Generation generation,
                                                 const TunerTables& tables = tables_of(newest_tuner)) {
  for (const double* speed = tables.speeds[tuner_generation(generation)]; *speed > 0; ++speed)
    if (*speed * (ranks + 1) <= planned_per_gpu * (1 + 1e-12)) return {ranks, *speed};
  return {ranks, planned_per_gpu / (ranks + 1)};
}

/// Devices that the channels of rings and trees ride, `max_channels` in all and `network_channels` a device. A rack has more of them.
[[nodiscard]] inline double ridden_devices(Generation generation, const TunerTables& tables) {
  return tables.max_channels / tables.network_channels[tuner_generation(generation)];
}

/// Ranks of a domain that gather a part of an in-switch algorithm's message between domains: all of a server, in a rack one for each device
/// that the channels ride.
[[nodiscard]] inline int heads_between(int ranks, Generation generation, const TunerTables& tables = tables_of(newest_tuner)) {
  return std::min(ranks, std::max(8, static_cast<int>(ridden_devices(generation, tables))));
}

}  // namespace fabricost
