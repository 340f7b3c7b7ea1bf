/// Which link of the path is shared and by whom: a NIC of several GPUs, a port to the processor, the up-link
/// of a tapered tier. The links and loads are those of network/traffic.hpp, for the algorithm that runs.

#include "text/text_table.hpp"

#include <fabricost/explain/explain.hpp>
#include <fabricost/plan/network/topology_of.hpp>
#include <fabricost/plan/network/link_names.hpp>
#include <fabricost/plan/network/traffic.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fabricost::plan::detail {
namespace {

constexpr int max_gpus = 32768;  ///< for more, laying out every message takes too long

/// GPUs that take part: the first ones of each node. Empty if they do not divide, or are too many.
[[nodiscard]] std::vector<int> gpus_of(const System& system, const Fabric& f) {
  const int ranks = static_cast<int>(f.ranks()), nodes = std::max(1, f.nodes);
  std::vector<int> out;
  if (ranks < 2 || ranks > max_gpus || nodes > max_gpus || ranks % nodes != 0 || ranks / nodes > system.gpus_per_node) return out;
  for (int node = 0; node < nodes; ++node)
    for (int i = 0; i < ranks / nodes; ++i) out.push_back(node * system.gpus_per_node + i);
  return out;
}

/// Those of `gpus` whose path out of their node, or into the tier, uses this link; empty for a link that
/// belongs to one GPU.
[[nodiscard]] std::vector<int> users_of(const Topology& t, int link, const std::vector<int>& gpus) {
  const LinkBlock& b = t.block_of(link);
  const int at = link - b.first;
  std::vector<int> out;
  for (const int gpu : gpus) {
    bool uses = false;
    if (b.kind == LinkKind::nic_out) {
      const int ways = (t.nics + t.nic_group - 1) / t.nic_group;
      for_nics(t, gpu, [&](int n, double) { uses = uses || t.node_of(gpu) * ways + n / t.nic_group == at; });
    } else if (b.kind == LinkKind::port_up || b.kind == LinkKind::port_down) {
      uses = port_of(t, gpu) == at;
    } else if (b.kind == LinkKind::tier_up) {
      const NetworkLevel& level = t.levels[static_cast<std::size_t>(b.level)];
      uses = t.node_of(gpu) / level.span == at / level.lanes;
    } else if (b.kind == LinkKind::trunk_up) {
      uses = t.stage_of(gpu) == at;
    }
    if (uses) out.push_back(gpu);
  }
  return out;
}

/// A trunk between the stages of a scale-up switch that carries less than the GPUs below it can send.
[[nodiscard]] bool narrow(const Topology& t, const LinkBlock& b) {
  return b.kind == LinkKind::trunk_up && b.capacity < t.first_stage * t.capacity(t.link(t.gpu_out, 0)) * (1 - 1e-9);
}

/// "GPUs 0 and 1", "GPUs 0 to 3", "3,072 GPUs"
[[nodiscard]] std::string gpus_text(const std::vector<int>& gpus) {
  const int first = gpus.front(), last = gpus.back(), count = static_cast<int>(gpus.size());
  if (count == 2) return fmt::format("GPUs {} and {}", first, last);
  return last - first + 1 == count && count <= 64 ? fmt::format("GPUs {} to {}", first, last) : fmt::format("{} GPUs", count);
}

/// Links of the path that several GPUs share, one line per kind; empty if there are none, or if the algorithm's routes are not known.
[[nodiscard]] std::string sharing_text(const System& system, const Prediction& prediction) {
  const Fabric& fabric = prediction.made_from.fabric;
  const Operation& operation = prediction.operation;
  const double bytes = operation.bytes.value();
  const std::vector<int> gpus = gpus_of(system, fabric);
  if (gpus.empty()) return "";
  Topology t;
  Traffic traffic;
  try {
    t = topology_of(system, std::max(1, fabric.nodes));
    traffic = TrafficCounter{t}.count(operation.collective, prediction.ran.algorithm, gpus);
  } catch (const RequestError&) {
    return "";  // an algorithm without routes, or ranks it cannot run on: nothing to report
  }
  // for each kind of shared link, the one that takes longest over its part
  struct Busiest {
    int link = -1;
    double seconds = 0, bytes = 0;
  };
  std::array<Busiest, 4> busiest;  // NIC, port, tapered tier, tapered trunk
  for (const LinkLoad& l : traffic.loads) {
    const LinkBlock& b = t.block_of(l.link);
    const bool tapered = b.kind == LinkKind::tier_up && t.levels[static_cast<std::size_t>(b.level)].taper > 1;
    const std::size_t sort = b.kind == LinkKind::nic_out                                    ? 0
                             : b.kind == LinkKind::port_up || b.kind == LinkKind::port_down ? 1
                             : tapered                                                      ? 2
                             : narrow(t, b)                                                 ? 3
                                                                                            : busiest.size();
    if (sort == busiest.size()) continue;
    const double seconds = l.bytes * bytes / t.capacity(l.link);
    if (busiest[sort].link < 0 || seconds > busiest[sort].seconds * (1 + 1e-9)) busiest[sort] = {l.link, seconds, l.bytes};
  }
  std::string out;
  for (const Busiest& one : busiest) {
    if (one.link < 0) continue;
    const std::vector<int> users = users_of(t, one.link, gpus);
    if (users.size() < 2) continue;
    out +=
        wrapped("  ", fmt::format("Shared: {}, {}, by {}. {} {} puts {:.6g} S = {} on it, {} at that rate.", name_of(t, one.link),
                                  rate_text(Bandwidth::from_value(t.capacity(one.link))), gpus_text(users), name(prediction.ran.algorithm), name(prediction.ran.protocol),
                                  one.bytes, size_text(Bytes::from_value(std::round(one.bytes * bytes))),
                                  time_text(Time::from_value(one.seconds))));
  }
  return out;
}

}  // namespace
}  // namespace fabricost::plan::detail

/// The linker is told to look for this name (src/plan/CMakeLists.txt), so that a static library keeps this file.
extern "C" {
extern const bool fabricost_plan_joined;
const bool fabricost_plan_joined = [] {
  fabricost::core::use_sharing_text(&fabricost::plan::detail::sharing_text);
  return true;
}();
}
