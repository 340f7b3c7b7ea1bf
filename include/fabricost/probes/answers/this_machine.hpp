#pragma once
/// This machine: its measurement, and its comparison with a stock system (machine/this_machine.hpp).

#include <fabricost/answers/calibrate.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/probes/machine/this_machine.hpp>
#include <fabricost/probes/measure/row.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::probes {

/// The time a measurement may take; 0: the usual time.
struct TimeToSpend {
  double seconds = 0;
};
/// Seconds, with or without a unit. \throws RequestError
void from_text(const std::string& text, std::string_view option, const Amount&, const Range& range, TimeToSpend& out);
inline constexpr Range time_to_spend{1, 86400};
/// Numbers of GPUs, from 0; empty: all visible ones.
struct GpuNumbers {
  std::vector<int> list{};
};
/// "0,2,4-7". \throws RequestError
void from_text(const std::string& text, std::string_view option, const Amount&, const Range& range, GpuNumbers& out);
inline constexpr Range gpu_number{0, 1023};
/// Whole bytes; empty: the plan's own, refined where curves bend.
struct WholeSizes {
  std::vector<std::uint64_t> bytes{};
};
/// "1KiB:1GiB:x2", "4KiB,64KiB". \throws RequestError
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, WholeSizes& out);

struct MeasureRequest {
  bool quick = false;
  Machine system;
  std::vector<std::string> only;
  TimeToSpend budget;
  WholeSizes sizes;
  GpuNumbers gpus;

  static RequestTable<MeasureRequest> fields();
};

/// A request for the points that would be measured; nothing is measured.
struct MeasurePlanRequest : MeasureRequest {};

/// Callbacks during a measurement. Every process calls `interrupted`, only the first one the others.
struct MeasureWatch {
  std::function<void()> begin = [] {};                                  ///< before the first point; an exception ends all processes
  std::function<void(const measure::Row&)> point = [](const auto&) {};  ///< as soon as it is measured
  std::function<void(const measure::Progress&)> progress = [](const auto&) {};
  std::function<bool()> interrupted = [] { return false; };  ///< true ends the run early; points measured so far stay
};

/// A row of the file of points (docs/reference/measured-files.md).
struct MeasuredPoint : measure::Row {
  using Name = std::optional<std::string_view>;
  [[nodiscard]] Name dtype_name() const { return dtype ? Name{name(*dtype)} : std::nullopt; }
  [[nodiscard]] Name algorithm_name() const { return algorithm ? Name{name(*algorithm)} : std::nullopt; }
  [[nodiscard]] Name protocol_name() const { return protocol ? Name{name(*protocol)} : std::nullopt; }
  [[nodiscard]] Name path_name() const { return path ? Name{name(*path)} : std::nullopt; }
  [[nodiscard]] ByName<std::string> all_notes() const {
    ByName<std::string> out;
    out.assign(notes.begin(), notes.end());
    return out;
  }

  static AnswerTable<MeasuredPoint> fields();
};

struct NotMeasuredAnswer : measure::NotMeasured {
  static AnswerTable<NotMeasuredAnswer> fields();
};

/// The machine as its probes describe it, and the shipped system most like it.
struct ProbedMachine {
  std::string title{};  ///< "8 GPUs called NVIDIA H200, CUDA 13.0, driver 580.95.05, nccl 2.27.3"
  std::vector<std::string> remarks{};
  std::optional<std::string> system{};
  std::string system_because{};
  bool speaks = true;  ///< whether this process prints: the first of several does
};

struct PlannedStep {
  std::string what;
  std::vector<std::uint64_t> sizes;
  bool refined = false;

  static AnswerTable<PlannedStep> fields();
};

struct MeasurePlanAnswer : ProbedMachine {
  std::vector<PlannedStep> steps;
  std::vector<NotMeasuredAnswer> not_measured;

  static AnswerTable<MeasurePlanAnswer> fields();
};

struct MeasuredRun;  ///< the content of the machine's file

struct MeasureAnswer : ProbedMachine {
  std::vector<MeasuredPoint> rows;
  std::vector<NotMeasuredAnswer> not_measured;
  Time time{};
  bool complete = true;
  std::string ended, file, machine_file;
  std::shared_ptr<const MeasuredRun> made;
  [[nodiscard]] std::size_t points() const { return rows.size(); }
  /// The file of points.
  [[nodiscard]] std::string csv() const;
  /// The machine's file beside it. \param points_file the file of points that it names
  [[nodiscard]] std::string yaml(const std::string& points_file) const;

  static AnswerTable<MeasureAnswer> fields();
};

/// Opens the machine and measures it. \throws RequestError where nothing can be measured, or nothing was
[[nodiscard]] MeasureAnswer answer(const MeasureRequest& request, const MeasureWatch& watch = {});
/// \throws RequestError as above
[[nodiscard]] MeasurePlanAnswer answer(const MeasurePlanRequest& request);

/// The request behind the command's `calibrate`, with its options.
struct CalibrateMachineRequest {
  std::filesystem::path path;
  Machine system;
  std::string calibration;  ///< none, or a calibration file; default the shipped one
  std::string date;

  static RequestTable<CalibrateMachineRequest> fields();
};

/// A measured rate or latency beside the documented one.
struct FigureAnswer : MeasuredFigure {
  using Known = std::optional<std::optional<double>>;  ///< empty: the figure is of the other kind
  [[nodiscard]] static std::optional<double> some(double x) { return x > 0 ? std::optional{x} : std::nullopt; }
  [[nodiscard]] Known rate(double x) const { return latency ? std::nullopt : Known{some(x)}; }
  [[nodiscard]] Known time(double x) const { return latency ? Known{some(x)} : std::nullopt; }
  [[nodiscard]] Known measured_rate() const { return rate(value); }
  [[nodiscard]] Known measured_time() const { return time(value); }
  [[nodiscard]] Known datasheet_rate() const { return rate(datasheet); }
  [[nodiscard]] Known datasheet_time() const { return time(datasheet); }
  [[nodiscard]] Known stock_rate() const { return rate(stock); }
  [[nodiscard]] Known stock_time() const { return time(stock); }
  [[nodiscard]] std::string unit() const { return latency ? "seconds" : "bytes_per_second"; }
  [[nodiscard]] std::optional<double> some_datasheet() const { return some(datasheet); }
  [[nodiscard]] std::optional<double> some_stock() const { return some(stock); }
  [[nodiscard]] std::optional<double> share() const { return datasheet > 0 ? std::optional{value / datasheet} : std::nullopt; }

  static AnswerTable<FigureAnswer> fields();
};

struct MachineAnswer {
  ThisMachine made;
  std::string file;
  [[nodiscard]] const std::string& stock() const { return made.stock; }
  [[nodiscard]] const std::string& title() const { return made.title; }
  [[nodiscard]] int gpus() const { return static_cast<int>(made.machine.gpus.size()); }
  [[nodiscard]] const std::string& host() const { return made.machine.host; }
  [[nodiscard]] const std::string& date() const { return made.machine.date; }
  [[nodiscard]] std::vector<FigureAnswer> figures() const;
  [[nodiscard]] ByName<std::string> facts() const;
  [[nodiscard]] const std::vector<MachineFinding>& findings() const { return made.findings; }
  [[nodiscard]] std::optional<FitAnswer> fit() const;
  [[nodiscard]] const std::vector<std::string>& not_calibrated() const { return made.not_calibrated; }

  static AnswerTable<MachineAnswer> fields();
};

/// \throws SpecError, RequestError as calibrate_machine
[[nodiscard]] MachineAnswer answer(const CalibrateMachineRequest& request);

}  // namespace fabricost::probes
