#pragma once
/// Links that a message crosses from one GPU to another, with its share on each if several routes are equal.
///
///   switched domain     out of the sender, into the receiver; in two stages over the trunks of both where they sit below different ones
///   wired domain        the wire between the two; where there is none, the fewest wires, alike over all such ways (predict prices an
///                       exchange so, too); where none join the two, over the host
///   torus, ring         dimension by dimension, the shorter way round; half each way at equal distance
///   PCIe                up and down below one switch when peers reach each other, else through the host's memory
///   between domains     GPU to its NIC, up to the first tier both sit below, down again. Rails: traffic for another rail changes
///                       GPU first (PXN: NVLink to the GPU of that rail in the same node; NVIDIA, "Doubling all2all performance
///                       with NCCL 2.12")
///
/// Each link of a bundle carries an even share, which is the expected load; balance.hpp models the effect of
/// hashing. Dragonflies route minimally (one wire between two groups) or adaptively: over all wires of a
/// group; what the wires between the two do not carry crosses a third group (concurrent.hpp).

#include <fabricost/error.hpp>
#include <fabricost/plan/network/topology.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace fabricost::plan {

struct RouteOptions {
  bool relay_on_rails = true;  ///< PXN; NCCL_PXN_DISABLE=1 turns it off
  bool adaptive = true;        ///< between the groups of a dragonfly
};

/// A link and the share of a message that crosses it.
struct LinkUse {
  int link = 0;
  double share = 1;
};

namespace detail {

/// Moves share `part` of a message along one axis of a torus from `at` to `to`, updating `at`.
template <class Sink>
void along_axis(const Topology& t, int domain, std::vector<int>& at, std::size_t axis, int to, double part, const Sink& sink) {
  const int size = t.dims[axis];
  const int ways = 2 * static_cast<int>(t.dims.size());
  const int forward = ((to - at[axis]) % size + size) % size;
  const auto walk = [&](int hops, int step, double share) {
    std::vector<int> here = at;
    for (int i = 0; i < hops; ++i) {
      int index = 0;
      for (std::size_t a = t.dims.size(); a-- > 0;) index = index * t.dims[a] + here[a];
      sink(t.link(t.wire, (domain * t.domain + index) * ways + 2 * static_cast<int>(axis) + (step < 0)), share);
      here[axis] = ((here[axis] + step) % size + size) % size;
    }
  };
  if (!t.wrap || (t.open_axes >> axis & 1U) != 0) {
    walk(std::abs(to - at[axis]), to > at[axis] ? 1 : -1, part);
  } else if (2 * forward == size) {
    walk(forward, 1, part / 2);
    walk(forward, -1, part / 2);
  } else if (forward > 0) {
    walk(std::min(forward, size - forward), 2 * forward < size ? 1 : -1, part);
  }
  at[axis] = to;
}

/// A wire of a domain, and the share of a message that takes it.
struct WireUse {
  int wire = 0;
  double share = 1;
};

/// All ways of the fewest wires between two endpoints, each link of a wire a way of its own; empty if there is none.
[[nodiscard]] std::vector<WireUse> shortest_ways(const Topology& t, int from, int to);

[[nodiscard]] int port_of(const Topology& t, int gpu);

/// GPU to host memory or beyond the port. `past_port`: also over the shared port.
template <class Sink>
void host_leg(const Topology& t, int gpu, bool out, bool past_port, double part, const Sink& sink) {
  if (t.host_out < 0) return;
  sink(t.link(out ? t.host_out : t.host_in, gpu), part);
  if (past_port && t.port_up >= 0) sink(t.link(out ? t.port_up : t.port_down, port_of(t, gpu)), part);
}

template <class Sink>
void inside(const Topology& t, int from, int to, double part, const Sink& sink) {
  const int domain = t.domain_of(from), base = domain * t.domain;
  const auto over_host = [&](bool past_port) {
    host_leg(t, from, true, past_port, part, sink);
    host_leg(t, to, false, past_port, part, sink);
  };
  if (t.shape == TierKind::host) {
    over_host(!t.peer_to_peer || port_of(t, from) != port_of(t, to));
  } else if (t.gpu_out >= 0) {
    sink(t.link(t.gpu_out, from), part);
    if (t.trunk_up >= 0 && t.stage_of(from) != t.stage_of(to)) {
      sink(t.link(t.trunk_up, t.stage_of(from)), part);
      sink(t.link(t.trunk_down, t.stage_of(to)), part);
    }
    sink(t.link(t.gpu_in, to), part);
  } else if (t.shape == TierKind::torus) {
    std::vector<int> at(t.dims.size());
    int left = from - base, wanted = to - base;
    for (std::size_t a = 0; a < at.size(); left /= t.dims[a++]) at[a] = left % t.dims[a];
    for (std::size_t a = 0; a < at.size(); wanted /= t.dims[a++]) along_axis(t, domain, at, a, wanted % t.dims[a], part, sink);
  } else {
    const int each = t.wires_per_domain();
    const auto send = [&](int w, double share) { sink(t.link(t.wire, domain * each + w), share); };
    const int direct = t.wire_between(from - base, to - base);
    if (direct >= 0) {
      send(direct, part);
    } else if (t.shape == TierKind::ring) {
      const int forward = ((to - from) % t.domain + t.domain) % t.domain;
      const bool tie = 2 * forward == t.domain;
      for (const int step : {1, -1}) {
        if (!tie && (step > 0) != (2 * forward < t.domain)) continue;
        for (int at = from - base, i = step > 0 ? forward : t.domain - forward; i > 0; --i) {
          const int next = (at + step + t.domain) % t.domain;
          send(t.wire_between(at, next), tie ? part / 2 : part);
          at = next;
        }
      }
    } else if (const std::vector<WireUse> ways = shortest_ways(t, from - base, to - base); !ways.empty()) {
      for (const WireUse& w : ways) send(w.wire, part * w.share);
    } else {
      if (t.host_out < 0 || t.node_of(from) != t.node_of(to))
        throw RequestError(t.name + ": no way from GPU " + std::to_string(from) + " to GPU " + std::to_string(to));
      over_host(true);
    }
  }
}

/// A GPU's NICs with the share of its traffic on each: one of its own, one shared, or several.
template <class Visit>
void for_nics(const Topology& t, int gpu, const Visit& visit) {
  const int place = gpu % t.gpus_per_node;
  if (t.nics <= t.gpus_per_node) return visit(place * t.nics / t.gpus_per_node, 1.0);
  const double each = static_cast<double>(t.nics) / t.gpus_per_node;
  for (int n = static_cast<int>(place * each); n < t.nics && n < (place + 1) * each - 1e-9; ++n)
    visit(n, (std::min(n + 1.0, (place + 1) * each) - std::max<double>(n, place * each)) / each);
}

/// The first NIC of a GPU: its rail.
[[nodiscard]] int rail_of(const Topology& t, int gpu);

/// GPU to the wire behind its NICs, or back.
template <class Sink>
void nic_leg(const Topology& t, int gpu, bool out, double part, const Sink& sink) {
  const bool below_switch = t.path == NicPath::pix || t.path == NicPath::pxb;
  if (!t.nic_on_gpu) host_leg(t, gpu, out, !t.gpu_direct || !below_switch, part, sink);
  if (!t.nic_on_gpu && !t.gpu_direct && below_switch && t.port_up >= 0)  // from host memory back down to the NIC, or up from it
    sink(t.link(out ? t.port_down : t.port_up, port_of(t, gpu)), part);
  if (t.host_memory >= 0) sink(t.link(t.host_memory, t.node_of(gpu)), 2 * part);  // written and read
  const int ways = (t.nics + t.nic_group - 1) / t.nic_group;
  for_nics(t, gpu,
           [&](int n, double share) { sink(t.link(out ? t.nic_out : t.nic_in, t.node_of(gpu) * ways + n / t.nic_group), part * share); });
}

/// From node to node, above the NICs. The GPUs determine the NICs and so the rails.
template <class Sink>
void network_leg(const Topology& t, int from_node, int to_node, int from_gpu, int to_gpu, double part, const RouteOptions& options,
                 const Sink& sink) {
  for (const NetworkLevel& level : t.levels) {
    const int a = from_node / level.span, b = to_node / level.span;
    if (a == b) return;
    if (level.up < 0) continue;
    if (level.pairs >= 0 && !options.adaptive) {
      sink(t.link(level.pairs, a * level.children + b), part);
      continue;
    }
    if (level.lanes == 1) {
      sink(t.link(level.up, a), part);
      sink(t.link(level.down, b), part);
    } else {
      for_nics(t, from_gpu, [&](int n, double share) { sink(t.link(level.up, a * level.lanes + n), part * share); });
      for_nics(t, to_gpu, [&](int n, double share) { sink(t.link(level.down, b * level.lanes + n), part * share); });
    }
  }
}

/// The GPU whose NIC sends a message: the sender, or where rails are separate the GPU of its node on the
/// receiver's rail.
[[nodiscard]] int exit_gpu(const Topology& t, int from, int to, const RouteOptions& options);

}  // namespace detail

