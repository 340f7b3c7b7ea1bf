#pragma once
/// \file power.hpp
/// Power and energy of a machine: racks, switches, cooling.
///
///   racks    = GPUs x rated power of a machine / its GPUs x load
///   switches = NICs x (2 L - 1) ports x power of a port            L tiers of a non-blocking fat tree
///   site     = (racks + switches) x PUE                            PUE: cooling and conversion
///
/// load: the fraction of its rating that a busy node draws, 8.4 of 10.2 kW on 8 H100s (arXiv 2412.08602).
/// Limits: the load is the same for every workload, although decoding draws less than training; storage and
/// front-end networks are left out.

#include <fabricost/error.hpp>
#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/shipped_numbers.hpp>
#include <fabricost/units.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace fabricost {

/// Constants for power and energy (data/prices); the defaults are those of data/prices/default.yaml.
struct PowerUse {
  Sourced<double> load{prior::prices::load};  ///< drawn over rated power of a busy node
  Sourced<double> pue{prior::prices::pue};    ///< power of the site over that of racks and switches, at least 1
  Sourced<double> node_over_gpus{
      prior::prices::node_over_gpus};  ///< rated power of a node over that of its GPUs, used where only the GPU's is known
  Sourced<Watts> switch_port{};        ///< one port with its transceiver at 400 Gbit/s; proportional for other rates
  int switch_radix = static_cast<int>(prior::prices::radix);  ///< ports of a switch
};

/// GPUs that share the power and price of a system's description: a scale-up domain, or a larger node.
[[nodiscard]] inline int machine_gpus(const System& system) { return std::max({1, system.domain, system.gpus_per_node}); }

/// A non-blocking fat tree of switches above the NICs of `gpus` GPUs, one rail for each NIC of a node.
struct NetworkSize {
  double nics = 0;    ///< total
  int tiers = 0;      ///< L; 0: all GPUs are in one domain
  double ports = 0;   ///< of switches, nics (2 L - 1)
  double cables = 0;  ///< nics L
  double rate = 0;    ///< of a NIC over 400 Gbit/s (50 GB/s one way)
};
/// \param radix ports of a switch: one tier up to `radix` nodes, two up to radix^2 / 2, three beyond
[[nodiscard]] inline NetworkSize network_size(const System& system, double gpus, int radix = 64) {
  NetworkSize out;
  const Tier* nic = system.tier(TierRole::nic);
  if (gpus <= machine_gpus(system) || nic == nullptr) return out;
  const double nodes = std::ceil(gpus / system.gpus_per_node), r = radix;
  out.nics = nodes * nic->endpoints;
  out.tiers = nodes <= r ? 1 : nodes <= r * r / 2 ? 2 : 3;
  out.ports = out.nics * (2 * out.tiers - 1);
  out.cables = out.nics * out.tiers;
  out.rate = nic->bandwidth.value / units::GB_per_s(50);
  return out;
}

/// Rated power of one GPU's share of its machine: the system's own, else the GPU's times node_over_gpus; zero
/// if neither is known.
[[nodiscard]] inline Sourced<Watts> rated_power_per_gpu(const System& system, const PowerUse& use = {}) {
  if (system.power.value > Watts{}) return {system.power.value / static_cast<double>(machine_gpus(system)), system.power.provenance};
  if (system.gpu.power.value > Watts{})
    return {system.gpu.power.value * use.node_over_gpus.value,
            {system.gpu.power.provenance.source + ", times " + use.node_over_gpus.provenance.source, Confidence::assumed}};
  return {};
}

/// Power of `gpus` busy GPUs.
struct Power {
  Watts rated{};  ///< of the racks: the power to be provided
  Watts racks{};  ///< drawn
  Watts switches{};
  Watts site{};  ///< with cooling: (racks + switches) PUE
  Provenance basis;
};
/// \throws RequestError for fewer than 1 GPU or a system of unknown power
[[nodiscard]] inline Power power_of(const System& system, double gpus, const PowerUse& use = {}) {
  if (!(gpus >= 1)) throw RequestError("power is that of at least 1 GPU");
  detail::check_parts(system, {.gpu = true});
  const Sourced<Watts> each = rated_power_per_gpu(system, use);
  if (!(each.value > Watts{}))
    throw RequestError("no power is known of " + system.name + " nor of its GPU; add `power:` to a YAML file that extends it");
  Power out;
  out.basis = each.provenance;
  out.rated = each.value * gpus;
  out.racks = out.rated * use.load.value;
  const NetworkSize net = network_size(system, gpus, use.switch_radix);
  out.switches = use.switch_port.value * (net.ports * net.rate);
  out.site = (out.racks + out.switches) * use.pue.value;
  return out;
}

/// Energy of a site that runs `gpus` busy GPUs for `time`. \throws as power_of
[[nodiscard]] inline Joules energy_of(const System& system, double gpus, Time time, const PowerUse& use = {}) {
  return power_of(system, gpus, use).site * time;
}

}  // namespace fabricost
