#pragma once
/// \file stacks.hpp
/// Memory settings of the software of published runs, and the shapes of their models.

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

/// A transformer of GPT's shape: separate keys for every head, an MLP of four times the width without a gate.
inline Model gpt(int layers, int hidden, int heads, int vocab = 51200) {
  Model m;
  m.name = "GPT";
  m.layers = layers;
  m.hidden = hidden;
  m.heads = m.kv_heads = heads;
  m.head_dim = hidden / heads;
  m.vocab = vocab;
  m.ffn = 4 * hidden;
  m.gated = false;
  return m;
}

}  // namespace fabricost::test
