/// The same call on every rank. Calls of a group have one order on all its ranks (NCCL needs it); traces may begin and end at different
/// calls. With sequence numbers a call is its number. Without, a rank's calls are shifted against another's until operations and sizes
/// agree; of several such shifts (steps repeat) the true one is where the ends of calls lie at the same distance, since ranks leave a
/// collective together.

#include "text/quantile.hpp"
#include "trace/timeline.hpp"

#include <fabricost/request_error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace fabricost::observe::timeline::parts {

namespace {

using Calls = std::vector<const TracedCall*>;

[[nodiscard]] bool alike(const TracedCall& a, const TracedCall& b) {
  if (a.moves != b.moves) return false;
  return a.moves == Moves::all_to_all || a.moves >= Moves::moe_dispatch || a.bytes == b.bytes;  // uneven splits
}

/// The distances between the ends of two ranks' calls after a shift of one against the other.
struct Shifted {
  std::ptrdiff_t shift = 0;
  double spread = 0, distance = 0;  ///< median distance from the median; that median, ns
};

/// Nothing where operations disagree.
[[nodiscard]] std::optional<Shifted> shifted_by(std::ptrdiff_t shift, const Calls& a, const Calls& b) {
  constexpr std::ptrdiff_t enough = 1024;
  const std::ptrdiff_t from = std::max<std::ptrdiff_t>(0, -shift);
  const std::ptrdiff_t to = std::min({std::ssize(a), std::ssize(b) - shift, from + enough});
  std::vector<std::int64_t> distances;
  for (std::ptrdiff_t i = from; i < to; ++i) {
    const TracedCall &x = *a[static_cast<std::size_t>(i)], &y = *b[static_cast<std::size_t>(i + shift)];
    if (!alike(x, y)) return std::nullopt;
    distances.push_back(y.span.to - x.span.to);
  }
  if (distances.empty()) return std::nullopt;
  const std::int64_t middle = upper_median(distances);
  for (std::int64_t& one : distances) one = std::abs(one - middle);
  return Shifted{shift, static_cast<double>(upper_median(distances)), std::abs(static_cast<double>(middle))};
}

/// The place in `b` of the call that `a` begins with, negative if b begins later; empty: nowhere. Of shifts that fit equally well, the
/// one that needs the least distance of the clocks.
[[nodiscard]] std::optional<std::ptrdiff_t> shift_between(const Calls& a, const Calls& b) {
  constexpr std::ptrdiff_t farthest = 2048;
  constexpr double tick = 1000;  // ns: older profilers count whole microseconds
  std::vector<Shifted> fit;
  const std::ptrdiff_t shorter = std::min(std::ssize(a), std::ssize(b));
  for (std::ptrdiff_t shift = -farthest; shift <= farthest; ++shift) {
    const std::ptrdiff_t common = std::min(std::ssize(a), std::ssize(b) - shift) - std::max<std::ptrdiff_t>(0, -shift);
    if (2 * common < shorter || common < 1) continue;  // at least half of the shorter one
    if (const auto found = shifted_by(shift, a, b)) fit.push_back(*found);
  }
  if (fit.empty()) return std::nullopt;
  double least = fit.front().spread;
  for (const Shifted& one : fit) least = std::min(least, one.spread);
  const Shifted* best = nullptr;
  for (const Shifted& one : fit)
    if (one.spread <= 2 * least + tick && (best == nullptr || one.distance < best->distance)) best = &one;
  return best->shift;
}

[[nodiscard]] bool all_numbered(const Calls& calls) {
  std::set<std::int64_t> seen;
  for (const TracedCall* one : calls)
    if (one->sequence < 0 || !seen.insert(one->sequence).second) return false;
  return true;
}

}  // namespace

