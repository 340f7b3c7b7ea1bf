/// Time of the parts of recipes: adapters, packed documents, recomputation by module, host memory, graphs.

#include "questions.hpp"
#include "support/random_layouts.hpp"

#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/layer.hpp>
#include <fabricost/plan/training/step.hpp>

#include <catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace fabricost::observe;
using namespace fabricost::test;

namespace {

/// One layout on one node of `system`.
TrainingQuestion one(const char* model = "llama3-8b") {
  TrainingQuestion q = question(model, 8, 64, 8192);
  q.tp = 1;
  q.pp = 1;
  q.cp = 1;
  q.zero = 1;
  q.microbatch = 1;
  return q;
}
StepTime step_of(const TrainingQuestion& q, const System& system) { return plan_training(system, q).layouts.front().time; }

Adapters everywhere(int rank) {
  Adapters out;
  out.rank = rank;
  for (std::size_t i = 0; i < adapter_module_names.size(); ++i) out.modules.add(static_cast<AdapterModule>(i));
  return out;
}

}  // namespace

TEST_CASE("adapters spare the weight gradients: a step takes two thirds to all of the whole model's") {
  const System h100 = load_system("dgx-h100");
  TrainingQuestion q = one();
  const StepTime whole = step_of(q, h100);
  q.adapters = everywhere(16);
  const StepTime few = step_of(q, h100);
  CHECK(few.seconds < whole.seconds);
  CHECK(few.seconds > 0.6 * whole.seconds);
  CHECK(few.data < 0.05 * whole.data + 1e-6);
  CHECK(few.optimizer < 0.05 * whole.optimizer);
  q.adapters = everywhere(256);
  CHECK(step_of(q, h100).seconds > few.seconds);
}

TEST_CASE("a step of adapters beside all matrices takes no longer than the whole model's, in fp8 too") {
  for (const char* machine : {"dgx-h100", "dgx-h200", "dgx-b200"})
    for (const auto& [model, batch] : {std::pair{"llama3-8b", 8}, std::pair{"llama3-8b", 128}, std::pair{"qwen3-8b", 32}})
      for (const Precision precision : {Precision::bf16, Precision::fp8}) {
        CAPTURE(machine, model, batch, precision_names[static_cast<std::size_t>(precision)]);
        const System system = load_system(machine);
        TrainingQuestion q = one(model);
        q.stack = load_stack("nemo");
        q.global_batch = batch;
        q.precision = precision;
        const double whole = step_of(q, system).seconds;
        q.adapters = everywhere(16);
        CHECK(step_of(q, system).seconds < whole);
      }
}

TEST_CASE("a step of adapters takes no longer than the whole model's in the same layout and the adapters' own kernels") {
  const System system = load_system("dgx-h100");
  const Processor gpu = Processor::of(system);
  GroupCosts costs(system);
  RandomJobs jobs(7);
  int priced = 0;
  for (int i = 0; i < 400; ++i) {
    const Model m = jobs.model();
    Layout l = jobs.layout(m);
    l.precision = jobs.flip() ? Precision::fp8 : Precision::bf16;
    const Stack stack = load_stack(jobs.flip() ? "nemo" : "nemo-lora");
    INFO("seed " << jobs.seed << " case " << i << told(m, l));
    try {
      const double whole = step_time(m, l, stack, gpu, costs).seconds;
      l.adapters = everywhere(jobs.pick({8, 64}));
      const Processor driven = driven_by(stack, l, gpu);
      const LayerModel layer{m, l, stack, driven, costs};
      double each = 0;
      for (const bool experts : {false, true}) {
        if (experts ? m.expert_layers() == 0 : m.dense_layers() == 0) continue;
        const auto own = layer.adapter_kernels(experts);
        each = std::max(each, 2 * own.forward + own.backward + layer.missing_copy_seconds({true, true, experts}));
      }
      const double layers = std::ceil(static_cast<double>(m.layers) / l.pp) + 1;
      CHECK(step_time(m, l, stack, gpu, costs).seconds <= (whole + (l.microbatches() + l.pp) * layers * each) * rounding);
      ++priced;
    } catch (const RequestError&) {  // ranks that the machine cannot join
    }
  }
  CHECK(priced > 200);
}

