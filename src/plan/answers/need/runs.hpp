#pragma once
/// Whole runs of one job on several machines, each on several numbers of GPUs. Private.

#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/design/project.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace fabricost::plan {

/// The numbers of GPUs to run on; none: the least that end in time.
using Sizes = std::vector<std::optional<int>>;

struct Runs {
  ProjectAnswer all;                 ///< a row for every number of GPUs of every machine
  std::vector<std::size_t> machine;  ///< of each row, its place in the request
};
/// Every run in full, all priced by one kind; `best` is left empty.
/// \param request its GPUs are not read \param batches name_better_batch of each run, which takes some more searches \throws as a project
[[nodiscard]] Runs runs_of(const ProjectRequest& request, const std::function<Sizes(const ProjectRequest&, const System&)>& sizes,
                           bool batches);

/// GPUs that could not end in time at twice the peak of their products, as none come near it.
[[nodiscard]] double too_few_gpus(const ProjectRequest& request, const System& system, Time longest);

/// The least value that is enough, of which nothing is asked beyond it, nor below `above`, where none is enough.
[[nodiscard]] NeedAnswer least_above(const NeedRequest& request, double above);

/// Names the best batch that is up to a quarter larger and gives a tenth more tokens per second, as the GPUs divide it better;
/// nothing if there is none. \param asked the question of the run's layout
void name_better_batch(ProjectedRun& run, PlanRequest asked);

}  // namespace fabricost::plan
