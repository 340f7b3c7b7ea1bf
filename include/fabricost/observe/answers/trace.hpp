#pragma once
/// \file trace.hpp
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

  static constexpr auto fields() {
    using R = TraceRequest;
    using enum Amount;
    return Table{
        asks(&R::files, "files", "FILES", " ",
             "Traces: PyTorch's profiler, Nsight Systems (SQLite), NCCL's\nInspector and plugin, flight recorder, Chakra; or folders",
             true),
        asks(&R::system, "system", "--system,-s", "NAME", "The machine; default: the usual one with the traces' GPU, of one node"),
        field::ask_overrides<R>,
        asks(&R::calls, "calls", "--calls", "", "List every call, in order; default: calls that are equal are one row"),
        asks(&R::tokens, "tokens", "--tokens", number, {0, 1e12}, "T", "Tokens per rank of an expert exchange, to predict it"),
        asks(&R::hidden, "hidden", "--hidden", count, any_count, "H", "Hidden size: numbers per token"),
        asks(&R::experts, "experts", "--experts", count, any_count, "E", "Experts over all ranks"),
        asks(&R::top_k, "top_k", "--top-k", count, any_count, "K", "Experts per token"),
        asks(&R::groups, "groups", "--groups", count, {0, any_count.max}, "G", "Expert groups (node-limited routing)"),
        asks(&R::group_limit, "group_limit", "--group-limit", count, {0, any_count.max}, "M", "Groups a token may use"),
        asks(&R::on, "on", "--on", "NAME", "Replay the job on this machine; <overrides> then change this one"),
        asks(&R::without, "without", "--without", "WHAT...",
             "Leave out of the replay: straggler (the rank that others wait for\nis as fast as they are), wait (no rank waits for another)"),
        asks(&R::against, "against", "--against", "FILE", "Training plan as JSON to compare with: where run and plan differ")};
  }
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

  static constexpr auto fields() {
    using A = TracedCollective;
    return Table{
        gives(&A::operation, "operation", "operation", "As in `all_reduce`; of kernels of experts moe_dispatch, moe_combine, moe_layout."),
        gives(&A::group, "group", "group", "Name of its process group."),
        gives(&A::ranks, "ranks", "ranks", "Ranks of that group; 0: not known."),
        gives(&A::ranks_seen, "ranks_seen", "ranks_seen", "Of those, how many traces show it; with several counts, the least."),
        gives(&A::bytes, "bytes", "bytes", "Size as `predict` counts it, byte; None: the trace does not say."),
        gives(&A::dtype, "dtype", "dtype", "Element type; empty: not said."),
        gives(&A::count, "count", "count", "How many calls."),
        gives(&A::messages, "messages", "messages", "Calls of the program that one of them carries out: coalesced ones count as one."),
        gives(&A::at, "at_s", "at_seconds", "When the first began, from the start of the traces, s."),
        gives(&A::wire, "wire_s", "wire_seconds",
              "Last start to last end, s: the median where `bound` is exact, the least where it is upper."),
        gives(&A::wait, "wait_s", "wait_seconds", "The longest time a rank waited in it for the last one, s."),
        gives(&A::mean_wait, "mean_wait_s", "mean_wait_seconds", "Mean of the same over ranks and calls, s."),
        gives(&A::last_rank, "last_rank", "last_rank", "The rank that came last then; None: one rank is seen."),
        gives(&A::exposed, "exposed_s", "exposed_seconds",
              "What no kernel covered of a rank's time in it, waiting included, mean of ranks and calls, s."),
        gives(&A::predicted, "predicted_s", "predicted_seconds", "Prediction, s; None: none is possible."),
        gives(&A::interval, "interval_s", "interval_seconds", "(low, high), s: nine in ten measurements fall between; None: none."),
        gives(&A::verdict, "verdict", "verdict",
              "sound, slow or better than predicted, impossible (shorter than the machine's wires need: the group, the size or the machine "
              "is another), slow_or_waiting where ranks are missing; else unknown."),
        gives(&A::bound, "bound", "bound", "exact: all ranks are seen; upper: with the waiting of those that are; none: no time is known."),
        gives(&A::slow_since, "slow_since_s", "slow_since_seconds", "When the first slow call of them began, s; None: none is.", {}, true)};
  }
};

