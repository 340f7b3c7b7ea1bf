#pragma once
/// \file samples.hpp
/// Measured times of a request: files, or points in memory.

#include <fabricost/fields/fields.hpp>
#include <fabricost/readings/points.hpp>

#include <string>
#include <vector>

namespace fabricost::core {

struct Sample {
  std::string file;           ///< empty: `points` are used
  std::vector<Point> points;  ///< given in memory
};

/// A file.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Sample& out);

/// Reads all points. `otherwise` gives machine, nodes or ranks where a point does not. \param merged replaces
/// repeats in files by their median; points in memory are kept \throws SpecError, RequestError as read_points
[[nodiscard]] Points read(const std::vector<Sample>& samples, const PointDefaults& otherwise, bool merged);

/// "a.log, b.csv", or "samples given in memory".
[[nodiscard]] std::string files_text(const std::vector<Sample>& samples);

}  // namespace fabricost::core

namespace fabricost {
using core::Sample;
}  // namespace fabricost
