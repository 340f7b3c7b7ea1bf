#pragma once
/// \file network.hpp
/// The network between scale-up domains as a bill counts it: switches, ports, cables, transceivers.
///
///   fat tree    all NICs in one tree of switches with k ports: L tiers join 2 (k/2)^L NICs with ports = NICs (2 L - 1) and
///               cables = NICs L; a full one of three tiers has k^3/4 ends and 5 k^2/4 switches (Al-Fares et al., SIGCOMM 2008)
///   rail        a fat tree for each NIC of a node, which only the nodes join (arXiv 2307.12169): L by nodes
///   torus       NICs joined to those of neighbouring nodes, no switches: cables = NICs / 2, in up to three dimensions
///   dragonfly   groups of a = 2 h switches, each with h = (k + 1) / 4 NICs and h cables to other groups, a h + 1 groups at most
///               (Kim, Dally, Scott, Abts, ISCA 2008)
///
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
#include <string>
#include <string_view>

namespace fabricost {

enum class ScaleOut : unsigned char { rail, fat_tree, torus, dragonfly };
inline constexpr std::array<std::string_view, 4> scale_out_names{"rail", "fat_tree", "torus", "dragonfly"};
[[nodiscard]] constexpr std::string_view name(ScaleOut k) { return scale_out_names[static_cast<std::size_t>(k)]; }

/// GPUs that share the power and price of a system's description: a scale-up domain, or a larger node.
[[nodiscard]] inline int machine_gpus(const System& system) { return std::max({1, system.domain, system.gpus_per_node}); }

/// How a network is built.
struct NetworkPlan {
  ScaleOut kind = ScaleOut::rail;
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

  [[nodiscard]] double copper() const { return cables - optical; }
  [[nodiscard]] double transceivers() const { return 2 * optical; }
};

namespace detail {

/// Tiers of a fat tree that joins `ends`.
[[nodiscard]] inline int fat_tree_tiers(double ends, int radix) {
  constexpr int most = 4;
  int tiers = 1;
  for (double joined = radix; joined < ends && tiers < most; ++tiers) joined *= 0.5 * radix;
  return tiers;
}

/// Tiers where some of the ends stand by: those of the rest, while one port more of each switch at the bottom joins all.
[[nodiscard]] inline int fat_tree_tiers(double ends, double spares, int radix) {
  const int tiers = fat_tree_tiers(ends - spares, radix), all = fat_tree_tiers(ends, radix);
  const double bottom = 2 * std::pow(0.5 * radix, tiers - 1);  // switches there
  return tiers > 1 && ends <= bottom * (0.5 * radix + 1) ? tiers : all;
}

/// Ports, cables and whole switches of `trees` fat trees with as many ends.
inline void add_fat_trees(NetworkSize& net, double trees, int radix) {
  const double ends = net.nics / trees;
  for (int tier = 0; tier < net.tiers; ++tier) {
    const double above = tier + 1 == net.tiers ? 0 : net.nics;
    net.ports += net.nics + above;
    net.cables += net.nics;
    net.switches += trees * std::ceil((net.nics + above) / trees / radix);
  }
  if (net.tiers == 1) net.switches = std::ceil(trees / std::max(1.0, std::floor(radix / ends)));
}

inline void add_torus(NetworkSize& net, double nics_of_a_node, const NetworkPlan& plan) {
  constexpr double most = 3;
  const double dimensions = std::min(most, std::floor(nics_of_a_node / 2));
  if (dimensions < 1) throw RequestError("a torus joins each node to neighbours on both sides: it takes at least 2 NICs a node");
  net.cables = net.nics / 2;
  net.optical = net.cables * std::pow(std::max(1.0, plan.machines_of_a_rack), -1 / dimensions);
}

inline void add_dragonfly(NetworkSize& net, int radix) {
  const double ends = (radix + 1) / 4, routers = 2 * ends, groups = routers * ends + 1;
  if (net.nics > ends * routers * groups)
    throw RequestError("a dragonfly of switches with " + std::to_string(radix) + " ports joins at most " +
                       std::to_string(static_cast<long long>(ends * routers * groups)) + " NICs; there are " +
                       std::to_string(static_cast<long long>(net.nics)));
  const double all = net.nics / ends;
  net.tiers = 1;
  net.switches = std::ceil(all);
  net.ports = all * (ends + routers - 1 + ends);
  net.optical = all * ends / 2;
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
  if (plan.kind == ScaleOut::torus) {
    detail::add_torus(out, nic->endpoints, plan);
  } else if (plan.kind == ScaleOut::dragonfly) {
    detail::add_dragonfly(out, plan.radix);
  } else {
    const bool rail = plan.kind == ScaleOut::rail;
    const double trees = rail ? nic->endpoints : 1, spares = std::floor(plan.spare_gpus / system.gpus_per_node);
    out.tiers = detail::fat_tree_tiers(out.nics / trees, spares * nic->endpoints / trees, plan.radix);
    detail::add_fat_trees(out, trees, plan.radix);
    out.optical = rail ? out.cables : out.cables - out.nics;
  }
  return out;
}
/// Rails, of switches with `radix` ports.
[[nodiscard]] inline NetworkSize network_size(const System& system, double gpus, int radix = 64) {
  return network_size(system, gpus, NetworkPlan{.radix = radix});
}

}  // namespace fabricost
