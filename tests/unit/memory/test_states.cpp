// States and activations of a rank against the formulas and figures of the papers, and tensors added one by one.
#include "stacks.hpp"

#include "support/random_layouts.hpp"

#include <catch.hpp>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using namespace fabricost::plan;
using namespace fabricost::test;

TEST_CASE("bytes per parameter of ZeRO are those of its paper") {
  // Rajbhandari 2020, figure 1: 7.5e9 parameters, 64 ranks, 16-bit gradients: 120, 31.4, 16.6, 1.9 GB
  MemoryStack stack = as_allocated();
  stack.gradient = 2;
  const Model m = gpt(32, 4096, 32);
  Layout l;
  l.dp = l.global_batch = 64;
  const double count = parameters_of(m).total, printed[] = {120, 31.4, 16.6, 1.9};
  for (int zero = 0; zero < 4; ++zero) {
    l.zero = zero;
    CHECK(memory_of(m, l, stack, 0).states() / count * 7.5 == Approx(printed[zero]).margin(0.05));
  }
}

TEST_CASE("states follow the formulas of each stage of ZeRO exactly") {
  const Model m = gpt(24, 2048, 16);
  const double n = parameters_of(m).total, d = 16;
  MemoryStack stack;
  Layout l;
  l.dp = 8;
  l.cp = 2;
  l.global_batch = 8;
  const double expected[] = {(2 + 4 + 12) * n, 6 * n + 12 * n / d, 2 * n + 16 * n / d, 18 * n / d};
  for (l.zero = 0; l.zero < 4; ++l.zero) CHECK(memory_of(m, l, stack, 0).states() == Approx(expected[l.zero]).epsilon(1e-12));
  l.zero = 3;
  l.shard = 4;  // HSDP: four ranks hold one copy
  CHECK(memory_of(m, l, stack, 0).states() == Approx(18 * n / 4).epsilon(1e-12));
}

TEST_CASE("experts are sharded over their own data ranks") {
  Model m = gpt(8, 1024, 16);
  m.experts = 16;
  m.top_k = 2;
  m.expert_ffn = 2048;
  m.ffn = 0;
  Layout l;
  l.tp = 2;
  l.dp = 8;
  l.ep = 4;
  l.zero = 1;
  l.global_batch = 8;
  const MemoryStack stack;
  const ParameterCount c = parameters_of(m);
  const double experts = 8 * 16 * c.expert / 4;
  // 16 ranks of the stage, 4 of them hold an expert group: 4 replicas
  CHECK(expert_shard_ranks(l) == 4);
  const double rest = 8 * c.attention / 2 + 8 * (c.norms + c.router) + 1024 + (c.embedding + c.head) / 2;
  CHECK(memory_of(m, l, stack, 0).optimizer == Approx(12 * (experts / 4 + rest / 8)).epsilon(1e-12));
  l.expert_tp = 2;
  CHECK(expert_shard_ranks(l) == 2);
  CHECK(memory_of(m, l, stack, 0).optimizer == Approx(12 * (experts / 2 / 2 + rest / 8)).epsilon(1e-12));
}

TEST_CASE("experts that one rank alone has are not gathered, and their gradients not reduced") {
  Model m = gpt(8, 1024, 16);
  m.experts = 16;
  m.top_k = 2;
  m.ffn = 0;
  Layout l;
  l.dp = l.ep = 8;
  l.zero = 3;
  l.global_batch = 8;
  const auto buffers = [&](int width) {
    m.expert_ffn = width;
    return memory_of(m, l, MemoryStack{}, 0).buffers;
  };
  CHECK(expert_shard_ranks(l) == 1);
  CHECK(buffers(4096) == buffers(2048));
  l.ep = 4;
  CHECK(buffers(4096) > buffers(2048));
}

TEST_CASE("low precision keeps copies of the weights with their scales") {
  const Model m = gpt(8, 1024, 16);
  MemoryStack stack;
  Layout l;
  const double base = memory_of(m, l, stack, 0).weights, matrices = 8 * (parameters_of(m).attention + parameters_of(m).dense_ffn);
  l.precision = Precision::fp8;
  const double norms = 8 * parameters_of(m).norms + 1024;
  CHECK(memory_of(m, l, stack, 0).weights - base == Approx(2 * (matrices + norms)).epsilon(1e-3));
  l.precision = Precision::fp4;
  CHECK(memory_of(m, l, stack, 0).weights - base == Approx(2 * (9.0 / 16) * (matrices + norms)).epsilon(1e-3));
  l.precision = Precision::fp8;
  CHECK(memory_of(m, l, stack, 0).activations < memory_of(m, Layout{}, stack, 0).activations);
}

