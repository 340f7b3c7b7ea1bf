#pragma once
/// \file calibrate.hpp
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
  Machine system;  ///< none: all machines of the samples are fitted together
  std::vector<Sample> samples;
  int nodes = 0, ranks = 0;
  std::string calibration, stack;
  std::optional<ConstantSet> only;
  std::vector<std::string> leave_out, hold;
  std::optional<LaunchMode> launch{};
  std::optional<Inference> library{};
  static constexpr std::array<std::string_view, 2> by_place{"system", "samples"};

  static constexpr auto fields() {
    using R = CalibrateRequest;
    using enum Amount;
    return Table{
        asks(&R::samples, "samples", "--from,-f", "FILE...",
             "Measurements: point CSVs, nccl-tests logs, ...;\ndefault what fabricost measure wrote here", true),
        asks(&R::system, "system", "--system,-s", "NAME", "The machine; without it all machines of the files are fitted together", true),
        field::ask_nodes_of_files<R>,
        field::ask_ranks_of_files<R>,
        field::ask_first_calibration<R>,
        asks(&R::only, "only", "--only", "SET", "Fit one set of constants: scale_up, pcie, transport or custom\n(inference engines' all-reduces)"),
        asks(&R::leave_out, "leave_out", "--leave-out", "SOURCE...",
             "Leave out these sources (the beginning of a name is enough);\nSOURCE:FROM:TO leaves out sizes; * stands for any letters"),
        asks(&R::hold, "hold", "--hold", "NAME...",
             "Keep these constants fixed, as ll.hop or pcie:ll.hop\n(NAME=VALUE: at that value); the resulting error shows how\nmuch each matters"),
        field::ask_launch_of_files<R>,
        field::ask_library_of_files<R>,
        asks(&R::stack, "stack", "--stack", "NAME", "Of tables of kernels: the training stack whose recipe they run in;\ndefault nemo")};
  }
};

/// One constant as it was fitted.
struct ConstantAnswer {
  std::string set, name, unit;
  double value = 0, before = 0, file_value = 0, file_before = 0, relative_error = 0;
  bool determined = false;
  std::optional<std::string> partner{};
  std::optional<double> correlation{};
  bool operator==(const ConstantAnswer&) const = default;

  static constexpr auto fields() {
    using A = ConstantAnswer;
    constexpr bool left_out = true;
    return Table{gives(&A::set, "", "set", "Whose it is, as in `scale-up-hopper`."),
                 gives(&A::name, "name", "name", "As in a calibration file, `simple.hop`."),
                 gives(&A::unit, "", "unit", "seconds, bytes_per_second, bytes, or empty for a plain number."),
                 gives(&A::file_value, "value", "", ""),
                 gives(&A::file_before, "prior", "", ""),
                 gives(&A::value, "", "value", "Fitted, in that unit."),
                 gives(&A::before, "", "before", "What was known before, in that unit."),
                 gives(&A::relative_error, "relative_standard_error", "relative_error", "Standard error over the value."),
                 gives(&A::determined, "determined", "determined", "False: the data left it where it was."),
                 gives(&A::partner, "correlated_with", "partner", "The constant it is most strongly correlated with; None: of kernels.", 1,
                       left_out),
                 gives(&A::correlation, "correlation", "correlation", "How strongly, -1 to 1; None: of kernels.", 1, left_out)};
  }
};

/// Residuals of the points that ran the same algorithm and protocol.
struct ResidualAnswer {
  int points = 0;
  double median_error = 0, mean_error = 0, width = 0;
  bool operator==(const ResidualAnswer&) const = default;

  static constexpr auto fields() {
    using A = ResidualAnswer;
    return Table{gives(&A::points, "points", "points", "How many."),
                 gives(&A::median_error, "median_ape", "median_error", "Median of |predicted / measured - 1|.", in_percent),
                 gives(&A::mean_error, "mape", "mean_error", "Mean of |predicted / measured - 1|.", in_percent),
                 gives(&A::width, "interval", "interval", "Half width in log that holds nine in ten.")};
  }
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

  static constexpr auto fields() {
    using A = FittedSet;
    return Table{gives(&A::name, "name", "name", "Of its file, as in `scale-up-hopper`."),
                 gives(&A::kind, "kind", "kind", "scale_up, pcie, transport, compute, custom or moe."),
                 gives(&A::systems, "systems", "systems", "That were measured."),
                 gives(&A::points, "points", "points", "How many points it was fitted to."),
                 gives(&A::median_error, "median_ape", "median_error", "Median of |predicted / measured - 1| after the fit.", in_percent),
                 gives(&A::mean_error, "mape", "mean_error", "Mean of |predicted / measured - 1| after the fit.", in_percent),
                 gives(&A::constants, "constants", "constants", "List of Constant."),
                 gives(&A::residuals, "residuals", "residuals", "A Residual for each way to run, by name.")};
  }
};

