/// fabricost calibrate, from tables of kernels, of expert exchange, and of engines' all-reduces.

#include "cli/calibrate.hpp"
#include "text/amounts.hpp"
#include "text/joined.hpp"

#include <fabricost/plan/evaluation/calibrate.hpp>

namespace fabricost::cli {

namespace {

/// "12.3 us", or a plain number.
[[nodiscard]] std::string value_text(const FittedConstant& c, double value) {
  return c.measure == Measure::time ? figure(1e6 * value) + " us" : figure(value);
}

[[nodiscard]] std::string narrowed_text(const FittedConstant& c) {
  return !c.determined ? "not determined" : c.shared ? "all generations" : "";
}

void kernels_text(Page& page, const Calibration& fit) {
  page.add(fmt::format(
      "{} constants fitted to {} times of kernels, {} of them narrowed; median error {:.2f} -> {:.2f} %, mean {:.2f} -> {:.2f} %\n",
      fit.constants, fit.points, fit.determined, fit.median_before, fit.median_after, fit.mean_before, fit.mean_after));
  for (const CalibratedSet& set : fit.sets) {
    page.section("{}: {} times, {}", set.name, set.points, joined(set.systems));
    page.table({"constant", ">fitted", ">+- %", ">before", ""}, set.fitted, [](const FittedConstant& c) {
      return cells(c.key, value_text(c, c.value), figure(100 * c.deviation, 2), value_text(c, c.prior), narrowed_text(c));
    });
    add_residuals(page, "kernel", set.classes);
  }
  add_skipped(page, fit.skipped);
}

void text_of(Page& page, const KernelStackAnswer& fit) {
  page.title("{} times of kernels, a stack in the recipe of {}", fit.rows(), fit.recipe);
  page.line("error of rows left out in fifths: median {:.2f} %, mean {:.2f} %", 100 * fit.median_error(), 100 * fit.mean_error());
  page.table({"kernel", ">rows", ">share", ">memory", ">start", ">depth", ">spread %", ">median %", ">mean %", ">within %"}, fit.kernels,
             [](const KernelFit& k) {
               return cells(fmt::format("{} {} {}", k.gpu, k.kind_name(), k.precision_name()), k.rows, fmt::format("{:.3f}", k.share()),
                            fmt::format("{:.3f}", k.memory()), fmt::format("{:.3g} us", 1e6 * k.start()),
                            k.depth() > 0 ? fmt::format("{:.2g} ns", 1e9 * k.depth()) : "-", figure(100 * k.spread, 2),
                            figure(100 * k.median_error, 2), figure(100 * k.mean_error, 2), figure(100 * k.within, 2));
             });
  if (fit.left.empty()) return;
  page.section("Not fitted");
  page.table({">rows", "reason"}, fit.left, [](const Skipped& s) { return cells(s.rows, s.reason); });
}

/// A file of the name that is asked for, or one below a folder.
void write_stack(const CalibrateTyped& typed, const KernelStackAnswer& fit, const std::string& date) {
  if (std::filesystem::is_directory(typed.out.path)) return write_fitted_files(typed, fit.files(date));
  write_output(typed.out, fit.yaml(std::filesystem::path{typed.out.path}.stem().string(), date), "--out");
}

}  // namespace

std::optional<std::string> calibrate_tables(const CalibrateTyped& typed, bool json, const Terminal& terminal) {
  CalibrateFilesRequest request{typed};
  if (!are_tables(request) && typed.only != ConstantSet::custom) return std::nullopt;
  if (!are_kernels(request)) check_samples(typed);
  const std::string date = typed.date.empty() ? today() : typed.date;
  return std::visit(
      [&](const auto& fit) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(fit)>, KernelStackAnswer>) {
          if (!typed.out.empty()) write_stack(typed, fit, date);
          return shown(fit, json, terminal, [](Page& page, const auto& a) { text_of(page, a); });
        } else {
          std::string out = shown(fit, json, terminal, [](Page& page, const auto& a) { kernels_text(page, a.made); });
          if (!typed.out.empty()) write_fitted_files(typed, fit.files(date));
          return out;
        }
      },
      answer(request));
}

}  // namespace fabricost::cli
