/// \file measure.cpp
/// fabricost measure: opens the machine, measures what is worth it in the time there is, writes points and machine.

#include "cli/collectives/measure_text.hpp"
#include "cli/progress.hpp"
#include "cli/report.hpp"
#include "cli/runner.hpp"
#include "cli/subcommands.hpp"
#include "measure/files/machine_file.hpp"
#include "measure/files/partial_file.hpp"
#include "measure/plugin.hpp"
#include "measure/stock.hpp"
#include "text/csv.hpp"
#include "text/short_text.hpp"
#include "text/write_file.hpp"

#include <fabricost/error.hpp>
#include <fabricost/machine/this_machine.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>
#include <fabricost/version.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <ctime>
#include <memory>
#include <optional>

namespace fabricost::cli {
namespace {

constexpr double quick_budget = 120, full_budget = 900;  ///< seconds

/// As typed; empty where nothing was.
struct MeasureQuestion {
  std::string out = "measured.csv", system, budget, gpus, sizes;
  std::vector<std::string> only;
  bool quick = false, mpi = false, quiet = false, list = false, json = false;
};

volatile std::sig_atomic_t interrupt_came = 0;
extern "C" void on_interrupt(int) { interrupt_came = 1; }

/// Ctrl-C and a scheduler's end are asked for once and then kill as ever.
class Interrupts {
 public:
  Interrupts() {
    interrupt_came = 0;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }

 private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

[[nodiscard]] double budget_of(const MeasureQuestion& asked) {
  if (asked.budget.empty()) return asked.quick ? quick_budget : full_budget;
  auto seconds = io::parse_number(asked.budget);
  if (!seconds) seconds = io::parse_duration(asked.budget);
  if (!seconds || !(*seconds >= 1) || *seconds > 86400)
    throw RequestError(fmt::format("--budget {}: is no time from 1 to 86400 seconds; write --budget 60", asked.budget));
  return *seconds;
}

/// "0,2,4-7"
[[nodiscard]] std::vector<int> gpus_of(const std::string& text) {
  std::vector<int> out;
  const auto number = [&](std::string_view part) {
    const auto value = io::parse_number(part);
    if (!value || *value < 0 || *value > 1023 || *value != static_cast<int>(*value))
      throw RequestError(fmt::format("--gpus {}: \"{}\" is no GPU; write --gpus 0,2,4-7", text, part));
    return static_cast<int>(*value);
  };
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, end);
    const std::size_t dash = part.find('-', 1);
    const int first = number(part.substr(0, dash));
    const int last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (last < first) throw RequestError(fmt::format("--gpus {}: {} runs backwards", text, part));
    for (int gpu = first; gpu <= last; ++gpu) out.push_back(gpu);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

/// Whole bytes. \throws RequestError
[[nodiscard]] std::vector<std::uint64_t> sizes_of(const std::string& text) {
  std::vector<std::uint64_t> out;
  if (text.empty()) return out;
  for (const Bytes& size : parse_sizes(text)) {
    if (!(size.value() >= 1)) throw RequestError(fmt::format("--sizes {}: a size is at least 1 B", text));
    out.push_back(static_cast<std::uint64_t>(size.value()));
  }
  return out;
}

[[nodiscard]] std::string now_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                     utc.tm_sec);
}

/// Files and progress are the first process's; the others measure in step and say nothing.
class Measurement {
 public:
  Measurement(const MeasureQuestion& asked, measure::Device& device) : request_(asked), device_(device), machine_(described(device)) {
    const measure::Layout layout = measure::layout_of(machine_, device.processes());
    nodes_ = layout.nodes;
    plan_ = measure::plan(machine_, device.processes(),
                          {.quick = asked.quick, .only = asked.only, .gpus = gpus_of(asked.gpus), .sizes = sizes_of(asked.sizes)});
    if (plan_.steps.empty()) throw RequestError(fmt::format("there is nothing to measure here: {}", reasons(plan_.not_measured)));
    if (!asked.system.empty()) {
      files_.system = asked.system;
      files_.system_because = "given by hand";
    } else {
      const int gpus = static_cast<int>(machine_.units.size()) * layout.processes_per_node;
      const measure::StockSystem stock = measure::stock_system(machine_, gpus);
      files_.system = stock.name;
      files_.system_because = stock.reason;
    }
    files_.points = asked.out;
    files_.machine = machine_file_of(asked.out).string();
  }

  [[nodiscard]] std::string list(const Terminal& terminal) const {
    if (!first()) return "";
    return request_.json ? printed(cli::to_json(plan_)) : text_of(machine_, device_.processes(), plan_, terminal);
  }

  [[nodiscard]] std::string run(const Terminal& terminal) {
    std::optional<measure::PartialFile> partial;
    std::optional<RequestError> unwritable;
    if (first()) try {
        partial.emplace(request_.out);
        partial->line(fmt::format("{}\n", measure::csv_header));
      } catch (const RequestError& error) {
        unwritable = error;
      }
    if (device_.any(unwritable.has_value())) {
      if (unwritable) throw *unwritable;
      return "";
    }
    const measure::Measured measured = measured_into(partial);
    if (!first()) return "";
    if (measured.rows.empty()) {
      partial->remove();
      throw RequestError(
          fmt::format("nothing was measured: {}", measured.ended.empty() ? reasons(tried_in_vain(measured)) : measured.ended));
    }
    write(measured);
    partial->remove();
    if (!measured.complete)
      throw RequestError(fmt::format("ended before its time ({}); the {} points measured until then are in {} and {}", measured.ended,
                                     measured.rows.size(), files_.points, files_.machine));
    return request_.json ? printed(to_json(measured, files_)) : text_of(machine_, device_.processes(), measured, files_, terminal);
  }

