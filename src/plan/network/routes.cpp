#include <fabricost/plan/network/routes.hpp>

namespace fabricost::plan::detail {

std::vector<WireUse> shortest_ways(const Topology& t, int from, int to) {
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  std::vector<int> hops(at(t.domain), -1), open{from};
  std::vector<double> ways(at(t.domain), 0);
  hops[at(from)] = 0;
  ways[at(from)] = 1;
  std::vector<int> crossed;  // wires that lead one hop further, in the order of hops
  for (std::size_t i = 0; i < open.size() && hops[at(open[i])] != hops[at(to)]; ++i)
    for (int w = t.first_wire[at(open[i])]; w < t.first_wire[at(open[i]) + 1]; ++w) {
      const Wire& wire = t.wires[at(w)];
      int& reached = hops[at(wire.to)];
      if (reached < 0) {
        reached = hops[at(open[i])] + 1;
        open.push_back(wire.to);
      }
      if (reached != hops[at(open[i])] + 1) continue;
      ways[at(wire.to)] += ways[at(open[i])] * wire.links;
      crossed.push_back(w);
    }
  std::vector<double> passing(at(t.domain), 0);  // share of the message
  passing[at(to)] = 1;
  std::vector<WireUse> out;
  for (std::size_t i = crossed.size(); i-- > 0;) {
    const Wire& wire = t.wires[at(crossed[i])];
    if (!(passing[at(wire.to)] > 0)) continue;
    out.push_back({crossed[i], passing[at(wire.to)] * ways[at(wire.from)] * wire.links / ways[at(wire.to)]});
    passing[at(wire.from)] += out.back().share;
  }
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
