/// Which points no other beats, and where their front bends.

#include <fabricost/plan/answers/design/explore.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace fabricost::plan {
namespace {

/// Values of the objectives that count, less of each is better; empty for a point that is not considered.
[[nodiscard]] std::vector<double> costs_of(const ExploreAnswer& a, const ExplorePoint& point) {
  std::vector<double> out;
  if (!point.meets) return out;
  for (std::size_t i = 0; i < a.objectives.size(); ++i) {
    if (!a.objectives[i].counts) continue;
    const std::optional<double>& value = point.objectives[i].second;
    if (!value) return {};
    out.push_back(a.objectives[i].more_is_better ? -*value : *value);
  }
  return out;
}

struct FrontPoint {
  std::size_t place = 0;
  std::vector<double> costs;
  [[nodiscard]] bool beats(const FrontPoint& other) const {  // or equals
    for (std::size_t i = 0; i < costs.size(); ++i)
      if (costs[i] > other.costs[i]) return false;
    return true;
  }
};

/// Place in `front` of the point furthest from the plane through the ends; none: fewer than three.
[[nodiscard]] std::optional<std::size_t> knee_of(const std::vector<FrontPoint>& front) {
  if (front.size() < 3) return std::nullopt;
  std::vector<double> sums(front.size());
  for (std::size_t i = 0; i < front.front().costs.size(); ++i) {
    const auto log_of = [i](const FrontPoint& c) { return std::copysign(std::log(std::max(1e-300, std::fabs(c.costs[i]))), c.costs[i]); };
    double best = std::numeric_limits<double>::infinity(), worst = -best;
    for (const FrontPoint& c : front) best = std::min(best, log_of(c)), worst = std::max(worst, log_of(c));
    if (worst > best)
      for (std::size_t j = 0; j < front.size(); ++j) sums[j] += (log_of(front[j]) - best) / (worst - best);
  }
  return static_cast<std::size_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
}

}  // namespace

void mark_front(ExploreAnswer& a) {
  std::vector<FrontPoint> all, front;
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    a.points[i].front = false;
    FrontPoint one{i, costs_of(a, a.points[i])};
    if (!one.costs.empty()) all.push_back(std::move(one));
  }
  std::stable_sort(all.begin(), all.end(), [](const FrontPoint& x, const FrontPoint& y) { return x.costs < y.costs; });
  for (FrontPoint& one : all)  // what beats one stands before it
    if (std::none_of(front.begin(), front.end(), [&](const FrontPoint& other) { return other.beats(one); }))
      front.push_back(std::move(one));
  a.front.clear();
  for (const FrontPoint& one : front) {
    a.points[one.place].front = true;
    a.front.push_back(a.points[one.place].number);
  }
  a.knee.reset();
  if (const auto knee = knee_of(front)) a.knee = a.front[*knee];
  for (std::size_t i = 0; i < a.objectives.size(); ++i) {
    ExploreObjective& objective = a.objectives[i];
    objective.best.reset();
    double best = 0;
    for (const ExplorePoint& point : a.points) {
      const std::optional<double> value = point.meets ? point.objectives[i].second : std::nullopt;
      if (!value || (objective.best && (objective.more_is_better ? *value <= best : *value >= best))) continue;
      objective.best = point.number;
      best = *value;
    }
  }
}

}  // namespace fabricost::plan
