/// \file calibrate_text.cpp
/// Fits of all kinds as text.

#include "cli/collectives/calibrate_text.hpp"

#include "cli/collectives/validation_text.hpp"
#include "text/short_text.hpp"
#include "text/text_table.hpp"

#include <fabricost/explain/assumed.hpp>

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

/// "12.3 us", or a plain number.
[[nodiscard]] std::string value_text(const FittedConstant& c, double value) {
  return c.measure == Measure::time ? fmt::format("{:.4g} us", 1e6 * value) : fmt::format("{:.4g}", value);
}

[[nodiscard]] std::string_view narrowed_text(const FittedConstant& c) {
  return !c.determined ? "not determined" : c.shared ? "all generations" : "";
}

[[nodiscard]] std::string residuals_text(const char* heading, const std::vector<ClassResidual>& classes) {
  TextTable rows{{{heading}, {"points", right}, {"median %", right}, {"mean %", right}, {"nine in ten within", right}}};
  for (const ClassResidual& c : classes)
    rows.row({std::string{c.key}, std::to_string(c.points), c.points > 0 ? fmt::format("{:.2f}", c.median_ape) : "-",
              c.points > 0 ? fmt::format("{:.2f}", c.mape) : "-", fmt::format("x{:.3f}", std::exp(c.width))});
  return rows.text(2);
}

[[nodiscard]] std::string skipped_text(const std::vector<Skipped>& skipped) {
  std::string out = skipped.empty() ? "" : "\nnot fitted\n";
  for (const Skipped& s : skipped) out += fmt::format("  {:6}  {}\n", s.rows, s.reason);
  return out;
}

}  // namespace

std::string text_of(const Calibration& fit, const Terminal& terminal) {
  std::string out = fmt::format("{} fitted, {} of them narrowed by {}; median error {:.2f} -> {:.2f} %, mean {:.2f} -> {:.2f} %\n",
                                counted(fit.constants, "constant"), fit.determined, counted(fit.points, "point"), fit.median_before,
                                fit.median_after, fit.mean_before, fit.mean_after);
  if (!fit.converged) out += "The fit had not settled after its last step: more points, or points of other sizes, would help.\n";
  for (const CalibratedSet& set : fit.sets) {
    out += fmt::format("\n{}: {}, {}\n", set.name, counted(set.points, "point"), fmt::join(set.systems, ", "));
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
    out += residuals_text("ran as", set.classes);
  }
  out += skipped_text(fit.skipped);
  if (!fit.set_aside.empty()) {
    constexpr std::size_t max_listed = 20;
    out += "\nset aside: points left out of the fit\n";
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
    for (const FittedConstant& c : set.fitted)
      rows.row({std::string{c.key}, value_text(c, c.value), fmt::format("{:.2g}", 100 * c.deviation), value_text(c, c.prior),
                std::string{narrowed_text(c)}});
    out += rows.text(2);
    out += residuals_text("kernel", set.classes);
  }
  return out + skipped_text(fit.skipped);
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
      rows.row({std::string{c.key}, value_text(c, c.value), fmt::format("{:.2g}", 100 * c.deviation), std::string{narrowed_text(c)}});
    out += rows.text(2);
  }
  out += "\n" + terminal.strong("Software stacks") + "\n";
  TextTable rows{{{"stack"}, {"rows", right}, {"factor", right}, {"+- %", right}, {"left %", right}}};
  for (const FittedStack& s : fit.stacks)
    rows.row({s.name, std::to_string(s.rows), fmt::format("{:.3f}", s.scale), fmt::format("{:.2g}", 100 * s.deviation),
              fmt::format("{:.2g}", 100 * s.spread)});
  out += rows.text(2);
  return out + reasons_text("Not fitted", fit.skipped, terminal);
}

std::string text_of(const ServingFit& fit, const Terminal& /*terminal*/) {
  return fmt::format("{} figures, {} constants, {} steps: median error {:.1f} % of TPOT and batches, {:.1f} % of TTFT\n", fit.rows,
                     fit.constants, fit.steps, fit.median_tpot, fit.median_ttft);
}

std::string text_of(const ConstantsAnswer& a, const Terminal& terminal) {
  const auto shown = [](const ListedConstant& c, double value) {
    if (c.kind == "bytes") return rough_size(value);
    return c.kind == "seconds" ? fmt::format("{:.4g} us", 1e6 * value) : fmt::format("{:.4g}", value);
  };
  std::string out;
  for (const ListedSet& set : a.sets) {
    out += terminal.strong(fmt::format("{}: {} ({})", set.name, set.calibration, set.basis)) + "\n";
    TextTable rows{{{"constant"}, {"value", right}, {"prior", right}, {"fitted"}, {"spread", right}}};
    for (const ListedConstant& c : a.constants)
      if (c.set == set.name)
        rows.row({c.name, shown(c, c.value), shown(c, c.prior), c.fit, c.spread > 0 ? fmt::format("{:.2f}", c.spread) : "-"});
    out += rows.text(2) + fmt::format("  {} own, {} shared, {} held, {} of the form\n\n", set.own, set.shared, set.held, set.form);
  }
  return out + "own: one value for each machine, shared: one for all, held: not fitted,\nform: a number of the form itself. "
               "spread: how far machines differ, in log.\n";
}

}  // namespace fabricost::cli
