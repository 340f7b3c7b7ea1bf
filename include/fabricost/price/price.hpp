#pragma once
/// schedule x fabric x constants -> Line, and the half width of its uncertainty. The only place that maps
/// algorithms to forms.

#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/price/channels.hpp>
#include <fabricost/price/generic.hpp>
#include <fabricost/price/in_switch.hpp>
#include <fabricost/price/internode.hpp>
#include <fabricost/price/lower_bound.hpp>
#include <fabricost/price/rail_exchange.hpp>

namespace fabricost::core {

/// True if a form was fitted to measurements of this (algorithm, fabric); otherwise the price follows from the schedule, but for an
/// all_to_all by rails (price/rail_exchange.hpp).
[[nodiscard]] bool has_fitted_form(Algorithm algorithm, Collective op, const Fabric& fabric);

/// The price of a schedule on a fabric under a protocol, as a function of the size.
[[nodiscard]] Line price(const Schedule& schedule, const Fabric& fabric, const Constants& c, Protocol protocol, bool byte_wide);

/// Maps (algorithm, protocol, operation) to the residual class whose 90 % quantile gives the interval width.
[[nodiscard]] double IntervalWidths::*interval_class(Candidate ran, Collective op, const Fabric& fabric);

/// Half width, in log time, of the interval with nine in ten points, on a measured machine of this kind.
[[nodiscard]] double fitted_half_width(const IntervalWidths& w, Candidate ran, Collective op, const Fabric& fabric);

}  // namespace fabricost::core

namespace fabricost {
using core::price;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/price-inl.hpp>
#endif
