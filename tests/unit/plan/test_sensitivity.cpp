// What more of one part of a machine gives to a training step.
#include "questions.hpp"

#include "catch.hpp"

#include <fabricost/specs/load.hpp>
#include <fabricost/plan/training/plan.hpp>

using namespace fabricost::plan;
using namespace fabricost::test;

TEST_CASE("More of a tier is tried where it can be felt: of the network only where it is tapered") {
  System system = load_system("superpod-h100");
  system.nodes = 128;  // one place more than its fabric manager leaves
  std::string tapered;
  for (Tier& tier : system.tiers)
    if (tier.role == TierRole::network) {
      tier.oversubscription = tapered.empty() ? 64 : 1;  // 256 NICs of a leaf on four uplinks: fewer than the rails
      if (tapered.empty()) tapered = std::string{tier.name.view()};
    }
  REQUIRE_FALSE(tapered.empty());
  TrainingQuestion q = question("mixtral-8x7b", 1024, 1024);
  // parameters come over the network
  q.tp = 1;
  q.pp = 1;
  q.ep = 8;
  q.cp = 1;
  q.zero = 3;
  bool found = false;
  for (const StepSensitivity& s : sensitivity_of(system, q)) {
    CHECK(s.gain > -1e-9);
    for (const Tier& tier : system.tiers)
      if (s.change == std::string{tier.name.view()} + " bandwidth + 10 %" && tier.role == TierRole::network) {
        CHECK(tier.oversubscription > 1);
        found = true;
      }
    if (s.change == tapered + " bandwidth + 10 %") CHECK(s.gain > 0);
  }
  CHECK(found);
}

TEST_CASE("a front of time and memory lists layouts that differ in more than their chunks") {
  const System system = load_system("dgx-h100");
  const std::vector<PricedLayout> front = pareto_of(system, question("llama3-70b", 64, 256, 8192));
  REQUIRE(front.size() > 3);
  for (std::size_t i = 0; i < front.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      Layout one = front[i].layout;
      one.vp = front[k].layout.vp;
      CHECK(one != front[k].layout);
      CHECK(front[k].memory.total() > front[i].memory.total());
    }
}

TEST_CASE("one chunk a stage is listed by one schedule") {
  TrainingQuestion q = question("llama3-70b", 64, 64, 8192);
  q.vp = 1;
  q.fewest_by_stage = true;
  q.top = 40;
  const TrainingPlan plan = plan_training(load_system("dgx-h100"), q);
  for (const PricedLayout& one : plan.layouts) CHECK(one.layout.schedule != PipelineSchedule::interleaved);
}
