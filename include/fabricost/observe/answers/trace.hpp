#pragma once
/// The collectives of a real job, from its traces: what moved, who waited for whom, and the time predicted for its machine.
///
/// wire      last start to last end over the ranks of a group; where not all of them are traced, an upper bound
/// waiting   of a rank, from its own start to the last one's
/// exposed   the part of a rank's time in it that no kernel of its own covers

#include <fabricost/fields/named.hpp>
#include <fabricost/plan/economics/terms.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::observe {

/// A trace, packed or not, or a folder of them.
struct TraceFile {
  std::string path;
};
/// Its path.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, TraceFile& out);

struct TraceRequest {
  std::vector<TraceFile> files;
  Machine system;
  std::vector<std::string> overrides;
  bool calls = false;
  std::optional<double> tokens{};
  std::optional<int> hidden{}, experts{}, top_k{};
  int groups = 0, group_limit = 0;
  Machine on;
  std::vector<std::string> without;
  std::string against;

  static RequestTable<TraceRequest> fields();
};

/// Calls of one operation, group and size, or one call.
struct TracedCollective {
  std::string operation, group;
  int ranks = 0, ranks_seen = 0;
  std::optional<Bytes> bytes{};
  std::string dtype{};
  int count = 0, messages = 1;
  Time at{}, wire{}, wait{}, mean_wait{};
  std::optional<int> last_rank{};
  Time exposed{};
  std::optional<Time> predicted{};
  std::optional<std::pair<Time, Time>> interval{};
  std::string verdict{}, bound{};
  std::optional<Time> slow_since{};
  bool operator==(const TracedCollective&) const = default;

  static AnswerTable<TracedCollective> fields();
};

struct TracedProcessGroup {
  std::string name, words;
  std::vector<int> ranks;
  int size = 0;
  std::string kind;
  std::vector<std::string> tiers{};
  int nodes = 0, calls = 0;
  bool operator==(const TracedProcessGroup&) const = default;

  static AnswerTable<TracedProcessGroup> fields();
};

/// Who waited for whom.
struct TracedWait {
  int rank = 0, for_rank = 0;
  Time time{};
  int calls = 0;
  bool operator==(const TracedWait&) const = default;

  static AnswerTable<TracedWait> fields();
};

/// A rank's trace.
struct TracedRank {
  int rank = 0;
  std::string file, gpu;
  Time window{}, clock{};
  int calls_last = 0;
  Time others_wait{};
  bool operator==(const TracedRank&) const = default;

  static AnswerTable<TracedRank> fields();
};

/// Events that were left out.
struct TraceSkipped {
  std::string reason;
  int events = 0;
  bool operator==(const TraceSkipped&) const = default;
  static AnswerTable<TraceSkipped> fields();
};

/// The step after one change, everything else as it is replayed.
struct TracedChange {
  std::string change;
  Time step{};
  double gain = 0;
  bool operator==(const TracedChange&) const = default;
  /// "-15.0 %", by how much it differs from the step as it is replayed.
  [[nodiscard]] std::string difference(Time replayed) const;

  static AnswerTable<TracedChange> fields();
};

/// The traced job replayed: its kernels and calls in their order, each as long as it takes there (src/observe/trace/replay.cpp).
struct TraceReplay {
  std::string system;
  Time step{};
  double ratio = 1;
  std::pair<Time, Time> interval{};
  std::vector<StepTerm> terms{}, path{};
  std::vector<TracedChange> changes{};
  std::vector<std::string> assumed{};
  bool operator==(const TraceReplay&) const = default;

  static AnswerTable<TraceReplay> fields();
};

/// A term of the run beside that of a plan.
struct TracedAgainst {
  std::string name;
  Time run{}, plan{};
  bool operator==(const TracedAgainst&) const = default;

  static AnswerTable<TracedAgainst> fields();
};

struct FoundTrace;

struct TraceAnswer {
  std::vector<std::string> findings{};
  std::optional<std::string> system{};
  bool system_guessed = false;
  std::vector<TracedCollective> collectives{};
  std::vector<TracedProcessGroup> groups{};
  Time step{};
  int steps = 0;
  std::vector<StepTerm> terms{};
  std::vector<TracedRank> ranks{};
  std::vector<TracedWait> waits{};
  Time clock_doubt{};
  std::vector<TraceSkipped> skipped{};
  std::vector<std::string> notes{};
  std::optional<TraceReplay> replay{};
  std::vector<TracedAgainst> against{};
  std::vector<std::string> parted{};
  std::shared_ptr<const FoundTrace> found{};  ///< the trace that pictures are drawn from

  static AnswerTable<TraceAnswer> fields();
};

/// Chrome's JSON, as Perfetto draws it: for each group a track of measured and one of predicted times. \throws RequestError
/// where the answer was not found by answer()
[[nodiscard]] std::string perfetto_of(const TraceAnswer& answer);
/// One HTML page: tables, who waited for whom, a timeline; no scripts, nothing loaded from elsewhere. \throws as perfetto_of
[[nodiscard]] std::string page_of(const TraceAnswer& answer);

/// \throws Refusal without traces; SpecError for a file that is no trace; RequestError as predict
[[nodiscard]] TraceAnswer answer(const TraceRequest& request);

}  // namespace fabricost::observe
