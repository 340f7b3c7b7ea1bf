/// \file calibrate.cpp
/// fabricost calibrate: points of collectives in, constants out, with how well each is known. Other measurements are handed on:
/// calibrate_machine.hpp, calibrate_workloads.hpp.

#include "calibrate_machine.hpp"
#include "calibrate_workloads.hpp"
#include "comparison_json.hpp"
#include "names.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"
#include "text/text_table.hpp"
#include "write_file.hpp"

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string value_text(const CalibratedSet& set, const FittedConstant& c, double value) {
  switch (c.measure) {
    case Measure::time: return fmt::format("{:.4g} us", value * 1e6);
    case Measure::share: return fmt::format("{:.4g} GB/s", value * set.bandwidth / 1e9);
    case Measure::size: return fmt::format("{:.4g} MiB", value / mebibyte);
    case Measure::number: break;
  }
  return fmt::format("{:.4g}", value);
}

[[nodiscard]] std::string counted_words(int n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

[[nodiscard]] std::string text_of(const Calibration& fit, const Terminal& terminal) {
  std::string out =
      fmt::format("{} fitted, {} of them narrowed by {}; median error {:.2f} -> {:.2f} %, mean {:.2f} -> {:.2f} %\n",
                  counted_words(fit.constants, "constant", "constants"), fit.determined, counted_words(fit.points, "point", "points"),
                  fit.median_before, fit.median_after, fit.mean_before, fit.mean_after);
  if (!fit.converged) out += "The fit had not settled after its last step: more points, or points of other sizes, would help.\n";
  for (const CalibratedSet& set : fit.sets) {
    out += fmt::format("\n{}: {}, {}\n", set.name, counted_words(set.points, "point", "points"), fmt::join(set.systems, ", "));
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

/// The sets that points show; those of compute and moe have tables of their own.
constexpr std::array<std::string_view, 4> sets_of_points{"scale_up", "pcie", "transport", "custom"};

[[nodiscard]] std::optional<ConstantSet> only_of(const CalibrateQuestion& asked) {
  if (asked.only.empty()) return std::nullopt;
  const auto set = fabricost::detail::parse_enum<ConstantSet>(asked.only, constant_set_names);
  if (!set) throw_unknown(asked.only, "a set of constants", listed(sets_of_points), "--only");
  const auto elsewhere = [&](std::string_view tables) {
    return RequestError(fmt::format(
        "--only {}: none of the points depends on these constants. They are fitted from {}: pass one with --from and drop --only",
        name(*set), tables));
  };
  if (set == ConstantSet::compute) throw elsewhere("tables of training steps and kernels");
  if (set == ConstantSet::moe) throw elsewhere("tables of MoE dispatch and combine");
  return set;
}

void write(const CalibrateQuestion& asked, const Calibration& fit) {
  const std::string origin = origin_of(asked, fit.points, "merged points"), date = date_of(asked);
  if (!asked.system.empty()) {
    write_file(asked.out, calibration_yaml(fit, calibration_name(asked.out), date, origin));
    return;
  }
  for (const CalibratedSet& set : fit.sets)
    write_file((std::filesystem::path(asked.out) / (set.name + ".yaml")).string(), calibration_yaml(set, date, origin));
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
  sub.add_option("--leave-out", asked->leave_out,
                 "Sources, or how their names begin, not to be fitted;\nSOURCE:FROM:TO: of points these sizes; * stands for any letters")
      ->option_text("SOURCE...");
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
    if (std::optional<std::string> answer = calibrate_tables(*asked, terminal)) return *std::move(answer);
    const PointSource otherwise{
        .system = asked->system, .nodes = count_of(asked->nodes, "--nodes"), .ranks = count_of(asked->ranks, "--ranks")};
    CalibrateOptions how{.system = asked->system, .calibration = asked->calibration, .only = only_of(*asked)};
    if (how.only == ConstantSet::custom) {
      if (!asked->calibration.empty()) throw RequestError("--only custom always starts from what is shipped; leave --calibration out");
      Points raw;
      for (const std::string& file : asked->files) raw.append(read_points(file, otherwise));
      return calibrate_engines(*asked, raw, terminal);
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
