/// Reads the traces, aligns them (src/trace), adds predictions and names the findings.

#include <fabricost/fields/field.hpp>
#include <fabricost/observe/answers/trace.hpp>

#include "answers/trace/step.hpp"
#include "readings/traces/readers.hpp"
#include "text/joined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace fabricost::observe {

RequestTable<TraceRequest> TraceRequest::fields() {
  using R = TraceRequest;
  using enum Amount;
  return {
      asks(&R::files, "files", "FILES", " ",
           "Traces: PyTorch's profiler, Nsight Systems (SQLite), NCCL's\nInspector and plugin, flight recorder, Chakra; or folders", true),
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
           "Leave out of the replay: straggler (the rank that others wait for\nis as fast as they are), wait (no rank waits for another), "
           "slow\n(calls beyond their prediction's interval take what is predicted)"),
      asks(&R::against, "against", "--against", "FILE", "Training plan as JSON to compare with: where run and plan differ")};
}

AnswerTable<TracedCollective> TracedCollective::fields() {
  using A = TracedCollective;
  return {
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

AnswerTable<TracedProcessGroup> TracedProcessGroup::fields() {
  using A = TracedProcessGroup;
  return {gives(&A::name, "name", "name", "As in the trace, or `world`."),
          gives(&A::words, "description", "words", "What the program calls it."),
          gives(&A::ranks, "ranks", "ranks", "Its ranks; empty: the traces do not say."),
          gives(&A::size, "size", "size", "How many; 0: not said."),
          gives(&A::kind, "kind", "kind", "tensor, pipeline, data, expert, context or unknown, by its name or what moves in it."),
          gives(&A::tiers, "tiers", "tiers", "Tiers of the machine that it runs on."),
          gives(&A::nodes, "nodes", "nodes", "Nodes that its ranks are on; 0: not known."),
          gives(&A::calls, "calls", "calls", "Collectives in it.")};
}

AnswerTable<TracedWait> TracedWait::fields() {
  using A = TracedWait;
  return {gives(&A::rank, "rank", "rank", "The rank that waited."), gives(&A::for_rank, "for_rank", "for_rank", "The one that came last."),
          gives(&A::time, "wait_s", "seconds", "All such waiting, s."), gives(&A::calls, "calls", "calls", "In how many calls.")};
}

AnswerTable<TracedRank> TracedRank::fields() {
  using A = TracedRank;
  return {gives(&A::rank, "rank", "rank", "Its number."),
          gives(&A::file, "file", "file", "Its trace."),
          gives(&A::gpu, "gpu", "gpu", "What the trace calls its GPU; may be empty."),
          gives(&A::window, "window_s", "window_seconds", "First start to last end of its GPU's work, s."),
          gives(&A::clock, "clock_s", "clock_seconds", "Its clock against that of the first rank, s; taken out of all else."),
          gives(&A::calls_last, "calls_last", "calls_last", "Collectives that it came last to."),
          gives(&A::others_wait, "others_wait_s", "others_wait_seconds", "What another rank waited for it, mean of the others, s.")};
}

AnswerTable<TraceSkipped> TraceSkipped::fields() {
  using A = TraceSkipped;
  return {gives(&A::reason, "reason", "reason", "Why."), gives(&A::events, "events", "events", "How many.")};
}

std::string TracedChange::difference(Time replayed) const { return fmt::format("{:+.1f} %", 100 * (step / replayed - 1)); }

AnswerTable<TracedChange> TracedChange::fields() {
  using A = TracedChange;
  return {gives(&A::change, "change", "change", "As in `without straggler`, `NICs of twice the rate`."),
          gives(&A::step, "step_s", "step_seconds", "The step then, s."),
          gives(&A::gain, "gain", "gain", "Step before over step after, less 1.")};
}

AnswerTable<TraceReplay> TraceReplay::fields() {
  using A = TraceReplay;
  return {gives(&A::system, "system", "system", "Name of the machine it is replayed on; empty: its own, which is not known."),
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

AnswerTable<TracedAgainst> TracedAgainst::fields() {
  using A = TracedAgainst;
  return {gives(&A::name, "name", "name",
                "step, compute, tensor, context, expert, pipeline, data, bubble, waiting, copies, idle, other; exposed: "
                "all communication among them."),
          gives(&A::run, "run_s", "run_seconds", "Of a step of the traces, s."),
          gives(&A::plan, "plan_s", "plan_seconds", "Of a step of the plan, s.")};
}

AnswerTable<TraceAnswer> TraceAnswer::fields() {
  using A = TraceAnswer;
  return {gives(&A::findings, "findings", "findings", "What stands out, a sentence each, most costly first."),
          gives(&A::system, "system", "system", "Name of the machine of the predictions; None: none."),
          gives(&A::system_guessed, "system_guessed", "system_guessed", "True: found from the traces, not given."),
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
          names_fields(gives(&A::notes, "notes", "notes", "What could not be found out, and why.")),
          gives(&A::replay, "replay", "replay", "A TraceReplay, with `on` or `without`; else None.", 1, true),
          gives(&A::against, "against.terms", "against", "With `against`: List of TracedAgainst.", 1, true),
          gives(&A::parted, "against.findings", "parted", "Where the run and the plan part, a sentence each, most costly first.", 1, true)};
}

namespace {

[[nodiscard]] double seconds_of(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }
[[nodiscard]] double seconds_of(double ns) { return ns / 1e9; }
template <class Count>
[[nodiscard]] Time time_of(Count ns) {
  return units::s(seconds_of(ns));
}

/// Whether a call's traced time is its duration: that of one rank is not, in an exchange of experts, since it waited before.
[[nodiscard]] bool can_be_judged(const timeline::Call& call) {
  if (call.timing == Timing::none) return true;  // nothing is judged: the prediction alone
  if (call.timing == Timing::length && call.parts.size() > 1 && !timeline::ends_together(call.moves)) return false;
  return call.whole || timeline::ends_together(call.moves) || call.moves == Moves::moe_dispatch || call.moves == Moves::moe_combine;
}

/// Calls of a row, and the prediction for them.
struct Row {
  std::vector<const timeline::Call*> calls;
  std::optional<detail::Expected> expected;
};

/// Names of groups, told apart where two have one.
[[nodiscard]] std::vector<std::string> labels_of(const timeline::Job& job) {
  std::vector<std::string> out;
  std::map<std::string, int> used;
  for (const timeline::Group& group : job.groups) {
    std::string label = group.said.name.empty() ? "world" : group.said.name;
    const int before = used[label]++;
    out.push_back(before == 0 ? label : label + "#" + std::to_string(before + 1));
  }
  return out;
}

/// The longest wait of a call's ranks, and the sum of all.
struct Waited {
  std::int64_t longest = 0;
  double sum = 0;
};
[[nodiscard]] Waited waited_in(const timeline::Call& call) {
  Waited out;
  for (const timeline::Part& part : call.parts) {
    const std::int64_t one = call.wait_of(part);
    out.longest = std::max(out.longest, one);
    out.sum += static_cast<double>(one);
  }
  return out;
}

/// When calls became slow and stayed so: from there on, three in four and at least three are.
[[nodiscard]] const timeline::Call* slow_since(const std::vector<const timeline::Call*>& calls, double high) {
  const timeline::Call* out = nullptr;
  std::size_t slow = 0, all = 0;
  for (std::size_t i = calls.size(); i-- > 0;) {
    ++all;
    const bool one = seconds_of(calls[i]->wire()) > high;
    if (one) ++slow;
    if (one && slow >= 3 && 4 * slow >= 3 * all) out = calls[i];
  }
  return out;
}

[[nodiscard]] TracedCollective row_of(const timeline::Job& job, const Row& row, const std::string& label, std::int64_t start) {
  const timeline::Call& first = *row.calls.front();
  const timeline::Group& group = job.groups[first.group];
  TracedCollective out{.operation = std::string{name(first.moves)}, .group = label};
  out.ranks = first.moves == Moves::send_recv ? 2 : group.said.size;
  out.ranks_seen = std::numeric_limits<int>::max();
  if (first.bytes >= 0) out.bytes = units::B(first.bytes);
  out.dtype = first.type.name;
  out.at = time_of(first.first_start - start);
  std::vector<std::int64_t> wires;
  std::int64_t longest = -1;
  double waits = 0, exposed = 0, parts = 0;
  for (const timeline::Call* call : row.calls) {
    out.count += call->repeats;
    wires.push_back(call->wire());
    out.ranks_seen = std::min(out.ranks_seen, call->whole ? out.ranks : static_cast<int>(call->parts.size()));
    out.messages = std::max(out.messages, call->messages);
    const Waited waited = waited_in(*call);
    waits += waited.sum;
    parts += static_cast<double>(call->parts.size());
    for (const timeline::Part& part : call->parts) exposed += static_cast<double>(part.exposed);
    if (waited.longest <= longest) continue;
    longest = waited.longest;
    if (call->last >= 0) out.last_rank = job.ranks[static_cast<std::size_t>(call->last)].rank;
  }
  std::sort(wires.begin(), wires.end());
  out.wire = time_of(first.whole ? wires[wires.size() / 2] : wires.front());
  out.wait = time_of(std::max<std::int64_t>(0, longest));
  out.mean_wait = time_of(waits / parts);
  out.exposed = time_of(exposed / parts);
  out.bound = first.timing == Timing::none ? "none" : first.whole ? "exact" : "upper";
  out.verdict = "unknown";
  if (!row.expected) return out;
  const detail::Expected& e = *row.expected;
  out.predicted = units::s(e.seconds);
  out.interval = std::pair{units::s(e.low), units::s(e.high)};
  if (first.timing == Timing::none) return out;
  const timeline::Call* const since = first.whole ? slow_since(row.calls, e.high) : nullptr;
  const bool slow = out.wire > units::s(e.high) || since != nullptr;
  if (out.wire < units::s(e.least))
    out.verdict = "impossible";
  else if (slow)
    out.verdict = first.whole ? "slow" : "slow_or_waiting";
  else
    out.verdict = out.wire < units::s(e.low) ? "better" : "sound";
  if (since != nullptr) out.slow_since = time_of(since->first_start - start);
  return out;
}

/// The time that the slow calls of a row took beyond their prediction; 0 for other rows.
[[nodiscard]] Time excess(const TracedCollective& row) {
  return row.verdict == "slow" && row.predicted ? (row.wire - *row.predicted) * row.count : Time{};
}

[[nodiscard]] std::vector<TracedCollective> rows_of(const timeline::Job& job, detail::TraceMachine& machine,
                                                    const std::vector<std::string>& labels, bool each, std::int64_t start) {
  std::map<std::tuple<std::uint32_t, Moves, double, std::string_view, Timing, bool, std::size_t>, Row> rows;
  std::size_t number = 0;
  for (const timeline::Call& call : job.calls) {
    Row& row = rows[{call.group, call.moves, call.bytes, call.type.name, call.timing, call.whole, each ? ++number : 0}];
    if (row.calls.empty() && can_be_judged(call)) row.expected = machine.expect(job.groups[call.group], call);
    row.calls.push_back(&call);
  }
  std::vector<TracedCollective> out;
  out.reserve(rows.size());
  for (const auto& [key, row] : rows) out.push_back(row_of(job, row, labels[row.calls.front()->group], start));
  if (each)
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  else
    std::stable_sort(out.begin(), out.end(), [](const TracedCollective& a, const TracedCollective& b) {
      const bool x = a.verdict == "slow", y = b.verdict == "slow";
      if (x != y) return x;
      if (x) return excess(a) > excess(b);
      return (a.wire + a.wait) * a.count > (b.wire + b.wait) * b.count;
    });
  return out;
}

/// Stages wait for each other in every pipeline: that is its bubble, and no rank's fault. One that works longer than the others holds them up
/// by the difference.
void say_slow_stages(const timeline::Job& job, const std::map<int, TracedRank*>& by_rank) {
  std::map<int, std::vector<std::size_t>> pipelines;
  for (std::size_t i = 0; i < job.ranks.size(); ++i)
    if (job.ranks[i].shows_compute) pipelines[job.pipelines[i]].push_back(i);
  for (const auto& [first, stages] : pipelines) {
    if (stages.size() < 2) continue;
    const auto busy = [&](std::size_t i) { return job.spent[i].busy(); };
    const std::size_t slowest = *std::max_element(stages.begin(), stages.end(), [&](auto a, auto b) { return busy(a) < busy(b); });
    std::int64_t others = 0;
    for (const std::size_t i : stages) others += i == slowest ? 0 : busy(i);
    TracedRank& rank = *by_rank.at(job.ranks[slowest].rank);
    rank.others_wait += time_of(busy(slowest) - others / (std::ssize(stages) - 1));
    for (const timeline::Call& call : job.calls)
      if (call.last == static_cast<int>(slowest) && job.groups[call.group].kind == timeline::Kind::pipeline &&
          static_cast<double>(call.skew()) > job.clock_doubt)
        ++rank.calls_last;
  }
}

void say_waits(const timeline::Job& job, TraceAnswer& out) {
  std::map<std::pair<int, int>, TracedWait> waits;
  std::map<int, TracedRank*> by_rank;
  for (TracedRank& one : out.ranks) by_rank[one.rank] = &one;
  for (const timeline::Call& call : job.calls) {
    if (call.last < 0 || static_cast<double>(call.skew()) <= job.clock_doubt) continue;
    const int last = job.ranks[static_cast<std::size_t>(call.last)].rank;
    bool any = false;
    for (const timeline::Part& part : call.parts) {
      const std::int64_t one = call.wait_of(part) - part.bubble;
      if (one == 0 || part.rank == last) continue;
      any = true;
      TracedWait& wait = waits[{part.rank, last}];
      wait = {part.rank, last, wait.time + time_of(one), wait.calls + 1};
      by_rank.at(last)->others_wait += time_of(one) / static_cast<double>(std::max<std::size_t>(1, out.ranks.size() - 1));
    }
    by_rank.at(last)->calls_last += any ? 1 : 0;
  }
  say_slow_stages(job, by_rank);
  for (const auto& [pair, wait] : waits) out.waits.push_back(wait);
  std::stable_sort(out.waits.begin(), out.waits.end(), [](const TracedWait& a, const TracedWait& b) { return a.time > b.time; });
}

/// What an inference engine said of its forward passes.
void say_passes(const timeline::Job& job, TraceAnswer& out) {
  for (const RankTrace& one : job.ranks) {
    const EnginePasses& p = one.passes;
    if (p.with_prompts + p.decoding == 0) continue;
    std::vector<std::string> said;
    if (p.with_prompts > 0)
      said.push_back(fmt::format("{} with prompts, {:.0f} of their tokens on average", p.with_prompts,
                                 static_cast<double>(p.prompt_tokens) / static_cast<double>(p.with_prompts)));
    if (p.decoding > 0)
      said.push_back(fmt::format("{} that only decode, {:.4g} requests on average{}", p.decoding,
                                 static_cast<double>(p.requests) / static_cast<double>(p.decoding),
                                 p.attending > 0 ? fmt::format(" at {:.0f} tokens of context", static_cast<double>(p.context) / static_cast<double>(p.attending))
                                                 : ""));
    out.notes.push_back(fmt::format("The engine marked its forward passes, which count as steps: {}.", joined(said, "; ")));
    return;
  }
}

/// Notes the limits of these traces.
void say_what_is_unknown(const timeline::Job& job, TraceAnswer& out) {
  int lengths = 0, untimed = 0;
  for (const timeline::Call& call : job.calls) {
    if (call.timing == Timing::length) lengths += call.repeats;
    if (call.timing == Timing::none) untimed += call.repeats;
  }
  if (std::any_of(job.ranks.begin(), job.ranks.end(), [](const RankTrace& one) { return !one.shows_compute; }))
    out.notes.emplace_back(
        "The traces show communication alone: no step is taken apart, and what is exposed of a call is at most its time.");
  if (lengths > 0)
    out.notes.push_back(
        fmt::format("Of {} collectives the trace says how long they took, not when: their ends are taken as one.", lengths));
  if (untimed > 0) out.notes.push_back(fmt::format("Of {} collectives the trace says no time: they are predicted alone.", untimed));
}

}  // namespace

void from_text(const std::string& text, std::string_view, const Amount&, const Range&, TraceFile& out) { out.path = text; }

TraceAnswer answer(const TraceRequest& request) {
  if (request.files.empty()) throw Refusal("which traces? Name what PyTorch's profiler wrote, or a folder of it", true);
  check_ranges(request);
  std::vector<std::filesystem::path> given;
  for (const TraceFile& one : request.files) given.emplace_back(one.path);
  const bool again = request.on || !request.without.empty();
  Traces traces = read_traces(given, again ? Keep::kernels : Keep::calls);
  TraceAnswer out;
  detail::TraceMachine machine(request, traces.ranks, out.notes);
  if (machine.system() != nullptr) out.system = machine.system()->name;
  out.system_guessed = machine.guessed();
  const auto found = std::make_shared<FoundTrace>();
  timeline::Job& job = found->job;
  job = timeline::build(std::move(traces.ranks), machine.gpus_per_node());
  std::int64_t start = std::numeric_limits<std::int64_t>::max();
  for (const timeline::Call& call : job.calls) start = std::min(start, call.first_start);
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const RankTrace& one = job.ranks[i];
    if (one.whole.length() > 0) start = std::min(start, job.clocks[i].common(one.whole.from));
    out.ranks.push_back(
        {.rank = one.rank, .file = one.file, .gpu = one.gpu, .window = time_of(one.window()), .clock = time_of(job.clocks[i].offset)});
  }
  found->start = start;
  found->labels = labels_of(job);
  const std::vector<std::string>& labels = found->labels;
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    const timeline::Group& group = job.groups[g];
    if (group.calls == 0) continue;
    out.groups.push_back({.name = labels[g],
                          .words = group.said.words,
                          .ranks = group.said.ranks,
                          .size = group.said.size,
                          .kind = std::string{timeline::name(group.kind)},
                          .tiers = machine.tiers_of(group),
                          .nodes = machine.nodes_of(group),
                          .calls = static_cast<int>(group.calls)});
  }
  out.collectives = rows_of(job, machine, labels, request.calls, start);
  out.clock_doubt = time_of(job.clock_doubt);
  say_waits(job, out);
  auto [step, terms] = detail::step_of(job);
  out.step = units::s(step);
  out.terms = std::move(terms);
  out.steps = std::max(1, job.steps);
  say_passes(job, out);
  if (out.steps > 1 && std::all_of(job.ranks.begin(), job.ranks.end(), [](const RankTrace& one) { return one.steps.empty(); }))
    out.notes.push_back(fmt::format("No step is marked: {} were found by the calls that repeat.", out.steps));
  std::map<std::string, std::int64_t> skipped = job.skipped;
  for (const auto& [reason, files] : traces.skipped) skipped[reason] += files;
  for (const auto& [reason, events] : skipped)
    out.skipped.push_back({reason, static_cast<int>(std::min<std::int64_t>(events, std::numeric_limits<int>::max()))});
  say_what_is_unknown(job, out);
  if (out.collectives.empty()) out.notes.emplace_back("The traces show no collective.");
  detail::say_findings(*found, out);
  if (again) detail::say_replay(request, job, machine, out);
  if (!request.against.empty()) detail::say_against(request.against, out);
  found->expected.reserve(job.calls.size());
  for (const timeline::Call& call : job.calls)
    found->expected.push_back(can_be_judged(call) ? machine.expect(job.groups[call.group], call) : std::nullopt);
  out.found = found;
  return out;
}

}  // namespace fabricost::observe
