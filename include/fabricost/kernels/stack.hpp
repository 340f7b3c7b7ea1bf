#pragma once
/// \file stack.hpp
/// The software a job runs on, as far as it changes times: which kernels, what is fused, what communication hides behind work.
/// Named stacks live in data/stacks; `scale` is the one number a user calibrates for a stack of their own.

#include <fabricost/experts/routing.hpp>
#include <fabricost/hardware/kinds.hpp>
#include <fabricost/kernels/interval.hpp>
#include <fabricost/memory/stack.hpp>
#include <fabricost/model/layout.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost {

/// Attention kernels: the generation's own fused one, an older fused one, or scores written to memory.
enum class AttentionKernel : unsigned char { fused, fused_old, unfused };
inline constexpr std::array<std::string_view, 3> attention_kernel_names{"fused", "fused_old", "unfused"};

/// The stack that is meant where none is named.
inline constexpr const char* default_stack = "megatron-core";

struct Stack {
  std::string name = default_stack;
  std::string title{};
  AttentionKernel attention = AttentionKernel::fused;
  bool old_kernels = false;   ///< element-wise kernels and launches of stacks before fused attention
  bool eager_loss = false;    ///< cross entropy in separate kernels
  double tensor_exposed = 1;  ///< share of tensor-parallel communication that does not hide behind matrix products
  double data_exposed = 1;    ///< share of the gradient exchange that would fit behind the last backward and does not hide
  double context_exposed =
      prior::stack::context_exposed;  ///< share of ring exchange of keys and values that does not hide behind attention
  double expert_exposed = 1;          ///< share of the token exchange that does not hide
  double gradient_bytes = 4;          ///< per parameter, in the exchange of gradients
  double accumulation_bytes = 4;      ///< memory traffic per local parameter and microbatch to add gradients up
  double shard_exposed =
      prior::stack::shard_exposed;       ///< of the weights' gathering per microbatch (ZeRO-3, FSDP), what does not hide behind the work
  double compute_share = 1;              ///< of the GPU's processors, those left to kernels while others drive the exchange behind them
  bool deduplicated = false;             ///< expert exchange sends a token once per node (DeepEP), not once per expert
  double scale = 1;                      ///< factor on the whole step
  double spread = prior::stack::spread;  ///< standard deviation, in log, of what the form leaves of this stack's steps
  RoutingKind routing = RoutingKind::balanced;  ///< how tokens choose experts: balanced, as benchmarks force it; zipf; uniform
  double zipf_exponent = 1;                     ///< of zipf
  double capacity = 0;                          ///< rows kept for an expert over the mean, padded and dropped to that; 0: as many as come
  MemoryStack memory{};                         ///< what it keeps in memory
  std::vector<PipelineSchedule> schedules{PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved};  ///< it can run
  std::vector<Generation> seen{};  ///< GPU generations its steps were fitted on

  [[nodiscard]] bool saw(Generation g) const { return std::find(seen.begin(), seen.end(), g) != seen.end(); }
};

/// Standard deviation, in log, of a step. A stack nobody measured on this generation and fp4, whose share of its peak is assumed, add
/// theirs (data/priors/stack.yaml).
/// \param assumed nobody measured what kernels reach on this generation
[[nodiscard]] inline double spread_of(const Stack& stack, Generation generation, Precision precision, bool assumed = false) {
  double variance = stack.spread * stack.spread;
  if (assumed) variance += assumed_kernels_spread * assumed_kernels_spread;
  if (!stack.saw(generation)) variance += prior::stack::unseen_spread * prior::stack::unseen_spread;
  if (precision == Precision::fp4) variance += prior::stack::fp4_spread * prior::stack::fp4_spread;
  return std::sqrt(variance);
}

}  // namespace fabricost
