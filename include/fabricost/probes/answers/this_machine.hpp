#pragma once
/// \file this_machine.hpp
/// This machine: its measurement, and its comparison with a stock system (machine/this_machine.hpp).

#include <fabricost/answers/calibrate.hpp>
#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>
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
  bool quick = false, mpi = false;
  Machine system;
  std::vector<std::string> only;
  TimeToSpend budget;
  WholeSizes sizes;
  GpuNumbers gpus;

  static constexpr auto fields() {
    using R = MeasureRequest;
    return Table{
        asks(&R::quick, "quick", "--quick", "", "Measure for two minutes instead of fifteen"),
        asks(&R::mpi, "mpi", "--mpi", "", "Measure MPI's processes instead of GPUs (under mpirun)"),
        asks(&R::system, "system", "--system,-s", "NAME", "Shipped system to compare with, if this one is not recognised"),
        asks(&R::only, "only", "--only", "KIND...", "Probes to run: memory launch host peer collectives overlap, a\nprobe, an operation"),
        asks(&R::budget, "budget_seconds", "--budget", Amount::seconds, time_to_spend, "SECONDS", "Time to spend [900; with <quick> 120]"),
        asks(&R::sizes, "sizes", "--sizes", "SIZES", "Message sizes: 1KiB:1GiB:x2, or 4KiB,64KiB"),
        asks(&R::gpus, "gpus", "--gpus", Amount::number, gpu_number, "LIST", "GPUs to measure: 0,2,4-7 [all]")};
  }
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

  static constexpr auto fields() {
    using A = MeasuredPoint;
    using P = measure::Row;
    return Table{
        gives(&P::source, "", "source", "`measure-` and the host's name: one run, one source."),
        gives(&P::system, "", "system",
              "The shipped system most similar to this machine, or the one named; empty if there is none (readers then need one)."),
        gives(&P::operation, "operation", "operation", "A collective, `send_recv`, or a probe's word."),
        gives(&P::nodes, "nodes", "nodes", "Of the participants; 1 for a copy between two GPUs and for a probe of one."),
        gives(&P::gpus_per_node, "gpus_per_node", "gpus_per_node",
              "Of the participants: 2 for a copy between two GPUs, 1 for a probe of one."),
        gives(&A::dtype_name, "dtype", "dtype", "Of collectives; `int8` for transfers; empty for probes."),
        gives(&P::bytes, "bytes", "bytes",
              "The nccl-tests size of a collective; for a transfer the bytes moved one way; for a probe its working set."),
        gives(&P::seconds, "time_us", "seconds", "Of one repetition: the median of the batches that were kept.", in_microseconds),
        gives(&P::in_place, "", "in_place", "Of collectives."),
        gives(
            &P::library, "library", "library",
            "`nccl`, `rccl`, `openmpi`, `mpich` for collectives; `copy engine` or `kernel` for transfers; the runtime (`cuda`, `hip`) for "
            "probes."),
        gives(&P::library_version, "", "library_version", "Of that library; for transfers the version of CUDA or HIP."),
        gives(&A::algorithm_name, "algorithm", "algorithm",
              "Only if it was forced; `nvls` also if in-switch reduction was; for MPI the one that Open MPI's environment forces."),
        gives(&A::protocol_name, "protocol", "protocol", "Only if it was forced; for MPI always `simple`."),
        gives(&A::path_name, "path", "path",
              "Of transfers: `gpu-gpu`, `gpu-host`; of MPI's ping-pong between two hosts `nic`; else empty."),
        gives(&P::both_ways, "both_ways", "both_ways", "Of transfers: whether the other direction was under load too."),
        gives(&A::all_notes, "notes", "notes", "What there is to say of it, in the file `key value; key value`.")};
  }
};

struct NotMeasuredAnswer : measure::NotMeasured {
  static constexpr auto fields() {
    using N = measure::NotMeasured;
    return Table{gives(&N::what, "what", "what", "The case, or the group of probes."),
                 gives(&N::bytes, "bytes", "bytes", "Its size, bytes; None: all of them."),
                 gives(&N::reason, "reason", "reason", "Why not.")};
  }
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

