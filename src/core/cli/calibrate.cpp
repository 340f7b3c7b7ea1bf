/// fabricost calibrate: fits constants to measurements, with the certainty of each.

#include "cli/calibrate.hpp"

#include "cli/subcommands.hpp"
#include "text/amounts.hpp"
#include "text/joined.hpp"
#include "text/write_file.hpp"

#include <fabricost/answers/constants.hpp>
#include <fabricost/answers/validate.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string value_text(const CalibratedSet& set, const FittedConstant& c, double value) {
  switch (c.measure) {
    case Measure::time: return figure(value * 1e6) + " us";
    case Measure::share: return figure(value * set.bandwidth.value() / 1e9) + " GB/s";
    case Measure::size: return figure(value / mebibyte) + " MiB";
    case Measure::number: break;
  }
  return figure(value);
}

}  // namespace

void add_residuals(Page& page, const char* heading, const std::vector<ClassResidual>& classes) {
  page.table({heading, ">points", ">median %", ">mean %", ">nine in ten within"}, classes, [](const ClassResidual& c) {
    const auto error = [&](double percent) { return c.points > 0 ? fmt::format("{:.2f}", percent) : "-"; };
    return cells(c.key, c.points, error(c.median_ape), error(c.mape), fmt::format("x{:.3f}", std::exp(c.width)));
  });
}

void add_skipped(Page& page, const std::vector<Skipped>& skipped) {
  if (!skipped.empty()) page.section("not fitted");
  for (const Skipped& s : skipped) page.line("{:6}  {}", s.rows, s.reason);
}

void text_of(Page& page, const Calibration& fit) {
  page.title("{} fitted, {} of them determined by {}; median error {:.2f} -> {:.2f} %, mean {:.2f} -> {:.2f} %",
             counted(fit.constants, "constant"), fit.determined, counted(fit.points, "point"), fit.median_before, fit.median_after,
             fit.mean_before, fit.mean_after);
  if (!fit.converged) page.title("The fit had not settled after its last step: more points, or points of other sizes, would help.");
  for (const CalibratedSet& set : fit.sets) {
    page.section("{}: {}, {}", set.name, counted(set.points, "point"), joined(set.systems));
    TextTable constants{"constant", ">fitted", ">+- %", ">before", "correlated with"};
    Cells held;
    bool pulled = false;
    for (const FittedConstant& c : set.fitted) {
      const bool moved = std::fabs(std::log(c.value / c.prior)) > 0.05;
      if (!c.determined && !moved) {
        held.emplace_back(c.key);
        continue;
      }
      pulled |= !c.determined;
      const bool tied = std::fabs(c.correlation) > 0.8;
      constants.row(fmt::format("{}{}", c.key, c.determined ? "" : " *"), value_text(set, c, c.value), fmt::format("{:.1f}", 100 * c.deviation),
                    value_text(set, c, c.prior), tied ? fmt::format("{} ({:+.2f})", c.partner, c.correlation) : "");
    }
    page.table(constants);
    if (pulled) page.say("* The points move it, but others would explain them as well: it is no surer than before.");
    if (!held.empty()) {
      page.line("not determined by these points, within 5 % of what was known before:");
      page.item("    ", joined(held));
    }
    add_residuals(page, "ran as", set.classes);
    if (set.contradicts)
      page.say("These points lie further from what was measured on the machine before than that was sure of: only what they show counts as "
               "measured now, and intervals are wider. Are they of this machine, as healthy?");
  }
  add_skipped(page, fit.skipped);
  if (!fit.set_aside.empty()) {
    constexpr std::size_t max_listed = 20;
    page.section("set aside: points left out of the fit");
    for (std::size_t i = 0; i < std::min(max_listed, fit.set_aside.size()); ++i) {
      const Point& p = fit.set_aside[i].point;
      page.line("{} {} {:.0f} B, {} ranks, {:.4g} us: {}", p.system.str(), name(p.collective), p.bytes, p.ranks(), 1e6 * p.seconds,
                fit.set_aside[i].reason);
    }
    if (fit.set_aside.size() > max_listed) page.line("and {} more", fit.set_aside.size() - max_listed);
  }
}

void text_of(Page& page, const ConstantsAnswer& a) {
  const auto value = [](const ListedConstant& c, double x) {
    return c.kind == "bytes" ? rough_size(x) : c.kind == "seconds" ? figure(1e6 * x) + " us" : figure(x);
  };
  for (const ListedSet& set : a.sets) {
    page.title("{}: {} ({})", set.name, set.calibration, set.basis);
    TextTable rows{"constant", ">value", ">prior", "fitted", ">spread"};
    for (const ListedConstant& c : a.constants)
      if (c.set == set.name)
        rows.row(c.name, value(c, c.value), value(c, c.prior), c.fit, c.spread > 0 ? fmt::format("{:.2f}", c.spread) : "-");
    page.table(rows);
    page.line("{} own, {} shared, {} held, {} of the form\n", set.own, set.shared, set.held, set.form);
  }
  page.add(
      "own: one value for each machine, shared: one for all, held: not fitted,\nform: a number of the form itself. "
      "spread: how far machines differ, in log.\n");
}

