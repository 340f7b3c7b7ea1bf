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
  Counts nodes;   ///< empty: one node, or one domain where it is larger
  int ranks = 0;  ///< 0: all of the nodes
  DataType dtype = DataType::half;
  std::optional<TunedOperation> operation;
  std::string calibration;
  std::vector<std::string> overrides;

  static constexpr auto fields() {
    using R = TuneRequest;
    using enum Amount;
    return Table{
        asks(&R::system, "system", "--system,-s", "NAME", field::ask_system<R>.words, true),
        asks(&R::nodes, "nodes", "--nodes,-n", count, any_count, "N,...", "Nodes, as nccl-tests counts them: 2 or 2,4,8"),
        asks(&R::ranks, "ranks", "--ranks,-r", count, any_count, "R", "GPUs; default all of the nodes"),
        asks(&R::dtype, "dtype", "--dtype", "TYPE", "int8 half bfloat16 fp8 float double; default half"),
        asks(&R::operation, "operation", "--op", "OP", "One of: all_reduce all_gather reduce_scatter\nbroadcast reduce; default all"),
        field::ask_calibration<R>,
        field::ask_override<R>};
  }
};

/// One group of ranks of the request.
struct TunedGroup {
  int nodes = 0, ranks = 0;
  bool operator==(const TunedGroup&) const = default;

  static constexpr auto fields() {
    using A = TunedGroup;
    return Table{field::give_nodes<A>, field::give_ranks<A>};
  }
};

/// A pair that NCCL can run but no fit covers: never recommended.
struct UnmeasuredChoice {
  std::string operation;
  int nodes = 0, ranks = 0;
  std::string algorithm, protocol;
  bool operator==(const UnmeasuredChoice&) const = default;

  static constexpr auto fields() {
    using A = UnmeasuredChoice;
    return Table{field::give_operation<A>, field::give_nodes<A>, field::give_ranks<A>,
                 gives(&A::algorithm, "algorithm", "algorithm", "What NCCL could run."),
                 gives(&A::protocol, "protocol", "protocol", "Under what.")};
  }
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

  static constexpr auto fields() {
    using A = SlowChoice;
    return Table{
        field::give_operation<A>,
        field::give_nodes<A>,
        field::give_ranks<A>,
        gives(&A::smallest, "first_bytes", "first_bytes", "Smallest size, byte, as nccl-tests counts it."),
        gives(&A::largest, "last_bytes", "last_bytes", "Largest size, byte, included."),
        gives(&A::algorithm, "runs.algorithm", "algorithm", "What NCCL picks."),
        gives(&A::protocol, "runs.protocol", "protocol", "Under what."),
        gives(&A::better_algorithm, "faster.algorithm", "better_algorithm", "What is faster."),
        gives(&A::better_protocol, "faster.protocol", "better_protocol", "Under what."),
        gives(&A::bytes, "bytes", "bytes", "Size at which most time is lost, byte."),
        gives(&A::time, "time_us", "seconds", "NCCL's pair there, s.", in_microseconds),
        gives(&A::better_time, "faster_us", "better_seconds", "The better pair there, s.", in_microseconds),
        gives(&A::lost, "lost_us", "lost_seconds", "seconds - better_seconds.", in_microseconds),
        gives(&A::lost_share, "lost_percent", "lost_share", "Share of NCCL's time that is lost: 1 - better_seconds / seconds.", in_percent),
        gives(&A::least_share, "lost_percent_interval[]", "least_share", "The share that nineteen in twenty measurements lose at least.",
              in_percent),
        gives(&A::most_share, "lost_percent_interval[]", "most_share", "The share that nineteen in twenty measurements lose at most.",
              in_percent),
        gives(&A::sure, "sure", "sure", "The intervals leave no doubt."),
        gives(&A::basis, "basis", "basis", "The weaker of the two: calibrated, sibling or datasheet.")};
  }
};

struct TuneAnswer {
  std::string system, library, dtype;
  std::vector<TunedGroup> groups{};
  std::vector<SlowChoice> ranges{};
  std::vector<UnmeasuredChoice> unmeasured{};
  std::vector<std::string> doubts{};
  std::string config{};  ///< plugin_config

  static constexpr auto fields() {
    using A = TuneAnswer;
    return Table{field::give_system<A>,
                 gives(&A::library, "library", "library", "What chooses, as in `nccl`."),
                 gives(&A::dtype, "dtype", "dtype", "Type of the elements."),
                 gives(&A::groups, "shapes", "groups", "Groups of ranks that were asked for, a list of TunedGroup."),
                 gives(&A::ranges, "ranges", "ranges", "List of SlowRange: sure ones first, each by time lost."),
                 gives(&A::unmeasured, "unmeasured", "unmeasured",
                       "What is never recommended because no fit covers it, a list of UnmeasuredChoice."),
                 gives(&A::doubts, "doubts", "doubts", "What keeps a whole question from being sure."),
                 gives(&A::config, "", "", "The sure ranges as the CSV that NCCL's example tuner plugin reads.")};
  }
};

/// Compares NCCL's choice with every pair it could be made to run, exact to the byte where the comparison changes.
/// \throws Refusal without a machine; RequestError for an operation without a table, a library without such settings, ranks that do not fit,
/// and as load_system; SpecError as load_system
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
