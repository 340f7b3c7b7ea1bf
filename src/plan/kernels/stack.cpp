#include <fabricost/plan/kernels/stack.hpp>

namespace fabricost::plan {

void take_fitted(Stack& stack, const std::vector<FittedStack>& all) {
  const std::string program = fitted_name(stack);
  for (const FittedStack& one : all)
    if (one.name == stack.name) stack.spread = one.spread, stack.seen = one.seen;
  const StepsSeen own = stack.seen;
  for (const FittedStack& one : all)
    if (one.name == unseen_program) stack.scale = one.scale;
  for (const FittedStack& one : all) {
    if (one.factor != program) continue;
    stack.scale = one.scale;
    stack.seen.experts |= one.seen.experts;
    stack.seen.fp4 |= one.seen.fp4;
    for (const StepsSeen::On& there : one.seen.on)
      if (!own.of(there.generation)) stack.seen.add({there.generation, std::max(there.spread, stack.spread)});
  }
  stack.scale *= stack.release;
}

double spread_of(const Stack& stack, const StepKind& step) {
  const StepsSeen::On* const seen = stack.seen.find(step.generation);
  const double own = seen != nullptr ? seen->spread : stack.spread;
  double variance = own * own;
  const auto add = [&variance](bool applies, double spread) { variance += applies ? spread * spread : 0; };
  add(step.assumed || step.sibling, assumed_kernels_spread);
  add(seen == nullptr && !stack.seen.on.empty(), prior::stack::spread);
  add(step.experts && !stack.seen.experts, prior::stack::experts_spread);
  add(step.other_kind, prior::stack::kinds_spread);
  add(step.precision == Precision::fp4 && !stack.seen.fp4, prior::stack::fp4_spread);
  return stack.scale_given ? std::min(prior::stack::measured_spread, std::sqrt(variance)) : std::sqrt(variance);
}

}  // namespace fabricost::plan
