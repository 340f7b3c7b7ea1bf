#pragma once
/// Bodies of certainty.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/predict/certainty.hpp>

#include <bit>

namespace fabricost::core {

FABRICOST_BODY double wider_beyond(const IntervalWidths& w, const Line& line, Basis basis, double largest, double bytes) {
  const double unseen = 1 - wire_share(line, largest);
  return w.beyond_sizes * std::log2(bytes / largest) * (basis == Basis::calibrated ? unseen : std::max(unseen, w.unseen_wire));
}

FABRICOST_BODY Certainty certainty_of_custom(const Constants& c, const Fabric& f, Candidate ran, double bytes) {
  const IntervalWidths& w = c.interval;
  const double own = fitted_half_width(w, ran, Collective::all_reduce, f);
  const auto place = static_cast<std::size_t>(ran.kernel);
  const Basis basis = kernel_basis(c.custom_basis, c.custom_kernels, place);
  const double like = kernel_width(w, basis, c.custom_kernels, place, w.other_domain);
  const double between = std::has_single_bit(static_cast<unsigned>(f.ranks())) ? 0 : w.other_ranks;  // fits had 2, 4 and 8
  Certainty out{.basis = basis, .half_width = std::sqrt(own * own + like * like + between * between), .extrapolated = {}};
  if (own >= fitted_half_width(width_priors, ran, Collective::all_reduce, f)) out.basis = Basis::datasheet;
  if (bytes > 0 && bytes < c.custom.form.measured_from) {
    out.extrapolated.sizes = true;
    out.half_width += w.below_sizes;
  }
  return out;
}

FABRICOST_BODY double unknown_board(const IntervalWidths& w, const Fabric& f) {
  return pcie_reach(f) == 2 ? w.pcie_sockets : w.pcie_datasheet;
}

FABRICOST_BODY Certainty certainty_of(const Constants& c, const Fabric& f, Collective op, Candidate ran, const Line& line, double bytes) {
  const IntervalWidths& w = c.interval;
  const bool across = f.domains() > 1;
  Certainty out;
  const double own = fitted_half_width(w, ran, op, f);
  double square = own * own;
  const Basis inside = operation_basis(c.basis, c.operations, op);
  const Basis transport = operation_basis(c.transport_basis, c.transport_operations, op);
  const MeasuredOperations& shown = across ? c.transport_operations : c.operations;
  if (!MeasuredOperations::has(shown.anywhere, static_cast<std::size_t>(op))) square += w.unmeasured_operation * w.unmeasured_operation;
  out.basis = inside;
  if (inside == Basis::sibling && !(across && c.basis == Basis::calibrated)) {  // over PCIe the rates depend on the board, not on the GPU
    const double over_links = f.library == Library::rccl && !across ? w.rccl_sibling : w.sibling;
    const double over_pcie = f.pcie_carried > 0 ? w.pcie_carried : unknown_board(w, f);
    const double like = f.over_pcie && c.basis != Basis::calibrated ? over_pcie : over_links;
    square += like * like;
  }
  if (c.basis == Basis::datasheet && f.local() > 1) {
    const double blind = f.over_pcie ? unknown_board(w, f) : w.datasheet;
    square += blind * blind;
  }
  if (!across && !f.over_pcie && f.library == Library::nccl) {
    const TunerTables& version = tables_of(f.tuner);
    const bool unseen = version.kernel_width > 0 && !(version.kernels_seen[tuner_generation(f.generation)] > 0);
    square += version.kernel_width * version.kernel_width;
    if (f.tuner_assumed || unseen) square += w.unknown_library * w.unknown_library;
  }
  if (across) {
    if (!c.transport_known)
      square += w.unmeasured_transport * w.unmeasured_transport;
    else if (transport != Basis::calibrated)
      square += w.unmeasured_cluster * w.unmeasured_cluster;
    // between domains the transport matters: measurements of the operation inside one do not count
    out.basis = std::max(f.local() > 1 ? c.basis : transport, c.transport_known ? transport : Basis::datasheet);
  }
  if (!has_fitted_form(ran.algorithm, op, f)) out.basis = Basis::datasheet;
  double beyond = 0;
  const bool in_network = across && is_collnet(ran.algorithm), own_network = across && c.transport_basis == Basis::calibrated;
  const double smallest = own_network ? c.transport_smallest : c.smallest, largest = own_network ? c.transport_largest : c.largest;
  if (bytes > 0 && bytes < (in_network ? c.transport.form.collnet_from : smallest)) {
    out.extrapolated.sizes = true;
    beyond += w.below_sizes;
  }
  if (bytes > largest && !in_network) {
    out.extrapolated.sizes = true;
    beyond += wider_beyond(w, line, out.basis, largest, bytes);
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
    beyond += w.beyond_ranks * std::sqrt(std::log2(f.domains() / c.most_nodes));
  }
  out.half_width = std::sqrt(square) + beyond;
  return out;
}

}  // namespace fabricost::core
