#pragma once
/// \file this_machine.hpp
/// This very machine from what `fabricost measure` wrote of it (machine/this_machine.hpp).

#include <fabricost/answers/calibrate.hpp>
#include <fabricost/answers/diagnose.hpp>
#include <fabricost/answers/fields.hpp>
#include <fabricost/answers/named.hpp>
#include <fabricost/machine/this_machine.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace fabricost {

/// What the command asks with calibrate, whose options these are.
struct CalibrateMachineRequest {
  std::filesystem::path path;
  Machine system;
  std::string calibration, date;

  static constexpr auto fields() {
    using R = CalibrateMachineRequest;
    using enum Amount;
    return std::tuple{
        asks(&R::path, "path", "--from,-f", "FILE", "measured.csv, beside which measured.machine.yaml lies", true),
        asks(&R::system, "system", "--system,-s", "NAME", "The stock system, where the one the measurement names is not meant"),
        detail::ask_first_calibration<R>,
        asks(&R::date, "date", "--date", "YYYY-MM-DD", "The date to write into it; default the day of the measurement")};
  }
};

/// A rate or a latency beside what is written of it.
struct FigureAnswer : MeasuredFigure {
  using Known = std::optional<std::optional<double>>;  ///< nothing: the figure is of the other kind
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

  static constexpr auto fields() {
    using A = FigureAnswer;
    using F = MeasuredFigure;
    constexpr bool left_out = true;
    constexpr JsonUnit us{1, 1e6}, GBps{1, 1e-9};
    return std::tuple{gives(&F::tier, "tier", "tier", ""),
                      gives(&F::what, "what", "what", ""),
                      gives(&A::unit, "", "unit", ""),
                      gives(&F::value, "", "measured", ""),
                      gives(&A::some_datasheet, "", "datasheet", ""),
                      gives(&A::some_stock, "", "stock", ""),
                      gives(&A::measured_time, "measured_us", "", "", us, left_out),
                      gives(&A::measured_rate, "measured_GBps", "", "", GBps, left_out),
                      gives(&A::datasheet_time, "datasheet_us", "", "", us, left_out),
                      gives(&A::datasheet_rate, "datasheet_GBps", "", "", GBps, left_out),
                      gives(&A::stock_time, "stock_us", "", "", us, left_out),
                      gives(&A::stock_rate, "stock_GBps", "", "", GBps, left_out),
                      gives(&A::share, "share_of_datasheet", "", ""),
                      gives(&F::points, "points", "points", ""),
                      gives(&F::smallest, "smallest_bytes", "smallest", ""),
                      gives(&F::largest, "largest_bytes", "largest", "")};
  }
};

struct MachineAnswer {
  ThisMachine made;
  std::string file;  ///< the command writes it to
  [[nodiscard]] const std::string& stock() const { return made.stock; }
  [[nodiscard]] const std::string& title() const { return made.title; }
  [[nodiscard]] int gpus() const { return static_cast<int>(made.machine.gpus.size()); }
  [[nodiscard]] const std::string& host() const { return made.machine.host; }
  [[nodiscard]] const std::string& date() const { return made.machine.date; }
  [[nodiscard]] std::vector<FigureAnswer> figures() const;
  [[nodiscard]] ByName<std::string> facts() const;
  [[nodiscard]] std::vector<FindingAnswer> findings() const;
  [[nodiscard]] std::optional<FitAnswer> fit() const;
  [[nodiscard]] const std::vector<std::string>& not_calibrated() const { return made.not_calibrated; }

  static constexpr auto fields() {
    using A = MachineAnswer;
    return std::tuple{gives(&A::file, "system", "", ""),
                      gives(&A::stock, "stock", "stock", "Name of the stock system it extends."),
                      gives(&A::title, "title", "title", "Host, GPUs and day of the measurement."),
                      gives(&A::gpus, "gpus", "gpus", "How many GPUs were measured."),
                      gives(&A::host, "host", "host", "Of the measurement."),
                      gives(&A::date, "date", "date", "Of the measurement."),
                      gives(&A::figures, "tiers", "", ""),
                      gives(&A::facts, "facts", "facts", "What the driver says: PCIe links, clocks, ECC and the like."),
                      gives(&A::findings, "findings", "", ""),
                      gives(&A::fit, "calibration", "calibration", "Of its collectives, a CollectivesFit; None: there were none to fit."),
                      gives(&A::not_calibrated, "not_calibrated", "not_calibrated", "What stays as the stock system has it, and why.")};
  }
};

/// \throws SpecError, RequestError as calibrate_machine
[[nodiscard]] MachineAnswer answer(const CalibrateMachineRequest& request);

}  // namespace fabricost
