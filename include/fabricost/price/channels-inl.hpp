#pragma once
/// Bodies of channels.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/channels.hpp>

namespace fabricost::core {

FABRICOST_BODY Channels search_channels(double total, Generation generation, const TunerTables& tables) {
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

FABRICOST_BODY int running_channels(const Channels& found, const TunerTables& tables) {
  return static_cast<int>(std::clamp(tables.running_factor * found.count, 1.0, tables.max_channels));
}

FABRICOST_BODY Channels in_switch_channels(double planned_per_gpu, int ranks, Generation generation, const TunerTables& tables) {
  for (const double* speed = tables.speeds[tuner_generation(generation)]; *speed > 0; ++speed)
    if (*speed * (ranks + 1) <= planned_per_gpu * (1 + 1e-12)) return {ranks, *speed};
  return {ranks, planned_per_gpu / (ranks + 1)};
}

FABRICOST_BODY double network_channels(double devices, Generation generation, const TunerTables& tables) {
  return std::clamp(tables.network_channels[tuner_generation(generation)] * devices, tables.min_network_channels, tables.max_channels);
}

FABRICOST_BODY double devices_with_channels(Generation generation, const TunerTables& tables) {
  return tables.max_channels / tables.network_channels[tuner_generation(generation)];
}

FABRICOST_BODY int heads_between(int ranks, Generation generation, const TunerTables& tables) {
  return std::min(ranks, std::max(8, static_cast<int>(devices_with_channels(generation, tables))));
}

}  // namespace fabricost::core
