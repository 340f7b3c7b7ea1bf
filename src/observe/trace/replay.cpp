/// One pass over all kernels and calls in the order they began. Each begins there when the work it waited for here has ended there:
///
///   in a stream   after the one before it
///   across        where its own stream had been idle: as far into the kernel that its rank ran then as here; where none ran, after the one
///                 that ended last before it: an event, or the host, which takes as long there as here. So idle time stays as it was
///   a call        after the kernels that the host had launched before it: it carries their results
///   after a call  kernels that begin once its stream goes on to the next call wait for it, however long it takes there; reductions of
///                 gradients are waited for at the end alone
///   across ranks  a call's wire begins with the last rank's part, and ends on all of them together where it does so here
///
/// On the machine it comes from, every time comes out as it was. Method: dependencies inferred from order, as Daydream (Zhu 2020), dPRO
/// (Hu 2022) and Lumos (Liang 2025, arXiv 2504.09307) do, without their edits of the graph.

#include "trace/replay.hpp"

#include "text/quantile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fabricost::observe::timeline {

namespace {

using Place = std::int64_t;
constexpr Place none = -1;
constexpr std::int64_t tick = 1000;  // ns: older profilers count whole microseconds, newer ones round starts and lengths

/// A kernel, or a rank's part in a call.
struct Op {
  std::int64_t from = 0, to = 0;  ///< here, on the common clock
  std::int64_t launched = -1;
  Place kernel = none, call = none;
  int trace = 0, stream = 0, part = 0;
  double start = std::numeric_limits<double>::lowest();  ///< there
  double length = 0;                                     ///< there, of a kernel
  Place by = none;                                       ///< whose end it waited for
  [[nodiscard]] bool computes() const { return call == none; }
};

/// The state of a call in progress.
struct Going {
  Carried carried;
  double last_start = 0;  ///< there
  Place last = none;      ///< the part that came last
};

/// A stream of a rank: its operations so far.
struct Stream {
  std::vector<Place> done;
  bool carries_calls = false;
};

[[nodiscard]] bool reduces_gradients(const Job& job, const Call& call) {
  using enum Moves;
  return job.groups[call.group].kind == Kind::data && (call.moves == all_reduce || call.moves == reduce_scatter || call.moves == reduce);
}

/// Stretches of a rank's own clock that are shortened: its time beyond the others' between two calls.
struct Shortened {
  std::int64_t from = 0, to = 0;
  double by = 1;
};

/// The straggler's time between calls of its largest group, over the median of the other ranks.
[[nodiscard]] std::vector<Shortened> without_straggler(const Job& job, int straggler) {
  std::vector<Shortened> out;
  if (straggler < 0) return out;
  std::map<std::uint32_t, std::int64_t> waited;
  for (const Call& call : job.calls)
    if (call.last == straggler && ends_together(call.moves)) waited[call.group] += call.skew();
  if (waited.empty()) return out;
  const auto worst = std::max_element(waited.begin(), waited.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const Call* before = nullptr;
  std::vector<std::int64_t> others;
  for (const Call& call : job.calls) {
    if (call.group != worst->first || call.parts.size() < 2 || !ends_together(call.moves)) continue;
    others.clear();
    Shortened one;
    for (const Part& part : call.parts) {
      const auto rank = static_cast<std::size_t>(part.trace);
      std::int64_t since = job.clocks[rank].common(job.ranks[rank].whole.from);
      if (before != nullptr)
        for (const Part& earlier : before->parts)
          if (earlier.trace == part.trace) since = earlier.to;
      if (part.trace == straggler)
        one.from = since, one.to = part.from;
      else
        others.push_back(part.from - since);
    }
    before = &call;
    if (one.to <= one.from || others.empty()) continue;
    const double usual = static_cast<double>(std::max<std::int64_t>(0, upper_median(others)));
    one.by = std::min(1.0, usual / static_cast<double>(one.to - one.from));
    out.push_back(one);
  }
  return out;
}

class Player {
 public:
  Player(const Job& job, const Elsewhere& there, Without without) : job_(job), there_(there), without_(without) {
    if (without == Without::straggler) shortened_ = without_straggler(job, straggler_ = straggler_of(job));
    collect();
    going_.resize(job.calls.size());
    for (std::size_t i = 0; i < job.calls.size(); ++i) {
      going_[i].carried = there.call(job.calls[i]);
      if (without == Without::wait) going_[i].carried.outside = 0;
    }
    streams_.resize(job.ranks.size());
    due_.resize(job.ranks.size());
  }

  Replay run() {
    for (Place i = 0; i < std::ssize(ops_); ++i) place(i);
    Replay out;
    out.path = path();
    out.job = job_again();
    return out;
  }

 private:
  [[nodiscard]] Op& at(Place i) { return ops_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Op& at(Place i) const { return ops_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Call& call_of(const Op& op) const { return job_.calls[static_cast<std::size_t>(op.call)]; }
  [[nodiscard]] const Going& going_of(const Op& op) const { return going_[static_cast<std::size_t>(op.call)]; }

  void collect() {
    for (std::size_t r = 0; r < job_.ranks.size(); ++r) {
      const Clock& clock = job_.clocks[r];
      for (std::size_t k = 0; k < job_.ranks[r].kernels.size(); ++k) {
        const TracedKernel& kernel = job_.ranks[r].kernels[k];
        const std::int64_t from = clock.common(kernel.span.from);
        ops_.push_back({.from = from,
                        .to = from + kernel.span.length(),
                        .launched = kernel.launched,
                        .kernel = static_cast<Place>(k),
                        .trace = static_cast<int>(r),
                        .stream = kernel.stream});
      }
    }
    for (std::size_t c = 0; c < job_.calls.size(); ++c)
      for (std::size_t p = 0; p < job_.calls[c].parts.size(); ++p) {
        const Part& part = job_.calls[c].parts[p];
        ops_.push_back({.from = part.from,
                        .to = part.to,
                        .launched = part.launched,
                        .call = static_cast<Place>(c),
                        .trace = part.trace,
                        .stream = part.stream,
                        .part = static_cast<int>(p)});
      }
    std::stable_sort(ops_.begin(), ops_.end(), [](const Op& a, const Op& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; });
    origin_ = ops_.empty() ? 0 : ops_.front().from;
  }

  /// The factor that shortens the straggler's time at this place.
  [[nodiscard]] double shortened(int trace, std::int64_t time) const {
    if (trace != straggler_ || shortened_.empty()) return 1;
    const auto after =
        std::upper_bound(shortened_.begin(), shortened_.end(), time, [](std::int64_t t, const Shortened& one) { return t < one.from; });
    return after == shortened_.begin() || std::prev(after)->to <= time ? 1 : std::prev(after)->by;
  }

  /// When it ends there, as far as its ranks have come.
  [[nodiscard]] double end_of(const Op& op) const {
    if (op.computes()) return op.start + op.length;
    const Call& call = call_of(op);
    const Going& going = going_of(op);
    const double here = static_cast<double>(call.wire()), all = going.carried.wire + going.carried.outside;
    const double stretch = here > 0 ? all / here : 1;
    if (op.to < call.last_start) return op.start + stretch * static_cast<double>(op.to - op.from);  // done before the last came
    const double since = without_ == Without::wait ? op.start : going.last_start;
    return std::max(op.start, since + all - static_cast<double>(call.last_end - op.to) * std::min(1.0, stretch));
  }

  /// The last operation of a stream that had ended; none: there is none. Operations of a stream follow each other.
  [[nodiscard]] Place ended(const Stream& stream, std::int64_t time) const {
    constexpr std::ptrdiff_t back = 4;
    for (auto it = stream.done.rbegin(); it != stream.done.rend() && it - stream.done.rbegin() < back; ++it)
      if (at(*it).to <= time + tick) return *it;
    return none;
  }

  /// The last operation of a stream that was launched before; none: there is none.
  [[nodiscard]] Place launched_before(const Stream& stream, std::int64_t launched) const {
    const auto after = std::partition_point(stream.done.begin(), stream.done.end(),
                                            [&](Place i) { return at(i).launched >= 0 && at(i).launched < launched; });
    return after == stream.done.begin() ? none : *std::prev(after);
  }

  void place(Place i) {
    Op& op = at(i);
    auto& streams = streams_[static_cast<std::size_t>(op.trace)];
    Stream& own = streams[op.stream];
    const double factor = shortened(op.trace, op.computes() ? op.from + (op.to - op.from) / 2 : op.from - 1);  // clocks round
    const auto wait_for = [&](Place other, double lag) {
      const double earliest = std::max(0.0, end_of(at(other)) + (lag > 0 ? lag * factor : lag));
      if (earliest <= op.start) return;
      op.start = earliest;
      op.by = other;
    };
    const auto since = [&](Place other) { return static_cast<double>(op.from - at(other).to); };
    const Place before = own.done.empty() ? none : own.done.back();
    Place anchor = before, running = none;
    constexpr std::int64_t back_to_back = 5000;  // ns from one kernel to the next of its stream
    if (before == none || op.from - at(before).to > back_to_back)
      for (const auto& [number, stream] : streams) {
        if (const Place last = ended(stream, op.from); last != none && (anchor == none || at(last).to > at(anchor).to)) anchor = last;
        if (number == op.stream || stream.done.empty()) continue;
        const Op& last = at(stream.done.back());
        if (last.computes() && last.from < op.from && op.from + tick < last.to) running = stream.done.back();
      }
    if (running != none) {
      const Op& other = at(running);
      op.start = other.start + other.length * static_cast<double>(op.from - other.from) / static_cast<double>(other.to - other.from);
      op.by = running;
    } else if (anchor == none)
      op.start = static_cast<double>(op.from - origin_) * factor;
    else
      wait_for(anchor, since(anchor));
    if (before != none && before != anchor) wait_for(before, std::min(0.0, since(before)));
    if (op.computes()) {
      std::vector<Place>& due = due_[static_cast<std::size_t>(op.trace)];
      std::erase_if(due, [&](Place call) {
        if (at(call).to > op.from + tick) return false;
        wait_for(call, std::min(0.0, since(call)));
        return true;
      });
      op.length = there_.kernel(job_.ranks[static_cast<std::size_t>(op.trace)].kernels[static_cast<std::size_t>(op.kernel)].work,
                                static_cast<double>(op.to - op.from)) *
                  factor;
    } else {
      if (op.launched >= 0)
        for (const auto& [number, stream] : streams) {
          if (number == op.stream || stream.carries_calls) continue;
          if (const Place last = launched_before(stream, op.launched); last != none && at(last).to <= op.from + tick)
            wait_for(last, std::min(0.0, since(last)));
        }
      if (before != none && !at(before).computes() && !reduces_gradients(job_, call_of(at(before))))
        due_[static_cast<std::size_t>(op.trace)].push_back(before);
      Going& going = going_[static_cast<std::size_t>(op.call)];
      if (going.last == none || op.start > going.last_start) {
        going.last_start = op.start;
        going.last = i;
      }
      own.carries_calls = true;
    }
    own.done.push_back(i);
  }

  /// Goes back from the last end, each time to the operation that was waited for.
  [[nodiscard]] std::map<std::string, double> path() const {
    std::map<std::string, double> out;
    Place now = none;
    for (Place i = 0; i < std::ssize(ops_); ++i)
      if (now == none || end_of(at(i)) > end_of(at(now))) now = i;
    const auto add = [&](std::string name, double ns) {
      if (ns != 0) out[std::move(name)] += ns;
    };
    double end = now == none ? 0 : end_of(at(now));
    for (std::size_t steps = 0; now != none && steps < 2 * ops_.size(); ++steps) {
      const Op* op = &at(now);
      if (op->computes()) {
        const auto& kernel = job_.ranks[static_cast<std::size_t>(op->trace)].kernels[static_cast<std::size_t>(op->kernel)];
        add(std::string{work_names[static_cast<std::size_t>(kernel.work)]}, end - op->start);
      } else {
        const Call& call = call_of(*op);
        const Going& going = going_of(*op);
        if (op->to >= call.last_start && without_ != Without::wait) op = &at(going.last);
        const double outside = std::clamp(going.carried.outside, 0.0, std::max(0.0, end - op->start));
        const Kind kind = job_.groups[call.group].kind;
        add("ranks that are not traced", outside);
        add(kind == Kind::unknown ? "other communication" : std::string{name(kind)}, end - op->start - outside);
      }
      end = op->by == none ? 0 : std::min(op->start, end_of(at(op->by)));
      add("launching and the host", op->start - end);
      now = op->by;
    }
    return out;
  }

  [[nodiscard]] Job job_again() const {
    Job out;
    out.groups = job_.groups;
    out.calls = job_.calls;
    out.clocks.assign(job_.ranks.size(), {});
    for (const RankTrace& one : job_.ranks) {
      RankTrace& mine = out.ranks.emplace_back();
      mine.file = one.file;
      mine.rank = one.rank;
      mine.world = one.world;
      mine.steps = one.steps;
      mine.between = one.between;
    }
    std::vector<char> any(out.ranks.size(), 0);
    for (const Op& op : ops_) {
      const auto rank = static_cast<std::size_t>(op.trace);
      const Span span{std::llround(op.start), std::llround(end_of(op))};
      RankTrace& trace = out.ranks[rank];
      trace.whole = any[rank] != 0 ? Span{std::min(trace.whole.from, span.from), std::max(trace.whole.to, span.to)} : span;
      any[rank] = 1;
      if (op.computes()) {
        trace.busy.push_back(span);
        if (!job_.ranks[rank].kernels[static_cast<std::size_t>(op.kernel)].copy) trace.compute.push_back(span);
        continue;
      }
      Call& call = out.calls[static_cast<std::size_t>(op.call)];
      Part& part = call.parts[static_cast<std::size_t>(op.part)];
      part.from = span.from;
      part.to = span.to;
      part.own = span;
      call.last_end = call.last_start = 0;
    }
    for (RankTrace& trace : out.ranks) {
      unite(trace.compute);
      unite(trace.busy);
    }
    parts::take_apart(out);
    return out;
  }

  const Job& job_;
  const Elsewhere& there_;
  Without without_;
  int straggler_ = -1;
  std::vector<Shortened> shortened_;
  std::int64_t origin_ = 0;
  std::vector<Op> ops_;
  std::vector<Going> going_;
  std::vector<std::map<int, Stream>> streams_;  ///< of each rank
  std::vector<std::vector<Place>> due_;         ///< calls of a rank that its next kernels wait for
};

}  // namespace

int straggler_of(const Job& job) {
  std::map<int, std::int64_t> waited;
  for (const Call& call : job.calls) {
    if (call.last < 0 || static_cast<double>(call.skew()) <= job.clock_doubt || !ends_together(call.moves)) continue;
    for (const Part& part : call.parts)
      if (part.trace != call.last) waited[call.last] += call.wait_of(part);
  }
  const auto worst = std::max_element(waited.begin(), waited.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return worst == waited.end() ? -1 : worst->first;
}

Replay replay(const Job& job, const Elsewhere& there, Without without) { return Player(job, there, without).run(); }

}  // namespace fabricost::observe::timeline
