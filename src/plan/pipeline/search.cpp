/// The zero-bubble order for given stage times and memory: ZB-1p, ZB-2p (Qi 2023, arXiv 2401.10241) and any other limit.
///
/// Every stage runs d_i forwards, then B and F alternately, then the remaining Bs; a W runs where the stage
/// would wait, or where the next F needs its memory (fill.cpp). An order is thus a list of depths
/// d_i, and the search is over depths:
///
///   start     evenly from the most the first stage's memory holds to 1 on the last; and d_i = 1 + x return_i / F for x from 1/2 to 2,
///             with return_i the time until the first gradient is back at stage i: F + B of the later stages and two hand-overs a stage
///   improve   from the best of these: the depth of one stage, or of all up to it, one more or one less, kept where the longest stage gets
///             shorter
///
/// The work is bounded: at most `max_tries` orders are run, fewer for long pipelines (`max_pieces` pieces
/// of work in total).

#include "pipeline/orders.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fabricost::plan {
namespace {

class DepthSearch {
 public:
  /// \param room microbatch-stages a stage may hold
  DepthSearch(PipelineSchedule schedule, int stages, int microbatches, const StageTimes& times, double room)
      : schedule_(schedule),
        stages_(stages),
        microbatches_(microbatches),
        times_(times),
        room_(room),
        max_depth_(std::max(1, static_cast<int>(std::min<double>(microbatches, std::floor(room * (1 + 1e-9)))))),
        tries_left_(std::clamp(max_pieces / (9LL * stages * microbatches), min_tries, max_tries)) {}

  /// The shortest run found; empty when no order runs in that room.
  [[nodiscard]] std::optional<PipelineRun> run();

 private:
  using Depths = std::vector<int>;
  static constexpr long long max_tries = 400, min_tries = 10, max_pieces = 4'000'000;

  /// Evenly from the most that the memory of the first stage holds down to 1 on the last.
  [[nodiscard]] Depths even_depths() const;

  [[nodiscard]] Depths return_depths(double part, double rounded_up) const;

  [[nodiscard]] PipelineOrders orders(const Depths& depths) const;

  /// Runs these depths; true if they are the shortest so far.
  bool attempt(const Depths& depths);

  /// One round over all stages; true if any run got shorter.
  bool improve();

  PipelineSchedule schedule_;
  int stages_, microbatches_;
  StageTimes times_;
  double room_;
  int max_depth_;
  long long tries_left_;
  Depths depths_;
  std::optional<PipelineRun> best_;
};

std::optional<PipelineRun> DepthSearch::run() {
  attempt(even_depths());
  for (const double part : {1.0, 2.0, 1.5, 0.75, 0.5})
    for (const double rounded_up : {0.0, 1.0}) attempt(return_depths(part, rounded_up));
  for (bool better = best_.has_value(); better && tries_left_ > 0;) better = improve();
  return std::move(best_);
}

DepthSearch::Depths DepthSearch::even_depths() const {
  Depths out;
  for (int i = 0; i < stages_; ++i) out.push_back(1 + (max_depth_ - 1) * (stages_ - 1 - i) / std::max(1, stages_ - 1));
  return out;
}

DepthSearch::Depths DepthSearch::return_depths(double part, double rounded_up) const {
  Depths out(static_cast<std::size_t>(stages_), 1);
  const double third = times_.last_extra / 3;
  double back = 0;
  for (int i = stages_ - 2; i >= 0; --i) {
    back += times_.forward + times_.backward + 2 * times_.exchange + (i == stages_ - 2 ? 2 * third : 0);
    const double more = times_.forward > 0 ? std::min<double>(microbatches_, part * back / times_.forward) : microbatches_;
    out[static_cast<std::size_t>(i)] = std::clamp(1 + static_cast<int>(std::floor(more + rounded_up)), 1, max_depth_);
  }
  return out;
}

PipelineOrders DepthSearch::orders(const Depths& depths) const {
  PipelineOrders out;
  for (const int depth : depths) {
    std::vector<Work> list;
    list.reserve(2 * static_cast<std::size_t>(microbatches_));
    for (int f = 0; f < depth; ++f) list.push_back({WorkKind::forward, 0, f});
    for (int b = 0; b < microbatches_; ++b) {
      list.push_back({WorkKind::backward, 0, b});
      if (depth + b < microbatches_) list.push_back({WorkKind::forward, 0, depth + b});
    }
    out.push_back(std::move(list));
  }
  return out;
}

bool DepthSearch::attempt(const Depths& depths) {
  if (tries_left_ <= 0) return false;
  --tries_left_;
  auto run = best_filled_run(schedule_, stages_, microbatches_, times_, orders(depths), room_);
  if (!run || (best_ && run->longest_stage >= best_->longest_stage * (1 - 1e-12))) return false;
  best_ = std::move(run);
  depths_ = depths;
  return true;
}

bool DepthSearch::improve() {
  bool better = false;
  for (std::size_t i = 0; i < depths_.size(); ++i)
    for (const int step : {1, -1})
      for (const bool up_to_here : {false, true}) {
        Depths changed = depths_;
        for (std::size_t k = up_to_here ? 0 : i; k <= i; ++k) changed[k] = std::clamp(changed[k] + step, 1, max_depth_);
        if (changed != depths_ && attempt(changed)) better = true;
      }
  return better;
}

}  // namespace

std::optional<PipelineRun> best_depths_run(PipelineSchedule schedule, int stages, int microbatches, const StageTimes& times, double room) {
  return DepthSearch(schedule, stages, microbatches, times, room).run();
}

}  // namespace fabricost::plan
