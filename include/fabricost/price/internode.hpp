#pragma once
/// \file internode.hpp
/// Collectives over several domains. Form and constants: 2,600 merged points of 33 public clusters, 2 to 360 nodes.
///
/// N domains of g ranks, n = N g, V = S/n, u = V/devices and U = S/devices in kB (a device: all NICs of one GPU); k = kI + kN steps, kN of
/// them between domains: under Simple the N borders of each round, under LL and LL128 N - 1 of them (crossing); j = 2(g-1), d = 2 log2 N;
/// E = eff path W with W the summed NIC rate of a domain; Br = min(B, E); Br of a ring = min(B g/(g-1), E), as one hop of g leaves the
/// domain; At = softmin(B/2, 0.92 E w), w by tree_share. Rings and trees use the NICs that their channels ride: 16 devices at most on
/// Hopper and later, so W of a rack is theirs (ridden_devices). r = (g/8)^.74 in a rack, else 1; i = 1 + 2.17 min(1, 7/(g-1)). A tree's d
/// is times 1 + .04 log2(N/8) beyond 8 domains. The numbers written out are those of
/// TransportForm and ScaleUpForm (hardware/form_constants.hpp), the same for all
/// transports; their values and sources are in data/priors.
///
///   ring LL      c0 + h kI + kN (RL + 0.52 L1 u^2/(u^2 + 1.7)) + (k+x) V / (bll Br)
///   ring LL128   c0 + i h kI + norm_1.1( kN L2 , (k+x) V / min(B g/(g-1), .94 E) )                 of 128 bytes 120 are data
///   ring Simple  c0 + norm_q( f + hs kI + kN RS (.25 + .75 u/(u+52)) , (k+x) V / Br )         RS x 3 without GPUDirect
///   tree LL      c0 + ht j min(1, j/14)^1.1 2.54 + d (L0 + L1 (U^2/(U^2 + 1.7) + (rv-1) U^2/(U^2 + 66^2))) + S / (bll At)
///   tree LL128   c0 + i h j + d L2 (.5 + U/(U+400)) + S / (.77 At)
///   tree Simple  c0 + f + .18 hs j + d LS (.26 + U/(U+2000)) + S / At
///   NVLSTree     r (floor + d LV (.07 + .93 U/(U+2000))) + S / min(BN g/(2(g-1)), H K n/(2(n-1)), .92 E w)
///                (H heads of K each: the busbw that NCCL's tuner gives its kernels between two domains, where each byte leaves once and
///                NICs of 400 Gbit/s a GPU do not bind. H100s: 462 GB/s; p5 and Nebius reach 468 to 487)
///                (d was measured: 2 and 20 racks of one cluster take 1.2 and 5.2 ms beside the wire, 4.3 = log2 20 times as much)
///   all-to-all   c0 + Ca + (n-g)(La + LaS [V > 16 KiB] + (tiny-1) La [V < 128]) + norm_2( S g (1-1/N) / (ea path W) , S g/n / B )
///   send-recv    c0 + RS/2 + S / (.98 path W/g), rate x .52 on more than 2 nodes
///
/// Broadcast and reduce back to back, under LL: a rank waits for one step, and for the others as far as the channels' buffers are full.

#include <fabricost/elementary.hpp>
#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/exchange.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/in_switch.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/pcie.hpp>
#include <fabricost/price/ring.hpp>

