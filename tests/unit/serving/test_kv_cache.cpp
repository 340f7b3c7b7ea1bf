/// Bytes of the cache against published ones, the parts that are divided, and transfers against a published benchmark.

#include "support/message_of.hpp"
#include "rig.hpp"

#include <fabricost/plan/serving/plan.hpp>

#include <catch.hpp>

using namespace fabricost::plan;
using namespace fabricost::test;

TEST_CASE("the cache of a token has the published bytes") {
  // DeepSeek ISCA 2025 (arXiv 2505.09343), table 1, in 16 bit
  CHECK(kv_bytes_per_rank(load_model("deepseek-v3"), 1, 2) == 70272);
  CHECK(kv_bytes_per_rank(load_model("qwen2.5-72b"), 1, 2) == 327680);
  CHECK(kv_bytes_per_rank(load_model("llama3-405b"), 1, 2) == 516096);
  // half of it in fp8
  CHECK(kv_bytes_per_rank(load_model("llama3-405b"), 1, 1) == 258048);
}

TEST_CASE("tensor ranks divide heads, not a latent, and never more than there are heads") {
  const Model grouped = load_model("llama3-70b"), latent = load_model("deepseek-v3");
  const double all = kv_bytes_per_rank(grouped, 1000, 2);
  CHECK(kv_bytes_per_rank(grouped, 1000, 2, 4) == Approx(all / 4));
  CHECK(kv_bytes_per_rank(grouped, 1000, 2, 8) == Approx(all / 8));
  CHECK(kv_bytes_per_rank(grouped, 1000, 2, 16) == Approx(all / 8));
  CHECK(kv_bytes_per_rank(latent, 1000, 2, 8) == Approx(kv_bytes_per_rank(latent, 1000, 2)));
  CHECK(kv_bytes_per_rank(grouped, 1000, 2, 1, 4) == Approx(all / 4));
}

TEST_CASE("a window bounds the cache, a state does not grow") {
  const Model windowed = load_model("gpt-oss-120b");
  const double near = kv_bytes_per_rank(windowed, 64, 2), far = kv_bytes_per_rank(windowed, 64000, 2);
  CHECK(far < 600 * near);  // half of the layers stop at 128 tokens: below the factor of 1000
  CHECK(far > 400 * near);
  const Model hybrid = load_model("qwen3.5-397b-a17b");
  const double start = kv_bytes_per_rank(hybrid, 0, 2, 8);
  CHECK(start > 0);
  CHECK(start == Approx(kv_bytes_per_rank(hybrid, 0, 2) / 8));
}

TEST_CASE("transfers between nodes are within 7 % of Mooncake's printed ones") {
  // kvcache-ai/Mooncake, vLLM with prefill and decode apart: Qwen3-8B, tp 8, 8 x 400 Gbit/s
  const System system = load_system("deepseek-v3-h800");
  const KvLink link = kv_link(system, 8, false);
  CHECK(link.rate == Approx(146e9).epsilon(0.001));
  const Model model = load_model("qwen3-8b");
  for (const auto& [tokens, ms] : {std::pair{128, 0.54}, {256, 0.61}, {1024, 1.5}, {2048, 2.51}, {8192, 8.84}, {16384, 16.43}})
    CHECK(1e3 * link.seconds(kv_bytes(model, tokens, 2)) == Approx(ms).epsilon(0.07));
}

TEST_CASE("a transfer inside a domain is quicker, layer by layer only the last is waited for, or what the link has not sent") {
  const System system = load_system("gb200-nvl72");
  const double bytes = kv_bytes(load_model("deepseek-v3"), 8192, 1);
  const KvLink near = kv_link(system, 8, true), far = kv_link(system, 8, false);
  CHECK(near.seconds(bytes) < far.seconds(bytes));
  const double all = far.seconds(bytes) - far.start;
  CHECK(far.seconds(bytes, 61, 10 * all) - far.start == Approx(all / 61));
  CHECK(far.seconds(bytes, 61, all / 2) - far.start == Approx(all - all / 2 * 60 / 61));  // a prompt read sooner than its cache is sent
  CHECK(far.seconds(bytes, 1, 10 * all) - far.start == Approx(all));
  CHECK(kv_link(system, 16, false).rate == Approx(2 * far.rate));
}

TEST_CASE("a request's cache arrives no faster than the links of the GPUs that hold it") {
  for (const char* name : {"dgx-h200", "gb200-nvl72"}) {
    const System system = load_system(name);
    ServingQuestion q;
    q.model = load_model("deepseek-v3");
    q.format = {WeightFormat::fp8, 2};
    q.gpus = 32;
    q.disaggregated = true;
    q.isl = 4096;
    q.osl = 128;
    q.top = 50;
    q.tp = 1;
    q.attention_dp = 8;
    const bool inside = q.gpus <= system.domain;
    const double link = system.tier(inside ? TierRole::scale_up : TierRole::nic)->bandwidth.value.value();
    int divided = 0;
    for (const PricedServing& p : plan_serving(system, q).layouts) {
      const int holders = std::min(p.prefill.tp * p.prefill.pp, p.engine.tp * p.engine.pp);
      CHECK(kv_bytes(q.model, q.isl, 2) / p.time.transfer < holders * link);
      divided += p.prefill.attention_dp > 1 && p.engine.attention_dp > 1;
    }
    CHECK(divided > 0);
  }
}

TEST_CASE("a machine without the link says so") {
  System alone = load_system("dgx-h100");
  alone.tiers.clear();
  CHECK(support::contains(support::message_of([&] { return kv_link(alone, 8, true); }), "no scale-up links"));
  CHECK(support::contains(support::message_of([&] { return kv_link(alone, 8, false); }), "no NICs"));
}
