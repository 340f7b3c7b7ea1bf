/// Adapters beside frozen weights, selective recomputation by module, and data in host memory: closed forms and bounds on growth.

#include "stacks.hpp"
#include "support/random_layouts.hpp"

#include <fabricost/plan/memory/memory.hpp>

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
