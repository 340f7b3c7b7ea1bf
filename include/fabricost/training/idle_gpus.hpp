#pragma once
/// \file idle_gpus.hpp
/// GPUs that a job leaves idle in its scale-up domains. A group priced inside one domain (kernels/groups.hpp)
/// lies completely in it, so a domain of D GPUs holds whole groups only: of 72 GPUs, groups of 64 expert
/// ranks use 64. Groups over several domains use all GPUs.
///
///   used   minimum over the kinds of groups inside a domain of floor(D / block) x block     block: ranks x their distance
///   idle   ceil(GPUs / used) x D - GPUs

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

/// Scale-up domains that a job takes, some in part.
[[nodiscard]] inline int domains_taken(const Layout& l, int domain) { return (l.gpus() + idle_gpus(l, domain)) / domain; }

/// The number of fastest layouts that are searched for one that leaves fewer GPUs idle.
inline constexpr int near_fastest = 32;

/// The place, among priced layouts of one job, of the one that pays for the fewest GPU-seconds, with idle GPUs.
template <class Layouts>
[[nodiscard]] std::size_t cheapest_of(const Layouts& layouts, int domain) {
  const auto paid = [domain](const auto& one) {
    return one.time.seconds * (static_cast<double>(one.layout.gpus()) + idle_gpus(one.layout, domain));
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < layouts.size(); ++i)
    if (paid(layouts[i]) < paid(layouts[best])) best = i;
  return best;
}

}  // namespace fabricost
