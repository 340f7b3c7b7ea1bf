/// Pipelines in a plan: where the end of the model is, what is refused, what is said of one that mostly waits.

#include "questions.hpp"

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/explain/nearest_plan.hpp>
#include <fabricost/specs/load.hpp>

#include <catch.hpp>

using namespace fabricost::plan;
using namespace fabricost::test;

TEST_CASE("With multi-token prediction a V of zero bubbles is faster than 1F1B, since the model ends on its first stage") {
  const System rack = load_system("gb200-nvl72");
  for (const char* model : {"deepseek-v3", "mimo-7b"}) {
    TrainingQuestion q = question(model, 128, 1024);
    REQUIRE(q.model.predict_layers > 0);
    q.tp = 1;
    q.pp = 8;
    q.cp = 1;
    q.ep = q.model.mixture() ? 16 : 1;
    q.microbatch = 1;
    q.zero = 1;
    q.recompute = Recompute::full;
    const auto seconds = [&](PipelineSchedule schedule) {
      q.schedule = schedule;
      return plan_training(rack, q).layouts.front().time.seconds;
    };
    CAPTURE(model);
    CHECK(seconds(PipelineSchedule::zb_v) < seconds(PipelineSchedule::one_f_one_b));
  }
}

TEST_CASE("Gradients sharded between microbatches are refused with pipeline stages, and not searched") {
  const System h100 = load_system("dgx-h100");
  TrainingQuestion q = question("llama3-70b", 64, 256);
  q.zero = 2;
  for (const PricedLayout& one : plan_training(h100, q).layouts) CHECK(one.layout.pp == 1);
  q.pp = 4;
  CHECK_THROWS_WITH(plan_training(h100, q), Catch::Contains("take 1, which is the same, or 3"));
  // leaves four stages
  q.pp = std::nullopt;
  q.tp = 4;
  q.cp = 1;
  q.dp = 4;
  CHECK_THROWS_WITH(plan_training(h100, q), Catch::Contains("with pipeline stages"));
  q.zero = 1;
  CHECK(plan_training(h100, q).layouts.front().layout.pp == 4);
}

TEST_CASE("a program without pipelines is given no stages, and refuses them by name") {
  PlanRequest r;
  r.system.name = "dgx-h100";
  r.model.name = "mpt-30b";
  r.stack.name = "composer-fsdp";
  r.gpus = 64;
  r.global_batch = 768;
  r.sequence = 2048;
  for (const PlannedLayout& one : answer(r).layouts) CHECK(one.pp == 1);
  r.pp = 4;
  CHECK_THROWS_WITH(answer(r), Catch::Contains("runs no pipeline"));
  r.schedule = PipelineSchedule::one_f_one_b;
  CHECK(answer(r).layouts.front().pp == 4);
}
