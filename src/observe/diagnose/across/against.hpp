#pragma once
/// Compares a run with one that went well: the differences are where to look first. Private.

#include "diagnose/context.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace fabricost::observe::diagnosis {

/// The content of one run, for a comparison.
struct Shows {
  NcclInfo info;
  RankReports reports;
  std::vector<Shown> curve;
  std::filesystem::path file;  ///< with all its lines
};

/// The most telling first: bandwidths, versions and settings, what NCCL chose, then lines that only this run has.
[[nodiscard]] std::vector<Difference> differences(const Shows& here, const Shows& there, const Numbers& thresholds);

/// The least share of the other run's bus bandwidth at a size that both show, with that size; 1: none is less.
struct Slowest {
  double share = 1, bytes = 0, here = 0, there = 0;
};
[[nodiscard]] Slowest slowest_size(const std::vector<Shown>& here, const std::vector<Shown>& there);

/// Bandwidths that are nearly the same plain number apart at all large sizes were often counted otherwise: in bits, in both directions, by
/// the algorithm. \param apart by size, one over the other \return a sentence; empty: no such number
[[nodiscard]] std::string plain_factor(const std::map<double, double>& apart, Collective collective, int ranks);

}  // namespace fabricost::observe::diagnosis