struct TracedProcessGroup {
  std::string name, words;
  std::vector<int> ranks;
  int size = 0;
  std::string kind;
  std::vector<std::string> tiers{};
  int nodes = 0, calls = 0;
  bool operator==(const TracedProcessGroup&) const = default;

  static constexpr auto fields() {
    using A = TracedProcessGroup;
    return Table{gives(&A::name, "name", "name", "As in the trace, or `world`."),
                 gives(&A::words, "description", "words", "What the program calls it."),
                 gives(&A::ranks, "ranks", "ranks", "Its ranks; empty: the traces do not say."),
                 gives(&A::size, "size", "size", "How many; 0: not said."),
                 gives(&A::kind, "kind", "kind", "tensor, pipeline, data, expert, context or unknown, by its name or what moves in it."),
                 gives(&A::tiers, "tiers", "tiers", "Tiers of the machine that it runs on."),
                 gives(&A::nodes, "nodes", "nodes", "Nodes that its ranks are on; 0: not known."),
                 gives(&A::calls, "calls", "calls", "Collectives in it.")};
  }
};

/// Who waited for whom.
struct TracedWait {
  int rank = 0, for_rank = 0;
  Time time{};
  int calls = 0;
  bool operator==(const TracedWait&) const = default;

  static constexpr auto fields() {
    using A = TracedWait;
    return Table{gives(&A::rank, "rank", "rank", "The rank that waited."),
                 gives(&A::for_rank, "for_rank", "for_rank", "The one that came last."),
                 gives(&A::time, "wait_s", "seconds", "All such waiting, s."), gives(&A::calls, "calls", "calls", "In how many calls.")};
  }
};

/// A rank's trace.
struct TracedRank {
  int rank = 0;
  std::string file, gpu;
  Time window{}, clock{};
  int calls_last = 0;
  Time others_wait{};
  bool operator==(const TracedRank&) const = default;

  static constexpr auto fields() {
    using A = TracedRank;
    return Table{gives(&A::rank, "rank", "rank", "Its number."),
                 gives(&A::file, "file", "file", "Its trace."),
                 gives(&A::gpu, "gpu", "gpu", "What the trace calls its GPU; may be empty."),
                 gives(&A::window, "window_s", "window_seconds", "First start to last end of its GPU's work, s."),
                 gives(&A::clock, "clock_s", "clock_seconds", "Its clock against that of the first rank, s; taken out of all else."),
                 gives(&A::calls_last, "calls_last", "calls_last", "Collectives that it came last to."),
                 gives(&A::others_wait, "others_wait_s", "others_wait_seconds", "What another rank waited for it, mean of the others, s.")};
  }
};

/// Events that were left out.
struct TraceSkipped {
  std::string reason;
  int events = 0;
  bool operator==(const TraceSkipped&) const = default;
  static constexpr auto fields() {
    using A = TraceSkipped;
    return Table{gives(&A::reason, "reason", "reason", "Why."), gives(&A::events, "events", "events", "How many.")};
  }
};

/// The step after one change, everything else as it is replayed.
struct TracedChange {
  std::string change;
  Time step{};
  double gain = 0;
  bool operator==(const TracedChange&) const = default;

  static constexpr auto fields() {
    using A = TracedChange;
    return Table{gives(&A::change, "change", "change", "As in `without straggler`, `NICs of twice the rate`."),
                 gives(&A::step, "step_s", "step_seconds", "The step then, s."),
                 gives(&A::gain, "gain", "gain", "Step before over step after, less 1.")};
  }
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

