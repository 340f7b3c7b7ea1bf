/// A forward pass at its limits: one sequence reads the weights, many are bound by arithmetic; quantities that only grow.

#include "support/message_of.hpp"
#include "rig.hpp"

#include <fabricost/plan/training/layer.hpp>

#include <catch.hpp>

#include <chrono>
#include <cmath>
#include <vector>

using namespace fabricost::plan;
using namespace fabricost::test;

TEST_CASE("one sequence takes its weights' bytes over the memory rate, and the starts of its kernels") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-8b");
  const Engine engine{model, {}, {WeightFormat::bf16, 2}, rig.machine};
  const ForwardTime one = engine.decode(1, 1);
  // all matrices but the input table, in 16 bit, from the count of parameters and the datasheet
  const ParameterCount n = parameters_of(model);
  const double bytes = 2 * (n.total - n.embedding - model.layers * n.norms - model.hidden);
  const double streamed = bytes / (rig.machine.gpu().constants.memory * 3.35e12);
  CHECK(one.work() == Approx(streamed).epsilon(0.01));
  CHECK(one.kernels == Approx((32 * (4 + 3) + 1) * rig.machine.gpu().constants.gemm_start));
  CHECK(one.communication() == 0);
}

TEST_CASE("many sequences take 2 FLOPs a parameter over the rate products reach") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-8b");
  const Engine engine{model, {}, {WeightFormat::fp8, 1}, rig.machine};
  const double batch = 1e7;
  const ParameterCount n = parameters_of(model);
  const double blocks = n.total - n.embedding - n.head - model.layers * n.norms - model.hidden;
  const ComputeConstants& c = rig.machine.gpu().constants;
  const double arithmetic = 2 * blocks * batch / (c.gemm * c.gemm_fp8 * 1979e12);
  const ForwardTime many = engine.decode(batch, 1);
  CHECK(many.products > arithmetic);
  CHECK(many.products < 1.2 * arithmetic);  // activations move as well
}

TEST_CASE("a layer's element-wise kernels take the same time in a prompt as in the forward of a training step") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-8b");
  const Engine engine{model, {.tp = 4}, {WeightFormat::bf16, 2}, rig.machine};
  GroupCosts costs(rig.system);
  const Layout layout{.tp = 4, .global_batch = 1, .sequence = 4096, .sequence_parallel = false};
  const Stack stack;
  const fabricost::plan::LayerModel layer{model, layout, stack, rig.machine.gpu(), costs};
  CHECK(engine.prefill(4096).elementwise == Approx(model.layers * (layer.kernels({}).element - layer.kernels({}).starts)));
}

TEST_CASE("norms of queries and keys are kernels of each layer, over all heads with an exchange of tensor ranks") {
  Rig rig("dgx-h100");
  Model model = load_model("llama3-8b");
  const Engine plain{model, {.tp = 4}, {WeightFormat::bf16, 2}, rig.machine};
  Model each = model, all = model;
  each.head_norm = HeadNorm::each;
  all.head_norm = HeadNorm::all;
  const ForwardTime without = plain.decode(16, 1000), heads = Engine{each, {.tp = 4}, {WeightFormat::bf16, 2}, rig.machine}.decode(16, 1000),
                    whole = Engine{all, {.tp = 4}, {WeightFormat::bf16, 2}, rig.machine}.decode(16, 1000);
  CHECK(heads.launches == without.launches + 2 * model.layers);
  CHECK(heads.tensor == without.tensor);
  CHECK(whole.launches == heads.launches);
  CHECK(whole.tensor == Approx(without.tensor + model.layers * rig.machine.all_reduce_seconds(4, 8 * 16, Launch::graph)));
  CHECK(load_model("qwen3-32b").head_norm == HeadNorm::each);
  CHECK(load_model("minimax-m2.5").head_norm == HeadNorm::all);
  CHECK(load_model("gpt-oss-120b").head_norm == HeadNorm::none);
}

TEST_CASE("one token touches its own experts' weights, many tokens all of them") {
  Rig rig("dgx-b200");
  const Model model = load_model("deepseek-v3");
  const Engine engine{model, {.tp = 8, .ep = 8}, {WeightFormat::fp8, 1}, rig.machine};
  const double expert = 3.0 * 7168 * 2048, rate = rig.machine.gpu().constants.memory * rig.machine.gpu().memory_rate;
  const auto shared = [&](const ForwardTime& t) { return t.experts - 58 * (3.0 * 7168 * 2048 / 8) / rate; };
  CHECK(shared(engine.decode(1, 1)) == Approx(58 * 8 * expert / 8 / rate).epsilon(0.02));
  // 512 tokens touch all 256: 32 on each of 8 GPUs; arithmetic and activations add to that
  const double all = 58 * 32 * expert / rate;
  CHECK(shared(engine.decode(512, 1)) > all);
  CHECK(shared(engine.decode(512, 1)) < 1.25 * all);
}

