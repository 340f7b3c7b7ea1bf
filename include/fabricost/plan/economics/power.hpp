#pragma once
/// Power and energy of a machine: racks, switches, cooling.
///
///   racks    = GPUs x rated power of a machine / its GPUs x load
///   switches = ports x power of a port                             network.hpp
///   site     = (racks + switches) x PUE                            PUE: cooling and conversion
///
/// load: the fraction of its rating that a busy node draws, 8.4 of 10.2 kW on 8 H100s (arXiv 2412.08602).
/// Limits: the load is the same for every workload, although decoding draws less than training; storage and
/// front-end networks are left out.

#include <fabricost/plan/economics/network.hpp>
#include <fabricost/error.hpp>
#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/shipped_numbers.hpp>
#include <fabricost/units.hpp>

namespace fabricost::plan {

/// Constants for power and energy (data/prices); the defaults are those of data/prices/default.yaml.
struct PowerUse {
  Sourced<double> load{prior::prices::load};  ///< drawn over rated power of a busy node
  Sourced<double> pue{prior::prices::pue};    ///< power of the site over that of racks and switches, at least 1
  Sourced<double> node_over_gpus{
      prior::prices::node_over_gpus};  ///< rated power of a node over that of its GPUs, used where only the GPU's is known
  Sourced<Watts> switch_port{};        ///< one port with its transceiver at 400 Gbit/s; proportional for other rates
  int switch_radix = static_cast<int>(prior::prices::radix);  ///< ports of a switch
  std::optional<ScaleOut> network{};  ///< none: the machine's own
  Sourced<Watts> rack{};          ///< most rated power of one rack that several machines share; zero: racks are not counted
  double machines_of_a_rack = 1;  ///< most of them
  double gpus_of_a_rack = 1;      ///< most of a machine that is one rack
  double spare_gpus = 0;          ///< of those asked about (NetworkPlan)
};

/// Rated power of one GPU's share of its machine: the system's own, else the GPU's times node_over_gpus; zero
/// if neither is known.
[[nodiscard]] Sourced<Watts> rated_power_per_gpu(const System& system, const PowerUse& use = {});

/// Machines that share a rack, at least 1: as many as its power and its height hold.
[[nodiscard]] double machines_of_a_rack(const System& system, const PowerUse& use);
/// Whether a machine is one rack, with several nodes.
[[nodiscard]] bool is_rack(const System& system, const PowerUse& use);
/// Racks of `gpus` GPUs; 0 where that is not known: of unknown power, or a domain larger than any rack.
[[nodiscard]] double racks_of(const System& system, double gpus, const PowerUse& use);
/// The network between machines that prices and power take. \throws RequestError as network_size
[[nodiscard]] NetworkSize network_of(const System& system, double gpus, const PowerUse& use);

/// Power of `gpus` busy GPUs.
struct Power {
  Watts rated{};  ///< of the racks: the power to be provided
  Watts racks{};  ///< drawn
  Watts switches{};
  Watts site{};  ///< with cooling: (racks + switches) PUE
  Provenance basis;
};
/// \throws RequestError for fewer than 1 GPU or a system of unknown power
[[nodiscard]] Power power_of(const System& system, double gpus, const PowerUse& use = {});

}  // namespace fabricost::plan
