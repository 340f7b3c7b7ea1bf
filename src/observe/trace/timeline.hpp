#pragma once
/// The traces of one job's ranks, aligned. The same collective is found on every rank (by group, then sequence number or order),
/// the ranks' clocks are aligned by the ends of collectives, which all members leave together, and each collective is taken apart:
///
///   wire      last start to last end: the time of the network once all have come. If not all ranks of a call are traced, an upper
///             bound: the time of the traced ones, with their waiting
///   waiting   of a rank, from its start to the last start
///   exposed   the part of a rank's time in it that no kernel of its own covers
///
/// No prices here: answers/trace adds predictions.

#include "readings/traces/traced.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fabricost::observe::timeline {

enum class Kind : unsigned char { unknown, tensor, pipeline, data, expert, context };
inline constexpr std::array<std::string_view, 6> kind_names{"unknown", "tensor", "pipeline", "data", "expert", "context"};
[[nodiscard]] constexpr std::string_view name(Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

/// Whether all ranks leave such a call together, whenever they came. A root, or a sender, may be done long before the others.
[[nodiscard]] constexpr bool ends_together(Moves moves) {
  return moves == Moves::all_reduce || moves == Moves::all_gather || moves == Moves::reduce_scatter ||
         moves == Moves::all_to_all || moves == Moves::barrier;
}

/// The element type of that name, else of that width, as reductions are priced.
[[nodiscard]] DataType data_type_of(const TracedType& type);

struct Group {
  TracedGroup said;
  Kind kind = Kind::unknown;
  std::vector<int> seen{};  ///< ranks whose traces show it
  std::size_t calls = 0;
};

/// One rank's part in a call, on the common clock.
struct Part {
  int trace = 0, rank = 0;  ///< place in Job::ranks; the rank's number
  int stream = 0;
  std::int64_t launched = -1;  ///< as TracedCall
  std::int64_t from = 0, to = 0;
  Span own{};            ///< the same on the rank's own clock
  std::int64_t exposed = 0;  ///< ns
  std::int64_t bubble = 0;   ///< ns of its waiting that are for other stages of its own pipeline
};

struct Call {
  std::uint32_t group = 0;
  Moves moves = Moves::unknown;
  TracedType type;
  double bytes = -1;
  int messages = 1, repeats = 1;
  Timing timing = Timing::placed;
  bool whole = false;  ///< all ranks of its group are seen, or their waiting is not in its time
  std::vector<Part> parts;
  int last = -1;  ///< trace of the rank that came last; -1: not known
  std::int64_t first_start = 0, last_start = 0, last_end = 0;

  [[nodiscard]] std::int64_t wire() const { return last_end - last_start; }
  [[nodiscard]] std::int64_t skew() const { return last_start - first_start; }
  /// From a rank's start to the last one's, no longer than it was in the call.
  [[nodiscard]] std::int64_t wait_of(const Part& part) const {
    return std::clamp<std::int64_t>(last_start - part.from, 0, std::max<std::int64_t>(0, part.to - part.from));
  }
};

/// A rank's clock against the first one's.
struct Clock {
  std::int64_t at = 0;  ///< where it is `offset` ns ahead
  double offset = 0, rate = 0;
  [[nodiscard]] std::int64_t common(std::int64_t time) const {
    return time - static_cast<std::int64_t>(offset + rate * static_cast<double>(time - at));
  }
};

/// Time of a rank's window by its use, ns; the parts sum to the window.
struct Spent {
  std::int64_t window = 0, compute = 0, copies = 0, waiting = 0, idle = 0;
  std::int64_t bubble = 0;  ///< waiting for other stages of the own pipeline
  [[nodiscard]] std::int64_t busy() const { return compute + copies; }  ///< its own work, whoever else is late
  std::array<std::int64_t, kind_names.size()> exposed{};  ///< communication that nothing covered, by kind of its group
};

struct Job {
  std::vector<RankTrace> ranks;  ///< by rank
  std::vector<Clock> clocks;         ///< of each of them
  double clock_doubt = 0;            ///< ns: how far ends of collectives still lie apart, the median
  std::vector<Group> groups;
  std::vector<Call> calls;   ///< by first start
  std::vector<Spent> spent;  ///< of each of `ranks`
  std::vector<int> pipelines;  ///< of each of `ranks`: the first of those that are stages of one pipeline with it
  int steps = 0;             ///< that the program marked, else that its calls repeat; 0: none
  std::map<std::string, std::int64_t> skipped;
};

/// \param gpus_per_node 0: not known
[[nodiscard]] Job build(std::vector<RankTrace> traces, int gpus_per_node);

/// Steps of the job.
namespace parts {
/// Numbers of ranks and members of groups, where traces say only a rank's number in its groups.
void name_members(Job& job);
void number_ranks(Job& job);
/// Groups of all ranks, and for each its calls by trace: [group][trace] -> calls of that trace
using CallsOf = std::vector<std::map<int, std::vector<const TracedCall*>>>;
[[nodiscard]] CallsOf gather(Job& job);
void match(Job& job, const CallsOf& calls);
void align(Job& job);
void take_apart(Job& job);
void tell_kinds(Job& job, int gpus_per_node);
}  // namespace parts

}  // namespace fabricost::observe::timeline
