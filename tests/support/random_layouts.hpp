#pragma once
/// Random models and realistic layouts: every group divides what it must. The seed is printed with a failure.

#include <fabricost/plan/memory/advice.hpp>

#include <random>

namespace fabricost::test {

using namespace observe;

/// Allowed difference of sums in another order.
inline constexpr double rounding = 1 + 1e-12;

class RandomJobs {
 public:
  explicit RandomJobs(unsigned start) : seed(start), engine_(start) {}

  unsigned seed;

  int pick(std::initializer_list<int> values) { return *(values.begin() + static_cast<long>(engine_() % values.size())); }
  int between(int low, int high) { return low + static_cast<int>(engine_() % static_cast<unsigned>(high - low + 1)); }
  bool flip() { return engine_() % 2 == 0; }

  Model model() {
    Model m;
    m.name = "random";
    m.layers = between(2, 130);
    m.heads = pick({16, 32, 64, 96, 128});
    m.head_dim = pick({64, 128});
    m.hidden = m.heads * pick({64, 96, 128});
    m.kv_heads = pick({1, 2, 8, m.heads});
    if (m.heads % m.kv_heads != 0) m.kv_heads = m.heads;
    m.vocab = pick({32000, 51200, 128256, 250000});
    m.ffn = m.hidden * pick({2, 3, 4});
    m.gated = flip();
    m.biases = flip();
    if (flip()) {
      m.experts = pick({8, 16, 64, 256});
      m.top_k = pick({1, 2, 8});
      m.expert_ffn = pick({512, 2048, 7168});
      m.shared_experts = pick({0, 1, 2});
      m.shared_ffn = m.shared_experts > 0 ? m.expert_ffn : 0;
      m.first_dense = std::min(m.layers, pick({0, 0, 1, 3, 7}));
      m.expert_every = pick({1, 1, 2, 3});
    }
    if (flip()) {
      m.q_rank = pick({0, 1536});
      m.kv_rank = 512;
      m.rope_dim = 64;
      m.nope_dim = 128;
      m.value_dim = 128;
    }
    return m;
  }

  /// A layout that is possible for the model, with interleaving if it is allowed.
  Layout layout(const Model& m) {
    for (;;) {
      Layout l;
      l.tp = pick({1, 2, 4, 8});
      l.pp = pick({1, 2, 3, 4, 8, 16});
      l.vp = l.pp > 1 ? pick({1, 1, 2, 4}) : 1;
      l.cp = pick({1, 1, 2});
      l.dp = pick({1, 2, 4, 16});
      l.ep = m.mixture() ? pick({1, 2, 8}) : 1;
      l.expert_tp = m.mixture() ? pick({1, 1, 2}) : 1;
      l.zero = between(0, 3);
      l.microbatch = pick({1, 2, 4});
      l.global_batch = l.dp * l.microbatch * l.pp * pick({1, 2, 8});
      l.sequence = pick({2048, 4096, 8192});
      l.sequence_parallel = l.tp > 1 && flip();
      l.recompute = static_cast<Recompute>(between(0, 2));
      l.precision = flip() ? Precision::bf16 : Precision::fp8;
      l.schedule = l.pp == 1 ? PipelineSchedule::none : l.vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
      if (is_possible(m, l)) return l;
    }
  }

  /// Gives a layout any schedule but the interleaved, without chunks. \returns whether that is possible for the model
  bool reschedule(const Model& m, Layout& l) {
    l.vp = 1;
    l.schedule = static_cast<PipelineSchedule>(between(1, 12));
    if (l.schedule == PipelineSchedule::interleaved) l.schedule = PipelineSchedule::one_f_one_b;
    return is_possible(m, l);
  }

  MemoryStack stack() {
    MemoryStack s;
    s.flash_attention = flip();
    s.dropout = flip();
    s.selective_keeps = flip() ? 1 : 0.455;
    s.keeps_gathered = flip();
    s.weight_gradient = flip() ? 4 : 0;
    s.fp8_parameters = flip();
    s.master_remainders = flip();
    return s;
  }

 private:
  std::mt19937 engine_;
};

inline std::string told(const Model& m, const Layout& l) {
  const auto n = [](const char* name, int value) { return std::string(" ") + name + " " + std::to_string(value); };
  return n("layers", m.layers) + n("hidden", m.hidden) + n("experts", m.experts) + n("first_dense", m.first_dense) +
         n("every", m.expert_every) + n("tp", l.tp) + n("pp", l.pp) + n("vp", l.vp) + n("cp", l.cp) + n("ep", l.ep) +
         n("expert_tp", l.expert_tp) + n("dp", l.dp) + n("zero", l.zero) + n("microbatch", l.microbatch) + n("batch", l.global_batch) +
         n("sequence", l.sequence) + n("recompute", static_cast<int>(l.recompute)) + n("sp", l.sequence_parallel);
}

}  // namespace fabricost::test
