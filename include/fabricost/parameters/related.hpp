#pragma once
/// Constants of kernels for GPU generations without measurements: those of measured generations, with
/// latencies scaled.
///
///   constant = geometric mean over relatives of ( theirs / h_theirs^e )  x  h_own^e         h: one LL step of NCCL's, `ll.hop`
///
/// A kernel starts, waits for flags and reads a peer in round trips of its GPU's memory system, as do NCCL's
/// steps: starts of vLLM's kernel are 5.0, 5.3 and 5.0 steps on A100, H100 and B200, torch's multicast one
/// 8.7 and 7.8. `e` is 1 for such times, 0.5 where a host waits in between, 0 for computation by SMs and for
/// shares of a rate (Parameter::latency).

#include <fabricost/hardware/constants.hpp>

#include <cmath>
#include <span>

namespace fabricost::core {

namespace detail {
[[nodiscard]] inline double stretch(const Parameter& p, const Constants& c) { return std::pow(c.scale_up.ll.hop, p.latency); }
}  // namespace detail

/// The prior's constants scaled to the steps of `c`. Changes only `set`, without the constants common to all
/// machines.
inline void stretch_prior(ConstantSet set, Constants& c) {
  const Constants prior;
  for (const Parameter& p : parameters_of(set))
    if (p.fitted != FitTreatment::form) p.of(c) = p.value(prior) * detail::stretch(p, c) / detail::stretch(p, prior);
}

/// Constants of `set` for the machine of `c`, whose scale_up constants are known, from relatives. A constant
/// that no relative has measured keeps its scaled prior. \param knows whether a relative was measured for
/// that constant
template <class Knows>
void take_from_related(ConstantSet set, Constants& c, std::span<const Constants> relatives, Knows&& knows) {
  stretch_prior(set, c);
  for (const Parameter& p : parameters_of(set)) {
    if (p.fitted == FitTreatment::form) continue;
    double sum = 0;
    int count = 0;
    for (std::size_t r = 0; r < relatives.size(); ++r) {
      if (!knows(r, p)) continue;
      sum += std::log(p.value(relatives[r]) / detail::stretch(p, relatives[r]));
      ++count;
    }
    if (count > 0) p.of(c) = std::exp(sum / count) * detail::stretch(p, c);
  }
}

}  // namespace fabricost::core
