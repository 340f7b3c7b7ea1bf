#pragma once
/// The minimum time of a schedule on a fabric: its bytes over the links that carry them, at the links' full
/// one-way rate. It uses no fitted constant, so that no interval can begin below it.
///
///   least = S x max over levels of (bytes that leave an endpoint / S) / (one-way rate of the endpoint's links)
///
///   ring, pairwise, direct, halving, hierarchical   the bytes of their schedules: all_reduce 2 (n-1)/n, all_gather (n-1)/n, ...
///   ring between domains of g                       inside (g-1)/g of that: one hop of a round leaves, and channels leave by other ranks
///   trees between N domains                         all_reduce 1 of two, 1.5 of three, 2 of more: bytes out of the fullest domain
///   nvls                                            1 + 1/n inside (the switch adds and multicasts), busbw 2(n-1)/(n+1) of the rate
///   send_recv between domains                       one rank of each sends, over the NICs of its own
///
/// Rates are those of fabric.hpp: of links that lead to participating ranks, of NICs as limited by their
/// slots and a tapered network. Seconds per byte of S. The sources of the volumes are in algorithms/*.hpp.

#include <fabricost/price/fabric.hpp>
#include <fabricost/price/generic.hpp>

namespace fabricost::core {

/// Seconds per byte of S, as described above; 0 if nothing moves. \throws nothing
[[nodiscard]] double min_per_byte(const Schedule& schedule, const Fabric& f);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/lower_bound-inl.hpp>
#endif