  static constexpr auto fields() {
    using A = PlannedStep;
    return Table{gives(&A::what, "what", "what", "The case."), gives(&A::sizes, "sizes", "sizes", "In any case, bytes."),
                 gives(&A::refined, "refined", "refined", "Whether sizes between them are added where the curve bends.")};
  }
};

struct MeasurePlanAnswer : ProbedMachine {
  std::vector<PlannedStep> steps;
  std::vector<NotMeasuredAnswer> not_measured;

  static constexpr auto fields() {
    using A = MeasurePlanAnswer;
    return Table{gives(&ProbedMachine::title, "", "title", "GPUs, runtime, driver and library."),
                 gives(&ProbedMachine::system, "", "system", "The shipped system it is like; None: there is none."),
                 gives(&A::steps, "steps", "steps", "In this order while the time lasts, PlannedStep each."),
                 gives(&A::not_measured, "not_measured", "not_measured", "What this machine cannot do, NotMeasured each.")};
  }
};

struct MeasuredRun;  ///< the content of the machine's file

struct MeasureAnswer : ProbedMachine {
  std::vector<MeasuredPoint> rows;
  std::vector<NotMeasuredAnswer> not_measured;
  Time time{};
  bool complete = true;
  std::string ended;
  std::string file, machine_file;  ///< the command writes to them
  std::shared_ptr<const MeasuredRun> made;
  [[nodiscard]] std::size_t points() const { return rows.size(); }
  /// The file of points.
  [[nodiscard]] std::string csv() const;
  /// The machine's file beside it. \param points_file the file of points that it names
  [[nodiscard]] std::string yaml(const std::string& points_file) const;

  static constexpr auto fields() {
    using A = MeasureAnswer;
    using M = ProbedMachine;
    return Table{gives(&M::title, "", "title", "GPUs, runtime, driver and library."),
                 gives(&A::points, "points", "", "How many were measured."),
                 gives(&A::time, "seconds", "seconds", "It took."),
                 gives(&A::complete, "complete", "complete", "False: a GPU was lost or the run interrupted."),
                 gives(&A::ended, "", "ended", "Why it is not complete."),
                 gives(&A::file, "file", "", "Where the points went."),
                 gives(&A::machine_file, "machine_file", "", "Where the machine went."),
                 gives(&M::system, "system", "system", "The shipped system it is like; None: there is none."),
                 gives(&M::system_because, "", "system_because", "Why that one, or why none."),
                 gives(&M::remarks, "", "remarks", "What a reader of the numbers should know."),
                 gives(&A::rows, "rows", "points", "What was measured, MeasuredPoint each."),
                 gives(&A::not_measured, "not_measured", "not_measured", "What was not, NotMeasured each.")};
  }
};

/// Opens the machine and measures it. \throws RequestError where nothing can be measured, or nothing was
[[nodiscard]] MeasureAnswer answer(const MeasureRequest& request, const MeasureWatch& watch = {});
/// \throws RequestError as above
[[nodiscard]] MeasurePlanAnswer answer(const MeasurePlanRequest& request);

/// The request behind the command's `calibrate`, with its options.
struct CalibrateMachineRequest {
  std::filesystem::path path;
  Machine system;
  std::string calibration, date;

  static constexpr auto fields() {
    using R = CalibrateMachineRequest;
    using enum Amount;
    return Table{asks(&R::path, "path", "--from,-f", "FILE", "measured.csv, beside which measured.machine.yaml lies", true),
                 asks(&R::system, "system", "--system,-s", "NAME", "Shipped system, instead of the one that the measurement names"),
                 field::ask_first_calibration<R>,
                 asks(&R::date, "date", "--date", "YYYY-MM-DD", "Date to write into it; default the day of the measurement")};
  }
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

  static constexpr auto fields() {
    using A = FigureAnswer;
    using F = MeasuredFigure;
    constexpr bool left_out = true;
    constexpr JsonUnit us{1, 1e6}, GBps{1, 1e-9};
    return Table{gives(&F::tier, "tier", "tier", ""),
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
  std::string file;  ///< path that the command writes it to
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

  static constexpr auto fields() {
    using A = MachineAnswer;
    return Table{gives(&A::file, "system", "", ""),
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

}  // namespace fabricost::probes
