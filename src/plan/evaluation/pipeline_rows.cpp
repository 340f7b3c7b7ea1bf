/// \file pipeline_rows.cpp
/// Reads and predicts the rows of a pipeline CSV. An invalid number is a fault with its place; a well-formed
/// row that is incomplete or not modelled is skipped with a reason.

#include "evaluation/cells.hpp"
#include "evaluation/pipeline_profiles.hpp"

#include <fabricost/plan/evaluation/workload.hpp>
#include <fabricost/plan/pipeline/pipeline.hpp>
#include <fabricost/plan/pipeline/run.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fabricost::plan {
namespace {

constexpr double max_count = 1e6, longest_ms = 1e7, max_pieces = 1e6;
constexpr std::array<std::string_view, 5> pipeline_columns{"id", "group", "schedule", "metric", "value"};

/// A row as in the file.
struct PipelineRow {
  WorkloadRow out;
  PipelineSetting setting;
  int chunks = 0, tensor = 0, microbatches = 0;
  std::string schedule, notes;
  StageTimes times;  ///< F, B, W are 0 if the row does not state them
};

[[nodiscard]] PipelineRow row_in(Cells& cells) {
  const auto count = [&](std::string_view column) { return cells.count(column, 0, max_count); };
  const auto seconds = [&](std::string_view column) { return 1e-3 * cells.number(column, longest_ms); };
  PipelineRow r;
  r.out = cells.row("metric");
  r.setting = {.model = r.out.model,
               .layers = count("layers"),
               .hidden = count("hidden"),
               .heads = count("heads"),
               .sequence = count("seq"),
               .stages = count("p"),
               .microbatch = count("microbatch")};
  r.chunks = count("v");
  r.tensor = count("tp");
  r.microbatches = count("m");
  r.schedule = cells.text("schedule");
  r.notes = cells.text("notes");
  r.times = {.forward = seconds("t_f_ms"), .backward = seconds("t_b_ms"), .weight = seconds("t_w_ms"), .exchange = seconds("t_comm_ms")};
  if (r.setting.complete()) r.times.held_for_weight = r.setting.held_for_weight();
  if (cells.text("unit") == "formula")
    r.out.skipped = "the value is a formula";
  else if (r.out.measured = cells.number("value", 1e15); r.out.measured == 0)
    r.out.skipped = "the value is 0 or empty";
  return r;
}

[[nodiscard]] std::vector<PipelineRow> read_pipeline(const std::filesystem::path& file) {
  CsvTable table(file);
  require_columns(table, pipeline_columns, "a pipeline CSV");
  std::vector<PipelineRow> out;
  while (table.next()) {
    Cells cells(table);
    out.push_back(row_in(cells));
  }
  table.finish();
  return out;
}

/// The reason why a row is not predicted.
struct Skip {
  std::string why;
};

/// Chunks of a stage: one layer each if an interleaved row does not state them (Qi 2023).
[[nodiscard]] int chunks_in(const PipelineRow& r, PipelineSchedule schedule) {
  if (schedule != PipelineSchedule::interleaved) return 1;
  if (r.chunks > 0) return r.chunks;
  const double layers = r.setting.layers > 0 ? r.setting.stage_layers() : 0;
  if (layers < 1 || layers != std::floor(layers)) throw Skip{"v is not given"};
  return static_cast<int>(layers);
}

class PipelinePredictor {
 public:
  PipelinePredictor(PipelineStack stack, const std::vector<PipelineRow>& rows) : stack_(std::move(stack)) {
    // stage times are inputs: those of one row are used for the others of the file
    for (const PipelineRow& r : rows)
      if (r.times.work() > 0 && r.setting.complete()) stack_.profiles.push_back({r.setting, r.times});
  }

  [[nodiscard]] double predict(const PipelineRow& r) const {
    const std::string& metric = r.out.metric;
    if (metric == "bubble_rate") {
      const auto [cost, chunks] = priced(r);
      return bubble_over_total(cost.bubble, cost.work);
    }
    if (metric == "samples_per_gpu_per_s") {
      const auto [cost, chunks] = priced(r);
      const double waited = 2.0 * chunks * r.microbatches * times_of(r).exchange;
      const double step = (1 + stack_.stretch) * cost.work + cost.bubble + (r.setting.stages > 1 ? waited : 0);
      return r.microbatches * r.setting.microbatch / (r.setting.stages * step);
    }
    if (metric == "activations_first_stage" || metric == "params_grads_optimizer_per_gpu" || metric == "activation_percent_of_TP_baseline")
      return memory(r);
    if (metric == "normalised_throughput") return gpipe_throughput(r);
    throw Skip{fmt::format("{} is not predicted from a schedule alone", metric)};
  }

 private:
  [[nodiscard]] static PipelineSchedule schedule_of(const PipelineRow& r) {
    const auto schedule = parse_pipeline_schedule(r.schedule);
    if (!schedule) throw Skip{fmt::format("schedule {} is not modelled", r.schedule)};
    return *schedule;
  }

