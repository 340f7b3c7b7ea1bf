// Adapters beside frozen weights, selective recomputation by module, and data in host memory: closed forms and bounds on growth.
#include "stacks.hpp"

#include <fabricost/plan/memory/memory.hpp>
#include <fabricost/plan/model/flops.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/training/figures.hpp>

#include "support/random_layouts.hpp"

#include <catch.hpp>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

Adapters adapters(int rank, std::initializer_list<AdapterModule> at) {
  Adapters out;
  out.rank = rank;
  for (const AdapterModule one : at) out.modules.add(one);
  return out;
}
Adapters everywhere(int rank) {
  return adapters(rank, {AdapterModule::linear_qkv, AdapterModule::linear_proj, AdapterModule::linear_fc1, AdapterModule::linear_fc2});
}
SetOf<RecomputeModule> modules(std::initializer_list<RecomputeModule> at) {
  SetOf<RecomputeModule> out;
  for (const RecomputeModule one : at) out.add(one);
  return out;
}

}  // namespace

TEST_CASE("adapters of Llama 2 70B have the parameters of MLPerf's benchmark") {
  // 80 layers, h 8192, 8 key/value heads of 128, rank 16 on qkv and output: 16 (8192 + 10240 + 8192 + 8192) each
  Model m = gpt(80, 8192, 64, 32000);
  m.kv_heads = 8;
  m.ffn = 28672;
  m.gated = true;
  Layout l;
  l.adapters = adapters(16, {AdapterModule::linear_qkv, AdapterModule::linear_proj});
  const MemoryStack stack = as_allocated();
  const double trained = 80.0 * 16 * (8192 + 10240 + 8192 + 8192);
  const MemoryUse use = memory_of(m, l, stack, 0);
  CHECK(use.gradients == Approx(4 * trained).epsilon(1e-12));
  CHECK(use.optimizer == Approx(12 * trained).epsilon(1e-12));
  CHECK(use.weights == Approx(2 * (parameters_of(m).total + trained)).epsilon(1e-12));
}

TEST_CASE("frozen weights never need more memory than trained ones, and no rank is below its bound") {
  RandomJobs random(20261122);
  for (int i = 0; i < 300; ++i) {
    const Model m = random.model();
    Layout l = random.layout(m);
    INFO("seed " << random.seed << ", job " << i);
    const MemoryStack stack;
    const MemoryUse whole = worst_stage(m, l, stack);
    l.adapters = everywhere(16);
    const MemoryUse few = worst_stage(m, l, stack);
    CHECK(few.gradients < whole.gradients);
    CHECK(few.optimizer < whole.optimizer);
    CHECK(min_memory(m, parameters_of(m), l, stack) <= few.total() * rounding);
  }
}

TEST_CASE("each module of selective recomputation saves something of the layers that have it, and all of them no more than full") {
  RandomJobs random(7);
  for (int i = 0; i < 300; ++i) {
    const Model m = random.model();
    Layout l = random.layout(m);
    l.recompute = Recompute::none;
    const MemoryStack stack;
    const MemoryUse none = worst_stage(m, l, stack);
    l.recompute = Recompute::selective;
    for (std::size_t module = 0; module < recompute_module_names.size(); ++module) {
      INFO("seed " << random.seed << ", job " << i << ", " << recompute_module_names[module]);
      l.recompute_modules = {};
      l.recompute_modules.add(static_cast<RecomputeModule>(module));
      const MemoryUse use = memory_of(m, l, stack, none.stage);
      CHECK(use.activations <= none.activations * rounding);
      CHECK(use.activations > 0);
      CHECK(use.states() == none.states());
    }
    l.recompute_modules.bits = (1U << recompute_module_names.size()) - 1;
    const double most = memory_of(m, l, stack, none.stage).activations;
    l.recompute = Recompute::full;
    CHECK(memory_of(m, l, stack, none.stage).activations <= most * rounding);
  }
}

