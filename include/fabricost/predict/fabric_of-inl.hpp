#pragma once
/// Bodies of fabric_of.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/predict/fabric_of.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace fabricost::core {

FABRICOST_BODY int nodes_of(const Levels& levels, int per_node) {
  const long long ranks = static_cast<long long>(levels.ranks());
  return static_cast<int>((ranks + per_node - 1) / per_node);
}

}  // namespace fabricost::core

namespace fabricost::core::detail {

FABRICOST_BODY const Tier* FirstTiers::pcie() const {
  if (const Tier* host = (*this)[TierRole::host]) return host;
  const Tier* scale_up = (*this)[TierRole::scale_up];
  return scale_up != nullptr && scale_up->kind == TierKind::host ? scale_up : nullptr;
}

/// Links across the narrowest cut of a mesh graph (Stoer & Wagner, Journal of the ACM 44, 1997); 0 where it is not joined.
FABRICOST_BODY double narrowest_cut(const Tier& tier) {
  if (tier.endpoints > static_cast<int>(tier.edges.size()) + 1) return 0;
  const auto n = static_cast<std::size_t>(tier.endpoints);
  std::vector<double> links(n * n, 0), bound(n);
  for (const Edge& e : tier.edges)
    if (std::min(e.from, e.to) >= 0 && std::max(e.from, e.to) < tier.endpoints && e.from != e.to)
      for (const auto& [from, to] : {std::pair{e.from, e.to}, {e.to, e.from}})
        links[static_cast<std::size_t>(from) * n + static_cast<std::size_t>(to)] += e.links;
  std::vector<std::size_t> left(n);
  std::iota(left.begin(), left.end(), std::size_t{0});
  double out = std::numeric_limits<double>::infinity();
  while (left.size() > 1) {
    std::fill(bound.begin(), bound.end(), 0);
    for (std::size_t first = 0; first + 1 < left.size(); ++first) {  // the next is the one with the most links to those before
      const std::size_t last = left[first];
      for (std::size_t i = first + 1; i < left.size(); ++i) bound[left[i]] += links[last * n + left[i]];
      const auto next = left.begin() + static_cast<std::ptrdiff_t>(first) + 1;
      std::iter_swap(next, std::max_element(next, left.end(), [&](std::size_t a, std::size_t b) { return bound[a] < bound[b]; }));
    }
    const std::size_t last = left.back();
    left.pop_back();
    out = std::min(out, bound[last]);
    for (const std::size_t i : left) {  // the last becomes one with the one before it
      if (i == left.back()) continue;
      links[left.back() * n + i] += links[last * n + i];
      links[i * n + left.back()] += links[i * n + last];
    }
  }
  return out;
}

/// One-way rings that the first n endpoints of a mesh graph have links for: no more than the least connected of them has to the others,
/// or than cross the narrowest cut, which each ring does.
FABRICOST_BODY double mesh_links(const Tier& tier, int n) {
  int min = -1;
  for (int endpoint = 0; endpoint < n; ++endpoint) {
    int links = 0;
    for (const Edge& e : tier.edges)
      if ((e.from == endpoint && e.to < n) || (e.to == endpoint && e.from < n)) links += e.links;
    if (min < 0 || links < min) min = links;
  }
  const double cut = n > 2 ? narrowest_cut(tier) : 0;
  return std::max(0.0, cut > 0 ? std::min<double>(min, cut) : min);
}

/// Messages over one link, at most, where each of the first n endpoints of a mesh graph sends one to every other: over the fewest hops, by
/// endpoints that take no part, too, and alike over all such ways; parallel links are ways of their own. (NCCL relays since 2.8,
/// https://github.com/NVIDIA/nccl/pull/401; AMD's links route: De Sensi et al., arXiv 2408.14090.)
FABRICOST_BODY double mesh_exchange_load(const Tier& tier, int n) {
  if (tier.endpoints > static_cast<int>(tier.edges.size()) + 1) return 0;  // not joined
  struct Endpoint {
    int hops;               // from the sender; -1: not reached
    double ways, messages;  // ways from the sender; messages that arrive or pass
  };
  std::vector<Endpoint> at(static_cast<std::size_t>(tier.endpoints));
  std::vector<std::array<double, 2>> carried(tier.edges.size());
  for (int sender = 0; sender < n; ++sender) {
    for (int i = 0; i < tier.endpoints; ++i)
      at[static_cast<std::size_t>(i)] = {i == sender ? 0 : -1, i == sender ? 1.0 : 0.0, i < n ? 1.0 : 0.0};
    const auto for_hop = [&](int hop, const auto& visit) {
      for (std::size_t e = 0; e < tier.edges.size(); ++e)
        for (const bool back : {false, true}) {
          if (const auto [low, high] = std::minmax(tier.edges[e].from, tier.edges[e].to); low < 0 || high >= tier.endpoints) continue;
          Endpoint& from = at[static_cast<std::size_t>(back ? tier.edges[e].to : tier.edges[e].from)];
          Endpoint& to = at[static_cast<std::size_t>(back ? tier.edges[e].from : tier.edges[e].to)];
          if (from.hops == hop && (to.hops < 0 || to.hops == hop + 1)) visit(from, to, tier.edges[e].links, carried[e][back ? 1 : 0]);
        }
    };
    int hops = 0;
    for (bool further = true; further; ++hops) {
      further = false;
      for_hop(hops, [&](const Endpoint& from, Endpoint& to, int links, double&) {
        to.hops = hops + 1;
        to.ways += links * from.ways;
        further = true;
      });
    }
    while (hops-- > 0)
      for_hop(hops, [&](Endpoint& from, const Endpoint& to, int links, double& over) {
        const double each = from.ways / to.ways * to.messages;
        over += each;
        from.messages += links * each;
      });
  }
  double out = 0;
  for (const std::array<double, 2>& both : carried) out = std::max({out, both[0], both[1]});
  return out;
}

/// Two neighbours of a torus or ring have a second way to each other where an axis of two closes.
FABRICOST_BODY bool join_twice(const Tier& tier) {
  if (!tier.wrap) return false;
  if (tier.kind == TierKind::ring) return tier.endpoints == 2;
  for (std::size_t i = 0; i < tier.dims.size(); ++i)
    if (tier.dims[i] == 2 && tier.closes(i)) return true;
  return false;
}

/// The first n are a line: they have one axis to themselves, which does not close or is longer.
FABRICOST_BODY bool in_line(const Tier& tier, int n) {
  if (tier.kind == TierKind::ring) return !tier.wrap || n < tier.endpoints;
  int axes = 0;
  bool closed = true;
  for (std::size_t i = 0; i < tier.dims.size(); ++i)
    if (tier.dims[i] > 1) {
      ++axes;
      closed = tier.closes(i);
    }
  return axes == 1 && (!closed || n < tier.endpoints);
}

/// Links one endpoint can use when the first n of a tier's endpoints communicate.
FABRICOST_BODY double usable_links(const Tier& tier, int n) {
  switch (tier.kind) {
    case TierKind::full_mesh: return tier.endpoints > 1 ? static_cast<double>(tier.links) * (n - 1) / (tier.endpoints - 1) : tier.links;
    case TierKind::mesh_graph: return mesh_links(tier, n);
    case TierKind::torus:
    case TierKind::ring:  // used by a ring of ranks; the bucket algorithm takes full_rate. Two neighbours have one way between them, the
                          // ends of a line one link
      return (n == 2 && !detail::join_twice(tier)) || (n > 2 && in_line(tier, n)) ? std::min(1, tier.links) : std::min(2, tier.links);
    default: return tier.links;
  }
}

/// Load of the busiest axis of a block of a torus in an exchange, in quarters of a hop, and the hops to the furthest chip.
FABRICOST_BODY std::pair<int, int> exchange_load(const Tier& tier, std::span<const int> block) {
  int load = 0, furthest = 0;
  for (std::size_t axis = 0; axis < block.size(); ++axis) {
    const bool closed = block[axis] == tier.dims[axis] && tier.closes(axis);
    if (block[axis] > 1) load = std::max(load, (closed ? 1 : 2) * block[axis]);
    furthest += closed ? block[axis] / 2 : block[axis] - 1;
  }
  return {load, furthest};
}

FABRICOST_BODY std::array<int, 3> block_of_torus(const Tier& tier, int n) {
  const std::size_t count = std::min<std::size_t>(tier.dims.size(), 3);
  const auto length = [&](std::size_t axis) { return axis < count ? tier.dims[axis] : 1; };
  std::array<int, 3> best{};
  for (int x = 1; x <= length(0); ++x)
    for (int y = 1; y <= length(1); ++y) {
      if (length(0) % x != 0 || length(1) % y != 0 || n % (x * y) != 0 || length(2) % (n / (x * y)) != 0) continue;
      const std::array<int, 3> block{x, y, n / (x * y)};
      const auto load = [&](const std::array<int, 3>& of) { return exchange_load(tier, std::span{of}.first(count)); };
      if (best[0] == 0 || load(block) < load(best)) best = block;
    }
  return best;
}

/// The axes that n chips fill: all of the torus, or whole ones of it, as the ranks of a layout do (8 x 8 of 8 x 8 x 8), over the links of
/// those axes. What fills none, and an exchange that fills no two, runs on parts of them, in lines: 4 x 4 x 2 of 4 x 4 x 4. On a slice
/// exchanges alone do: a mesh of XLA may split a physical axis (jax.experimental.mesh_utils, allow_split_physical_axes), as that of
/// Llama 3.1 405B on v6e does (maxtext, benchmarks/maxtext_trillium_model_configs.py: custom_mesh hybrid_ring_64x4).
FABRICOST_BODY void describe_torus(Fabric& f, const Tier& tier, int n, bool exchange, bool slice) {
  const auto count = static_cast<unsigned>(std::min<std::size_t>(tier.dims.size(), 3));
  unsigned found = 0;
  for (unsigned set = (1U << count) - 1; set > 0; --set) {
    int filled = 1;
    for (unsigned axis = 0; axis < count; ++axis) filled *= (set >> axis & 1U) != 0 ? tier.dims[axis] : 1;
    if (filled == n) found = set;
    if (filled == n && filled == tier.endpoints) break;
  }
  std::array<int, 3> block{};
  int longer = 0;  // axes of more than one chip
  for (unsigned axis = 0; axis < count; ++axis) {
    block[axis] = (found >> axis & 1U) != 0 ? tier.dims[axis] : 1;
    longer += block[axis] > 1 ? 1 : 0;
  }
  const bool in_parts = n > 2 && (exchange ? longer < 2 : found == 0 && !slice);
  if (in_parts) block = block_of_torus(tier, n);
  for (unsigned axis = 0; axis < count; ++axis)
    if (block[axis] > 1) {
      if (block[axis] < tier.dims[axis] || !tier.closes(axis)) f.open_axes = static_cast<unsigned char>(f.open_axes | 1U << f.torus_axes);
      f.torus[static_cast<std::size_t>(f.torus_axes++)] = block[axis];
    }
  if (f.torus_axes > (in_parts && exchange ? 0 : 1)) f.full_rate *= static_cast<double>(f.torus_axes) / count;
}

/// \param constants NCCL's planning rate for links without a stated `usable`
FABRICOST_BODY void describe_scale_up(Fabric& f, const Tier& tier, int g, bool exchange, bool slice, const Constants& constants) {
  const int n = std::min(g, tier.endpoints);
  const double full = tier.bandwidth.value.value();
  f.full_rate = full;
  f.over_pcie = tier.kind == TierKind::host;
  f.per_socket = tier.per_socket;
  f.peer_to_peer = f.over_pcie && tier.peer_to_peer;
  f.switched = tier.kind == TierKind::switched;
  f.in_switch = tier.reduces_in_network && f.switched;
  f.inner_latency_shift = tier.latency.value.value() - tier.nominal_latency.value();
  if (f.over_pcie) {
    f.pcie_rate = full;  // the fitted shares by number of ranks include the loss from sharing it
    f.planned_per_gpu = tier.planning_rate.value() > 0 ? tier.planning_rate.value() * (full / tier.link_bandwidth.value())
                                                       : constants.pcie.form.planned_share * full;
    f.inner_rate = f.pcie_rate * tier.efficiency;
    const std::size_t reach = pcie_reach(f);
    // the constants of a measured machine know its board better
    if (constants.basis != Basis::calibrated) {
      f.pcie_carried = tier.carried[reach].value();
      // of an exchange (n-1)/n S leave a GPU, s (n-s)/n S a link that s GPUs share; a board's own rates were measured with that
      const double s = tier.shared_by;
      if (s > 1 && n > s && !(f.pcie_carried > 0)) f.inner_exchanges = std::min(1.0, (n - 1) / (s * (n - s)));
      f.pcie_exchanged = reach == 1 ? 0 : tier.carried[reach == 0 ? 3 : 4].value();
    }
    if (reach == 2 && f.cpu == Cpu::amd) f.planned_per_gpu = std::min(f.planned_per_gpu, constants.pcie.form.planned_sockets);
    return;
  }
  const double share = n > 1 && tier.links > 0 ? usable_links(tier, n) / tier.links : 1;
  f.inner_rate = full * share;
  const double planned =
      tier.planning_rate.value() > 0 ? tier.planning_rate.value() / tier.link_bandwidth.value() : constants.scale_up.form.planned_share;
  f.planned_per_gpu = f.inner_rate * planned;
  if (f.switched && tier.first_stage > 0 && tier.first_stage < n) {  // same rule as describe_network above the NICs
    const double m = tier.first_stage;
    f.inner_exchanges = std::min(1.0, (1 - 1.0 / n) / (tier.oversubscription * (1 - m / n)));
    f.inner_rate *= std::min(1.0, m / tier.oversubscription);
  }
  if (tier.kind == TierKind::mesh_graph && n > 2)  // n-1 messages leave a GPU over its links meanwhile
    f.inner_exchanges = std::min(1.0, (n - 1) / (share * tier.links * mesh_exchange_load(tier, n)));
  f.neighbours_only = tier.kind == TierKind::torus || tier.kind == TierKind::ring;
  if (f.library == Library::rccl) {
    const ScaleUpForm& form = constants.scale_up.form;
    f.ll_until = form.rccl_ll_until;
    f.ll128_until = form.rccl_ll128_until;
    if (tier.kind == TierKind::full_mesh && n == tier.endpoints && n >= 8) f.ring_until = form.rccl_ring_until;
  }
  f.wrap = tier.wrap;
  if (tier.kind == TierKind::torus) describe_torus(f, tier, n, exchange, slice);
}

/// RCCL's channels follow a GPU's peers and not, as in NCCL's search, the rate of the links: 8 run for a peer and 32 at most, which fits
/// 2, 4 and 8 MI350X.
FABRICOST_BODY Channels rccl_channels(const Fabric& f) {
  constexpr double to_a_peer = 8;
  const TunerTables& tables = tables_of(f.tuner);
  const double count = std::max(1.0, std::min(to_a_peer * (f.local() - 1), tables.max_channels) / tables.running_factor);
  return {static_cast<int>(count), f.channels.total() / count};
}

FABRICOST_BODY void describe_network(Fabric& f, const System& system, const Tier& nic, double reached, double sending) {
  const double N = f.domains();
  const double together = system.nodes_per_domain();
  double below = 1;        // nodes below one child of the tier
  double taper = reached;  // share of what leaves such a child
  double port = nic.bandwidth.value.value();
  const Tier* child = nullptr;
  for (const Tier& tier : system.tiers) {
    if (tier.role != TierRole::network) continue;
    const double m = std::max(1.0, below / together);
    if (child != nullptr) taper *= port_slowdown(port, tier);
    const double loaded = taper * (child != nullptr && child->kind == TierKind::rails && nic.lost == 0 ? 1 : sending);
    if (m >= N) break;
    const double streams = m / loaded;
    const double exchanges = (1 - 1 / N) / (loaded * (1 - m / N));
    below *= std::max(1, tier.endpoints);
    if (child != nullptr && streams < f.ring_taper) {
      f.ring_taper = streams;
      f.ring_taper_tier = child->name;
    }
    if (child != nullptr && exchanges < f.all_to_all_taper) {
      f.all_to_all_taper = exchanges;
      f.all_to_all_taper_tier = child->name;
    }
    taper *= tier.oversubscription;
    port = std::min(port, tier.bandwidth.value.value());
    child = &tier;
    f.outer_latency_shift += tier.latency.value.value() - tier.nominal_latency.value();
  }
}

/// Name of a NIC's slot: the PCIe tier's name if there is one.
FABRICOST_BODY Label slot_tier(const FirstTiers& first) { return first.pcie() != nullptr ? first.pcie()->name : Label{"pcie"}; }

/// Rates are the minimum along the path: the NICs, their slots, the GPUs' own links, the ports to the
/// processor.
/// \param pair one rank of each domain sends, over its own NICs \return rate that reaches the NICs over their own, at most 1
FABRICOST_BODY double describe_nics(Fabric& f, const System& system, const FirstTiers& first, bool pair) {
  const Tier* nic = first[TierRole::nic];
  if (nic == nullptr)
    throw RequestError(system.name + ": more ranks than the scale-up domain holds, and no tier with role \"nic\" to leave it by; take a machine that has one, or add it to a file that extends this one");
  const auto of_ranks = [&](double nics) {
    return std::max(1.0, std::floor(nics * system.nodes_per_domain() * f.local() / system.domain + 1e-9));
  };
  const double per_device = tables_of(f.tuner).network_channels[tuner_generation(f.generation)];
  const NicsLeft left = nics_left(of_ranks(devices_of(*nic, system.gpus_per_node)), of_ranks(nic->endpoints), f.local(), per_device);
  const double senders = pair ? 1 : f.local();
  f.nics = pair ? std::max(1.0, std::floor(left.carrying / f.local())) : left.carrying;
  if (!pair) f.all_to_all_taper = left.exchanges;
  const Tier* const leaf = first[TierRole::network];
  const double port = leaf != nullptr ? 1 / port_slowdown(nic->bandwidth.value.value(), *leaf) : 1;
  const double sent = f.nics * nic->bandwidth.value.value() / nic->shared_by * port;
  const NicWay way = nic_way(*nic, first.pcie(), first[TierRole::c2c]);
  const double reached = way.rate(senders, f.nics);
  f.outer_rate = std::min(sent, reached);
  if (port < 1) f.nic_limit_tier = leaf->name;
  if (reached < sent)
    f.nic_limit_tier = nic->path == NicPath::c2c && f.nics * way.slot > reached ? first[TierRole::c2c]->name : slot_tier(first);
  f.outer_latency_shift = nic->latency.value.value() - nic->nominal_latency.value();
  f.host_bridge = nic->path == NicPath::phb || nic->path == NicPath::node || nic->path == NicPath::sys;
  f.gpu_direct = nic->gpu_direct;
  f.sharp = nic->sharp;
  f.ll128 = nic->transport.ll128;
  f.plugin = nic->transport.plugin;
  return reached < sent ? reached / sent : 1;
}

/// What leaves a GPU is read from its memory while what arrives is written to it: one way, a GPU's links and its share of the NICs carry
/// together no more than half of what the memory moves, and the faster of the two yields. NCCL's planning rates stay those of the links,
/// which are all that it looks at.
/// \param senders ranks of a domain that send to others
FABRICOST_BODY void bound_by_memory(Fabric& f, double memory, double senders) {
  if (!(memory > 0)) return;
  const double most = memory / 2, inside = f.local() <= 1 ? 0 : f.over_pcie ? f.pcie_rate : f.inner_rate;
  const double across = std::min(f.outer_rate / senders, std::max(most / 2, most - inside));
  if (across < f.outer_rate / senders) {
    f.nic_limit_tier = Label{"hbm"};
    f.outer_rate = across * senders;
  }
  if (inside > most - across) f.inner_limit_tier = Label{"hbm"};
  for (double* const rate : {&f.inner_rate, &f.full_rate, &f.pcie_rate, &f.pcie_carried, &f.pcie_exchanged})
    *rate = std::min(*rate, most - across);
}

/// Bytes per second beyond which a rate is in another unit: the reader of files refuses them, too.
inline constexpr double max_link_rate = 1e15;

/// Names the cause where is_sound fails. \throws RequestError
FABRICOST_BODY void refuse_unsound(const System& system) {
  check(system);
  for (const Tier& tier : system.tiers)
    if (tier.role != TierRole::memory && tier.bandwidth.value.value() > max_link_rate)
      throw RequestError(system.name + ": tier \"" + std::string{tier.name.view()} + "\": bandwidth: a link carries less than 10^15 B/s");
}

/// Quick check of the values a price divides by; if it fails, refuse_unsound(system) names the cause.
FABRICOST_BODY bool is_sound(const Fabric& f, const Tier* scale_up, int domain) {
  const auto rate = [](double value) { return (value == 0) | ((value >= min_rate) & (value <= max_link_rate)); };
  const auto share = [](double value) { return (value > 0) & (value <= 1); };
  bool fine = rate(f.inner_rate) & rate(f.full_rate) & rate(f.outer_rate) & rate(f.host_link_rate) & share(f.ring_taper) &
              share(f.all_to_all_taper) & share(f.inner_exchanges) & (std::fabs(f.inner_latency_shift) <= longest_latency) &
              (std::fabs(f.outer_latency_shift) <= longest_latency) &
              (f.planned_per_gpu >= 0) & (f.planned_per_gpu <= max_rate);
  fine = fine & ((f.domains() <= 1) | (f.outer_rate > 0));
  if (scale_up != nullptr) fine = fine & (scale_up->endpoints == domain) & (scale_up->efficiency <= 1) & (scale_up->oversubscription >= 1);
  return fine;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY void bound_by_host_memory(Fabric& f, const System& system, double nodes) {
  const double passes = nodes * staging_rate(system) / 4;
  if (!(passes > 0)) return;
  const double share = passes / f.outer_rate;
  const auto bound = [&](double& taper, Label& tier) {
    if (share >= taper) return;
    taper = share;
    tier = Label{"host memory"};
  };
  bound(f.ring_taper, f.ring_taper_tier);
  bound(f.all_to_all_taper, f.all_to_all_taper_tier);
}

FABRICOST_BODY Levels levels_of(const System& system, int ranks, int nodes) {
  const int per_node = system.gpus_per_node;
  if (per_node < 1 || system.domain < 1) [[unlikely]]
    check(system);
  constexpr int most = 1 << 20;  // five times the largest machine that was announced
  if (ranks > most || nodes > most / per_node)
    throw RequestError("more than " + std::to_string(most) + " ranks, of which no machine is near; take fewer ranks or nodes");
  if (ranks < 0 || nodes < 0) throw RequestError("ranks and nodes must not be negative");
  // one domain, or all nodes of a machine whose domains are single GPUs
  if (nodes == 0)
    nodes = ranks > 0           ? (ranks + per_node - 1) / per_node
            : system.domain > 1 ? std::max(1, system.domain / per_node)
                                : std::max(1, system.nodes);
  if (ranks == 0) ranks = nodes * per_node;
  if (ranks > nodes * per_node)
    throw RequestError(std::to_string(ranks) + " ranks do not fit on " + std::to_string(nodes) + (nodes == 1 ? " node of " : " nodes of ") +
                       std::to_string(per_node) + " GPUs");
  if (ranks <= system.domain && nodes * per_node <= system.domain) return Levels{ranks};
  if (const int rack = system.domain / per_node; rack > 1 && nodes % rack == 0 && ranks % (nodes / rack) == 0)
    return Levels{ranks / (nodes / rack), nodes / rack};  // whole domains: equal ranks per domain suffice, as inside one
  if (ranks % nodes != 0)
    throw RequestError(std::to_string(ranks) + " ranks do not spread evenly over " + std::to_string(nodes) + " nodes; take " +
                       (ranks >= nodes ? std::to_string(ranks / nodes * nodes) + " or " : std::string{}) +
                       std::to_string((ranks / nodes + 1) * nodes));
  const int nodes_per_domain = std::max(1, system.domain / per_node);
  const int per_rank_node = ranks / nodes;
  if (nodes % nodes_per_domain == 0) return Levels{per_rank_node * nodes_per_domain, nodes / nodes_per_domain};
  const int domains = (nodes + nodes_per_domain - 1) / nodes_per_domain;
  if (ranks % domains != 0) {
    for (int more = domains + 1; more <= 2 * domains; ++more)  // as many domains as take equal nodes
      if (nodes % more == 0) return Levels{ranks / more, more};
    throw RequestError(std::to_string(nodes) + " nodes do not fill whole domains of " + std::to_string(nodes_per_domain) +
                       ", nor as many of up to twice as many; take a multiple of " + std::to_string(nodes_per_domain));
  }
  return Levels{ranks / domains, domains};
}

FABRICOST_BODY Fabric fabric_on(const System& system, const Operation& op, const Levels& levels) {
  if (system.tiers.empty() || system.gpus_per_node < 1 || system.domain < 1) [[unlikely]]
    check(system);
  Fabric f;
  f.generation = system.gpu.generation;
  f.library = system.library;
  f.tuner = system.tuner;
  f.tuner_assumed = system.tuner_assumed;
  f.nccl_release = static_cast<unsigned char>(std::min(system.nccl_release, 255));
  f.cpu = system.cpu;
  f.levels = levels;
  const bool pair = op.collective == Collective::send_recv;
  if (pair) f.communicator = op.path == Path::nic && op.ranks < op.nodes ? op.nodes * system.gpus_per_node : op.ranks;
  f.nodes = op.nodes > 0 ? op.nodes : nodes_of(levels, system.gpus_per_node);
  const detail::FirstTiers first{system};
  const Tier* const scale_up = first[TierRole::scale_up];
  const Tier* const nic = first[TierRole::nic];
  if (scale_up != nullptr) f.inner_tier = scale_up->name;
  if (nic != nullptr) f.outer_tier = nic->name;
  if (const Tier* host = first.host()) f.host_link_rate = host->bandwidth.value.value() * host->efficiency;  // one copy has it to itself
  if (scale_up != nullptr)
    detail::describe_scale_up(f, *scale_up, f.levels.sizes[0], op.collective == Collective::all_to_all, system.slice, system.constants);
  f.channels = search_channels(f.planned_per_gpu, f.generation, tables_of(f.tuner));
  if (f.library == Library::rccl) f.channels = detail::rccl_channels(f);
  if (pair && op.path == Path::gpu_gpu && f.domains() <= 1 && system.domain < 2)
    throw Refusal(system.name + ": has one GPU per domain; use <path=nic>");
  if (f.local() > 1 && scale_up == nullptr && !is_host_copy(op))
    throw RequestError(system.name + ": has no tier with role \"scale_up\" to join the GPUs of a node; where PCIe joins them, it is that tier (role: scale_up, kind: host)");
  if (f.local() > 1 && scale_up != nullptr && !(f.inner_rate > 0)) {
    check(system);
    throw RequestError(system.name + ": these GPUs share no link");
  }
  if (f.domains() > 1) {
    const double reached = detail::describe_nics(f, system, first, pair);
    detail::describe_network(f, system, *nic, reached, f.nics / (devices_of(*nic) * system.nodes_per_domain()));
    bound_by_host_memory(f, system, std::ceil(f.local() / system.gpus_per_node));
  }
  if (!is_host_copy(op)) detail::bound_by_memory(f, system.gpu.hbm_bandwidth.value.value(), pair ? 1 : f.local());
  const bool nic_is_sound = nic == nullptr || nic->bandwidth.value.value() <= detail::max_link_rate;  // a slot may hold it back
  if (!nic_is_sound || !detail::is_sound(f, scale_up, system.domain)) [[unlikely]]
    detail::refuse_unsound(system);
  return f;
}

FABRICOST_BODY Fabric fabric_of(const System& system, const Operation& op) {
  const bool pair = op.collective == Collective::send_recv;
  if (pair && op.path == Path::nic) return fabric_on(system, op, Levels{1, std::max(2, op.nodes)});
  if (pair && op.nodes <= 1) return fabric_on(system, op, Levels{2});
  if (system.pod > 0) [[unlikely]] {
    const System slice = slice_for(system, std::max<long long>(op.ranks, static_cast<long long>(op.nodes) * system.gpus_per_node));
    return fabric_on(slice, op, levels_of(slice, op.ranks, op.nodes));
  }
  // every rank sends to its neighbour; between nodes that is the last GPU of one to the first of the next
  return fabric_on(system, op, levels_of(system, op.ranks, op.nodes));
}

}  // namespace fabricost::core
