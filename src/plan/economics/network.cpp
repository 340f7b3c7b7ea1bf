#include <fabricost/plan/economics/network.hpp>

namespace fabricost::plan {

ScaleOut own_kind(const System& system) {
  const Tier* first = system.tier(TierRole::network);
  if (first == nullptr) first = system.tier(TierRole::nic);
  return first != nullptr && first->kind == TierKind::fat_tree    ? ScaleOut::fat_tree
         : first != nullptr && first->kind == TierKind::dragonfly ? ScaleOut::dragonfly
                                                                  : ScaleOut::rail;
}

}  // namespace fabricost::plan

namespace fabricost::plan::detail {

/// Tapers of the machine's network tiers from below, without the last one, above which there is nothing.
std::vector<double> tapers_of(const System& system) {
  std::vector<double> out;
  for (const Tier& tier : system.tiers)
    if (tier.role == TierRole::network) out.push_back(std::max(1.0, tier.oversubscription));
  if (!out.empty() && out.back() == 1) out.pop_back();
  return out;
}

double taper_at(const std::vector<double>& tapers, int tier) {
  return static_cast<std::size_t>(tier) < tapers.size() ? tapers[static_cast<std::size_t>(tier)] : 1;
}

int fat_tree_tiers(double ends, int radix, const std::vector<double>& tapers) {
  constexpr int most = 4;
  int tiers = 1;
  for (double joined = radix; joined < ends && tiers < most; ++tiers) {
    const double taper = taper_at(tapers, tiers - 1);
    joined *= radix * taper / (1 + taper);
  }
  return tiers;
}

/// Tiers where some of the ends stand by: those of the rest, while one port more of each switch at the bottom joins all.
int fat_tree_tiers(double ends, double spares, int radix, const std::vector<double>& tapers) {
  const int tiers = fat_tree_tiers(ends - spares, radix, tapers), all = fat_tree_tiers(ends, radix, tapers);
  if (taper_at(tapers, 0) > 1) return all;
  const double bottom = 2 * std::pow(0.5 * radix, tiers - 1);  // switches there
  return tiers > 1 && ends <= bottom * (0.5 * radix + 1) ? tiers : all;
}

/// Tiers that the machine's file describes for so many nodes: those up to the one that joins them all.
int described_tiers(const System& system, double nodes) {
  int out = 0;
  double joined = 1;
  for (const Tier& tier : system.tiers) {
    if (tier.role != TierRole::network || joined >= nodes) continue;
    joined *= tier.endpoints;
    ++out;
  }
  return out;
}

/// Ports, cables and whole switches of `trees` fat trees with as many ends.
void add_fat_trees(NetworkSize& net, double trees, const std::vector<double>& tapers, int radix) {
  double below = net.nics;  // cables from below into a tier
  for (int tier = 0; tier < net.tiers; ++tier) {
    const bool top = tier + 1 == net.tiers;
    const double above = top ? 0 : below / taper_at(tapers, tier);
    if (!top) net.taper *= taper_at(tapers, tier);
    net.ports += below + above;
    net.cables += below;
    net.switches += trees * std::ceil((below + above) / trees / radix);
    below = above;
  }
  if (net.tiers == 1) net.switches = std::ceil(trees / std::max(1.0, std::floor(radix * trees / net.nics)));
}

void add_torus(NetworkSize& net, double nics_of_a_node, const NetworkPlan& plan) {
  constexpr double most = 3;
  const double dimensions = std::min(most, std::floor(nics_of_a_node / 2));
  if (dimensions < 1) throw RequestError("a torus joins each node to neighbours on both sides: it takes at least 2 NICs a node");
  net.cables = net.nics / 2;
  net.optical = net.cables * std::pow(std::max(1.0, plan.machines_of_a_rack), -1 / dimensions);
}

void add_dragonfly(NetworkSize& net, const std::vector<double>& tapers, int radix) {
  for (const double taper : tapers) net.taper *= taper;
  const int quarter = (radix + 1) / 4;  // whole ports
  const double ends = quarter, routers = 2 * ends, groups = routers * ends + 1;
  if (net.nics > ends * routers * groups)
    throw RequestError("a dragonfly of switches with " + std::to_string(radix) + " ports joins at most " +
                       std::to_string(static_cast<long long>(ends * routers * groups)) + " NICs; there are " +
                       std::to_string(static_cast<long long>(net.nics)));
  const double all = net.nics / ends;
  net.tiers = 1;
  const double away = ends / net.taper;  // cables of a switch to other groups
  net.switches = std::ceil(all);
  net.ports = all * (ends + routers - 1 + away);
  net.optical = all * away / 2;
  net.cables = net.nics + all * (routers - 1) / 2 + net.optical;
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

NetworkSize network_size(const System& system, double gpus, const NetworkPlan& plan) {
  NetworkSize out;
  const Tier* nic = system.tier(TierRole::nic);
  if (gpus <= machine_gpus(system) || nic == nullptr) return out;
  const double nodes = std::ceil(gpus / system.gpus_per_node);
  out.nics = nodes * nic->endpoints;
  out.rate = nic->bandwidth.value / units::GB_per_s(50);
  out.kind = plan.kind.value_or(own_kind(system));
  const std::vector<double> tapers = detail::tapers_of(system);
  if (nic->kind == TierKind::point_to_point && !plan.kind) {  // nodes cabled to each other
    out.cables = out.nics / 2;
    return out;
  }
  if (out.kind == ScaleOut::torus)
    detail::add_torus(out, nic->endpoints, plan);
  else if (out.kind == ScaleOut::dragonfly)
    detail::add_dragonfly(out, tapers, plan.radix);
  else {
    const bool rail = out.kind == ScaleOut::rail;
    const double trees = rail ? nic->endpoints : 1, spares = std::floor(plan.spare_gpus / system.gpus_per_node);
    out.tiers = detail::fat_tree_tiers(out.nics / trees, spares * nic->endpoints / trees, plan.radix, tapers);
    if (out.kind == own_kind(system)) out.tiers = std::max(out.tiers, detail::described_tiers(system, nodes - spares));
    detail::add_fat_trees(out, trees, tapers, plan.radix);
    out.optical = rail ? out.cables : out.cables - out.nics;
  }
  return out;
}

NetworkSize network_size(const System& system, double gpus, int radix) { return network_size(system, gpus, NetworkPlan{.radix = radix}); }

}  // namespace fabricost::plan
