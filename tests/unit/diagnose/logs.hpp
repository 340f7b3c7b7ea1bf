#pragma once
/// Logs written for single tests, and their diagnoses.

#include "diagnose/diagnose.hpp"
#include "support/written_file.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

struct TemporaryLog : fabricost::test::WrittenFile {
  explicit TemporaryLog(const std::string& text, const std::string& name = "log.txt") : WrittenFile(text, name) {}
};

inline fabricost::observe::Diagnosis diagnosed(const std::string& text, const fabricost::observe::DiagnoseRequest& request = {}) {
  const TemporaryLog log(text);
  return fabricost::observe::diagnose({log.path()}, request);
}

/// True if it is the first or second cause, the project's own measure of success.
inline bool names(const fabricost::observe::Diagnosis& d, fabricost::observe::Cause cause) {
  for (std::size_t i = 0; i < d.causes.size() && i < 2; ++i)
    if (d.causes[i].cause == cause) return true;
  return false;
}
inline std::string causes_of(const fabricost::observe::Diagnosis& d) {
  std::string out = d.verdict;
  for (const fabricost::observe::Finding& f : d.causes)
    out += fmt::format(" | {} {:.2f}: {}", fabricost::observe::name(f.cause), f.confidence, f.evidence);
  return out;
}

/// Rank list and table of nccl-tests, with one row per (bytes, bus bandwidth in GB/s), from which time and
/// algorithm bandwidth follow.
inline std::string table(const std::string& gpu, int nodes, int per_node, const std::vector<std::pair<double, double>>& rows) {
  const int n = nodes * per_node;
  std::string out = "# Collective test starting: all_reduce_perf\n";
  for (int r = 0; r < n; ++r)
    out += fmt::format("#  Rank {:2} Group  0 Pid {} on node{} device {} [0x{:02x}] {}\n", r, 1000 + r, r / per_node, r % per_node,
                       r % per_node + 16, gpu);
  out += "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
  out += "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n";
  const double factor = 2.0 * (n - 1) / n;
  for (const auto& [bytes, bus] : rows)
    out += fmt::format("{:.0f} {:.0f} float sum -1 {:.2f} {:.2f} {:.2f} 0\n", bytes, bytes / 4, bytes / (bus / factor * 1e9) * 1e6,
                       bus / factor, bus);
  return out;
}
