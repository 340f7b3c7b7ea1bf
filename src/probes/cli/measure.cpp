/// fabricost measure: opens the machine, measures within the time budget, writes the points and the machine.

#include "cli/interrupts.hpp"
#include "cli/measure_text.hpp"
#include "cli/question_command.hpp"
#include "cli/progress.hpp"
#include "cli/subcommands.hpp"
#include "measure/files/files.hpp"
#include "text/csv.hpp"
#include "text/amounts.hpp"

#include <fabricost/probes/machine/this_machine.hpp>

#include <algorithm>
#include <optional>

namespace fabricost::cli {
namespace {

struct MeasureTyped : MeasureRequest {
  OutputPath out{"measured.csv"};
  bool list = false, quiet = false;

  static RequestTable<MeasureTyped> fields() {
    using R = MeasureTyped;
    RequestTable<R> out{MeasureRequest::fields(), asks(&R::list, "list", "--list", "", "Say what would be measured, and measure nothing"),
                        asks(&R::quiet, "quiet", "--quiet", "", "No progress on stderr"),
                        asks(&R::out, "out", "-o,--out", "FILE", "Points; the machine goes beside them [measured.csv]")};
    std::rotate(out.all.begin() + 2, out.all.end() - 1, out.all.end());  // the third in help
    return out;
  }
};

/// Points are on disk as soon as they are measured; the finished files take their place.
[[nodiscard]] MeasureAnswer measured_into(const MeasureTyped& typed) {
  const std::string machine_file = machine_file_of(typed.out.path).string();
  const Interrupts interrupts;
  std::optional<measure::PartialFile> partial;
  bool any = false;
  std::optional<ProgressLine> progress;
  MeasureWatch watch;
  watch.begin = [&] {
    partial.emplace(typed.out.path);
    partial->line(fmt::format("{}\n", measure::csv_header));
    progress.emplace(typed.quiet);
  };
  watch.point = [&](const measure::Row& row) {
    any = true;
    partial->line(measure::csv_line(row));
  };
  watch.progress = [&](const measure::Progress& p) { progress->show(p.now, p.done, p.left); };
  watch.interrupted = [] { return Interrupts::came(); };
  MeasureAnswer found;
  try {
    found = answer(typed, watch);
  } catch (...) {
    if (partial && !any) partial->remove();
    throw;
  }
  progress.reset();
  if (!found.speaks) return found;
  found.file = typed.out.path;
  found.machine_file = machine_file;
  write_output({machine_file}, found.yaml(std::filesystem::path(typed.out.path).filename().string()), "-o");
  write_output(typed.out, found.csv(), "-o");
  partial->remove();
  if (!found.complete)
    throw RequestError(fmt::format("ended before its time ({}); the {} points measured until then are in {} and {}", found.ended,
                                   found.rows.size(), found.file, found.machine_file));
  return found;
}

}  // namespace

void add_measure(CLI::App& app, Runner& runner) {
  const auto job = [](const GivenOptions& o, const Terminal& terminal) {
    return spelled_out<MeasureTyped>([&] {
      const auto as_typed = [&](const auto& found) {
        return found.speaks ? shown(found, o.json, terminal, [](Page& page, const auto& a) { text_of(page, a); }) : "";
      };
      const auto typed = request_of<MeasureTyped>(o.typed);
      return typed.list ? as_typed(answer(MeasurePlanRequest{typed})) : as_typed(measured_into(typed));
    });
  };
  add_command<MeasureTyped>(app, runner, "measure", "Measure this machine: memory, launches, links, collectives",
                            "Example: fabricost measure --quick && fabricost calibrate", job);
}

}  // namespace fabricost::cli
