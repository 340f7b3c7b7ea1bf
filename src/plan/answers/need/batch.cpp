/// A larger batch that a run's GPUs divide better.

#include "answers/need/runs.hpp"
#include "answers/searched.hpp"

#include <set>

namespace fabricost::plan {

void name_better_batch(ProjectedRun& run, PlanRequest asked) {
  constexpr double larger = 1.25, worth_it = 1.1;
  constexpr int most_parts = 64;  // of a copy of the model
  constexpr std::size_t max_tried = 6;
  const int batch = *asked.global_batch;
  double best = worth_it * run.layout->tokens_per_second;
  std::set<int> tried{batch};
  asked.top = 1;
  for (int parts = 1; parts <= most_parts && tried.size() <= max_tried; ++parts) {
    const int copies = run.gpus / parts;
    if (copies == 0 || run.gpus % parts != 0) continue;
    const long long next = (static_cast<long long>(batch) + copies - 1) / copies * copies;  // that so many copies share evenly
    if (static_cast<double>(next) > larger * batch || !tried.insert(static_cast<int>(next)).second) continue;
    try {
      asked.global_batch = static_cast<int>(next);
      const PlanAnswer plan = searched(asked);
      if (!plan.fits || plan.layouts.front().tokens_per_second < best) continue;
      best = plan.layouts.front().tokens_per_second;
      run.better_batch = *asked.global_batch;
      run.better_batch_gain = best / run.layout->tokens_per_second - 1;
    } catch (const RequestError&) {}  // that batch cannot be laid out
  }
}

}  // namespace fabricost::plan