void number_ranks(Job& job) {
  std::vector<RankTrace>& all = job.ranks;
  for (RankTrace& one : all) {  // onto the clock that their hosts share, unless one counts from elsewhere
    constexpr std::int64_t years = 100'000'000'000'000'000;
    const std::int64_t later = one.start - all.front().start;
    if (later > years || later < -years) continue;
    const auto move = [&](Span& span) { span.from += later, span.to += later; };
    for (TracedCall& call : one.calls) {
      move(call.span);
      if (call.launched >= 0) call.launched += later;
    }
    for (TracedKernel& kernel : one.kernels) {
      move(kernel.span);
      if (kernel.launched >= 0) kernel.launched += later;
    }
    for (std::vector<Span>* spans : {&one.compute, &one.busy}) std::for_each(spans->begin(), spans->end(), move);
    move(one.whole);
  }
  std::set<int> known;
  for (const RankTrace& one : all)
    if (one.rank >= 0) known.insert(one.rank);
  int next = 0;
  for (RankTrace& one : all) {
    if (one.rank >= 0) continue;
    while (known.contains(next)) ++next;
    known.insert(one.rank = next);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const RankTrace& a, const RankTrace& b) { return std::tie(a.rank, a.whole.from) < std::tie(b.rank, b.whole.from); });
  // several files of one rank are windows of its run
  std::vector<RankTrace> out;
  for (RankTrace& one : all) {
    if (out.empty() || out.back().rank != one.rank) {
      out.push_back(std::move(one));
      continue;
    }
    RankTrace& into = out.back();
    if (!into.gpu.empty() && !one.gpu.empty() && into.gpu != one.gpu)
      throw RequestError(fmt::format("rank {} is traced on {} ({}) and on {} ({}): give the traces of one job", into.rank, into.gpu,
                                     into.file, one.gpu, one.file));
    into.between += std::max<std::int64_t>(0, one.whole.from - into.whole.to);
    const auto first = static_cast<std::uint32_t>(into.groups.size());
    into.groups.insert(into.groups.end(), one.groups.begin(), one.groups.end());
    for (TracedCall& call : one.calls) {
      call.group += first;
      into.calls.push_back(call);
    }
    into.kernels.insert(into.kernels.end(), one.kernels.begin(), one.kernels.end());
    for (auto [to, from] : {std::pair{&into.compute, &one.compute}, {&into.busy, &one.busy}, {&into.steps, &one.steps}})
      to->insert(to->end(), from->begin(), from->end());
    unite(into.compute);
    unite(into.busy);
    into.whole = {std::min(into.whole.from, one.whole.from), std::max(into.whole.to, one.whole.to)};
    for (const auto& [reason, events] : one.skipped) into.skipped[reason] += events;
  }
  all = std::move(out);
}

CallsOf gather(Job& job) {
  std::map<TracedGroup, std::uint32_t> places;
  CallsOf out;
  int index = 0;
  for (RankTrace& trace : job.ranks) {
    std::stable_sort(trace.calls.begin(), trace.calls.end(),
                     [](const TracedCall& a, const TracedCall& b) { return a.span.from < b.span.from; });
    std::vector<std::uint32_t> mine(trace.groups.size());
    for (std::size_t g = 0; g < trace.groups.size(); ++g) {
      TracedGroup key = trace.groups[g];
      if (!key.id.empty())
        key = {.name = {}, .words = {}, .ranks = {}, .id = key.id};
      else if (key.ranks.empty())
        key.name += '\n' + std::to_string(trace.rank);  // whose members nobody knows matches no other
      key.words.clear();
      const auto [at, fresh] = places.try_emplace(key, static_cast<std::uint32_t>(job.groups.size()));
      if (fresh) {
        job.groups.push_back({.said = trace.groups[g]});
        out.emplace_back();
      }
      mine[g] = at->second;
    }
    for (const TracedCall& call : trace.calls) out[mine[call.group]][index].push_back(&call);
    ++index;
  }
  return out;
}

namespace {

[[nodiscard]] int rank_of(const Job& job, int trace) { return job.ranks[static_cast<std::size_t>(trace)].rank; }

/// Calls by their place in the group's common order.
struct Placed {
  std::map<std::int64_t, Call> calls;

