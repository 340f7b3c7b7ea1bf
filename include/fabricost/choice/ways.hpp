#pragma once
/// Ways to communicate that a user turns on or off beside the library's own choice:
///
///   symmetric     buffers in symmetric windows (NCCL from 2.27): kernels that load and store all peers' memory (price/symmetric.hpp)
///   barrier_free  such kernels written with the device API, whose data carry their own flags; ctas: their thread blocks
///   any_buffer    NCCL from 2.31: it reduces small buffers in one or two trips without a window
///   copy_engine   NCCL from 2.28: copy engines move all_gather and all_to_all, no thread block (price/copy_engine.hpp)
///   nvls          in-switch reduction; off: rings and trees instead (NCCL_NVLS_ENABLE=0)
///   redop         how values are combined: what switches cannot combine runs as with nvls off
///   pxn           messages reach their rail over NVLink before they leave the node (NCCL_PXN_DISABLE=1 turns it off)
///   put, gin      a one-sided message through the NIC, posted by the processor's proxy, or by the GPU (price/put.hpp)
///   relay         idle GPUs of a mesh pass messages on
///   registered    buffers registered with the library: no pair of figures is published, so that prices stay as they are
///   nic_block     bytes of a message that one NIC takes before the GPU's next one does; 0: all share them evenly

#include <fabricost/collective.hpp>

namespace fabricost::core {

/// When a one-sided message has ended: the receiving GPU saw a counter; it has left; a second message signalled it.
enum class Put : unsigned char { none, counter, local, signal };

struct Ways {
  double nic_block = 0;
  unsigned short ctas = 0;  ///< 0: as many as fill the links
  Put put = Put::none;
  Reduction redop = Reduction::sum;
  bool symmetric = false, barrier_free = false, any_buffer = false, copy_engine = false;
  bool nvls = true, pxn = true;
  bool gin = false, relay = false, registered = false;

  friend constexpr bool operator==(const Ways&, const Ways&) = default;
  /// Whether anything is priced other than the library's own choice.
  [[nodiscard]] constexpr bool any() const {
    return (nic_block > 0) | symmetric | any_buffer | copy_engine | !nvls | !pxn | relay | gin | (put != Put::none) |
           (redop != Reduction::sum);
  }
};

}  // namespace fabricost::core
