#pragma once
/// \file tune.hpp
/// The sizes at which NCCL's own choice of algorithm and protocol is slower than another on a machine
/// (tune/tune.hpp), and the tuner file that corrects it.

#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/tune/tune.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

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
  std::string basis;
  bool operator==(const SlowChoice&) const = default;

  static constexpr auto fields() {
    using A = SlowChoice;
    return Table{
        field::give_operation<A>,
        field::give_nodes<A>,
        field::give_ranks<A>,
        gives(&A::smallest, "first_bytes", "first_bytes", "Smallest size, byte, as nccl-tests counts it.", as_whole_number),
        gives(&A::largest, "last_bytes", "last_bytes", "Largest size, byte, included.", as_whole_number),
        gives(&A::algorithm, "runs.algorithm", "algorithm", "What NCCL picks."),
        gives(&A::protocol, "runs.protocol", "protocol", "Under what."),
        gives(&A::better_algorithm, "faster.algorithm", "better_algorithm", "What is faster."),
        gives(&A::better_protocol, "faster.protocol", "better_protocol", "Under what."),
        gives(&A::bytes, "bytes", "bytes", "Size at which most time is lost, byte.", as_whole_number),
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
  std::vector<std::string> doubts;
  std::string config;  ///< plugin_config

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

/// \throws Refusal without a machine; RequestError as tune, load_system; SpecError as load_system
[[nodiscard]] TuneAnswer answer(const TuneRequest& request);

}  // namespace fabricost::core

namespace fabricost {
using core::TuneAnswer;
using core::TuneRequest;
}  // namespace fabricost
