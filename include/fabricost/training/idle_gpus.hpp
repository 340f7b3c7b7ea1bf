#pragma once
/// \file idle_gpus.hpp
/// GPUs that a job leaves idle in its scale-up domains. A group priced inside one domain (kernels/groups.hpp)
/// lies completely in it, so a domain of D GPUs holds whole groups only: of 72 GPUs, groups of 64 expert
/// ranks use 64. Groups over several domains use all GPUs.
///
///   used   minimum over the kinds of groups inside a domain of floor(D / block) x block     block: ranks x their distance
///   idle   ceil(GPUs / used) x D - GPUs

#include <fabricost/hardware/machine_size.hpp>
#include <fabricost/kernels/groups.hpp>

#include <algorithm>
#include <cstddef>

namespace fabricost {

/// GPUs of a domain that the layout's groups fill.
[[nodiscard]] inline int used_of_domain(const Layout& l, int domain) {
  const int room = domain_for_data(l, domain);
  int used = room;
  const auto fill = [&](int ranks, int stride) {
    const Placement at = place(ranks, stride, room);
    if (ranks > 1 && at.domains == 1) used = std::min(used, room / (ranks * stride) * (ranks * stride));
  };
  fill(l.tp, 1);
  fill(l.cp, l.tp);
  fill(l.dp * l.cp, l.tp);
  fill(l.ep, l.expert_tp);
  if (l.ep > 1) fill(l.tp * l.cp * l.dp / (l.ep * l.expert_tp), l.ep * l.expert_tp);
  const int stages = l.placing == Placing::data_inside || l.pp == 1 ? 1 : std::min(l.pp, std::max(1, domain / room));
  return used * stages;
}

/// Minimum number of idle GPUs in the domains that a job takes.
[[nodiscard]] inline int idle_gpus(const Layout& l, int domain) {
  const long long used = std::min(l.gpus(), used_of_domain(l, domain)), gpus = l.gpus();
  return static_cast<int>((gpus + used - 1) / used * domain - gpus);
}

/// Those of them that no other job can have: a job smaller than a domain of several nodes leaves the other nodes of it free.
[[nodiscard]] inline int idle_gpus(const Layout& l, const System& system) {
  const int gpus = l.gpus();
  return takes_part_of_domain(system, gpus) ? static_cast<int>(with_rented_together(system, gpus)) - gpus : idle_gpus(l, system.domain);
}

/// Scale-up domains that a job takes, some in part.
[[nodiscard]] inline int domains_taken(const Layout& l, int domain) { return (l.gpus() + idle_gpus(l, domain)) / domain; }

/// The number of fastest layouts that are searched for one that leaves fewer GPUs idle.
inline constexpr int near_fastest = 32;

/// The place, among layouts of one job, of the one that pays for the fewest GPU-seconds. \param paid GPU-seconds of one
template <class Layouts, class Paid>
[[nodiscard]] std::size_t cheapest_of(const Layouts& layouts, Paid&& paid) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < layouts.size(); ++i)
    if (paid(layouts[i]) < paid(layouts[best])) best = i;
  return best;
}

}  // namespace fabricost
