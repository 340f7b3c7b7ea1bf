#pragma once
/// Collectives that start together, each until it ends: links are shared anew whenever one ends.
///
///   a collective with the slow-down s      advances by 1 / (fixed + s x wire) a second; alone s is 1
///   until the next ends                    all slow-downs are those of the collectives that still run (concurrent.hpp)
///
/// The sum of 1 / s over those that run is never below 1: a link that holds one is full, and no collective's part of that link is larger
/// than the 1 / s of it. So single collectives at once never take longer than one after the other, and neither do collectives of many groups
/// as long as the groups of each advance alike. Groups that lie unevenly on the nodes may: a link that an early group needs alone may wait.

#include <fabricost/plan/network/concurrent.hpp>
#include <fabricost/predict/prediction.hpp>
#include <fabricost/price/terms.hpp>

#include <span>
#include <vector>

namespace fabricost::plan {

/// What a collective takes without the others: the part that nobody slows down, and the part on the wire.
struct AloneTime {
  double fixed = 0, wire = 0;
  [[nodiscard]] double slowed(double by) const { return fixed + by * wire; }
};
[[nodiscard]] AloneTime alone_time_of(const Prediction& alone);

/// Seconds of a prediction whose transfers are slowed down: time + (slow_down - 1) x its wire terms. \throws RequestError below 1
[[nodiscard]] double contended_time(const Prediction& alone, double slow_down);

/// Seconds until each has ended, 0 for those that do not run. \param alone of each of the flows \param running those that start together
[[nodiscard]] std::vector<double> until_end(const ConcurrentFlows& flows, std::span<const AloneTime> alone, std::vector<int> running);

}  // namespace fabricost::plan
