#pragma once
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

#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// The operations NCCL keeps a table for; all_to_all and send_recv are sent point to point.
inline constexpr std::array<Collective, 5> tuned_collectives{Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                                             Collective::broadcast, Collective::reduce};
inline constexpr double tune_smallest = 1024, tune_largest = 8589934592.0;  ///< bytes that are compared: 1 KiB to 8 GiB

/// The collectives that tune accepts. It refuses those without a table in NCCL, with the reason.
enum class TunedOperation : unsigned char { all_reduce, all_gather, reduce_scatter, broadcast, reduce };
[[nodiscard]] constexpr auto words_of(TunedOperation) {
  std::array<std::string_view, tuned_collectives.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = name(tuned_collectives[i]);
  return EnumWords{names, "an operation NCCL tunes"};
}
[[nodiscard]] inline std::optional<TunedOperation> parse_word(TunedOperation, std::string_view text) {
  const auto found = parse_collective(text);
  return found ? std::optional{static_cast<TunedOperation>(*found)} : std::nullopt;
}

struct TuneRequest {
  Machine system;
  Counts nodes;
  int ranks = 0;
  DataType dtype = DataType::half;
  std::optional<TunedOperation> operation;
  std::string calibration;
  std::vector<std::string> overrides;  ///< values of the machine, as in tiers.nic.endpoints=4

  static RequestTable<TuneRequest> fields();
};

/// One group of ranks of the request.
struct TunedGroup {
  int nodes = 0, ranks = 0;
  bool operator==(const TunedGroup&) const = default;

  static AnswerTable<TunedGroup> fields();
};

/// A pair that NCCL can run but no fit covers: never recommended.
struct UnmeasuredChoice {
  std::string operation;
  int nodes = 0, ranks = 0;
  std::string algorithm, protocol;
  bool operator==(const UnmeasuredChoice&) const = default;

  static AnswerTable<UnmeasuredChoice> fields();
};

/// A range of sizes in which NCCL runs one pair and another is faster.
struct SlowChoice {
  std::string operation;
  int nodes = 0, ranks = 0;
  Bytes smallest{}, largest{};
  std::string algorithm, protocol, better_algorithm, better_protocol;
  Bytes bytes{};
  Time time{}, better_time{}, lost{};
  double lost_share = 0, least_share = 0, most_share = 0;
  bool sure = false;
  std::string basis{};
  bool operator==(const SlowChoice&) const = default;

  static AnswerTable<SlowChoice> fields();
};

struct TuneAnswer {
  std::string system, library, dtype;
  std::vector<TunedGroup> groups{};
  std::vector<SlowChoice> ranges{};
  std::vector<UnmeasuredChoice> unmeasured{};
  std::vector<std::string> doubts{};
  std::string config{};

  static AnswerTable<TuneAnswer> fields();
};

/// Compares NCCL's choice with every pair it could be made to run, exact to the byte where the comparison changes.
/// \throws Refusal without a machine; RequestError for an operation without a table, a library without such settings, ranks that do not
/// fit, and as load_system; SpecError as load_system
[[nodiscard]] TuneAnswer answer(const TuneRequest& request);

/// The sure ranges as the CSV that NVIDIA/nccl's ext-tuner/example reads:
/// colltype,minbytes,maxbytes,algorithm,protocol,channels,nNodes, nRanks,numPipeOps,regBuff; the first
/// matching line wins, names in lower case, lines below 256 characters. Comments state the gain of each, the
/// environment variables that force the same, and how the plugin must be built.
[[nodiscard]] std::string plugin_config(const TuneAnswer& found);

}  // namespace fabricost::plan

namespace fabricost {
using plan::TuneAnswer;
using plan::TuneRequest;
}  // namespace fabricost
