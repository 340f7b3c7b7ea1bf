/// \file rules_adapter.cpp
/// The way between GPU and network adapter: GPUDirect RDMA, ACS and the IOMMU, adapters on the wrong side of the CPU. Each rule says on
/// which line it rests.

#include "diagnose/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fabricost::diagnosis {

namespace {

using io::LogLine;
using io::Seen;
using io::Sign;

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

constexpr std::array all_adapter_rules{Rule{gdr_off},       Rule{acs},   Rule{acs_or_iommu_behind_refusal},
                                       Rule{hang_with_acs}, Rule{iommu}, Rule{refused_for_distance},
                                       Rule{far_adapter}};

}  // namespace

std::span<const Rule> adapter_rules() { return all_adapter_rules; }

}  // namespace fabricost::diagnosis
