#pragma once
/// Uncertainty of an answer: the half width of its 5-95 % interval in log time, from residuals of the fit
/// behind the constants. It is widened in quadrature if something was not measured (the widths: hardware/interval_widths.hpp, their
/// values: data/priors/intervals.yaml) and additively for every factor of two
/// outside the measured ranks, or by the root of their number beyond the measured nodes, as each doubling errs
/// independently. Sizes beyond the largest measured one widen it by the share of time that was not wire there, latency
/// and local copies, which a longer transfer may hide: the wire's rate was
/// measured, so on the flat part of a curve the interval stays as wide as measured. (On an unmeasured machine
/// the wire rate also differs a little from its relatives': `unseen_wire`.) Below the smallest size it is wider
/// by a fixed amount: a few bytes may be faster still.

#include <fabricost/predict/prediction.hpp>
#include <fabricost/price/price.hpp>
#include <fabricost/price/terms.hpp>

namespace fabricost::core {

struct Certainty {
  Basis basis = Basis::datasheet;
  double half_width = 0;
  Extrapolated extrapolated;
};

/// Widening beyond the largest measured size, per factor of two: the share of the time there that was not
/// wire.
[[nodiscard]] double wider_beyond(const IntervalWidths& w, const Line& line, Basis basis, double largest, double bytes);

/// Basis of a kernel's answer. \param of_set basis of its constants \param shown, place of the kernel in its
/// set
[[nodiscard]] constexpr Basis kernel_basis(Basis of_set, const MeasuredOperations& shown, std::size_t place) {
  if (of_set == Basis::datasheet || !MeasuredOperations::has(shown.anywhere, place)) return Basis::datasheet;
  return of_set == Basis::calibrated && MeasuredOperations::has(shown.here, place) ? Basis::calibrated : Basis::sibling;
}
/// Widening in quadrature for that basis. \param otherwise if only machines with other domains or links were measured
[[nodiscard]] constexpr double kernel_width(const IntervalWidths& w, Basis basis, const MeasuredOperations& shown, std::size_t place, double otherwise) {
  if (basis == Basis::calibrated) return 0;
  if (basis == Basis::datasheet) return w.datasheet;
  return MeasuredOperations::has(shown.alike, place) ? w.sibling : otherwise;
}

/// Certainty for an inference engine's own all-reduce kernel; measured up to the size at which each engine
/// hands over, on 2, 4 and 8 ranks.
[[nodiscard]] Certainty certainty_of_custom(const Constants& c, const Fabric& f, Candidate ran, double bytes);

/// Basis of an operation: calibrated only if the operation itself was measured.
[[nodiscard]] constexpr Basis operation_basis(Basis of_set, const MeasuredOperations& shown, Collective op) {
  const bool here = MeasuredOperations::has(shown.here, static_cast<std::size_t>(op));
  return of_set == Basis::calibrated && !here ? Basis::sibling : of_set;
}

/// Half width for a PCIe board without stated rates: boards differ most in the rate between their sockets.
[[nodiscard]] double unknown_board(const IntervalWidths& w, const Fabric& f);

/// \param line the price of the pair that ran
[[nodiscard]] Certainty certainty_of(const Constants& c, const Fabric& f, Collective op, Candidate ran, const Line& line,
                                     double bytes);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/predict/certainty-inl.hpp>
#endif
