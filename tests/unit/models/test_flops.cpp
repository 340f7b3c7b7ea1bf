// FLOPs in the published conventions against published figures, and the cache of keys and values.
#include "catch.hpp"

#include "support/message_of.hpp"

#include <fabricost/plan/model/flops.hpp>
#include <fabricost/plan/specs/load_model.hpp>

using namespace fabricost::plan;

namespace {

double flops(const char* name, double sequence, FlopConvention convention, Scores scores = Scores::full) {
  return training_flops(load_model(name), sequence, convention, scores);
}
double per_token(const char* name, double sequence, FlopConvention convention, Scores scores) {
  return training_flops_per_token(load_model(name), sequence, convention, scores);
}

}  // namespace

TEST_CASE("the convention of NVIDIA's recipes gives their printed figures", "[models][flops]") {
  CHECK(flops("nemotron4-15b", 4096, FlopConvention::dgx_cloud) == Approx(3.85e14).epsilon(1e-4));
  CHECK(flops("nemotron4-340b", 4096, FlopConvention::dgx_cloud) == Approx(8.62124e15).epsilon(1e-6));
  CHECK(flops("llama3.1-405b", 8192, FlopConvention::dgx_cloud) == Approx(2.151e16).epsilon(1e-3));
  CHECK(flops("grok-1", 8192, FlopConvention::dgx_cloud, Scores::causal) == Approx(4.27e15).epsilon(2e-3));
  CHECK(flops("grok-1", 8192, FlopConvention::dgx_cloud) == Approx(4.43e15).epsilon(2e-3));
}

TEST_CASE("DeepSeek's GFLOP per token are matrices touched and the causal half of the scores", "[models][flops]") {
  // ISCA 2025 prints 250 and 155 at 4,096 tokens
  CHECK(per_token("deepseek-v3", 4096, FlopConvention::matmul, Scores::causal) / 1e9 == Approx(250.4).margin(0.06));
  CHECK(per_token("deepseek-v2", 4096, FlopConvention::matmul, Scores::causal) / 1e9 == Approx(155.3).margin(0.06));
  CHECK(per_token("llama3.1-405b", 4096, FlopConvention::matmul, Scores::causal) / 1e9 == Approx(2448).epsilon(0.02));
}

TEST_CASE("DeepSeek-V3's step is 39.0 % of its GPUs' peak", "[models][flops]") {
  // 15,360 sequences of 4,096 tokens in 19.926 s on 2,048 H800 of 989.5 TFLOP/s; printed 38.94 %, causal
  const double work = 15360 * flops("deepseek-v3", 4096, FlopConvention::matmul, Scores::causal);
  CHECK(work / (19.926 * 2048 * 989.5e12) == Approx(0.3894).margin(0.002));
}

TEST_CASE("Megatron's two forms differ by a forward of the layers and count the logits alike", "[models][flops]") {
  const Model m = load_model("gpt3-175b");
  const double s = 2048, l = m.layers, h = m.hidden, vocab = m.vocab;
  const double once = training_flops(m, s, FlopConvention::megatron), again = training_flops(m, s, FlopConvention::megatron_recompute);
  CHECK(again - once == Approx(24 * s * l * h * h * (1 + s / (6 * h))));
  // what is counted matrix by matrix, for two plain matrices of width 4 h and full attention heads
  CHECK(once == Approx(training_flops(m, s, FlopConvention::matmul)).epsilon(1e-3));
  CHECK(again == Approx(96 * s * l * h * h * (1 + s / (6 * h) + vocab / (16 * l * h))));
  CHECK(6 * s * h * vocab == Approx(once - 72 * s * l * h * h * (1 + s / (6 * h))));
}

TEST_CASE("PaLM's count is Kaplan's and 12 l a d s more", "[models][flops]") {
  const Model m = load_model("palm-540b");
  const double more = training_flops(m, 2048, FlopConvention::palm) - training_flops(m, 2048, FlopConvention::kaplan);
  CHECK(more == Approx(12.0 * 118 * 48 * 256 * 2048 * 2048));
  CHECK(training_flops(m, 2048, FlopConvention::kaplan) == Approx(6 * 540.35e9 * 2048).epsilon(1e-3));
}

