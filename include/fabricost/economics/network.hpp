#pragma once
/// \file network.hpp
/// The network between scale-up domains as a bill counts it: switches, ports, cables, transceivers.
///
///   fat tree    all NICs in one tree of switches with k ports: L tiers join 2 (k/2)^L NICs with ports = NICs (2 L - 1) and
///               cables = NICs L; a full one of three tiers has k^3/4 ends and 5 k^2/4 switches (Al-Fares et al., SIGCOMM 2008).
///               A taper of o leaves 1 / o of a tier's cables to the next one, and o k / (1 + o) ports of a switch to those below
///   rail        a fat tree for each NIC of a node, which only the nodes join (arXiv 2307.12169): L by nodes
///   torus       NICs joined to those of neighbouring nodes, no switches: cables = NICs / 2, in up to three dimensions
///   dragonfly   groups of a = 2 h switches, each with h = (k + 1) / 4 NICs and h cables to other groups, a h + 1 groups at most
///               (Kim, Dally, Scott, Abts, ISCA 2008)
///
/// Defaults are the machine's own: kind and tapers of the network tiers in its file; rails if the file has none.
/// Switches are whole, tier by tier, and each rail has its own; rails of one tier share a switch where several fit. Spares send only in
/// another's place: they take ports at the bottom, one a switch from those that lead up, before they open a tier.
///
/// Copper stays in a rack or between neighbours: from NIC to switch in a fat tree and a dragonfly, inside a group of a dragonfly, and
/// between nodes of one rack in a torus of d dimensions, all but m^(-1/d) of its cables where m nodes share a rack (a cube of 64 TPU v4:
/// 3/4). A rail leads the NICs of a rack to as many switches elsewhere. Everything else is optical, with a transceiver at each end.

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

enum class ScaleOut : unsigned char { rail, fat_tree, torus, dragonfly };
inline constexpr std::array<std::string_view, 4> scale_out_names{"rail", "fat_tree", "torus", "dragonfly"};
[[nodiscard]] constexpr std::string_view name(ScaleOut k) { return scale_out_names[static_cast<std::size_t>(k)]; }

/// GPUs that share the power and price of a system's description: a scale-up domain, or a larger node.
[[nodiscard]] inline int machine_gpus(const System& system) { return std::max({1, system.domain, system.gpus_per_node}); }

/// The design of a network.
struct NetworkPlan {
  std::optional<ScaleOut> kind{};  ///< none: the machine's own
  int radix = 64;                 ///< ports of a switch
  double machines_of_a_rack = 1;  ///< nodes side by side, for a torus
  double spare_gpus = 0;          ///< of the GPUs: they stand by, and open no tier of switches
};

struct NetworkSize {
  double nics = 0;      ///< total
  int tiers = 0;        ///< of switches on the longest way up; 0: none (one domain, or a torus)
  double switches = 0;  ///< whole ones
  double ports = 0;     ///< of switches
  double cables = 0;    ///< all
  double optical = 0;   ///< of them
  double rate = 0;      ///< of a NIC over 400 Gbit/s (50 GB/s one way)
  ScaleOut kind = ScaleOut::rail;
  double taper = 1;  ///< NICs' rate over what the top of the network carries of it

  [[nodiscard]] double copper() const { return cables - optical; }
  [[nodiscard]] double transceivers() const { return 2 * optical; }
};

