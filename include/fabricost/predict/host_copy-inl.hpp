#pragma once
/// \file host_copy-inl.hpp
/// Bodies of host_copy.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/predict/host_copy.hpp>

namespace fabricost {

FABRICOST_BODY bool host_copies_measured(const System& system) {
  const Tier* host = host_tier(system);
  return host != nullptr && host->bandwidth.provenance.confidence == Confidence::measured &&
         host->latency.provenance.confidence == Confidence::measured;
}

FABRICOST_BODY Line price_host_copy(const System& system, const Fabric& f) {
  Line line;
  if (!host_copies_measured(system)) line.base_part(TermKind::launch, 0, 1, system.constants.scale_up.launch);
  line.base_part(TermKind::steps, 0, 1, f.host_latency);
  line.rate_part(TermKind::wire, 0, 1, 1 / f.host_link_rate);
  line.min = 1 / f.host_link_rate;
  return line;
}

FABRICOST_BODY Certainty certainty_of_host_copy(const System& system, const Line& line, double bytes, const Extrapolated& described) {
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
