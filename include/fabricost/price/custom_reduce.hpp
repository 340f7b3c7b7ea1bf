#pragma once
/// \file custom_reduce.hpp
/// All-reduce kernels of vLLM, SGLang and TensorRT-LLM inside one domain, S bytes over n ranks at B one way each:
///
///   one shot   start + hop (log2 n - 1) + growth x/(1+x) + (n-1) S / (share B)        x = S / 64 KiB
///   two shots  start + norm_q( floor + hop (log2 n - 1) , 2 (n-1)/n S / (share B) )
///   launched from Python: norm_4( host_launch , t + host_extra + 2 S / (host_copy memory rate) )     the buffer is copied once
///
/// Steps and bytes are those of schedule/direct_reduce.hpp. Fitted to vLLM 0.14 to 0.24, SGLang 0.5.9 to 0.5.14 and TensorRT-LLM 1.0 to 1.3
/// on 2, 4 and 8 A100, H100, B200, and a pair of L40S. Kernels of few blocks are bound by loads in flight, not by the link: on Blackwell
/// vLLM's reach a fifth of it, no more bytes per second than on Hopper.

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/protocol.hpp>

#include <cmath>

namespace fabricost {

[[nodiscard]] inline Line price_one_shot(const Fabric& f, const OneShotConstants& k) {
  const double n = f.ranks();
  Line line;
  line.base_part(TermKind::launch, 0, 1, k.start);
  line.base_part(TermKind::steps, 0, std::log2(n) - 1, k.hop);
  line.ramp({.shape = Ramp::Shape::saturating, .amplitude = k.growth, .per_byte = 1 / (64 * kibibyte)});
  line.rate_part(TermKind::wire, 0, n - 1, 1 / (k.share * f.inner_rate));
  return line;
}

[[nodiscard]] inline Line price_two_shot(const Fabric& f, const TwoShotConstants& k) {
  const double n = f.ranks();
  Line line;
  line.overlap = k.overlap;
  line.base_part(TermKind::launch, 0, 1, k.start);
  line.latency_part(TermKind::floor, 0, 1, k.floor);
  line.latency_part(TermKind::steps, 0, std::log2(n) - 1, k.hop);
  line.rate_part(TermKind::wire, 0, 2 * (n - 1) / n, 1 / (k.share * f.inner_rate));
  return line;
}

/// \param kernel not ReduceKernel::library
[[nodiscard]] inline Line price_custom(ReduceKernel kernel, const Fabric& f, const CustomConstants& c) {
  switch (kernel) {
    case ReduceKernel::library: break;
    case ReduceKernel::pull_one_shot: return price_one_shot(f, c.pull_one_shot);
    case ReduceKernel::push_one_shot: return price_one_shot(f, c.push_one_shot);
    case ReduceKernel::lamport_one_shot: return price_one_shot(f, c.lamport_one_shot);
    case ReduceKernel::pull_two_shot: return price_two_shot(f, c.pull_two_shot);
    case ReduceKernel::push_two_shot: return price_two_shot(f, c.push_two_shot);
    case ReduceKernel::lamport_two_shot: return price_two_shot(f, c.lamport_two_shot);
    case ReduceKernel::multicast: return price_two_shot(f, c.multicast);
    case ReduceKernel::symmetric_two_shot: return price_two_shot(f, c.symmetric_two_shot);
  }
  return {};
}

/// Seconds of a call from Python around a kernel of t seconds on S bytes. \param memory_rate bytes/s; 0: unknown, no copy
[[nodiscard]] inline double launched_from_host(double t, double bytes, double memory_rate, const CustomConstants& c) {
  const double copy = memory_rate > 0 ? 2 * bytes / (c.host_copy * memory_rate) : 0;
  return norm(c.host_launch, t + c.host_extra + copy, 4);
}

}  // namespace fabricost