namespace detail {

/// Tapers of the machine's network tiers from below, without the last one, above which there is nothing.
[[nodiscard]] inline std::vector<double> tapers_of(const System& system) {
  std::vector<double> out;
  for (const Tier& tier : system.tiers)
    if (tier.role == TierRole::network) out.push_back(std::max(1.0, tier.oversubscription));
  if (!out.empty() && out.back() == 1) out.pop_back();
  return out;
}
[[nodiscard]] inline double taper_at(const std::vector<double>& tapers, int tier) {
  return static_cast<std::size_t>(tier) < tapers.size() ? tapers[static_cast<std::size_t>(tier)] : 1;
}
/// The kind of network that a machine's file describes; rails where it describes none.
[[nodiscard]] inline ScaleOut own_kind(const System& system) {
  const Tier* first = system.tier(TierRole::network);
  if (first == nullptr) first = system.tier(TierRole::nic);
  return first != nullptr && first->kind == TierKind::fat_tree    ? ScaleOut::fat_tree
         : first != nullptr && first->kind == TierKind::dragonfly ? ScaleOut::dragonfly
                                                                  : ScaleOut::rail;
}

/// Tiers of a fat tree that joins `ends`.
[[nodiscard]] inline int fat_tree_tiers(double ends, int radix, const std::vector<double>& tapers) {
  constexpr int most = 4;
  int tiers = 1;
  for (double joined = radix; joined < ends && tiers < most; ++tiers) {
    const double taper = taper_at(tapers, tiers - 1);
    joined *= radix * taper / (1 + taper);
  }
  return tiers;
}

/// Tiers where some of the ends stand by: those of the rest, while one port more of each switch at the bottom joins all.
[[nodiscard]] inline int fat_tree_tiers(double ends, double spares, int radix, const std::vector<double>& tapers) {
  const int tiers = fat_tree_tiers(ends - spares, radix, tapers), all = fat_tree_tiers(ends, radix, tapers);
  if (taper_at(tapers, 0) > 1) return all;
  const double bottom = 2 * std::pow(0.5 * radix, tiers - 1);  // switches there
  return tiers > 1 && ends <= bottom * (0.5 * radix + 1) ? tiers : all;
}

/// Ports, cables and whole switches of `trees` fat trees with as many ends.
inline void add_fat_trees(NetworkSize& net, double trees, const std::vector<double>& tapers, int radix) {
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

inline void add_torus(NetworkSize& net, double nics_of_a_node, const NetworkPlan& plan) {
  constexpr double most = 3;
  const double dimensions = std::min(most, std::floor(nics_of_a_node / 2));
  if (dimensions < 1) throw RequestError("a torus joins each node to neighbours on both sides: it takes at least 2 NICs a node");
  net.cables = net.nics / 2;
  net.optical = net.cables * std::pow(std::max(1.0, plan.machines_of_a_rack), -1 / dimensions);
}

inline void add_dragonfly(NetworkSize& net, const std::vector<double>& tapers, int radix) {
  for (const double taper : tapers) net.taper *= taper;
  const double ends = (radix + 1) / 4, routers = 2 * ends, groups = routers * ends + 1;
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

}  // namespace detail

/// The network that joins `gpus` GPUs; nothing inside one domain. \throws RequestError for a kind that cannot join them
[[nodiscard]] inline NetworkSize network_size(const System& system, double gpus, const NetworkPlan& plan) {
  NetworkSize out;
  const Tier* nic = system.tier(TierRole::nic);
  if (gpus <= machine_gpus(system) || nic == nullptr) return out;
  const double nodes = std::ceil(gpus / system.gpus_per_node);
  out.nics = nodes * nic->endpoints;
  out.rate = nic->bandwidth.value / units::GB_per_s(50);
  out.kind = plan.kind.value_or(detail::own_kind(system));
  const std::vector<double> tapers = detail::tapers_of(system);
  if (out.kind == ScaleOut::torus)
    detail::add_torus(out, nic->endpoints, plan);
  else if (out.kind == ScaleOut::dragonfly)
    detail::add_dragonfly(out, tapers, plan.radix);
  else {
    const bool rail = out.kind == ScaleOut::rail;
    const double trees = rail ? nic->endpoints : 1, spares = std::floor(plan.spare_gpus / system.gpus_per_node);
    out.tiers = detail::fat_tree_tiers(out.nics / trees, spares * nic->endpoints / trees, plan.radix, tapers);
    detail::add_fat_trees(out, trees, tapers, plan.radix);
    out.optical = rail ? out.cables : out.cables - out.nics;
  }
  return out;
}
/// The machine's own kind, of switches with `radix` ports.
[[nodiscard]] inline NetworkSize network_size(const System& system, double gpus, int radix = 64) {
  return network_size(system, gpus, NetworkPlan{.radix = radix});
}

}  // namespace fabricost
