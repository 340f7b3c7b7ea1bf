#pragma once
/// \file paid-inl.hpp
/// Bodies of paid.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/economics/paid.hpp>

namespace fabricost::plan {

FABRICOST_BODY bool rents_part(const System& system, double gpus, const Prices& prices) {
  return is_rack(system, prices.power) && takes_part_of_domain(system, gpus) && !is_owned(system, prices);
}

FABRICOST_BODY double paid_gpus(const System& system, double gpus, const Prices& prices, double idle, double standing_by) {
  const auto whole = [](double many, double unit) { return std::ceil(many / unit) * unit; };
  double out = 0;
  if (const System own = slice_for(system, static_cast<long long>(std::ceil(gpus))); own.slice) {
    const bool racks = system.pod > 0 && is_rack(system, prices.power);
    out = whole(gpus, own.domain) + whole(standing_by, racks ? system.domain : system.gpus_per_node);
  } else if (rents_part(system, gpus + standing_by, prices)) {
    out = with_rented_together(system, gpus + standing_by);
  } else if (is_rack(system, prices.power)) {
    out = whole(gpus + std::max(idle, standing_by), system.domain);
  } else {
    out = whole(gpus + (takes_part_of_domain(system, gpus) ? 0 : idle), system.gpus_per_node) + standing_by;
  }
  const auto stated = stated_gpus(system);
  return stated && static_cast<double>(*stated) >= gpus ? std::min(out, static_cast<double>(*stated)) : out;
}

}  // namespace fabricost::plan