namespace fabricost {

/// Whether a rank, its next call queued, waits for one step of a ring instead of all: ranks further on work while the next call starts.
[[nodiscard]] inline bool waits_once(Collective op) { return op == Collective::broadcast || op == Collective::reduce; }

/// Share of the NIC rate that the path between GPU and NIC leaves; one-directional operations are not limited
/// at the host bridge.
[[nodiscard]] inline double nic_path_share(const Fabric& fabric, const TransportConstants& t, Collective op) {
  const bool one_way = op == Collective::broadcast || op == Collective::reduce;
  return (fabric.host_bridge ? (one_way ? t.form.host_bridge_one_way : t.host_bridge) : 1) * (fabric.gpu_direct ? 1 : t.no_gdr_rate);
}

namespace detail {
/// Network devices NCCL sees and splits messages over: the rails of one GPU are one device (aws-ofi-nccl on
/// p5: 32 NICs are 8).
[[nodiscard]] inline double net_devices(const Fabric& fabric) { return std::max(1.0, std::min(fabric.nics, fabric.local())); }

/// The rate of a ring or tree inside a domain: B; over PCIe that of PCIe; no limit with one rank.
[[nodiscard]] inline double inner_ring_rate(const Fabric& fabric, const Constants& c) {
  if (fabric.local() <= 1) return 1e30;
  if (fabric.over_pcie) return pcie_ring_rate(fabric, c.pcie);
  return c.scale_up.simple.rate_share * fabric.inner_rate;
}
/// Devices that the channels of rings and trees ride (price/channels.hpp).
[[nodiscard]] inline double ridden_devices(const Fabric& fabric) {
  return fabricost::ridden_devices(fabric.generation, tables_of(fabric.tuner));
}
/// The rate of those devices.
[[nodiscard]] inline double channels_rate(const Fabric& fabric) {
  return fabric.outer_rate * fabric.ring_taper * std::min(1.0, ridden_devices(fabric) / net_devices(fabric));
}
/// 1 / norm_q(1/a, 1/b), for a and b above 0; the order of trees, 6, in plain arithmetic.
[[nodiscard]] inline double soft_smaller(double a, double b, double q) {
  if (q != 6) [[unlikely]]
    return 1 / norm(1 / a, 1 / b, q);
  const double smaller = std::min(a, b);
  const double ratio = smaller / std::max(a, b);
  const double square = ratio * ratio, sixth = square * square * square;
  return smaller * inverse_sixth_root(sixth);
}
/// Cost of each chain step relative to tree_hop; constant from a whole server's chain, 2 (8-1) steps,
/// upwards.
[[nodiscard]] inline double chain_factor(double chain, const ScaleUpForm& form) {
  constexpr double whole_server = 14;
  return chain >= whole_server ? form.tree_chain : form.tree_chain * std::pow(std::max(chain, 1.0) / whole_server, form.tree_chain_power);
}
/// Share of their rate that trees keep. Both ways of two trees bring a domain S of two, 1.5 S of three, nearly 2 S of more, which the
/// channels of both trees share where they ride the same devices. With a device for each channel, one of the tree in which the domain is no
/// leaf carries its share for up to two children and the parent.
[[nodiscard]] inline double tree_share(const Fabric& fabric, const TransportForm& form, bool crowds) {
  if (!crowds || fabric.domains() <= 2) return form.tree_efficiency;
  const int neighbours = fabric.domains() == 3 ? 2 : 3;
  if (net_devices(fabric) > ridden_devices(fabric)) return form.tree_efficiency / neighbours;
  return form.tree_efficiency * (neighbours < 3 ? std::sqrt(form.tree_crowded) : form.tree_crowded);
}

/// An LL128 step inside a domain of g, in LL hops. One domain alone takes one, a server between others ll128_inner_hops: the excess
/// goes with a crossing, so a rack pays it for as many steps as a server, not for all of its own.
[[nodiscard]] inline double ll128_hops(double g, const TransportForm& form) {
  return 1 + (form.ll128_inner_hops - 1) * std::min(1.0, (server_ranks - 1) / std::max(1.0, g - 1));
}

/// A tree's network step over one among few domains: each further doubling adds a level whose ends are further apart.
[[nodiscard]] inline double far_step(double domains, const TransportForm& form) {
  const double near = std::max(1.0, form.tree_near);
  return domains > near ? 1 + form.tree_far * std::log2(domains / near) : 1;
}

/// At most the full rate of all NICs of the fullest domain, whatever the constants.
[[nodiscard]] inline double at_full_rate(double rate, const Schedule& schedule, const Fabric& fabric) {
  return std::min(rate, fabric.outer_rate * fabric.ring_taper / schedule.bytes(1));
}

struct Crossing {
  double inner = 0, outer = 0;  ///< steps
  double bytes = 0, message = 0;
};
/// Steps of a ring between domains. Simple waits for the block with the longest path, which crosses all N borders each time around, as the
/// schedule counts them: with it p5 from 2 to 32 nodes and Alps from 2 to 128 grow as measured. LL and LL128 fit better with the block that
/// crosses fewest, N - 1: their flags let a rank pass on the data it has.
[[nodiscard]] inline Crossing crossing(const Schedule& schedule, Protocol protocol) {
  Crossing out;
  const double n = schedule.levels.ranks();
  out.outer = protocol == Protocol::simple ? schedule.steps() - schedule.steps(0)
                                           : schedule.steps() / (n - 1) * (n / schedule.levels.size(0) - 1);
  out.inner = schedule.steps() - out.outer;
  for (const Phase& p : schedule) {
    out.bytes = std::max(out.bytes, p.bytes);
    out.message = p.message;
  }
  return out;
}
}  // namespace detail

[[nodiscard]] inline Line price_internode_ring(const Schedule& schedule, const Fabric& fabric, const Constants& c, Protocol protocol) {
  const auto& up = c.scale_up;
  const auto& t = c.transport;
  detail::Crossing at = detail::crossing(schedule, protocol);
  const detail::Crossing all = at;
  const bool streams = fabric.back_to_back && protocol == Protocol::ll && waits_once(schedule.collective);
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
  line.base_part(TermKind::launch, 0, 1, up.launch);
  double rate = std::min(inner, outer);
  if (protocol == Protocol::ll) {
    line.base_part(TermKind::steps, 0, at.inner, with_latency(up.ll.hop, fabric.inner_latency));
    line.base_part(TermKind::steps, 1, at.outer, with_latency(t.ring_ll_step, fabric.outer_latency));
    line.ramp({.shape = Ramp::Shape::saturating_square,
               .level = 1,
               .amplitude = at.outer * t.form.ring_ll_growth * t.tree_growth,
               .per_byte = 1 / (t.form.ll_growth_size * device)});
    if (streams) {  // until the channels' buffers hold no more, which ranks further on have not yet passed on
      const double waiting = (all.inner - at.inner) * up.ll.hop + (all.outer - at.outer) * t.ring_ll_step;
      line.ramp({.shape = Ramp::Shape::linear,
                 .level = 1,
                 .amplitude = waiting,
                 .per_byte = 1 / (up.ll.chunk * running_channels(fabric.channels, tables_of(fabric.tuner)))});
    }
    rate *= t.ll_share;
  } else if (protocol == Protocol::ll128) {
    line.base_part(TermKind::steps, 0, at.inner, with_latency(detail::ll128_hops(g, t.form) * up.ll.hop, fabric.inner_latency));
    line.latency_part(TermKind::steps, 1, at.outer, with_latency(t.ll128_step, fabric.outer_latency));
    line.overlap = t.form.ll128_overlap;
  } else {
    const double step = with_latency(t.ring_simple_step * (fabric.gpu_direct ? 1 : t.no_gdr_step), fabric.outer_latency);
    line.latency_part(TermKind::floor, 0, 1, up.simple.floor);
    line.latency_part(TermKind::steps, 0, at.inner, with_latency(up.simple.hop, fabric.inner_latency));
    line.latency_part(TermKind::steps, 1, at.outer, t.form.ring_simple_start * step);
    line.ramp({.shape = Ramp::Shape::saturating,
               .inside = true,
               .level = 1,
               .amplitude = at.outer * (1 - t.form.ring_simple_start) * step,
               .per_byte = 1 / (t.form.ring_simple_growth_size * device)});
    line.overlap = t.ring_overlap;
  }
  line.rate_part(TermKind::wire, level, at.bytes, 1 / rate);
  return line;
}

/// Also for one domain, where the network part vanishes.
[[nodiscard]] inline Line price_tree(const Schedule& schedule, const Fabric& fabric, const Constants& c, Protocol protocol) {
  const auto& up = c.scale_up;
  const auto& t = c.transport;
  const double chain = schedule.steps(0);
  const double network = schedule.steps() - chain;
  const double far = detail::far_step(fabric.domains(), t.form);
  const double passes = std::max(1.0, schedule.bytes(0));  // multiples of S through a GPU
  const double inner = detail::inner_ring_rate(fabric, c) / passes;
  const double share_of_ring = detail::tree_share(fabric, t.form, schedule.collective == Collective::all_reduce);
  double outer = 1e30;
  if (network > 0) {
    outer = share_of_ring * t.efficiency * nic_path_share(fabric, t, schedule.collective) * detail::channels_rate(fabric);
    outer = detail::at_full_rate(outer, schedule, fabric);
  }
  const double rate = detail::soft_smaller(inner, outer, t.form.tree_rate_overlap);
  const double devices = detail::net_devices(fabric);
  const int level = outer <= inner ? 1 : 0;

  Line line;
  line.wire_level = level;
  line.base_part(TermKind::launch, 0, 1, up.launch);
  double share = 1;
  if (protocol == Protocol::ll) {
    line.base_part(TermKind::steps, 0, chain, with_latency(up.tree_hop * detail::chain_factor(chain, up.form), fabric.inner_latency));
    line.base_part(TermKind::steps, 1, network, with_latency(far * t.tree_step, fabric.outer_latency));
    line.ramp({.shape = Ramp::Shape::saturating_square,
               .level = 1,
               .amplitude = far * network * t.tree_growth,
               .per_byte = 1 / (t.form.ll_growth_size * devices)});
    line.ramp({.shape = Ramp::Shape::saturating_square,
               .level = 1,
               .amplitude = far * network * t.tree_growth * (t.ll_rendezvous - 1),
               .per_byte = 1 / (t.form.ll_rendezvous_size * devices)});
    share = network > 0 ? t.ll_share : up.form.tree_ll_share;
  } else if (protocol == Protocol::ll128) {
    line.base_part(TermKind::steps, 0, chain, with_latency(detail::ll128_hops(fabric.local(), t.form) * up.ll.hop, fabric.inner_latency));
    const double step = with_latency(far * t.ll128_step, fabric.outer_latency);
    line.base_part(TermKind::steps, 1, t.form.tree_ll128_start * network, step);
    line.ramp({.shape = Ramp::Shape::saturating,
               .level = 1,
               .amplitude = network * step,
               .per_byte = 1 / (t.form.tree_ll128_growth_size * devices)});
    share = t.form.tree_ll128_share;
  } else {
    const double step = with_latency(far * t.tree_simple_step, fabric.outer_latency);
    line.base_part(TermKind::floor, 0, 1, up.simple.floor);
    line.base_part(TermKind::steps, 0, chain, with_latency(t.form.tree_simple_inner * up.simple.hop, fabric.inner_latency));
    line.base_part(TermKind::steps, 1, t.form.tree_simple_start * network, step);
    line.ramp({.shape = Ramp::Shape::saturating,
               .level = 1,
               .amplitude = network * step,
               .per_byte = 1 / (t.form.tree_simple_growth_size * devices)});
  }
  line.rate_part(TermKind::wire, level, 1, 1 / (share * rate));
  return line;
}

/// A step among racks over one among servers of 8: it waits for the chunks of g/8 times as many GPUs, which come at the same rate.
[[nodiscard]] inline double rack_step_factor(double g, const ScaleUpForm& form) {
  return g > server_ranks ? std::pow(g / server_ranks, form.rack_floor_power) : 1;
}

/// Bytes per second of S that the kernels of an NVLSTree carry. The tuner's rates beyond two domains are those of the NICs.
[[nodiscard]] inline double nvls_tree_kernels(const Fabric& fabric) {
  const TunerTables& k = tables_of(fabric.tuner);
  const double head = k.nvls_tree[tuner_generation(fabric.generation)][1];
  if (!(head > 0)) return 1e30;
  return heads_between(static_cast<int>(fabric.local()), fabric.generation, k) * head * fabric.ranks() / (2 * (fabric.ranks() - 1));
}

[[nodiscard]] inline Line price_nvls_tree(const Schedule& schedule, const Fabric& fabric, const Constants& c) {
  const auto& t = c.transport;
  const double g = fabric.local();
  const double network = schedule.steps() - schedule.steps(0);
  const double inner = std::min(g > 1 ? in_switch_rate(c.scale_up, fabric) * g / (2 * (g - 1)) : 1e30, nvls_tree_kernels(fabric));
  const double outer = detail::at_full_rate(detail::tree_share(fabric, t.form, true) * t.efficiency *
                                                nic_path_share(fabric, t, schedule.collective) * detail::channels_rate(fabric),
                                            schedule, fabric);
  const int level = outer <= inner ? 1 : 0;
  const double more = rack_step_factor(g, c.scale_up.form);
  const double step = with_latency(t.nvls_step, fabric.outer_latency) * more;
  Line line;
  line.wire_level = level;
  line.base_part(TermKind::launch, 0, 1, c.scale_up.launch);
  line.base_part(TermKind::floor, 0, 1,
                 std::max(0.0, t.nvls_floor * more + 2 * fabric.inner_latency - c.scale_up.launch));
  line.base_part(TermKind::steps, 1, t.form.nvls_start * network, step);
  line.ramp({.shape = Ramp::Shape::saturating,
             .level = 1,
             .amplitude = (1 - t.form.nvls_start) * network * step,
             .per_byte = 1 / (t.form.nvls_growth_size * detail::net_devices(fabric))});
  line.rate_part(TermKind::wire, level, 1, 1 / std::min(inner, outer));
  return line;
}

[[nodiscard]] inline Line price_internode_exchange(const Schedule& schedule, const Fabric& fabric, const Constants& c) {
  const auto& t = c.transport;
  const double n = fabric.ranks();
  const double g = fabric.local();
  const double path = nic_path_share(fabric, t, schedule.collective);
  Line line;
  line.base_part(TermKind::launch, 0, 1, c.scale_up.launch);
  if (schedule.collective == Collective::send_recv) {
    line.base_part(TermKind::steps, 1, t.form.send_recv_start, with_latency(t.ring_simple_step, fabric.outer_latency));
    const double share = fabric.outer_rate / g;  // the GPU's share of the domain's NICs
    line.wire_level = 1;
    const double crowded = fabric.domains() > 2 ? t.form.send_recv_crowded : 1;
    line.rate_part(TermKind::wire, 1, 1, 1 / (t.form.send_recv_efficiency * path * share * crowded));
    return line;
  }
  line.base_part(TermKind::floor, 1, 1, t.exchange_base);
  line.base_part(TermKind::peers, 1, n - g, with_latency(t.exchange_peer, fabric.outer_latency / n));
  line.ramp({.shape = Ramp::Shape::step,
             .level = 1,
             .amplitude = (n - g) * t.exchange_peer_simple,
             .per_byte = 1 / (exchange_ll_limit(fabric) * n)});
  line.ramp({.shape = Ramp::Shape::until,
             .level = 1,
             .amplitude = (n - g) * t.exchange_peer * (t.exchange_tiny - 1),
             .per_byte = 1 / (t.form.exchange_tiny_size * n)});
  const double inside = (schedule.bytes(0) + 1 / n) / (detail::inner_ring_rate(fabric, c) * fabric.inner_exchanges);
  const double across = schedule.bytes(1) / (t.exchange_share * path * fabric.outer_rate * fabric.all_to_all_taper);
  const double together = norm(inside, across, 2);
  line.wire_level = across >= inside ? 1 : 0;
  line.rate_part(TermKind::wire, 0, 1, together * inside * inside / (inside * inside + across * across));
  line.rate_part(TermKind::wire, 1, 1, together * across * across / (inside * inside + across * across));
  return line;
}

}  // namespace fabricost
