#include <fabricost/plan/network/routes.hpp>

namespace fabricost::plan::detail {

std::vector<int> min_wires(const Topology& t, int from, int to) {
  std::vector<int> came(static_cast<std::size_t>(t.domain), -1), open{from};
  for (std::size_t i = 0; i < open.size() && came[static_cast<std::size_t>(to)] < 0; ++i)
    for (int w = t.first_wire[static_cast<std::size_t>(open[i])]; w < t.first_wire[static_cast<std::size_t>(open[i]) + 1]; ++w) {
      const int next = t.wires[static_cast<std::size_t>(w)].to;
      if (next == from || came[static_cast<std::size_t>(next)] >= 0) continue;
      came[static_cast<std::size_t>(next)] = w;
      open.push_back(next);
    }
  std::vector<int> out;
  for (int at = to; at != from && came[static_cast<std::size_t>(at)] >= 0; at = t.wires[static_cast<std::size_t>(out.back())].from)
    out.push_back(came[static_cast<std::size_t>(at)]);
  return out;
}

int port_of(const Topology& t, int gpu) {
  return t.node_of(gpu) * ((t.gpus_per_node + t.port_gpus - 1) / t.port_gpus) + gpu % t.gpus_per_node / t.port_gpus;
}

int rail_of(const Topology& t, int gpu) {
  int rail = -1;
  for_nics(t, gpu, [&](int n, double) { rail = rail < 0 ? n : rail; });
  return rail;
}

int exit_gpu(const Topology& t, int from, int to, const RouteOptions& options) {
  if (!t.railed || !options.relay_on_rails || !t.joined || rail_of(t, from) == rail_of(t, to)) return from;
  return t.node_of(from) * t.gpus_per_node + to % t.gpus_per_node;
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

std::vector<LinkUse> route(const Topology& t, int from, int to, const RouteOptions& options) {
  std::vector<LinkUse> out;
  for_route(t, from, to, 1, options, [&out](int link, double share) { out.push_back({link, share}); });
  return out;
}

}  // namespace fabricost::plan
