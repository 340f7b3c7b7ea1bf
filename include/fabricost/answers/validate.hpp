#pragma once
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
  int nodes = 0;   ///< number of nodes, as nccl-tests counts them
  int ranks = 0;   ///< number of GPUs
  std::optional<Choice::Rule> choice;
  std::string calibration, stack;
  bool raw = false;
  std::optional<LaunchMode> launch{};     ///< how the host launches; default a graph, the time of the GPUs alone
  std::optional<Inference> library{};     ///< an inference engine, or a release of NCCL
  std::function<void(System&)> adjust{};  ///< called on every machine after loading: for constants that are in no file

  static RequestTable<ValidateRequest> fields();
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

  static AnswerTable<Errors> fields();
};

/// Rows that were left out, and why.
struct SkippedRows : Skipped {
  static AnswerTable<SkippedRows> fields();
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

  static AnswerTable<ValidationAnswer> fields();
};

/// GPUs and ranks stated in logs that the named machine cannot have, each with the number of its points.
[[nodiscard]] std::vector<Skipped> contradictions(const std::vector<Sample>& samples, const Machine& machine,
                                                  const PointDefaults& otherwise);

/// Whether all are logs of benchmarks; tables name their machines.
[[nodiscard]] bool are_logs(const std::vector<Sample>& samples);

/// The usual machine of the GPUs that logs of benchmarks name: one for all that name any, else empty.
[[nodiscard]] std::string usual_system_of(const std::vector<Sample>& samples);

/// \throws Refusal without samples; SpecError, RequestError as read_points, validate, load_system
[[nodiscard]] ValidationAnswer answer(const ValidateRequest& request);
/// The same for points already read.
[[nodiscard]] ValidationAnswer validated(Points points, const ValidateRequest& request);

}  // namespace fabricost::core

namespace fabricost {
using core::ValidateRequest;
using core::ValidationAnswer;
}  // namespace fabricost
