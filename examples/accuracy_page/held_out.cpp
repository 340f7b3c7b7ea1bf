/// Errors on measurements that no fit has seen.

#include "sections.hpp"
#include "table.hpp"

#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include <array>
#include <map>

namespace accuracy {

using namespace fabricost::observe;

namespace {

/// A row for each machine, and one for all points.
std::string by_machine(const ValidationReport& report) {
  std::string out = heading("machine");
  for (const ErrorGroup& g : report.by_system) out += row(g.name, g.errors);
  return out + row("**all points**", report.total);
}

/// The sweeps of mi300x-8 and mi250x-16gcd inside a node are what scale-up-cdna3 and -cdna2 were fitted to; the costs of NCCL before 2.19
/// and of four machines' processors were fitted to the others (data/tuners, data/priors/scale-up.yaml).
bool was_fitted(const ComparedPoint& p) {
  const std::string& system = p.point.system.str();
  return system == "mi300x-8" || system == "mi250x-16gcd" || system == "hgx-a100" || system == "azure-nd-a100-v4" ||
         system == "snellius-h100" || system == "runpod-a100-pair";
}

std::string size_of(const ComparedPoint& p) {
  const double s = p.point.bytes;
  return s < 65536 ? "below 64 KiB" : s <= 4194304 ? "64 KiB to 4 MiB" : "above 4 MiB";
}

using Groups = std::map<std::string, std::vector<const ComparedPoint*>>;

std::string one_node(const Measurements& data) {
  const ValidationReport report = validate(data.one_node);
  std::string out =
      "## nccl-tests inside one node\n\nAll healthy public runs on one node, launched as the heads of their logs say "
      "([launches](model/choice.md#launches-and-releases)). The constants of NVLink machines come from CUDA graphs of one laboratory "
      "(ai-dynamo/aiconfigurator, NCCL 2.23 to 2.29),\nand so does what 2.19 to 2.25 take longer. "
      "The extra cost of NCCL before 2.19, and of launching from the host, were fitted to "
      "hgx-a100, azure-nd-a100-v4,\nsnellius-h100 and runpod-a100-pair; those of "
      "mi300x-8 and mi250x-16gcd to their sweeps. No "
      "fit has seen the others.\n\n" +
      by_machine(report);
  Groups sizes, regimes;
  std::vector<const ComparedPoint*> unseen;
  for (const ComparedPoint& p : report.points) {
    if (!was_fitted(p)) unseen.push_back(&p);
    sizes[size_of(p)].push_back(&p);
    regimes[regime_of(p)].push_back(&p);
  }
  out += row("**machines in no fit**", summarise(unseen));
  for (const char* size : {"below 64 KiB", "64 KiB to 4 MiB", "above 4 MiB"})
    if (sizes.count(size) > 0) out += row(size, summarise(sizes[size]));
  out += "\nBy launch and release. The interval score is the mean width of the intervals in log time, and 20 times the distance of points "
         "outside: less is better.\n\n" +
         scored_heading("launch, NCCL");
  for (const auto& [regime, points] : regimes) out += scored_row(regime, summarise(points));
  // as if no machine's processor had been measured
  const ValidationReport unknown = validate(data.one_node, {.adjust = [](System& system) { system.host_launch = {}; }});
  out += scored_row("**all points**", report.total) + scored_row("all, each processor left to the mean of five", unknown.total);
  return out + not_priced(report);
}

std::string unclear(const Measurements& data) {
  const ValidationReport report = validate(data.unclear);
  std::vector<const ComparedPoint*> one, several;
  for (const ComparedPoint& p : report.points) (p.point.nodes > 1 ? several : one).push_back(&p);
  return "## Runs of unclear health\n\nPublic runs whose health nobody can tell: in no fit and in no other figure of this page.\n\n" +
         heading("runs") + row("on one node", summarise(one)) + row("on several nodes", summarise(several)) + not_priced(report);
}

}  // namespace

std::string not_priced(const ValidationReport& report) {
  std::string out;
  for (const Skipped& s : report.skipped) out += fmt::format("- not priced: {} rows, {}\n", s.rows, s.reason.substr(0, s.reason.find(';')));
  return out.empty() ? "\n" : "\n" + out + "\n";
}

std::string never_fitted(const Measurements& data) {
  std::string out =
      "## Machines by the constants of a relative\n\n2, 4 and 8 GPUs, CUDA graphs, priced with constants that were fitted without them; "
      "then with their own, which were\nfitted to these points but for the runs of NCCL 2.23 on that H200. "
      "What that release takes longer is one number, fitted to it and to dgx-h100 alike.\n\n" +
      heading("machine");
  const auto both = [&out](const char* machine, const Points& points, const char* relative) {
    const std::string file = (data_directory() / "calibrations" / relative).string() + ".yaml";
    out += row(fmt::format("{}, `{}`", machine, relative), validate(points, {.calibration = file}).total);
    out += row(fmt::format("{}, its own", machine), validate(points).total);
  };
  both("dgx-h200", data.h200, "scale-up-hopper");
  both("dgx-b300", data.b300, "scale-up-blackwell");
  both("gb200-nvl72", data.gb200, "scale-up-blackwell");
  both("rtx-pro-6000-pcie", data.rtx_pro, "pcie");
  both("l40s-pcie", data.l40s, "pcie-peers");
  out += "\n" + one_node(data);
  const ValidationReport nodes = validate(data.later_one_node);
  out += "The same inside one node, of runs collected later (the constants of mi350x-8 were fitted to its own, those of Volta set by the "
         "abci-v100-edr's):\n\n" + by_machine(nodes) + not_priced(nodes);
  return out + unclear(data);
}

}  // namespace accuracy
