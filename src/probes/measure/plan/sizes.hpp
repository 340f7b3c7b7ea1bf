#pragma once
/// The sizes of a case that are worth measuring: a coarse geometric grid, then more where the curve bends.
///
/// A curve bends at a point when the straight line between its neighbours, in log time over log bytes, misses
/// it by more than a threshold (and by more than three times its own spread). At the point with the largest
/// miss, the wider of the two gaps is halved, down to a minimum ratio.

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace fabricost::probes::measure {

struct CurvePoint {
  std::uint64_t bytes = 0;
  double seconds = 0;
  double spread = 0;
};

struct BendRules {
  double threshold = 0.05;  ///< |log(measured / interpolated)|
  double finest = 1.4;      ///< minimum ratio of neighbouring sizes
};

/// min, min x factor, ... and max, each a multiple of `unit`, ascending.
[[nodiscard]] std::vector<std::uint64_t> coarse_sizes(std::uint64_t min, std::uint64_t max, double factor, std::uint64_t unit);

/// The largest multiple of `unit` up to `bytes`, at least one unit.
[[nodiscard]] std::uint64_t fitting(std::uint64_t bytes, std::uint64_t unit);

/// |log(measured / interpolated between its neighbours)| of an inner point.
[[nodiscard]] double miss(const CurvePoint& below, const CurvePoint& at, const CurvePoint& above);

/// The next size to measure; empty if the curve is straight enough everywhere, or as fine as allowed.
/// \param curve sorted by bytes \param tried sizes not to return again, whether measured or not
[[nodiscard]] std::optional<std::uint64_t> next_size(const std::vector<CurvePoint>& curve, const std::set<std::uint64_t>& tried,
                                                     const BendRules& rules, std::uint64_t unit);

}  // namespace fabricost::probes::measure