TEST_CASE("beside a matrix an adapter moves 5 results forward, 2 and 3 inputs backward, and with dropout 2 inputs and the mask each way") {
  const System system = load_system("dgx-h100");
  const Processor gpu = Processor::of(system);
  GroupCosts costs(system);
  const TrainingQuestion q = one();
  const Model& m = q.model;
  const double keys = 2.0 * m.kv_heads * m.head_dim;
  for (const double mask : {0.0, 1.0})
    for (const int tp : {1, 2, 4})
      for (const AdapterModule at : {AdapterModule::linear_qkv, AdapterModule::linear_proj, AdapterModule::linear_fc1, AdapterModule::linear_fc2}) {
        Layout l;
        l.tp = tp;
        l.sequence = 8192;
        l.adapters.rank = 16;
        l.adapters.modules.add(at);
        Stack stack = q.stack;
        stack.memory.adapter_mask = mask;
        const double T = l.tokens(), h = m.hidden;
        const bool columns = at == AdapterModule::linear_qkv || at == AdapterModule::linear_fc1;
        const double in = columns ? h : at == AdapterModule::linear_proj ? h / tp : m.ffn / double(tp);
        const double out = at == AdapterModule::linear_qkv ? (h + keys) / tp : at == AdapterModule::linear_fc1 ? 2.0 * m.ffn / tp : h / tp;
        const auto k = LayerModel{m, l, stack, gpu, costs}.adapter_kernels(false);
        const double dropout = mask > 0 ? (4 + mask) * in : 0;
        CAPTURE(mask, tp, static_cast<int>(at));
        CHECK(k.forward - k.products == Approx(stream_seconds(gpu, T * (10 * out + dropout))));
        CHECK(k.backward - 2 * k.products == Approx(stream_seconds(gpu, T * (4 * out + 6 * in + dropout))));
      }
}

TEST_CASE("of frozen weights in fp8 each backward makes the copy that memory does not hold, where the processor needs two") {
  TrainingQuestion q = one();
  const auto making = [&](const char* machine, bool adapters) {
    const System system = load_system(machine);
    GroupCosts costs(system);
    Layout l;
    l.sequence = 8192;
    l.precision = Precision::fp8;
    if (adapters) l.adapters = everywhere(16);
    const Processor gpu = Processor::of(system);
    return LayerModel{q.model, l, q.stack, gpu, costs}.missing_copy_seconds({}) * gpu.constants.memory * gpu.memory_rate;
  };
  const ParameterCount n = parameters_of(q.model);
  CHECK(making("dgx-h100", true) == Approx(2 * (n.mixing + n.dense_ffn)));
  CHECK(making("dgx-h100", false) == 0);
  CHECK(making("dgx-b200", true) == 0);  // one with a scale per tensor serves all products
  q.stack.memory.fp8_tensor_scaled = false;
  CHECK(making("dgx-b200", true) > 0);
}

TEST_CASE("work of adapters is two passes of the matrices and three of the scores") {
  const Model m = load_model("llama3-8b");
  const StepWork whole = step_work(m, 8192, 4, 0), frozen = step_work(m, 8192, 4, 0, 0, true);
  CHECK(whole.causal - frozen.causal == Approx(4 * 8192 * 2 * parameters_of(m).multiplied).epsilon(1e-12));
  CHECK(whole.all_scores - frozen.all_scores == Approx(4 * 8192 * 2 * parameters_of(m).multiplied).epsilon(1e-12));
}

TEST_CASE("packed documents pay for their own scores only") {
  const System h100 = load_system("dgx-h100");
  TrainingQuestion q = one();
  const double alone = step_of(q, h100).seconds;
  q.document = 8192;
  CHECK(step_of(q, h100).seconds == alone);
  q.document = 1024;
  CHECK(step_of(q, h100).seconds < alone);
  const Model m = load_model("llama3-8b");
  CHECK(step_work(m, 8192, 1, 0, 1024).causal == Approx(8 * step_work(m, 1024, 1, 0).causal).epsilon(1e-12));
}

TEST_CASE("recomputing more takes longer, and full recomputation longest") {
  const System b200 = load_system("dgx-b200");
  TrainingQuestion q = question("deepseek-v2-lite", 8, 64);
  q.tp = 1;
  q.pp = 1;
  q.cp = 1;
  q.ep = 8;
  q.zero = 1;
  q.microbatch = 1;
  q.recompute = Recompute::none;
  const double none = step_of(q, b200).seconds;
  q.recompute = Recompute::selective;
  double last = none;
  for (const RecomputeModule more : {RecomputeModule::moe_act, RecomputeModule::shared_experts, RecomputeModule::layernorm,
                                     RecomputeModule::mla_up_proj, RecomputeModule::core_attn, RecomputeModule::moe}) {
    q.recompute_modules.add(more);
    const double now = step_of(q, b200).seconds;
    CHECK(now >= last);
    last = now;
  }
  q.recompute = Recompute::full;
  CHECK(step_of(q, b200).seconds >= last * 0.99);
}

