/// \file bus_bandwidth.cpp
/// NCCL's bus bandwidth by size on 8 H100s: the figures of text 001, the times they imply, what fabricost predicts and, where the
/// measured log is shipped, what was measured. The measurement decides.

#include "specs.hpp"

#include <fabricost/readings/points.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace seed_tables {

using namespace fabricost::observe;

std::filesystem::path shipped_log() { return data_directory() / "measurements" / "dgx-h100-all-reduce.txt"; }

namespace {

/// Median seconds by size of the all-reduces over 8 ranks of one node.
std::map<double, double> measured_times(const std::filesystem::path& log) {
  std::map<double, double> out;
  if (!std::filesystem::exists(log)) return out;
  for (const Point& p : merge_repeats(read_points(log, {.system = "dgx-h100"}).points))
    if (p.collective == Collective::all_reduce && p.ranks() == 8 && p.nodes == 1) out[p.bytes] = p.seconds;
  return out;
}

/// Within 3 % of the range: reproduced; within 5 %: qualified.
Verdict near(double low, double high, double value) {
  const Verdict strict = judge(low, high, value);
  return strict != Verdict::reproduced && judge(low, high, value, 0.05) == Verdict::reproduced ? Verdict::qualified : strict;
}

}  // namespace

Table bus_bandwidth(const std::filesystem::path& log) {
  const System& h = machine("dgx-h100");
  const std::map<double, double> measured = measured_times(log);
  const double factor = bus_factor(Collective::all_reduce, 8);
  double floor = predict(h, AllReduce{.bytes = units::B(8), .ranks = 8}).seconds;
  for (const auto& [bytes, seconds] : measured) floor = std::min(floor, seconds);
  Table out{.title = "All-reduce bus bandwidth on 8 H100s, by size",
            .about = fmt::format("Text 001's expectations for nccl-tests. busbw = {} x size / time, so each figure implies a time.",
                                 text(factor)),
            .beside = {"time the text implies", "predicted time", "measured"},
            .ours = "predicted busbw",
            .rows = {}};
  struct Size {
    Bytes bytes;
    const char* said;
    double low, high;  ///< GB/s
  };
  bool any = false;
  for (const Size& s : {Size{units::KiB(1), "0.5 GB/s", 0.5, 0.5},
                        {units::KiB(64), "50 GB/s", 50, 50},
                        {units::MiB(1), "350 GB/s", 350, 350},
                        {units::MiB(64), "420-440 GB/s", 420, 440},
                        {units::GiB(1), "430-450 GB/s", 430, 450}}) {
    const double bytes = s.bytes.value();
    const Prediction p = predict(h, AllReduce{.bytes = s.bytes, .ranks = 8});
    const double ours = GBps(p.bus_bandwidth());
    const double implied = factor * bytes / (0.5 * (s.low + s.high) * 1e9);
    Figure seen{.note = "-"};
    double judged = ours;
    if (const auto at = measured.find(bytes); at != measured.end()) {
      any = true;
      judged = factor * bytes / at->second / 1e9;
      seen = {.value = judged, .unit = "GB/s", .decimals = judged < 10 ? 2 : 0};
    }
    out.rows.push_back({.label = size_text(s.bytes),
                        .said = s.said,
                        .beside = {{.value = implied * 1e6, .unit = "us", .note = implied < floor ? "below the floor" : ""},
                                   {.value = p.seconds * 1e6, .unit = "us"},
                                   seen},
                        .ours = {.value = ours,
                                 .unit = "GB/s",
                                 .decimals = ours < 10 ? 2 : 0,
                                 .low = ours * p.seconds / p.high,
                                 .high = ours * p.seconds / p.low},
                        .verdict = near(s.low, s.high, judged),
                        .shown = fmt::format("{}; {}", sum_text(p, 1e-6, "us"), ran_text(p))});
  }
  const double ring = gigabytes_per_second(h, TierRole::scale_up);
  const double bound = 2.0 * 7 / 9 * ring;
  out.remark = fmt::format(
      "The smallest all-reduce of 8 GPUs takes {} us, so the first three figures cannot be; 64 KiB would even be faster than 1 KiB. busbw "
      "is a wire rate for a ring only, bounded by "
      "{} GB/s: with in-switch reduction (NVLS) the bound is 2(n-1)/(n+1) x {} = {} GB/s, so a measured figure above {} is no fault.",
      text(floor * 1e6, 1), text(ring), text(ring), text(bound), text(ring));
  out.remark +=
      any ? fmt::format(
                "\n\nThe measured column is `data/measurements/{}`, and it decides: verdicts compare the text with it. At 1 GiB it lies a "
                "little above the text's range, by in-switch reduction.",
                log.filename().string())
          : "\n\nNo measured log of this machine is shipped; verdicts compare the text with the prediction. Where one is, it decides.";
  return out;
}

}  // namespace seed_tables
