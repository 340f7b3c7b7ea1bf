/// \file calibrate_text.cpp
/// Fits of all kinds as text.

#include "cli/calibrate_text.hpp"

#include "text/short_text.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

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
  page.title("{} fitted, {} of them narrowed by {}; median error {:.2f} -> {:.2f} %, mean {:.2f} -> {:.2f} %",
             counted(fit.constants, "constant"), fit.determined, counted(fit.points, "point"), fit.median_before, fit.median_after,
             fit.mean_before, fit.mean_after);
  if (!fit.converged) page.title("The fit had not settled after its last step: more points, or points of other sizes, would help.");
  for (const CalibratedSet& set : fit.sets) {
    page.section("{}: {}, {}", set.name, counted(set.points, "point"), fmt::join(set.systems, ", "));
    TextTable constants{"constant", ">fitted", ">+- %", ">before", "goes with"};
    Cells held;
    for (const FittedConstant& c : set.fitted) {
      if (!c.determined) {
        held.emplace_back(c.key);
        continue;
      }
      const bool tied = std::fabs(c.correlation) > 0.8;
      constants.row(c.key, value_text(set, c, c.value), fmt::format("{:.1f}", 100 * c.deviation), value_text(set, c, c.prior),
                    tied ? fmt::format("{} ({:+.2f})", c.partner, c.correlation) : "");
    }
    page.table(constants);
    if (!held.empty()) {
      page.line("not determined by these points, kept near what was known before:");
      page.item("    ", joined(held));
    }
    add_residuals(page, "ran as", set.classes);
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

}  // namespace fabricost::cli