namespace {

[[nodiscard]] bool is_date(const std::string& text) {
  bool fine = text.size() == 10;
  for (std::size_t i = 0; fine && i < text.size(); ++i) fine = i == 4 || i == 7 ? text[i] == '-' : text[i] >= '0' && text[i] <= '9';
  const auto number = [&](std::size_t from, std::size_t count) { return std::stoi(text.substr(from, count)); };
  return fine && std::chrono::year_month_day{std::chrono::year{number(0, 4)}, std::chrono::month{static_cast<unsigned>(number(5, 2))},
                                             std::chrono::day{static_cast<unsigned>(number(8, 2))}}
                     .ok();
}

[[nodiscard]] std::string list_of(const CalibrateTyped& typed, bool json, const Terminal& terminal) {
  if (!typed.samples.empty() || !typed.out.empty()) throw Refusal("<list> fits nothing; leave <samples> and <out> out");
  return shown(answer(ConstantsRequest{typed.system, typed.only, typed.calibration}), json, terminal,
               [](Page& page, const ConstantsAnswer& a) { text_of(page, a); });
}

}  // namespace

static void check_folder(const CalibrateTyped& typed) {
  if (!typed.out.empty() && !std::filesystem::is_directory(typed.out.path))
    throw RequestError(
        fmt::format("-o {}: several machines are fitted together, so this must be a folder: one file for each set of constants "
                    "is written there",
                    typed.out.path));
}

void check_samples(const CalibrateTyped& typed) {
  if (typed.samples.empty())
    throw Refusal(
        "from which measurements? Name them with <samples>; or run fabricost measure, whose measured.csv and measured.machine.yaml in "
        "this folder need no name");
  if (!typed.out.empty() && !typed.system && (!are_logs(typed.samples) || usual_system_of(typed.samples).empty())) check_folder(typed);
}

void write_fitted_files(const CalibrateTyped& typed, const std::vector<FittedFile>& files) {
  for (const auto& [file, text] : files) {
    const std::filesystem::path path = std::filesystem::path{typed.out.path} / file;
    std::filesystem::create_directories(path.parent_path());
    write_fitted(path.string(), text, "--out");
  }
}

std::optional<std::string> calibrate_points(const CalibrateTyped& typed, bool json, const Terminal& terminal) {
  check_samples(typed);
  const std::string date = typed.date.empty() ? today() : typed.date;
  const CalibrationAnswer fit = answer(static_cast<const CalibrateRequest&>(typed));
  std::string out = shown(fit, json, terminal, [](Page& page, const CalibrationAnswer& a) { text_of(page, a.made); });
  const bool one_machine = typed.system || !fit.guessed_system.empty();
  if (!typed.out.empty() && one_machine)
    write_output(typed.out, fit.yaml(calibration_name(typed.out.path), date), "--out");
  else if (!typed.out.empty())
    write_fitted_files(typed, fit.files(date));
  if (!fit.guessed_system.empty() && !json)
    out.insert(0, wrapped("", fmt::format("{} is taken, the usual machine of the GPUs in the log; another one: --system NAME",
                                          fit.guessed_system)));
  for (const std::string& warning : fit.warnings)
    if (!json) out.insert(0, wrapped("warning: ", warning));
  return out;
}

void add_calibrate(CLI::App& app, Runner& runner) {
  constexpr const char* footer =
      "Example: fabricost calibrate --system dgx-h100 --from all_reduce.log -o mine.yaml\n"
      "then     fabricost predict all_reduce --system dgx-h100 --size 1GiB --calibration mine.yaml\n"
      "or       fabricost measure && fabricost calibrate, then --system this-machine.yaml";
  const auto job = [](const GivenOptions& o, const Terminal& terminal) {
    return spelled_out<CalibrateTyped>([&] {
      const auto typed = request_of<CalibrateTyped>(o.typed);
      if (typed.list) return list_of(typed, o.json, terminal);
      if (!typed.date.empty() && !is_date(typed.date))
        throw RequestError(fmt::format("--date {}: is no date; write it as 2026-01-31", typed.date));
      std::optional<std::string> out;
      for (const CalibrateJob kind : calibrate_jobs())
        if (!out) out = kind(typed, o.json, terminal);
      return *std::move(out);  // points are the last
    });
  };
  add_command<CalibrateTyped>(app, runner, "calibrate", "Fit the constants of a machine to measurements of it", footer, job);
}

}  // namespace fabricost::cli