TEST_CASE("copies to host memory cost nothing while they hide and more over a slower link; graphs launch nothing") {
  const System h100 = load_system("dgx-h100"), gb200 = load_system("gb200-nvl72");
  TrainingQuestion q = one();
  const StepTime before = step_of(q, h100);
  q.offload_layers = 32;
  q.offload_optimizer = 1;
  const StepTime pcie = step_of(q, h100), c2c = step_of(q, gb200);
  CHECK(pcie.offload >= c2c.offload);
  CHECK(pcie.optimizer == 0);
  CHECK(pcie.seconds >= before.seconds - before.optimizer);
  const double sum = pcie.compute + pcie.floor + pcie.tensor + pcie.context + pcie.expert + pcie.pipeline + pcie.bubble + pcie.data +
                     pcie.accumulation + pcie.optimizer + pcie.stragglers + pcie.offload;
  CHECK(sum == Approx(pcie.seconds).epsilon(1e-9));
  q = one();
  q.cuda_graphs = true;
  const StepTime graphs = step_of(q, h100);
  CHECK(graphs.seconds <= before.seconds);
  CHECK(graphs.floor == Approx(0).margin(1e-12));
}

TEST_CASE("copies of activations take as long with a pipeline as without: every stage copies its own layers") {
  const System h100 = load_system("dgx-h100");
  for (const int stages : {1, 2, 4}) {
    CAPTURE(stages);
    TrainingQuestion q = one();
    q.tp = 2;
    q.pp = stages;
    q.vp = 1;
    // Megatron-Core's offload knows no stages
    q.stack.offloads_inputs = true;
    q.recompute = Recompute::none;
    const StepTime before = step_of(q, h100);
    q.offload_layers = 4;
    const StepTime now = step_of(q, h100);
    CHECK(now.offload > 0);
    CHECK(now.seconds - before.seconds > 0.9 * now.offload);
    CHECK(now.bubble >= 0.999 * before.bubble);
  }
}

TEST_CASE("what is updated in host memory takes the longer of that memory's traffic and the link, both of the machine") {
  TrainingQuestion q = one();
  q.offload_optimizer = 1;
  const double owned = parameters_of(q.model).total / 8;  // sharded over all ranks
  double fastest = std::numeric_limits<double>::infinity();
  for (const char* machine : {"dgx-a100", "dgx-h100", "dgx-b200", "mi300x-8", "gb200-nvl72", "alps-gh200"}) {
    CAPTURE(machine);
    System system = load_system(machine);
    const double seconds = step_of(q, system).offload;
    CHECK(seconds == Approx(std::max(28 * owned / host_memory_rate(system), 6 * owned / host_rate(system))).epsilon(1e-6));
    if (system.host_memory_rate.value.value() > 0) CHECK(seconds < fastest);  // newest last
    if (system.host_memory_rate.value.value() > 0) fastest = seconds;
    for (Tier& tier : system.tiers)
      if (tier.role == TierRole::c2c || tier.role == TierRole::host) tier.bandwidth.value = Bandwidth::from_value(1e9);
    CHECK(step_of(q, system).offload == Approx(6 * owned / host_rate(system)).epsilon(1e-6));
  }
}

TEST_CASE("recomputing the feed-forward block repeats its half of the tensor ranks' exchange") {
  const System h100 = load_system("dgx-h100");
  TrainingQuestion q = one("llama3-70b");
  q.tp = 8;
  q.recompute = Recompute::none;
  const auto tensor = [&](const TrainingQuestion& asked) { return step_of(asked, h100).tensor; };
  TrainingQuestion block = q, full = q, norms = q;
  block.recompute = norms.recompute = Recompute::selective;
  full.recompute = Recompute::full;
  block.recompute_modules.add(RecomputeModule::mlp);
  norms.recompute_modules.add(RecomputeModule::layernorm);
  REQUIRE(tensor(q) > 0);
  CHECK(tensor(norms) == Approx(tensor(q)));
  CHECK(tensor(block) - tensor(q) == Approx((tensor(full) - tensor(q)) / 2));
  CHECK(tensor(block) > 1.1 * tensor(q));
}
