/// \file calibrate_text.cpp
/// Fits of all kinds as text.

#include "cli/collectives/calibrate_text.hpp"

#include "text/text_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

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

}  // namespace

std::string text_of(const Calibration& fit, const Terminal& terminal) {
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
    constexpr std::size_t max_listed = 20;
    out += "\nset aside: points nobody should fit\n";
    for (std::size_t i = 0; i < std::min(max_listed, fit.set_aside.size()); ++i) {
      const Point& p = fit.set_aside[i].point;
      out += fmt::format("  {} {} {:.0f} B, {} ranks, {:.4g} us: {}\n", p.system.str(), name(p.collective), p.bytes, p.ranks(),
                         1e6 * p.seconds, fit.set_aside[i].reason);
    }
    if (fit.set_aside.size() > max_listed) out += fmt::format("  and {} more\n", fit.set_aside.size() - max_listed);
  }
  return terminal.strong_headings(out);
}

std::string text_of(const KernelCalibration& fit, const Terminal& terminal) {
  std::string out = fmt::format(
      "{} constants fitted to {} times of kernels, {} of them narrowed; median error {:.2f} -> {:.2f} %, mean {:.2f} -> {:.2f} %\n",
      fit.constants, fit.points, fit.determined, fit.median_before, fit.median_ape, fit.mean_before, fit.mape);
  for (const CalibratedSet& set : fit.sets) {
    out += "\n" + terminal.strong(fmt::format("{}: {} times, {}", set.name, set.points, fmt::join(set.systems, ", "))) + "\n";
    TextTable rows{{{"constant"}, {"fitted", right}, {"+- %", right}, {"before", right}, {""}}};
    const auto value = [](const FittedConstant& c, double v) {
      return fmt::format("{:.4g}{}", c.measure == Measure::time ? 1e6 * v : v, c.measure == Measure::time ? " us" : "");
    };
    for (const FittedConstant& c : set.fitted)
      rows.row({std::string{c.key}, value(c, c.value), fmt::format("{:.2g}", 100 * c.deviation), value(c, c.prior),
                c.determined ? c.shared ? "all generations" : "" : "not determined"});
    out += rows.text(2);
    TextTable classes{{{"kernel"}, {"points", right}, {"median %", right}, {"mean %", right}, {"nine in ten within", right}}};
    for (const ClassResidual& c : set.classes)
      classes.row({std::string{c.key}, std::to_string(c.points), fmt::format("{:.2f}", c.median_ape), fmt::format("{:.2f}", c.mape),
                   fmt::format("x{:.3f}", std::exp(c.width))});
    out += classes.text(2);
  }
  if (!fit.skipped.empty()) {
    out += "\nnot fitted\n";
    for (const Skipped& s : fit.skipped) out += fmt::format("  {:6}  {}\n", s.rows, s.reason);
  }
  return out;
}

std::string text_of(const TrainingFit& fit, const Terminal& terminal) {
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

std::string text_of(const ServingFit& fit, const Terminal& /*terminal*/) {
  return fmt::format("{} figures, {} constants, {} steps: median error {:.1f} % of TPOT and batches, {:.1f} % of TTFT\n", fit.rows,
                     fit.constants, fit.steps, fit.median_tpot, fit.median_ttft);
}

}  // namespace fabricost::cli
