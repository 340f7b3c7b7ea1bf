/// Splits each call into wire and waiting, and each rank's time by its use.

#include "trace/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace fabricost::observe::timeline {

namespace {

/// Time of [from, to] that no span covers. \param spans apart and ascending
[[nodiscard]] std::int64_t uncovered(const std::vector<Span>& spans, std::int64_t from, std::int64_t to) {
  if (to <= from) return 0;
  std::int64_t out = to - from;
  auto at = std::upper_bound(spans.begin(), spans.end(), from, [](std::int64_t time, const Span& one) { return time < one.to; });
  for (; at != spans.end() && at->from < to; ++at) out -= std::min(at->to, to) - std::max(at->from, from);
  return out;
}

[[nodiscard]] std::int64_t total(const std::vector<Span>& spans) {
  std::int64_t out = 0;
  for (const Span& one : spans) out += one.length();
  return out;
}

/// What a call does; how much, where it is the same in every step.
using Does = std::tuple<Moves, std::string_view, double>;
[[nodiscard]] Does does(const TracedCall& call) {
  const bool varies = call.moves == Moves::all_to_all || call.moves == Moves::send_recv || call.moves >= Moves::moe_dispatch;
  return {call.moves, call.type.name, varies ? 0 : call.bytes};
}

/// The least number of calls after which they begin again; as many as there are if they never do.
[[nodiscard]] std::size_t period_of(const std::vector<const TracedCall*>& calls) {
  std::vector<std::size_t> border(calls.size(), 0);  // of the first calls: how many of them are also the last ones
  for (std::size_t i = 1, k = 0; i < calls.size(); border[i++] = k) {
    while (k > 0 && does(*calls[i]) != does(*calls[k])) k = border[k - 1];
    if (does(*calls[i]) == does(*calls[k])) ++k;
  }
  return calls.size() - border.back();
}

[[nodiscard]] bool nearly_whole(double number, double tolerance) { return std::fabs(number - std::round(number)) <= tolerance * number; }

/// The steps of a rank whose program marked none: of the groups' calls those that repeat least often, if all others repeat with them, and
/// if they do so evenly over the whole trace. 0: none are found.
[[nodiscard]] std::size_t repeated_steps(const RankTrace& trace) {
  constexpr double part_of_step = 0.05, uneven = 0.2;
  constexpr std::size_t least_steps = 3;
  std::map<std::uint32_t, std::vector<const TracedCall*>> of;
  std::set<Does> kinds;
  for (const TracedCall& call : trace.calls) {
    if (call.timing != Timing::placed || call.repeats != 1) continue;
    of[call.group].push_back(&call);
    kinds.insert(does(call));
  }
  if (kinds.size() < 2) return 0;  // the same call again and again: of layers, as likely as of steps
  const std::vector<const TracedCall*>* slowest = nullptr;
  std::size_t period = 0, steps = 0;
  for (const auto& [group, calls] : of) {
    const std::size_t own = period_of(calls), times = (calls.size() + own / 2) / own;
    if (times < least_steps || (steps > 0 && times >= steps)) continue;
    slowest = &calls;
    period = own;
    steps = times;
  }
  if (steps == 0) return 0;
  for (const auto& [group, calls] : of)
    if (calls.size() >= steps && !nearly_whole(static_cast<double>(calls.size()) / static_cast<double>(steps), part_of_step)) return 0;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = period; i < slowest->size(); i += period) lengths.push_back((*slowest)[i]->span.from - (*slowest)[i - period]->span.from);
  if (lengths.empty()) return 0;
  std::sort(lengths.begin(), lengths.end());
  const auto median = static_cast<double>(lengths[lengths.size() / 2]), whole = static_cast<double>(trace.window());
  const bool even = static_cast<double>(lengths.front()) > (1 - uneven) * median && static_cast<double>(lengths.back()) < (1 + uneven) * median;
  return even && std::fabs(median * static_cast<double>(steps) - whole) < uneven * whole ? steps : 0;
}

/// Of each rank, the first of those that are stages of one pipeline with it: they send to each other, or are in one of its groups.
[[nodiscard]] std::vector<int> pipelines_of(const Job& job) {
  std::vector<int> first(job.ranks.size());
  std::iota(first.begin(), first.end(), 0);
  std::map<int, int> places;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) places[job.ranks[i].rank] = static_cast<int>(i);
  const auto root = [&](int at) {
    while (first[static_cast<std::size_t>(at)] != at) at = first[static_cast<std::size_t>(at)];
    return at;
  };
  const auto join = [&](int a, int b) {
    a = root(a), b = root(b);
    first[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  };
  for (const Call& call : job.calls)
    if (job.groups[call.group].kind == Kind::pipeline && call.moves == Moves::send_recv)
      for (const Part& part : call.parts) join(call.parts.front().trace, part.trace);
  for (const Group& group : job.groups) {
    int before = -1;
    if (group.kind == Kind::pipeline)
      for (const int rank : group.said.ranks)
        if (const auto at = places.find(rank); at != places.end()) {
          if (before >= 0) join(before, at->second);
          before = at->second;
        }
  }
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = root(static_cast<int>(i));
  return first;
}

