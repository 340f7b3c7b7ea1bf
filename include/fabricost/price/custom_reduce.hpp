#pragma once
/// All-reduce kernels of vLLM, SGLang and TensorRT-LLM inside one domain, S bytes over n ranks at B one way each:
///
///   one shot   start + hop (log2 n - 1) + growth x/(1+x) + (n-1) S / rate             x = S / 64 KiB
///   two shots  start + norm_q( floor + hop (log2 n - 1) , 2 (n-1)/n S / rate )
///   multicast  as two shots, with S max( 14/8 (1 + 1/n)/(1 + 1/8) / (share B) , kib / n / 1024 )
///              the switch adds: share is the busbw of 8 ranks; a rank adds S/n, and each sum waits for its trip, so that 6 B300 take 1.32
///              times as long as 8 where H100s are bound by the link
///   scattered  as two shots, with ((n-1)/n + 1) S at the rate of NCCL's rings                  FlashInfer's, ending in the switch's multicast
///   least      (n-1) S / B of one shot, 2 (n-1)/n S / B of two, (1 + 1/n) S / B where the switch adds, ((n-1)/n + 1) S / B where it
///              multicasts (price/lower_bound.hpp)
///   1 / rate = norm_12( 1 / (share B) , kib / 1024 )                                  the link, or the loads in flight
///   vLLM's and SGLang's kernels that read: rounds of 288 KiB a rank (AMD 128): ceil(S / round) round for S beyond one, where loads limit
///   launched from Python: norm_4( host_launch , t + host_extra + 2 S / (host_copy memory rate) )     the buffer is copied once
///                                                                 (12, 64 KiB and 4: CustomForm, data/priors/custom.yaml)
///
/// Steps and bytes are those of algorithms/peer_memory.hpp. Fitted to vLLM 0.14 to 0.24, SGLang 0.5.9 to 0.5.14 and
/// TensorRT-LLM 1.0 to 1.3 on 2, 4 and 8 A100, H100, B200, and a pair of L40S. Kernels that read their peers
/// have few blocks (vLLM's 36) and so few loads in flight: on a fast link the bytes these fetch per round
/// trip are the limit, and Blackwell's longer round trip makes them slower than Hopper's (190 against 270
/// GB/s of a pair). One shot and torch's symmetric kernel read all peers at once, so their loads grow with the ranks. Kernels that
/// store are limited by the link alone.

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/protocol.hpp>
#include <fabricost/price/ring.hpp>

namespace fabricost::core {

namespace detail {

/// Seconds per byte, limited by the link at a share of B or by the loads in flight (`kib`: for 1024 bytes).
[[nodiscard]] double per_byte(double share, double rate, double kib, const CustomForm& form);

}  // namespace detail

/// Loads in flight of PyTorch's symmetric kernel, relative to those of two ranks: unrolled over 2, 4 and 8 peers, one after the other over
/// any other number (CUDASymmetricMemoryOps.cu, DISPATCH_WORLD_SIZES).
[[nodiscard]] double loads_of_torch(double ranks);

/// \param loads in flight, relative to those of two ranks
[[nodiscard]] Line price_one_shot(const Fabric& f, const OneShotConstants& k, const CustomForm& form, double loads = 1);

/// \param loads in flight, relative to those of two ranks
[[nodiscard]] Line price_two_shot(const Fabric& f, const TwoShotConstants& k, const CustomForm& form, double loads = 1);

/// The switch reduces and multicasts, so the bytes on a GPU's links differ. `share` gives the bus bandwidth of 8 ranks.
[[nodiscard]] Line price_multicast(const Fabric& f, const TwoShotConstants& k);

/// The ranks store each rank its part, which adds it and lets the switch multicast the sum: the trips of a multicast, at the rate of NCCL's
/// rings.
[[nodiscard]] Line price_scattered_multicast(const Fabric& f, const Constants& c);

/// \param kernel not CollectiveKernel::library
[[nodiscard]] Line price_custom(CollectiveKernel kernel, const Fabric& f, const Constants& constants);

/// A call from Python around a kernel: norm_overlap( launch , kernel + extra + copy ), all in seconds.
struct HostCall {
  double kernel = 0;   ///< as replayed by a CUDA graph
  double launch = 0;   ///< on the host, overlapped with the GPU's work
  double extra = 0;    ///< additional kernel time
  double copy = 0;     ///< one copy of the buffer
  double overlap = 0;  ///< order of that norm; 0: no call
  [[nodiscard]] double seconds() const { return norm(launch, kernel + extra + copy, overlap); }
};
/// The call around a kernel of t seconds on S bytes. \param memory_rate bytes/s; 0: unknown, no copy
[[nodiscard]] HostCall host_call(double t, double bytes, double memory_rate, const CustomConstants& c);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/custom_reduce-inl.hpp>
#endif
