#pragma once
/// \file leave_out.hpp
/// Points excluded from a fit, as in `calibrate --leave-out` and data/measurements/left-out.csv.

#include <fabricost/compiled_part.hpp>
#include <fabricost/readings/points.hpp>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// Points of one source, or of several with a common prefix: "SOURCE", "SOURCE:FROM" or "SOURCE:FROM:TO" with
/// sizes as 512MiB, both included. A `*` in SOURCE stands for any letters.
class LeaveOut {
 public:
  explicit LeaveOut(std::string_view term);
  [[nodiscard]] bool holds(const Point& point) const;
  [[nodiscard]] const std::string& term() const { return term_; }

 private:
  std::string term_, source_;
  double from_ = 0, to_ = std::numeric_limits<double>::infinity();  ///< bytes
};

/// Whether any of them holds the point.
[[nodiscard]] bool left_out(const std::vector<LeaveOut>& all, const Point& point);
[[nodiscard]] std::vector<LeaveOut> leave_outs(const std::vector<std::string>& terms);

}  // namespace fabricost::core
