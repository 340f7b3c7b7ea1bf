#pragma once
/// Slices of a pod: the torus that a job of so many chips gets where optical switches join whole cubes of chips.
///
/// A description names one torus (a cube of 4 x 4 x 4, a pod of 16 x 16) and `pod`, the most chips whose own links join. A job of N chips
/// runs on a torus of its own, the described one if it has as many, else the smallest slice that holds them, and only what exceeds a pod
/// crosses the data-centre network. Topologies
/// as Google Cloud's pages on TPU v4, v5p and v6e list them: with three axes whole cubes, 4a x 4b x 4c with a, b and c as equal as they can
/// be, every axis closed; below a cube, and with two axes, powers of two, 2 x 4 x 4 or 8 x 16. With two axes one closes that is as long as
/// the pod's, the 16 of 8 x 16; below a cube none does. A slice may be part of a host's chips: 2 x 2 of the 8 of a v5e.
///
/// A slice has no pod: the groups of a job lie inside its slice and get none of their own. The first function that has both a machine and a
/// number of its GPUs takes the slice; all functions that it calls see the same machine.

#include <fabricost/hardware/system.hpp>

namespace fabricost::core {

/// The machine as a job of so many GPUs sees it: its scale-up domain is one slice, the largest of equal ones if one pod is too small.
/// A machine without `pod`, jobs inside a node and a count of 0 keep the domain as described.
[[nodiscard]] System slice_for(System system, long long gpus);

}  // namespace fabricost::core

namespace fabricost {
using core::slice_for;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/hardware/slice-inl.hpp>
#endif
