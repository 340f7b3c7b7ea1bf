// Properties of the step of every layout: random jobs on random machines.
#include "jobs.hpp"

#include <fabricost/plan/training/step.hpp>

#include <catch.hpp>

#include <array>
#include <cmath>

using namespace fabricost::plan;
using jobs::random_job;

namespace {

constexpr int many = 3000;

double sum(const StepTime& t) {
  return t.compute + t.floor + t.tensor + t.context + t.expert + t.pipeline + t.bubble + t.data + t.accumulation + t.optimizer +
         t.stragglers;
}

double seconds(const jobs::Job& job, GroupCosts& costs, const Processor& gpu) {
  return step_time(jobs::model(job.model), job.layout, job.stack, gpu, costs).seconds;
}

}  // namespace

TEST_CASE("the terms of a step sum to its seconds, and none is negative or no number", "[step]") {
  std::map<std::string, std::unique_ptr<GroupCosts>> costs;
  for (int i = 0; i < many; ++i) {
    jobs::Job job = random_job(i);
    if (i % 3 == 0) job.stack.scale = 0.6 + 0.4 * (i % 100) / 100.0;  // stacks faster than the form
    const System& system = jobs::machine(job.system);
    auto& at = costs[job.system];
    if (!at) at = std::make_unique<GroupCosts>(system);
    const StepTime t = step_time(jobs::model(job.model), job.layout, job.stack, Processor::of(system), *at);
    INFO(i << ": " << job.text());
    REQUIRE(std::isfinite(t.seconds));
    REQUIRE(t.seconds > 0);
    REQUIRE(sum(t) == Approx(t.seconds).epsilon(1e-12));
    for (const double term :
         {t.compute, t.floor, t.tensor, t.context, t.expert, t.pipeline, t.bubble, t.data, t.accumulation, t.optimizer}) {
      REQUIRE(std::isfinite(term));
      REQUIRE(term >= -1e-12 * t.seconds);
    }
    REQUIRE(t.exposed() >= 0);
    REQUIRE(t.exposed() <= t.seconds);
  }
}

TEST_CASE("faster memory, arithmetic or fabric never makes a step slower", "[step]") {
  const Choice fastest{.rule = Choice::Rule::fastest};  // so that a better fabric cannot lose through another choice
  std::map<std::string, std::unique_ptr<GroupCosts>> known;
  for (int i = 0; i < 200; ++i) {
    const jobs::Job job = random_job(i);
    const System& system = jobs::machine(job.system);
    const Processor gpu = Processor::of(system);
    auto& costs = known[job.system];
    if (!costs) costs = std::make_unique<GroupCosts>(system, fastest);
    const double before = seconds(job, *costs, gpu);
    INFO(i << ": " << job.text());
    Processor memory = gpu, peak = gpu;
    memory.memory_rate *= 2;
    for (double* p : {&peak.peak16, &peak.peak8, &peak.peak4}) *p *= 2;
    CHECK(seconds(job, *costs, memory) <= before * (1 + 1e-12));
    CHECK(seconds(job, *costs, peak) <= before * (1 + 1e-12));
    System fabric = system;
    for (Tier& tier : fabric.tiers)
      if (tier.role == TierRole::scale_up || tier.role == TierRole::nic) support::scale_bandwidth(tier, 2);
    GroupCosts faster(fabric, fastest);
    CHECK(seconds(job, faster, gpu) <= before * (1 + 1e-9));
  }
}

TEST_CASE("every further microbatch costs the same", "[step]") {
  for (int i = 0; i < 500; ++i) {
    jobs::Job job = random_job(i);
    const System& system = jobs::machine(job.system);
    const Processor gpu = Processor::of(system);
    GroupCosts costs(system);
    const auto with = [&](int microbatches) {
      job.layout.global_batch = job.layout.dp * job.layout.microbatch * microbatches;
      return step_time(jobs::model(job.model), job.layout, job.stack, gpu, costs).seconds;
    };
    // the first microbatch accumulates nothing, so that the mean one, which fills a pipeline and hides data, grows a little with their number
    const double accumulation = job.stack.accumulation_bytes;
    for (const auto& [bytes, apart] : {std::pair{0.0, 1e-9}, {accumulation, 0.01}}) {
      job.stack.accumulation_bytes = bytes;
      const double first = with(16) - with(8), second = with(24) - with(16);
      INFO(i << ": " << job.text() << ", accumulation of " << bytes << " bytes a parameter");
      CHECK(first > 0);
      CHECK(second == Approx(first).epsilon(apart));
    }
  }
}

TEST_CASE("a stack's factor is on kernels and launches alone, and fewer processors slow only arithmetic", "[step]") {
  const System& system = jobs::machine("dgx-h100");
  const Processor gpu = Processor::of(system);
  GroupCosts costs(system);
  const Layout layout{.tp = 8, .dp = 2, .global_batch = 16, .sequence_parallel = true};
  Stack stack;
  const StepTime plain = step_time(jobs::model("llama3-8b"), layout, stack, gpu, costs);
  stack.scale = 1.25;
  const StepTime scaled = step_time(jobs::model("llama3-8b"), layout, stack, gpu, costs);
  CHECK(scaled.compute == Approx(1.25 * plain.compute));
  CHECK(scaled.floor == Approx(1.25 * plain.floor));
  CHECK(scaled.optimizer == plain.optimizer);  // its rate is its own
  CHECK(scaled.tensor == plain.tensor);
  CHECK(scaled.data == plain.data);
  CHECK(scaled.seconds < 1.25 * plain.seconds);
  stack.scale = 0.8;
  const StepTime faster = step_time(jobs::model("llama3-8b"), layout, stack, gpu, costs);
  CHECK(faster.optimizer == plain.optimizer);
  CHECK(faster.accumulation == Approx(plain.accumulation));  // at the memory's rate: no software is faster
  CHECK(faster.compute < plain.compute);
  stack = {};
  stack.compute_share = 0.5;
  const StepTime half = step_time(jobs::model("llama3-8b"), layout, stack, gpu, costs);
  CHECK(half.compute > plain.compute);
  CHECK(half.compute < 2 * plain.compute);
  CHECK(half.tensor == plain.tensor);
}
