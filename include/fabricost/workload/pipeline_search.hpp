#pragma once
/// \file pipeline_search.hpp
/// The zero-bubble order searched for given times and memory: ZB-1p and ZB-2p, and from there any limit between and beyond.
///
/// The heuristic of Qi 2023 (arXiv 2401.10241), microbatch by microbatch, stage by stage. The paper tells it in words; its tie-breaks, on
/// which the published digits rest, are those of github.com/sail-sg/zero-bubble-pipeline-parallelism (zb.py), written anew:
///
///   warm-up   as many forwards as memory takes before the first B can be there, fewer on every later stage
///   then      one F (put off where the next stage is behind anyway) and one B in turn
///   W         where it fits before the next piece's input is there, or where the gap would make this stage the worst of all, or where
///             the memory is needed; the rest at the end
///
/// Three decisions are open: an F more than the wait for the first B holds, whether to put an F off, whether a W may delay the next piece
/// of a stage that is not the worst. All eight ways are tried, the shortest longest stage is kept. It gives the published bubbles of all
/// ZB-1p and ZB-2p rows to their rounding, with the share of activations held for W of 32 / (34 + 5 a s / h).

#include <fabricost/workload/pipeline_work.hpp>

namespace fabricost {
namespace detail {

/// One try of the heuristic.
class ZeroBubbleSearch {
 public:
  struct Ways {
    bool overfill, put_off, delay;
  };

  /// \param room microbatch-stages a stage may hold
  ZeroBubbleSearch(int stages, int microbatches, const StageTimes& times, double room, Ways ways)
      : p_(stages),
        m_(microbatches),
        t_(times),
        room_(room * (1 + 1e-9)),
        ways_(ways),
        at_(static_cast<std::size_t>(stages)),
        forward_end_(static_cast<std::size_t>(stages) * static_cast<std::size_t>(microbatches)),
        backward_end_(forward_end_.size()) {
    for (Stage& s : at_) s.order.reserve(3 * static_cast<std::size_t>(microbatches));
  }

  /// Orders of all stages; none when a stage cannot go on in its memory.
  [[nodiscard]] std::optional<PipelineOrders> orders() {
    warm_up();
    for (int i = 1; i < m_; ++i) {
      const std::vector<bool> forwards = wanted_forwards();
      for (int j = 0; j < p_; ++j)
        if (forwards[index(j)] && !put_forward(j)) return std::nullopt;
      for (int j = p_ - 1; j >= 0; --j) {
        if (j + 1 < p_) fill(j, end_of(backward_end_, j + 1, i) + t_.exchange);
        if (j == 0 && stage(j).forwards == m_)
          while (stage(j).weights < stage(j).backwards) put(j, WorkKind::weight);
        put(j, WorkKind::backward);
      }
    }
    PipelineOrders out;
    for (int j = 0; j < p_; ++j) {
      while (stage(j).weights < m_) put(j, WorkKind::weight);
      out.push_back(std::move(stage(j).order));
    }
    return out;
  }

 private:
  struct Stage {
    int forwards = 0, backwards = 0, weights = 0;
    double held = 0, now = 0, waited = 0;
    std::vector<Work> order;
  };

  [[nodiscard]] static std::size_t index(int j) { return static_cast<std::size_t>(j); }
  [[nodiscard]] Stage& stage(int j) { return at_[index(j)]; }
  [[nodiscard]] double& end_of(std::vector<double>& ends, int j, int microbatch) const {
    return ends[index(j) * index(m_) + index(microbatch)];
  }
  /// Of a stage with the extra work of the last layers: a third each.
  [[nodiscard]] double seconds(int j, WorkKind kind) const {
    const double third = j == p_ - 1 ? t_.last_extra / 3 : 0;
    return third + (kind == WorkKind::forward ? t_.forward : kind == WorkKind::backward ? t_.backward : t_.weight);
  }
  [[nodiscard]] double most_waited() const {
    double most = 0;
    for (const Stage& s : at_) most = std::max(most, s.waited);
    return most;
  }

  void put(int j, WorkKind kind) {
    Stage& s = stage(j);
    int& n = kind == WorkKind::forward ? s.forwards : kind == WorkKind::backward ? s.backwards : s.weights;
    double start = s.now;
    if (kind == WorkKind::forward && j > 0) start = std::max(start, end_of(forward_end_, j - 1, n) + t_.exchange);
    if (kind == WorkKind::backward && j + 1 < p_) start = std::max(start, end_of(backward_end_, j + 1, n) + t_.exchange);
    if (s.forwards > 0) s.waited += start - s.now;
    s.now = start + seconds(j, kind);
    if (kind == WorkKind::forward) end_of(forward_end_, j, n) = s.now;
    if (kind == WorkKind::backward) end_of(backward_end_, j, n) = s.now;
    const double held = t_.held_for_weight;
    s.held += kind == WorkKind::forward ? 1 : kind == WorkKind::backward ? held - 1 : -held;
    s.order.push_back({kind, 0, n});
    ++n;
  }

