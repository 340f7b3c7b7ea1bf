#pragma once
/// \file stack-inl.hpp
/// Bodies of stack.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/kernels/stack.hpp>

namespace fabricost {

FABRICOST_BODY double spread_of(const Stack& stack, const StepKind& step) {
  double variance = stack.spread * stack.spread;
  const auto add = [&variance](bool applies, double spread) { variance += applies ? spread * spread : 0; };
  add(step.assumed, assumed_kernels_spread);
  add(!stack.seen.of(step.generation) || step.kin, prior::stack::unseen_spread);
  add(step.experts && !stack.seen.experts, prior::stack::experts_spread);
  add(step.precision == Precision::fp4, prior::stack::fp4_spread);
  return std::sqrt(variance);
}

}  // namespace fabricost
