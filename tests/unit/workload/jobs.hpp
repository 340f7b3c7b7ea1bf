#pragma once
/// Jobs to price: random models, machines and layouts, and processors with arithmetic to check by hand.

#include "support/random_cases.hpp"

#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/kernels/stack.hpp>
#include <fabricost/plan/model/layout.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>

#include <map>
#include <memory>
#include <string>

namespace jobs {

using namespace fabricost::plan;

/// A machine of data/, loaded once.
inline const System& machine(const std::string& name) {
  static std::map<std::string, System> loaded;
  const auto [at, fresh] = loaded.try_emplace(name);
  if (fresh) at->second = load_system(name);
  return at->second;
}
inline const Model& model(const std::string& name) {
  static std::map<std::string, Model> loaded;
  const auto [at, fresh] = loaded.try_emplace(name);
  if (fresh) at->second = load_model(name);
  return at->second;
}

/// A processor on which only matrix products and attention take time.
inline Processor plain_processor(double peak) {
  Processor gpu;
  gpu.peak16 = gpu.peak8 = gpu.peak4 = peak;
  gpu.memory_rate = 1e40;
  ComputeConstants& c = gpu.constants = fabricost::core::compute_prior;
  c.gemm = c.gemm_fp8 = c.attention = 1;
  c.gemm_start = c.misaligned = c.elementwise = c.layer_floor = c.logit_bytes = c.logit_bytes_eager = c.straggle = 0;
  return gpu;
}

struct Job {
  std::string system, model;
  Layout layout;
  Stack stack;

  [[nodiscard]] std::string text() const {
    return system + " " + model + " tp " + std::to_string(layout.tp) + " pp " + std::to_string(layout.pp) + " vp " +
           std::to_string(layout.vp) + " cp " + std::to_string(layout.cp) + " ep " + std::to_string(layout.ep) + " dp " +
           std::to_string(layout.dp) + " zero " + std::to_string(layout.zero) + " b " + std::to_string(layout.microbatch) + " batch " +
           std::to_string(layout.global_batch) + " stack " + stack.name;
  }
};

/// Job i depends on the seed and i alone.
inline Job random_job(int i) {
  support::Random random{support::seed * 7919ULL + static_cast<std::uint64_t>(i)};
  Job out;
  out.system = random.of(std::vector<std::string>{"dgx-a100", "dgx-h100", "dgx-b200", "gb200-nvl72", "aws-p5"});
  out.model = random.of(
      std::vector<std::string>{"llama3-8b", "llama3.1-405b", "gpt3-175b", "mixtral-8x7b", "deepseek-v3", "qwen3-30b-a3b", "bloom-176b"});
  const Model& m = model(out.model);
  Layout& l = out.layout;
  const auto power = [&](int max) { return 1 << random.below(max); };
  l.tp = power(4);
  l.pp = power(4);
  l.cp = power(3);
  l.dp = power(6);
  l.vp = l.pp > 1 ? power(3) : 1;
  if (m.mixture()) {
    l.ep = power(5);
    while (l.ep > m.experts || l.ep > l.tp * l.cp * l.dp) l.ep /= 2;
  }
  l.zero = random.below(4);
  l.microbatch = power(3);
  l.global_batch = l.dp * l.microbatch * (1 + random.below(32));
  l.sequence = 1024 << random.below(5);
  l.sequence_parallel = l.tp > 1 && random.one_in(2);
  l.recompute = static_cast<Recompute>(random.below(3));
  l.context = static_cast<ContextParallel>(random.below(3));
  l.precision = static_cast<Precision>(random.below(4));
  Stack& s = out.stack;
  s.attention = static_cast<AttentionKernel>(random.below(static_cast<int>(attention_kernel_names.size())));
  s.old_kernels = random.one_in(2);
  s.eager_loss = random.one_in(2);
  s.tensor_exposed = random.uniform(0, 1);
  s.data_exposed = random.uniform(0, 1);
  s.shard_exposed = random.uniform(0, 1);
  s.deduplicated = random.one_in(2);
  s.scale = random.uniform(1, 1.3);
  return out;
}

}  // namespace jobs
