/// \file rules_settings.cpp
/// What a variable set in the environment does to a run, by NCCL's own documentation of its environment variables. One table: name, when
/// its value matters, what it causes.

#include "diagnose/context.hpp"
#include "text/ascii.hpp"
#include "text/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fabricost::diagnosis {

namespace {

std::string upper(std::string_view text) {
  std::string out{text};
  for (char& c : out) c = io::upper(c);
  return out;
}
bool is_off(const std::string& v, const Context&) { return v == "0"; }
bool is_on(const std::string& v, const Context&) { return v == "1"; }
/// One rank a node has no neighbour to copy to.
bool parts_neighbours(const std::string& v, const Context& c) { return v == "1" && (c.nodes() <= 1 || c.ranks_per_node() != 1); }
bool leaves_no_way(const std::string& v, const Context& c) { return parts_neighbours(v, c) && c.info.peer == 0; }
bool misses_rdma(const Context& c) { return !c.wants_tcp() && c.info.node_count() != 1; }
bool loses_rdma(const std::string& v, const Context& c) { return v == "1" && misses_rdma(c); }
bool is_socket(const std::string& v, const Context& c) { return upper(v) == "SOCKET" && misses_rdma(c); }
bool is_nowhere(const std::string& v, const Context&) { return v == "0" || upper(v) == "LOC"; }
bool is_narrow(const std::string& v, const Context&) {
  const double n = io::parse_number(v).value_or(0);
  return n > 0 && n <= 8;
}
/// NVLink cards are joined at the level NVL; PIX, LOC and 0 forbid more than that.
bool is_near_only(const std::string& v, const Context&) {
  const std::string level = upper(v);
  return level == "LOC" || level == "0" || level == "PIX" || level == "1";
}
bool is_small_buffer(const std::string& v, const Context&) {
  const double n = io::parse_number(v).value_or(0);
  return n > 0 && n < 1048576;
}
bool is_slow_protocol(const std::string& v, const Context&) {
  const std::string p = upper(v);
  return p == "LL" || p == "LL128";
}
bool forbids_ll128(const std::string& v, const Context&) {
  const std::string p = upper(v);
  return p == "^LL128" || p == "SIMPLE" || p == "LL,SIMPLE" || p == "SIMPLE,LL";
}
bool excludes_switch(const std::string& v, const Context& c) { return v == "0" && c.multicasts().value_or(true); }
/// A forced ring is how people measure the network; on one node of a multicasting machine it gives up the switch.
bool gives_up_choice(const std::string& v, const Context& c) {
  const std::string a = upper(v);
  return !(a.starts_with("RING") && c.nodes() != 1);
}
bool breaks_rack(const std::string& v, const Context& c) {
  if (v != "0") return false;
  const bool rack = c.system && c.system->domain > c.system->gpus_per_node;
  const bool named = std::any_of(c.info.rank_lines.begin(), c.info.rank_lines.end(), [](const io::RankLine& r) {
    return r.gpu.find("GB200") != std::string::npos || r.gpu.find("GB300") != std::string::npos;
  });
  return rack || named || c.info.has(io::Sign::mnnvl) || (!c.info.net.empty() && c.nodes() > 1);
}

struct Habit {
  std::string_view name;
  bool (*matters)(const std::string& value, const Context&);
  Cause cause;
  double confidence;
  Weight weight;
  std::string_view what;
};
constexpr std::array habits{
    Habit{"NCCL_P2P_DISABLE", parts_neighbours, Cause::debug_env, 0.85, Weight::proof,
          "copies between GPUs of a node go through host memory"},
    Habit{"NCCL_SHM_DISABLE", leaves_no_way, Cause::debug_env, 0.7, Weight::proof, "GPUs of a node without P2P talk over the network"},
    Habit{"NCCL_IB_DISABLE", loses_rdma, Cause::debug_env, 0.75, Weight::proof, "RDMA is switched off, sockets remain"},
    Habit{"NCCL_IB_DISABLE", loses_rdma, Cause::tcp_fallback, 0.7, Weight::proof, "RDMA is switched off, sockets remain"},
    Habit{"NCCL_NET", is_socket, Cause::tcp_fallback, 0.85, Weight::proof, "sockets are forced"},
    Habit{"NCCL_NET", is_socket, Cause::debug_env, 0.7, Weight::proof, "sockets are forced"},
    Habit{"NCCL_NET_GDR_LEVEL", is_nowhere, Cause::gdr_off, 0.85, Weight::proof, "GPUDirect RDMA is allowed nowhere"},
    Habit{"NCCL_IB_GDR_LEVEL", is_nowhere, Cause::gdr_off, 0.85, Weight::proof, "GPUDirect RDMA is allowed nowhere"},
    Habit{"NCCL_IB_CUDA_SUPPORT", is_off, Cause::gdr_off, 0.8, Weight::proof, "GPUDirect RDMA is off"},
    Habit{"NCCL_NET_GDR_READ", is_off, Cause::gdr_off, 0.5, Weight::hint, "what a GPU sends is staged in host memory"},
    Habit{"FI_EFA_USE_DEVICE_RDMA", is_off, Cause::gdr_off, 0.8, Weight::proof, "the EFA provider may not touch GPU memory"},
    Habit{"NCCL_NVLS_ENABLE", excludes_switch, Cause::nvls_off, 0.8, Weight::hint, "no reduction in the NVLink switch"},
    Habit{"NCCL_MAX_NCHANNELS", is_narrow, Cause::few_channels, 0.85, Weight::hint, "few channels cannot fill fast links"},
    Habit{"NCCL_MAX_CTAS", is_narrow, Cause::few_channels, 0.85, Weight::hint, "few channels cannot fill fast links"},
    Habit{"NCCL_MAX_NRINGS", is_narrow, Cause::few_channels, 0.8, Weight::hint, "few channels cannot fill fast links"},
    Habit{"NCCL_NCHANNELS_PER_NET_PEER", is_on, Cause::few_channels, 0.6, Weight::hint, "one channel to each peer of another node"},
    Habit{"NCCL_CUMEM_ENABLE", breaks_rack, Cause::nvlink_not_used, 0.8, Weight::proof, "NVLink between nodes needs it"},
    Habit{"NCCL_MNNVL_ENABLE", is_off, Cause::nvlink_not_used, 0.85, Weight::proof, "NVLink between nodes is off"},
    Habit{"NCCL_P2P_LEVEL", is_near_only, Cause::no_p2p_shm, 0.7, Weight::hint, "P2P only below one PCIe switch"},
    Habit{"NCCL_BUFFSIZE", is_small_buffer, Cause::debug_env, 0.6, Weight::hint,
          "buffers below a quarter of the default cannot cover latencies"},
    Habit{"NCCL_PROTO", is_slow_protocol, Cause::debug_env, 0.7, Weight::hint,
          "one protocol is forced for all sizes: LL moves half of the bytes, LL128 needs links that keep 128-byte stores whole"},
    Habit{"NCCL_PROTO", is_slow_protocol, Cause::algorithm_choice, 0.5, Weight::hint, "one protocol is forced for all sizes"},
    Habit{"NCCL_PROTO", forbids_ll128, Cause::ll128_off, 0.7, Weight::hint,
          "LL128 may not run, which small and medium sizes want on NVLink"},
    Habit{"NCCL_PROTO", [](const std::string&, const Context&) { return true; }, Cause::debug_env, 0.5, Weight::hint,
          "one protocol is forced for all sizes"},
    Habit{"NCCL_ALGO", gives_up_choice, Cause::algorithm_choice, 0.6, Weight::hint, "one algorithm is forced for all sizes"},
    Habit{"NCCL_ALGO", gives_up_choice, Cause::debug_env, 0.5, Weight::hint, "one algorithm is forced for all sizes"},
    Habit{"NCCL_DEBUG", [](const std::string& v, const Context&) { return upper(v) == "TRACE"; }, Cause::debug_env, 0.5, Weight::hint,
          "tracing prints in every call"},
    Habit{"NCCL_CHECKS_DISABLE", is_off, Cause::debug_env, 0.2, Weight::hint, "arguments are checked in every call"},
    Habit{"CUDA_LAUNCH_BLOCKING", is_on, Cause::cpu_launch_bound, 0.85, Weight::proof, "every launch waits for the one before"},
    Habit{"CUDA_LAUNCH_BLOCKING", is_on, Cause::debug_env, 0.7, Weight::proof, "every launch waits for the one before"},
    Habit{"NCCL_LAUNCH_MODE", [](const std::string& v, const Context&) { return upper(v) == "GROUP"; }, Cause::cpu_launch_bound, 0.3,
          Weight::hint, "launches wait for each other"},
    Habit{"NCCL_IB_PCI_RELAXED_ORDERING", is_off, Cause::other, 0.5, Weight::hint, "ordered writes are slow on some CPUs"},
    Habit{"NCCL_TOPO_FILE", [](const std::string& v, const Context&) { return v == "/dev/null"; }, Cause::debug_env, 0.6, Weight::hint,
          "the topology is hidden"},
};

/// A variable quoted with a figure was tried in a run of its own; it is compared there, not blamed here.
bool belongs_to_a_figure(const Context& c, const io::Setting& setting) {
  return !setting.by_nccl && std::any_of(c.quoted.begin(), c.quoted.end(), [&](const Quoted& q) {
    return q.line.number == setting.line.number &&
           std::any_of(q.settings.begin(), q.settings.end(), [&](const auto& s) { return s.first == setting.name; });
  });
}

/// The strongest of the table for one cause.
template <Cause Wanted>
std::optional<Clue> set_in_environment(const Context& c) {
  std::optional<Clue> best;
  for (const io::Setting& setting : c.info.settings) {
    if (belongs_to_a_figure(c, setting)) continue;
    for (const Habit& habit : habits) {
      if (habit.cause != Wanted || habit.name != setting.name || !habit.matters(setting.value, c)) continue;
      if (best && best->finding.confidence >= habit.confidence) continue;
      best = Clue{{Wanted, habit.confidence, fmt::format("{}: {}", cited(setting.line), habit.what),
                   fmt::format("unset {} and run again; see /etc/nccl.conf and ~/.nccl.conf as well", setting.name)},
                  habit.weight};
    }
  }
  return best;
}

/// One adapter chosen by hand where ranks of a node could use several.
std::optional<Clue> one_adapter_chosen(const Context& c) {
  const io::Setting* hca = c.info.setting("NCCL_IB_HCA");
  if (hca == nullptr || hca->value.find(',') != std::string::npos || hca->value.find('^') != std::string::npos ||
      belongs_to_a_figure(c, *hca))
    return std::nullopt;
  const bool exact = !hca->value.empty() && io::is_digit(hca->value.back());
  if (!exact || c.ranks_per_node() < 2 || c.nodes() == 1 || c.info.adapters.size() > 1) return std::nullopt;
  const Tier* nic = c.system ? c.system->tier(TierRole::nic) : nullptr;
  if (nic != nullptr && nic->endpoints == 1) return std::nullopt;
  return Clue{{Cause::rail_missing, 0.65, fmt::format("{}: {} ranks of a node share it", cited(hca->line), c.ranks_per_node()),
               "name all adapters (NCCL_IB_HCA=mlx5) or leave it unset"},
              Weight::hint};
}

constexpr std::array all_setting_rules{Rule{set_in_environment<Cause::debug_env>},    Rule{set_in_environment<Cause::tcp_fallback>},
                                       Rule{set_in_environment<Cause::gdr_off>},      Rule{set_in_environment<Cause::nvls_off>},
                                       Rule{set_in_environment<Cause::few_channels>}, Rule{set_in_environment<Cause::nvlink_not_used>},
                                       Rule{set_in_environment<Cause::no_p2p_shm>},   Rule{set_in_environment<Cause::algorithm_choice>},
                                       Rule{set_in_environment<Cause::ll128_off>},    Rule{set_in_environment<Cause::cpu_launch_bound>},
                                       Rule{set_in_environment<Cause::other>},        Rule{one_adapter_chosen}};

}  // namespace

std::span<const Rule> setting_rules() { return all_setting_rules; }

}  // namespace fabricost::diagnosis
