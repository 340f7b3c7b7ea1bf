/// Reads the measured points, and sets aside those in data/measurements/left-out.csv.

#include "sections.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/validation/set_aside.hpp>

#include <filesystem>
#include <fstream>

namespace accuracy {

using namespace fabricost::plan;

namespace {

/// The lines of data/measurements/left-out.csv: a term of calibrate --leave-out, a comma, the reason in quotation marks.
std::vector<Measurements::Left> listed() {
  const std::filesystem::path file = std::filesystem::path(data_directory()) / "measurements" / "left-out.csv";
  std::ifstream in(file);
  if (!in) throw RequestError(file.string() + " cannot be read");
  std::vector<Measurements::Left> out;
  std::string line;
  std::getline(in, line);  // the names of the columns
  while (std::getline(in, line)) {
    const std::size_t comma = line.find(',');
    if (comma == std::string::npos || line.size() < comma + 4)
      throw RequestError(file.string() + ": \"" + line + "\" is no `term,\"why\"`");
    out.push_back({line.substr(0, comma), line.substr(comma + 2, line.size() - comma - 3), {}});
  }
  return out;
}

/// Points of at least, or below, that many nodes.
Points of_nodes(const Points& all, bool several) {
  Points out;
  for (const Point& p : all.points)
    if ((p.nodes > 1) == several) out.points.push_back(p);
  out.points = merge_repeats(out.points);
  return out;
}

}  // namespace

Measurements read_measurements(const std::string& folder) {
  const std::filesystem::path at(folder), second = at / "second";
  const auto merged = [&](std::vector<std::filesystem::path> files) { return read_merged(files); };
  Measurements out;
  out.nvlink = merged({at / "dgx-a100.nccl.csv", at / "dgx-h100.nccl.csv", at / "dgx-b200.nccl.csv"});
  out.l40s = merged({at / "l40s-pcie.nccl.csv"});
  out.b60 = merged({at / "b60-pcie.oneccl.csv"});
  out.h200 = merged({second / "dgx-h200.nccl.csv"});
  out.b300 = merged({second / "dgx-b300.nccl.csv"});
  out.gb200 = merged({second / "gb200-nvl72.nccl.csv"});
  out.rtx_pro = merged({second / "rtx-pro-6000-pcie.nccl.csv"});
  for (Point p : merged({second / "xla" / "collectives.csv"}).points) {
    if (p.system != "gb200-nvl72" || p.collective == Collective::send_recv) continue;  // those are of many pairs at once, not said which
    p.library_version = SharedText{"2.28"};  // none is named, but LL runs to 512 KiB a peer, as up to 2.28 (examples/accuracy_page/sources.yaml)
    out.gb200_xla.points.push_back(std::move(p));
  }
  out.unclear = merged({at / "multinode" / "points_unclear.csv"});
  Points healthy = read_points(at / "multinode" / "points_healthy.csv");
  out.one_node = of_nodes(healthy, false);
  Points later = read_points(second / "multinode" / "points_healthy.csv");
  later.append(read_points(second / "newer" / "points_healthy.csv"));
  for (const char* part : {"multinode", "newer"}) later.append(read_points(at / "third" / "released" / part / "points_healthy.csv"));
  out.later_one_node = of_nodes(later, false);
  healthy.append(std::move(later));
  healthy.append(read_points(at / "third" / "points_collectives.csv"));
  out.left_out = listed();
  std::vector<LeaveOut> terms;
  for (const Measurements::Left& left : out.left_out) terms.emplace_back(left.term);
  for (const Point& p : healthy.points) {
    if (p.nodes < 2) continue;
    ++out.measured;
    bool kept = true;
    for (std::size_t i = 0; i < terms.size() && kept; ++i)
      if (terms[i].holds(p)) {
        out.left_out[i].points.points.push_back(p);
        kept = false;
      }
    if (kept)
      out.clusters.points.push_back(p);
    else
      ++out.left;
  }
  out.cluster_repeats = out.clusters;
  out.clusters.points = merge_repeats(out.clusters.points);
  for (Measurements::Left& left : out.left_out) left.points.points = merge_repeats(left.points.points);
  return out;
}

}  // namespace accuracy
