#pragma once
/// Fits a machine's constants to measurements of it (calibrate/calibrate.hpp) and writes them to files.

#include <fabricost/answers/validate.hpp>
#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/specs/load.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

/// The sets of constants that can be fitted to points. Compute and moe are fitted to tables of their own.
[[nodiscard]] constexpr auto words_of(ConstantSet) {
  return EnumWords{std::array<std::string_view, 4>{"scale_up", "pcie", "transport", "custom"}, "a set of constants"};
}
[[nodiscard]] inline std::optional<ConstantSet> parse_word(ConstantSet, std::string_view text) {
  return parse_enum<ConstantSet>(text, constant_set_names);
}

struct CalibrateRequest {
  Machine system;  ///< none: the usual one of the GPUs in logs; of point CSVs all machines are fitted together
  std::vector<Sample> samples;
  int nodes = 0;            ///< number of nodes, as nccl-tests counts them
  int ranks = 0;            ///< number of GPUs
  std::string calibration;  ///< none, or a calibration file; default the shipped one
  std::string stack;
  std::optional<ConstantSet> only;
  std::vector<std::string> leave_out, hold;
  std::optional<LaunchMode> launch{};       ///< how the host launches; default a graph, the time of the GPUs alone
  std::optional<Inference> library{};       ///< an inference engine, or a release of NCCL
  std::function<void(System&)> adjust{};    ///< called on every machine after loading: for constants that are in no file
  std::function<void(Constants&)> prior{};  ///< as CalibrateOptions has it
  int starts = 0;                           ///< likewise
  static constexpr std::array<std::string_view, 2> by_place{"system", "samples"};

  static RequestTable<CalibrateRequest> fields();
};

/// One constant as it was fitted.
struct ConstantAnswer {
  std::string set, name, unit;
  double value = 0, before = 0, file_value = 0, file_before = 0, relative_error = 0;
  bool determined = false;
  std::optional<std::string> partner{};
  std::optional<double> correlation{};
  bool operator==(const ConstantAnswer&) const = default;

  static AnswerTable<ConstantAnswer> fields();
};

/// Residuals of the points that ran the same algorithm and protocol.
struct ResidualAnswer {
  int points = 0;
  double median_error = 0, mean_error = 0, width = 0;
  bool operator==(const ResidualAnswer&) const = default;

  static AnswerTable<ResidualAnswer> fields();
};

/// Constants that are stored in one file.
struct FittedSet {
  std::string name, kind;
  std::vector<std::string> systems;
  int points = 0;
  double median_error = 0, mean_error = 0;
  std::vector<ConstantAnswer> constants{};
  ByName<ResidualAnswer> residuals{};
  bool operator==(const FittedSet&) const = default;

  static AnswerTable<FittedSet> fields();
};

/// The fields that all kinds of fits share.
struct FitAnswer {
  int points = 0, constant_count = 0, determined = 0;
  bool converged = false;
  double median_before = 0, median_after = 0, mean_before = 0, mean_after = 0;
  std::vector<FittedSet> sets{};
  std::vector<Skipped> left{};  ///< rows that were not fitted
  std::string origin{};         ///< how and from what, for the files' source
  std::vector<std::string> warnings{};

  [[nodiscard]] double median_error() const { return median_after / 100; }
  [[nodiscard]] double mean_error() const { return mean_after / 100; }
  [[nodiscard]] double median_error_before() const { return median_before / 100; }
  [[nodiscard]] double mean_error_before() const { return mean_before / 100; }
  [[nodiscard]] std::vector<ConstantAnswer> constants() const;
  [[nodiscard]] std::vector<SkippedRows> skipped_rows() const { return listed(left); }
  [[nodiscard]] ByName<int> skipped() const { return by_reason(left); }

  static AnswerTable<FitAnswer> fields();
};

/// A point that must not be fitted, with the reason.
struct SetAsidePoint {
  std::string system, operation;
  Bytes bytes{};
  int ranks = 0;
  Time time{};
  std::string reason;

  static AnswerTable<SetAsidePoint> fields();
};

/// A file of a fit: its path below the output folder, and its text.
using FittedFile = std::pair<std::string, std::string>;

/// Constants of collectives.
struct CalibrationAnswer : FitAnswer {
  Calibration made;
  Points fitted;       ///< the points that were read
  SavedSystem system;  ///< with the fitted constants; extends is empty where several machines were fitted together
  std::string guessed_system;
  [[nodiscard]] std::vector<SetAsidePoint> set_aside_points() const;
  [[nodiscard]] std::vector<std::string> set_aside() const;
  /// One file for each set. \param date yyyy-mm-dd
  [[nodiscard]] std::vector<FittedFile> files(std::string_view date) const;
  /// The file of one machine.
  [[nodiscard]] std::string yaml(std::string_view name, std::string_view date) const;

  static AnswerTable<CalibrationAnswer> fields();
};

[[nodiscard]] FitAnswer answer_of(const Calibration& fit);
[[nodiscard]] std::vector<FittedFile> files_of(const std::vector<CalibratedSet>& sets, std::string_view date, std::string_view origin);

/// The measurements that it names. \throws Refusal without samples; SpecError, RequestError as read_points
[[nodiscard]] Points measured_points(const CalibrateRequest& request);

/// \throws as measured_points and calibrate; Refusal for a set that is of kernels
[[nodiscard]] CalibrationAnswer answer(const CalibrateRequest& request);

/// Compares the fitted points, without those set aside, with predictions from the fitted constants.
[[nodiscard]] ValidationAnswer validated(const CalibrationAnswer& fit);

/// "fabricost calibrate, least squares on log(predicted/measured) of 12 points of a.csv"
[[nodiscard]] std::string fit_origin(int fitted, std::string_view what, const std::vector<Sample>& samples);
/// yyyy-mm-dd, UTC.
[[nodiscard]] std::string today();

}  // namespace fabricost::core

namespace fabricost {
using core::CalibrateRequest;
using core::CalibrationAnswer;
}  // namespace fabricost
