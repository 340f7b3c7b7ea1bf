/// \file calibrate_machine.cpp
/// fabricost calibrate of what fabricost measure wrote: this machine as a system file, and how it compares.

#include "calibrate_machine.hpp"

#include "text/text_table.hpp"
#include "comparison_json.hpp"
#include "report.hpp"
#include "write_file.hpp"

#include <fabricost/error.hpp>
#include <fabricost/machine/this_machine.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fabricost::cli {
namespace {

constexpr const char* usual_points = "measured.csv";
constexpr const char* usual_out = "this-machine.yaml";

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

/// "hbm reaches 93 % of the datasheet (4.46 of 4.8 TB/s)." of each tier's best rate.
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

[[nodiscard]] std::string text_of(const ThisMachine& m, const std::string& written, const Terminal& terminal) {
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

[[nodiscard]] nlohmann::ordered_json number_or_null(double value, double scale) {
  return value > 0 ? nlohmann::ordered_json(value * scale) : nlohmann::ordered_json(nullptr);
}

[[nodiscard]] nlohmann::ordered_json to_json(const ThisMachine& m, const std::string& written) {
  nlohmann::ordered_json out;
  out["system"] = written;
  out["stock"] = m.stock;
  out["title"] = m.title;
  out["gpus"] = m.machine.gpus.size();
  out["host"] = m.machine.host;
  out["date"] = m.machine.date;
  out["tiers"] = nlohmann::ordered_json::array();
  for (const MeasuredFigure& f : m.figures) {
    const double scale = f.latency ? 1e6 : 1e-9;
    const std::string unit = f.latency ? "_us" : "_GBps";
    out["tiers"].push_back(
        {{"tier", f.tier},
         {"what", f.what},
         {"measured" + unit, f.value * scale},
         {"datasheet" + unit, number_or_null(f.datasheet, scale)},
         {"stock" + unit, number_or_null(f.stock, scale)},
         {"share_of_datasheet", f.datasheet > 0 ? nlohmann::ordered_json(f.value / f.datasheet) : nlohmann::ordered_json()},
         {"points", f.points},
         {"smallest_bytes", f.smallest},
         {"largest_bytes", f.largest}});
  }
  out["facts"] = nlohmann::ordered_json::object();
  for (const auto& [what, value] : m.facts) out["facts"][what] = value;
  out["findings"] = nlohmann::ordered_json::array();
  for (const MachineFinding& f : m.findings)
    out["findings"].push_back({{"cause", f.cause}, {"confidence", f.confidence}, {"evidence", f.evidence}, {"remedy", f.remedy}});
  out["calibration"] = nullptr;
  if (m.calibration) {
    const Calibration& fit = *m.calibration;
    out["calibration"] = {{"points", fit.points},
                          {"constants", fit.constants},
                          {"determined", fit.determined},
                          {"median_ape", {{"before", fit.median_before}, {"after", fit.median_after}}},
                          {"sets", nlohmann::ordered_json::array()}};
    for (const CalibratedSet& set : fit.sets) out["calibration"]["sets"].push_back(cli::to_json(set));
  }
  out["not_calibrated"] = m.not_calibrated;
  return out;
}

}  // namespace

std::optional<std::string> measured_points(const std::vector<std::string>& files) {
  if (files.size() > 1) return std::nullopt;
  const std::string points = files.empty() ? usual_points : files.front();
  std::error_code error;
  if (!std::filesystem::exists(points, error) || !std::filesystem::exists(machine_file_of(points), error)) return std::nullopt;
  if (machine_file_of(points) == points || !lists_gpus(machine_file_of(points))) return std::nullopt;
  return points;
}

std::string calibrate_this_machine(const MachineQuestion& asked, const Terminal& terminal) {
  const ThisMachine machine =
      calibrate_machine(asked.points, {.system = asked.system, .calibration = asked.calibration, .date = asked.date});
  const std::string target = asked.out.empty() ? usual_out : asked.out;
  std::string told = asked.json ? printed(to_json(machine, target)) : text_of(machine, target, terminal);
  write_file(target, this_machine_yaml(machine));
  return told;
}

}  // namespace fabricost::cli
