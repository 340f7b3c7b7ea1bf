#pragma once
/// Kernels over symmetric windows (NCCL from 2.27, and its device API): every rank stores into, and loads from, all peers' memory inside
/// one NVLink domain, or lets the switch multicast and add. S bytes over n ranks, b thread blocks:
///
///   one shot      norm_q( A , V )            V = max( S k/b , (n-1) S / B )          each rank's data to all, all ranks add
///   two shots     norm_q( C [+ D] , V )      V = max( S/n k/b , 2(n-1)/n S / B )     the switch adds and multicasts every n-th
///   exchange      norm_q( A + n e [+ n s] , (n-1)/n S / B )             all_to_all; all_gather, reduce_scatter without barriers
///   gather        G + (n-1)/n S / Bg                                    NCCL's own all_gather and reduce_scatter, between barriers
///   with flags    norm_q( A + n e , 9 (n-1)/n S / B )                   these two of short messages: LL, no barrier
///   any buffer    norm_2( F + h (log2 n - 1) , n S r )                               NCCL from 2.31, no window, its own reducing kernel
///                 F2 + h2 (log2 n - 1) + S max( r2 , 2(n-1)/n / B1 )                 the same of larger buffers: B1 the links' rate
///
/// [..]: barriers before and after; kernels whose data carry flags have none. A = 3.7 us holds launch and one trip, C = 6 us two; B is the
/// rate multicast kernels reach, of the links to the ranks that take part, the maximum a norm. Without b the links alone limit. Where
/// nothing multicasts (NVLink without such switches) two shots send 2(n-1)/n S, too. G and Bg are NCCL's own estimate, the others fitted to
/// four kernels on 4 to 32 GB200, 91 points (data/priors/ways.yaml); few trips, so that they win while latency matters, and lose beyond to
/// rings and the switch's own reduction. Which kernel reduces larger buffers of any kind is not known: from 128 KiB to 1 MiB 4 and 8 ranks
/// take nearly the same time, as two trips do and a ring's 6 and 14 steps do not.

#include <fabricost/hardware/constant_sets.hpp>
#include <fabricost/price/custom_reduce.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/protocol.hpp>
#include <fabricost/shipped_numbers.hpp>

namespace fabricost::core {

/// The launch of a kernel over windows: with or without barriers, with how many blocks.
struct WindowKernel {
  bool barriers = true;
  double blocks = 0;  ///< thread blocks; 0: as many as fill the links
  bool gathers = false;  ///< or scatters: with barriers the library's own kernel
};

/// \param kernel one of those of windows, or any_buffer, any_buffer_two_shot
[[nodiscard]] Line price_symmetric(CollectiveKernel kernel, const Fabric& f, const CustomConstants& c, WindowKernel how);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/symmetric-inl.hpp>
#endif
