/// \file calibrate_tables.cpp
/// fabricost calibrate, from tables of training steps and kernels, of serving runs, of expert exchange.

#include "cli/calibrate.hpp"
#include "cli/calibrate_text.hpp"
#include "text/short_text.hpp"

#include <fabricost/plan/evaluation/calibrate.hpp>

#include <fmt/ranges.h>

namespace fabricost::cli {

namespace {

void text_of(Page& page, const TrainingFit& fit) {
  page.title("{} steps and kernels, {} constants", fit.rows, fit.constants);
  page.line("error: median {:.2f} %, mean {:.2f} %", fit.median_ape, fit.mape);
  for (const CalibratedSet& set : fit.generations) {
    page.section("{}, {} rows: median {:.2f} %, mean {:.2f} %", name(set.generation), set.points, set.median_ape, set.mape);
    page.table({"constant", ">value", ">+- %", ""}, set.fitted, [](const FittedConstant& c) {
      return cells(c.key, value_text(c, c.value), figure(100 * c.deviation, 2), narrowed_text(c));
    });
  }
  page.section("Software stacks");
  page.table({"stack", ">rows", ">factor", ">+- %", ">left %"}, fit.stacks, [](const FittedStack& s) {
    return cells(s.name, s.rows, fmt::format("{:.3f}", s.scale), figure(100 * s.deviation, 2), figure(100 * s.spread, 2));
  });
  if (fit.skipped.empty()) return;
  page.section("Not fitted");
  page.table({">rows", "reason"}, fit.skipped, [](const Skipped& s) { return cells(s.rows, s.reason); });
}

void text_of(Page& page, const ServingFit& fit) {
  page.add(fmt::format("{} figures, {} constants, {} steps: median error {:.1f} % of TPOT and batches, {:.1f} % of TTFT\n", fit.rows,
                       fit.constants, fit.steps, fit.median_tpot, fit.median_ttft));
}

}  // namespace

std::optional<std::string> calibrate_tables(const CalibrateTyped& typed, bool json, const Terminal& terminal) {
  CalibrateFilesRequest request{typed};
  if (!are_tables(request)) return std::nullopt;
  check_samples(typed);
  const std::string date = typed.date.empty() ? today() : typed.date;
  return std::visit(
      [&](const auto& fit) {
        std::string out = shown(fit, json, terminal, [](Page& page, const auto& a) { text_of(page, a.made); });
        if (!typed.out.empty()) write_fitted_files(typed, fit.files(date));
        if constexpr (std::same_as<std::remove_cvref_t<decltype(fit)>, ServingFitAnswer>)
          if (!json && typed.out.empty()) out += fit.files(date).front().second;
        return out;
      },
      answer(request));
}

}  // namespace fabricost::cli
