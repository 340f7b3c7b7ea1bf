/// The ranks' clocks. Ranks leave an all-reduce, all-gather, reduce-scatter or all-to-all within microseconds of each other, whenever they
/// entered it; so the median distance of two ranks' ends is the distance of their clocks. A clock's difference in speed follows from
/// the medians of the first and the last half of the calls. For calls of which only the length is known, the ends are aligned: the
/// rank that was in it for the shortest time came last.

#include "text/quantile.hpp"
#include "trace/timeline.hpp"

#include <algorithm>
#include <cmath>

namespace fabricost::observe::timeline::parts {

namespace {

struct Distance {
  std::int64_t at = 0, own = 0;  ///< time, and this clock against the others', ns
};

[[nodiscard]] double median_of(std::vector<Distance>::iterator from, std::vector<Distance>::iterator to) {
  const auto middle = from + (to - from) / 2;
  std::nth_element(from, middle, to, [](const Distance& a, const Distance& b) { return a.own < b.own; });
  return static_cast<double>(middle->own);
}

/// Twice the median distance from the middle: the uncertainty of a clock.
[[nodiscard]] double doubt_of(std::vector<Distance>::const_iterator from, std::vector<Distance>::const_iterator to, double middle) {
  std::vector<Distance> around(from, to);
  for (Distance& one : around) one.own = std::abs(one.own - static_cast<std::int64_t>(middle));
  return 2 * median_of(around.begin(), around.end());
}

[[nodiscard]] Part moved_to_end(Part part, std::int64_t end) {
  part.from += end - part.to;
  part.to = end;
  return part;
}

class Aligner {
 public:
  explicit Aligner(Job& job) : job_(job), of_(job.ranks.size()), set_(job.ranks.size(), 0) {
    constexpr std::size_t enough = 512;  // calls of a rank, spread over its trace
    for (const Call& call : job.calls)
      if (call.parts.size() > 1 && call.timing == Timing::placed && ends_together(call.moves))
        for (const Part& part : call.parts) of_[static_cast<std::size_t>(part.trace)].push_back(&call);
    for (std::vector<const Call*>& calls : of_) {
      if (calls.size() <= enough) continue;
      for (std::size_t i = 0; i < enough; ++i) calls[i] = calls[i * calls.size() / enough];
      calls.resize(enough);
    }
    job.clocks.assign(job.ranks.size(), {});
  }

  void run() {
    const std::size_t count = job_.ranks.size();
    for (std::size_t first = 0; first < count; ++first) {
      if (set_[first] != 0) continue;
      set_[first] = 1;
      for (bool more = true; more;) {  // those that share calls with it, directly or through others
        more = false;
        for (std::size_t rank = 0; rank < count; ++rank)
          if (set_[rank] == 0 && place_clock(rank, false)) more = true;
      }
    }
    constexpr int sweeps = 3;
    for (int i = 0; i < sweeps; ++i)
      for (std::size_t rank = 1; rank < count; ++rank) (void)place_clock(rank, i > 0);
    apply();
  }

 private:
  [[nodiscard]] std::vector<Distance> distances(std::size_t rank) const {
    std::vector<Distance> out;
    std::vector<std::int64_t> others;
    for (const Call* call : of_[rank]) {
      std::int64_t own = 0;
      others.clear();
      for (const Part& part : call->parts) {
        const auto at = static_cast<std::size_t>(part.trace);
        if (at == rank)
          own = part.to;
        else if (set_[at] != 0)
          others.push_back(job_.clocks[at].common(part.to));
      }
      if (others.empty()) continue;
      out.push_back({own, own - upper_median(others)});
    }
    return out;
  }

  [[nodiscard]] bool place_clock(std::size_t rank, bool with_rate) {
    std::vector<Distance> all = distances(rank);
    if (all.empty()) return false;
    set_[rank] = 1;
    Clock& clock = job_.clocks[rank];
    const double offset = median_of(all.begin(), all.end());
    // clocks of one host agree better than calls end together
    const bool apart = std::abs(offset) > doubt_of(all.begin(), all.end(), offset);
    clock = {.at = all.front().at, .offset = apart ? offset : 0, .rate = 0};
    constexpr std::ptrdiff_t few = 16;
    if (!with_rate || std::ssize(all) < few) return true;
    std::sort(all.begin(), all.end(), [](const Distance& a, const Distance& b) { return a.at < b.at; });
    const auto half = all.begin() + std::ssize(all) / 2;
    const std::int64_t first = all[all.size() / 4].at, last = all[3 * all.size() / 4].at;
    const double early = median_of(all.begin(), half), late = median_of(half, all.end());
    if (last <= first || std::abs(late - early) <= doubt_of(all.begin(), half, early) + doubt_of(half, all.end(), late)) return true;
    constexpr double worst = 1e-3;  // no clock of a computer is that wrong
    clock = {.at = first, .offset = early, .rate = std::clamp((late - early) / static_cast<double>(last - first), -worst, worst)};
    return true;
  }

  void apply() {
    std::vector<std::int64_t> apart;
    for (Call& call : job_.calls) {
      for (Part& part : call.parts) {
        const Clock& clock = job_.clocks[static_cast<std::size_t>(part.trace)];
        part.own = {part.from, part.to};
        const std::int64_t length = part.to - part.from;
        part.to = clock.common(part.to);
        part.from = part.to - length;
      }
      if (call.parts.size() < 2) continue;
      const auto [low, high] =
          std::minmax_element(call.parts.begin(), call.parts.end(), [](const Part& a, const Part& b) { return a.to < b.to; });
      if (call.timing == Timing::length) {
        const std::int64_t end = high->to;
        for (Part& part : call.parts) part = moved_to_end(part, end);
      }
      if (call.timing != Timing::placed || !ends_together(call.moves)) continue;
      apart.push_back(high->to - low->to);
    }
    if (apart.empty()) return;
    job_.clock_doubt = static_cast<double>(upper_median(apart));
  }

  Job& job_;
  std::vector<std::vector<const Call*>> of_;
  std::vector<char> set_;
};

}  // namespace

void align(Job& job) { Aligner(job).run(); }

}  // namespace fabricost::observe::timeline::parts
