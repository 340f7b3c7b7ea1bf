/// \file pipeline.cpp
/// fabricost pipeline: the answer as text, and its chart.

#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "text/text_table.hpp"
#include "text/units.hpp"
#include "text/write_file.hpp"

#include <fabricost/answers/pipeline.hpp>
#include <fabricost/pictures/gantt.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace fabricost::cli {
namespace {

struct PipelineCommand : PipelineRequest {
  int width = 100;
  std::string svg;

  static constexpr auto fields() {
    using R = PipelineCommand;
    return tables(PipelineRequest::fields(),
                  Table{asks(&R::width, "width", "--width", Amount::count, any_count, "N", "Characters of the chart; default 100"),
                        asks(&R::svg, "svg", "--svg", "FILE", "Draw the chart into a file")});
  }
};

[[nodiscard]] std::string title(const PipelineAnswer& a) {
  return fmt::format("{}, {} stages{}, {} microbatches", a.schedule, a.stages, a.chunks > 1 ? fmt::format(" of {} chunks", a.chunks) : "",
                     a.microbatches);
}

[[nodiscard]] std::string seconds_text(double seconds) { return time_text(Time::from_value(seconds)); }

[[nodiscard]] std::string pipeline_text(const PipelineAnswer& a, const Terminal& terminal, const PipelineCommand& how) {
  std::string out = terminal.strong(title(a)) + "\n";
  TextTable facts{{{""}, {"", right}, {""}}};
  facts.row({"step", seconds_text(a.step_seconds), "the longest stage, first to last piece"});
  facts.row({"work", seconds_text(a.work_seconds), "microbatches x (forward + backward + weight)"});
  facts.row({"bubble", seconds_text(a.bubble_seconds),
             fmt::format("{:.2f} % of the step, {:.2f} % of the work", 100 * a.bubble_over_total, 100 * a.bubble_over_ideal)});
  facts.row({"closed form", seconds_text(a.closed_form_bubble_seconds),
             a.closed_form_exact ? "the same, to the last digit" : "an estimate; the lines above count"});
  facts.row({"hand-overs", seconds_text(a.exposed_exchange_seconds), fmt::format("of the bubble; a microbatch crosses {} times", a.hops)});
  if (a.makespan_seconds > a.step_seconds * (1 + 1e-9))
    facts.row({"makespan", seconds_text(a.makespan_seconds), "first to last stage: the step where all of them wait for each other"});
  out += facts.text(2) + "\n";
  TextTable stages{{{"stage", right}, {"starts", right}, {"ends", right}, {"waits", right}, {"holds", right}, {""}}};
  for (std::size_t s = 0; s < a.run.bars.size(); ++s) {
    const std::vector<Bar>& bars = a.run.bars[s];
    stages.row({std::to_string(s), seconds_text(bars.front().start), seconds_text(bars.back().end), seconds_text(waiting(bars)),
                fmt::format("{:.2f}", a.run.peak_activations[s]), s == 0 ? "microbatches' activations in 1/stages of the layers" : ""});
  }
  return out + stages.text(2) + "\n" + gantt_text(a.run, how.width);
}

}  // namespace

void add_pipeline(CLI::App& app, Runner& runner) {
  add_face<PipelineCommand>(app, runner, "pipeline", "What a pipeline schedule waits and holds, and its chart",
                            "Example: fabricost pipeline --schedule zb-h1 --stages 8 --microbatches 24\n"
                            "           --forward 18.5ms --backward 18.1ms --weight 9.3ms --exchange 0.6ms",
                            pipeline_text, [](const PipelineAnswer& a, const PipelineCommand& how) {
                              if (!how.svg.empty()) io::write_file(how.svg, gantt_svg(a.run, title(a)), "--svg");
                            });
}

}  // namespace fabricost::cli
