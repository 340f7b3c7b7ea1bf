#pragma once
/// \file optimizer.hpp
/// The update of a rank's parameters by Adam: what it reads and writes, and the time of the kernel.
///
///   bytes     g + 2 o + w (2 w where the weights themselves are updated): gradient, states and weight are read, states and weight written
///   seconds   norm_2(n bytes / (em BW), n c / (SMs clock)): c cycles of a processor a parameter, which conversions, root and division
///             take beside the memory (Stack::update_cycles, of each software)
///
/// g, o, w bytes of gradient, states with master weights, and weight (memory/stack.hpp); n parameters that the rank updates. With the
/// remainders of master weights the 16-bit weight is half of the master: it is read too.

#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/kernels/stack.hpp>

namespace fabricost::plan {

/// Bytes of memory traffic of one parameter's update.
[[nodiscard]] double update_bytes(const MemoryStack& stack);

/// Seconds of the update of `parameters`; never less than its bytes over the memory's rate.
[[nodiscard]] double update_seconds(const Processor& gpu, const Stack& stack, double parameters);

}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/kernels/optimizer-inl.hpp>
#endif
