#pragma once
/// \file uncertainty.hpp
/// How sure an answer is: the half width of its 5-95 % interval in log time, from residuals of the fit that made the constants,
/// widened in quadrature by what was not measured (sibling 0.066 or, over PCIe, 0.82; datasheet 0.42, cluster 0.4, transport 1.2) and
/// outright by every factor of two outside the measured sizes, ranks and nodes.

#include <fabricost/predict/prediction.hpp>
#include <fabricost/price/price.hpp>

#include <cmath>

namespace fabricost {

struct Certainty {
  Basis basis = Basis::datasheet;
  double half_width = 0;
  Extrapolated extrapolated;
};

/// Of an inference engine's own all-reduce kernel; measured from 256 B to where each engine hands over, on 2, 4 and 8 ranks.
[[nodiscard]] inline Certainty certainty_of_custom(const Constants& c, const Fabric& f, Candidate ran, double bytes) {
  const IntervalWidths& w = c.interval;
  const double own = fitted_half_width(w, ran, Collective::all_reduce, f);
  const double like = c.custom_basis == Basis::calibrated ? 0 : c.custom_basis == Basis::sibling ? w.sibling : w.datasheet;
  Certainty out{.basis = c.custom_basis, .half_width = std::sqrt(own * own + like * like), .extrapolated = {}};
  if (own >= unmeasured_kernel) out.basis = Basis::datasheet;
  if (bytes > 0 && bytes < 256) {
    out.extrapolated.sizes = true;
    out.half_width += w.below_sizes;
  }
  return out;
}

[[nodiscard]] inline Certainty certainty_of(const Constants& c, const Fabric& f, Collective op, Candidate ran, double bytes) {
  const IntervalWidths& w = c.interval;
  const bool across = f.domains() > 1;
  Certainty out;
  const double own = fitted_half_width(w, ran, op, f);
  double square = own * own;
  out.basis = c.basis;
  if (c.basis == Basis::sibling) {  // over PCIe the rates belong to the board, not to the GPU
    const double like = f.over_pcie ? w.pcie_datasheet : w.sibling;
    square += like * like;
  }
  if (c.basis == Basis::datasheet && f.local() > 1) {
    const double blind = f.over_pcie ? w.pcie_datasheet : w.datasheet;
    square += blind * blind;
  }
  if (across) {
    if (!c.transport_known)
      square += w.unmeasured_transport * w.unmeasured_transport;
    else if (c.transport_basis != Basis::calibrated)
      square += w.unmeasured_cluster * w.unmeasured_cluster;
    out.basis = std::max(f.local() > 1 ? c.basis : c.transport_basis, c.transport_known ? c.transport_basis : Basis::datasheet);
  }
  if (!has_fitted_form(ran.algorithm, op, f)) out.basis = Basis::datasheet;
  double beyond = 0;
  if (bytes > 0 && bytes < c.smallest) {
    out.extrapolated.sizes = true;
    beyond += w.below_sizes;
  }
  if (ran.algorithm == Algorithm::nvls && f.local() > 8 && bytes < rack_measured_from) {
    out.extrapolated.sizes = true;
    beyond += w.below_rack_sizes;
  }
  if (bytes > c.largest) {
    out.extrapolated.sizes = true;
    beyond += w.beyond_sizes * std::log2(bytes / c.largest);
  }
  if (f.local() > c.most_ranks) {
    out.extrapolated.ranks = true;
    beyond += w.beyond_ranks * std::log2(f.local() / c.most_ranks);
  }
  if (f.local() > 1 && f.local() < c.fewest_ranks) {
    out.extrapolated.ranks = true;
    beyond += w.beyond_ranks * std::log2(c.fewest_ranks / f.local());
  }
  if (across && f.domains() > c.most_nodes) {
    out.extrapolated.nodes = true;
    beyond += w.beyond_ranks * std::log2(f.domains() / c.most_nodes);
  }
  out.half_width = std::sqrt(square) + beyond;
  return out;
}

}  // namespace fabricost
