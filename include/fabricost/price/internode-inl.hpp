#pragma once
/// Bodies of internode.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/internode.hpp>

namespace fabricost::core {

FABRICOST_BODY double nic_path_share(const Fabric& fabric, const TransportConstants& t, Collective op) {
  const bool one_way = is_rooted(op);
  return (fabric.host_bridge ? (one_way ? t.form.host_bridge_one_way : t.host_bridge) : 1) * (fabric.gpu_direct ? 1 : t.no_gdr_rate);
}

}  // namespace fabricost::core

namespace fabricost::core::detail {

FABRICOST_BODY double inner_ring_rate(const Fabric& fabric, const Constants& c) {
  if (fabric.local() <= 1) return 1e30;
  if (fabric.over_pcie) return pcie_ring_rate(fabric, c.pcie);
  return c.scale_up.simple.rate_share * fabric.inner_rate;
}

FABRICOST_BODY double devices_with_channels(const Fabric& fabric) {
  return fabricost::core::devices_with_channels(fabric.generation, tables_of(fabric.tuner));
}

FABRICOST_BODY double channels_rate(const Fabric& fabric) {
  return fabric.outer_rate * fabric.ring_taper * std::min(1.0, devices_with_channels(fabric) / net_devices(fabric));
}

/// 1 / norm_q(1/a, 1/b), for a and b above 0; the order of trees, 6, in plain arithmetic.
FABRICOST_BODY double soft_smaller(double a, double b, double q) {
  if (q != 6) [[unlikely]]
    return 1 / norm(1 / a, 1 / b, q);
  const double smaller = std::min(a, b);
  const double ratio = smaller / std::max(a, b);
  const double square = ratio * ratio, sixth = square * square * square;
  return smaller * inverse_sixth_root(sixth);
}

/// Cost of each chain step relative to tree_hop; constant from a whole server's chain, 2 (8-1) steps,
/// upwards.
FABRICOST_BODY double chain_factor(double chain, const ScaleUpForm& form) {
  constexpr double whole_server = 14;
  return chain >= whole_server ? form.tree_chain : form.tree_chain * std::pow(std::max(chain, 1.0) / whole_server, form.tree_chain_power);
}

FABRICOST_BODY double tree_share(const Fabric& fabric, bool crowds) {
  if (!crowds || fabric.domains() <= 2) return 1;
  const bool racks = net_devices(fabric) > devices_with_channels(fabric);
  const int half_sends = 3 + (fabric.domains() > 3 ? 1 : 0) + (racks ? (fabric.domains() > 3 ? 2 : 1) : 0);  // of the busiest NIC per byte
  return 2.0 / half_sends;
}

/// An LL128 step inside a domain of g, in LL hops. One domain alone takes one, a server between others ll128_inner_hops: the excess
/// goes with a crossing, so a rack pays it for as many steps as a server, not for all of its own.
FABRICOST_BODY double ll128_hops(double g, const TransportForm& form) {
  return 1 + (form.ll128_inner_hops - 1) * std::min(1.0, (server_ranks - 1) / std::max(1.0, g - 1));
}

/// A tree's network step over one among few domains: each further doubling adds a level whose ends are further apart.
FABRICOST_BODY double far_step(double domains, const TransportForm& form) {
  const double near = std::max(1.0, form.tree_near);
  return domains > near ? 1 + form.tree_far * std::log2(domains / near) : 1;
}

/// At most the full rate of all NICs of the fullest domain, whatever the constants.
FABRICOST_BODY double at_full_rate(double rate, const Schedule& schedule, const Fabric& fabric) {
  return std::min(rate, fabric.outer_rate * fabric.ring_taper / schedule.bytes(1));
}

FABRICOST_BODY double send_link_rate(const Fabric& fabric, const TransportConstants& t, double path) {
  return t.form.send_recv_efficiency * path * fabric.outer_rate * fabric.ring_taper;
}

FABRICOST_BODY double send_channels(const Fabric& fabric) {
  const TunerTables& k = tables_of(fabric.tuner);
  constexpr double batch = 8;  // peers that one round of a channel serves
  const double ranks = std::max<double>(fabric.communicator, fabric.ranks());
  const double devices = fabric.nics * std::max(1.0, ranks / fabric.domains());
  const double all = std::min(k.split_to, k.running_factor * k.network_channels[tuner_generation(fabric.generation)] * devices);
  const bool by_rate = k.send_channel_rate > 0;
  const double rounds = by_rate ? std::ceil(ranks / batch) : ranks / 4;
  double each = by_rate ? std::exp2(std::ceil(std::log2(std::max(fabric.nics, std::ceil(fabric.outer_rate / k.send_channel_rate))))) : 2;
  while (each > 1 && each * rounds > all) each /= 2;
  return by_rate ? each : std::max(fabric.nics, each);
}

FABRICOST_BODY double send_kernel_rate(const Fabric& fabric, const TransportConstants& t) {
  return fabric.library == Library::nccl ? send_channels(fabric) * t.send_channel : 1e30;
}

FABRICOST_BODY Crossing crossing(const Schedule& schedule, Protocol protocol) {
  Crossing out;
  const double n = schedule.levels.ranks();
  out.outer =
      protocol == Protocol::simple ? schedule.steps() - schedule.steps(0) : schedule.steps() / (n - 1) * (n / schedule.levels.size(0) - 1);
  out.inner = schedule.steps() - out.outer;
  for (const Phase& p : schedule) {
    out.bytes = std::max(out.bytes, p.bytes);
    out.message = p.message;
  }
  return out;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY Line price_internode_ring(const Schedule& schedule, const Fabric& fabric, const Constants& c, Protocol protocol) {
  const auto& up = c.scale_up;
  const auto& t = c.transport;
  detail::Crossing at = detail::crossing(schedule, protocol);
  const detail::Crossing all = at;
  const bool rooted = is_rooted(schedule.collective);
  // a rank, its next call queued, waits for one step instead of all: ranks further on work while the next call starts
  const bool streams = fabric.back_to_back && protocol == Protocol::ll && rooted;
  if (streams) {
    at.outer = at.inner > 0 ? 0 : std::min(1.0, at.outer);
    at.inner = std::min(1.0, at.inner);
  }
  const double g = fabric.local();
  // of a round through the domain one hop of g leaves it, another of each channel: the links inside carry g - 1 of g
  const double inner = detail::inner_ring_rate(fabric, c) * (g > 1 && !fabric.over_pcie ? g / (g - 1) : 1);
  // inside a domain rings of LL128 fit best with Simple's rate, between domains with the share of a line that is data
  const double data = protocol == Protocol::ll128 ? t.form.ll128_share : 1;
  const double outer = data * t.efficiency * nic_path_share(fabric, t, schedule.collective) * detail::channels_rate(fabric);
  const bool network_binds = outer <= inner;
  const int level = network_binds ? 1 : 0;
  const double device = detail::net_devices(fabric) / at.message;  // S at which a step moves one byte per network device

  Line line;
  line.wire_level = level;
  line.add_base_part(TermKind::launch, 0, tables_of(fabric.tuner).launch_share, up.launch);
  double rate = std::min(inner, outer);
  if (protocol == Protocol::ll) {
    line.add_base_part(TermKind::steps, 0, at.inner, with_latency(up.ll.hop, fabric.inner_latency_shift));
    line.add_base_part(TermKind::steps, 1, at.outer, with_latency(t.ring_ll_step, fabric.outer_latency_shift));
    rate *= t.ll_share;
    const double one_channel = up.ll.chunk * fabric.ranks();  // S up to which a ring opens no second channel
    if (rooted && fabric.local() > 1) {
      const double channel = up.ll.channel_share * fabric.inner_rate / running_channels(fabric.channels, tables_of(fabric.tuner));
      line.early = one_channel;
      line.early_rate = at.bytes * std::max(0.0, 1 / channel - 1 / rate);
    }
    if (streams) {
      const double all_steps = (all.inner - at.inner) * up.ll.hop + (all.outer - at.outer) * t.ring_ll_step;
      const double slices = std::min(fabric.ranks() * t.form.ll_slice * up.ll.hop, all_steps);
      line.add_ramp({.shape = Ramp::Shape::linear, .amplitude = slices, .per_byte = 1 / (t.form.ll_fewest_threads * one_channel)});
      if (detail::net_devices(fabric) > 1)  // the last rank of one channel is among the first of the next
        line.add_ramp({.shape = Ramp::Shape::step, .level = 1, .amplitude = all_steps - slices, .per_byte = 1 / one_channel});
    } else {
      line.add_ramp({.shape = Ramp::Shape::saturating_square,
                 .level = 1,
                 .amplitude = at.outer * t.form.ring_ll_growth * t.tree_growth,
                 .per_byte = 1 / (t.form.ll_growth_size * device)});
    }
  } else if (protocol == Protocol::ll128) {
    line.add_base_part(TermKind::steps, 0, at.inner, with_latency(detail::ll128_hops(g, t.form) * up.ll.hop, fabric.inner_latency_shift));
    line.add_latency_part(TermKind::steps, 1, at.outer, with_latency(t.ll128_step, fabric.outer_latency_shift));
    line.overlap = t.form.ll128_overlap;
  } else {
    const double step = with_latency(t.ring_simple_step * (fabric.gpu_direct ? 1 : t.no_gdr_step), fabric.outer_latency_shift);
    line.add_latency_part(TermKind::floor, 0, 1, up.simple.floor);
    line.add_latency_part(TermKind::steps, 0, at.inner, with_latency(up.simple.hop, fabric.inner_latency_shift));
    line.add_latency_part(TermKind::steps, 1, at.outer, t.form.ring_simple_start * step);
    line.add_ramp({.shape = Ramp::Shape::saturating,
               .inside = true,
               .level = 1,
               .amplitude = at.outer * (1 - t.form.ring_simple_start) * step,
               .per_byte = 1 / (t.form.ring_simple_growth_size * device)});
    line.overlap = t.ring_overlap;
    if (rooted && schedule.steps() > 1) {
      const double chunks = t.form.ring_chunk * network_channels(detail::net_devices(fabric), fabric.generation, tables_of(fabric.tuner));
      const double waits = std::min(schedule.steps() - 1, fabric.domains() - 1);  // the last rank passes nothing on
      line.add_ramp({.shape = Ramp::Shape::linear, .level = 1, .amplitude = waits * chunks / rate, .per_byte = 1 / chunks});
    }
  }
  line.add_rate_part(TermKind::wire, level, at.bytes, 1 / rate);
  return line;
}

FABRICOST_BODY double tree_kernels(const Fabric& fabric) {
  const TunerTables& k = tables_of(fabric.tuner);
  const double channel = k.tree[tuner_generation(fabric.generation)][fabric.domains() <= 2 ? 1 : 2];
  return std::max(k.min_network_channels, detail::net_devices(fabric)) * channel * fabric.ranks() / (2 * (fabric.ranks() - 1));
}

FABRICOST_BODY Line price_tree(const Schedule& schedule, const Fabric& fabric, const Constants& c, Protocol protocol) {
  const auto& up = c.scale_up;
  const auto& t = c.transport;
  const double chain = schedule.steps(0);
  const double network = schedule.steps() - chain;
  const double far = detail::far_step(fabric.domains(), t.form);
  const double passes = std::max(1.0, schedule.bytes(0));  // multiples of S through a GPU
  const double inner = detail::inner_ring_rate(fabric, c) / passes;
  const double share_of_ring = detail::tree_share(fabric, schedule.collective == Collective::all_reduce);
  double outer = 1e30;
  if (network > 0) {
    outer = share_of_ring * t.efficiency * nic_path_share(fabric, t, schedule.collective) * detail::channels_rate(fabric);
    outer = detail::at_full_rate(outer, schedule, fabric);
  }
  const bool in_kernels = network > 0 && protocol == Protocol::simple && schedule.collective == Collective::all_reduce &&
                          fabric.library == Library::nccl && fabric.local() <= server_ranks;  // racks were not measured
  const double kernels = in_kernels ? tree_kernels(fabric) : 1e30;
  const double rate = std::min(kernels, detail::soft_smaller(inner, outer, t.form.tree_rate_overlap));
  const double devices = detail::net_devices(fabric);
  const int level = outer <= std::min(inner, kernels) ? 1 : 0;

  Line line;
  line.wire_level = level;
  line.add_base_part(TermKind::launch, 0, tables_of(fabric.tuner).launch_share, up.launch);
  double share = 1;
  if (protocol == Protocol::ll) {
    line.add_base_part(TermKind::steps, 0, chain, with_latency(up.tree_hop * detail::chain_factor(chain, up.form), fabric.inner_latency_shift));
    line.add_base_part(TermKind::steps, 1, network, with_latency(far * t.tree_step, fabric.outer_latency_shift));
    line.add_ramp({.shape = Ramp::Shape::saturating_square,
               .level = 1,
               .amplitude = far * network * t.tree_growth,
               .per_byte = 1 / (t.form.ll_growth_size * devices)});
    line.add_ramp({.shape = Ramp::Shape::saturating_square,
               .level = 1,
               .amplitude = far * network * t.tree_growth * (t.ll_rendezvous - 1),
               .per_byte = 1 / (t.form.ll_rendezvous_size * devices)});
    share = network > 0 ? t.ll_share : up.form.tree_ll_share;
  } else if (protocol == Protocol::ll128) {
    line.add_base_part(TermKind::steps, 0, chain, with_latency(detail::ll128_hops(fabric.local(), t.form) * up.ll.hop, fabric.inner_latency_shift));
    const double step = with_latency(far * t.ll128_step, fabric.outer_latency_shift);
    line.add_base_part(TermKind::steps, 1, t.form.tree_ll128_start * network, step);
    line.add_ramp({.shape = Ramp::Shape::saturating,
               .level = 1,
               .amplitude = network * step,
               .per_byte = 1 / (t.form.tree_ll128_growth_size * devices)});
    share = t.form.tree_ll128_share;
  } else {
    const double step = with_latency(far * t.tree_simple_step, fabric.outer_latency_shift);
    line.add_base_part(TermKind::floor, 0, 1, up.simple.floor);
    line.add_base_part(TermKind::steps, 0, chain, with_latency(t.form.tree_simple_inner * up.simple.hop, fabric.inner_latency_shift));
    line.add_base_part(TermKind::steps, 1, t.form.tree_simple_start * network, step);
    line.add_ramp({.shape = Ramp::Shape::saturating,
               .level = 1,
               .amplitude = network * step,
               .per_byte = 1 / (t.form.tree_simple_growth_size * devices)});
  }
  if (rate == kernels) line.kernels_until = 1e30;
  line.add_rate_part(TermKind::wire, level, 1, 1 / (share * rate));
  return line;
}

FABRICOST_BODY double rack_step_factor(double g, const ScaleUpForm& form) {
  constexpr double most_measured = 72;  // ranks of the largest domain that handed an NVLSTree to a network
  return g > server_ranks ? std::pow(std::min(g, most_measured) / server_ranks, form.rack_floor_power) : 1;
}

FABRICOST_BODY double nvls_tree_kernels(const Fabric& fabric) {
  const TunerTables& k = tables_of(fabric.tuner);
  const double head = k.nvls_tree[tuner_generation(fabric.generation)][1];
  if (!(head > 0)) return 1e30;
  return heads_between(static_cast<int>(fabric.local()), fabric.generation, k) * head * fabric.ranks() / (2 * (fabric.ranks() - 1));
}

FABRICOST_BODY Line price_nvls_tree(const Schedule& schedule, const Fabric& fabric, const Constants& c) {
  const auto& t = c.transport;
  const double g = fabric.local();
  const double network = schedule.steps() - schedule.steps(0);
  const double kernels = nvls_tree_kernels(fabric);
  const double inner = std::min(g > 1 ? in_switch_rate(c.scale_up, fabric) * g / (2 * (g - 1)) : 1e30, kernels);
  const double outer = detail::at_full_rate(detail::tree_share(fabric, true) * t.efficiency *
                                                nic_path_share(fabric, t, schedule.collective) * detail::channels_rate(fabric),
                                            schedule, fabric);
  const int level = outer <= inner ? 1 : 0;
  const double more = rack_step_factor(g, c.scale_up.form);
  const double step = with_latency(t.nvls_step, fabric.outer_latency_shift) * more;
  Line line;
  line.wire_level = level;
  line.add_base_part(TermKind::launch, 0, 1, c.scale_up.launch);
  line.add_base_part(TermKind::floor, 0, 1, std::max(0.0, t.nvls_floor * more + 2 * fabric.inner_latency_shift - c.scale_up.launch));
  line.add_base_part(TermKind::steps, 1, t.form.nvls_start * network, step);
  line.add_ramp({.shape = Ramp::Shape::saturating,
             .level = 1,
             .amplitude = (1 - t.form.nvls_start) * network * step,
             .per_byte = 1 / (t.form.nvls_growth_size * detail::net_devices(fabric))});
  if (level == 0 && inner == kernels) line.kernels_until = 1e30;
  line.add_rate_part(TermKind::wire, level, 1, 1 / std::min(inner, outer));
  return line;
}

FABRICOST_BODY UnmeasuredEnd tiny_messages(const TransportConstants& t, double n, double seconds) {
  const double slow = std::exp2(std::floor(std::log2(t.form.exchange_tiny_size)));  // sizes of runs are powers of two
  return {slow * n, t.form.exchange_tiny_size * n, 2 * slow * n, seconds * (t.exchange_tiny - 1)};
}

FABRICOST_BODY Line price_internode_exchange(const Schedule& schedule, const Fabric& fabric, const Constants& c) {
  const auto& t = c.transport;
  const double n = fabric.ranks();
  const double g = fabric.local();
  const double path = nic_path_share(fabric, t, schedule.collective);
  Line line;
  line.add_base_part(TermKind::launch, 0, tables_of(fabric.tuner).launch_share, c.scale_up.launch);
  if (schedule.collective == Collective::send_recv) {
    line.add_base_part(TermKind::steps, 1, t.form.send_recv_start, with_latency(t.ring_simple_step, fabric.outer_latency_shift));
    line.wire_level = 1;
    const double links = detail::send_link_rate(fabric, t, path), kernels = detail::send_kernel_rate(fabric, t);
    if (kernels < links) line.kernels_until = 1e30;
    line.add_rate_part(TermKind::wire, 1, 1, 1 / std::min(links, kernels));
    return line;
  }
  line.add_base_part(TermKind::floor, 1, 1, t.exchange_base);
  line.add_base_part(TermKind::peers, 1, n - g, with_latency(t.exchange_peer, fabric.outer_latency_shift / n));
  line.add_ramp({.shape = Ramp::Shape::step,
             .level = 1,
             .amplitude = (n - g) * t.exchange_peer_simple,
             .per_byte = 1 / (exchange_ll_limit(fabric) * n)});
  line.add_ramp({.shape = Ramp::Shape::until,
             .of_peers = true,
             .level = 1,
             .amplitude = (n - g) * t.exchange_peer * (t.exchange_tiny - 1),
             .per_byte = 1 / (t.form.exchange_tiny_size * n)});
  line.unmeasured_end = tiny_messages(t, n, (n - g) * t.exchange_peer);
  const double inside = (schedule.bytes(0) + 1 / n) / (detail::inner_ring_rate(fabric, c) * fabric.inner_exchanges);
  const double across = schedule.bytes(1) / (t.exchange_share * path * fabric.outer_rate * fabric.all_to_all_taper);
  double together = norm(inside, across, 2);
  bool network_binds = across >= inside;
  if (fabric.over_pcie) {  // a GPU sends to its neighbours and to the NICs over one link
    const double link = (fabric.peer_to_peer ? c.pcie.simple_share[0] : 1) * fabric.pcie_rate;
    const double shared = (schedule.bytes(0) + schedule.bytes(1) / g) / link;
    network_binds = network_binds && together >= shared;
    together = std::max(together, shared);
  }
  line.wire_level = network_binds ? 1 : 0;
  line.add_rate_part(TermKind::wire, 0, 1, together * inside * inside / (inside * inside + across * across));
  line.add_rate_part(TermKind::wire, 1, 1, together * across * across / (inside * inside + across * across));
  return line;
}

}  // namespace fabricost::core