TEST_CASE("fp8 parameters are the layers' only weights, and no others") {
  const Model m = gpt(8, 1024, 16);
  MemoryStack stack;
  Layout l;
  l.precision = Precision::fp8;
  l.tp = 2;
  const double both = memory_of(m, l, stack, 0).weights;
  stack.fp8_parameters = true;
  const ParameterCount c = parameters_of(m);
  const double layers = 8 * ((c.attention + c.dense_ffn) / 2 + c.norms) + 1024;
  CHECK(both - memory_of(m, l, stack, 0).weights == Approx(2 * layers).epsilon(1e-12));  // the 16-bit ones
  CHECK(memory_of(m, l, stack, 0).weights == Approx(2 * layers + 2 * (c.embedding + c.head) / 2).epsilon(1e-12));
  for (const Precision other : {Precision::bf16, Precision::fp4}) {  // no parameters in fp8 there
    l.precision = other;
    stack.fp8_parameters = false;
    const double without = memory_of(m, l, stack, 0).weights;
    stack.fp8_parameters = true;
    CHECK(memory_of(m, l, stack, 0).weights == without);
  }
}

TEST_CASE("a master kept as the remainder of a 16-bit weight takes two bytes less, where the weight is in 16 bit") {
  const Model m = gpt(8, 1024, 16);
  MemoryStack stack;
  stack.fp8_parameters = true;
  Layout l;
  l.dp = 8;
  l.global_batch = 8;
  l.zero = 1;
  const auto saved = [&] {
    stack.master_remainders = false;
    const double whole = memory_of(m, l, stack, 0).optimizer;
    stack.master_remainders = true;
    return whole - memory_of(m, l, stack, 0).optimizer;
  };
  const ParameterCount c = parameters_of(m);
  CHECK(saved() == Approx(2 * c.total / 8).epsilon(1e-12));
  l.precision = Precision::fp8;
  CHECK(saved() == Approx(2 * (c.embedding + c.head) / 8).epsilon(1e-12));
}

namespace {

/// The oracle: every tensor a layer saves, with its own shape on one rank, for T tokens; no formula of the library is used.
struct Saved {
  std::string what;
  double rows, columns, bytes;
  [[nodiscard]] double size() const { return rows * columns * bytes; }
};

std::vector<Saved> attention_tensors(const Model& m, const Layout& l, const MemoryStack& s, double tokens, double in) {
  const double local = l.sequence_parallel ? tokens / l.tp : tokens, gathered = s.keeps_gathered ? tokens : local;
  const double heads = double(m.heads) / l.tp;
  std::vector<Saved> out{{"input of the norm", local, double(m.hidden), 2}, {"input of q, k, v", gathered, double(m.hidden), in}};
  if (m.latent()) {
    const double width = m.nope_dim + m.rope_dim;
    if (m.q_rank > 0) {
      out.push_back({"query latent, before its norm", tokens, double(m.q_rank), 2});
      out.push_back({"query latent, after", tokens, double(m.q_rank), in});
    }
    out.push_back({"key/value latent, before its norm", tokens, double(m.kv_rank), 2});
    out.push_back({"key/value latent, after", tokens, double(m.kv_rank), in});
    out.push_back({"rotary key", tokens, double(m.rope_dim), 2});
    out.push_back({"q", tokens, heads * width, 2});
    out.push_back({"k", tokens, heads * width, 2});
    out.push_back({"v", tokens, heads * m.value_dim, 2});
    out.push_back({"attention's output", tokens, heads * m.value_dim, in});
  } else {
    int groups = m.kv_heads / l.tp;
    if (groups * l.tp < m.kv_heads) ++groups;
    out.push_back({"q", tokens, heads * m.head_dim, 2});
    out.push_back({"k", tokens, double(groups) * m.head_dim, 2});
    out.push_back({"v", tokens, double(groups) * m.head_dim, 2});
    out.push_back({"attention's output", tokens, heads * m.head_dim, in});
  }
  if (s.flash_attention) {
    out.push_back({"log of the row sums", tokens, heads, 4});
  } else {
    out.push_back({"softmax", tokens * heads, double(l.sequence), 2});
    if (s.dropout) out.push_back({"mask on the scores", tokens * heads, double(l.sequence), 1});
    if (s.dropout) out.push_back({"scores after it", tokens * heads, double(l.sequence), 2});
  }
  if (s.dropout) out.push_back({"mask after attention", local, double(m.hidden), 1});
  return out;
}

void add_mlp(std::vector<Saved>& out, const Model& m, double rows, double width, double in) {
  if (m.gated) out.push_back({"gate", rows, width, 2});
  out.push_back({"up", rows, width, 2});
  out.push_back({"input of down", rows, width, in});
}

std::vector<Saved> ffn_tensors(const Model& m, const Layout& l, const MemoryStack& s, double tokens, double in, bool experts) {
  const double local = l.sequence_parallel ? tokens / l.tp : tokens, gathered = s.keeps_gathered ? tokens : local;
  std::vector<Saved> out{{"input of the norm", local, double(m.hidden), 2}, {"input of up", gathered, double(m.hidden), in}};
  if (s.dropout) out.push_back({"mask after feed-forward", local, double(m.hidden), 1});
  if (!experts) {
    add_mlp(out, m, tokens, double(m.ffn) / l.tp, in);
    return out;
  }
  const double arriving = tokens / l.tp * m.top_k * l.expert_tp;  // at one rank of an expert's tensor group
  out.push_back({"routed tokens", arriving, double(m.hidden), in});
  add_mlp(out, m, arriving, double(m.expert_ffn) / l.expert_tp, in);
  for (int i = 0; i < m.shared_experts; ++i) add_mlp(out, m, tokens, double(m.shared_ffn) / l.tp, in);
  return out;
}

double sum(const std::vector<Saved>& tensors) {
  double total = 0;
  for (const Saved& t : tensors) total += t.size();
  return total;
}

}  // namespace

