/// \file this_machine.cpp
/// Measures this machine within the time budget; computes its figures from the measured points.

#include <fabricost/probes/answers/this_machine.hpp>

#include "measure/files/machine_file.hpp"
#include "measure/files/rows.hpp"
#include "measure/plugin.hpp"
#include "measure/stock.hpp"
#include "text/amounts.hpp"
#include "text/csv.hpp"
#include "text/parse_quantity.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>
#include <fabricost/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

namespace fabricost::probes {

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

[[nodiscard]] std::string title_of(const measure::Machine& machine, int processes) {
  const bool alone = machine.runtime != "MPI";
  const std::string called = machine.units.empty() || machine.units[0].name.empty() ? "" : " called " + machine.units[0].name;
  const auto count = alone ? static_cast<int>(machine.units.size()) : processes;
  std::string out = fmt::format("{} {}{}{}", count, alone ? "GPU" : "process", count == 1 ? "" : alone ? "s" : "es", alone ? called : "");
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
    if (request.mpi && !request.gpus.list.empty()) throw Refusal("<gpus>: <mpi> measures processes, not GPUs");
    if (!request.system.name.empty()) (void)load_system(request.system.name, {}, "none", KernelSets::none());
    device = measure::open_device(request.mpi);
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
    ProbedMachine out{.title = title_of(machine, device->processes()), .remarks = machine.remarks, .speaks = device->process() == 0};
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
