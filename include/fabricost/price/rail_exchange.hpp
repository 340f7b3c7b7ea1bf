#pragma once
/// \file rail_exchange.hpp
/// An all_to_all in two levels: inside a domain to the rank in the receiver's place, then across on that
/// place's own rail. Not fitted to runs; the constants of the direct exchange (internode.hpp) with the counts
/// of this schedule:
///
///   t = c0 + Ca + h + (N-1)(La + LaS [S/N > 16 KiB] + (tiny-1) La [S/N < 128]) + S (g-1)/g / B + S g (1-1/N) / (ea path W x)
///
/// N domains of g ranks; h: one hop of a Simple ring inside; x: an exchange's share of a tapered network. It
/// has N - 1 remote partners instead of n - g: faster for short messages, slower for long ones, since the two
/// levels run one after the other.
///
/// NCCL itself always sends directly. With PXN (2.12 and later, rails) a message moves over NVLink to the GPU
/// on the receiver's rail before it leaves, and messages to one destination are handed to the NIC together
/// (NVIDIA, "Doubling all2all performance with NCCL 2.12"): the same wires, so the routes of the two differ
/// only where PXN does not relay. The fitted constants of the direct exchange include this.

#include <fabricost/price/internode.hpp>

namespace fabricost::core {

/// \param schedule  schedule_of(Algorithm::hierarchical, all_to_all) over more than one domain. \throws nothing
[[nodiscard]] Line price_rail_exchange(const Schedule& schedule, const Fabric& fabric, const Constants& c);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/rail_exchange-inl.hpp>
#endif
