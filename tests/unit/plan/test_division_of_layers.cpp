/// Layers recomputed by stage, and uneven divisions that a search tries: properties, and the search against each layout by name.

#include "questions.hpp"
#include "support/job.hpp"
#include "support/message_of.hpp"
#include "support/random_cases.hpp"
#include "unit/workload/jobs.hpp"

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/memory/memory.hpp>
#include <fabricost/plan/model/layout_check.hpp>
#include <fabricost/plan/training/step.hpp>
#include <fabricost/specs/load.hpp>

#include <catch.hpp>

#include <algorithm>
#include <numeric>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

Layout in_stages(int pp, int vp) {
  Layout l;
  l.tp = 2;
  l.pp = pp;
  l.vp = vp;
  l.dp = 2;
  l.zero = 1;
  l.sequence_parallel = true;
  l.global_batch = 2 * 4 * pp;
  l.recompute = Recompute::full;
  l.schedule = vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
  return l;
}

struct Priced {
  System system = load_system("dgx-h100");
  Model model = load_model("llama3-8b");
  Stack stack = load_stack("nemo");
  [[nodiscard]] double seconds(const Layout& l) const {
    GroupCosts costs(system);
    return step_time(model, l, stack, Processor::of(system), costs).seconds;
  }
  [[nodiscard]] double bytes(const Layout& l, int stage) const { return memory_of(model, l, stack.memory, stage).total(); }
};

/// A job of which some layouts fit only with layers recomputed.
TrainingQuestion tight_job() {
  TrainingQuestion q = question("llama3-70b", 64, 64, 8192);
  q.stack = load_stack("nemo");
  q.tp = 4;
  q.pp = 8;
  q.vp = 1;
  q.zero = 1;
  q.schedule = PipelineSchedule::one_f_one_b;
  return q;
}

}  // namespace

TEST_CASE("as many recomputed layers on each stage are so many of the model") {
  const Priced on;
  for (const int pp : {2, 4, 8})
    for (const int each : {1, 3, 32 / pp}) {
      Layout by_stage = in_stages(pp, 1), of_model = by_stage;
      by_stage.recompute_by_stage.assign(static_cast<std::size_t>(pp), std::min(each, 32 / pp));
      of_model.recompute_layers = std::min(each, 32 / pp) * pp;
      CAPTURE(pp, each);
      CHECK(on.seconds(by_stage) == Approx(on.seconds(of_model)).epsilon(1e-9));
      for (int stage = 0; stage < pp; ++stage) CHECK(on.bytes(by_stage, stage) == Approx(on.bytes(of_model, stage)).epsilon(1e-12));
    }
}

TEST_CASE("a recomputed layer never takes more memory of its stage, nor less time") {
  const Priced on;
  for (int i = 0; i < 60; ++i) {
    support::Random random(i);
    const int pp = 2 << random.below(3), layers = 32 / pp;
    Layout l = in_stages(pp, random.below(2) == 0 || layers % 2 != 0 ? 1 : 2);
    for (int stage = 0; stage < pp; ++stage) l.recompute_by_stage.push_back(random.below(layers));
    const int stage = random.below(pp);
    Layout more = l;
    ++more.recompute_by_stage[static_cast<std::size_t>(stage)];
    CAPTURE(i, pp, l.vp, stage);
    CHECK(on.bytes(more, stage) <= on.bytes(l, stage) * (1 + 1e-12));
    CHECK(on.seconds(more) >= on.seconds(l) * (1 - 1e-12));
    CHECK(on.seconds(l) >= on.seconds(without_recompute(l)) * (1 - 1e-12));
  }
}

TEST_CASE("the fewest recomputed layers by stage fit, one fewer on any stage does not, and no step is longer than with as many on each") {
  const System system = load_system("dgx-h100");
  TrainingQuestion q = tight_job();
  const auto fastest_full = [&] {
    TrainingQuestion all = q;
    all.top = 200;
    for (const PricedLayout& one : plan_training(system, all).layouts)
      if (one.layout.recompute == Recompute::full) return one;
    return PricedLayout{};
  };
  const PricedLayout even = fastest_full();
  q.fewest_by_stage = true;
  const PricedLayout by_stage = fastest_full();
  REQUIRE(even.layout.recompute_layers > 0);
  REQUIRE(by_stage.layout.recompute_by_stage.size() == 8);
  CHECK(by_stage.time.seconds <= even.time.seconds * (1 + 1e-12));
  const std::vector<int>& again = by_stage.layout.recompute_by_stage;
  CHECK(std::accumulate(again.begin(), again.end(), 0) < 80);
  CHECK(std::is_sorted(again.rbegin(), again.rend() - 1));  // the first stage holds the embedding as well
  const double room = Processor::of(system).memory * (1 - headroom_of(q));
  for (std::size_t stage = 0; stage < again.size(); ++stage) {
    const auto needs = [&](const Layout& l) { return memory_of(q.model, l, memory_stack(system, q, l), static_cast<int>(stage)).total(); };
    CHECK(needs(by_stage.layout) <= room);
    if (again[stage] == 0) continue;
    Layout fewer = by_stage.layout;
    --fewer.recompute_by_stage[stage];
    CHECK(needs(fewer) > room);
  }
}

