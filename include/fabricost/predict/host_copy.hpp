#pragma once
/// \file host_copy.hpp
/// A copy of S bytes between a GPU and its host:
///
///   t = c0 + l + S / (B e)      B: one-way rate of the tier to the host, e: payload share, l: its latency
///
/// On a described tier, l is one hop of the link and c0 the cost of a kernel launch. On a tier measured on
/// this machine (`fabricost calibrate` on output of `fabricost measure`), l is the total time of a copy of a
/// few bytes, so c0 is 0, and the answer is calibrated for the sizes such a measurement covers.

#include <fabricost/hardware/system.hpp>
#include <fabricost/predict/uncertainty.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>

#include <cmath>

namespace fabricost {

/// Whether both rate and latency of the tier to the host were measured instead of described.
[[nodiscard]] bool host_copies_measured(const System& system);

[[nodiscard]] Line price_host_copy(const System& system, const Fabric& f);

/// \param line of the copy \param described extrapolations if the tier is only described
[[nodiscard]] Certainty certainty_of_host_copy(const System& system, const Line& line, double bytes, const Extrapolated& described);

}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/predict/host_copy-inl.hpp>
#endif
