#pragma once
/// \file host_copy-inl.hpp
/// Bodies of host_copy.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/predict/host_copy.hpp>

namespace fabricost::core {

FABRICOST_BODY bool host_copies_measured(const System& system) {
  const Tier* host = host_tier(system);
  if (host == nullptr) return false;
  if (host->copies[0].value() > 0) return host->copies_confidence == Confidence::measured;
  return host->bandwidth.provenance.confidence == Confidence::measured && host->latency.provenance.confidence == Confidence::measured;
}

FABRICOST_BODY Line price_host_copy(const System& system, const Fabric& f, Path path) {
  const HostCopy copy = host_copy_of(*host_tier(system), system.constants.pcie.form, path);
  const double memory = system.gpu.hbm_bandwidth.value.value();  // at its other end
  const double rate = memory > 0 ? std::min(copy.rate, memory) : copy.rate;
  Line line;
  line.add_base_part(TermKind::launch, 0, 1, copy.start);
  line.add_rate_part(TermKind::wire, 0, 1, 1 / rate);
  line.min = 1 / std::max(memory > 0 ? std::min(f.host_link_rate, memory) : f.host_link_rate, rate);
  return line;
}

FABRICOST_BODY Certainty certainty_of_host_copy(const System& system, const Line& line, double bytes, const Extrapolated& described) {
  constexpr double alike = 0.05;  // rates of one generation of links differ by less
  const IntervalWidths& w = system.constants.interval;
  const PcieForm& measured = system.constants.pcie.form;
  const Tier& tier = *host_tier(system);
  const bool here = host_copies_measured(system), over_pcie = tier.role != TierRole::c2c;
  const bool like = over_pcie ? std::fabs(tier.bandwidth.value.value() / measured.copy_link - 1) < alike : tier.copies[0].value() > 0;
  if (!here && !like) return {Basis::datasheet, w.unfitted_algorithm, described};
  const double another = here ? 0 : over_pcie ? w.sibling : w.unfitted_algorithm;
  Certainty out{.basis = here ? Basis::calibrated : Basis::sibling, .half_width = std::hypot(w.host_copy, another), .extrapolated = {}};
  if (bytes > 0 && bytes < measured.host_copies_from) out.half_width += w.below_sizes;
  if (bytes > measured.host_copies_to) out.half_width += wider_beyond(w, line, out.basis, measured.host_copies_to, bytes);
  out.extrapolated.sizes = bytes > 0 && (bytes < measured.host_copies_from || bytes > measured.host_copies_to);
  return out;
}

}  // namespace fabricost::core
