#pragma once
/// The few most informative measurements for an unmeasured machine: run by `measure --quick`, and used by the
/// accuracy page to calibrate a left-out generation from a handful of points.

#include <fabricost/collective.hpp>
#include <fabricost/hardware/constants.hpp>

#include <array>

namespace fabricost::core {

/// One point: `pair` of two ranks, else all ranks of the domain (8 at most). Element type half.
struct Probe {
  Collective op = Collective::all_gather;
  bool pair = false;
  double bytes = 0;
};

/// Two latencies and one bandwidth; then, one after the other, the point that reduces the expected error
/// most, given the prior (average over the A100, H100 and B200 servers, all collectives, 2 to 8 ranks, 512 B
/// to 512 MiB).
inline constexpr std::array<Probe, 12> quick_probes{{
    {Collective::all_gather, true, 2048},
    {Collective::all_gather, false, 2048},
    {Collective::all_gather, false, 512 * mebibyte},
    {Collective::all_reduce, true, 4096 * kibibyte},
    {Collective::all_to_all, true, 2048},
    {Collective::all_to_all, true, 16 * mebibyte},
    {Collective::all_gather, true, 1024 * kibibyte},
    {Collective::all_to_all, true, 1024 * kibibyte},
    {Collective::all_reduce, false, 512 * kibibyte},
    {Collective::reduce_scatter, true, 64 * mebibyte},
    {Collective::all_gather, true, 128 * kibibyte},
    {Collective::all_reduce, false, 32 * mebibyte},
}};

}  // namespace fabricost::core
