#pragma once
/// Errors of predictions: error = 100 |predicted / measured - 1|, over all points and by group. Points that
/// cannot be priced are counted with their reason, never dropped silently.

#include <fabricost/choice/choice.hpp>
#include <fabricost/predict/prediction.hpp>
#include <fabricost/readings/points.hpp>

#include <functional>
#include <string>
#include <vector>

namespace fabricost::core {

struct ValidationOptions {
  Choice::Rule rule = Choice::Rule::nccl;
  std::string calibration{};              ///< as in load_system
  std::vector<std::string> overrides{};   ///< applied to every machine, as in load_system
  bool raw = false;                       ///< keep repeats instead of merging them by their median
  std::function<void(System&)> adjust{};  ///< called on every machine after loading: for constants that are not in a file
};

/// One measured point and its prediction.
struct ComparedPoint {
  Point point;
  Prediction prediction;

  /// predicted / measured - 1
  [[nodiscard]] double error() const { return prediction.seconds / point.seconds - 1; }
};

/// Errors of some points; all zero when there are none.
struct ErrorSummary {
  int points = 0;
  double median_ape = 0;         ///< percent
  double mape = 0;               ///< percent
  double p90_abs_log2 = 0;       ///< nine in ten are within this many factors of two
  double within_10pct = 0;       ///< share, 0 to 1
  double within_25pct = 0;       ///< share, 0 to 1
  double interval_coverage = 0;  ///< share inside the predicted 5-95 % interval, 0 to 1
  /// Mean interval score (Gneiting & Raftery 2007) in log time, of points with an interval: its width, and 20 times the distance of a
  /// point outside. Less is better: an interval wide enough to hold all, or too narrow, has more.
  double interval_score = 0;
  bool operator==(const ErrorSummary&) const = default;
};
/// A measured value, its prediction and the predicted interval (both ends 0: none, which contains nothing).
struct Outcome {
  double measured = 0, predicted = 0, low = 0, high = 0;
};
/// Summarises outcomes above zero. Every comparison is summed up here.
[[nodiscard]] ErrorSummary summarise(const std::vector<Outcome>& outcomes);
[[nodiscard]] ErrorSummary summarise(const std::vector<const ComparedPoint*>& points);
[[nodiscard]] ErrorSummary summarise(const std::vector<ComparedPoint>& points);

struct ErrorGroup {
  std::string name;
  ErrorSummary errors;
};

struct ValidationReport {
  ErrorSummary total;
  std::vector<Skipped> skipped;
  std::vector<Skipped> untrustworthy;  ///< counted in the errors, but should not be fitted: reason and number (validation/set_aside.hpp)
  std::vector<ErrorGroup> by_operation, by_system, by_size, by_library;  ///< in a fixed order; sizes: <=64 KiB, <=1 MiB, <=32 MiB, above
  std::vector<ErrorGroup> by_launch;                                     ///< launch and release, as regime_of
  std::vector<ComparedPoint> points;
  std::string guessed_system;  ///< taken for logs that name no machine: the usual one of their GPUs; empty: none was
};

/// How a point's calls were launched, and by what the release of NCCL was known: "one process, nccl-2.12 by its version".
[[nodiscard]] std::string regime_of(const ComparedPoint& point);

/// Predicts every point as NCCL (or the fastest pair) would run it; an algorithm or protocol named by a point
/// is forced. GPUDirect, SHARP and NICs of a point override the machine's. Points on an unknown machine or of
/// an impossible shape are skipped.
/// \throws SpecError when a spec or the calibration is faulty, RequestError when the calibration does not
/// exist
[[nodiscard]] ValidationReport validate(const Points& points, const ValidationOptions& options = {});

}  // namespace fabricost::core

namespace fabricost {
using core::ComparedPoint;
using core::ErrorGroup;
using core::ErrorSummary;
using core::validate;
using core::ValidationOptions;
using core::ValidationReport;
}  // namespace fabricost
