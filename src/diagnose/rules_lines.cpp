/// \file rules_lines.cpp
/// What single messages prove or suggest. General knowledge of NCCL and of the machines below it; each rule says on which line it rests.

#include "diagnose/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fabricost::diagnosis {

namespace {

using io::LogLine;
using io::NetUse;
using io::Seen;
using io::Sign;

/// Connections over a network that is not plain sockets; all of them together.
struct Fabric {
  int times = 0, direct = 0;
  std::set<int> devices;
  std::set<std::string> hosts;
  LogLine first_indirect, first;
};
Fabric fabric_of(const io::NcclInfo& info) {
  Fabric out;
  for (const auto& [name, use] : info.net) {
    if (name == "Socket") continue;
    out.times += use.times;
    out.direct += use.direct;
    out.devices.insert(use.devices.begin(), use.devices.end());
    for (const auto& [host, devices] : use.by_host) out.hosts.insert(host);
    if (out.first.number == 0) out.first = use.first;
    if (out.first_indirect.number == 0) out.first_indirect = use.first_indirect;
  }
  return out;
}

/// Line rate of one adapter: of NCCL's dump or its ports; hfi1 is Omni-Path, 100 Gbit/s; 0: not said.
double adapter_rate(const Context& c) {
  for (const io::TopologyLink& link : c.info.topology)
    if (link.kind == "NET" && link.rate > 0) return link.rate * 1e9;
  if (c.info.fastest_port > 0) return c.info.fastest_port * 1.25e8;
  const bool omnipath = !c.info.adapters.empty() && c.info.adapters.front().starts_with("hfi1");
  return omnipath ? 12.5e9 : 0;
}
/// The best rate the log shows, in its table or in words.
double any_rate(const Context& c) {
  double best = c.best_bus();
  for (const Quoted& q : c.quoted)
    if (c.curve.empty() && !q.perftest) best = std::max(best, q.rate);
  return best;
}

bool over_sockets(const io::NcclInfo& info) { return info.net.contains("Socket"); }
/// A machine whose own way out is TCP: no fault then.
bool meant_for_tcp(const Context& c) {
  const Tier* nic = c.system ? c.system->tier(TierRole::nic) : nullptr;
  return nic != nullptr && (nic->transport == Transport::tcp || nic->transport == Transport::tcpx || nic->transport == Transport::tcpxo);
}

// ---- the way between GPU and adapter

std::optional<Clue> gdr_off(const Context& c) {
  const Fabric fabric = fabric_of(c.info);
  for (const io::DirectPair& pair : c.info.direct_pairs)
    if (!pair.on && fabric.direct == 0)
      return Clue{{Cause::gdr_off, 0.9,
                   fmt::format("{}: GPU and adapter are {} steps apart in NCCL's count, {} allowed, so data is staged in host memory",
                               cited(pair.line), pair.distance, pair.limit),
                   "try NCCL_NET_GDR_LEVEL=SYS (or PHB); better, use an adapter below the GPU's own PCIe switch"},
                  Weight::proof};
  const Seen& off = c.info.seen(Sign::gdr_off_nic);
  if (off.times > 0 && fabric.direct == 0)
    return Clue{
        {Cause::gdr_off, 0.9, cited(off),
         "load nvidia-peermem (or nv_peer_mem) against the installed OFED, or use DMA-BUF (open kernel modules, kernel 5.12); check "
         "/sys/kernel/mm/memory_peers; a NCCL older than the driver's module path needs an update"},
        Weight::proof};
  if (const Seen& ring = c.info.seen(Sign::no_gdr_ring);
      ring.times > 0 && c.nodes() > 1 && !c.info.network.starts_with("Socket") && fabric.direct == 0)
    return Clue{{Cause::gdr_off, 0.6, cited(ring) + ": the rings run without GPUDirect RDMA",
                 "check nvidia-peermem or DMA-BUF, and NCCL_NET_GDR_LEVEL"},
                Weight::hint};
  if (fabric.times > 0 && fabric.direct == 0 && !over_sockets(c.info))
    return Clue{{Cause::gdr_off, 0.6,
                 fmt::format("{}: {} network connections are listed and none says GDRDMA, so data is staged in host memory",
                             cited(fabric.first_indirect), fabric.times),
                 "check nvidia-peermem or DMA-BUF, NCCL_NET_GDR_LEVEL, and the plugin's GPUDirect support"},
                Weight::hint};
  if (fabric.direct > 0 && fabric.direct < fabric.times / 2)
    return Clue{{Cause::gdr_off, 0.5,
                 fmt::format("{}: only {} of {} network connections say GDRDMA", cited(fabric.first_indirect), fabric.direct, fabric.times),
                 "GPUs far from every adapter get none: check nvidia-smi topo -m, or NCCL_NET_GDR_LEVEL"},
                Weight::hint};
  return std::nullopt;
}

std::optional<Clue> acs(const Context& c) {
  if (const Seen& on = c.info.seen(Sign::acs_on); on.times > 0)
    return Clue{{Cause::acs_enabled, 0.95, cited(on) + ": redirection sends traffic between devices up to the root",
                 "switch ACS off in the BIOS, or setpci ECAP_ACS+0x6.w=0000 on every PCIe bridge after each boot"},
                Weight::proof};
  if (const Seen& word = c.info.seen(Sign::acs_word); word.times > 0)
    return Clue{{Cause::acs_enabled, 0.6, cited(word), "check lspci -vvv for ACSCtl with SrcValid+ or ReqRedir+ on the bridges"},
                Weight::proof};
  if (const Seen& error = c.info.seen(Sign::protection_error); error.times > 0)
    return Clue{
        {Cause::acs_enabled, 0.6,
         cited(error) + ": the adapter could not reach the memory it was told to; with GPUDirect that is mostly ACS or the IOMMU between "
                        "GPU and adapter",
         "switch ACS (and the IOMMU) off; NCCL_NET_GDR_LEVEL=LOC runs without GPUDirect, as a test"},
        Weight::proof};
  return std::nullopt;
}
std::optional<Clue> acs_or_iommu_behind_refusal(const Context& c) {
  const Seen& seen = c.info.has(Sign::protection_error) ? c.info.seen(Sign::protection_error) : c.info.seen(Sign::p2p_refused);
  if (seen.times == 0) return std::nullopt;
  return Clue{{Cause::iommu, 0.4, cited(seen) + ": address translation between devices has this effect, too",
               "boot with iommu=pt, or intel_iommu=off / amd_iommu=off"},
              Weight::proof};
}
std::optional<Clue> hang_with_acs(const Context& c) {
  const Seen& hang = c.info.seen(Sign::p2p_hang);
  if (hang.times == 0) return std::nullopt;
  return Clue{{Cause::acs_enabled, 0.86, cited(hang) + ": transfers between devices that never arrive are redirected ones",
               "lspci -vvv for ACSCtl with SrcValid+ or ReqRedir+; switch ACS off on the bridges"},
              Weight::proof};
}
std::optional<Clue> iommu(const Context& c) {
  if (const Seen& hang = c.info.seen(Sign::p2p_hang); hang.times > 0)
    return Clue{{Cause::iommu, 0.88, cited(hang) + ": transfers between devices that never arrive were translated to nowhere",
                 "boot with iommu=pt, or intel_iommu=off / amd_iommu=off"},
                Weight::proof};
  const Seen& word = c.info.seen(Sign::iommu_word);
  if (word.times == 0) return std::nullopt;
  return Clue{{Cause::iommu, 0.7, cited(word), "boot with iommu=pt, or intel_iommu=off / amd_iommu=off, and check lspci for ACS"},
              Weight::proof};
}

/// GPUDirect refused for distance: the adapter sits elsewhere.
std::optional<Clue> refused_for_distance(const Context& c) {
  for (const io::DirectPair& pair : c.info.direct_pairs)
    if (!pair.on)
      return Clue{{Cause::nic_wrong_numa, 0.5, cited(pair.line) + ": GPU and adapter do not share a PCIe switch",
                   "put both below one switch, or use the adapter nearest to the GPU (nvidia-smi topo -m)"},
                  Weight::proof};
  return std::nullopt;
}

/// Adapters far from the GPUs: PHB crosses the CPU, SYS the socket. Proof needs the rate: one direction may still fit (a broadcast).
std::optional<Clue> far_adapter(const Context& c) {
  const std::string& path = c.info.widest_path;
  const bool far = path == "PHB" || path == "SYS" || path == "NODE";
  const bool direct = std::any_of(c.info.direct_pairs.begin(), c.info.direct_pairs.end(), [](const io::DirectPair& p) { return p.on; });
  double nic = 0;
  for (const io::TopologyLink& link : c.info.topology)
    if (link.kind == "NET") nic = std::max(nic, link.rate * 1e9);
  const double shown = c.best_bus();
  const bool crosses_network = !c.info.net.empty();
  if (far && direct && nic > 0 && shown > 0 && shown < 0.75 * nic && crosses_network)
    return Clue{{Cause::nic_wrong_numa, 0.7,
                 fmt::format("{}: GPU and adapter meet in the CPU ({}); {} of the adapter's {} arrive, {:.0f} %",
                             cited(c.info.widest_path_line), path, gigabytes(shown), gigabytes(nic), 100 * shown / nic),
                 "put GPU and adapter below one PCIe switch; compare with a one-way operation such as broadcast"},
                Weight::proof};
  int rows = 0, far_rows = 0;
  LogLine first;
  for (const io::MatrixRow& row : c.info.matrix) {
    bool nvlink = false, host = false, close = false, bridge = false;
    for (const std::string& cell : row.cells) {
      nvlink = nvlink || cell.starts_with("NV");
      close = close || cell == "PIX" || cell == "PXB";
      host = host || cell == "SYS" || cell == "SOC";
      bridge = bridge || cell == "NODE" || cell == "PHB";
    }
    if (!nvlink) continue;  // PCIe boards show SYS between GPUs
    ++rows;
    if (host && !close && !bridge) {
      ++far_rows;
      if (first.number == 0) first = row.line;
    }
  }
  if (rows > 0 && far_rows > 0 && far_rows < rows && c.nodes() != 1)
    return Clue{{Cause::nic_wrong_numa, 0.45, cited(first) + ": this GPU reaches its adapters only across the sockets",
                 "use an adapter on every socket; bind ranks to the GPUs near one"},
                Weight::hint};
  return std::nullopt;
}

// ---- which network

std::optional<Clue> tcp(const Context& c) {
  if (meant_for_tcp(c)) return std::nullopt;
  const auto& info = c.info;
  const bool uses = over_sockets(info);
  const bool named = info.network.starts_with("Socket") || (!info.interfaces.empty() && info.adapters.empty() && info.network.empty());
  const bool broken = info.has(Sign::verbs_missing);
  const Fabric fabric = fabric_of(info);
  if (fabric.times > 0) return std::nullopt;
  // one node needs no network: NCCL says Socket there and moves nothing over it
  const int nodes = c.nodes();
  const bool inside = nodes == 1 || (nodes == 0 && !uses && (info.peer > 0 || info.shared_memory > 0));
  if (nodes <= 1 && info.setting("NCCL_P2P_DISABLE") != nullptr) return std::nullopt;  // sockets as a substitute for P2P
  if (const Seen& provider = info.seen(Sign::tcp_provider); provider.times > 0 && !inside)
    return Clue{{Cause::tcp_fallback, 0.85, cited(provider),
                 "choose the fabric's own provider (FI_PROVIDER=efa, cxi, verbs) and install it in the image"},
                Weight::proof};
  if (!uses && !named && !broken) return std::nullopt;
  if (inside) return std::nullopt;
  LogLine line = uses ? info.net.at("Socket").first : info.network_line.number > 0 ? info.network_line : info.interfaces_line;
  if (broken && (!uses || info.seen(Sign::verbs_missing).first.number < line.number)) line = info.seen(Sign::verbs_missing).first;
  return Clue{
      {Cause::tcp_fallback,
       uses     ? 0.85
       : broken ? 0.85
                : 0.7,
       cited(line) + ": traffic between nodes goes over TCP sockets" +
           (broken && uses ? "; " + cited(info.seen(Sign::verbs_missing)) : std::string{}),
       "make the RDMA devices visible (in containers /dev/infiniband and CAP_IPC_LOCK), install libibverbs or the fabric's network plugin "
       "(aws-ofi-nccl, cxi, FasTrak), unset NCCL_IB_DISABLE and NCCL_NET"},
      Weight::proof};
}

/// Fewer adapters at work than there are.
std::optional<Clue> idle_rails(const Context& c) {
  const auto& info = c.info;
  const int local = c.ranks_per_node();
  if (c.nodes() == 1 || local == 1 || c.ranks() == 2) return std::nullopt;  // one rank a node loads one adapter
  for (const auto& [transport, use] : info.net) {
    const bool sockets = transport == "Socket";
    const std::size_t there = sockets ? info.interfaces.size() : info.adapters.size();
    std::set<int> used = use.devices;
    const std::string names = fmt::format("{}", fmt::join(used, ", "));
    const bool few = info.channels > 0 && info.channels < static_cast<int>(there);
    if (there >= 2 && used.size() < there && few)
      return Clue{
          {Cause::rail_missing, 0.75,
           fmt::format("{}; {}: {} channels over adapters {} of {}, so the others carry nothing", cited(info.channels_line),
                       cited(use.first), info.channels, names, there),
           "check that the topology NCCL sees has all adapters (NCCL_TOPO_DUMP_FILE), load the platform's plugin and topology file"},
          Weight::proof};
    // most logs are cut: connections prove something only where all channels are among them
    const bool all = use.channels.size() >= there || (info.channels > 0 && static_cast<int>(use.channels.size()) >= info.channels);
    if (there >= 2 && used.size() * 2 <= there && use.times >= 3 && all)
      return Clue{{Cause::rail_missing, sockets ? 0.9 : 0.7,
                   fmt::format("{}; {}: {} are listed, {} connections use only {}",
                               cited(sockets ? info.interfaces_line : info.adapters_line), cited(use.first), there, use.times, names),
                   sockets ? "NCCL counts ports of one card as one adapter: name both in NCCL_SOCKET_IFNAME, or raise NCCL_NSOCKS_PERTHREAD"
                           : "check routing and the adapters NCCL leaves out (NCCL_IB_HCA, NCCL_CROSS_NIC), and the fabric's own plugin"},
                  Weight::proof};
    // or where the rate is no more than one adapter's
    const double one = adapter_rate(c), shown = any_rate(c);
    if (!sockets && there >= 4 && used.size() * 2 <= there && use.times >= 3 && one > 0 && shown > 0 && shown < 1.1 * one)
      return Clue{{Cause::rail_missing, 0.7,
                   fmt::format("{}; {}: {} are listed, the connections shown use {}, and {} is no more than one carries ({})",
                               cited(info.adapters_line), cited(use.first), there, names, gigabytes(shown), gigabytes(one)),
                   "check routing and the adapters NCCL leaves out (NCCL_IB_HCA, NCCL_CROSS_NIC), and the fabric's own plugin"},
                  Weight::proof};
    // eight GPUs, two channels, one adapter: the plugin showed NCCL no topology
    if (!sockets && used.size() == 1 && info.channels > 0 && info.channels <= 2 && (local > 2 || info.ranks > 8))
      return Clue{
          {Cause::rail_missing, 0.8,
           fmt::format("{}; {}: {} channels, all over adapter {}, for {} ranks", cited(info.channels_line), cited(use.first), info.channels,
                       names, info.ranks),
           "machines with several adapters need the platform's topology: update the network plugin (it sets NCCL_TOPO_FILE), or set it"},
          Weight::proof};
  }
  const io::Setting* chosen = info.setting("NCCL_IB_HCA");
  const bool alone = info.adapters.size() == 1;
  const Tier* nic = c.system ? c.system->tier(TierRole::nic) : nullptr;
  const bool several = nic != nullptr ? nic->endpoints > 1 : true;
  const bool crosses = c.nodes() != 1;
  if (alone && several && crosses && info.adapters.front().find("bond") == std::string::npos && (local > 1 || local == 0) &&
      c.ranks() != 2 && !over_sockets(info))
    return Clue{{Cause::rail_missing,
                 nic != nullptr      ? 0.8
                 : chosen != nullptr ? 0.6
                                     : 0.55,
                 cited(info.adapters_line) + (nic != nullptr ? fmt::format(": one adapter where {} has {}", c.system->name, nic->endpoints)
                                                             : std::string{": one adapter for all GPUs of the node"}),
                 "see ibstat for ports that are down, and NCCL_IB_HCA; GPUs far from the one adapter have no GPUDirect path"},
                Weight::hint};
  if (nic != nullptr && info.adapters.size() > 1 && static_cast<int>(info.adapters.size()) < nic->endpoints && crosses)
    return Clue{
        {Cause::rail_missing, 0.75,
         fmt::format("{}: {} adapters where {} has {}", cited(info.adapters_line), info.adapters.size(), c.system->name, nic->endpoints),
         "see ibstat for ports that are down, and NCCL_IB_HCA"},
        Weight::hint};
  return std::nullopt;
}

std::optional<Clue> port_down(const Context& c) {
  const Seen& seen = c.info.seen(Sign::port_down);
  if (seen.times == 0) return std::nullopt;
  return Clue{{Cause::rail_missing, 0.55, cited(seen) + ": a port that is down takes its rail with it",
               "ibstat on every node; cable, switch port, driver"},
              Weight::hint};
}

/// The topology dump: adapters present in one part, none of them in the graph NCCL made.
std::optional<Clue> unused_adapters_in_topology(const Context& c) {
  std::set<std::string> nets;
  LogLine first;
  for (const io::TopologyLink& link : c.info.topology)
    if (link.kind == "NET") {
      nets.insert(link.to);
      if (first.number == 0) first = link.line;
    }
  const Fabric fabric = fabric_of(c.info);
  if (nets.size() < 2 || fabric.times < 2 || fabric.devices.size() != 1) return std::nullopt;
  return Clue{{Cause::rail_missing, 0.65,
               fmt::format("{}: the topology has at least {} adapters, {} connections use one ({})", cited(first), nets.size(),
                           fabric.times, cited(fabric.first)),
               "load the platform's network plugin and topology file"},
              Weight::proof};
}

std::optional<Clue> topology_without_connections(const Context& c) {
  std::set<std::string> nets;
  LogLine first;
  for (const io::TopologyLink& link : c.info.topology)
    if (link.kind == "NET") {
      nets.insert(link.to);
      if (first.number == 0) first = link.line;
    }
  if (nets.size() < 2 || !c.info.net.empty() || !c.curve.empty()) return std::nullopt;
  return Clue{
      {Cause::rail_missing, 0.3,
       fmt::format("{}: adapters below the same PCIe switches as the GPUs; the log does not show whether the channels use all of them",
                   cited(first)),
       "compare \"via NET/...\" lines with the adapters of the dump: every one should appear"},
      Weight::hint};
}

std::optional<Clue> fabric_trouble(const Context& c) {
  if (const Seen& retries = c.info.seen(Sign::retries_exceeded); retries.times > 0)
    return Clue{
        {Cause::roce_untuned, 0.8,
         cited(retries) + ": the other side did not acknowledge in time: packets are dropped, or a route or MTU does not fit",
         "same MTU on every port and switch, PFC and ECN on RoCE, NCCL_IB_GID_INDEX of the right network, NCCL_IB_TIMEOUT=22 as a test"},
        Weight::proof};
  if (const Seen& mtu = c.info.seen(Sign::mtu_word); mtu.times > 0)
    return Clue{{Cause::roce_untuned, 0.65, cited(mtu), "same MTU (4096 in verbs, 9000 in Ethernet) on every port and switch"},
                Weight::proof};
  if (const Seen& drops = c.info.seen(Sign::drops); drops.times > 0)
    return Clue{{Cause::roce_untuned, 0.55, cited(drops), "PFC or global pause and ECN on every hop; look at the switches' drop counters"},
                Weight::proof};
  return std::nullopt;
}
std::optional<Clue> queue_pairs(const Context& c) {
  if (const Seen& failed = c.info.seen(Sign::queue_pair_failed); failed.times > 0)
    return Clue{{Cause::other, 0.6, cited(failed) + ": the two ports do not reach each other",
                 "check which ports are joined, NCCL_IB_GID_INDEX, NCCL_IB_HCA, and NCCL_IB_SUBNET_AWARE_ROUTING where networks are "
                 "separate; a stale "
                 "/etc/nccl.conf has this effect, too"},
                Weight::proof};
  if (const Seen& failed = c.info.seen(Sign::memory_lock_failed); failed.times > 0)
    return Clue{{Cause::other, 0.55, cited(failed) + ": memory could not be locked or registered",
                 "ulimit -l unlimited; in containers CAP_IPC_LOCK"},
                Weight::proof};
  if (const Seen& event = c.info.seen(Sign::port_event); event.times > 0)
    return Clue{
        {Cause::half_rate_link, 0.5, cited(event) + ": a port changed its state during the run", "look for flapping links and bad cables"},
        Weight::proof};
  return std::nullopt;
}
std::optional<Clue> fabric_words(const Context& c) {
  const Seen& seen = c.info.seen(Sign::fabric_words);
  if (seen.times == 0) return std::nullopt;
  return Clue{
      {Cause::oversubscription, 0.45, cited(seen), "compare pairs of nodes below one leaf with pairs across; adaptive routing, rail order"},
      Weight::hint};
}

std::optional<Clue> half_rate(const Context& c) {
  if (const Seen& half = c.info.seen(Sign::half_width); half.times > 0)
    return Clue{{Cause::half_rate_link, 0.8, cited(half) + ": the port runs with fewer lanes than it has",
                 "reseat or change the cable; see mlxlink"},
                Weight::proof};
  const bool bonded =
      std::any_of(c.info.adapters.begin(), c.info.adapters.end(), [](const std::string& a) { return a.find("bond") != std::string::npos; });
  if (const Seen& bond = c.info.seen(Sign::bond);
      (bond.times > 0 || bonded) && !c.info.network.starts_with("Socket") && !over_sockets(c.info))
    return Clue{{Cause::half_rate_link, c.info.interfaces.empty() ? 0.65 : 0.4,
                 (bond.times > 0 ? cited(bond) : cited(c.info.adapters_line)) +
                     ": a bonded port; one queue pair is pinned to one of its members, half of the rate",
                 "NCCL_IB_QPS_PER_CONNECTION=2 or 4 with NCCL_IB_SPLIT_DATA_ON_QPS=0, or unbond and show both ports to NCCL"},
                Weight::hint};
  if (c.info.fastest_port > 1.5 * c.info.slowest_port && c.info.slowest_port >= 25)
    return Clue{{Cause::half_rate_link, 0.7,
                 fmt::format("{}: {:.4g} Gbit/s where another port has {:.4g}", cited(c.info.slowest_port_line), c.info.slowest_port,
                             c.info.fastest_port),
                 "ibstat on every node: all ports at the same rate and width; leave the slower ones out (NCCL_IB_HCA)"},
                Weight::hint};
  LogLine slower;
  double most = 0, least = 1e300;
  for (const io::TopologyLink& link : c.info.topology)
    if (link.kind == "NET" && link.rate > 0) {
      most = std::max(most, link.rate);
      if (link.rate < least) {
        least = link.rate;
        slower = link.line;
      }
    }
  if (most > 1.5 * least && least < 1e300)
    return Clue{{Cause::half_rate_link, 0.7, fmt::format("{}: {:.3g} GB/s where another adapter has {:.3g}", cited(slower), least, most),
                 "ibstat on every node: all ports at the same rate and width"},
                Weight::proof};
  return std::nullopt;
}

// ---- inside a node

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
  int gpus = 0, linked = 0, unlinked = 0;
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
    unlinked += without;
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

// ---- the run itself

/// Two ranks 0: every host ran a test of its own.
std::optional<Clue> two_runs_in_one(const Context& c) {
  std::map<int, std::set<std::string>> hosts;
  const io::RankLine* second = nullptr;
  for (const io::RankLine& one : c.info.rank_lines)
    if (hosts[one.rank].insert(one.host).second && hosts[one.rank].size() == 2 && one.rank == 0 && second == nullptr) second = &one;
  if (second == nullptr) return std::nullopt;
  return Clue{{Cause::other, 0.9,
               cited(second->line) + ": a second rank 0 on another host: each host ran its own test and the network was never used",
               "build nccl-tests with MPI=1 and start it with the mpirun it was built for"},
              Weight::proof};
}

std::optional<Clue> host_side(const Context& c) {
  if (const Seen& seen = c.info.seen(Sign::numa_balancing); seen.times > 0)
    return Clue{{Cause::other, 0.75, cited(seen), "echo 0 > /proc/sys/kernel/numa_balancing"}, Weight::proof};
  if (const Seen& seen = c.info.seen(Sign::core_binding); seen.times > 0)
    return Clue{{Cause::other, 0.6, cited(seen) + ": a process bound to one core shares it with NCCL's own threads",
                 "mpirun --bind-to numa (or none)"},
                Weight::hint};
  if (const Seen& seen = c.info.seen(Sign::throttled); seen.times > 0)
    return Clue{{Cause::other, 0.5, cited(seen), "nvidia-smi -q -d PERFORMANCE: clocks, power and temperature under load"}, Weight::hint};
  if (const Seen& seen = c.info.seen(Sign::relaxed_ordering); seen.times > 0)
    return Clue{{Cause::other, 0.45, cited(seen), "NCCL_IB_PCI_RELAXED_ORDERING=1 (UCX_IB_PCI_RELAXED_ORDERING=y)"}, Weight::hint};
  return std::nullopt;
}
std::optional<Clue> late_ranks(const Context& c) {
  const Seen& seen = c.info.seen(Sign::straggler_word);
  if (seen.times == 0) return std::nullopt;
  return Clue{{Cause::stragglers, 0.5, cited(seen), "time each node alone and in pairs; clocks, temperature, other jobs"}, Weight::hint};
}
std::optional<Clue> odd_build(const Context& c) {
  const Seen& seen = c.info.seen(Sign::fault_build);
  if (seen.times == 0) return std::nullopt;
  return Clue{{Cause::bug_in_version, 0.6, cited(seen), "build without it, or use a release build"}, Weight::proof};
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
std::optional<Clue> launches(const Context& c) {
  const Seen& seen = c.info.seen(Sign::launch_blocking);
  if (seen.times == 0) return std::nullopt;
  return Clue{{Cause::cpu_launch_bound, 0.6, cited(seen),
               "capture the calls in a CUDA graph; time with events over many calls, not with a wait after each"},
              Weight::hint};
}
std::optional<Clue> ran_without_multi_node_nvlink(const Context& c) {
  if (!c.info.has(Sign::mnnvl) || c.info.net.empty() || c.info.peer > 0) return std::nullopt;
  return Clue{{Cause::nvlink_not_used, 0.6, cited(c.info.net.begin()->second.first) + ": nodes of one NVLink domain talk over the network",
               "NCCL_CUMEM_ENABLE=1 and NCCL_MNNVL_ENABLE=1, IMEX daemons running on every tray"},
              Weight::proof};
}

constexpr std::array rules{Rule{gdr_off},
                           Rule{acs},
                           Rule{acs_or_iommu_behind_refusal},
                           Rule{iommu},
                           Rule{far_adapter},
                           Rule{tcp},
                           Rule{refused_for_distance},
                           Rule{hang_with_acs},
                           Rule{idle_rails},
                           Rule{unused_adapters_in_topology},
                           Rule{port_down},
                           Rule{topology_without_connections},
                           Rule{fabric_trouble},
                           Rule{queue_pairs},
                           Rule{fabric_words},
                           Rule{half_rate},
                           Rule{pcie},
                           Rule{pcie_in_topology},
                           Rule{virtual_machine},
                           Rule{nvlink_in_pairs},
                           Rule{peer_to_peer},
                           Rule{no_multicast},
                           Rule{two_runs_in_one},
                           Rule{host_side},
                           Rule{launches},
                           Rule{late_ranks},
                           Rule{odd_build},
                           Rule{nvlink_down},
                           Rule{ran_without_multi_node_nvlink}};

}  // namespace

std::span<const Rule> line_rules() { return rules; }

}  // namespace fabricost::diagnosis
