#pragma once
/// \file host_copy.hpp
/// A copy of S bytes between a GPU and its host:
///
///   t = s + S / B      s: start, B: rate of payload, of the direction (hardware/host_rate.hpp)
///
/// Copies of 4 KiB to 1 GiB of an H100 and an H200 over PCIe 5 take that within 3 % one way and, for most, 10 % both ways. Both ways at
/// once share the link's ends: each of the two copies has S bytes and a lower rate. Where s and B were measured on this machine (`fabricost
/// calibrate` on output of `fabricost measure`), the answer is calibrated for the sizes that such a measurement covers.

#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/predict/certainty.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>

#include <cmath>

namespace fabricost::core {

/// Whether copies of this machine were measured on it.
[[nodiscard]] bool host_copies_measured(const System& system);

[[nodiscard]] Line price_host_copy(const System& system, const Fabric& f, Path path);

/// \param line of the copy \param described extrapolations if the tier is only described
[[nodiscard]] Certainty certainty_of_host_copy(const System& system, const Line& line, double bytes, const Extrapolated& described);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/predict/host_copy-inl.hpp>
#endif