 private:
  [[nodiscard]] static measure::Machine described(measure::Device& device) {
    try {
      return device.describe();
    } catch (const measure::DeviceLost& error) {
      throw RequestError(fmt::format("the machine was lost before anything was measured: {}", error.what()));
    } catch (const measure::DeviceFault& error) {
      throw RequestError(fmt::format("the machine cannot be described: {}", error.what()));
    }
  }

  [[nodiscard]] bool first() const { return device_.process() == 0; }

  [[nodiscard]] static std::string reasons(const std::vector<measure::NotMeasured>& missing) {
    std::string out;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, missing.size()); ++i)
      out += fmt::format("{}{}: {}", i == 0 ? "" : "; ", missing[i].what, missing[i].reason);
    return out.empty() ? "no probe fits what was asked for" : out;
  }

  /// What was tried, where anything was; what the plan left out says less about why nothing came of it.
  [[nodiscard]] std::vector<measure::NotMeasured> tried_in_vain(const measure::Measured& measured) const {
    const auto planned = static_cast<std::ptrdiff_t>(plan_.not_measured.size());
    if (static_cast<std::ptrdiff_t>(measured.not_measured.size()) <= planned) return measured.not_measured;
    return {measured.not_measured.begin() + planned, measured.not_measured.end()};
  }

  measure::Measured measured_into(std::optional<measure::PartialFile>& partial) {
    const Interrupts interrupts;
    ProgressLine progress(request_.quiet || !first());
    measure::MeasureOptions options;
    options.budget = budget_of(request_);
    options.source = "measure-" + (machine_.host.empty() ? std::string{"here"} : machine_.host);
    options.system = files_.system;
    options.now = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
    options.interrupted = [] { return interrupt_came != 0; };
    options.point = [&](const measure::Row& row) {
      if (partial) partial->line(measure::csv_line(row));
    };
    options.progress = [&](const measure::Progress& p) { progress.show(p.now, p.done, p.left); };
    return measure::measure(device_, machine_, plan_, options);
  }

  void write(const measure::Measured& measured) const {
    std::string points = fmt::format("{}\n", measure::csv_header);
    for (const measure::Row& row : measured.rows) points += measure::csv_line(row);
    const measure::RunText run{.date = now_text(),
                               .version = FABRICOST_VERSION,
                               .points = std::filesystem::path(request_.out).filename().string(),
                               .system = files_.system,
                               .system_because = files_.system_because,
                               .budget = budget_of(request_),
                               .processes = device_.processes(),
                               .nodes = nodes_};
    io::write_file(files_.machine, measure::machine_yaml(machine_, measured, run), "-o");
    io::write_file(files_.points, points, "-o");
  }

  const MeasureQuestion& request_;
  measure::Device& device_;
  measure::Machine machine_;
  measure::Plan plan_;
  MeasuredFiles files_;
  int nodes_ = 1;
};

[[nodiscard]] std::string measure_job(const MeasureQuestion& asked, const Terminal& terminal) {
  (void)budget_of(asked);
  (void)gpus_of(asked.gpus);
  (void)sizes_of(asked.sizes);
  if (asked.mpi && !asked.gpus.empty()) throw RequestError("--gpus: --mpi measures processes, not GPUs");
  if (machine_file_of(asked.out) == asked.out)
    throw RequestError(fmt::format("-o {}: is where the machine would be written; name a .csv", asked.out));
  if (!asked.system.empty()) (void)load_system(asked.system, {}, "none", KernelSets::none());
  const std::unique_ptr<measure::Device> device = measure::open_device(asked.mpi);
  Measurement measurement(asked, *device);
  return asked.list ? measurement.list(terminal) : measurement.run(terminal);
}

}  // namespace

void add_measure(CLI::App& app, Runner& runner) {
  const auto asked = std::make_shared<MeasureQuestion>();
  CLI::App& sub = *app.add_subcommand("measure", "Measure this machine: memory, launches, links, collectives");
  sub.add_flag("--quick", asked->quick, "Two minutes instead of fifteen: the points that tell most");
  sub.add_flag("--mpi", asked->mpi, "Measure MPI's processes instead of GPUs (under mpirun)");
  sub.add_option("-o,--out", asked->out, "Points; the machine goes beside them [measured.csv]")->option_text("FILE");
  sub.add_option("--system", asked->system, "The shipped system this is, where it is not recognised")->option_text("NAME");
  sub.add_option("--only", asked->only, "memory launch host peer collectives overlap, a probe, an operation")->option_text("KIND...");
  sub.add_option("--budget", asked->budget, "Time to spend [900; with --quick 120]")->option_text("SECONDS");
  sub.add_option("--sizes", asked->sizes, "These sizes and no others: 1KiB:1GiB:x2, or 4KiB,64KiB")->option_text("SIZES");
  sub.add_option("--gpus", asked->gpus, "Which GPUs: 0,2,4-7 [all]")->option_text("LIST");
  sub.add_flag("--list", asked->list, "Say what would be measured, and measure nothing");
  sub.add_flag("--quiet", asked->quiet, "No progress on stderr");
  sub.add_flag("--json", asked->json, "Print JSON");
  sub.footer("Example: fabricost measure --quick && fabricost calibrate");
  runner.add(sub, [asked](const Terminal& terminal) { return measure_job(*asked, terminal); });
}

}  // namespace fabricost::cli
