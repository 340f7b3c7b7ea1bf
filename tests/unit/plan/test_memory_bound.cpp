// The bound that leaves branches of the search out is below every layout that it covers, and falls as states are spread over more ranks.
#include "support/random_layouts.hpp"

#include <catch.hpp>

#include <fabricost/plan/memory/memory.hpp>

#include <limits>

using namespace fabricost::plan;
using namespace fabricost::test;

TEST_CASE("No layout needs less than the bound of its ranks, whatever its schedule, chunks, microbatch and recomputation") {
  RandomJobs jobs(71);
  int close = 0;
  for (int i = 0; i < 3000; ++i) {
    const Model m = jobs.model();
    Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    if (l.pp > 1 && jobs.flip() && !jobs.reschedule(m, l)) continue;
    if (jobs.flip()) l.shard = jobs.pick({1, 2, 4});
    INFO("seed " << jobs.seed << " case " << i << told(m, l) << " schedule " << static_cast<int>(l.schedule));
    double max = 0;
    for (int stage = 0; stage < l.pp; ++stage) max = std::max(max, memory_of(m, l, s, stage).total());
    const double min = min_memory(m, parameters_of(m), l, s);
    CHECK(min <= max * rounding);
    CHECK(min > 0);
    close += min > 0.5 * max;
  }
  CHECK(close > 300);  // not empty words: it is often most of what is needed
}

TEST_CASE("The bound falls as states are sharded further or spread over more stages and expert ranks") {
  RandomJobs jobs(72);
  for (int i = 0; i < 2000; ++i) {
    const Model m = jobs.model();
    Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    const ParameterCount count = parameters_of(m);
    INFO("seed " << jobs.seed << " case " << i << told(m, l));
    double before = std::numeric_limits<double>::infinity();
    for (l.zero = 0; l.zero <= 3; ++l.zero) {
      const double now = min_memory(m, count, l, s);
      CHECK(now <= before * rounding);
      before = now;
    }
    l.zero = jobs.pick({0, 1, 3});
    const auto states = [&](const Layout& at) { return min_memory(m, count, at, s) - runtime_memory(at, s); };
    for (int Layout::*size : {&Layout::pp, &Layout::tp, &Layout::ep}) {
      Layout more = l;
      more.*size *= 2;
      CHECK(states(more) <= states(l) * rounding);
    }
  }
}

TEST_CASE("The stages looked at cover all others") {
  RandomJobs jobs(73);
  std::size_t fewer = 0;
  for (int i = 0; i < 1000; ++i) {
    const Model m = jobs.model();
    const Layout l = jobs.layout(m);
    const std::vector<HeavyStage> heavy = heavy_stages(m, l);
    const LayerSplit split = split_layers(m, l);
    INFO("seed " << jobs.seed << " case " << i << told(m, l));
    for (int stage = 0; stage < l.pp; ++stage) {
      const HeavyStage here = stage_of(split, m, l, stage);
      CHECK(std::any_of(heavy.begin(), heavy.end(), [&](const HeavyStage& h) {
        return h.stage <= stage && h.covers(here) && microbatches_in_flight(l, h.stage) >= microbatches_in_flight(l, stage);
      }));
    }
    fewer += heavy.size() < static_cast<std::size_t>(l.pp);
  }
  CHECK(fewer > 300);
}
