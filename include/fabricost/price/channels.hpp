#pragma once
/// Number of channels NCCL opens and the speed its planning assumes for each. NCCL walks a list of candidate
/// speeds from fast to slow, keeps the (channels, speed) pair with the largest product (at most 32 channels,
/// not below half the fastest that fits), and splits fast channels in two. Speeds and limits are those of a
/// version's tables (hardware/tuner.hpp).

#include <fabricost/hardware/tuner.hpp>

#include <algorithm>

namespace fabricost::core {

struct Channels {
  int count = 1;
  double rate = 0;  ///< bytes per second each
  [[nodiscard]] double total() const { return count * rate; }
};

/// The ring search over `total` bytes per second of one GPU's links.
[[nodiscard]] Channels search_channels(double total, Generation generation, const TunerTables& tables = tables_of(newest_tuner));

/// Channels that collectives use inside a domain: twice the search result, at most 32.
[[nodiscard]] int running_channels(const Channels& found, const TunerTables& tables = tables_of(newest_tuner));

/// NVLS uses one channel per local rank, at the largest speed b with b (n + 1) <= total.
[[nodiscard]] Channels in_switch_channels(double planned_per_gpu, int ranks, Generation generation,
                                          const TunerTables& tables = tables_of(newest_tuner));

/// Channels that the search finds between domains: `network_channels` a device, at least `min_network_channels`, at most `max_channels`.
[[nodiscard]] double network_channels(double devices, Generation generation, const TunerTables& tables);

/// Devices that the channels of rings and trees ride, `max_channels` in all and `network_channels` a device. A rack has more of them.
[[nodiscard]] double devices_with_channels(Generation generation, const TunerTables& tables);

/// Ranks of a domain that gather a part of an in-switch algorithm's message between domains: all of a server, in a rack one for each device
/// that the channels ride.
[[nodiscard]] int heads_between(int ranks, Generation generation, const TunerTables& tables = tables_of(newest_tuner));

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/channels-inl.hpp>
#endif
