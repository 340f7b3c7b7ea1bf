/// \file pipeline.cpp
/// fabricost pipeline: what a pipeline schedule costs with given stage times, the memory of every stage, and its chart.

#include "text/units.hpp"
#include "text/text_table.hpp"
#include "names.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"
#include "write_file.hpp"

#include <fabricost/pictures/gantt.hpp>
#include <fabricost/pipeline/pipeline.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

namespace fabricost::cli {
namespace {

constexpr double most_pieces = 1e6;   ///< of work in one chart
constexpr double longest_time = 1e6;  ///< s

/// As typed; empty where nothing was.
struct PipelineOptions {
  std::string schedule, stages, microbatches, chunks, forward, backward, weight, exchange, head, overlapped, held, width, svg;
  bool json = false;
};

/// Seconds of "18.5ms". \throws RequestError
[[nodiscard]] double stage_time(const std::string& text, std::string_view option) {
  constexpr std::array<std::pair<std::string_view, double>, 4> units{{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
  if (text.empty()) return 0;
  std::string_view rest;
  const double number = io::leading_number(text, rest);
  for (const auto& [unit, seconds] : units)
    if (rest == unit && number >= 0 && number * seconds <= longest_time) return number * seconds;
  throw RequestError(fmt::format("{}: \"{}\" is not a time; write a number of 0 or more and s, ms, us or ns, as in 18.5ms", option, text));
}

/// What was asked for, checked as far as one option can be.
struct PipelineLayout {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int stages = 0, chunks = 1, microbatches = 0;
  StageTimes times;
};

[[nodiscard]] PipelineLayout meant(const PipelineOptions& typed) {
  PipelineLayout out;
  if (typed.schedule.empty())
    throw RequestError(fmt::format("which schedule? Add --schedule, one of: {}", joined(listed(pipeline_schedule_names), " ")));
  const auto schedule = parse_pipeline_schedule(typed.schedule);
  if (!schedule) throw_unknown(typed.schedule, "a schedule", listed(pipeline_schedule_names), "--schedule");
  out.schedule = *schedule;
  out.stages = count_of(typed.stages, "--stages");
  out.microbatches = count_of(typed.microbatches, "--microbatches");
  if (out.stages == 0) throw RequestError("how many stages? Add --stages, as in --stages 8");
  if (out.microbatches == 0) throw RequestError("how many microbatches? Add --microbatches, as in --microbatches 24");
  const int chunks = count_of(typed.chunks, "--chunks");
  out.chunks = chunks > 0 ? chunks : out.schedule == PipelineSchedule::interleaved ? 2 : 1;
  if (typed.forward.empty()) throw RequestError("how long is a forward? Add --forward, as in --forward 18.5ms");
  out.times.forward = stage_time(typed.forward, "--forward");
  // a GEMM's two gradients cost as much as its forward each
  out.times.backward = typed.backward.empty() ? out.times.forward : stage_time(typed.backward, "--backward");
  out.times.weight = typed.weight.empty() ? out.times.forward : stage_time(typed.weight, "--weight");
  out.times.exchange = stage_time(typed.exchange, "--exchange");
  out.times.last_extra = stage_time(typed.head, "--head");
  out.times.overlapped = stage_time(typed.overlapped, "--overlapped");
  if (!typed.held.empty()) {
    std::string_view rest;
    out.times.held_for_weight = io::leading_number(typed.held, rest);
    if (!rest.empty() || !(out.times.held_for_weight >= 0 && out.times.held_for_weight <= 1))
      throw RequestError(fmt::format("--held: \"{}\" is not a share; write a number from 0 to 1, as in 0.94", typed.held));
  }
  if (out.times.overlapped > 0 && !runs_both_ways(out.schedule))
    throw RequestError("--overlapped is for dualpipe and dualpipe_v, where a forward and a backward run as one");
  check_pipeline(out.schedule, out.stages, out.chunks, out.microbatches, out.times);
  if (6.0 * out.stages * out.chunks * out.microbatches > most_pieces)
    throw RequestError(fmt::format("{} stages, {} chunks and {} microbatches are more than this command works off; take fewer of them",
                                   out.stages, out.chunks, out.microbatches));
  return out;
}

[[nodiscard]] std::string title(const PipelineLayout& a) {
  const int chunks = chunks_of(a.schedule, a.chunks);
  return fmt::format("{}, {} stages{}, {} microbatches", name(a.schedule), a.stages, chunks > 1 ? fmt::format(" of {} chunks", chunks) : "",
                     a.microbatches);
}

[[nodiscard]] std::string seconds_text(double seconds) { return time_text(Time::from_value(seconds)); }

[[nodiscard]] std::string text(const PipelineLayout& a, const PipelineRun& run, const PipelineCost& cost, int width,
                               const Terminal& terminal) {
  std::string out = terminal.strong(title(a)) + "\n";
  TextTable facts{{{""}, {"", right}, {""}}};
  facts.row({"step", seconds_text(run.longest_stage), "the longest stage, first to last piece"});
  facts.row({"work", seconds_text(run.work), "microbatches x (forward + backward + weight)"});
  facts.row({"bubble", seconds_text(run.bubble()),
             fmt::format("{:.2f} % of the step, {:.2f} % of the work", 100 * bubble_over_total(run.bubble(), run.work),
                         100 * bubble_over_ideal(run.bubble(), run.work))});
  facts.row({"closed form", seconds_text(cost.bubble), cost.exact ? "the same, to the last digit" : "an estimate; the lines above count"});
  facts.row({"hand-overs", seconds_text(cost.exposed_exchange), fmt::format("of the bubble; a microbatch crosses {} times", cost.hops)});
  if (run.makespan > run.longest_stage * (1 + 1e-9))
    facts.row({"makespan", seconds_text(run.makespan), "first to last stage: the step where all of them wait for each other"});
  out += facts.text(2) + "\n";
  TextTable stages{{{"stage", right}, {"starts", right}, {"ends", right}, {"waits", right}, {"holds", right}, {""}}};
  for (std::size_t s = 0; s < run.bars.size(); ++s) {
    const std::vector<Bar>& bars = run.bars[s];
    stages.row({std::to_string(s), seconds_text(bars.front().start), seconds_text(bars.back().end), seconds_text(waiting(bars)),
                fmt::format("{:.2f}", run.peak_activations[s]), s == 0 ? "microbatches' activations in 1/stages of the layers" : ""});
  }
  return out + stages.text(2) + "\n" + gantt_text(run, width);
}

[[nodiscard]] nlohmann::ordered_json to_json(const PipelineLayout& a, const PipelineRun& run, const PipelineCost& cost) {
  nlohmann::ordered_json out;
  out["schedule"] = name(a.schedule);
  out["stages"] = a.stages;
  out["chunks"] = chunks_of(a.schedule, a.chunks);
  out["microbatches"] = a.microbatches;
  out["step_s"] = run.longest_stage;
  out["work_s"] = run.work;
  out["bubble_s"] = run.bubble();
  out["bubble_over_total"] = bubble_over_total(run.bubble(), run.work);
  out["bubble_over_ideal"] = bubble_over_ideal(run.bubble(), run.work);
  out["makespan_s"] = run.makespan;
  out["closed_form_bubble_s"] = cost.bubble;
  out["closed_form_exact"] = cost.exact;
  out["exposed_exchange_s"] = cost.exposed_exchange;
  out["hops"] = cost.hops;
  out["by_stage"] = nlohmann::ordered_json::array();
  for (std::size_t s = 0; s < run.bars.size(); ++s) {
    nlohmann::ordered_json stage;
    stage["stage"] = s;
    stage["peak_activations"] = run.peak_activations[s];
    stage["waits_s"] = waiting(run.bars[s]);
    stage["work"] = nlohmann::ordered_json::array();
    for (const Bar& bar : run.bars[s])
      stage["work"].push_back({{"kind", name(bar.work.kind)},
                               {"chunk", bar.work.chunk},
                               {"microbatch", bar.work.microbatch},
                               {"start_s", bar.start},
                               {"end_s", bar.end}});
    out["by_stage"].push_back(std::move(stage));
  }
  return out;
}

}  // namespace

void add_pipeline(CLI::App& app, Runner& runner) {
  const auto options = std::make_shared<PipelineOptions>();
  CLI::App& sub = *app.add_subcommand("pipeline", "What a pipeline schedule waits and holds, and its chart");
  sub.add_option("--schedule", options->schedule,
                 "One of: gpipe 1f1b interleaved zb_h1 zb_h2 zb_1p zb_2p\nzb_v v_half v_min dualpipe dualpipe_v")
      ->option_text("NAME");
  sub.add_option("--stages,-p", options->stages, "Pipeline stages")->option_text("P");
  sub.add_option("--microbatches,-m", options->microbatches, "Microbatches of a step")->option_text("M");
  sub.add_option("--chunks,-v", options->chunks, "Chunks of a stage when interleaved; default 2")->option_text("V");
  sub.add_option("--forward", options->forward, "Of one microbatch in all layers of a stage, as in 18.5ms")->option_text("TIME");
  sub.add_option("--backward", options->backward, "Gradient of the input alone; default as forward")->option_text("TIME");
  sub.add_option("--weight", options->weight, "Gradient of the weights; default as forward")->option_text("TIME");
  sub.add_option("--exchange", options->exchange, "One hand-over, one way; default 0ms")->option_text("TIME");
  sub.add_option("--head", options->head, "What the last layers take more, forward and both\nbackwards together; default 0ms")
      ->option_text("TIME");
  sub.add_option("--overlapped", options->overlapped, "dualpipe: a forward and a full backward run as one;\ndefault their sum")
      ->option_text("TIME");
  sub.add_option("--held", options->held, "Share of activations kept for the weight gradient;\ndefault 0.94 (fused attention)")
      ->option_text("SHARE");
  sub.add_option("--width", options->width, "Characters of the chart; default 100")->option_text("N");
  sub.add_option("--svg", options->svg, "Draw the chart into a file")->option_text("FILE");
  sub.add_flag("--json", options->json, "Print JSON");
  sub.footer(
      "Example: fabricost pipeline --schedule zb-h1 --stages 8 --microbatches 24\n"
      "           --forward 18.5ms --backward 18.1ms --weight 9.3ms --exchange 0.6ms");
  runner.add(sub, [options](const Terminal& terminal) {
    const PipelineLayout asked = meant(*options);
    const int width = options->width.empty() ? 100 : count_of(options->width, "--width");
    const PipelineRun run = run_pipeline(asked.schedule, asked.stages, asked.chunks, asked.microbatches, asked.times);
    const PipelineCost cost = pipeline_cost(asked.schedule, asked.stages, asked.chunks, asked.microbatches, asked.times);
    std::string out = options->json ? printed(to_json(asked, run, cost)) : text(asked, run, cost, width, terminal);
    if (!options->svg.empty()) write_file(options->svg, gantt_svg(run, title(asked)), "--svg");
    return out;
  });
}

}  // namespace fabricost::cli
