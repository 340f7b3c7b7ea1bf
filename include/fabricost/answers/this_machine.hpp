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
        Asks{&R::path, "path", "--from,-f", number, {}, "FILE", "measured.csv, beside which measured.machine.yaml lies", true},
        Asks{&R::system, "system", "--system,-s", number, {}, "NAME", "The stock system, where the one the measurement names is not meant"},
        Asks{&R::calibration,
             "calibration",
             "--calibration",
             number,
             {},
             "FILE",
             "What to start from: none or a file; default the shipped one"},
        Asks{&R::date, "date", "--date", number, {}, "YYYY-MM-DD", "The date to write into it; default the day of the measurement"}};
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
    return std::tuple{Gives{&F::tier, "tier", "tier", ""},
                      Gives{&F::what, "what", "what", ""},
                      Gives{&A::unit, "", "unit", ""},
                      Gives{&F::value, "", "measured", ""},
                      Gives{&A::some_datasheet, "", "datasheet", ""},
                      Gives{&A::some_stock, "", "stock", ""},
                      Gives{&A::measured_time, "measured_us", "", "", us, left_out},
                      Gives{&A::measured_rate, "measured_GBps", "", "", GBps, left_out},
                      Gives{&A::datasheet_time, "datasheet_us", "", "", us, left_out},
                      Gives{&A::datasheet_rate, "datasheet_GBps", "", "", GBps, left_out},
                      Gives{&A::stock_time, "stock_us", "", "", us, left_out},
                      Gives{&A::stock_rate, "stock_GBps", "", "", GBps, left_out},
                      Gives{&A::share, "share_of_datasheet", "", ""},
                      Gives{&F::points, "points", "points", ""},
                      Gives{&F::smallest, "smallest_bytes", "smallest", ""},
                      Gives{&F::largest, "largest_bytes", "largest", ""}};
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
    return std::tuple{Gives{&A::file, "system", "", ""},
                      Gives{&A::stock, "stock", "stock", "Name of the stock system it extends."},
                      Gives{&A::title, "title", "title", "Host, GPUs and day of the measurement."},
                      Gives{&A::gpus, "gpus", "gpus", "How many GPUs were measured."},
                      Gives{&A::host, "host", "host", "Of the measurement."},
                      Gives{&A::date, "date", "date", "Of the measurement."},
                      Gives{&A::figures, "tiers", "", ""},
                      Gives{&A::facts, "facts", "facts", "What the driver says: PCIe links, clocks, ECC and the like."},
                      Gives{&A::findings, "findings", "", ""},
                      Gives{&A::fit, "calibration", "calibration", "Of its collectives, a CollectivesFit; None: there were none to fit."},
                      Gives{&A::not_calibrated, "not_calibrated", "not_calibrated", "What stays as the stock system has it, and why."}};
  }
};

/// \throws SpecError, RequestError as calibrate_machine
[[nodiscard]] MachineAnswer answer(const CalibrateMachineRequest& request);

}  // namespace fabricost
