/// \file rules_node.cpp
/// Inside a node: PCIe links, NVLink, peer to peer, reduction in the switch, and what a guest sees of them. Each rule says on which line it
/// rests.

#include "diagnose/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fabricost::diagnosis {

namespace {

using io::LogLine;
using io::Seen;
using io::Sign;

std::optional<Clue> pcie(const Context& c) {
  if (const Seen& down = c.info.seen(Sign::link_downgraded); down.times > 0)
    return Clue{{Cause::pcie_downgraded, 0.85, cited(down),
                 "read LnkSta under load (idle links slow down by themselves); reseat, check risers and BIOS"},
                Weight::proof};
  if (const Seen& chipset = c.info.seen(Sign::chipset_path); chipset.times > 0)
    return Clue{{Cause::pcie_downgraded, 0.75, cited(chipset) + ": its lanes are shared with everything behind the chipset",
                 "move the GPU to a slot of the CPU"},
                Weight::proof};
  return std::nullopt;
}

/// PCIe links in NCCL's dump: one bogus (below a single lane of PCIe 1, 0.25 GB/s) misleads the search; one slower than its siblings is
/// degraded.
std::optional<Clue> pcie_in_topology(const Context& c) {
  double most = 0;
  const io::TopologyLink* least = nullptr;
  for (const io::TopologyLink& link : c.info.topology)
    if (link.kind == "PCI" && link.rate > 0) {
      most = std::max(most, link.rate);
      const bool gpu = link.to.starts_with("GPU") || link.to.starts_with("PCI");
      if (gpu && (least == nullptr || link.rate < least->rate)) least = &link;
    }
  if (least == nullptr) return std::nullopt;
  if (least->rate < 0.25)
    return Clue{{Cause::container_vm_topology, 0.85,
                 fmt::format("{}: {:.3g} GB/s is less than one PCIe lane: the guest sees a bridge that is none, and NCCL plans around it",
                             cited(least->line), least->rate),
                 "show the guest the host's NUMA nodes and PCIe switches, or give NCCL_TOPO_FILE from bare metal with the guest's bus ids"},
                Weight::proof};
  if (most > 3 * least->rate && least->to.starts_with("GPU"))
    return Clue{
        {Cause::pcie_downgraded, 0.7, fmt::format("{}: {:.3g} GB/s where another link has {:.3g}", cited(least->line), least->rate, most),
         "lspci -vv: LnkSta against LnkCap of this GPU and the bridges above it"},
        Weight::proof};
  return std::nullopt;
}

std::optional<Clue> virtual_machine(const Context& c) {
  if (const Seen& bogus = c.info.seen(Sign::bogus_topology); bogus.times > 0)
    return Clue{{Cause::container_vm_topology, 0.7, cited(bogus) + ": NCCL cannot see how fast a link is or where it hangs",
                 "show the guest PCIe switches and NUMA nodes, or give NCCL_TOPO_FILE"},
                Weight::proof};
  const Seen& seen = c.info.seen(Sign::virtual_machine);
  if (seen.times == 0) return std::nullopt;
  return Clue{{Cause::container_vm_topology, 0.45, cited(seen),
               "does the guest see the PCIe switches and NUMA nodes? Give NCCL_TOPO_FILE; ATS and ACS direct translated on the bridges"},
              Weight::hint};
}

/// NVLink in the matrix, but not between all GPUs: a ring over more than the pair crosses PCIe.
std::optional<Clue> nvlink_in_pairs(const Context& c) {
  int gpus = 0, linked = 0;
  const io::MatrixRow* mixed = nullptr;
  for (const io::MatrixRow& row : c.info.matrix) {
    ++gpus;
    const auto own = std::find(row.cells.begin(), row.cells.end(), "X");
    if (own == row.cells.end()) continue;
    int with = 0, without = 0;
    // GPUs stand first, as many as the largest NVLink column or the row's own index tell
    std::size_t columns = static_cast<std::size_t>(own - row.cells.begin()) + 1;
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      if (row.cells[i].starts_with("NV")) columns = std::max(columns, i + 1);
    columns = std::max(columns, c.info.matrix.size());
    for (std::size_t i = 0; i < std::min(columns, row.cells.size()); ++i) {
      if (row.cells[i] == "X") continue;
      (row.cells[i].starts_with("NV") ? with : without) += 1;
    }
    linked += with;
    if (with > 0 && without > 0 && mixed == nullptr) mixed = &row;
  }
  if (mixed == nullptr || gpus < 3) return std::nullopt;
  // a hybrid cube mesh leaves some pairs without a link and still closes rings: every GPU has several peers there
  const double peers = static_cast<double>(linked) / gpus;
  if (peers > 2) return std::nullopt;
  return Clue{{Cause::nvlink_not_used, 0.85,
               fmt::format("{}: NVLink joins each GPU to {:.2g} other only; a ring over more GPUs crosses PCIe or the sockets",
                           cited(mixed->line), peers),
               "keep tensor-parallel groups inside a bridged pair; no setting changes the wiring"},
              Weight::proof};
}

std::optional<Clue> peer_to_peer(const Context& c) {
  const auto& info = c.info;
  const int nodes = c.nodes();
  if (const Seen& refused = info.seen(Sign::p2p_refused); refused.times > 0)
    return Clue{{Cause::no_p2p_shm, 0.8, cited(refused),
                 "check the driver's peer access, IOMMU and ACS; in containers give all GPUs to each process"},
                Weight::proof};
  if (const Seen& failed = info.seen(Sign::shm_failed); failed.times > 0)
    return Clue{{Cause::no_p2p_shm, 0.8, cited(failed), "give the container more shared memory (--shm-size=1g, --ipc=host)"},
                Weight::proof};
  const bool local_network = !info.net.empty() && nodes == 1 && info.peer == 0;
  if (local_network || info.local_net.number > 0) {
    const LogLine& line = info.local_net.number > 0 ? info.local_net : info.net.begin()->second.first;
    return Clue{{Cause::no_p2p_shm, 0.75, cited(line) + ": ranks of one node talk over the network",
                 "give the containers one IPC namespace and all GPUs, and the same host name (NCCL_HOSTID); unset NCCL_P2P_DISABLE and "
                 "NCCL_SHM_DISABLE"},
                Weight::proof};
  }
  const Seen& unsupported = info.seen(Sign::p2p_unsupported);
  const io::Setting* disabled = info.setting("NCCL_P2P_DISABLE");
  if (info.shared_memory > 0 && info.peer == 0) {
    // GeForce drivers keep P2P off, and PCIe boards may: normal there
    const Tier* up = c.system ? c.system->tier(TierRole::scale_up) : nullptr;
    const bool consumer = std::any_of(info.rank_lines.begin(), info.rank_lines.end(),
                                      [](const io::RankLine& r) { return r.gpu.find("GeForce") != std::string::npos; });
    const bool known_without = consumer || (up != nullptr && up->kind == TierKind::host);
    return Clue{
        {Cause::no_p2p_shm,
         disabled != nullptr ? 0.7
         : known_without     ? 0.4
                             : 0.65,
         cited(info.shared_memory_line) + ": every connection inside the node is staged in shared memory, none goes from GPU to GPU" +
             (unsupported.times > 0 ? "; " + cited(unsupported) : std::string{}),
         "look for NCCL_P2P_DISABLE and NCCL_P2P_LEVEL, IOMMU, ACS and the container's IPC; nvidia-smi topo -p2p r"},
        disabled != nullptr || !known_without ? Weight::proof : Weight::hint};
  }
  return std::nullopt;
}

std::optional<Clue> no_multicast(const Context& c) {
  const Seen& missing = c.info.seen(Sign::nvls_missing);
  const Seen& failed = c.info.has(Sign::nvls_failed) ? c.info.seen(Sign::nvls_failed) : c.info.seen(Sign::fabric_manager);
  const char* remedy =
      "recent driver, fabric manager running, in containers the NVSwitch devices and IMEX channels; unset NCCL_NVLS_ENABLE=0";
  const auto can = c.multicasts();
  if (failed.times > 0 && can.value_or(true)) return Clue{{Cause::nvls_off, 0.75, cited(failed), remedy}, Weight::proof};
  const int local = c.ranks_per_node();
  if (c.info.nvls_channels == 0 && missing.times == 0 && can == true && local >= 8 && c.one_node())
    return Clue{{Cause::nvls_off, 0.6, cited(c.info.nvls_channels_line) + ": the switch could reduce", remedy}, Weight::hint};
  if (missing.times == 0 || c.info.has(Sign::nvls_present)) return std::nullopt;
  // boards of 4 have no switch, older GPUs no multicast: normal there
  if (!can || !*can) return std::nullopt;
  bool eight = local >= 8;
  if (local == 0 || c.info.rank_lines.size() < 2) eight = c.info.rank_lines.empty() || local >= 8 || c.info.rank_lines.size() == 1;
  if (!eight) return std::nullopt;
  return Clue{
      {Cause::nvls_off, 0.85, cited(missing) + ": the GPU could, so all-reduce runs a ring instead of reducing in the switch", remedy},
      Weight::proof};
}

std::optional<Clue> nvlink_down(const Context& c) {
  if (const Seen& seen = c.info.seen(Sign::nvlink_inactive); seen.times > 0)
    return Clue{{Cause::nvlink_not_used, 0.75, cited(seen), "nvidia-smi nvlink -s and -e; fabric manager; reseat bridges"}, Weight::proof};
  // NCCL's dump of a machine whose boards have NVLink shows none
  bool gpus = false, links = false;
  for (const io::TopologyLink& link : c.info.topology) {
    gpus = gpus || link.to.starts_with("GPU");
    links = links || link.kind == "NVL" || link.kind == "C2C";
  }
  bool board = false;
  for (const io::RankLine& one : c.info.rank_lines)
    board = board || one.gpu.find("SXM") != std::string::npos || one.gpu.find("HBM3") != std::string::npos;
  if (!gpus || links || !board || c.ranks_per_node() < 2) return std::nullopt;
  return Clue{{Cause::nvlink_not_used, 0.65, "NCCL's topology lists the GPUs and no NVLink, which boards of this kind have",
               "nvidia-smi nvlink -s; fabric manager; in guests the NVSwitches have to be passed on"},
              Weight::proof};
}
std::optional<Clue> ran_without_multi_node_nvlink(const Context& c) {
  if (!c.info.has(Sign::mnnvl) || c.info.net.empty() || c.info.peer > 0) return std::nullopt;
  return Clue{{Cause::nvlink_not_used, 0.6, cited(c.info.net.begin()->second.first) + ": nodes of one NVLink domain talk over the network",
               "NCCL_CUMEM_ENABLE=1 and NCCL_MNNVL_ENABLE=1, IMEX daemons running on every tray"},
              Weight::proof};
}

constexpr std::array all_node_rules{Rule{pcie},         Rule{pcie_in_topology}, Rule{virtual_machine}, Rule{nvlink_in_pairs},
                                    Rule{peer_to_peer}, Rule{no_multicast},     Rule{nvlink_down},     Rule{ran_without_multi_node_nvlink}};

}  // namespace

std::span<const Rule> node_rules() { return all_node_rules; }

}  // namespace fabricost::diagnosis
