#include "support/random_layouts.hpp"

#include <catch.hpp>

#include <string>
#include <vector>

using namespace fabricost::plan;
using namespace fabricost::test;

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
    const double tokens = double(l.microbatch) * l.sequence / l.cp, in = l.precision == Precision::fp8 ? 1 + 1.0 / 32 : 2;
    const LayerActivations a = layer_activations(m, l, s);
    const double attention = sum(attention_tensors(m, l, s, tokens, in));
    CHECK(tokens * a.dense_layer() == Approx(attention + sum(ffn_tensors(m, l, s, tokens, in, false))).epsilon(1e-12));
    if (m.mixture()) CHECK(tokens * a.expert_layer() == Approx(attention + sum(ffn_tensors(m, l, s, tokens, in, true))).epsilon(1e-12));
  }
}

TEST_CASE("logits and a layer's stored input are counted once per microbatch that is open") {
  Model m;
  m.layers = 8;
  m.hidden = 1024;
  m.heads = m.kv_heads = 16;
  m.head_dim = 64;
  m.vocab = 32000;
  m.ffn = 4096;
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
