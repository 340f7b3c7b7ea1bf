#pragma once
/// Memory settings of the software of published runs, and the shapes of their models.

#include "support/gpt.hpp"
#include "support/measurements.hpp"

#include "text/csv.hpp"

#include <fabricost/plan/memory/memory.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace fabricost::test {

using namespace observe;

/// A stack whose peak is the framework allocator's figure: no context, no communicators, no fragmentation.
inline MemoryStack as_allocated(MemoryStack stack = {}) {
  stack.context = stack.communicator = stack.extra = stack.fragmentation = 0;
  return stack;
}

/// Megatron-LM as of Korthikanti 2022: scores kept, dropout.
inline MemoryStack megatron_2022() {
  MemoryStack s = as_allocated();
  s.flash_attention = false;
  s.dropout = true;
  return s;
}

}  // namespace fabricost::test