/// In any call, what a rank waits for the last stage of its own pipeline is the pipeline's bubble: after the last microbatch of a step, too,
/// when all stages meet.
void tell_bubbles(const std::vector<int>& pipelines, Call& call) {
  std::map<int, std::int64_t> last;
  const auto of = [&](const Part& part) { return pipelines[static_cast<std::size_t>(part.trace)]; };
  for (const Part& part : call.parts) {
    const auto at = last.try_emplace(of(part), part.from).first;
    at->second = std::max(at->second, part.from);
  }
  for (Part& part : call.parts) part.bubble = std::min(call.wait_of(part), last.at(of(part)) - part.from);
}

}  // namespace

DataType data_type_of(const TracedType& type) {
  if (const auto named = parse_data_type(type.name)) return *named;
  switch (type.width) {
    case 1: return DataType::int8;
    case 4: return DataType::single;
    case 8: return DataType::double_precision;
    default: return DataType::half;
  }
}

void parts::take_apart(Job& job) {
  job.pipelines = pipelines_of(job);
  for (Call& call : job.calls) {
    call.first_start = call.parts.front().from;
    for (const Part& part : call.parts) {
      call.first_start = std::min(call.first_start, part.from);
      call.last_end = std::max(call.last_end, part.to);
      if (&part == call.parts.data() || part.from > call.last_start) {
        call.last_start = part.from;
        call.last = part.trace;
      }
    }
    if (call.parts.size() < 2 || call.timing == Timing::none) call.last = -1;
    tell_bubbles(job.pipelines, call);
    for (Part& part : call.parts) {
      const std::vector<Span>& compute = job.ranks[static_cast<std::size_t>(part.trace)].compute;
      part.exposed = uncovered(compute, part.own.from, part.own.to);
    }
  }
  std::sort(job.calls.begin(), job.calls.end(), [](const Call& a, const Call& b) { return a.first_start < b.first_start; });
  std::vector<std::vector<std::pair<const Part*, const Call*>>> of(job.ranks.size());
  for (const Call& call : job.calls)
    for (const Part& part : call.parts) of[static_cast<std::size_t>(part.trace)].emplace_back(&part, &call);
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const RankTrace& trace = job.ranks[rank];
    if (!trace.shows_compute) {
      job.spent.emplace_back();
      continue;
    }
    Spent spent{.window = trace.window(), .compute = total(trace.compute)};
    auto& mine = of[rank];
    std::sort(mine.begin(), mine.end(), [](const auto& a, const auto& b) { return a.first->own.from < b.first->own.from; });
    std::vector<Span> all = trace.busy;
    std::int64_t done = trace.whole.from, shown = 0;
    for (const auto& [part, call] : mine) {
      all.push_back(part->own);
      const std::int64_t from = std::max(done, part->own.from);  // of calls at once, the first counts
      const std::int64_t others = part->own.from + (call->last_start - part->from);
      const std::int64_t ready = call->parts.size() > 1 ? std::clamp(others, from, std::max(from, part->own.to)) : from;
      const std::int64_t stages = std::clamp(part->own.from + part->bubble, from, ready);
      const std::int64_t bubble = uncovered(trace.compute, from, stages), waiting = uncovered(trace.compute, stages, ready),
                         moving = uncovered(trace.compute, ready, part->own.to);
      spent.bubble += bubble;
      spent.waiting += waiting;
      spent.exposed[static_cast<std::size_t>(job.groups[call->group].kind)] += moving;
      shown += bubble + waiting + moving;
      done = std::max(done, part->own.to);
    }
    unite(all);
    const std::int64_t used = total(all);
    spent.copies = std::max<std::int64_t>(0, used - spent.compute - shown);
    spent.idle = std::max<std::int64_t>(0, spent.window - used);
    job.spent.push_back(spent);
  }
  std::size_t steps = 0;
  for (const RankTrace& trace : job.ranks) steps = std::max(steps, trace.steps.size());
  for (const RankTrace& trace : job.ranks)
    if (steps == 0 && trace.shows_compute) steps = repeated_steps(trace);
  job.steps = static_cast<int>(std::min<std::size_t>(steps, 1'000'000));
}

Job build(std::vector<RankTrace> traces, int gpus_per_node) {
  Job job;
  job.ranks = std::move(traces);
  parts::name_members(job);
  parts::number_ranks(job);
  parts::match(job, parts::gather(job));
  parts::align(job);
  parts::tell_kinds(job, gpus_per_node);
  parts::take_apart(job);
  for (RankTrace& trace : job.ranks) {
    for (const auto& [reason, events] : trace.skipped) job.skipped[reason] += events;
    trace.calls.clear();
    trace.calls.shrink_to_fit();
  }
  return job;
}

}  // namespace fabricost::observe::timeline
