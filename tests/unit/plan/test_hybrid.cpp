// Training of models whose layers mix through a state, of single blocks, and of long sequences over context ranks.
#include "catch.hpp"

#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/plan.hpp>
#include <fabricost/specs/load.hpp>

using namespace fabricost::plan;

namespace {

const std::vector<const char*> hybrids{"nemotron-h-56b", "nemotron3-nano-30b-a3b", "nemotron3-super-120b-a12b", "qwen3-next-80b-a3b",
                                       "qwen3.5-397b-a17b"};

TrainingQuestion job(const char* model, int gpus, int batch, int sequence) {
  TrainingQuestion q;
  q.model = load_model(model);
  q.stack = load_stack("nemo");
  q.gpus = gpus;
  q.global_batch = batch;
  q.sequence = sequence;
  q.top = 1;
  return q;
}

struct Rank {
  System system = load_system("superpod-h100");
  Stack stack = load_stack("nemo");
  Layout layout;
  Rank() { layout.sequence = 8192, layout.global_batch = 8, layout.schedule = PipelineSchedule::none; }
  [[nodiscard]] LayerTimes layers(const Model& m) const {
    GroupCosts costs{system};
    return layer_times(m, layout, stack, Processor::of(system), costs);
  }
};

}  // namespace

TEST_CASE("Kernels of all layers do at least the products of the parameters they have") {
  const Rank rank;
  const double peak = Processor::of(rank.system).peak(Precision::bf16), tokens = rank.layout.tokens();
  for (const char* name : hybrids) {
    const Model m = load_model(name);
    const ParameterCount n = parameters_of(m);
    const double products = 3 * 2 * tokens * (n.multiplied - double(m.hidden) * m.vocab - m.expert_layers() * n.router);
    INFO(name);
    CHECK(all_layers(m, rank.layers(m)).kernels > products / peak);
    CHECK(all_layers(m, rank.layers(m)).kernels < 6 * products / peak);
  }
}

TEST_CASE("Of single blocks a mixing and a feed-forward block take what a layer of both takes") {
  const Rank rank;
  Model whole = load_model("llama3-8b"), single = whole;
  single.single_block = true;
  single.layers = 2 * whole.layers;
  single.dense_blocks = whole.layers;
  const LayerTime a = all_layers(whole, rank.layers(whole)), b = all_layers(single, rank.layers(single));
  CHECK(b.kernels == Approx(a.kernels).epsilon(1e-9));
  CHECK(b.tensor == Approx(a.tensor).epsilon(1e-9));
  CHECK(b.sum() == Approx(a.sum()).epsilon(0.02));  // a short block has its own floor
}

TEST_CASE("A layer through a state does not slow down with the sequence, an attention layer does") {
  Rank rank;
  Model attends = load_model("llama3-8b"), mixes = attends;
  mixes.mixer = {.layers = mixes.layers, .inner = 8192, .keys = 1024, .heads = 128, .state = 128};
  const auto per_token = [&](const Model& m, int sequence) {
    rank.layout.sequence = sequence;
    return all_layers(m, rank.layers(m)).kernels / sequence;
  };
  CHECK(per_token(mixes, 131072) == Approx(per_token(mixes, 8192)).epsilon(0.02));
  CHECK(per_token(attends, 131072) > 2 * per_token(attends, 8192));
  // half of each: between the two
  Model half = attends;
  half.mixer = mixes.mixer;
  half.mixer.layers = half.layers / 2;
  CHECK(per_token(half, 131072) == Approx((per_token(mixes, 131072) + per_token(attends, 131072)) / 2).epsilon(0.01));
}

TEST_CASE("A state layer keeps the results of its products and its scan, whatever the sequence") {
  const Rank rank;
  Model m = load_model("llama3-8b");
  m.mixer = {.layers = m.layers, .inner = 8192, .keys = 1024, .heads = 128, .state = 128};
  const double mamba = layer_activations(m, rank.layout, rank.stack.memory).attention;
  CHECK(mamba == Approx(2.0 * (2 * 8192 + 2 * 1024 + 128) + 4.0 * 8192));
  m.mixer.gates = 2;  // and the delta rule what it convolved
  CHECK(layer_activations(m, rank.layout, rank.stack.memory).attention == Approx(mamba + 2.0 * 128 + 2.0 * (8192 + 2 * 1024)));
}

