/// \file calibrate.cpp
/// fabricost calibrate: measurements in, constants out, with how well each is known.

#include "../io/text_table.hpp"
#include "calibrate_machine.hpp"
#include "comparison_json.hpp"
#include "moe.hpp"
#include "names.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"
#include "write_file.hpp"

#include <fabricost/io/calibrate.hpp>
#include <fabricost/io/calibrate_training.hpp>
#include <fabricost/io/inference.hpp>
#include <fabricost/io/load.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>

namespace fabricost::cli {
namespace {

/// As typed; empty where nothing was.
struct CalibrateQuestion {
  std::vector<std::string> files, leave_out;
  std::string only, system, nodes, ranks, calibration, out, date;
  bool json = false;
};

[[nodiscard]] std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

[[nodiscard]] std::string value_text(const CalibratedSet& set, const FittedConstant& c, double value) {
  switch (c.measure) {
    case Measure::time: return fmt::format("{:.4g} us", value * 1e6);
    case Measure::share: return fmt::format("{:.4g} GB/s", value * set.bandwidth / 1e9);
    case Measure::size: return fmt::format("{:.4g} MiB", value / mebibyte);
    case Measure::number: break;
  }
  return fmt::format("{:.4g}", value);
}

[[nodiscard]] std::string counted(int n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

[[nodiscard]] std::string text_of(const Calibration& fit, const Terminal& terminal) {
  constexpr auto right = TextTable::Align::right;
  std::string out = fmt::format("{} fitted, {} of them narrowed by {}; median error {:.2f} -> {:.2f} %, mean {:.2f} -> {:.2f} %\n",
                                counted(fit.constants, "constant", "constants"), fit.determined, counted(fit.points, "point", "points"),
                                fit.median_before, fit.median_after, fit.mean_before, fit.mean_after);
  if (!fit.converged) out += "The fit had not settled after its last step: more points, or points of other sizes, would help.\n";
  for (const CalibratedSet& set : fit.sets) {
    out += fmt::format("\n{}: {}, {}\n", set.name, counted(set.points, "point", "points"), fmt::join(set.systems, ", "));
    TextTable constants{{{"constant"}, {"fitted", right}, {"+- %", right}, {"before", right}, {"goes with"}}};
    std::string held;
    for (const FittedConstant& c : set.fitted) {
      if (!c.determined) {
        held += fmt::format("{}{}", held.empty() ? "" : ", ", c.key);
        continue;
      }
      const bool tied = std::fabs(c.correlation) > 0.8;
      constants.row({std::string{c.key}, value_text(set, c, c.value), fmt::format("{:.1f}", 100 * c.deviation), value_text(set, c, c.prior),
                     tied ? fmt::format("{} ({:+.2f})", c.partner, c.correlation) : ""});
    }
    out += constants.text(2);
    if (!held.empty()) out += "  not determined by these points, kept near what was known before:\n" + wrapped("    ", held, 100);
    TextTable classes{{{"ran as"}, {"points", right}, {"median %", right}, {"mean %", right}, {"nine in ten within", right}}};
    for (const ClassResidual& c : set.classes)
      classes.row({std::string{c.key}, std::to_string(c.points), c.points > 0 ? fmt::format("{:.2f}", c.median_ape) : "-",
                   c.points > 0 ? fmt::format("{:.2f}", c.mape) : "-", fmt::format("x{:.3f}", std::exp(c.width))});
    out += classes.text(2);
  }
  if (!fit.skipped.empty()) {
    out += "\nnot fitted\n";
    for (const Skipped& s : fit.skipped) out += fmt::format("  {:6}  {}\n", s.rows, s.reason);
  }
  if (!fit.set_aside.empty()) {
    constexpr std::size_t most_listed = 20;
    out += "\nset aside: points nobody should fit\n";
    for (std::size_t i = 0; i < std::min(most_listed, fit.set_aside.size()); ++i) {
      const Point& p = fit.set_aside[i].point;
      out += fmt::format("  {} {} {:.0f} B, {} ranks, {:.4g} us: {}\n", p.system.str(), name(p.collective), p.bytes, p.ranks(),
                         1e6 * p.seconds, fit.set_aside[i].reason);
    }
    if (fit.set_aside.size() > most_listed) out += fmt::format("  and {} more\n", fit.set_aside.size() - most_listed);
  }
  return terminal.strong_headings(out);
}

[[nodiscard]] nlohmann::ordered_json to_json(const Calibration& fit) {
  nlohmann::ordered_json out;
  out["points"] = fit.points;
  out["constants"] = fit.constants;
  out["determined"] = fit.determined;
  out["converged"] = fit.converged;
  out["median_ape"] = {{"before", fit.median_before}, {"after", fit.median_after}};
  out["mape"] = {{"before", fit.mean_before}, {"after", fit.mean_after}};
  out["sets"] = nlohmann::ordered_json::array();
  for (const CalibratedSet& set : fit.sets) {
    nlohmann::ordered_json one = cli::to_json(set);
    for (std::size_t i = 0; i < set.fitted.size(); ++i) {
      one["constants"][i]["correlated_with"] = set.fitted[i].partner;
      one["constants"][i]["correlation"] = set.fitted[i].correlation;
    }
    out["sets"].push_back(std::move(one));
  }
  out["skipped"] = cli::to_json(fit.skipped);
  out["set_aside"] = nlohmann::ordered_json::array();
  for (const SetAside& s : fit.set_aside)
    out["set_aside"].push_back({{"system", s.point.system.str()},
                                {"operation", name(s.point.collective)},
                                {"bytes", s.point.bytes},
                                {"ranks", s.point.ranks()},
                                {"time_us", 1e6 * s.point.seconds},
                                {"reason", s.reason}});
  return out;
}

/// Points of a whole machine, unless the question is one of its collectives alone.
[[nodiscard]] std::optional<std::string> whole_machine(const CalibrateQuestion& asked) {
  const bool narrowed = !asked.only.empty() || !asked.leave_out.empty() || !asked.nodes.empty() || !asked.ranks.empty();
  return narrowed ? std::nullopt : measured_points(asked.files);
}

/// What can be refused before anything is read.
void check(const CalibrateQuestion& asked, bool machine) {
  if (asked.files.empty() && !machine)
    throw RequestError(
        "from which measurements? Name them with --from; or run fabricost measure, whose measured.csv and measured.machine.yaml in this "
        "folder need no name");
  const auto digit_or_dash = [&](std::size_t i) {
    return i == 4 || i == 7 ? asked.date[i] == '-' : asked.date[i] >= '0' && asked.date[i] <= '9';
  };
  if (!asked.date.empty()) {
    bool fine = asked.date.size() == 10;
    for (std::size_t i = 0; fine && i < asked.date.size(); ++i) fine = digit_or_dash(i);
    if (!fine) throw RequestError(fmt::format("--date {}: is no date; write it as 2026-01-31", asked.date));
  }
  if (!machine && asked.system.empty() && !asked.out.empty() && !std::filesystem::is_directory(asked.out))
    throw RequestError(
        fmt::format("-o {}: several machines are fitted together, so this must be a folder: one file for each set of constants "
                    "is written there",
                    asked.out));
}

/// "12 points of a.csv, b.log"
[[nodiscard]] std::string origin_of(const CalibrateQuestion& asked, int points) {
  std::string files;
  for (const std::string& file : asked.files)
    files += fmt::format("{}{}", files.empty() ? "" : ", ", std::filesystem::path(file).filename().string());
  return fmt::format("fabricost calibrate, least squares on log(predicted/measured) of {} merged points of {}", points, files);
}

void write(const CalibrateQuestion& asked, const Calibration& fit) {
  const std::string origin = origin_of(asked, fit.points);
  const std::string date = asked.date.empty() ? today() : asked.date;
  if (!asked.system.empty()) {
    write_file(asked.out, calibration_yaml(fit, calibration_name(asked.out), date, origin));
    return;
  }
  for (const CalibratedSet& set : fit.sets)
    write_file((std::filesystem::path(asked.out) / (set.name + ".yaml")).string(), calibration_yaml(set, date, origin));
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
    TextTable rows{{{"constant"}, {"value", TextTable::Align::right}, {"+- %", TextTable::Align::right}, {""}}};
    for (const FittedConstant& c : set.fitted)
      rows.row({std::string{c.key},
                fmt::format("{:.4g}{}", c.measure == Measure::time ? c.value * 1e6 : c.value, c.measure == Measure::time ? " us" : ""),
                fmt::format("{:.2g}", 100 * c.deviation), c.determined ? c.shared ? "all generations" : "" : "not determined"});
    out += rows.text(2);
  }
  out += "\n" + terminal.strong("Software stacks") + "\n";
  TextTable rows{{{"stack"},
                  {"rows", TextTable::Align::right},
                  {"factor", TextTable::Align::right},
                  {"+- %", TextTable::Align::right},
                  {"left %", TextTable::Align::right}}};
  for (const FittedStack& s : fit.stacks)
    rows.row({s.name, std::to_string(s.rows), fmt::format("{:.3f}", s.scale), fmt::format("{:.2g}", 100 * s.deviation),
              fmt::format("{:.2g}", 100 * s.spread)});
  out += rows.text(2);
  if (!fit.skipped.empty()) {
    out += "\n" + terminal.strong("Not fitted") + "\n";
    TextTable reasons{{{"rows", TextTable::Align::right}, {"reason"}}};
    for (const Skipped& s : fit.skipped) reasons.row({std::to_string(s.rows), s.reason});
    out += reasons.text(2);
  }
  return out;
}

[[nodiscard]] bool is_fitted_table(const std::string& file) {
  const WorkloadTable table = workload_table(file);
  return table == WorkloadTable::training || table == WorkloadTable::ops;
}

/// Fits training steps and kernels; with -o FOLDER writes calibrations/compute-GENERATION.yaml and
/// workloads/stacks.yaml there, as they lie in data/.
[[nodiscard]] std::string fit_training(const CalibrateQuestion& asked, const Terminal& terminal) {
  std::vector<TrainingRow> rows;
  std::vector<OpsRow> kernels;
  for (const std::string& file : asked.files) {
    const WorkloadTable table = workload_table(file);
    if (table == WorkloadTable::training) {
      std::vector<TrainingRow> more = read_training_rows(file);
      rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    } else if (table == WorkloadTable::ops) {
      std::vector<OpsRow> more = read_ops_rows(file);
      kernels.insert(kernels.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    } else {
      throw RequestError(file + ": steps and kernels are fitted together, nothing else with them; give it in a call of its own");
    }
  }
  const TrainingFit fit = calibrate_training(rows, kernels, {.leave_out = asked.leave_out});
  std::string out = asked.json ? printed(to_json(fit)) : text_of(fit, terminal);
  if (!asked.out.empty()) {
    const std::string date = asked.date.empty() ? today() : asked.date;
    const std::filesystem::path folder{asked.out};
    std::string origin = origin_of(asked, fit.rows);
    if (const auto at = origin.find(" merged points"); at != std::string::npos) origin.replace(at, 14, " rows");
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
  for (const std::string& file : asked.files) {
    std::vector<InferenceRow> more = read_inference_rows(file, table);
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  const ServingFit fit = calibrate_serving(rows, asked.leave_out);
  const std::string date = asked.date.empty() ? today() : asked.date;
  std::string origin = origin_of(asked, fit.rows);
  if (const auto at = origin.find(" merged points"); at != std::string::npos) origin.replace(at, 14, " figures");
  const std::string yaml = serving_yaml(fit.table, date, origin);
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
  if (!asked.out.empty()) {
    const std::string date = asked.date.empty() ? today() : asked.date;
    for (const CalibratedSet& set : fit.sets)
      write_file((std::filesystem::path{asked.out} / (set.name + ".yaml")).string(),
                 calibration_yaml(set, date, origin_of(asked, fit.points)));
  }
  return out;
}

/// Fits kernels of expert exchange; -o FOLDER gets moe-GENERATION.yaml.
[[nodiscard]] std::string fit_moe(const CalibrateQuestion& asked, const Terminal& terminal) {
  std::vector<MoeKernelRow> rows;
  for (const std::string& file : asked.files)
    for (MoeKernelRow& row : read_moe_kernel_rows(file)) rows.push_back(std::move(row));
  return told(asked, calibrate_moe_kernels(rows, asked.leave_out), terminal);
}

}  // namespace

void add_calibrate(CLI::App& app, Runner& runner) {
  const auto asked = std::make_shared<CalibrateQuestion>();
  CLI::App& sub = *app.add_subcommand("calibrate", "Fit the constants of a machine to measurements of it");
  sub.add_option("--from,-f", asked->files, "Measurements: point CSVs, nccl-tests logs, ...;\ndefault what fabricost measure wrote here")
      ->option_text("FILE...");
  sub.add_option("--system,-s", asked->system, "The machine; without it all machines of the files are fitted together")
      ->option_text("NAME");
  sub.add_option("--nodes,-n", asked->nodes, "Its nodes, where a file does not say")->option_text("N");
  sub.add_option("--ranks,-r", asked->ranks, "All ranks, where a file does not say")->option_text("R");
  sub.add_option("--calibration", asked->calibration, "What to start from: none or a file; default the shipped one")->option_text("FILE");
  sub.add_option("--only", asked->only, "Fit these alone: scale_up, pcie, transport or custom\n(inference engines' all-reduces)")
      ->option_text("SET");
  sub.add_option("--leave-out", asked->leave_out, "Sources, or how their names begin, not to be fitted")->option_text("SOURCE...");
  sub.add_option("--out,-o", asked->out,
                 "Write the calibration there; a folder when machines are fitted\ntogether; of fabricost measure's files this-machine.yaml")
      ->option_text("FILE");
  sub.add_option("--date", asked->date, "The date to write into it; default today, or the day of the measurement")
      ->option_text("YYYY-MM-DD");
  sub.add_flag("--json", asked->json, "Print JSON");
  sub.footer(
      "Example: fabricost calibrate --system dgx-h100 --from all_reduce.log -o mine.yaml\n"
      "then     fabricost predict all_reduce --system dgx-h100 --size 1GiB --calibration mine.yaml\n"
      "or       fabricost measure && fabricost calibrate, then --system this-machine.yaml");
  runner.add(sub, [asked](const Terminal& terminal) {
    const std::optional<std::string> machine = whole_machine(*asked);
    check(*asked, machine.has_value());
    if (machine)
      return calibrate_this_machine({.points = *machine,
                                     .system = asked->system,
                                     .calibration = asked->calibration,
                                     .out = asked->out,
                                     .date = asked->date,
                                     .json = asked->json},
                                    terminal);
    if (are_moe_tables(asked->files)) return fit_moe(*asked, terminal);
    if (std::any_of(asked->files.begin(), asked->files.end(), is_fitted_table)) return fit_training(*asked, terminal);
    if (workload_table(asked->files.front()) == WorkloadTable::inference) return fit_serving(*asked);
    const PointSource otherwise{
        .system = asked->system, .nodes = count_of(asked->nodes, "--nodes"), .ranks = count_of(asked->ranks, "--ranks")};
    CalibrateOptions how{.system = asked->system, .calibration = asked->calibration};
    if (!asked->only.empty()) {
      how.only = detail::parse_enum<ConstantSet>(asked->only, constant_set_names);
      if (!how.only) throw_unknown(asked->only, "a set of constants", listed(constant_set_names), "--only");
    }
    if (how.only == ConstantSet::custom) {
      Points raw;
      for (const std::string& file : asked->files) raw.append(read_points(file, otherwise));
      return told(*asked, calibrate_custom(raw, asked->leave_out), terminal);
    }
    // merged points no longer say which source each repeat came from
    Points points;
    if (asked->leave_out.empty()) {
      points = read_merged({asked->files.begin(), asked->files.end()}, otherwise);
    } else {
      for (const std::string& file : asked->files) points.append(read_points(file, otherwise));
      how.leave_out = asked->leave_out;
    }
    const Calibration fit = calibrate(points, how);
    std::string out = asked->json ? printed(to_json(fit)) : text_of(fit, terminal);
    if (!asked->out.empty()) write(*asked, fit);
    return out;
  });
}

}  // namespace fabricost::cli
