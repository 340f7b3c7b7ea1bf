#include <fabricost/calibrate/probes.hpp>
#include <fabricost/io/calibrate.hpp>
#include <fabricost/io/load.hpp>
#include <fabricost/io/validate.hpp>
#include <fmt/format.h>
#include <cstdio>
using namespace fabricost;
int main(int argc, char** argv) {
  const std::string folder = argv[1];
  std::vector<std::string> systems{"dgx-a100", "dgx-h100", "dgx-b200"};
  Points all;
  for (auto& s : systems) all.append(read_points(folder + "/" + s + ".nccl.csv"));
  for (auto& left : systems) {
    Points rest, own;
    for (auto& p : all.points) (p.system == left ? own : rest).points.push_back(p);
    Calibration others = calibrate(rest);
    auto blind = [&](System& s) { apply_mean(others, s); };
    auto report = [&](const char* what, const ValidationReport& r) {
      fmt::print("{:10} {:10} {:6.2f} {:6.2f} cover {:.3f}\n", left, what, r.total.median_ape, r.total.mape, r.total.interval_coverage);
    };
    ValidationOptions vo; vo.adjust = blind;
    report("blind", validate(own, vo));
    for (std::size_t n = 1; n <= probes.size(); ++n) {
      Points few;
      for (auto& p : own.points)
        for (std::size_t i = 0; i < n; ++i)
          if (p.collective == probes[i].op && p.bytes == probes[i].bytes && p.dtype == DataType::half && p.gpus_per_node == (probes[i].pair ? 2 : 8)) few.points.push_back(p);
      CalibrateOptions co; co.system = left; co.adjust = blind;
      Calibration cal = calibrate(few, co);
      ValidationOptions v2; v2.adjust = [&](System& s) { blind(s); apply_calibration(cal, s); };
      report(fmt::format("{} points", n).c_str(), validate(own, v2));
    }
  }
}
