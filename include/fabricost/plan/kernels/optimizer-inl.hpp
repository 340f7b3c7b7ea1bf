#pragma once
/// \file optimizer-inl.hpp
/// Bodies of optimizer.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/kernels/optimizer.hpp>

#include <algorithm>

namespace fabricost::plan {

FABRICOST_BODY double update_bytes(const MemoryStack& stack) {
  const double kept = stack.master_remainders ? std::max(0.0, stack.optimizer - 2) : stack.optimizer;
  const bool read = stack.master <= 0 || stack.master_remainders;
  return stack.gradient + 2 * kept + (read ? 2 : 1) * stack.weight;
}

FABRICOST_BODY double update_seconds(const Processor& gpu, const Stack& stack, double parameters) {
  for (const OwnKernel& own : stack.kernels)
    if (own.kind == KernelKind::optimizer && own.gpu == gpu.name)
      return own.rate.start + parameters * update_bytes(stack.memory) / (own.rate.memory * gpu.memory_rate);
  const double cycles = gpu.cycles > 0 ? stack.update_cycles / gpu.cycles : 0;
  return parameters * p_norm(stream_seconds(gpu, update_bytes(stack.memory)), cycles, 2);
}

}  // namespace fabricost::plan
