#include <fabricost/plan/pipeline/search.hpp>

namespace fabricost::plan::detail {

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

}  // namespace fabricost::plan::detail