  void add(std::int64_t place, int trace, int rank, const TracedCall& one, std::uint32_t group) {
    const auto [at, fresh] = calls.try_emplace(place);
    Call& call = at->second;
    if (fresh)
      call = {.group = group,
              .moves = one.moves,
              .type = one.type,
              .bytes = one.bytes,
              .messages = one.messages,
              .repeats = one.repeats,
              .timing = one.timing,
              .whole = one.without_waiting,
              .parts = {}};
    call.bytes = std::max(call.bytes, one.bytes);
    call.messages = std::max(call.messages, one.messages);
    if (call.type.name.empty()) call.type = one.type;
    call.parts.push_back(
        {.trace = trace, .rank = rank, .stream = one.stream, .launched = one.launched, .from = one.span.from, .to = one.span.to});
  }
};

void place_by_order(Placed& placed, const std::map<int, Calls>& by_trace, const Job& job, std::uint32_t group) {
  const auto longest =
      std::max_element(by_trace.begin(), by_trace.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::int64_t alone = std::int64_t{1} << 40U;  // places of calls that match no other rank's
  for (const auto& [trace, calls] : by_trace) {
    const std::optional<std::ptrdiff_t> shift = trace == longest->first ? 0 : shift_between(calls, longest->second);
    for (std::ptrdiff_t i = 0; i < std::ssize(calls); ++i)
      placed.add(shift ? i + *shift : alone++, trace, rank_of(job, trace), *calls[static_cast<std::size_t>(i)], group);
  }
}

/// Sends and receives: between two ranks each, in their order.
void place_pairs(Placed& placed, const std::map<int, Calls>& by_trace, const Job& job, std::uint32_t group) {
  std::map<std::pair<int, int>, std::map<int, Calls>> pairs;
  for (const auto& [trace, calls] : by_trace)
    for (const TracedCall* one : calls) {
      const int here = rank_of(job, trace);
      const auto key = one->peer < 0 ? std::pair{-1, here} : std::pair{std::min(here, one->peer), std::max(here, one->peer)};
      pairs[key][trace].push_back(one);
    }
  std::int64_t next = 0;
  for (const auto& [pair, mine] : pairs) {
    Placed these;
    place_by_order(these, mine, job, group);
    for (auto& [place, call] : these.calls) placed.calls.emplace(next++, std::move(call));
  }
}

}  // namespace

void match(Job& job, const CallsOf& all) {
  for (std::uint32_t g = 0; g < all.size(); ++g) {
    std::map<int, Calls> collectives, pairs;
    for (const auto& [trace, calls] : all[g]) {
      job.groups[g].seen.push_back(rank_of(job, trace));
      for (const TracedCall* one : calls) (one->moves == Moves::send_recv ? pairs : collectives)[trace].push_back(one);
    }
    Placed placed;
    if (!collectives.empty()) {
      if (std::all_of(collectives.begin(), collectives.end(), [](const auto& one) { return all_numbered(one.second); }))
        for (const auto& [trace, calls] : collectives)
          for (const TracedCall* one : calls) placed.add(one->sequence, trace, rank_of(job, trace), *one, g);
      else
        place_by_order(placed, collectives, job, g);
    }
    Placed paired;
    if (!pairs.empty()) place_pairs(paired, pairs, job, g);
    for (std::map<std::int64_t, Call>* calls : {&placed.calls, &paired.calls})
      for (auto& [place, call] : *calls) {
        const auto members = static_cast<std::size_t>(call.moves == Moves::send_recv ? 2 : job.groups[g].said.size);
        call.whole = call.whole || (members > 0 && call.parts.size() == members);
        job.groups[g].calls += static_cast<std::size_t>(call.repeats);
        job.calls.push_back(std::move(call));
      }
  }
}

}  // namespace fabricost::observe::timeline::parts
