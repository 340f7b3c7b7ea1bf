/// \file held_out.cpp
/// Errors on what no fit has seen.

#include "sections.hpp"
#include "table.hpp"

#include <map>

namespace accuracy {

using namespace fabricost;

namespace {

/// A row for each machine, and one for all points.
std::string by_machine(const ValidationReport& report) {
  std::string out = heading("machine");
  for (const ErrorGroup& g : report.by_system) out += row(g.name, g.errors);
  return out + row("**all points**", report.total);
}

/// What could not be priced, one line a reason.
std::string not_priced(const ValidationReport& report) {
  std::string out;
  for (const Skipped& s : report.skipped) out += fmt::format("- not priced: {} rows, {}\n", s.rows, s.reason.substr(0, s.reason.find(';')));
  return out.empty() ? "\n" : "\n" + out + "\n";
}

/// The mi300x-8's one sweep inside a node is what scale-up-cdna3 was fitted to.
bool was_fitted(const ComparedPoint& p) { return p.point.system == "mi300x-8"; }

std::string size_of(const ComparedPoint& p) {
  const double s = p.point.bytes;
  return s < 65536 ? "below 64 KiB" : s <= 4194304 ? "64 KiB to 4 MiB" : "above 4 MiB";
}

std::string one_node(const Measurements& data) {
  const ValidationReport report = validate(data.one_node);
  std::string out =
      "## nccl-tests inside one node\n\nAll healthy public runs on one node. The constants of NVLink machines come from CUDA graphs of one "
      "laboratory (ai-dynamo/aiconfigurator);\nnccl-tests launches each call on its own. In no fit but the mi300x-8, whose sweep is all "
      "that "
      "is known of its constants.\n\n" +
      by_machine(report);
  std::map<std::string, std::vector<const ComparedPoint*>> sizes;
  std::vector<const ComparedPoint*> unseen;
  for (const ComparedPoint& p : report.points) {
    if (was_fitted(p)) continue;
    unseen.push_back(&p);
    sizes[size_of(p)].push_back(&p);
  }
  out += row("**without the mi300x-8**", summarise(unseen));
  for (const char* size : {"below 64 KiB", "64 KiB to 4 MiB", "above 4 MiB"})
    if (sizes.count(size) > 0) out += row(size, summarise(sizes[size]));
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

std::string never_fitted(const Measurements& data) {
  std::string out =
      "## Machines never fitted\n\nMeasured as the fitted ones of the same kind (2, 4 and 8 GPUs, CUDA graphs), in no fit.\n\n" +
      heading("machine");
  out += row("dgx-h200", validate(data.h200).total);
  out += row("dgx-b300", validate(data.b300).total);
  out += row("gb200-nvl72", validate(data.gb200).total);
  out += row("rtx-pro-6000-pcie (PCIe 5)", validate(data.rtx_pro).total);
  out += "\n" + one_node(data);
  const ValidationReport clusters = validate(data.later_clusters);
  out +=
      "## Clusters and node counts never fitted\n\nHealthy public runs on more than one node that were collected or handed over after the "
      "fit.\n\n" +
      by_machine(clusters) + not_priced(clusters);
  const ValidationReport nodes = validate(data.later_one_node);
  out += "The same collection inside one node:\n\n" + by_machine(nodes) + not_priced(nodes);
  return out + unclear(data);
}

}  // namespace accuracy
