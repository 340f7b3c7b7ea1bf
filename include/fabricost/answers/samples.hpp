#pragma once
/// \file samples.hpp
/// Measured times that a request names: files, or the points themselves.

#include <fabricost/answers/fields.hpp>
#include <fabricost/readings/points.hpp>

#include <string>
#include <vector>

namespace fabricost {

struct Sample {
  std::string file;           ///< empty: `points` are meant
  std::vector<Point> points;  ///< given in memory
};

/// Points of all of them; where one does not say its machine, nodes or ranks, as `otherwise` has them. \param merged repeats by their
/// median where they are read; those in memory stay \throws SpecError, RequestError as read_points
[[nodiscard]] Points read(const std::vector<Sample>& samples, const PointSource& otherwise, bool merged);

/// "a.log, b.csv", or "samples given in memory".
[[nodiscard]] std::string files_text(const std::vector<Sample>& samples);

}  // namespace fabricost
