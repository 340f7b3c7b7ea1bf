/// Training on TPUs as MaxText runs it.

#include "questions.hpp"

#include <fabricost/specs/load.hpp>
#include <fabricost/plan/training/figures.hpp>

#include <catch.hpp>

#include <algorithm>
#include <limits>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

TrainingQuestion on_tpu(const char* model, int gpus, int batch, int sequence) {
  TrainingQuestion q = question(model, gpus, batch, sequence);
  q.stack = load_stack(usual_stack(Generation::tpu));
  return q;
}
/// Fully sharded, without tensor and context ranks.
TrainingQuestion sharded(const char* model, int gpus, int microbatch, int sequence) {
  TrainingQuestion q = on_tpu(model, gpus, gpus * microbatch, sequence);
  q.tp = 1;
  q.pp = 1;
  q.cp = 1;
  q.zero = 3;
  q.microbatch = microbatch;
  return q;
}

}  // namespace

TEST_CASE("More chips of a pod never make a step longer, also where they fill no slice") {
  for (const char* machine : {"tpu-v4-cube", "tpu-v5e-pod"}) {
    const System pod = load_system(machine);
    double least = std::numeric_limits<double>::infinity();
    for (const int chips : {16, 24, 32, 48, 64, 72, 100, 127, 128, 200, 512, 520}) {
      CAPTURE(machine, chips);
      TrainingQuestion q = on_tpu("llama3-8b", chips, 64, 8192);
      q.fewer = true;
      q.top = 1;
      const double step = plan_training(pod, q).layouts.front().time.seconds;
      CHECK(step <= least * (1 + 1e-12));
      least = step;
    }
  }
  for (const int batch : {1, 3}) {  // of which few chips have a part
    TrainingQuestion q = on_tpu("llama3-8b", 96, batch, 2048);
    q.fewer = true;
    q.top = 1;
    const System pod = load_system("tpu-v5p-cube");
    const double fewer = plan_training(pod, q).layouts.front().time.seconds;
    q.gpus = 192;
    CHECK(plan_training(pod, q).layouts.front().time.seconds <= fewer * (1 + 1e-12));
  }
  TrainingQuestion large = on_tpu("llama3.1-405b", 24, 64, 8192);  // fits no slice of so few
  large.fewer = true;
  CHECK(plan_training(load_system("tpu-v5e-pod"), large).layouts.empty());
}

TEST_CASE("More chips never make a step with experts longer, on slices whose axes they divide or not") {
  const System pod = load_system("tpu-v7-cube");
  for (const char* model : {"qwen3-235b-a22b"}) {
    double least = std::numeric_limits<double>::infinity();
    for (const int chips : {64, 192, 256, 320, 512, 576, 1024, 1536, 2048, 4096}) {
      CAPTURE(model, chips);
      TrainingQuestion q = on_tpu(model, chips, 2048, 4096);
      q.fewer = true;
      q.top = 1;
      const TrainingPlan plan = plan_training(pod, q);
      if (!plan.fits || plan.layouts.empty()) continue;
      CHECK(plan.layouts.front().time.seconds <= least * (1 + 1e-12));
      least = plan.layouts.front().time.seconds;
    }
  }
}

TEST_CASE("Every expert size that is a block of a slice is priced, another is refused with those that are") {
  TrainingQuestion q = on_tpu("kimi-k2", 2048, 2048, 4096);
  q.tp = 1, q.pp = 1, q.cp = 1, q.dp = 2048;
  const System pod = load_system("tpu-v7-cube");
  for (const int ranks : {2, 4, 8, 16, 32, 64, 128}) {
    CAPTURE(ranks);
    q.ep = ranks;
    CHECK(plan_training(pod, q).layouts.front().layout.ep == ranks);
  }
  TrainingQuestion other = on_tpu("kimi-k2", 192, 192, 4096);
  other.tp = 1, other.pp = 1, other.cp = 1, other.ep = 96, other.dp = 192;
  CHECK(plan_training(pod, other).layouts.front().layout.ep == 96);
  other.gpus = other.dp.emplace(384), other.global_batch = 384, other.ep = 128;
  CHECK_NOTHROW(plan_training(pod, other));
  other.model.experts = 18, other.model.top_k = 2, other.ep = 9, other.gpus = other.dp.emplace(72), other.global_batch = 72;
  for (const bool named : {true, false}) {
    if (!named) other.tp.reset(), other.dp.reset();
    CHECK_THROWS_WITH(plan_training(pod, other), Catch::Contains("9 ranks are no block of") && Catch::Contains("take 8 or"));
  }
}

