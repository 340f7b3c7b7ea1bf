/// The results of fabricost measure beside the stock system of the same kind; fabricost calibrate writes them as a system file.

#include "cli/calibrate.hpp"

#include <fabricost/probes/answers/this_machine.hpp>

#include <filesystem>

namespace fabricost::cli {
namespace {

constexpr const char* usual_points = "measured.csv";
constexpr const char* usual_machine = "this-machine.yaml";

[[nodiscard]] std::string value_text(const MeasuredFigure& f, double value) {
  if (!(value > 0)) return "-";
  return f.latency ? seconds_text(value) : per_second_text(value);
}
[[nodiscard]] std::string share_text(const MeasuredFigure& f) { return f.datasheet > 0 ? percent(f.value / f.datasheet, 0) : ""; }

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
  return out;
}

void text_of(Page& page, const ThisMachine& m, const std::string& written) {
  page.width = 80;
  page.title("{}, beside {}", m.title, m.stock);
  if (const std::string best = headline(m); !best.empty()) page.say(best + ".");
  if (!m.figures.empty()) {
    page.section("Measured");
    page.table({"tier", "what", ">measured", ">datasheet", ">share", ">stock assumes", ">points"}, m.figures, [](const MeasuredFigure& f) {
      return cells(f.tier, f.what, value_text(f, f.value), value_text(f, f.datasheet), share_text(f), value_text(f, f.stock), f.points);
    });
  }
  page.section("The machine");
  for (const auto& [what, value] : m.facts) page.item(fmt::format("  {:<12} ", what), value);
  page.section(m.findings.empty() ? "Nothing speaks against it" : "What sets it apart");
  for (const MachineFinding& f : m.findings) {
    page.line("{} ({:.0f} %)", f.cause, 100 * f.confidence);
    page.item("    seen  ", f.evidence);
    page.item("    try   ", f.remedy);
  }
  if (m.calibration) {
    const Calibration& fit = *m.calibration;
    page.section("Collectives");
    page.say("{} of {} constants determined by {} points; median error {:.2f} -> {:.2f} %.", fit.determined, fit.constants, fit.points,
             fit.median_before, fit.median_after);
  }
  if (!m.not_calibrated.empty()) {
    page.section("As {} has it", m.stock);
    page.items("  ", m.not_calibrated);
  }
  page.section("Written to {0}: fabricost predict all_reduce --system {0} --size 64MiB", written);
}

/// The points of a GPU measurement among the given files, or measured.csv of this folder where no file was
/// given. Empty when there is no machine file, or when only its collectives are to be fitted.
[[nodiscard]] std::optional<std::string> whole_machine(const CalibrateTyped& typed) {
  if (typed.only || !typed.leave_out.empty() || typed.nodes > 0 || typed.ranks > 0 || typed.samples.size() > 1) return std::nullopt;
  const std::string points = typed.samples.empty() ? usual_points : typed.samples.front().file;
  std::error_code error;
  if (!std::filesystem::exists(points, error) || !std::filesystem::exists(machine_file_of(points), error)) return std::nullopt;
  if (machine_file_of(points) == points) return std::nullopt;
  return points;
}

[[nodiscard]] std::string of_machine(const std::string& points, const CalibrateTyped& typed, bool json, const Terminal& terminal) {
  MachineAnswer found =
      answer(CalibrateMachineRequest{.path = points, .system = typed.system, .calibration = typed.calibration, .date = typed.date});
  found.file = typed.out.empty() ? usual_machine : typed.out.path;
  std::string out = shown(found, json, terminal, [](Page& page, const MachineAnswer& a) { text_of(page, a.made, a.file); });
  write_output({found.file}, this_machine_yaml(found.made), "--out");
  return out;
}

}  // namespace

std::optional<std::string> calibrate_machine_files(const CalibrateTyped& typed, bool json, const Terminal& terminal) {
  const std::optional<std::string> points = whole_machine(typed);
  return points ? std::optional{of_machine(*points, typed, json, terminal)} : std::nullopt;
}

}  // namespace fabricost::cli
