#pragma once
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
/// Defaults are the machine's own: kind, tapers and number of the network tiers in its file, also where fewer would join the nodes; rails
/// if the file has none.
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
#include <optional>
#include <string_view>

namespace fabricost::plan {

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

/// The kind of network that a machine's file describes; rails where it describes none.
[[nodiscard]] ScaleOut own_kind(const System& system);

/// The network that joins `gpus` GPUs; nothing inside one domain. \throws RequestError for a kind that cannot join them
[[nodiscard]] NetworkSize network_size(const System& system, double gpus, const NetworkPlan& plan);
/// The machine's own kind, of switches with `radix` ports.
[[nodiscard]] NetworkSize network_size(const System& system, double gpus, int radix = 64);

}  // namespace fabricost::plan
