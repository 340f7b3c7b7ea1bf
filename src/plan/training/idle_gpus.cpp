#include <fabricost/plan/training/idle_gpus.hpp>

namespace fabricost::plan {

int used_of_domain(const Layout& l, int domain) {
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

int idle_gpus(const Layout& l, int domain) {
  const long long used = std::min(l.gpus(), used_of_domain(l, domain)), gpus = l.gpus();
  return static_cast<int>((gpus + used - 1) / used * domain - gpus);
}

int needed_gpus(const Layout& l, int domain) {
  const int gpus = l.gpus(), used = used_of_domain(l, domain);
  return gpus + (gpus - 1) / used * (domain - used);
}

int idle_gpus(const Layout& l, const System& system) {
  const int gpus = l.gpus();
  return takes_part_of_domain(system, gpus) ? static_cast<int>(with_rented_together(system, gpus)) - gpus : idle_gpus(l, system.domain);
}

}  // namespace fabricost::plan
