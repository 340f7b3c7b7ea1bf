#pragma once
/// Hand-written machines, so that tests of prices and choices need no files. Rates are one way.

#include <fabricost/hardware/system.hpp>

#include <initializer_list>
#include <string>
#include <utility>

namespace systems {

using fabricost::core::Bandwidth;
using fabricost::core::Constants;
using fabricost::core::Cpu;
using fabricost::core::Generation;
using fabricost::core::Library;
using fabricost::core::NicPath;
using fabricost::core::System;
using fabricost::core::Tier;
using fabricost::core::TierKind;
using fabricost::core::TierRole;
using fabricost::core::Time;
using fabricost::core::Transport;

// as in data/transports (unit.specs compares them)
inline constexpr Transport infiniband{.name = "infiniband", .infiniband_ports = true};
inline constexpr Transport roce{.name = "roce", .roce = true};
inline constexpr Transport efa_v1{.name = "efa-v1", .ll128 = false};
inline constexpr Transport slingshot{.name = "slingshot", .ll128 = false};
inline constexpr Transport tcp{.name = "tcp", .sockets = true};
inline constexpr Transport rccl_roce{.name = "rccl-roce", .roce = true};

inline Bandwidth gigabytes(double per_second) { return fabricost::core::units::GB_per_s(per_second); }

/// A scale-up tier of `endpoints` GPUs with `links` links of `link` GB/s; NCCL's planning rate is `usable`.
inline Tier scale_up(TierKind kind, int endpoints, int links, double link, double usable) {
  Tier t;
  t.name = "nvlink";
  t.role = TierRole::scale_up;
  t.kind = kind;
  t.endpoints = endpoints;
  t.links = links;
  t.link_bandwidth = gigabytes(link);
  t.planning_rate = gigabytes(usable);
  t.bandwidth.value = gigabytes(links * link);
  t.latency.value = t.nominal_latency = fabricost::core::units::ns(500);
  return t;
}

/// The NICs of one node.
inline Tier nics(int count, double rate, Transport transport, NicPath path = NicPath::pxb) {
  Tier t;
  t.name = "nic";
  t.role = TierRole::nic;
  t.kind = TierKind::rails;
  t.endpoints = count;
  t.link_bandwidth = t.bandwidth.value = gigabytes(rate);
  t.latency.value = t.nominal_latency = fabricost::core::units::us(1);
  t.transport = transport;
  t.path = path;
  return t;
}

/// Switches with `below` children each, whose uplinks carry 1/`oversubscription` of their downlinks' rate.
inline Tier network(const char* name, int below, double oversubscription = 1) {
  Tier t;
  t.name = name;
  t.role = TierRole::network;
  t.kind = TierKind::fat_tree;
  t.endpoints = below;
  t.oversubscription = oversubscription;
  t.bandwidth.value = gigabytes(50);
  t.latency.value = t.nominal_latency = fabricost::core::units::ns(600);
  return t;
}

inline System machine(std::string name, Generation generation, int gpus_per_node, int domain, std::initializer_list<Tier> tiers) {
  System s;
  s.name = std::move(name);
  s.gpu.generation = generation;
  s.gpus_per_node = gpus_per_node;
  s.domain = domain;
  s.nodes = 128;
  s.cpu = Cpu::intel;
  s.library = Library::nccl;
  s.tiers.assign(tiers.begin(), tiers.end());
  return s;
}

/// An NVSwitch that reduces and multicasts.
inline Tier reducing(Tier t) {
  t.reduces_in_network = t.multicasts = true;
  return t;
}

inline System ampere_box() {
  return machine("ampere-box", Generation::ampere, 8, 8,
                 {scale_up(TierKind::switched, 8, 12, 25, 20), nics(8, 25, infiniband), network("leaf", 1024)});
}
inline System hopper_box() {
  return machine("hopper-box", Generation::hopper, 8, 8,
                 {reducing(scale_up(TierKind::switched, 8, 18, 25, 20.6)), nics(8, 50, infiniband), network("leaf", 1024)});
}
inline System blackwell_box() {
  return machine("blackwell-box", Generation::blackwell, 8, 8,
                 {reducing(scale_up(TierKind::switched, 8, 18, 50, 40.1)), nics(8, 50, infiniband), network("leaf", 1024)});
}
/// 18 trays of 4 GPUs in one domain, one NIC of 50 GB/s for each GPU.
inline System rack() {
  return machine("rack-72", Generation::blackwell, 4, 72,
                 {reducing(scale_up(TierKind::switched, 72, 18, 50, 40.1)), nics(4, 50, infiniband), network("leaf", 1024)});
}
/// Four Hopper GPUs, six links per pair, one Slingshot NIC each.
inline System grace_hopper_quad() {
  System s =
      machine("grace-hopper-quad", Generation::hopper, 4, 4,
              {scale_up(TierKind::full_mesh, 4, 18, 25, 20.6), nics(4, 25, slingshot, NicPath::c2c), network("leaf", 100000)});
  s.cpu = Cpu::arm;
  return s;
}
/// Eight GPUs that meet over PCIe 4.
inline System pcie_box() {
  Tier pcie = scale_up(TierKind::host, 8, 1, 31.508, 24);
  pcie.name = "pcie";
  pcie.efficiency = 256.0 / 280;
  return machine("pcie-box", Generation::ada, 8, 8, {pcie, nics(1, 25, roce, NicPath::phb), network("leaf", 1024)});
}
/// Eight GPUs, one link between any two.
inline System full_mesh_box() {
  Tier xgmi = scale_up(TierKind::full_mesh, 8, 7, 64, 48);
  xgmi.name = "xgmi";
  System s = machine("full-mesh-box", Generation::cdna3, 8, 8, {xgmi, nics(8, 50, rccl_roce), network("leaf", 1024)});
  s.library = Library::rccl;
  return s;
}
/// The hybrid cube mesh of a DGX-1 with V100: 6 links per GPU.
inline System cube_mesh_box() {
  Tier t = scale_up(TierKind::mesh_graph, 8, 6, 25, 20);
  t.edges = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
             {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
  return machine("cube-mesh-box", Generation::volta, 8, 8, {t, nics(4, 12.5, infiniband), network("leaf", 1024)});
}
/// A 4 x 4 x 4 torus of chips.
inline System torus_cube() {
  Tier ici = scale_up(TierKind::torus, 64, 6, 45, 45);
  ici.name = "ici";
  ici.dims = {4, 4, 4};
  System s = machine("torus-cube", Generation::tpu, 4, 64, {ici, nics(1, 25, tcp), network("leaf", 1024)});
  s.library = Library::other;
  return s;
}
/// One GPU per node and no links between GPUs inside it.
inline System lone_gpus() {
  return machine("lone-gpus", Generation::hopper, 1, 1, {nics(1, 50, infiniband), network("leaf", 1024)});
}
/// Three tiers: NVLink, NICs, and a spine with a third of the leaves' rate.
inline System tapered_boxes() {
  System s = hopper_box();
  s.name = "tapered-boxes";
  s.tiers.back() = network("leaf", 4, 3);
  s.tiers.push_back(network("spine", 32, 1.5));
  s.tiers.push_back(network("core", 4));
  return s;
}

}  // namespace systems
