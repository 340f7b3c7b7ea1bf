#pragma once
/// \file custom_reduce.hpp
/// All-reduce kernels of vLLM, SGLang and TensorRT-LLM inside one domain, S bytes over n ranks at B one way each:
///
///   one shot   start + hop (log2 n - 1) + growth x/(1+x) + (n-1) S / rate             x = S / 64 KiB
///   two shots  start + norm_q( floor + hop (log2 n - 1) , 2 (n-1)/n S / rate )
///   least      (n-1) S / B of one shot, 2 (n-1)/n S / B of two, (1 + 1/n) S / B where the switch adds (price/lower_bound.hpp)
///   1 / rate = norm_12( 1 / (share B) , kib / 1024 )                                  the link, or the loads in flight
///   launched from Python: norm_4( host_launch , t + host_extra + 2 S / (host_copy memory rate) )     the buffer is copied once
///                                                                 (12, 64 KiB and 4: CustomForm, data/priors/custom.yaml)
///
/// Steps and bytes are those of algorithms/shots.hpp. Fitted to vLLM 0.14 to 0.24, SGLang 0.5.9 to 0.5.14 and
/// TensorRT-LLM 1.0 to 1.3 on 2, 4 and 8 A100, H100, B200, and a pair of L40S. Kernels that read their peers
/// have few blocks (vLLM's 36) and so few loads in flight: on a fast link the bytes these fetch per round
/// trip are the limit, and Blackwell's longer round trip makes them slower than Hopper's (190 against 270
/// GB/s). torch's symmetric kernel reads all peers at once, so its loads grow with the ranks. Kernels that
/// store, or let the switch add, are limited by the link alone.

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/protocol.hpp>

#include <cmath>

namespace fabricost {

namespace detail {

/// Seconds per byte, limited by the link at a share of B or by the loads in flight (`kib`: for 1024 bytes).
[[nodiscard]] inline double per_byte(double share, double rate, double kib, const CustomForm& form) {
  return norm(1 / (share * rate), kib / 1024, form.rate_overlap);
}

}  // namespace detail

[[nodiscard]] inline Line price_one_shot(const Fabric& f, const OneShotConstants& k, const CustomForm& form) {
  const double n = f.ranks();
  Line line;
  line.base_part(TermKind::launch, 0, 1, k.start);
  line.base_part(TermKind::steps, 0, std::log2(n) - 1, k.hop);
  line.ramp({.shape = Ramp::Shape::saturating, .amplitude = k.growth, .per_byte = 1 / form.growth_size});
  line.rate_part(TermKind::wire, 0, n - 1, detail::per_byte(k.share, f.inner_rate, k.kib, form));
  line.min = (n - 1) / f.inner_rate;
  return line;
}

/// \param loads in flight, relative to those of two ranks
[[nodiscard]] inline Line price_two_shot(const Fabric& f, const TwoShotConstants& k, const CustomForm& form, double loads = 1) {
  const double n = f.ranks();
  Line line;
  line.overlap = k.overlap;
  line.base_part(TermKind::launch, 0, 1, k.start);
  line.latency_part(TermKind::floor, 0, 1, k.floor);
  line.latency_part(TermKind::steps, 0, std::log2(n) - 1, k.hop);
  line.rate_part(TermKind::wire, 0, 2 * (n - 1) / n, detail::per_byte(k.share, f.inner_rate, k.kib / loads, form));
  line.min = 2 * (n - 1) / n / f.inner_rate;
  return line;
}

/// The switch reduces and multicasts, so the bytes on a GPU's links differ.
[[nodiscard]] inline Line price_multicast(const Fabric& f, const TwoShotConstants& k, const CustomForm& form) {
  Line line = price_two_shot(f, k, form);
  line.min = (1 + 1 / f.ranks()) / f.full_rate;
  return line;
}

/// \param kernel not ReduceKernel::library
[[nodiscard]] inline Line price_custom(ReduceKernel kernel, const Fabric& f, const CustomConstants& c) {
  switch (kernel) {
    case ReduceKernel::library:
    case ReduceKernel::window_one_shot:
    case ReduceKernel::window_two_shot:
    case ReduceKernel::window_exchange:
    case ReduceKernel::window_flags:
    case ReduceKernel::any_buffer:
    case ReduceKernel::any_buffer_two_shot:
    case ReduceKernel::copy_engine:
    case ReduceKernel::copy_engine_multicast: break;  // symmetric.hpp, copy_engine.hpp
    case ReduceKernel::pull_one_shot: return price_one_shot(f, c.pull_one_shot, c.form);
    case ReduceKernel::push_one_shot: return price_one_shot(f, c.push_one_shot, c.form);
    case ReduceKernel::lamport_one_shot: return price_one_shot(f, c.lamport_one_shot, c.form);
    case ReduceKernel::pull_two_shot: return price_two_shot(f, c.pull_two_shot, c.form);
    case ReduceKernel::push_two_shot: return price_two_shot(f, c.push_two_shot, c.form);
    case ReduceKernel::lamport_two_shot: return price_two_shot(f, c.lamport_two_shot, c.form);
    case ReduceKernel::multicast: return price_multicast(f, c.multicast, c.form);
    case ReduceKernel::symmetric_two_shot: return price_two_shot(f, c.symmetric_two_shot, c.form, f.ranks() / 2);
  }
  return {};
}

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
[[nodiscard]] inline HostCall host_call(double t, double bytes, double memory_rate, const CustomConstants& c) {
  return {t, c.host_launch, c.host_extra, memory_rate > 0 ? 2 * bytes / (c.host_copy * memory_rate) : 0, c.form.host_overlap};
}
[[nodiscard]] inline double launched_from_host(double t, double bytes, double memory_rate, const CustomConstants& c) {
  return host_call(t, bytes, memory_rate, c).seconds();
}

}  // namespace fabricost