  [[nodiscard]] StageTimes times_of(const PipelineRow& r) const {
    if (r.times.work() > 0) return r.times;
    if (!r.setting.complete()) throw Skip{"neither stage times nor a shape are given"};
    return scaled_times(stack_.profiles, stack_.filling_tokens, r.setting);
  }

  struct Priced {
    PipelineCost cost;
    int chunks;
  };
  [[nodiscard]] Priced priced(const PipelineRow& r) const {
    const PipelineSchedule schedule = schedule_of(r);
    if (r.setting.stages == 0 || r.microbatches == 0) throw Skip{"p or m is not given"};
    if (r.setting.microbatch == 0 && r.out.metric != "bubble_rate") throw Skip{"microbatch is not given"};
    const int chunks = chunks_in(r, schedule), p = r.setting.stages, m = r.microbatches;
    const StageTimes times = times_of(r);
    Priced out{pipeline_cost(schedule, p, chunks, m, times), chunks_of(schedule, chunks)};
    const double pieces = 6.0 * p * m;
    // the order is searched for these times; the closed form is only an estimate
    if (schedule == PipelineSchedule::zb_2p && pieces <= max_pieces) out.cost.bubble = run_pipeline(schedule, p, chunks, m, times).bubble();
    return out;
  }

  /// Bytes of a layer's activations per s b h (Korthikanti 2022).
  [[nodiscard]] static double activations(const PipelineRow& r, bool sequence_parallel, bool selective, bool full) {
    const double t = r.tensor, scores = selective ? 0 : 5.0 * r.setting.heads * r.setting.sequence / (r.setting.hidden * t);
    if (full) return 2;
    return (sequence_parallel ? 34 / t : 10 + 24 / t) + scores;
  }

  [[nodiscard]] static double memory(const PipelineRow& r) {
    const PipelineSetting& s = r.setting;
    if (s.layers == 0 || s.hidden == 0 || s.heads == 0 || s.sequence == 0 || r.tensor == 0 || s.stages == 0 || s.microbatch == 0)
      throw Skip{"the shape or the layout is not complete"};
    // 18 bytes per parameter, of which a layer has 12 h^2: 2 weight, 4 gradient, 12 optimizer
    if (r.out.metric == "params_grads_optimizer_per_gpu")
      return 18.0 * 12 * s.layers * s.hidden * s.hidden / (static_cast<double>(r.tensor) * s.stages) / gibibyte;
    const bool percent = r.out.metric == "activation_percent_of_TP_baseline";
    // the notes state the paper's techniques in use, and then the topic of the table
    const std::string which = r.notes.substr(0, r.notes.find(';'));
    const bool none = which.find("no SP") != std::string::npos || which == "none";
    const bool full = which.find("full") != std::string::npos, selective = which.find("selective") != std::string::npos;
    const bool sequence = !none && which.find("SP") != std::string::npos;
    if (!none && !full && !selective && !sequence) throw Skip{"the notes do not say which activations are kept"};
    const double layer = activations(r, sequence, selective, full);
    if (percent) return 100 * layer / activations(r, false, false, false);
    const PipelineSchedule schedule = schedule_of(r);
    const int chunks = chunks_in(r, schedule);
    const double held = peak_activations(schedule, 0, s.stages, chunks, r.microbatches > 0 ? r.microbatches : 2 * s.stages);
    return held * s.layers / s.stages * layer * s.tokens() * s.hidden / gibibyte;
  }

  /// Fraction of working devices, times p devices: p m / (m + p - 1), 1 for one microbatch (Huang 2019).
  [[nodiscard]] static double gpipe_throughput(const PipelineRow& r) {
    if (r.out.model.find("Transformer") == std::string::npos) throw Skip{"its stages are uneven, by how much is not given"};
    if (r.setting.stages == 0 || r.microbatches == 0) throw Skip{"p or m is not given"};
    const PipelineCost cost =
        pipeline_cost(PipelineSchedule::gpipe, r.setting.stages, 1, r.microbatches, {.forward = 1, .backward = 1, .weight = 1});
    return r.setting.stages * cost.work / cost.step();
  }

  PipelineStack stack_;
};

}  // namespace

std::vector<WorkloadRow> predict_pipeline_rows(const std::filesystem::path& file) {
  const std::vector<PipelineRow> rows = read_pipeline(file);
  const PipelinePredictor predictor(load_pipeline_stack(), rows);
  std::vector<WorkloadRow> out;
  out.reserve(rows.size());
  for (const PipelineRow& r : rows) {
    out.push_back(r.out);
    if (!r.out.skipped.empty()) continue;
    try {
      out.back().predicted = predictor.predict(r);
    } catch (const Skip& skip) {
      out.back().skipped = skip.why;
    } catch (const RequestError& refused) {
      out.back().skipped = refused.what();
    }
  }
  return out;
}

}  // namespace fabricost::plan