/// The fields that all kinds of fits share.
struct FitAnswer {
  int points = 0, constant_count = 0, determined = 0;
  bool converged = false;
  double median_before = 0, median_after = 0, mean_before = 0, mean_after = 0;
  std::vector<FittedSet> sets{};
  std::vector<Skipped> left{};          ///< rows that were not fitted
  std::string origin{};                 ///< how and from what, for the files' source
  std::vector<std::string> warnings{};  ///< reasons not to fit these points

  [[nodiscard]] double median_error() const { return median_after / 100; }
  [[nodiscard]] double mean_error() const { return mean_after / 100; }
  [[nodiscard]] double median_error_before() const { return median_before / 100; }
  [[nodiscard]] double mean_error_before() const { return mean_before / 100; }
  [[nodiscard]] std::vector<ConstantAnswer> constants() const;
  [[nodiscard]] std::vector<SkippedRows> skipped_rows() const { return listed(left); }
  [[nodiscard]] ByName<int> skipped() const { return by_reason(left); }

  static constexpr auto fields() {
    using A = FitAnswer;
    return Table{gives(&A::points, "points", "points", "Merged points that were fitted."),
                 gives(&A::constant_count, "constants", "", ""),
                 gives(&A::determined, "determined", "determined", "Of the constants, those that the data narrowed."),
                 gives(&A::converged, "converged", "converged", "False: it had not settled after its last step."),
                 gives(&A::median_before, "median_ape.before", "", ""),
                 gives(&A::median_after, "median_ape.after", "", ""),
                 gives(&A::mean_before, "mape.before", "", ""),
                 gives(&A::mean_after, "mape.after", "", ""),
                 gives(&A::median_error, "", "median_error", "Median over the fitted points, after the fit."),
                 gives(&A::mean_error, "", "mean_error", "Mean, after the fit."),
                 gives(&A::median_error_before, "", "median_error_before", "Median with what was known before."),
                 gives(&A::mean_error_before, "", "mean_error_before", "Mean with what was known before."),
                 gives(&A::sets, "sets", "sets", "List of FittedSet, one for each file."),
                 gives(&A::constants, "", "constants", "List of Constant, of all sets."),
                 gives(&A::skipped_rows, "skipped", "", ""),
                 gives(&A::skipped, "", "skipped", "Rows that were not fitted, by reason."),
                 gives(&A::warnings, "warnings", "warnings", "What speaks against fitting these points.")};
  }
};

/// A point that must not be fitted, with the reason.
struct SetAsidePoint {
  std::string system, operation;
  Bytes bytes{};
  int ranks = 0;
  Time time{};
  std::string reason;

  static constexpr auto fields() {
    using A = SetAsidePoint;
    return Table{
        gives(&A::system, "system", "", ""), gives(&A::operation, "operation", "", ""),           gives(&A::bytes, "bytes", "", ""),
        gives(&A::ranks, "ranks", "", ""),   gives(&A::time, "time_us", "", "", in_microseconds), gives(&A::reason, "reason", "", "")};
  }
};

/// A file of a fit: its path below the output folder, and its text.
using FittedFile = std::pair<std::string, std::string>;

/// Constants of collectives.
struct CalibrationAnswer : FitAnswer {
  Calibration made;
  Points fitted;       ///< the points that were read
  SavedSystem system;  ///< with the fitted constants; extends is empty where several machines were fitted together
  [[nodiscard]] std::vector<SetAsidePoint> set_aside_points() const;
  [[nodiscard]] std::vector<std::string> set_aside() const;
  /// One file for each set. \param date yyyy-mm-dd
  [[nodiscard]] std::vector<FittedFile> files(std::string_view date) const;
  /// The file of one machine.
  [[nodiscard]] std::string yaml(std::string_view name, std::string_view date) const;

  static constexpr auto fields() {
    using A = CalibrationAnswer;
    return tables(FitAnswer::fields(),
                  Table{gives(&A::set_aside_points, "set_aside", "", ""),
                        gives(&A::set_aside, "", "set_aside", "Points left out of the fit, each as a sentence with its reason.")});
  }
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
