/// Measures this machine within the time budget; computes its figures from the measured points.

#include <fabricost/probes/answers/this_machine.hpp>

#include "measure/measure.hpp"
#include "measure/files/files.hpp"
#include "measure/plugin.hpp"
#include "measure/stock.hpp"
#include "text/amounts.hpp"
#include "text/csv.hpp"
#include "text/parse_quantity.hpp"

#include <fabricost/error.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>
#include <fabricost/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

namespace fabricost::probes {

RequestTable<MeasureRequest> MeasureRequest::fields() {
  using R = MeasureRequest;
  return {
      asks(&R::quick, "quick", "--quick", "", "Measure for two minutes instead of fifteen"),
      asks(&R::system, "system", "--system,-s", "NAME", "Shipped system to compare with, if this one is not recognised"),
      asks(&R::only, "only", "--only", "KIND...", "Probes to run: memory launch host peer collectives overlap, a\nprobe, an operation"),
      asks(&R::budget, "budget_seconds", "--budget", Amount::seconds, time_to_spend, "SECONDS", "Time to spend, default 900, with <quick> 120"),
      asks(&R::sizes, "sizes", "--sizes", "SIZES", "Message sizes: 1KiB:1GiB:x2, or 4KiB,64KiB"),
      asks(&R::gpus, "gpus", "--gpus", Amount::number, gpu_number, "LIST", "GPUs to measure: 0,2,4-7; default all")};
}

AnswerTable<MeasuredPoint> MeasuredPoint::fields() {
  using A = MeasuredPoint;
  using P = measure::Row;
  return {
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
      gives(&P::library, "library", "library",
            "`nccl`, `rccl` for collectives; `copy engine` or `kernel` for transfers; the runtime (`cuda`, `hip`) for "
            "probes."),
      gives(&P::library_version, "", "library_version", "Of that library; for transfers the version of CUDA or HIP."),
      gives(&A::algorithm_name, "algorithm", "algorithm", "Only if it was forced; `nvls` also if in-switch reduction was."),
      gives(&A::protocol_name, "protocol", "protocol", "Only if it was forced."),
      gives(&A::path_name, "path", "path", "Of transfers: `gpu-gpu`, `gpu-host`; else empty."),
      gives(&P::both_ways, "both_ways", "both_ways", "Of transfers: whether the other direction was under load too."),
      gives(&A::all_notes, "notes", "notes", "What there is to say of it, in the file `key value; key value`.")};
}

AnswerTable<NotMeasuredAnswer> NotMeasuredAnswer::fields() {
  using N = measure::NotMeasured;
  return {gives(&N::what, "what", "what", "The case, or the group of probes."),
          gives(&N::bytes, "bytes", "bytes", "Its size, bytes; None: all of them."), gives(&N::reason, "reason", "reason", "Why not.")};
}

AnswerTable<PlannedStep> PlannedStep::fields() {
  using A = PlannedStep;
  return {gives(&A::what, "what", "what", "The case."), gives(&A::sizes, "sizes", "sizes", "In any case, bytes."),
          gives(&A::refined, "refined", "refined", "Whether sizes between them are added where the curve bends.")};
}

AnswerTable<MeasurePlanAnswer> MeasurePlanAnswer::fields() {
  using A = MeasurePlanAnswer;
  return {gives(&ProbedMachine::title, "", "title", "GPUs, runtime, driver and library."),
          gives(&ProbedMachine::system, "", "system", "The shipped system it is like; None: there is none."),
          gives(&A::steps, "steps", "steps", "In this order while the time lasts, PlannedStep each."),
          gives(&A::not_measured, "not_measured", "not_measured", "What this machine cannot do, NotMeasured each.")};
}

AnswerTable<MeasureAnswer> MeasureAnswer::fields() {
  using A = MeasureAnswer;
  using M = ProbedMachine;
  return {gives(&M::title, "", "title", "GPUs, runtime, driver and library."),
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

RequestTable<CalibrateMachineRequest> CalibrateMachineRequest::fields() {
  using R = CalibrateMachineRequest;
  using enum Amount;
  return {asks(&R::path, "path", "--from,-f", "FILE", "measured.csv, beside which measured.machine.yaml lies", true),
          asks(&R::system, "system", "--system,-s", "NAME", "Shipped system, instead of the one that the measurement names"),
          field::ask_first_calibration<R>,
          asks(&R::date, "date", "--date", "YYYY-MM-DD", "Date to write into it; default the day of the measurement")};
}

AnswerTable<FigureAnswer> FigureAnswer::fields() {
  using A = FigureAnswer;
  using F = MeasuredFigure;
  constexpr bool left_out = true;
  constexpr JsonUnit us{1, 1e6}, GBps{1, 1e-9};
  return {gives(&F::tier, "tier", "tier", ""),
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

AnswerTable<MachineAnswer> MachineAnswer::fields() {
  using A = MachineAnswer;
  return {gives(&A::file, "system", "", ""),
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

struct MeasuredRun {
  measure::Machine machine;
  measure::Measured measured;
  measure::RunText run;
};

namespace {

constexpr double quick_budget = 120, full_budget = 900;  ///< seconds

[[nodiscard]] std::string reasons(const std::vector<measure::NotMeasured>& missing) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, missing.size()); ++i)
    out += fmt::format("{}{}: {}", i == 0 ? "" : "; ", missing[i].what, missing[i].reason);
  return out.empty() ? "no probe fits what was asked for" : out;
}

[[nodiscard]] std::string title_of(const measure::Machine& machine) {
  const std::string called = machine.units.empty() || machine.units[0].name.empty() ? "" : " called " + machine.units[0].name;
  const std::size_t count = machine.units.size();
  std::string out = fmt::format("{} GPU{}{}", count, count == 1 ? "" : "s", called);
  out += fmt::format(", {} {}", machine.runtime, machine.runtime_version);
  if (!machine.driver.empty()) out += fmt::format(", driver {}", machine.driver);
  if (!machine.library.empty()) out += fmt::format(", {} {}", machine.library, machine.library_version);
  return out;
}

[[nodiscard]] std::vector<NotMeasuredAnswer> listed_missing(const std::vector<measure::NotMeasured>& missing) {
  std::vector<NotMeasuredAnswer> out;
  for (const measure::NotMeasured& one : missing) out.push_back({one});
  return out;
}

/// The machine, opened and described, with its plan.
struct Opened {
  std::unique_ptr<measure::Device> device;
  measure::Machine machine;
  measure::Layout layout;
  measure::Plan plan;

  explicit Opened(const MeasureRequest& request) {
    if (request.budget.seconds != 0 && !time_to_spend.holds(request.budget.seconds))
      refuse_range("budget_seconds", request.budget.seconds, time_to_spend);
    if (std::find(request.sizes.bytes.begin(), request.sizes.bytes.end(), 0U) != request.sizes.bytes.end())
      throw Refusal("<sizes>: a size is at least 1 B");
    if (!request.system.name.empty()) (void)load_system(request.system.name, {}, "none", KernelSets::none());
    device = measure::open_device();
    try {
      machine = device->describe();
    } catch (const measure::DeviceLost& error) {
      throw RequestError(fmt::format("the machine was lost before anything was measured: {}", error.what()));
    } catch (const std::runtime_error& error) {
      throw RequestError(fmt::format("the machine cannot be described: {}", error.what()));
    }
    layout = measure::layout_of(machine, device->processes());
    plan = measure::plan(machine, device->processes(),
                         {.quick = request.quick, .only = request.only, .gpus = request.gpus.list, .sizes = request.sizes.bytes});
    if (plan.steps.empty()) throw RequestError(fmt::format("there is nothing to measure here: {}", reasons(plan.not_measured)));
  }

  [[nodiscard]] ProbedMachine probed(const MeasureRequest& request) const {
    ProbedMachine out{.title = title_of(machine), .remarks = machine.remarks, .speaks = device->process() == 0};
    if (!request.system.name.empty()) {
      out.system = request.system.name;
      out.system_because = "given by hand";
      return out;
    }
    const measure::StockSystem stock = measure::stock_system(machine, static_cast<int>(machine.units.size()) * layout.processes_per_node);
    if (!stock.name.empty()) out.system = stock.name;
    out.system_because = stock.reason;
    return out;
  }

  /// The failed attempts, if anything was tried; else the points that the plan left out.
  [[nodiscard]] std::vector<measure::NotMeasured> tried_in_vain(const measure::Measured& measured) const {
    const auto planned = static_cast<std::ptrdiff_t>(plan.not_measured.size());
    if (static_cast<std::ptrdiff_t>(measured.not_measured.size()) <= planned) return measured.not_measured;
    return {measured.not_measured.begin() + planned, measured.not_measured.end()};
  }

  /// Whether this process and all others may begin. \throws the exceptions of `watch`
  [[nodiscard]] bool begun(const MeasureWatch& watch) const {
    std::exception_ptr fault;
    if (device->process() == 0) try {
        watch.begin();
      } catch (...) {
        fault = std::current_exception();
      }
    const bool any = device->any(fault != nullptr);
    if (fault) std::rethrow_exception(fault);
    return !any;
  }
};

[[nodiscard]] std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                     utc.tm_sec);
}

[[nodiscard]] double budget_of(const MeasureRequest& request) {
  return request.budget.seconds > 0 ? request.budget.seconds : request.quick ? quick_budget : full_budget;
}

}  // namespace

MeasureAnswer answer(const MeasureRequest& request, const MeasureWatch& watch) {
  Opened opened(request);
  MeasureAnswer out{opened.probed(request), {}, {}, {}, true, {}, {}, {}, nullptr};
  if (!opened.begun(watch)) return out;
  measure::MeasureOptions options;
  options.budget = budget_of(request);
  options.source = "measure-" + (opened.machine.host.empty() ? std::string{"here"} : opened.machine.host);
  options.system = out.system.value_or("");
  options.now = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  options.interrupted = watch.interrupted;
  if (out.speaks) {
    options.point = watch.point;
    options.progress = watch.progress;
  }
  measure::Measured measured = measure::measure(*opened.device, opened.machine, opened.plan, options);
  if (!out.speaks) return out;
  if (measured.rows.empty())
    throw RequestError(
        fmt::format("nothing was measured: {}", measured.ended.empty() ? reasons(opened.tried_in_vain(measured)) : measured.ended));
  for (const measure::Row& row : measured.rows) out.rows.push_back({row});
  out.not_measured = listed_missing(measured.not_measured);
  out.time = units::s(measured.seconds);
  out.complete = measured.complete;
  out.ended = measured.ended;
  out.made = std::make_shared<const MeasuredRun>(MeasuredRun{std::move(opened.machine),
                                                             std::move(measured),
                                                             {.date = now_text(),
                                                              .version = FABRICOST_VERSION,
                                                              .system = out.system.value_or(""),
                                                              .system_because = out.system_because,
                                                              .budget = options.budget,
                                                              .processes = opened.device->processes(),
                                                              .nodes = opened.layout.nodes}});
  return out;
}

MeasurePlanAnswer answer(const MeasurePlanRequest& request) {
  const Opened opened(request);
  MeasurePlanAnswer out{opened.probed(request), {}, listed_missing(opened.plan.not_measured)};
  for (const measure::Step& step : opened.plan.steps) out.steps.push_back({measure::title_of(step.what), step.sizes, step.refine});
  return out;
}

std::string MeasureAnswer::csv() const {
  std::string out = fmt::format("{}\n", measure::csv_header);
  for (const MeasuredPoint& row : rows) out += measure::csv_line(row);
  return out;
}

std::string MeasureAnswer::yaml(const std::string& points_file) const {
  measure::RunText run = made->run;
  run.points = points_file;
  return measure::machine_yaml(made->machine, made->measured, run);
}

std::vector<FigureAnswer> MachineAnswer::figures() const {
  std::vector<FigureAnswer> out;
  for (const MeasuredFigure& figure : made.figures) out.push_back({figure});
  return out;
}

ByName<std::string> MachineAnswer::facts() const {
  ByName<std::string> out;
  out.assign(made.facts.begin(), made.facts.end());
  return out;
}

std::optional<FitAnswer> MachineAnswer::fit() const {
  return made.calibration ? std::optional{answer_of(*made.calibration)} : std::nullopt;
}

MachineAnswer answer(const CalibrateMachineRequest& request) {
  if (request.path.empty()) throw Refusal("which measurement? Name what fabricost measure wrote: <path>", true);
  return {calibrate_machine(request.path, {.system = request.system.name, .calibration = request.calibration, .date = request.date}), {}};
}

void from_text(const std::string& text, std::string_view option, const Amount&, const Range& range, TimeToSpend& out) {
  auto seconds = parse_number(text);
  if (!seconds) seconds = parse_duration(text);
  if (!seconds || !range.holds(*seconds))
    throw RequestError(
        fmt::format("{} {}: is no time from {:.0f} to {:.0f} seconds; write {} 60", option, text, range.min, range.max, option));
  out.seconds = *seconds;
}

/// "0,2,4-7"
void from_text(const std::string& text, std::string_view option, const Amount&, const Range& range, GpuNumbers& out) {
  const auto number = [&](std::string_view part) {
    const auto value = parse_number(part);
    if (!value || !range.holds(*value) || *value != static_cast<int>(*value))
      throw RequestError(fmt::format("{0} {1}: \"{2}\" is no GPU; write {0} 0,2,4-7", option, text, part));
    return static_cast<int>(*value);
  };
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, end);
    const std::size_t dash = part.find('-', 1);
    const int first = number(part.substr(0, dash));
    const int last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (last < first) throw RequestError(fmt::format("{} {}: {} runs backwards", option, text, part));
    for (int gpu = first; gpu <= last; ++gpu) out.list.push_back(gpu);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, WholeSizes& out) {
  for (const Bytes& size : parse_sizes(text)) {
    if (!(size.value() >= 1)) throw RequestError(fmt::format("{} {}: a size is at least 1 B", option, text));
    out.bytes.push_back(static_cast<std::uint64_t>(size.value()));
  }
}

}  // namespace fabricost::probes
