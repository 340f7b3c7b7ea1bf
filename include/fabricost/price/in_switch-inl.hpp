#pragma once
/// Bodies of in_switch.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/in_switch.hpp>

namespace fabricost::core::detail {

/// Time of an in-switch operation's bytes over an all_reduce's of the same S.
FABRICOST_BODY double switch_share(const ScaleUpForm& form, Collective op) {
  return op == Collective::all_reduce ? 1 : op == Collective::all_gather ? form.switch_gather : form.switch_scatter;
}

/// Seconds per byte of S when a chunk's latency hides nothing, at least the time on the links.
FABRICOST_BODY double switch_byte(const ScaleUpConstants& c, const Fabric& fabric, Collective op) {
  const double g = fabric.local();
  const double links = (op == Collective::all_reduce ? (g + 1) / g : 1) / fabric.full_rate;
  const double per_rate = bus_factor(Collective::all_reduce, static_cast<int>(server_ranks)) / (c.nvls.rate_share * fabric.full_rate);
  return std::max(switch_share(c.form, op) * per_rate, links);
}

/// Slow-down by the latency of chunks of this size.
FABRICOST_BODY double chunk_slowdown(const ScaleUpConstants& c, double chunk) {
  const double latency = c.nvls.chunk / chunk;
  return std::sqrt(1 + latency * latency);
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY double in_switch_rate(const ScaleUpConstants& c, const Fabric& fabric, Collective op) {
  const TunerTables& k = tables_of(fabric.tuner);
  const double byte = detail::switch_byte(c, fabric, op) * detail::chunk_slowdown(c, k.nvls_chunk[3]);
  return bus_factor(op, static_cast<int>(fabric.local())) / byte;
}

FABRICOST_BODY Line price_in_switch(const Schedule& schedule, const Fabric& fabric, const ScaleUpConstants& c) {
  const Collective op = schedule.collective;
  const TunerTables& k = tables_of(fabric.tuner);
  const double n = fabric.local(), heads = std::min(n, k.nvls_heads);
  const double round = heads * k.nvls_channels[tuner_generation(fabric.generation)];  // chunks in one
  const double byte = detail::switch_byte(c, fabric, op);
  Line line;
  line.add_base_part(TermKind::launch, 0, 1, c.launch);
  line.add_base_part(TermKind::floor, 0, 1, with_latency(c.nvls.floor, schedule.steps() * fabric.inner_latency_shift));
  line.add_base_part(TermKind::steps, 0, heads, c.form.switch_head);
  if (op == Collective::all_reduce)
    line.add_ramp({.shape = Ramp::Shape::exponential, .amplitude = n * c.form.switch_rank, .per_byte = 1 / c.form.switch_rank_size});
  double slow = detail::chunk_slowdown(c, k.nvls_chunk[0]);
  line.add_rate_part(TermKind::wire, 0, 1, slow * byte);
  for (std::size_t i = 1; i < 4; ++i) {
    const double chunk = k.nvls_chunk[i], faster = detail::chunk_slowdown(c, chunk);
    const double fill = c.nvls.fill * round * (chunk - k.nvls_chunk[i - 1]);  // bytes
    line.add_jump_held_before({.from = k.nvls_rounds[i - 1] * round * chunk, .seconds = fill * byte, .rate = (faster - slow) * byte},
                              slow * byte);
    slow = faster;
  }
  return line;
}

}  // namespace fabricost::core
