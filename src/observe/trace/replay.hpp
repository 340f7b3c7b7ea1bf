#pragma once
/// The job of the traces elsewhere: the same kernels and calls in the same order, each as long as it takes there.

#include "trace/timeline.hpp"

#include <functional>
#include <string>
#include <utility>

namespace fabricost::observe::timeline {

/// A call as it is carried there, ns.
struct Carried {
  double wire = 0;
  double outside = 0;  ///< waiting for ranks whose traces are missing
};

/// The times of kernels and calls on the other machine.
struct Elsewhere {
  std::function<double(Work work, double ns)> kernel;
  std::function<Carried(const Call& call)> call;
};

/// The part that is left out of the job.
enum class Without : unsigned char { nothing, straggler, wait, slow };
inline constexpr std::array<std::string_view, 4> without_names{"nothing", "straggler", "wait", "slow"};

struct Replay {
  Job job;  ///< with the times there, taken apart
  /// The chain of work that nothing could have begun earlier, by its parts, ns; they sum to the time from first to last.
  std::map<std::string, double> path;
};

[[nodiscard]] Replay replay(const Job& job, const Elsewhere& there, Without without = Without::nothing);
/// The rank that others wait for longest, a place in job.ranks; -1: none does.
[[nodiscard]] int straggler_of(const Job& job);

}  // namespace fabricost::observe::timeline
