#include <fabricost/plan/network/link_names.hpp>

namespace fabricost::plan::detail {

std::string numbers(int first, int count) {
  return count <= 1 ? std::to_string(first) : std::to_string(first) + (count == 2 ? " and " : " to ") + std::to_string(first + count - 1);
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

std::string name_of(const Topology& t, int link) {
  const LinkBlock& b = t.block_of(link);
  const int at = link - b.first;
  std::string tier{b.tier.view()};
  const auto gpu = [](int n) { return "GPU " + std::to_string(n); };
  switch (b.kind) {
    case LinkKind::gpu_out: return tier + " of " + gpu(at) + " (out)";
    case LinkKind::gpu_in: return tier + " of " + gpu(at) + " (in)";
    case LinkKind::trunk_up:
    case LinkKind::trunk_down: {
      const int groups = (t.domain + t.first_stage - 1) / t.first_stage, first = at / groups * t.domain + at % groups * t.first_stage;
      const int last = std::min({first + t.first_stage, (at / groups + 1) * t.domain, t.gpus()});
      return tier + " trunk of GPUs " + detail::numbers(first, last - first) + (b.kind == LinkKind::trunk_up ? " (up)" : " (down)");
    }
    case LinkKind::host_out: return tier + " of " + gpu(at) + " (up)";
    case LinkKind::host_in: return tier + " of " + gpu(at) + " (down)";
    case LinkKind::port_up:
    case LinkKind::port_down: {
      const int ports = (t.gpus_per_node + t.port_gpus - 1) / t.port_gpus;
      const int first = at % ports * t.port_gpus;
      const int count = std::min(t.port_gpus, t.gpus_per_node - first);
      return tier + " port of GPUs " + detail::numbers(at / ports * t.gpus_per_node + first, count) +
             (b.kind == LinkKind::port_up ? " (up)" : " (down)");
    }
    case LinkKind::nic_out:
    case LinkKind::nic_in: {
      const int ways = (t.nics + t.nic_group - 1) / t.nic_group;
      const std::string which =
          t.nic_group > 1
              ? " link of NICs " + detail::numbers(at % ways * t.nic_group, std::min(t.nic_group, t.nics - at % ways * t.nic_group))
              : " " + std::to_string(at % ways);
      return tier + which + " of node " + std::to_string(at / ways) + (b.kind == LinkKind::nic_out ? " (out)" : " (in)");
    }
    case LinkKind::host_memory: return tier + " of node " + std::to_string(at);
    case LinkKind::wire: {
      const int each = t.wires_per_domain(), base = at / each * t.domain, place = at % each;
      if (t.shape == TierKind::torus) {
        const int ways = 2 * static_cast<int>(t.dims.size());
        return tier + " of " + gpu(base + place / ways) + " (" + (place % 2 == 0 ? "+" : "-") +
               std::string(1, "xyzuvw"[place % ways / 2 % 6]) + ")";
      }
      const Wire& w = t.wires[static_cast<std::size_t>(place)];
      return tier + " from " + gpu(base + w.from) + " to " + gpu(base + w.to);
    }
    case LinkKind::tier_up:
    case LinkKind::tier_down: {
      const NetworkLevel& level = t.levels[static_cast<std::size_t>(b.level)];
      const int child = at / level.lanes;
      std::string out = tier + (b.kind == LinkKind::tier_up ? " up-link" : " down-link");
      if (level.lanes > 1)
        out += " of rail " + std::to_string(at % level.lanes) + ",";
      else
        out += " of";
      out +=
          (level.span > 1 ? " nodes " : " node ") + detail::numbers(child * level.span, std::min(level.span, t.nodes - child * level.span));
      if (level.taper > 1) {
        std::string ratio = std::to_string(level.taper);
        ratio.erase(ratio.find_last_not_of('0') + 1);
        if (ratio.back() == '.') ratio.pop_back();
        out += " (" + ratio + ":1)";
      }
      return out;
    }
    case LinkKind::groups: {
      const int groups = t.levels[static_cast<std::size_t>(b.level)].children;
      return tier + " wires from group " + std::to_string(at / groups) + " to " + std::to_string(at % groups);
    }
  }
  return tier;
}

}  // namespace fabricost::plan