TEST_CASE("what a layer saves is the sum of its tensors, added one by one") {
  RandomJobs jobs(3);
  for (int i = 0; i < 3000; ++i) {
    const Model m = jobs.model();
    const Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    INFO("seed " << jobs.seed << " case " << i << told(m, l));
    const double tokens = double(l.microbatch) * l.sequence / l.cp, in = l.precision == Precision::fp8 ? 1 : 2;
    const LayerActivations a = layer_activations(m, l, s);
    const double attention = sum(attention_tensors(m, l, s, tokens, in));
    CHECK(tokens * a.dense_layer() == Approx(attention + sum(ffn_tensors(m, l, s, tokens, in, false))).epsilon(1e-12));
    if (m.mixture()) CHECK(tokens * a.expert_layer() == Approx(attention + sum(ffn_tensors(m, l, s, tokens, in, true))).epsilon(1e-12));
  }
}

TEST_CASE("logits and a layer's stored input are counted once per microbatch that is open") {
  const Model m = gpt(8, 1024, 16, 32000);
  Layout l;
  l.pp = 4;
  l.global_batch = 16;
  l.sequence = 2048;
  l.recompute = Recompute::full;
  l.schedule = PipelineSchedule::one_f_one_b;
  const MemoryStack stack;
  CHECK(memory_of(m, l, stack, 0).activations == Approx(4.0 * 2 * 2048 * 2 * 1024));
  CHECK(memory_of(m, l, stack, 3).activations == Approx(1.0 * 2 * 2048 * 2 * 1024));
  const double head = 2048.0 * (4 * 1024 + 4.0 * 32000);
  CHECK(memory_of(m, l, stack, 3).vocabulary == Approx(head));
  CHECK(memory_of(m, l, stack, 0).vocabulary == 0);
  l.schedule = PipelineSchedule::gpipe;
  CHECK(memory_of(m, l, stack, 3).vocabulary == Approx(16 * head));
  CHECK(memory_of(m, l, stack, 3).activations == Approx(16.0 * 2 * 2048 * 2 * 1024));
}

TEST_CASE("context ranks divide activations and not weights") {
  RandomJobs jobs(4);
  const Model m = jobs.model();
  Layout one, four;
  one.sequence = four.sequence = 8192;
  four.cp = 4;
  MemoryStack stack;
  CHECK(memory_of(m, four, stack, 0).activations == Approx(memory_of(m, one, stack, 0).activations / 4));
  CHECK(memory_of(m, four, stack, 0).weights == memory_of(m, one, stack, 0).weights);
}

TEST_CASE("selective recomputation does not keep what latents unfold to, whose products it repeats") {
  Model m;
  m.layers = 4;
  m.hidden = 2048;
  m.heads = m.kv_heads = 16;
  m.head_dim = 128;
  m.vocab = 32000;
  m.ffn = 8192;
  m.q_rank = 768;
  m.kv_rank = 512;
  m.rope_dim = 64;
  m.nope_dim = 128;
  m.value_dim = 128;
  Layout l;
  l.tp = 2;
  const MemoryStack stack;
  const double none = memory_of(m, l, stack, 0).activations;
  l.recompute = Recompute::selective;
  const MemoryUse use = memory_of(m, l, stack, 0);
  const double q_k_v = l.tokens() * 16 / 2 * 2 * (192 + 192 + 128);  // of one layer, 16 bit
  CHECK(none - use.activations == Approx(4 * q_k_v).epsilon(1e-12));
  CHECK(use.recompute == Approx(q_k_v).epsilon(1e-12));
  MemoryStack drops_more;
  drops_more.selective_keeps = 0.1;
  CHECK(memory_of(m, l, drops_more, 0).activations == Approx(0.1 * none).epsilon(1e-12));
}

