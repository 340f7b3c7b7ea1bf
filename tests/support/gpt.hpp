#pragma once

#include <fabricost/plan/model/model.hpp>

namespace fabricost::test {

/// A transformer of GPT's shape: separate keys for every head, an MLP of four times the width without a gate.
inline plan::Model gpt(int layers, int hidden, int heads, int vocab = 51200) {
  plan::Model m;
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
