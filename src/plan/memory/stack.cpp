#include <fabricost/plan/memory/stack.hpp>

namespace fabricost::plan {

MemoryStack memory_on(MemoryStack stack, Generation generation) {
  const bool from_blackwell = is_nvidia(generation) && generation >= Generation::blackwell;
  if (stack.fp8_tensor_scaled && from_blackwell && stack.fp8_weight_copies > 0) stack.fp8_weight_copies = 1;
  return stack;
}

}  // namespace fabricost::plan
