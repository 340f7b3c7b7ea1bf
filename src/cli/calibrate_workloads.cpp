/// \file calibrate_workloads.cpp
/// fabricost calibrate of tables of whole workloads and of kernels that are not NCCL's: one fit, its text, JSON and files for each kind.

#include "calibrate_workloads.hpp"

#include "text/text_table.hpp"
#include "comparison_json.hpp"
#include "moe.hpp"
#include "report.hpp"
#include "write_file.hpp"

#include <fabricost/evaluation/calibrate_training.hpp>
#include <fabricost/evaluation/inference.hpp>
#include <fabricost/specs/serving.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <utility>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

[[nodiscard]] nlohmann::ordered_json to_json(const TrainingFit& fit) {
  nlohmann::ordered_json out;
  out["rows"] = fit.rows;
  out["constants"] = fit.constants;
  out["median_ape"] = fit.median_ape;
  out["mape"] = fit.mape;
  out["generations"] = nlohmann::ordered_json::object();
  for (const CalibratedSet& set : fit.generations) {
    nlohmann::ordered_json one;
    one["rows"] = set.points;
    one["median_ape"] = set.median_ape;
    one["mape"] = set.mape;
    for (const FittedConstant& c : set.fitted)
      one["constants"][c.key] = {{"value", c.value}, {"deviation", c.deviation}, {"determined", c.determined}};
    out["generations"][name(set.generation)] = one;
  }
  for (const FittedStack& s : fit.stacks)
    out["stacks"][s.name] = {{"scale", s.scale}, {"deviation", s.deviation}, {"spread", s.spread}, {"rows", s.rows}};
  out["skipped"] = cli::to_json(fit.skipped);
  return out;
}

[[nodiscard]] std::string text_of(const TrainingFit& fit, const Terminal& terminal) {
  std::string out = terminal.strong(fmt::format("{} steps and kernels, {} constants", fit.rows, fit.constants)) + "\n";
  out += fmt::format("  error: median {:.2f} %, mean {:.2f} %\n", fit.median_ape, fit.mape);
  for (const CalibratedSet& set : fit.generations) {
    out += "\n" +
           terminal.strong(
               fmt::format("{}, {} rows: median {:.2f} %, mean {:.2f} %", name(set.generation), set.points, set.median_ape, set.mape)) +
           "\n";
    TextTable rows{{{"constant"}, {"value", right}, {"+- %", right}, {""}}};
    for (const FittedConstant& c : set.fitted)
      rows.row({std::string{c.key},
                fmt::format("{:.4g}{}", c.measure == Measure::time ? c.value * 1e6 : c.value, c.measure == Measure::time ? " us" : ""),
                fmt::format("{:.2g}", 100 * c.deviation), c.determined ? c.shared ? "all generations" : "" : "not determined"});
    out += rows.text(2);
  }
  out += "\n" + terminal.strong("Software stacks") + "\n";
  TextTable rows{{{"stack"}, {"rows", right}, {"factor", right}, {"+- %", right}, {"left %", right}}};
  for (const FittedStack& s : fit.stacks)
    rows.row({s.name, std::to_string(s.rows), fmt::format("{:.3f}", s.scale), fmt::format("{:.2g}", 100 * s.deviation),
              fmt::format("{:.2g}", 100 * s.spread)});
  out += rows.text(2);
  if (!fit.skipped.empty()) {
    out += "\n" + terminal.strong("Not fitted") + "\n";
    TextTable reasons{{{"rows", right}, {"reason"}}};
    for (const Skipped& s : fit.skipped) reasons.row({std::to_string(s.rows), s.reason});
    out += reasons.text(2);
  }
  return out;
}

[[nodiscard]] bool is_steps_or_kernels(const std::string& file) {
  const WorkloadTable table = workload_table(file);
  return table == WorkloadTable::training || table == WorkloadTable::ops;
}

