/// \file measurements.cpp
/// Reading the measured points, and leaving out the sweeps known to be broken.

#include "sections.hpp"

#include <filesystem>

#include <fmt/format.h>

namespace accuracy {

using namespace fabricost;

namespace {

/// Sweeps of healthy clusters that something else slowed down by 2 to 10: where, and between which sizes.
struct Faulty {
  std::string_view source;  ///< begins with
  double from, to;          ///< bytes
  std::string_view why;
};
constexpr double no_end = 1e18;
constexpr Faulty faulty[] = {
    {"016_alps", 128 * 1024.0, 1024 * 1024 * 1024.0, "Alps, 32 nodes: 2 to 10 times its sister sweeps from 128 KiB to 1 GiB"},
    {"007_alps", 512 * 1024.0, no_end, "Alps, 64 nodes: 2 to 10 times its sister sweeps from 512 KiB"},
    {"017_alps", 512 * 1024.0, 512 * 1024 * 1024.0, "Alps, 64 nodes: 2 to 10 times its sister sweeps from 512 KiB to 512 MiB"},
    {"160_dgx1", 0, no_end, "dgx-1v-roce: latency of 100 to 1,200 us at random, NIC count unknown"},
};
constexpr double half_of_medium = 515.0 * 1024 * 1024, half_of_big = 6.1 * 1024 * 1024 * 1024;

bool is_faulty(const Point& p) {
  const std::string& source = p.source;
  for (const Faulty& f : faulty)
    if (source.find(f.source) == 0 && p.bytes >= f.from && p.bytes <= f.to) return true;
  if (source.find("gdroff_medium") != std::string::npos) return p.bytes > half_of_medium;
  if (source.find("gdroff_big") != std::string::npos) return p.bytes > half_of_big;
  return false;
}

}  // namespace

Measurements read_measurements(const std::string& folder) {
  const std::filesystem::path at(folder);
  const auto merged = [&](std::vector<std::filesystem::path> files) { return read_merged(files); };
  Measurements out;
  out.nvlink = merged({at / "dgx-a100.nccl.csv", at / "dgx-h100.nccl.csv", at / "dgx-b200.nccl.csv"});
  out.l40s = merged({at / "l40s-pcie.nccl.csv"});
  out.b60 = merged({at / "b60-pcie.oneccl.csv"});
  const Points healthy = read_points(at / "multinode" / "points_healthy.csv");
  std::vector<Point> kept;
  int dropped = 0;
  for (const Point& p : healthy.points) {
    if (p.nodes < 2) continue;
    if (is_faulty(p))
      ++dropped;
    else
      kept.push_back(p);
  }
  out.clusters.points = merge_repeats(kept);
  for (const Faulty& f : faulty) out.left_out.emplace_back(f.why);
  out.left_out.emplace_back("a100-pcie-hdr without GPUDirect: twice as slow from exactly the middle of every sweep, whatever the size");
  out.left_out.push_back(fmt::format("{} of {} measured times in all", dropped, dropped + static_cast<int>(kept.size())));
  return out;
}

}  // namespace accuracy
