#pragma once
/// \file validate.hpp
/// The errors of predictions against measurements (validation/validate.hpp).

#include <fabricost/answers/predict.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/validation/validate.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fabricost::core {

namespace field {
template <class R>
inline constexpr auto ask_launch_of_files = asks(&R::launch, "launch", "--launch", "HOW",
                                                 "Launch of the calls, if the file does not say: graph\n"
                                                 "queued process threads one_process eager xla");
template <class R>
inline constexpr auto ask_library_of_files = asks(&R::library, "library", "--library", "NCCL",
                                                  "NCCL release that ran, if the file does not say: nccl-2.18");
}  // namespace field

/// Values for what files do not say. \throws Refusal where the library is no release of NCCL
[[nodiscard]] PointDefaults stated(std::string system, int nodes, int ranks, std::optional<LaunchMode> launch,
                                 const std::optional<Inference>& library);

struct ValidateRequest {
  std::vector<Sample> samples;
  Machine system;  ///< a System given as a value prices every point, whatever machine the point names
  int nodes = 0, ranks = 0;
  std::optional<Choice::Rule> choice;
  std::string calibration, stack;
  bool raw = false;
  std::optional<LaunchMode> launch{};
  std::optional<Inference> library{};

  static constexpr auto fields() {
    using R = ValidateRequest;
    using enum Amount;
    return Table{asks(&R::samples, "samples", "FILES", " ", "Point CSVs, output of nccl-tests, nvbandwidth, OSU, perftest, ...", true),
                 asks(&R::system, "system", "--system,-s", "NAME", "The machine, if a file does not say"),
                 field::ask_nodes_of_files<R>,
                 field::ask_ranks_of_files<R>,
                 field::ask_choice<R>,
                 asks(&R::calibration, "calibration", "--calibration", "FILE", "none or a file; default the shipped one"),
                 asks(&R::raw, "raw", "--raw", "", "Keep repeats; default: their median"),
                 field::ask_launch_of_files<R>,
                 field::ask_library_of_files<R>,
                 asks(&R::stack, "stack", "--stack", "NAME", "Of tables of kernels: a stack whose own kernels price them")};
  }
};

/// An ErrorSummary: JSON in percent, null without points; Python as fractions.
struct Errors : ErrorSummary {
  bool operator==(const Errors&) const = default;
  template <double ErrorSummary::*figure>
  [[nodiscard]] std::optional<double> if_any() const {
    return points > 0 ? std::optional{this->*figure} : std::nullopt;
  }
  [[nodiscard]] double median_error() const { return median_ape / 100; }
  [[nodiscard]] double mean_error() const { return mape / 100; }

  static constexpr auto fields() {
    using A = Errors;
    using E = ErrorSummary;
    return Table{gives(&E::points, "points", "points", "How many points."),
                 gives(&E::median_ape, "", "", ""),
                 gives(&A::if_any<&E::median_ape>, "median_ape", "", ""),
                 gives(&A::median_error, "", "median_error", "Median of |predicted / measured - 1|."),
                 gives(&E::mape, "", "", ""),
                 gives(&A::if_any<&E::mape>, "mape", "", ""),
                 gives(&A::mean_error, "", "mean_error", "Mean of the same."),
                 gives(&E::p90_abs_log2, "", "p90_abs_log2", "Nine in ten are within this many factors of two."),
                 gives(&A::if_any<&E::p90_abs_log2>, "p90_abs_log2", "", ""),
                 gives(&E::within_10pct, "", "within_10_percent", "Share of points at most 10 % off."),
                 gives(&A::if_any<&E::within_10pct>, "within_10pct", "", ""),
                 gives(&E::within_25pct, "", "within_25_percent", "Share of points at most 25 % off."),
                 gives(&A::if_any<&E::within_25pct>, "within_25pct", "", ""),
                 gives(&E::interval_coverage, "", "interval_coverage", "Share of points inside the predicted interval of nine in ten."),
                 gives(&A::if_any<&E::interval_coverage>, "interval_coverage", "", "")};
  }
};

/// Rows that were left out, and why.
struct SkippedRows : Skipped {
  static constexpr auto fields() { return Table{gives(&Skipped::reason, "reason", "", ""), gives(&Skipped::rows, "rows", "", "")}; }
};
[[nodiscard]] std::vector<SkippedRows> listed(const std::vector<Skipped>& skipped);
[[nodiscard]] ByName<int> by_reason(const std::vector<Skipped>& skipped);
[[nodiscard]] ByName<Errors> by_name(const std::vector<ErrorGroup>& groups);

struct ValidationAnswer : Errors {
  ValidationReport report;
  [[nodiscard]] Errors total() const { return *this; }
  [[nodiscard]] double worst_error() const;
  [[nodiscard]] std::string guessed_system() const { return report.guessed_system; }
  [[nodiscard]] std::vector<SkippedRows> skipped_rows() const { return listed(report.skipped); }
  [[nodiscard]] ByName<int> skipped() const { return by_reason(report.skipped); }
  [[nodiscard]] std::vector<SkippedRows> untrustworthy_rows() const { return listed(report.untrustworthy); }
  [[nodiscard]] ByName<int> untrustworthy() const { return by_reason(report.untrustworthy); }
  [[nodiscard]] ByName<Errors> by_operation() const { return by_name(report.by_operation); }
  [[nodiscard]] ByName<Errors> by_system() const { return by_name(report.by_system); }
  [[nodiscard]] ByName<Errors> by_size() const { return by_name(report.by_size); }
  [[nodiscard]] ByName<Errors> by_library() const { return by_name(report.by_library); }
  [[nodiscard]] ByName<Errors> by_launch() const { return by_name(report.by_launch); }

  static constexpr auto fields() {
    using A = ValidationAnswer;
    return tables(
        Errors::fields(),
        Table{gives(&A::total, "", "total", "Errors over all points."), gives(&A::worst_error, "", "worst_error", "The largest."),
              gives(&A::skipped_rows, "skipped", "", ""), gives(&A::skipped, "", "skipped", "Rows that could not be priced, by reason."),
              gives(&A::untrustworthy_rows, "untrustworthy", "", ""),
              gives(&A::untrustworthy, "", "untrustworthy", "Rows that a fit leaves out, by reason; they count in the errors."),
              gives(&A::by_operation, "by_operation", "by_operation", "Errors of each operation, by name."),
              gives(&A::by_system, "by_system", "by_system", "Errors on each machine, by name."),
              gives(&A::by_size, "by_size", "by_size", "Errors in ranges of sizes: <=64 KiB, <=1 MiB, <=32 MiB, above."),
              gives(&A::by_library, "by_library", "by_library", "Errors with each library."),
              gives(&A::by_launch, "by_launch", "by_launch", "Errors by launch and by how the release of NCCL was known."),
              gives(&A::guessed_system, "guessed_system", "guessed_system",
                    "Machine taken for logs that name none: the usual one of their GPUs; empty: none was.", 1, true)});
  }
};

/// GPUs and ranks stated in logs that the named machine cannot have, each with the number of its points.
[[nodiscard]] std::vector<Skipped> contradictions(const std::vector<Sample>& samples, const Machine& machine, const PointDefaults& otherwise);

/// \throws Refusal without samples; SpecError, RequestError as read_points, validate, load_system
[[nodiscard]] ValidationAnswer answer(const ValidateRequest& request);
/// The same for points already read.
[[nodiscard]] ValidationAnswer validated(Points points, const ValidateRequest& request);

}  // namespace fabricost::core

namespace fabricost {
using core::ValidateRequest;
using core::ValidationAnswer;
}  // namespace fabricost