TEST_CASE("modules drop what the formulas say") {
  Model m = gpt(4, 1024, 16);
  m.gated = true;
  Layout l;
  l.recompute = Recompute::none;
  const MemoryStack stack = as_allocated();
  const auto kept = [&](SetOf<RecomputeModule> which) {
    l.recompute_modules = which;
    l.recompute = which.empty() ? Recompute::none : Recompute::selective;
    return memory_of(m, l, stack, 0).activations / (l.tokens() * 4);
  };
  const double none = kept({});
  CHECK(none - kept(modules({RecomputeModule::mlp})) == Approx(6.0 * m.ffn));            // gate, up and the last product's input
  CHECK(none - kept(modules({RecomputeModule::layernorm})) == Approx(4.0 * m.hidden));   // two outputs
  CHECK(none - kept(modules({RecomputeModule::core_attn})) == Approx(4.0 * m.heads));    // row sums
  CHECK(none == kept(modules({RecomputeModule::moe, RecomputeModule::mla_up_proj})));    // it has neither
}

TEST_CASE("what waits in host memory is not on the GPU") {
  const Model m = gpt(8, 1024, 16);
  Layout l;
  const MemoryStack stack = as_allocated();
  const MemoryUse before = memory_of(m, l, stack, 0);
  l.offload_layers = 4;
  l.offload_optimizer = 0.25;
  const MemoryUse after = memory_of(m, l, stack, 0);
  CHECK(after.activations == Approx(before.activations / 2));
  CHECK(after.buffers - before.buffers == Approx(before.activations / 4));  // two of eight layers are on their way
  CHECK(after.optimizer == Approx(0.75 * before.optimizer));
  CHECK(after.weights == before.weights);
  l.offload_layers = 1000;
  CHECK(memory_of(m, l, stack, 0).activations == 0);
}

TEST_CASE("activation functions keep fp8 inputs in half the bytes, and graphs add four tensors a layer") {
  const Model m = gpt(8, 1024, 16);
  Layout l;
  MemoryStack stack = as_allocated();
  const MemoryUse before = memory_of(m, l, stack, 0);
  stack.activation_input = 1;
  CHECK(before.activations - memory_of(m, l, stack, 0).activations == Approx(l.tokens() * 8 * m.ffn));
  stack.activation_input = 2;
  l.cuda_graphs = true;
  CHECK(memory_of(m, l, stack, 0).buffers - before.buffers == Approx(l.tokens() * 8 * 8 * m.hidden));
}

// Modules of multi-token prediction: their parameters by place, their memory and their FLOPs, against formulas written out here.

namespace {

[[nodiscard]] Layout of_stages(int pp) {
  Layout l;
  l.pp = pp;
  l.global_batch = 64;
  l.sequence = 4096;
  return l;
}
[[nodiscard]] double all_stages(const Model& m, const Layout& l) {
  const ParameterCount n = parameters_of(m);
  double out = 0;
  for (int s = 0; s < l.pp; ++s) out += stage_parameters(n, m, stage_content(m, l, s)).total();
  return out;
}

}  // namespace

TEST_CASE("DeepSeek-V3's prediction module has the 11.5 billion parameters of its own that are published, and shares two tables") {
  // huggingface.co/deepseek-ai/DeepSeek-V3, README_WEIGHTS.md: 11.5 B unique, 0.9 B of embedding and of output head shared
  const Model m = load_model("deepseek-v3");
  REQUIRE(m.predict_layers == 1);
  const double total = parameters_of(m).total, table = double(m.hidden) * m.vocab;
  const double whole = all_stages(m, of_stages(1)) - total;
  CHECK(whole == Approx(11.5e9).epsilon(0.01));
  CHECK(table == Approx(0.9e9).epsilon(0.04));
  CHECK(all_stages(m, of_stages(8)) - total == Approx(whole + table));  // the last stage keeps a copy of the embedding
  const Model mimo = load_model("mimo-7b");
  const double h = mimo.hidden;
  const ParameterCount n = parameters_of(mimo);
  CHECK(all_stages(mimo, of_stages(1)) - n.total == Approx(n.attention + n.dense_ffn + n.norms + 2 * h * h + 3 * h));
}

