/// \file validate.cpp
/// fabricost validate: measured times beside predicted ones, and how far apart they are.

#include "comparison_json.hpp"
#include "moe.hpp"
#include "names.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"
#include "validation_text.hpp"
#include "write_file.hpp"

#include <fabricost/evaluation/workload.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/validation/validate.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <memory>

namespace fabricost::cli {
namespace {

/// As typed; empty where nothing was.
struct ValidateOptions {
  std::vector<std::string> files;
  std::string system, nodes, ranks, choice, calibration, out;
  bool raw = false, json = false;
};

[[nodiscard]] nlohmann::ordered_json to_json(const ValidationReport& report) {
  nlohmann::ordered_json out = cli::to_json(report.total);
  out["skipped"] = cli::to_json(report.skipped);
  out["untrustworthy"] = cli::to_json(report.untrustworthy);
  out["by_operation"] = cli::to_json(report.by_operation);
  out["by_system"] = cli::to_json(report.by_system);
  out["by_size"] = cli::to_json(report.by_size);
  out["by_library"] = cli::to_json(report.by_library);
  return out;
}

[[nodiscard]] nlohmann::ordered_json to_json(const WorkloadReport& report) {
  nlohmann::ordered_json out = cli::to_json(report.total);
  out["skipped"] = cli::to_json(report.skipped);
  out["by_group"] = cli::to_json(report.by_group);
  if (!report.memory.empty()) out["memory_by_group"] = cli::to_json(report.memory);
  if (report.layouts > 0) out["layouts"] = {{"stated", report.layouts}, {"unfit", report.unfit}};
  return out;
}

/// The files when they are tables of published workloads, none when they are points. \throws RequestError for both at once
[[nodiscard]] std::vector<std::filesystem::path> workload_files(const std::vector<std::string>& files) {
  std::vector<std::filesystem::path> out;
  for (const std::string& file : files)
    if (workload_table(file) != WorkloadTable::none) out.emplace_back(file);
  if (!out.empty() && out.size() != files.size())
    throw RequestError("tables of published workloads and measured points are compared apart: give them in two calls");
  return out;
}

[[nodiscard]] ValidationReport compare(const ValidateOptions& options) {
  if (options.files.empty()) throw RequestError("which measurements? Name point CSVs or logs of benchmarks");
  ValidationOptions how{.calibration = options.calibration, .raw = options.raw};
  if (const auto rule = one_of<Choice::Rule>(options.choice, rule_names, "a choice", "--choice")) how.rule = *rule;
  const PointSource otherwise{
      .system = options.system, .nodes = count_of(options.nodes, "--nodes"), .ranks = count_of(options.ranks, "--ranks")};
  if (!options.system.empty()) (void)load_system(options.system, {}, options.calibration);  // a name that was typed must exist
  if (!options.raw) return validate(read_merged({options.files.begin(), options.files.end()}, otherwise), how);
  Points points;
  for (const std::string& file : options.files) points.append(read_points(file, otherwise));
  return validate(points, how);
}

/// An option that these tables have no use for would be a wrong belief about the answer.
void refuse_for_tables(bool given, std::string_view option, std::string_view tables) {
  if (given) throw RequestError(fmt::format("{} has no meaning for tables of {}; leave it out", option, tables));
}

}  // namespace

void add_validate(CLI::App& app, Runner& runner) {
  const auto options = std::make_shared<ValidateOptions>();
  CLI::App& sub = *app.add_subcommand("validate", "Measured times beside predicted ones");
  sub.add_option("FILES", options->files, "Point CSVs, output of nccl-tests, nvbandwidth, OSU, perftest, ...")->option_text(" ");
  sub.add_option("--system,-s", options->system, "The machine, where a file does not say it")->option_text("NAME");
  sub.add_option("--nodes,-n", options->nodes, "Its nodes, where a file does not say")->option_text("N");
  sub.add_option("--ranks,-r", options->ranks, "All ranks, where a file does not say")->option_text("R");
  sub.add_option("--choice", options->choice, "nccl (as its tuner picks, default) or fastest")->option_text("RULE");
  sub.add_option("--calibration", options->calibration, "none or a file; default the shipped one")->option_text("FILE");
  sub.add_flag("--raw", options->raw, "Keep repeats; default: their median");
  sub.add_option("--out,-o", options->out, "Write every point with its prediction as CSV")->option_text("FILE");
  sub.add_flag("--json", options->json, "Print JSON");
  sub.footer("Example: fabricost validate all_reduce.log --system dgx-h100");
  runner.add(sub, [options](const Terminal& terminal) {
    if (are_moe_tables(options->files)) {
      refuse_for_tables(!options->choice.empty(), "--choice", "expert exchange");
      std::vector<MoeKernelRow> rows;
      for (const std::string& file : options->files)
        for (MoeKernelRow& row : read_moe_kernel_rows(file)) rows.push_back(std::move(row));
      if (!options->raw) rows = merge_repeats(rows);
      predict_moe_kernel_rows(rows, options->calibration);
      const MoeKernelReport report = summarise(std::move(rows));
      if (!options->out.empty()) write_file(options->out, per_row_csv(report));
      return options->json ? printed(cli::to_json(report)) : moe_kernel_text(report, terminal);
    }
    if (const auto tables = workload_files(options->files); !tables.empty()) {
      refuse_for_tables(!options->choice.empty(), "--choice", "workloads");
      refuse_for_tables(!options->calibration.empty(), "--calibration", "workloads");
      refuse_for_tables(options->raw, "--raw", "workloads");
      const WorkloadReport report = validate_workloads(tables);
      if (!options->out.empty()) write_file(options->out, per_row_csv(report));
      return options->json ? printed(to_json(report)) : workload_text(report, terminal);
    }
    const ValidationReport report = compare(*options);
    std::string text = options->json ? printed(to_json(report)) : validation_text(report, terminal);
    if (!options->out.empty()) write_file(options->out, per_point_csv(report));
    return text;
  });
}

}  // namespace fabricost::cli
