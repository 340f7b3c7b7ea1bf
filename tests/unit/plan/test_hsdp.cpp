// States sharded over some of the replicas (HSDP): two exchanges, one inside the shard group and one across, priced where they run.
#include "catch.hpp"

#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/plan.hpp>

using namespace fabricost::plan;

namespace {

struct Job {
  System system = load_system("dgx-h100");
  Model model = load_model("llama3-8b");
  Stack stack = load_stack("megatron-core");
  Layout layout;

  Job() {
    layout.dp = 64;
    layout.microbatch = 1;
    layout.global_batch = 256;
    layout.schedule = PipelineSchedule::none;
    // nothing hides: the exchange is seen as it is
    stack.scale = 1;
    stack.data_exposed = 1;
    stack.accumulation_bytes = 0;             // the first microbatch adds up nothing, so that a step's work is no multiple of one
  }
  [[nodiscard]] StepTime step(int zero, int shard) const {
    Layout l = layout;
    l.zero = zero;
    l.shard = shard;
    REQUIRE(is_possible(model, l));
    GroupCosts costs{system};
    return step_time(model, l, stack, Processor::of(system), costs);
  }
};

}  // namespace

TEST_CASE("Sharding over all replicas by name is sharding over all replicas") {
  const Job job;
  for (int zero = 0; zero <= 3; ++zero) {
    CHECK(job.step(zero, 64).seconds == job.step(zero, 0).seconds);
    CHECK(job.step(zero, 640).seconds == job.step(zero, 0).seconds);
  }
  CHECK(job.step(0, 8).seconds == job.step(0, 0).seconds);  // nothing is sharded
}

TEST_CASE("ZeRO-1 over a node: reduce-scatter and all-gather inside it, all-reduce of an eighth across") {
  const Job job;
  GroupCosts costs{job.system};
  const double n = parameters_of(job.model).total, bytes = job.stack.gradient_bytes;
  const double inside = costs.seconds(Collective::reduce_scatter, {8, 1}, bytes * n) + costs.seconds(Collective::all_gather, {8, 1}, 2 * n);
  const double across = costs.seconds(Collective::all_reduce, {1, 8}, bytes * n / 8);
  REQUIRE(across > 0);
  CHECK(job.step(1, 8).data == Approx(inside + across).epsilon(1e-9));
  // one rank a shard: plain data parallelism
  CHECK(job.step(1, 1).data == Approx(costs.seconds(Collective::all_reduce, {8, 8}, bytes * n)).epsilon(1e-9));
}

TEST_CASE("Where the network is slow, weights gathered within a node cost less time and more memory than over all replicas") {
  Job job;  // one NIC's worth for eight GPUs: eight NICs together come near what NVLink gives
  for (Tier& tier : job.system.tiers)
    if (tier.role == TierRole::nic) tier.bandwidth.value *= 0.125;
  const StepTime all = job.step(3, 0), node = job.step(3, 8);
  CHECK(node.data < all.data);
  CHECK(node.optimizer > all.optimizer);  // each rank owns eight times as much
  Layout l = job.layout;
  l.zero = 3;
  const double over_all = memory_of(job.model, l, job.stack.memory, 0).states();
  l.shard = 8;
  CHECK(memory_of(job.model, l, job.stack.memory, 0).states() == Approx(8 * over_all));
}

TEST_CASE("The exchange across is paid once a step, not once a microbatch") {
  Job job;
  job.layout.dp = 16;
  job.layout.global_batch = 16;
  const auto extra = [&](int microbatches) {
    job.layout.global_batch = 16 * microbatches;
    Job near = job;  // the same with one group only
    near.layout.dp = 8;
    near.layout.global_batch = 8 * microbatches;
    return job.step(3, 8).data - near.step(3, 8).data;
  };
  CHECK(extra(1) > 0);
  CHECK(extra(8) == Approx(extra(1)).epsilon(1e-9));
}

TEST_CASE("A shard divides the replicas that a search may take, and is no more than they are") {
  TrainingQuestion q;
  q.gpus = 256;
  q.global_batch = 512;
  q.sequence = 4096;
  q.model = load_model("llama3-8b");
  q.stack = load_stack("nemo");
  const System system = load_system("dgx-h100");
  for (const int shard : {24, 512}) {
    q.shard = shard;
    CHECK_THROWS_AS(plan_training(system, q), RequestError);
  }
  q.shard = 32;
  for (const PricedLayout& one : plan_training(system, q).layouts) CHECK(one.layout.dp * one.layout.cp >= 32);
}
