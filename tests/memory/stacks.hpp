#pragma once
/// \file stacks.hpp
/// What the software of published runs keeps in memory, and the shapes of their models.

#include "support/measurements.hpp"

#include "io/csv.hpp"

#include <fabricost/io/memory_rows.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>

namespace fabricost::test {

/// A stack whose peak is what the framework's allocator reports: no context, no communicators, nothing lost between blocks.
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

/// SimuMax: Megatron core with Transformer Engine, fused cross-entropy. The 4 bytes of a matrix's gradient before it is accumulated are
/// read off its own published peaks.
inline MemoryStack simumax() {
  MemoryStack s = as_allocated();
  s.weight_gradient = 4;
  return s;
}

/// torchtitan: FSDP2 on 32-bit parameters, eager loss; "selective" keeps every second matrix product, the attention's output and the
/// layer's input: 0.455 of a Llama 3 layer by count.
inline MemoryStack torchtitan() {
  MemoryStack s = as_allocated();
  s.weight = 4, s.gradient = 4, s.optimizer = 8;
  s.logit = 14;
  s.selective_keeps = 0.455;
  s.keeps_gathered = true;
  s.fp8_weight_copies = 0, s.fp8_input = 2;
  return s;
}

/// Megatron-DeepSpeed before BLOOM: ZeRO 1, pipe buffers. 16-bit gradients only, dropout and the 10 GiB besides (context, communicators,
/// DeepSpeed's buckets) were chosen on the published rows themselves.
inline MemoryStack bloom() {
  MemoryStack s = as_allocated();
  s.gradient = 2;
  s.flash_attention = false;
  s.dropout = true;
  s.logit = 6;
  s.pipe_buffer = 4;
  s.extra = 10 * 1073741824.0;
  return s;
}

/// KempnerForge: FSDP2 in pure bf16, eager loss on logits of all tensor ranks.
inline MemoryStack kempner() {
  MemoryStack s = torchtitan();
  s.weight = 2, s.gradient = 2, s.optimizer = 4;
  s.logits_sharded = false;
  s.keeps_gathered = false;
  return s;
}

inline std::optional<MemoryStack> stack_of_group(const std::string& group) {
  if (group.rfind("simumax", 0) == 0) return simumax();
  if (group.rfind("torchtitan", 0) == 0) return torchtitan();
  if (group.rfind("bloom", 0) == 0) return bloom();
  if (group.rfind("kempner", 0) == 0) return kempner();
  return std::nullopt;
}

/// Lower case, letters and digits, without what stands in parentheses or follows "reduced".
inline std::string plain_name(std::string name) {
  for (const char* tail : {" reduced", " (", " 8x", " 16x", " 64x"})
    if (const auto at = name.find(tail); at != std::string::npos) name.resize(at);
  std::string out;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c))) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Shapes of models.csv by plain name.
inline std::map<std::string, Model> models_of(const std::filesystem::path& file) {
  std::map<std::string, Model> models;
  io::CsvTable table(file);
  while (table.next()) {
    const auto number = [&](const char* column) {
      const auto value = io::parse_number(table.cell(table.column(column)));
      return value ? static_cast<int>(*value) : 0;
    };
    Model m;
    m.name = table.cell(table.column("model"));
    m.layers = number("layers"), m.hidden = number("hidden"), m.heads = number("heads"), m.kv_heads = number("kv_heads");
    m.head_dim = number("head_dim"), m.vocab = number("vocab"), m.ffn = number("ffn_dense");
    m.experts = number("experts"), m.top_k = number("top_k"), m.expert_ffn = number("moe_ffn"), m.shared_experts = number("shared_experts");
    m.shared_ffn = m.shared_experts > 0 ? std::max(number("shared_ffn"), m.expert_ffn) : 0;
    m.first_dense = number("first_dense_layers");
    m.q_rank = number("q_lora_rank"), m.kv_rank = number("kv_lora_rank");
    m.rope_dim = number("qk_rope_dim"), m.nope_dim = number("qk_nope_dim"), m.value_dim = number("v_dim");
    const std::string plain = plain_name(m.name);
    m.gated = plain.rfind("gpt", 0) != 0 && plain.rfind("mpt", 0) != 0 && plain.rfind("bloom", 0) != 0 &&
              plain.find("nemotron") == std::string::npos;
    m.gated = m.gated || plain.rfind("gptoss", 0) == 0;
    models.emplace(plain, m);
  }
  return models;
}

}  // namespace fabricost::test