TEST_CASE("MosaicML's hardware count is four thirds of its model count", "[models][flops]") {
  const Model m = load_model("mpt-7b");
  const double model = training_flops_per_token(m, 2048, FlopConvention::mosaic);
  CHECK(model == Approx(6 * parameters_of(m).active + 12.0 * 32 * 4096 * 2048));
  CHECK(training_flops_per_token(m, 2048, FlopConvention::mosaic_recompute) == Approx(model * 4 / 3));
}

TEST_CASE("a forward pass is a third of training, and the sum of its tokens one by one", "[models][flops]") {
  for (const std::string& name : model_names()) {
    const Model m = load_model(name);
    INFO(name);
    CHECK(3 * forward_flops(m, 4096) == Approx(training_flops(m, 4096, FlopConvention::matmul, Scores::causal)));
    CHECK(forward_flops(m, 4096, Scores::full) >= forward_flops(m, 4096));
    if (m.latent() || !m.causal()) continue;  // decoded in its folded form; not decoded
    const int s = 300;
    double tokens = 0;
    for (int i = 0; i < s; ++i) tokens += decode_flops(m, i + 0.5);
    CHECK(tokens == Approx(forward_flops(m, s)).epsilon(1e-6));
  }
}

TEST_CASE("folded latent attention trades more operations for a smaller cache", "[models][flops]") {
  const Model m = load_model("deepseek-v3");
  const double unfolded = 2 * parameters_of(m).multiplied + 61 * 2.0 * 128 * (192 + 128) * 1000;
  CHECK(decode_flops(m, 1000) - unfolded == Approx(61 * 2.0 * 128 * ((2 * 512 + 64) - (192 + 128)) * 1000));
}

TEST_CASE("a cached token takes the published bytes", "[models][cache]") {
  CHECK(kv_bytes_per_token(load_model("deepseek-v3"), 2) == 70272);
  CHECK(kv_bytes_per_token(load_model("qwen2.5-72b"), 2) == 327680);
  CHECK(kv_bytes_per_token(load_model("llama3-70b"), 2) == 327680);
  CHECK(kv_bytes_per_token(load_model("llama3-405b"), 2) == 516096);
  CHECK(kv_bytes_per_token(load_model("Qwen3-8B"), 2) == 147456);
  CHECK(kv_bytes(load_model("qwen3-8b"), 32768, 2) == 4.5 * (1ll << 30));
  CHECK(load_model("llama3-70b").kv_width() * 2 == 4096);
  CHECK(load_model("deepseek-v3").kv_width() * 2 == 1152);
}

TEST_CASE("windows stop growing and states never grow", "[models][cache]") {
  const Model gpt = load_model("gpt-oss-120b");
  CHECK(kv_bytes(gpt, 128, 2) == kv_bytes_per_token(gpt, 2) * 128);
  CHECK(kv_bytes(gpt, 8192, 2) - kv_bytes(gpt, 4096, 2) == Approx(18 * 2.0 * 8 * 64 * 2 * 4096));
  const Model qwen = load_model("qwen3.5-27b");
  CHECK(kv_bytes(qwen, 2000, 2) - kv_bytes(qwen, 1000, 2) == Approx(16 * 2.0 * 4 * 256 * 2 * 1000));
  CHECK(kv_bytes(qwen, 0, 2) > 48 * 6144.0 * 128 * 4);
  const Model gemma = load_model("gemma-4-31b");  // keys that serve as values are kept once
  CHECK(kv_bytes(gemma, 4096, 2) - kv_bytes(gemma, 2048, 2) == Approx(10 * 4.0 * 512 * 2 * 2048));
}

TEST_CASE("a sequence twice as long is at least twice the work and the cache no more than twice", "[models][flops][cache]") {
  std::mt19937 random(7);  // NOLINT: the same cases every time
  std::uniform_int_distribution<int> lengths(1, 100000);
  for (const std::string& name : model_names()) {
    const Model m = load_model(name);
    const double s = lengths(random);
    if (!m.causal()) continue;  // a text beside the sequence does not grow with it
    INFO(name << " at " << s);
    CHECK(forward_flops(m, 2 * s) >= 2 * forward_flops(m, s) * (1 - 1e-12));
    CHECK(kv_bytes(m, 2 * s, 2) <= 2 * kv_bytes(m, s, 2) * (1 + 1e-12));
    CHECK(kv_bytes(m, 2 * s, 2) >= kv_bytes(m, s, 2));
  }
}
