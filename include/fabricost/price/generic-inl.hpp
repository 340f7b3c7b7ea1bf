#pragma once
/// Bodies of generic.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/generic.hpp>

namespace fabricost::core {

FABRICOST_BODY std::array<LevelCost, 2> level_costs(const Fabric& fabric, const Constants& c, Protocol protocol, Collective op) {
  const auto& up = c.scale_up;
  const auto& t = c.transport;
  const double ring = detail::inner_ring_rate(fabric, c);
  const double outer = t.efficiency * nic_path_share(fabric, t, op) * fabric.outer_rate * fabric.ring_taper;
  std::array<LevelCost, 2> out;
  switch (protocol) {
    case Protocol::ll:
      out[0] = {fabric.over_pcie ? c.pcie.ll_hop : up.ll.hop, std::min(0.5 * ring, up.ll.channel_share * fabric.inner_rate)};
      out[1] = {t.tree_step, t.ll_share * outer};
      break;
    case Protocol::ll128:
      out[0] = {up.ll.hop, up.ll128.rate_share * ring};
      out[1] = {t.ll128_step, t.form.ll128_share * outer};
      break;
    case Protocol::simple:
      out[0] = {fabric.over_pcie ? c.pcie.simple_hop : up.simple.hop, ring};
      out[1] = {t.form.unfitted_step * t.ring_simple_step * (fabric.gpu_direct ? 1 : t.no_gdr_step), outer};
      break;
  }
  out[0].hop = with_latency(out[0].hop, fabric.inner_latency_shift);
  out[1].hop = with_latency(out[1].hop, fabric.outer_latency_shift);
  return out;
}

FABRICOST_BODY Line price_phases(const Schedule& schedule, const std::array<LevelCost, 2>& cost, double launch, double floor,
                                 double overlap) {
  Line line;
  line.overlap = overlap;
  line.add_base_part(TermKind::launch, 0, 1, launch);
  line.add_latency_part(TermKind::floor, 0, 1, floor);
  const auto at = [&](const Phase& p) -> const LevelCost& { return cost[p.level > 0 ? 1 : 0]; };
  std::array<double, 2> steps{};
  for (const Phase& p : schedule) steps[p.level > 0 ? 1 : 0] += p.steps;
  for (int level = 0; level < 2; ++level)
    line.add_latency_part(TermKind::steps, level, steps[static_cast<std::size_t>(level)], cost[static_cast<std::size_t>(level)].hop);
  // the slowest phase of a stage determines its time
  std::array<double, 2> bytes{};
  for (const Phase* p = schedule.begin(); p != schedule.end(); ++p) {
    bool slowest = true;
    for (const Phase* other = schedule.begin(); other != schedule.end(); ++other) {
      if (other == p || other->stage != p->stage) continue;
      const double theirs = other->bytes / at(*other).rate;
      const double mine = p->bytes / at(*p).rate;
      if (theirs > mine || (theirs == mine && other < p)) slowest = false;
    }
    if (slowest) bytes[p->level > 0 ? 1 : 0] += p->bytes;
  }
  for (int level = 0; level < 2; ++level)
    line.add_rate_part(TermKind::wire, level, bytes[static_cast<std::size_t>(level)], 1 / cost[static_cast<std::size_t>(level)].rate);
  line.wire_level = bytes[1] > 0 && bytes[1] / cost[1].rate >= bytes[0] / cost[0].rate ? 1 : 0;
  return line;
}

FABRICOST_BODY double link_share(Algorithm algorithm, const Fabric& fabric) {
  const bool own_links = !fabric.switched && !fabric.over_pcie && !fabric.neighbours_only;
  return own_links && fabric.local() > 2 && one_partner_a_step(algorithm) ? 1 / (fabric.local() - 1) : 1;
}

FABRICOST_BODY double taper_share(Algorithm algorithm, const Fabric& fabric, Collective op) {
  return exchanges_at_once(algorithm, op) ? fabric.all_to_all_taper : fabric.ring_taper;
}

FABRICOST_BODY Line price_generic(const Schedule& schedule, const Fabric& fabric, const Constants& c, Protocol protocol) {
  auto cost = level_costs(fabric, c, protocol, schedule.collective);
  cost[0].rate *=
      link_share(schedule.algorithm, fabric) * (exchanges_at_once(schedule.algorithm, schedule.collective, 0) ? fabric.inner_exchanges : 1);
  cost[1].rate *= taper_share(schedule.algorithm, fabric, schedule.collective) / fabric.ring_taper;
  if (uses_all_links(schedule.algorithm)) cost[0].rate *= fabric.full_rate / fabric.inner_rate;
  const bool simple = protocol == Protocol::simple;
  const double floor = simple                        ? (fabric.over_pcie ? c.pcie.simple_floor : c.scale_up.simple.floor)
                       : protocol == Protocol::ll128 ? c.scale_up.ll128.floor
                                                     : 0;
  const double overlap = simple ? c.scale_up.simple.overlap : protocol == Protocol::ll128 ? c.scale_up.ll128.overlap : 1;
  return price_phases(schedule, cost, fabric.over_pcie ? c.pcie.launch : c.scale_up.launch, floor, overlap);
}

FABRICOST_BODY Line price_collnet(const Schedule& schedule, const Fabric& fabric, const Constants& c) {
  auto cost = level_costs(fabric, c, Protocol::simple, schedule.collective);
  if (gathers_or_scatters(schedule.collective)) cost[1].rate *= c.transport.form.send_recv_efficiency / c.transport.efficiency;
  const double inside = schedule.bytes(0) / cost[0].rate, across = schedule.bytes(1) / cost[1].rate;
  const double order = c.transport.form.collnet_overlap;
  const double of_both = inside > 0 ? 1 / (1 + std::pow(across / inside, order)) : 0;  // the part of the norm that is the domain's
  Line line;
  line.overlap = c.scale_up.simple.overlap;
  line.wire_level = across >= inside ? 1 : 0;
  line.add_base_part(TermKind::launch, 0, 1, c.scale_up.launch);
  line.add_latency_part(TermKind::floor, 0, 1, c.scale_up.simple.floor);
  line.add_latency_part(TermKind::steps, 0, schedule.steps(0), cost[0].hop);
  line.add_latency_part(TermKind::steps, 1, schedule.steps() - schedule.steps(0), cost[1].hop);
  const double together = norm(inside, across, order);
  line.add_rate_part(TermKind::wire, 0, 1, together * of_both);
  line.add_rate_part(TermKind::wire, 1, 1, together * (1 - of_both));
  return line;
}

FABRICOST_BODY void add_peers(Line& line, const Schedule& schedule, const Constants& c) {
  for (const Phase& p : schedule) {
    if (p.steps == 0 || !exchanges_at_once(schedule.algorithm, schedule.collective, p.level)) continue;
    const double peers = p.bytes / p.message / schedule.levels.below(p.level);
    const double each = p.level > 0 ? peers * c.transport.exchange_peer : exchange_least(peers + 1, c.scale_up.form);
    line.add_latency_part(TermKind::floor, p.level, 1, std::max(0.0, p.steps * each - line.base - line.latency));
  }
}

}  // namespace fabricost::core