TEST_CASE("experts in 4 bits have kernels and a share of the peak of their own where the GPU multiplies 4 bits") {
  const Model model = load_model("gpt-oss-120b");
  ServingConstants faster;
  faster.experts4 = 2 * faster.experts4;
  const auto of = [&](const char* system, const ServingConstants& constants, WeightFormat format) {
    Rig rig(system, constants);
    return Engine{model, {}, {format, 1}, rig.machine}.prefill(8192);
  };
  CHECK(of("dgx-b200", {}, WeightFormat::fp4).launches == of("dgx-b200", {}, WeightFormat::fp8).launches - 2 * model.layers);
  CHECK(of("dgx-h100", {}, WeightFormat::fp4).launches == of("dgx-h100", {}, WeightFormat::fp8).launches);
  CHECK(of("dgx-b200", faster, WeightFormat::fp4).experts < 0.8 * of("dgx-b200", {}, WeightFormat::fp4).experts);
  CHECK(of("dgx-b200", faster, WeightFormat::fp8).experts == of("dgx-b200", {}, WeightFormat::fp8).experts);
  CHECK(of("dgx-h100", faster, WeightFormat::fp4).experts == of("dgx-h100", {}, WeightFormat::fp4).experts);
}

TEST_CASE("experts that do not divide over their ranks are filled up with copies") {
  Rig rig("gb200-nvl72");
  const Model model = load_model("deepseek-v3");
  const EngineFormat format{WeightFormat::fp8, 1};
  const Engine even{model, {.attention_dp = 64, .ep = 64}, format, rig.machine},
      uneven{model, {.attention_dp = 72, .ep = 72}, format, rig.machine};
  CHECK(even.weights() == Approx(uneven.weights()));  // 256 / 64 and 288 / 72: four each
}

TEST_CASE("a step grows with sequences, context and rows, and shrinks with tensor ranks while weights bind") {
  Rig rig("dgx-h100");
  for (const char* name : {"llama3-70b", "deepseek-v3", "gpt-oss-120b", "qwen3.5-397b-a17b", "minimax-m2.5", "glm-5"}) {
    const Model model = load_model(name);
    CAPTURE(name);
    double before = 0;
    const Engine engine{model, {.tp = 8}, {WeightFormat::fp8, 1}, rig.machine};
    for (double batch = 1; batch <= 512; batch *= 2) {
      const double now = engine.decode(batch, 1000).seconds();
      CHECK(now > before);
      before = now;
    }
    CHECK(engine.decode(32, 8000).seconds() > engine.decode(32, 1000).seconds());
    CHECK(engine.decode(32, 1000, 2).seconds() > engine.decode(32, 1000).seconds());
    CHECK(engine.prefill(4096).seconds() > engine.prefill(2048).seconds());
    CHECK(engine.prefill(2048, 1, 8192).seconds() > engine.prefill(2048).seconds());
    const Engine fewer{model, {.tp = 4}, {WeightFormat::fp8, 1}, rig.machine};
    CHECK(fewer.decode(1, 1).seconds() > engine.decode(1, 1).seconds());
    CHECK(fewer.weights() > engine.weights());
  }
}

TEST_CASE("weights and cache fit as counted: 405B in fp8 on 8 GPUs of 80 GB, not on 4") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-405b");
  const Engine eight{model, {.tp = 8}, {WeightFormat::fp8, 1}, rig.machine};
  // one byte for each of the blocks, both tables in 16 bit
  const ParameterCount n = parameters_of(model);
  CHECK(eight.weights() == Approx((n.total + n.embedding + n.head) / 8).epsilon(0.001));
  CHECK(eight.capacity(4608, 0.9) > 1);
  const Engine four{model, {.tp = 4}, {WeightFormat::fp8, 1}, rig.machine};
  CHECK(four.capacity(4608, 0.9) == 0);
}

TEST_CASE("sequences are whole on every replica of attention, and TensorRT-LLM's share is of what weights leave") {
  Rig rig("dgx-h200");
  const Model model = load_model("deepseek-v3");
  const Engine engine{model, {.tp = 1, .attention_dp = 8, .ep = 8}, {WeightFormat::fp8, 1}, rig.machine};
  const double context = 60000, each = engine.kv(context), left = 0.9 * rig.system.memory().value() - engine.weights();
  REQUIRE(left > each);
  CHECK(engine.capacity(context, 0.9) == 8 * std::floor(left / each));
  CHECK(engine.capacity(context, 0.9, 0.5) == 8 * std::floor(0.5 * left / each));
  CHECK(engine.cache(9, context) == 2 * each);
  CHECK(engine.cache(16, context) == 2 * each);
  const double all = rig.system.memory().value() - engine.weights();
  CHECK(engine.room(1, 0.9) == Approx(0.9 * all));
}
