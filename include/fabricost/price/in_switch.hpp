#pragma once
/// \file in_switch.hpp
/// All-reduce by the NVSwitches of one domain (NVLS).
///
///   up to 8 GPUs   c0 + fN (1 + gN (1 - exp(-S/sN))) + 2(n-1)/n S / BN       fitted on H100 and B200, n = 8
///   a rack         F + 2(n-1)/n S / (1.1 BN), F = c0 + fN growing to nvls_floor 3.9 (n/8)^0.74 by 1 - exp(-S / 64 MiB)
///                  fitted on NVL72 all-reduces of 72 ranks from 512 MiB on, where F has grown up; how it grows is assumed
///                  (these numbers: ScaleUpForm, data/priors/scale-up.yaml)
///
/// BN is a bus bandwidth of 8 ranks. The bytes that cross a GPU's links, S (1 + 1/n), bound it at 2(n-1)/(n+1) of the one-way rate; fewer
/// ranks load their links alike (304 to 311 GB/s on 5 to 8 H200, 539 to 545 on 6 to 8 B200), so that they get that much less of it.

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/ring.hpp>

namespace fabricost {

inline constexpr double server_ranks = 8;  ///< of the machines the smaller form was fitted on

/// Growth of the in-switch floor in a domain of g > 8 GPUs: 3.9 (g/8)^0.74.
[[nodiscard]] inline double rack_floor_factor(double g, const ScaleUpForm& form) {
  return g > server_ranks ? form.rack_floor * std::pow(g / server_ranks, form.rack_floor_power) : 1;
}
/// Bus bandwidth of in-switch reduction of g ranks, at most what the links carry.
[[nodiscard]] inline double in_switch_rate(const ScaleUpConstants& c, const Fabric& fabric, Collective op = Collective::all_reduce) {
  const double g = fabric.local();
  const double bound = (op == Collective::all_reduce ? 2 * (g - 1) / (g + 1) : (g - 1) / g) * fabric.full_rate;
  const double fewer = op == Collective::all_reduce && g < server_ranks ? (g - 1) / (g + 1) * (server_ranks + 1) / (server_ranks - 1) : 1;
  return std::min(c.nvls.rate_share * (g > server_ranks ? c.form.rack_rate : fewer) * fabric.full_rate, bound);
}

[[nodiscard]] inline Line price_in_switch(const Schedule& schedule, const Fabric& fabric, const ScaleUpConstants& c,
                                          const TransportConstants& transport) {
  const double n = fabric.local();
  Line line;
  line.base_part(TermKind::launch, 0, 1, c.launch);
  const bool rack = n > server_ranks;
  const double floor = c.nvls.floor;
  line.base_part(TermKind::floor, 0, 1, with_latency(floor, schedule.steps() * fabric.inner_latency));
  if (rack)
    line.ramp({.shape = Ramp::Shape::exponential,
               .amplitude = transport.nvls_floor * rack_floor_factor(n, c.form) - c.launch - floor,
               .per_byte = 1 / c.form.rack_growth_size});
  else
    line.ramp({.shape = Ramp::Shape::exponential, .amplitude = floor * c.nvls.growth, .per_byte = 1 / c.nvls.growth_size});
  // all_gather and reduce_scatter move half of all_reduce's bus volume
  const double volume = bus_factor(schedule.collective, static_cast<int>(n));
  line.rate_part(TermKind::wire, 0, volume, 1 / in_switch_rate(c, fabric, schedule.collective));
  return line;
}

}  // namespace fabricost