  static constexpr auto fields() {
    using A = TraceReplay;
    return Table{
        gives(&A::system, "system", "system", "Name of the machine it is replayed on; empty: its own, which is not known."),
        gives(&A::step, "step_s", "step_seconds", "A step there, s."),
        gives(&A::ratio, "over_traced", "ratio", "That over the step of the traces."),
        gives(&A::interval, "interval_s", "interval_seconds", "(low, high), s: all that is predicted at its fast or its slow end."),
        gives(&A::terms, "terms", "terms", "What a step is spent on there, a list of StepTerm; they sum to it."),
        gives(&A::path, "path", "path",
              "What binds: the chain of work that could not have begun earlier, a list of StepTerm, longest first; they sum to "
              "the time from the first start to the last end, over the steps."),
        gives(&A::changes, "changes", "changes", "List of TracedChange: what each of them alone would give there, most first."),
        gives(&A::assumed, "assumed", "assumed", "What is taken for granted, a sentence each.")};
  }
};

/// A term of the run beside that of a plan.
struct TracedAgainst {
  std::string name;
  Time run{}, plan{};
  bool operator==(const TracedAgainst&) const = default;

  static constexpr auto fields() {
    using A = TracedAgainst;
    return Table{gives(&A::name, "name", "name",
                       "step, compute, tensor, context, expert, pipeline, data, bubble, waiting, copies, idle, other; exposed: "
                       "all communication among them."),
                 gives(&A::run, "run_s", "run_seconds", "Of a step of the traces, s."),
                 gives(&A::plan, "plan_s", "plan_seconds", "Of a step of the plan, s.")};
  }
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

  static constexpr auto fields() {
    using A = TraceAnswer;
    return Table{
        gives(&A::findings, "findings", "findings", "What stands out, a sentence each, most costly first."),
        gives(&A::system, "system", "system", "Name of the machine of the predictions; None: none."),
        gives(&A::system_guessed, "system_guessed", "system_guessed", "True: told from the traces, not by the caller."),
        gives(&A::collectives, "collectives", "collectives", "List of TracedCollective, the slow ones first; with `calls` in order."),
        gives(&A::groups, "groups", "groups", "List of TracedProcessGroup."),
        gives(&A::step, "step.step_s", "step_seconds", "A step, s: the mean of the ranks' windows over the steps the program marked."),
        gives(&A::steps, "step.steps", "steps", "Steps that the program marked; without, 1: all of the trace."),
        gives(&A::terms, "step.terms", "terms", "What a step was spent on, a list of StepTerm; they sum to it."),
        gives(&A::ranks, "ranks", "ranks", "List of TracedRank."),
        gives(&A::waits, "waits", "waits", "List of TracedWait, longest first."),
        gives(&A::clock_doubt, "clock_doubt_s", "clock_doubt_seconds",
              "How far the ends of a collective still lie apart on the aligned clocks, s, the median."),
        gives(&A::skipped, "skipped", "skipped", "List of TraceSkipped."),
        names_fields(gives(&A::notes, "notes", "notes", "What could not be told, and why.")),
        gives(&A::replay, "replay", "replay", "A TraceReplay, with `on` or `without`; else None.", 1, true),
        gives(&A::against, "against.terms", "against", "With `against`: List of TracedAgainst.", 1, true),
        gives(&A::parted, "against.findings", "parted", "Where the run and the plan part, a sentence each, most costly first.", 1, true)};
  }
};

/// Chrome's JSON, as Perfetto draws it: for each group a track of measured and one of predicted times. \throws RequestError
/// where the answer was not found by answer()
[[nodiscard]] std::string perfetto_of(const TraceAnswer& answer);
/// One HTML page: tables, who waited for whom, a timeline; no scripts, nothing loaded from elsewhere. \throws as perfetto_of
[[nodiscard]] std::string page_of(const TraceAnswer& answer);

/// \throws Refusal without traces; SpecError for a file that is no trace; RequestError as predict
[[nodiscard]] TraceAnswer answer(const TraceRequest& request);

}  // namespace fabricost::observe