  /// Ws before a piece whose input comes at `arrival`.
  void fill(int j, double arrival) {
    Stage& s = stage(j);
    const double w = seconds(j, WorkKind::weight);
    while (s.weights < s.backwards && s.now + w <= arrival) put(j, WorkKind::weight);
    if (s.weights < s.backwards && s.now < arrival && (arrival - s.now > most_waited() - s.waited || ways_.delay)) put(j, WorkKind::weight);
  }

  void warm_up() {
    for (int j = 0; j < p_; ++j) put(j, WorkKind::forward);
    std::vector<int> more(at_.size(), 0);
    double gradient = stage(p_ - 1).now + seconds(p_ - 1, WorkKind::backward);  // when the next stage has its first gradient
    for (int j = p_ - 2; j >= 0; --j) {
      const double f = seconds(j, WorkKind::forward), arrival = gradient + t_.exchange;
      double now = stage(j).now;
      int& n = more[index(j)];
      while (1 + n < m_ && stage(j).held + n + 1 <= room_ && (ways_.overfill ? now + f <= arrival : now < arrival)) {
        now += f;
        ++n;
      }
      gradient = std::max(now, arrival) + seconds(j, WorkKind::backward);
    }
    for (int j = 1; j < p_; ++j) {
      int& n = more[index(j)];
      while (n > 0 && n >= more[index(j - 1)] && 1 + n < m_) --n;
    }
    for (int j = 0; j < p_; ++j)
      for (int k = 0; k < more[index(j)]; ++k) put(j, WorkKind::forward);
    for (int j = p_ - 1; j >= 0; --j) put(j, WorkKind::backward);
  }

  /// Which stages start another microbatch in this round; none whose next stage does not.
  [[nodiscard]] std::vector<bool> wanted_forwards() {
    std::vector<bool> wanted(at_.size(), false);
    for (int j = p_ - 1; j >= 0; --j) {
      if (stage(j).forwards >= m_) continue;
      wanted[index(j)] = (j + 1 == p_ || wanted[index(j + 1)]) && !(ways_.put_off && better_later(j));
    }
    return wanted;
  }

  [[nodiscard]] bool better_later(int j) {
    if (j + 1 >= p_ || stage(j).forwards < stage(j + 1).forwards + 2) return false;
    Stage& s = stage(j);
    // the next stage can do one F and one B before it needs what this one would start now
    const double later = stage(j + 1).now + seconds(j + 1, WorkKind::forward) + seconds(j + 1, WorkKind::backward) + t_.exchange;
    if (s.now >= later) return true;
    double held = s.held + 1, needed = seconds(j, WorkKind::forward);
    for (int w = s.weights; held > room_ && w < s.backwards; ++w) {
      held -= t_.held_for_weight;
      needed += seconds(j, WorkKind::weight);
    }
    return s.now + needed > later && later - s.now <= most_waited() - s.waited;
  }

  [[nodiscard]] bool put_forward(int j) {
    Stage& s = stage(j);
    while (s.held + 1 > room_) {
      if (s.weights >= s.backwards) return false;
      put(j, WorkKind::weight);
    }
    if (j > 0) fill(j, end_of(forward_end_, j - 1, s.forwards) + t_.exchange);
    put(j, WorkKind::forward);
    return true;
  }

  int p_, m_;
  StageTimes t_;
  double room_;
  Ways ways_;
  std::vector<Stage> at_;
  std::vector<double> forward_end_, backward_end_;
};

/// The best of the eight ways. \param room microbatch-stages a stage may hold, at least `stages`
[[nodiscard]] inline std::pair<PipelineOrders, PipelineRun> searched_orders(PipelineSchedule schedule, int stages, int microbatches,
                                                                            const StageTimes& times, double room) {
  std::optional<std::pair<PipelineOrders, PipelineRun>> best;
  for (int way = 0; way < 8; ++way) {
    auto orders = ZeroBubbleSearch(stages, microbatches, times, room, {(way & 4) == 0, (way & 2) == 0, (way & 1) == 0}).orders();
    if (!orders) continue;
    PipelineRun run = execute_pipeline(schedule, stages, 1, microbatches, times, *orders);
    if (!best || run.longest_stage < best->second.longest_stage) best.emplace(*std::move(orders), std::move(run));
  }
  if (!best) throw RequestError("schedule " + std::string(name(schedule)) + ": no order runs in a memory of " + std::to_string(room));
  return *std::move(best);
}

}  // namespace detail
}  // namespace fabricost
