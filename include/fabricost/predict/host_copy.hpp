#pragma once
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
[[nodiscard]] inline bool host_copies_measured(const System& system) {
  const Tier* host = host_tier(system);
  if (host == nullptr) return false;
  if (host->copies[0].value() > 0) return host->copies_confidence == Confidence::measured;
  return host->bandwidth.provenance.confidence == Confidence::measured && host->latency.provenance.confidence == Confidence::measured;
}

[[nodiscard]] inline Line price_host_copy(const System& system, const Fabric& f, Path path) {
  const HostCopy copy = host_copy_of(*host_tier(system), system.constants.pcie.form, path);
  const double memory = system.gpu.hbm_bandwidth.value.value();  // at its other end
  const double rate = memory > 0 ? std::min(copy.rate, memory) : copy.rate;
  Line line;
  line.add_base_part(TermKind::launch, 0, 1, copy.start);
  line.add_rate_part(TermKind::wire, 0, 1, 1 / rate);
  line.min = 1 / std::max(memory > 0 ? std::min(f.host_link_rate, memory) : f.host_link_rate, rate);
  return line;
}

/// \param line of the copy \param described extrapolations if the tier is only described
[[nodiscard]] inline Certainty certainty_of_host_copy(const System& system, const Line& line, double bytes, const Extrapolated& described) {
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
