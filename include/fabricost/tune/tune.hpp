#pragma once
/// \file tune.hpp
/// Finds where NCCL's own choice of algorithm and protocol is slower than another pair that it could run:
/// over which sizes, by how much, with which uncertainty; and the result as a file for NCCL's example tuner
/// plugin.
///
/// NCCL chooses by a time model of its own (choice/nccl.hpp), coarser than the prices here: its switch points
/// are cliffs. At every size both pairs are priced, each with the half width w of its 5-95 % interval in log
/// time, and with g = log(t_now / t_better)
///
///   listed   g > 0.05: smaller differences occur between two installs of the same software (medians of 1 to 7 %
///            between files of one machine)
///   sure     g > sqrt(w_now^2 + w_better^2), both pairs and the operation were in the fit of the constants, and NCCL certainly
///            runs the stated pair: between nodes, and on machines without observed switch points, these are known to a factor
///            of two (Alps: tree to ring at 16 MiB on 4 nodes where the rule says 8), so sizes that close to NCCL's own
///            choice of the better pair are not sure
///
/// A pair priced outside the sizes where NCCL chooses it was never measured there: its w grows by the
/// constants' widening per factor of two from those sizes, and by that of one factor of two in ranks if NCCL
/// never chooses it for the request. Of several faster pairs the fastest is named, until another is faster by
/// at least the listed threshold.

#include <fabricost/choice/choice.hpp>
#include <fabricost/compiled_part.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::core {

/// The operations NCCL keeps a table for; all_to_all and send_recv are sent point to point.
inline constexpr std::array<Collective, 5> tuned_collectives{Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                                             Collective::broadcast, Collective::reduce};

struct TuneOptions {
  std::vector<int> nodes{};  ///< as nccl-tests counts them, one answer each; empty: one node, or one domain if it is larger
  int ranks = 0;             ///< 0: all of the nodes
  DataType dtype = DataType::half;
  std::optional<Collective> collective{};  ///< empty: all of tuned_collectives
};

/// A range of sizes over which NCCL runs one pair and another is faster.
struct SlowRange {
  Collective collective = Collective::all_reduce;
  int nodes = 1, ranks = 2;
  double first = 0, last = 0;  ///< bytes as nccl-tests counts them, both included
  Candidate now, better;
  double bytes = 0;        ///< the size at which most time is lost
  double now_seconds = 0;  ///< at that size
  double better_seconds = 0;
  double half_width = 0;  ///< at that size, of log(now_seconds / better_seconds): nine in ten measurements within
  bool sure = false;
  Basis basis = Basis::datasheet;  ///< the weaker of the two

  [[nodiscard]] double lost_seconds() const { return now_seconds - better_seconds; }
  /// Share of NCCL's time that is lost, 0 to 1.
  [[nodiscard]] double lost_share() const { return 1 - better_seconds / now_seconds; }
  /// The share lost by at least 95 % of measurements; negative when the better pair may be the slower.
  [[nodiscard]] double least_share() const { return 1 - better_seconds / now_seconds * std::exp(half_width); }
  /// The share lost at most by 95 % of measurements.
  [[nodiscard]] double most_share() const { return 1 - better_seconds / now_seconds * std::exp(-half_width); }
};

/// A pair NCCL could run whose price is not covered by a fit: never recommended.
struct UnmeasuredPair {
  Collective collective = Collective::all_reduce;
  int nodes = 1, ranks = 2;
  Candidate candidate;
};

/// One requested group of ranks.
struct TuneShape {
  int nodes = 1, ranks = 2;
  friend bool operator==(const TuneShape&, const TuneShape&) = default;
};

struct TuneReport {
  std::string system;
  Library library = Library::nccl;
  DataType dtype = DataType::half;
  std::vector<TuneShape> shapes;
  std::vector<SlowRange> ranges;  ///< sure ones first, each by time lost, most first
  std::vector<UnmeasuredPair> unmeasured;
  std::vector<std::string> doubts;  ///< reasons why no range of a whole request is sure
};

inline constexpr double tune_smallest = 1024, tune_largest = 8589934592.0;  ///< bytes: 1 KiB to 8 GiB

/// Compares NCCL's choice with every pair it could be made to run, from tune_smallest to tune_largest, exact
/// to the byte where the comparison changes.
/// \throws RequestError for an operation without a table, a library without such settings, ranks that do not
/// fit
[[nodiscard]] TuneReport tune(const System& system, const TuneOptions& options = {});

/// The sure ranges as the CSV that NVIDIA/nccl's ext-tuner/example reads:
/// colltype,minbytes,maxbytes,algorithm,protocol,channels,nNodes, nRanks,numPipeOps,regBuff; the first
/// matching line wins, names in lower case, lines below 256 characters. Comments state the gain of each, the
/// environment variables that force the same, and how the plugin must be built.
[[nodiscard]] std::string plugin_config(const TuneReport& report);

}  // namespace fabricost::core

namespace fabricost {
using core::plugin_config;
using core::tune;
using core::TuneOptions;
using core::TuneReport;
}  // namespace fabricost
