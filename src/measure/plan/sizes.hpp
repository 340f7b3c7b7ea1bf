#pragma once
/// \file sizes.hpp
/// Which sizes of one case are worth measuring: a coarse geometric grid first, then wherever the curve bends.
///
/// A curve bends at a point when the straight line between its neighbours, in log time over log bytes, misses it by more than a threshold
/// (and by more than three times its own spread). Beside the point that is missed most, the wider gap is halved, down to a finest ratio.

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace fabricost::measure {

struct CurvePoint {
  std::uint64_t bytes = 0;
  double seconds = 0;
  double spread = 0;
};

struct BendRules {
  double threshold = 0.05;  ///< |log(measured / interpolated)|
  double finest = 1.4;      ///< neighbouring sizes are at least this ratio apart
};

/// least, least x factor, ... and most, each a multiple of `unit`, ascending.
[[nodiscard]] std::vector<std::uint64_t> coarse_sizes(std::uint64_t min, std::uint64_t max, double factor, std::uint64_t unit);

/// The nearest multiple of `unit` at or below, at least one.
[[nodiscard]] std::uint64_t fitting(std::uint64_t bytes, std::uint64_t unit);

/// |log(measured / what the line between its neighbours says)| of an inner point.
[[nodiscard]] double miss(const CurvePoint& below, const CurvePoint& at, const CurvePoint& above);

/// The next size to measure; nothing when the curve is straight enough everywhere, or as fine as it may be.
/// \param curve sorted by bytes \param tried sizes not to ask for again, measured or not
[[nodiscard]] std::optional<std::uint64_t> next_size(const std::vector<CurvePoint>& curve, const std::set<std::uint64_t>& tried,
                                                     const BendRules& rules, std::uint64_t unit);

}  // namespace fabricost::measure
