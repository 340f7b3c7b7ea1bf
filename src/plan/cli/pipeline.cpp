/// fabricost pipeline: the answer as text, and its chart.

#include "answers/job_verdict.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/plan/answers/pipeline.hpp>
#include <fabricost/plan/pictures/gantt.hpp>

namespace fabricost::cli {
namespace {

struct PipelineCommand : PipelineRequest {
  std::optional<int> width{};

  static RequestTable<PipelineCommand> fields() {
    return {PipelineRequest::fields(), asks(&PipelineCommand::width, "width", "--width", Amount::count, any_count, "N",
                                            "Characters of the chart; default the terminal's,\nat most 100")};
  }
};

void pipeline_text(Page& page, const PipelineAnswer& a, const PipelineCommand& how) {
  const int beside = 4 + static_cast<int>(std::to_string(a.stages).size());  // the number of a stage, and blanks
  page.title(verdict_of(a));
  TextTable facts{"", ">", ""};
  facts.row("step", time_text(a.step), "the longest stage, first to last piece");
  facts.row("work", time_text(a.work),
            a.request.overlapped > Time{} ? "microbatches x (forward + backward + weight), less what pairs that run as one save"
                                             : "microbatches x (forward + backward + weight)");
  facts.row("bubble", time_text(a.bubble),
            fmt::format("{:.2f} % of the step, {:.2f} % of the work", 100 * a.bubble_over_total, 100 * a.bubble_over_ideal));
  facts.row("closed form", time_text(a.closed_form_bubble),
            a.closed_form_exact ? "the same, to the last digit" : "an estimate; the lines above count");
  facts.row("hand-overs", time_text(a.exposed_exchange), fmt::format("of the bubble; a microbatch crosses {} times", a.hops));
  if (a.makespan > a.step * (1 + 1e-9))
    facts.row("makespan", time_text(a.makespan), "first to last stage: the step where all of them wait for each other");
  page.table(facts);
  page.add("\n");
  TextTable stages{">stage", ">starts", ">ends", ">waits", ">holds", ""};
  for (std::size_t s = 0; s < a.run.bars.size(); ++s) {
    const std::vector<Bar>& bars = a.run.bars[s];
    stages.row(s, seconds_text(bars.front().start), seconds_text(bars.back().end), seconds_text(waiting(bars)),
               fmt::format("{:.2f}", a.run.peak_activations[s]), s == 0 ? "microbatches' activations in 1/stages of the layers" : "");
  }
  page.table(stages);
  page.add("\n" + gantt_text(a.run, how.width.value_or(static_cast<int>(page.margin()) - beside)));
}

}  // namespace

void add_pipeline(CLI::App& app, Runner& runner) {
  add_question<PipelineCommand>(
      app, runner, "pipeline", "Bubble and memory of a pipeline schedule, drawn",
      "Example: fabricost pipeline --schedule zb-h1 --stages 8 --microbatches 24 --forward 18.5ms --backward 18.1ms --weight 9.3ms "
      "--exchange 0.6ms",
      pipeline_text, Writes{"--svg", "Draw the chart into a file", [](const PipelineAnswer& a) { return gantt_svg(a.run, title_of(a)); }});
}

}  // namespace fabricost::cli
