#pragma once
/// Collectives in the NVSwitches of one domain (NVLS), of n ranks:
///
///   c0 + fN + hN H + rN n (1 - exp(-S/sN)) + w S norm_2(1, lN/C) / A + w xN R (C - C1) / A
///
/// Other letters: hardware/constant_sets.hpp; hN = switch_head, rN = switch_rank, sN = switch_rank_size of ScaleUpForm.
///
///   H = min(n, 32)     heads: ranks that gather a part each; R C: bytes of one round, R = H x NVLS channels (16 Hopper, 32 Blackwell)
///   C                  the chunk: 16 KiB; 32 from 2 rounds of 32 KiB on, 64 from 8 rounds of 64 KiB, 128 from 64 rounds of 128 KiB;
///                      C1 = 16 KiB. Messages get faster where the chunk doubles, as logs of 8 to 72 ranks show: all of powers of two, at
///                      which it doubles. A size before such a one takes no longer than it; that the smaller chunk would, the interval holds
///   A = BN / 1.75      bytes of S per second in large chunks, whatever n. BN: the bus bandwidth of 8 ranks
///   w                  1 for all_reduce; all_gather and reduce_scatter take less for the same bytes, and no rN
///
/// Fitted on 8 H100, H200, B200, B300 and on racks of GB200 (4 to 72 ranks, 1 KiB to 32 GiB). Rule of the chunks: NVIDIA/nccl
/// src/enqueue.cc, in data/tuners. The bytes that cross a GPU's links, S (1 + 1/n), bound A at n / (n + 1) of the one-way rate.

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/ring.hpp>

namespace fabricost::core {

/// Bus bandwidth of in-switch reduction of g ranks in the largest chunks, at most the rate of the links.
[[nodiscard]] double in_switch_rate(const ScaleUpConstants& c, const Fabric& fabric, Collective op = Collective::all_reduce);

[[nodiscard]] Line price_in_switch(const Schedule& schedule, const Fabric& fabric, const ScaleUpConstants& c);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/in_switch-inl.hpp>
#endif