TEST_CASE("Stages on TPUs run in the loop of MaxText, all microbatches before the first backward, and are searched") {
  const System v7 = load_system("tpu-v7-cube");
  TrainingQuestion q = on_tpu("llama3.1-405b", 4096, 1024, 8192);
  const Layout best = plan_training(v7, q).layouts.front().layout;
  CHECK(best.pp > 1);
  CHECK(best.schedule == PipelineSchedule::gpipe);
  CHECK(best.vp > 1);
  CHECK(microbatches_in_flight(best, best.pp - 1) == best.microbatches());
  Layout other = best;
  other.schedule = PipelineSchedule::interleaved;
  CHECK(worst_stage(q.model, best, q.stack.memory).activations > worst_stage(q.model, other, q.stack.memory).activations);
}

TEST_CASE("The layouts of a slice take no chips of another") {
  TrainingQuestion q = on_tpu("kimi-k2", 2048, 8192, 4096);
  q.fewer = true;
  const auto [slice, plan] = plan_on_slices(load_system("tpu-v7-cube"), q);
  for (const PricedLayout& one : plan.layouts) CHECK(one.layout.gpus() + idle_gpus(one.layout, slice) <= q.gpus);
}

TEST_CASE("Without a schedule there are no stages") {
  TrainingQuestion q = question("llama3-70b", 64, 64, 4096);
  q.schedule = PipelineSchedule::none;
  for (const PricedLayout& one : plan_training(load_system("dgx-h100"), q).layouts) CHECK(one.layout.pp == 1);
}

TEST_CASE("Inputs of recomputed layers wait in host memory only where a layout does not fit otherwise") {
  const System v6e = load_system("tpu-v6e-pod");
  const TrainingPlan roomy = plan_training(v6e, sharded("llama3-8b", 256, 1, 8192));
  REQUIRE(roomy.fits);
  const TrainingQuestion tight = sharded("llama3-70b", 256, 5, 8192);
  const PricedLayout best = plan_training(v6e, tight).layouts.front();
  CHECK(best.layout.offload_layers > 0);
  CHECK(best.memory.host > 0);
  for (const PricedLayout& one : roomy.layouts)
    if (one.layout.recompute == Recompute::full) CHECK(one.layout.offload_layers == 0);
  TrainingQuestion here = tight;
  here.offload_layers = 0;  // as asked: none
  CHECK_FALSE(plan_training(v6e, here).fits);
  TrainingQuestion some = tight;  // layers that are not recomputed keep more than their input
  some.recompute = Recompute::full;
  some.recompute_layers = 40;
  CHECK(plan_training(v6e, some).layouts.front().layout.offload_layers == 0);
}

TEST_CASE("Where a compiler plans the memory, the output matrix and a recomputed layer share their place") {
  const Model m = load_model("llama3-70b");
  Layout l;
  l.dp = 64;
  l.zero = 3;
  l.global_batch = 64;
  l.schedule = PipelineSchedule::none;
  l.recompute = Recompute::full;
  MemoryStack stack = load_stack("jax-fsdp").memory;
  REQUIRE(stack.planned);
  const MemoryUse together = worst_stage(m, l, stack);
  stack.planned = false;
  const MemoryUse apart = worst_stage(m, l, stack);
  CHECK(together.recompute * together.vocabulary == 0);
  CHECK(together.recompute + together.vocabulary == Approx(std::max(apart.recompute, apart.vocabulary)));
  CHECK(together.total() < apart.total());
  // the weights are the 32-bit parameters: 4 bytes, two moments of 4, a gradient of 4
  CHECK(together.states() == Approx(16 * parameters_of(m).total / 64).epsilon(1e-3));
}
