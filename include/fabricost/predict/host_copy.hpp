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
[[nodiscard]] inline bool host_copies_measured(const System& system) {
  const Tier* host = host_tier(system);
  return host != nullptr && host->bandwidth.provenance.confidence == Confidence::measured &&
         host->latency.provenance.confidence == Confidence::measured;
}

[[nodiscard]] inline Line price_host_copy(const System& system, const Fabric& f) {
  Line line;
  if (!host_copies_measured(system)) line.base_part(TermKind::launch, 0, 1, system.constants.scale_up.launch);
  line.base_part(TermKind::steps, 0, 1, f.host_latency);
  line.rate_part(TermKind::wire, 0, 1, 1 / f.host_link_rate);
  line.min = 1 / f.host_link_rate;
  return line;
}

/// \param line of the copy \param described extrapolations if the tier is only described
[[nodiscard]] inline Certainty certainty_of_host_copy(const System& system, const Line& line, double bytes, const Extrapolated& described) {
  const IntervalWidths& w = system.constants.interval;
  if (!host_copies_measured(system)) return {Basis::datasheet, w.unfitted_algorithm, described};
  const PcieForm& measured = system.constants.pcie.form;
  Certainty out{.basis = Basis::calibrated, .half_width = w.host_copy, .extrapolated = {}};
  if (bytes > 0 && bytes < measured.host_copies_from) out.half_width += w.below_sizes;
  if (bytes > measured.host_copies_to) out.half_width += wider_beyond(w, line, out.basis, measured.host_copies_to, bytes);
  out.extrapolated.sizes = bytes > 0 && (bytes < measured.host_copies_from || bytes > measured.host_copies_to);
  return out;
}

}  // namespace fabricost
