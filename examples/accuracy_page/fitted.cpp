/// Errors on the fitted measurements, whole and by parts, beside two baselines.

#include "sections.hpp"
#include "table.hpp"

#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/choice/nccl.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include <functional>
#include <map>

namespace accuracy {

using namespace fabricost::plan;

namespace {

/// The same points priced by `seconds`; intervals mean nothing then.
ErrorSummary baseline(const ValidationReport& report, const std::function<double(const System&, const Operation&)>& seconds) {
  std::map<std::string, System> systems;
  std::vector<ComparedPoint> priced = report.points;
  for (ComparedPoint& p : priced) {
    auto [at, fresh] = systems.try_emplace(p.point.system);
    if (fresh) at->second = load_system(p.point.system.str());
    p.prediction.seconds = seconds(at->second, p.prediction.operation);
  }
  return summarise(priced);
}

/// The time that NCCL's tuner expects of its own choice; for point to point it has no model: the tier's usable rate.
double believed(const System& system, const Operation& op) {
  const Fabric f = fabric_of(system, op);
  const TunerTable table = tuner_table(op.collective, f, is_byte_wide(op.dtype));
  const double bytes = op.bytes.value();
  if (table.rows.empty()) return 10e-6 + bytes * (f.ranks() - 1) / f.ranks() / f.planned_per_gpu;
  double min = 1e30;
  for (const TunerRow& row : table.rows) min = std::min(min, table.believed(row, bytes));
  return min;
}

/// Bytes over the one-way rate, steps at the tier's own latency.
double datasheet(const System& system, const Operation& op) {
  const Fabric f = fabric_of(system, op);
  const Schedule schedule = op.collective == Collective::all_to_all ? schedule_of(Algorithm::direct, op.collective, f.levels)
                                                                    : schedule_of(Algorithm::ring, op.collective, f.levels);
  const Tier* tier = system.tier(TierRole::scale_up);
  return schedule.steps() * tier->latency.value.value() + schedule.bytes(0) * op.bytes.value() / f.inner_rate;
}

std::string groups(const std::vector<ComparedPoint>& points, std::string_view title,
                   const std::function<std::string(const ComparedPoint&)>& name_of, const std::vector<std::string>& order) {
  std::map<std::string, std::vector<const ComparedPoint*>> members;
  for (const ComparedPoint& p : points) members[name_of(p)].push_back(&p);
  std::string out = heading(title);
  for (const std::string& wanted : order)
    if (members.count(wanted) > 0) out += row(wanted, summarise(members[wanted]));
  for (const auto& [group, its] : members)
    if (std::find(order.begin(), order.end(), group) == order.end()) out += row(group, summarise(its));
  return out + "\n";
}

}  // namespace

std::string introduction() {
  return "# How accurate\n\n"
         "Written by `build/bin/accuracy_page ../shared/measurements > docs/accuracy.md`; a test holds the page to what that command "
         "prints. Error is\n"
         "100 |predicted / measured - 1|; repeats are merged by their median first. The last column is the share of measurements inside "
         "the\n"
         "predicted 5-95 % interval: 90 % would be perfect.\n\n"
         "What no fit has seen comes first: that is what to expect of a machine of one's own. What was fitted stands at the end and says "
         "how\nwell the forms can be fitted, no more.\n\n";
}

std::string fitted_systems(const Measurements& data) {
  std::string out = "## Systems that were fitted (in sample)\n\n" + heading("system");
  const ValidationReport nvlink = validate(data.nvlink);
  out += row("A100, H100, B200 (NVLink, NCCL)", nvlink.total);
  for (const ErrorGroup& g : nvlink.by_system) out += row(g.name, g.errors);
  const ValidationReport l40s = validate(data.l40s), b60 = validate(data.b60);
  out += row("l40s-pcie (PCIe 4, NCCL)", l40s.total);
  out += row("b60-pcie (PCIe 5, oneCCL)", b60.total);
  out += "\nThe same NVLink points, median / mean %, by other models:\n\n| model | all |\n|---|---|\n";
  out += fmt::format("| fabricost, shipped calibrations | {} |\n", pair(nvlink.total));
  out += fmt::format("| fabricost, `--calibration none` | {} |\n", pair(validate(data.nvlink, {.calibration = "none"}).total));
  out += fmt::format("| NCCL's own tuner taken as a time model | {} |\n", pair(baseline(nvlink, believed)));
  out += fmt::format("| steps and bytes with datasheet numbers | {} |\n", pair(baseline(nvlink, datasheet)));
  return out + "\n";
}

std::string where_it_errs(const Measurements& data) {
  const ValidationReport report = validate(data.nvlink);
  std::string out = "## Where it errs (NVLink, in sample)\n\n";
  out += groups(report.points, "operation", [](const ComparedPoint& p) { return std::string{name(p.point.collective)}; }, {});
  const auto size = [](const ComparedPoint& p) -> std::string {
    const double s = p.point.bytes;
    return s <= 65536 ? "<= 64 KiB" : s <= 1048576 ? "<= 1 MiB" : s <= 33554432 ? "<= 32 MiB" : "above";
  };
  out += groups(report.points, "size", size, {"<= 64 KiB", "<= 1 MiB", "<= 32 MiB", "above"});
  out += groups(report.points, "ranks", [](const ComparedPoint& p) { return std::to_string(p.point.ranks()); }, {});
  out +=
      groups(report.points, "ran as",
             [](const ComparedPoint& p) { return fmt::format("{} {}", p.prediction.algorithm.view(), p.prediction.protocol.view()); }, {});
  out += groups(report.points, "type", [](const ComparedPoint& p) { return std::string{name(p.point.dtype)}; }, {});
  return out;
}

}  // namespace accuracy
