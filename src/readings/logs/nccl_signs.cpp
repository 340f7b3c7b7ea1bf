/// \file nccl_signs.cpp
/// Messages that need only be recognised: NCCL's own, those of the kernel, lspci and ibstat, and the words people use for causes.

#include "readings/logs/nccl_info.hpp"
#include "text/ascii.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace fabricost::io {

namespace {

/// A message: all words of `all` in it, none of `none`. Case matters only where `folded` is false.
struct Pattern {
  Sign sign;
  std::array<std::string_view, 2> all;
  std::string_view none = "";
  bool folded = false;
};

constexpr std::array patterns{
    Pattern{Sign::gdr_off_nic, {"GPU Direct RDMA Disabled for HCA", ""}, "NET/Socket"},
    Pattern{Sign::gdr_off_nic, {"GPU Direct RDMA Disabled for GPU", ""}, "NET/Socket"},
    Pattern{Sign::gdr_off_nic, {"peermem", "not "}, "", true},
    Pattern{Sign::gdr_off_nic, {"nv_peer_mem", "not "}, "", true},
    Pattern{Sign::gdr_off_nic, {"dma-buf is not available", ""}, "", true},
    Pattern{Sign::gdr_off_nic, {"memory_peers", "no such file"}, "", true},
    Pattern{Sign::gdr_on, {"GPU Direct RDMA Enabled", ""}},
    Pattern{Sign::acs_on, {"ACSCtl", "SrcValid+"}},
    Pattern{Sign::acs_on, {"ACSCtl", "ReqRedir+"}},
    Pattern{Sign::acs_on, {"ACSCtl", "UpstreamFwd+"}},
    Pattern{Sign::acs_word, {" ACS", ""}, "ACSCtl"},
    Pattern{Sign::acs_word, {"#ACS", ""}, "ACSCtl"},
    Pattern{Sign::acs_word, {"pcie_acs_override", ""}},
    Pattern{Sign::iommu_word, {"iommu", ""}, "iommu=pt", true},
    Pattern{Sign::iommu_word, {"DMAR:", ""}, "", false},
    Pattern{Sign::iommu_word, {"IO_PAGE_FAULT", ""}},
    Pattern{Sign::iommu_word, {"AMD-Vi", ""}},
    Pattern{Sign::iommu_word, {"VT-d", ""}},
    Pattern{Sign::p2p_refused, {"Could not enable P2P", ""}},
    Pattern{Sign::p2p_refused, {"P2P is disabled between", ""}},
    Pattern{Sign::p2p_refused, {"peer access is not supported", ""}, "", true},
    Pattern{Sign::p2p_unsupported, {"intraNodeP2pSupport 0", ""}},
    Pattern{Sign::shm_failed, {"creating shared memory segment", ""}, "", true},
    Pattern{Sign::shm_failed, {"/dev/shm", "failed"}, "", true},
    Pattern{Sign::shm_failed, {"/dev/shm", "no space"}, "", true},
    Pattern{Sign::nvls_missing, {"NVLS multicast support is not available", ""}},
    Pattern{Sign::nvls_present, {"NVLS multicast support is available", ""}},
    Pattern{Sign::nvls_failed, {"NVLS", "Failed to bind"}},
    Pattern{Sign::nvls_failed, {"NVLS", "failed to create"}, "", true},
    Pattern{Sign::fabric_manager, {"fabricmanager", ""}, "is running", true},
    Pattern{Sign::fabric_manager, {"fabric manager", ""}, "is running", true},
    Pattern{Sign::fabric_manager, {"system not yet initialized", ""}, "", true},
    Pattern{Sign::verbs_missing, {"NET/IB : No device found", ""}},
    Pattern{Sign::verbs_missing, {"ibv_open_device failed", ""}},
    Pattern{Sign::verbs_missing, {"NET/IB : Unable to open device", ""}},
    Pattern{Sign::verbs_missing, {"ailed to open libibverbs", ""}},
    Pattern{Sign::verbs_missing, {"ibv_get_device_list", "fail"}, "", true},
    Pattern{Sign::verbs_missing, {"NET/OFI", "No eligible providers"}},
    Pattern{Sign::verbs_missing, {"Couldn't find any", "provider"}},
    Pattern{Sign::plugin_missing, {"NET/Plugin", "No plugin found"}},
    Pattern{Sign::plugin_missing, {"NET/Plugin", "Could not find: libnccl-net"}},
    Pattern{Sign::queue_pair_failed, {"ibv_modify_qp", "fail"}, "", true},
    Pattern{Sign::memory_lock_failed, {"ibv_reg_mr", "fail"}, "", true},
    Pattern{Sign::memory_lock_failed, {"ibv_create_cq", "fail"}, "", true},
    Pattern{Sign::memory_lock_failed, {"ibv_create_qp", "fail"}, "", true},
    Pattern{Sign::port_event, {"Got async event", "port"}, "", false},
    Pattern{Sign::link_downgraded, {"LnkSta", "downgraded"}},
    Pattern{Sign::link_downgraded, {"limited by", "PCIe"}, "", false},
    Pattern{Sign::chipset_path, {"chipset", ""}, "", true},
    Pattern{Sign::half_width, {"active_width", "1X"}},
    Pattern{Sign::half_width, {"active_width", "2X"}},
    Pattern{Sign::half_width, {"2X NDR", ""}},
    Pattern{Sign::half_width, {"2X HDR", ""}},
    Pattern{Sign::half_width, {"1X ", "Gb/sec"}},
    Pattern{Sign::bond, {"mlx5_bond", ""}},
    Pattern{Sign::bond, {"bond", "ib_write_bw"}, "", true},
    Pattern{Sign::drops, {"out_of_sequence", ""}},
    Pattern{Sign::drops, {"packet_seq_err", ""}},
    Pattern{Sign::drops, {"local_ack_timeout_err", ""}},
    Pattern{Sign::drops, {"rnr_nak", ""}},
    Pattern{Sign::drops, {"rx_discards", ""}},
    Pattern{Sign::drops, {"np_cnp_sent", ""}},
    Pattern{Sign::drops, {"retransmi", ""}, "", true},
    Pattern{Sign::drops, {" PFC", ""}},
    Pattern{Sign::drops, {"packet loss", ""}, "", true},
    Pattern{Sign::mtu_word, {"MTU", "mismatch"}},
    Pattern{Sign::mtu_word, {"active_mtu", "1024"}},
    Pattern{Sign::mtu_word, {"active_mtu", "512"}},
    Pattern{Sign::fabric_words, {"oversubscri", ""}, "", true},
    Pattern{Sign::fabric_words, {"ECMP", ""}},
    Pattern{Sign::fabric_words, {"adaptive routing", ""}, "", true},
    Pattern{Sign::virtual_machine, {"hypervisor", ""}, "", true},
    Pattern{Sign::virtual_machine, {"virtual machine", ""}, "", true},
    Pattern{Sign::virtual_machine, {"QEMU", ""}},
    Pattern{Sign::virtual_machine, {"passthrough", ""}, "", true},
    Pattern{Sign::virtual_machine, {" VMs", ""}},
    Pattern{Sign::numa_balancing, {"numa_balancing", ""}},
    Pattern{Sign::core_binding, {"bind-to core", ""}},
    Pattern{Sign::core_binding, {"single core", ""}, "", true},
    Pattern{Sign::p2p_hang, {"hang", "p2p"}, "", true},
    Pattern{Sign::p2p_hang, {"stuck", "p2p"}, "", true},
    Pattern{Sign::launch_blocking, {"CUDA_LAUNCH_BLOCKING=1", ""}},
    Pattern{Sign::launch_blocking, {"CUDA_LAUNCH_BLOCKING set", "1"}},
    Pattern{Sign::launch_blocking, {"launch", "overhead"}, "", true},
    Pattern{Sign::launch_blocking, {"cudaGraph", ""}},
    Pattern{Sign::launch_blocking, {"CUDA graph", ""}},
    Pattern{Sign::wrong_results, {"Out of bounds values", "FAILED"}},
    Pattern{Sign::relaxed_ordering, {"relaxed ordering", ""}, "", true},
    Pattern{Sign::mnnvl, {"MNNVL 1", ""}},
    Pattern{Sign::throttled, {"SW Power Cap", "Active"}, "Not Active"},
    Pattern{Sign::throttled, {"HW Slowdown", "Active"}, "Not Active"},
    Pattern{Sign::throttled, {"throttl", ""}, "", true},
    Pattern{Sign::tcp_provider, {"Selected Provider is tcp", ""}},
    Pattern{Sign::tcp_provider, {"Selected Provider is sockets", ""}},
    Pattern{Sign::tcp_provider, {"elected provider", "tcp"}, "", true},
    Pattern{Sign::no_gdr_ring, {"Connected all", "GDR 0"}},
    Pattern{Sign::straggler_word, {"straggler", ""}, "", true},
    Pattern{Sign::straggler_word, {"slow node", ""}, "", true},
    Pattern{Sign::straggler_word, {"slowest rank", ""}, "", true},
    Pattern{Sign::bogus_topology, {"link_speed=\"\"", ""}},
    Pattern{Sign::bogus_topology, {"link_width=\"0\"", ""}},
    Pattern{Sign::bogus_topology, {"link_speed=\"Unknown", ""}},
    Pattern{Sign::bogus_topology, {"numaid=\"-1\"", ""}},
    Pattern{Sign::bogus_topology, {"CPU/FFFFFFFF", ""}},
    Pattern{Sign::bogus_topology, {"virtual topology", ""}, "", true},
    Pattern{Sign::nvlink_inactive, {"Link", "<inactive>"}},
    Pattern{Sign::nvlink_inactive, {"nvlink", "inactive"}, "", true},
    Pattern{Sign::port_down, {"State:", "Down"}},
    Pattern{Sign::port_down, {"mlx5", " down"}, "", true},
    Pattern{Sign::bogus_topology, {"Topology detection", "could not read"}},
    Pattern{Sign::fault_build, {"FAULT_INJECTION", ""}},
    Pattern{Sign::fault_build, {"-DDEBUG", ""}},
    Pattern{Sign::fault_build, {"DEBUG=1", "make"}},
    Pattern{Sign::p2p_refused, {"cudaIpc", "fail"}, "", true},
    Pattern{Sign::p2p_refused, {"peer mapping resources", ""}, "", true},
    Pattern{Sign::launch_blocking, {"launch", "bound"}, "", true},
    Pattern{Sign::launch_blocking, {"launch", "latency"}, "", true},
    Pattern{Sign::launch_blocking, {"cudaLaunchKernel", ""}},
    Pattern{Sign::launch_blocking, {"cpu overhead", ""}, "", true},
    Pattern{Sign::drops, {"PFC", ""}},
    Pattern{Sign::drops, {"packet drop", ""}, "", true},
    Pattern{Sign::virtual_machine, {"KVM", ""}},
};

}  // namespace

std::vector<Sign> signs_in(const std::string& line) {
  const std::string folded = lowered(line);
  std::vector<Sign> out;
  for (const Pattern& p : patterns) {
    const std::string& text = p.folded ? folded : line;
    if (text.find(p.all[0]) == std::string::npos || (!p.all[1].empty() && text.find(p.all[1]) == std::string::npos)) continue;
    if (!p.none.empty() && text.find(p.none) != std::string::npos) continue;
    if (std::find(out.begin(), out.end(), p.sign) == out.end()) out.push_back(p.sign);
  }
  return out;
}

}  // namespace fabricost::io