/// Calls sink(link, share) for every link that `part` of a message crosses from one GPU to another.
/// \throws RequestError when a GPU does not exist, or nothing joins the two
template <class Sink>
void for_route(const Topology& t, int from, int to, double part, const RouteOptions& options, const Sink& sink) {
  for (const int gpu : {from, to})
    if (gpu < 0 || gpu >= t.gpus())
      throw RequestError(t.name + ": GPU " + std::to_string(gpu) + " of 0 to " + std::to_string(t.gpus() - 1) + " does not exist");
  if (from == to) return;
  if (t.domain_of(from) == t.domain_of(to)) {
    if (!t.joined) throw RequestError(t.name + ": nothing joins the GPUs of a domain");
    return detail::inside(t, from, to, part, sink);
  }
  if (t.nic_out < 0) throw RequestError(t.name + ": no NIC tier to leave a domain by");
  const int exit = detail::exit_gpu(t, from, to, options);
  if (exit != from) detail::inside(t, from, exit, part, sink);
  detail::nic_leg(t, exit, true, part, sink);
  detail::network_leg(t, t.node_of(exit), t.node_of(to), exit, to, part, options, sink);
  detail::nic_leg(t, to, false, part, sink);
}

/// The links a message crosses, in order, each with the share of it. \throws as for_route
[[nodiscard]] std::vector<LinkUse> route(const Topology& t, int from, int to, const RouteOptions& options = {});

}  // namespace fabricost::plan

namespace fabricost {
using plan::LinkUse;
using plan::route;
}  // namespace fabricost