namespace {

struct Case {
  Model model;
  Layout layout;
};

/// The models of Korthikanti 2022, table 3: t = 8, sequences of 2048.
Case korthikanti(int layers, int hidden, int heads, int pp, int vp, int microbatch) {
  Case c{gpt(layers, hidden, heads), {}};
  c.layout.tp = 8;
  c.layout.pp = pp;
  c.layout.vp = vp;
  c.layout.microbatch = microbatch;
  c.layout.sequence = 2048;
  c.layout.global_batch = microbatch * pp * 8;
  c.layout.schedule = pp == 1 ? PipelineSchedule::none : vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
  return c;
}

double activations_gib(Case c, bool sequence_parallel, Recompute recompute) {
  c.layout.sequence_parallel = sequence_parallel;
  c.layout.recompute = recompute;
  return memory_of(c.model, c.layout, megatron_2022(), 0).activations / 1073741824.0;
}

/// States as the paper draws them: 18 bytes for the matrices of the layers, spread evenly, embeddings and norms left out.
double states_gib(const Case& c) {
  const ParameterCount n = parameters_of(c.model);
  return 18 * c.model.layers * (n.attention + n.dense_ffn) / (c.layout.tp * c.layout.pp) / 1073741824.0;
}

}  // namespace

TEST_CASE("activations of the first stage and states are those of Korthikanti 2022 to all digits") {
  const Case m22 = korthikanti(48, 6144, 64, 1, 1, 4), m175 = korthikanti(96, 12288, 96, 8, 3, 1),
             m530 = korthikanti(105, 20480, 128, 35, 3, 1), m1t = korthikanti(128, 25600, 160, 64, 1, 1);
  CHECK(activations_gib(m22, false, Recompute::none) == Approx(59.25).epsilon(1e-14));
  CHECK(activations_gib(m22, true, Recompute::selective) == Approx(9.5625).epsilon(1e-14));
  CHECK(activations_gib(m175, false, Recompute::none) == Approx(66.84375).epsilon(1e-14));
  CHECK(activations_gib(m175, true, Recompute::selective) == Approx(12.3515625).epsilon(1e-14));
  CHECK(activations_gib(m530, false, Recompute::none) == Approx(114.0234375).epsilon(1e-14));
  CHECK(activations_gib(m530, true, Recompute::selective) == Approx(23.076171875).epsilon(1e-14));
  CHECK(activations_gib(m1t, false, Recompute::none) == Approx(131.25).epsilon(1e-14));
  CHECK(activations_gib(m1t, true, Recompute::selective) == Approx(26.5625).epsilon(1e-14));
  CHECK(states_gib(m22) == Approx(45.5625).epsilon(1e-14));
  CHECK(states_gib(m175) == Approx(45.5625).epsilon(1e-14));
  CHECK(states_gib(m530) == Approx(31.640625).epsilon(1e-14));
  CHECK(states_gib(m1t) == Approx(32.958984375).epsilon(1e-14));
}

TEST_CASE("the bytes of a layer are the paper's formulas") {
  const Case c = korthikanti(48, 6144, 64, 1, 1, 4);
  const double s = 2048, b = 4, h = 6144, a = 64, t = 8, l = 48, gib = 1073741824.0;
  CHECK(activations_gib(c, false, Recompute::none) * gib == Approx(l * s * b * h * (10 + 24 / t + 5 * a * s / (h * t))).epsilon(1e-14));
  CHECK(activations_gib(c, true, Recompute::none) * gib == Approx(l * s * b * h / t * (34 + 5 * a * s / h)).epsilon(1e-14));
  CHECK(activations_gib(c, false, Recompute::selective) * gib == Approx(l * s * b * h * (10 + 24 / t)).epsilon(1e-14));
  CHECK(activations_gib(c, true, Recompute::selective) * gib == Approx(l * 34 * s * b * h / t).epsilon(1e-14));
  CHECK(activations_gib(c, false, Recompute::full) * gib == Approx(l * 2 * s * b * h).epsilon(1e-14));
  // input and output, section 4.3: masks s b h p / t, and 4 s b h / t (1 + V / h) where the head is on the same stage
  Case shared = c;
  shared.layout.sequence_parallel = true;
  CHECK(memory_of(shared.model, shared.layout, megatron_2022(), 0).vocabulary ==
        Approx(s * b * h / t + 4 * s * b * h / t * (1 + 51200 / h)).epsilon(1e-14));
}