TEST_CASE("Nemotron-H 56B on H100 as published, none of it fitted") {
  // NVIDIA/dgxc-benchmarking 25.05, nemotronh: 8,192 tokens, 3 sequences a GPU, tp 8, fp8; 15.12 s on 32 GPUs, 15.59 s on 512
  const System system = load_system("superpod-h100");
  const auto step = [&](int gpus) {
    TrainingQuestion q = job("nemotron-h-56b", gpus, 3 * gpus, 8192);
    q.stack = load_stack("nemo-dgx-cloud");
    q.precision = Precision::fp8;
    q.tp = 8;
    q.pp = 1;
    q.cp = 1;
    q.microbatch = 1;
    q.zero = 1;
    return plan_training(system, q).layouts.front().time.seconds;
  };
  const double few = step(32), many = step(512);
  CHECK(std::fabs(std::log(15.119 / few)) < 0.3);
  CHECK(many / few == Approx(15.586 / 15.119).epsilon(0.03));
}

TEST_CASE("Ulysses exchanges as often as heads allow, rings join the rest") {
  Rank rank;
  const Model m = load_model("llama3-8b");  // 32 heads, 8 of keys
  rank.layout.sequence = 131072;
  rank.layout.cp = 64;
  rank.layout.tp = 2;
  rank.layout.context = ContextParallel::ulysses;
  CHECK(ranks_of_heads(m, rank.layout) == 16);
  GroupCosts costs{rank.system};
  const double T = 131072 / 64.0, query = 4096 / 2.0, keys = 8 * 2 * 128 / 2.0 * 4;  // keys of 4 heads repeated for 16 ranks
  const double near = 2 * (costs.seconds(Collective::all_to_all, place(16, 2, 8), 2 * T * (query + keys)) +
                           costs.seconds(Collective::all_to_all, place(16, 2, 8), 2 * T * query));
  const double far = 3 * rank.stack.context_exposed * costs.seconds(Collective::all_gather, place(4, 32, 8), 2 * T * keys * 4);
  CHECK(rank.layers(m).dense.context == Approx(near + far));
  // as many ranks as keys have heads repeat nothing; one head each and one rank more cannot
  rank.layout.tp = 32;
  CHECK(ranks_of_heads(m, rank.layout) == 1);
  const double alone = rank.layers(m).dense.context;
  rank.layout.context = ContextParallel::ring;
  CHECK(rank.layers(m).dense.context == Approx(alone));
}

TEST_CASE("At a million tokens the search takes the better of ring and Ulysses") {
  const System system = load_system("superpod-h100");
  TrainingQuestion q = job("llama3-8b", 256, 8, 1048576);
  const TrainingPlan best = plan_training(system, q);
  REQUIRE(!best.layouts.empty());
  CHECK(best.layouts.front().layout.cp >= 8);
  CHECK(rates_of(system, q, best.layouts.front().time.seconds).mfu < 1);
  for (const ContextParallel one : {ContextParallel::ring, ContextParallel::ulysses}) {
    q.context = one;
    CHECK(plan_training(system, q).layouts.front().time.seconds >= best.layouts.front().time.seconds * (1 - 1e-12));
  }
}

TEST_CASE("Replicas of experts have a communicator of their own; each is counted in the memory") {
  Layout l;
  l.tp = 2;
  l.pp = 4;
  l.dp = 8;
  l.ep = 4;
  CHECK(communicators_of(l) == 5);  // tensor, pipeline, data, expert, experts' replicas
  l.ep = 16;
  CHECK(communicators_of(l) == 4);
  CHECK(communicators_of(Layout{}) == 0);
  const Model m = load_model("qwen3-30b-a3b");
  const MemoryStack stack = load_stack("nemo").memory;
  l.global_batch = 64;
  const MemoryUse use = worst_stage(m, l, stack);
  CHECK(use.communicators == Approx(4 * stack.communicator));
  CHECK(use.total() == Approx(use.allocated() + use.runtime + use.communicators + use.fragmentation));
}

TEST_CASE("A program that gathers matrix by matrix holds less than one that gathers layers") {
  Layout l;
  l.dp = 64;
  l.zero = 3;
  l.global_batch = 64;
  l.schedule = PipelineSchedule::none;
  MemoryStack stack = load_stack("jax-fsdp").memory;
  REQUIRE(stack.gathered_layers == 0);
  stack.planned = false;
  const Model m = load_model("llama3-70b");
  const double by_matrix = worst_stage(m, l, stack).buffers;
  stack.gathered_layers = 1;
  CHECK(by_matrix < worst_stage(m, l, stack).buffers);
  // two matrices of weights and the table, one of gradients
  const double matrix = double(m.hidden) * m.ffn;
  CHECK(by_matrix == Approx(2 * (2 * matrix + 2.0 * m.hidden * m.vocab) + 4 * matrix).epsilon(0.05));
}