TEST_CASE("the last stage holds a prediction module's states, activations and logits, the others nothing of it") {
  Model with = load_model("deepseek-v3"), without = with;
  without.predict_layers = 0;
  const MemoryStack stack;
  Layout l = of_stages(8);
  l.ep = 64;
  l.dp = 64;
  l.zero = 1;
  const auto content = [&](const Model& m, int stage) { return stage_content(split_layers(with, l), m, l, stage); };
  const auto use = [&](const Model& m, int stage) {
    return memory_of(m, parameters_of(m), layer_activations(m, l, stack), l, stack, HeavyStage{stage, content(m, stage), {}}, 1);
  };
  for (int s = 0; s < 7; ++s) CHECK(use(with, s).total() == Approx(use(without, s).total()));
  const MemoryUse more = use(with, 7), less = use(without, 7);
  const double h = with.hidden, table = h * with.vocab;
  const ParameterCount n = parameters_of(with);
  const double experts = with.experts * n.expert / l.ep, rest = n.attention + n.shared + n.router + n.norms + 2 * h * h + 3 * h + table;
  CHECK(more.weights - less.weights == Approx(stack.weight * (experts + rest)));
  CHECK(more.gradients - less.gradients == Approx(stack.gradient * (experts + rest)));
  CHECK(more.optimizer - less.optimizer == Approx(stack.optimizer * (experts + rest / 64)));
  CHECK(more.activations > less.activations);
  CHECK(more.vocabulary > 2 * less.vocabulary);  // logits again, and the inputs of the module
  CHECK(more.vocabulary < 2.5 * less.vocabulary);
}

TEST_CASE("with both directions the first GPUs have the embedding for the module, and hold few microbatches of its stage") {
  Model with = load_model("deepseek-v3"), without = with;
  without.predict_layers = 0;
  const MemoryStack stack;
  Layout l = of_stages(16);
  l.ep = 64;
  l.dp = 128;
  l.zero = 1;
  l.global_batch = 15360;
  l.schedule = PipelineSchedule::dualpipe;
  const auto use = [&](const Model& m) { return memory_of(m, l, stack, 0); };
  const double h = with.hidden;
  const ParameterCount n = parameters_of(with);
  const double module = with.experts * n.expert / l.ep + n.attention + n.shared + n.router + n.norms + 2 * h * h + 3 * h;
  // both have their layers where the module leaves room for itself
  const auto layers = [&](const Model& m) { return stage_content(m, l, 0).layers + stage_content(m, l, 15).layers; };
  if (layers(with) == layers(without)) CHECK(use(with).weights - use(without).weights == Approx(stack.weight * module));
  // 16 of 17 microbatches are of the first stage, one of the last
  const LayerActivations layer = layer_activations(with, l, stack);
  const auto kept = [&](int stage) {
    return kept_activations(layer, with_predictions(stage_content(with, l, stage), with), with, l, stack).kept;
  };
  CHECK(use(with).activations == Approx(l.tokens() * (16 * kept(0) + kept(15))));
}

TEST_CASE("FLOPs of prediction modules are those that Megatron-Core counts") {
  // megatron/training/training.py, num_floating_point_operations: 3 x 2 x (layer + 2 h h + h V) a module and token, scores beside
  for (const char* name : {"deepseek-v3", "mimo-7b", "glm-4.5"}) {
    CAPTURE(name);
    Model m = load_model(name);
    REQUIRE(m.predict_layers > 0);
    const double s = 4096, h = m.hidden;
    const ParameterCount n = parameters_of(m);
    const double feed = m.mixture() ? n.shared + n.router + m.top_k * n.expert : n.dense_ffn;
    const double scores = m.query_width() + m.value_width();  // all pairs: 2 s of each a token
    const double expected = m.predict_layers * 3 * s * (2 * (n.attention + feed + 2 * h * h + h * m.vocab) + 2 * scores * s);
    CHECK(3 * prediction_flops(m, s, Scores::full) == Approx(expected).epsilon(1e-9));
    const double with = step_work(m, s, 8, 0).all_scores;
    m.predict_layers = 0;
    CHECK(prediction_flops(m, s) == 0);
    CHECK(with - step_work(m, s, 8, 0).all_scores == Approx(8 * expected).epsilon(1e-9));
  }
}