TEST_CASE("a named layout recomputes the fewest layers that fit, too, by stage where asked, whatever it shards") {
  const System system = load_system("dgx-h100");
  TrainingQuestion q = question("llama3-70b", 64, 64, 16384);
  q.tp = 4, q.pp = 8, q.vp = 1, q.dp = 2;
  const PricedLayout named = plan_training(system, q).layouts.front();
  CHECK(named.layout.recompute == Recompute::full);
  CHECK(named.layout.recompute_layers > 0);
  CHECK(named.layout.recompute_layers < 80);
  q.zero = 1, q.fewest_by_stage = true;
  const TrainingPlan by_stage = plan_training(system, q);
  REQUIRE(by_stage.fits);
  CHECK(by_stage.layouts.front().layout.recompute_by_stage.size() == 8);
  CHECK(by_stage.layouts.front().time.seconds <= named.time.seconds);
}

TEST_CASE("a searched division is never slower than the usual one, and is shorter where the output matrix is long") {
  const System system = load_system("dgx-h100");
  int uneven = 0;
  for (const char* model : {"llama3-8b", "llama3-70b", "gemma-3-27b", "gpt3-175b", "qwen3-30b-a3b"})
    for (const int pp : {2, 4, 8}) {
      TrainingQuestion q = question(model, 64, 2048);
      q.pp = pp;
      q.top = 1;
      const TrainingPlan plan = plan_training(system, q);
      if (plan.layouts.empty()) continue;
      const PricedLayout& best = plan.layouts.front();
      Layout usual = best.layout;
      usual.split = {};
      CAPTURE(model, pp, best.layout.split.first, best.layout.split.last);
      GroupCosts costs(system);
      const Processor gpu = Processor::of(system);
      CHECK(best.time.seconds == Approx(step_time(q.model, best.layout, q.stack, gpu, costs).seconds).epsilon(1e-9));
      if (!best.layout.split.given()) continue;
      ++uneven;
      CHECK(best.time.seconds < step_time(q.model, usual, q.stack, gpu, costs).seconds);
      CHECK(is_possible(q.model, best.layout));
    }
  CHECK(uneven > 0);
}

TEST_CASE("divisions to try leave no layer over and differ from each other") {
  for (const char* name : {"llama3-8b", "llama3.1-405b", "deepseek-v3"}) {
    const Model m = load_model(name);
    for (const int pp : {2, 3, 4, 8, 16})
      for (const int vp : {1, 2, 3}) {
        Layout l = in_stages(pp, vp);
        int before = m.layers + 1;
        for (const PipelineSplit& split : uneven_splits(m, l)) {
          l.split = split;
          CAPTURE(name, pp, vp, split.last);
          CHECK(divides_as_given(m, l));
          CHECK(split.last < before);
          before = split.last;
        }
      }
  }
}

TEST_CASE("layers by stage are refused where they are no numbers, one for each stage") {
  auto r = support::job<PlanRequest>("dgx-h100", "llama3-8b", 8, 64);
  r.tp = 2;
  r.pp = 4;
  r.microbatch = 1;
  const auto said = [&](const std::string& text) {
    r.recompute_num_layers_per_stage = text;
    return support::message_of([&] { return answer(r); });
  };
  for (const char* wrong : {"4,3", "4,3,2,x", "4,3,2,-1", "4,,2,1", "4,3,2,1,0", "many"})
    CHECK(support::contains(said(wrong), "recompute_num_layers_per_stage"));
  r.recompute_num_layers_per_stage = "4,3,2,0";
  const PlannedLayout l = answer(r).layouts.front();
  CHECK(l.recompute_num_layers_per_stage == "4,3,2,0");
  CHECK(l.recompute == "full");
}

TEST_CASE("rounds go on without a site that failed, data parallelism waits for all") {
  auto r = support::job<PlanRequest>("dgx-h100", "llama3-8b", 64, 64);
  r.sites = 4;
  r.site_rate = Bandwidth::from_value(12.5e9);
  const PlannedSites always = *answer(r).sites;
  r.site_availability = 0.9;
  const PlannedSites mostly = *answer(r).sites;
  CHECK(mostly.tokens_per_second == Approx(0.9 * always.tokens_per_second));
  CHECK(mostly.plain_tokens_per_second == Approx(0.9 * 0.9 * 0.9 * 0.9 * always.plain_tokens_per_second));
  CHECK(mostly.step.value() == always.step.value());
  CHECK(mostly.gain > always.gain);
}