template <class Row>
void append(std::vector<Row>& rows, std::vector<Row> more) {
  rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Fits training steps and kernels; with -o FOLDER writes calibrations/compute-GENERATION.yaml and
/// workloads/stacks.yaml there, as they lie in data/.
[[nodiscard]] std::string fit_training(const CalibrateQuestion& asked, const Terminal& terminal) {
  std::vector<TrainingRow> rows;
  std::vector<OpsRow> kernels;
  for (const std::string& file : asked.files) {
    if (workload_table(file) == WorkloadTable::training)
      append(rows, read_training_rows(file));
    else
      append(kernels, read_ops_rows(file));
  }
  const TrainingFit fit = calibrate_training(rows, kernels, {.leave_out = asked.leave_out});
  std::string out = asked.json ? printed(to_json(fit)) : text_of(fit, terminal);
  if (!asked.out.empty()) {
    const std::string date = date_of(asked), origin = origin_of(asked, fit.rows, "rows");
    const std::filesystem::path folder{asked.out};
    for (const char* part : {"calibrations", "workloads"}) std::filesystem::create_directories(folder / part);
    for (const CalibratedSet& set : fit.generations)
      write_file((folder / "calibrations" / (set.name + ".yaml")).string(), calibration_yaml(set, date, origin));
    write_file((folder / "workloads" / "stacks.yaml").string(), stacks_yaml(fit, date, origin));
  }
  return out;
}

/// Fits serving runs; with -o FOLDER writes workloads/serving.yaml there, as it lies in data/.
[[nodiscard]] std::string fit_serving(const CalibrateQuestion& asked) {
  const ServingTable table = load_serving_table();
  std::vector<InferenceRow> rows;
  for (const std::string& file : asked.files) append(rows, read_inference_rows(file, table));
  const ServingFit fit = calibrate_serving(rows, asked.leave_out);
  const std::string yaml = serving_yaml(fit.table, date_of(asked), origin_of(asked, fit.rows, "figures"));
  if (!asked.out.empty()) write_file((std::filesystem::path{asked.out} / "workloads" / "serving.yaml").string(), yaml);
  if (asked.json) {
    nlohmann::ordered_json out{{"rows", fit.rows},
                               {"constants", fit.constants},
                               {"steps", fit.steps},
                               {"median_tpot_ape", fit.median_tpot},
                               {"median_ttft_ape", fit.median_ttft}};
    out["skipped"] = cli::to_json(fit.skipped);
    return printed(out);
  }
  return fmt::format("{} figures, {} constants, {} steps: median error {:.1f} % of TPOT and batches, {:.1f} % of TTFT\n{}", fit.rows,
                     fit.constants, fit.steps, fit.median_tpot, fit.median_ttft, asked.out.empty() ? yaml : std::string{});
}

/// Prints a fit of kernels; -o FOLDER gets one file a generation.
[[nodiscard]] std::string told(const CalibrateQuestion& asked, const KernelCalibration& fit, const Terminal& terminal) {
  std::string out = asked.json ? printed(cli::to_json(fit)) : cli::text_of(fit, terminal);
  if (!asked.out.empty())
    for (const CalibratedSet& set : fit.sets)
      write_file((std::filesystem::path{asked.out} / (set.name + ".yaml")).string(),
                 calibration_yaml(set, date_of(asked), origin_of(asked, fit.points, "merged points")));
  return out;
}

/// Fits kernels of expert exchange; -o FOLDER gets moe-GENERATION.yaml.
[[nodiscard]] std::string fit_moe(const CalibrateQuestion& asked, const Terminal& terminal) {
  std::vector<MoeKernelRow> rows;
  for (const std::string& file : asked.files) append(rows, read_moe_kernel_rows(file));
  return told(asked, calibrate_moe_kernels(rows, asked.leave_out), terminal);
}

/// Rows of tables name their machines, and what is fitted to them starts from the same constants every time. \throws RequestError
void refuse_options_of_points(const CalibrateQuestion& asked, std::string_view tables) {
  for (const auto& [text, option] : {std::pair{&asked.only, "--only"},
                                     {&asked.system, "--system"},
                                     {&asked.nodes, "--nodes"},
                                     {&asked.ranks, "--ranks"},
                                     {&asked.calibration, "--calibration"}})
    if (!text->empty()) throw RequestError(fmt::format("{} is for points of collectives; leave it out of {}", option, tables));
}

}  // namespace

std::string date_of(const CalibrateQuestion& asked) { return asked.date.empty() ? today() : asked.date; }

std::string origin_of(const CalibrateQuestion& asked, int fitted, std::string_view what) {
  std::string files;
  for (const std::string& file : asked.files)
    files += fmt::format("{}{}", files.empty() ? "" : ", ", std::filesystem::path(file).filename().string());
  return fmt::format("fabricost calibrate, least squares on log(predicted/measured) of {} {} of {}", fitted, what, files);
}

std::optional<std::string> calibrate_tables(const CalibrateQuestion& asked, const Terminal& terminal) {
  if (are_moe_tables(asked.files)) {
    refuse_options_of_points(asked, "tables of MoE dispatch and combine");
    return fit_moe(asked, terminal);
  }
  if (std::any_of(asked.files.begin(), asked.files.end(), is_steps_or_kernels)) {
    const auto other = std::find_if_not(asked.files.begin(), asked.files.end(), is_steps_or_kernels);
    if (other != asked.files.end())
      throw RequestError(*other + ": steps and kernels are fitted together, nothing else with them; give it in a call of its own");
    refuse_options_of_points(asked, "tables of training steps and kernels");
    return fit_training(asked, terminal);
  }
  if (workload_table(asked.files.front()) == WorkloadTable::inference) {
    refuse_options_of_points(asked, "tables of serving runs");
    return fit_serving(asked);
  }
  return std::nullopt;
}

std::string calibrate_engines(const CalibrateQuestion& asked, const Points& points, const Terminal& terminal) {
  return told(asked, calibrate_custom(points, asked.leave_out), terminal);
}

}  // namespace fabricost::cli
