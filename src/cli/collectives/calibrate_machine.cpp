/// \file calibrate_machine.cpp
/// The results of fabricost measure beside the stock system of the same kind, as text.

#include "cli/collectives/calibrate_text.hpp"
#include "text/text_table.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string value_text(const MeasuredFigure& f, double value) {
  if (!(value > 0)) return "-";
  return f.latency ? time_text(Time::from_value(value)) : rate_text(Bandwidth::from_value(value));
}
[[nodiscard]] std::string share_text(const MeasuredFigure& f) {
  return f.datasheet > 0 ? fmt::format("{:.0f} %", 100 * f.value / f.datasheet) : "";
}

[[nodiscard]] std::string table_of(const std::vector<MeasuredFigure>& figures) {
  TextTable table{
      {{"tier"}, {"what"}, {"measured", right}, {"datasheet", right}, {"share", right}, {"stock assumes", right}, {"points", right}}};
  for (const MeasuredFigure& f : figures)
    table.row({f.tier, f.what, value_text(f, f.value), value_text(f, f.datasheet), share_text(f), value_text(f, f.stock),
               std::to_string(f.points)});
  return table.text(2);
}

/// "hbm reaches 93 % of the datasheet (4.46 of 4.8 TB/s)." for the best rate of each tier.
[[nodiscard]] std::string headline(const ThisMachine& m) {
  std::vector<const MeasuredFigure*> best;
  for (const MeasuredFigure& f : m.figures) {
    if (f.latency || !(f.datasheet > 0)) continue;
    if (!best.empty() && best.back()->tier == f.tier) {
      if (f.value > best.back()->value) best.back() = &f;
    } else {
      best.push_back(&f);
    }
  }
  std::string out;
  for (const MeasuredFigure* f : best)
    out += fmt::format("{}{} reaches {} of the datasheet ({} of {}, {})", out.empty() ? "" : "; ", f->tier, share_text(*f),
                       value_text(*f, f->value), value_text(*f, f->datasheet), f->what);
  return out.empty() ? "" : wrapped("  ", out + ".");
}

}  // namespace

std::string text_of(const ThisMachine& m, const std::string& written, const Terminal& terminal) {
  std::string out = fmt::format("{}, beside {}\n", m.title, m.stock) + headline(m);
  if (!m.figures.empty()) out += "\nMeasured\n" + table_of(m.figures);
  out += "\nThe machine\n";
  for (const auto& [what, value] : m.facts) out += wrapped(fmt::format("  {:<12} ", what), value);
  out += m.findings.empty() ? "\nNothing speaks against it\n" : "\nWhat sets it apart\n";
  for (const MachineFinding& f : m.findings)
    out +=
        fmt::format("  {} ({:.0f} %)\n", f.cause, 100 * f.confidence) + wrapped("    seen  ", f.evidence) + wrapped("    try   ", f.remedy);
  if (m.calibration) {
    const Calibration& fit = *m.calibration;
    out += "\nCollectives\n" + wrapped("  ", fmt::format("{} of {} constants narrowed by {} points; median error {:.2f} -> {:.2f} %.",
                                                         fit.determined, fit.constants, fit.points, fit.median_before, fit.median_after));
  }
  if (!m.not_calibrated.empty()) {
    out += fmt::format("\nAs {} has it\n", m.stock);
    for (const std::string& one : m.not_calibrated) out += wrapped("  ", one);
  }
  out += fmt::format("\nWritten to {0}: fabricost predict all_reduce --system {0} --size 64MiB\n", written);
  return terminal.strong_headings(out);
}

}  // namespace fabricost::cli
