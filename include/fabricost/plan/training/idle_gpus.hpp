#pragma once
/// GPUs that a job leaves idle in its scale-up domains. A group priced inside one domain (kernels/groups.hpp)
/// lies completely in it, so a domain of D GPUs holds whole groups only: of 72 GPUs, groups of 64 expert
/// ranks use 64. Groups over several domains use all GPUs.
///
///   used   minimum over the kinds of groups inside a domain of floor(D / block) x block     block: ranks x their distance
///   idle   ceil(GPUs / used) x D - GPUs
///   needed GPUs + (ceil(GPUs / used) - 1) x (D - used)     of the last domain those that work

#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/kernels/groups.hpp>

#include <algorithm>
#include <cstddef>

namespace fabricost::plan {

/// GPUs of a domain that the layout's groups fill.
[[nodiscard]] int used_of_domain(const Layout& l, int domain);

/// Minimum number of idle GPUs in the domains that a job takes.
[[nodiscard]] int idle_gpus(const Layout& l, int domain);

/// GPUs that a job must have to run: those that work, and those that its groups leave idle in every domain but the last.
[[nodiscard]] int needed_gpus(const Layout& l, int domain);

/// Idle ones that no other job can have: a job smaller than a domain of several nodes leaves the other nodes of it free.
[[nodiscard]] int idle_gpus(const Layout& l, const System& system);

/// Those beyond the GPUs given to the job, of which the layout may itself leave some idle.
[[nodiscard]] inline int idle_beyond(const Layout& l, const System& system, int gpus) {
  return std::max(0, l.gpus() + idle_gpus(l, system) - gpus);
}

/// Scale-up domains that a job takes, some in part.
[[nodiscard]] inline int domains_taken(const Layout& l, int domain) { return (l.gpus() + idle_gpus(l, domain)) / domain; }

}  // namespace fabricost::plan
