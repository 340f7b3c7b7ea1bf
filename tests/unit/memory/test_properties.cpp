#include "support/random_layouts.hpp"

#include <catch.hpp>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

double needed(const Model& m, const Layout& l, const MemoryStack& s) { return worst_stage(m, l, s).allocated(); }

}  // namespace

TEST_CASE("the worst stage is the worst of all stages") {
  RandomJobs jobs(5);
  int later = 0;
  for (int i = 0; i < 3000; ++i) {
    const Model m = jobs.model();
    Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    if (l.pp > 1 && jobs.pick({0, 1, 2}) == 0 && !jobs.reschedule(m, l)) continue;
    INFO("seed " << jobs.seed << " case " << i << told(m, l) << " schedule " << static_cast<int>(l.schedule));
    MemoryUse worst = memory_of(m, l, s, 0);
    for (int stage = 1; stage < l.pp; ++stage)
      if (const MemoryUse use = memory_of(m, l, s, stage); use.total() > worst.total()) worst = use;
    const MemoryUse found = worst_stage(m, l, s);
    CHECK(found.total() >= worst.total() / rounding);
    CHECK(found.total() <= worst.total());
    later += worst.stage > 0 && worst.stage < l.pp - 1;
  }
  CHECK(later > 50);  // the case is in the test
}

TEST_CASE("items are not negative and add up") {
  RandomJobs jobs(6);
  for (int i = 0; i < 1000; ++i) {
    const Model m = jobs.model();
    const Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    const MemoryUse u = memory_of(m, l, s, jobs.between(0, l.pp - 1));
    INFO("seed " << jobs.seed << " case " << i << told(m, l));
    for (const double item :
         {u.weights, u.gradients, u.optimizer, u.activations, u.recompute, u.vocabulary, u.buffers, u.runtime, u.communicators,
          u.fragmentation})
      CHECK(item >= 0);
    CHECK(u.total() == Approx(u.weights + u.gradients + u.optimizer + u.activations + u.recompute + u.vocabulary + u.buffers + u.runtime +
                              u.communicators + u.fragmentation));
  }
}

TEST_CASE("sharding more never needs more") {
  RandomJobs jobs(7);
  for (int i = 0; i < 2000; ++i) {
    const Model m = jobs.model();
    Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    double before = 1e300;
    for (l.zero = 0; l.zero <= 3; ++l.zero) {
      INFO("seed " << jobs.seed << " case " << i << told(m, l));
      const double now = needed(m, l, s);
      CHECK(now <= before * rounding);
      before = now;
    }
  }
}

TEST_CASE("computing more again never needs more") {
  RandomJobs jobs(8);
  for (int i = 0; i < 2000; ++i) {
    const Model m = jobs.model();
    Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    double before = 1e300;
    for (const Recompute again : {Recompute::none, Recompute::selective, Recompute::full}) {
      l.recompute = again;
      INFO("seed " << jobs.seed << " case " << i << told(m, l));
      const double now = needed(m, l, s);
      CHECK(now <= before * rounding);
      before = now;
    }
  }
}

TEST_CASE("more tensor or expert ranks, sequence parallel, smaller microbatches never need more") {
  RandomJobs jobs(9);
  for (int i = 0; i < 2000; ++i) {
    const Model m = jobs.model();
    const Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    INFO("seed " << jobs.seed << " case " << i << told(m, l));
    const double before = needed(m, l, s);
    Layout tensor = l;
    tensor.tp *= 2;
    if (is_possible(m, tensor)) CHECK(needed(m, tensor, s) <= before * rounding);
    Layout experts = l;
    experts.ep *= 2;
    if (is_possible(m, experts)) CHECK(needed(m, experts, s) <= before * rounding);
    Layout sequence = l;
    sequence.sequence_parallel = true;
    CHECK(needed(m, sequence, s) <= before * rounding);
    Layout half = l;
    half.microbatch /= 2;
    // more microbatches: a pipeline that was not full may hold more of them, not more tokens
    if (half.microbatch >= 1 && is_possible(m, half)) CHECK(needed(m, half, s) <= before * rounding);
  }
}

TEST_CASE("more stages never need more where layers divide") {
  RandomJobs jobs(10);
  int tried = 0;
  while (tried < 300) {
    Model m = jobs.model();
    // stages alike
    m.first_dense = 0;
    m.expert_every = 1;
    Layout l = jobs.layout(m);
    MemoryStack s = jobs.stack();
    s.dropout = false;  // the embedding's masks are kept for every microbatch in flight, and more stages have more in flight
    l.vp = 1;
    l.schedule = PipelineSchedule::one_f_one_b;
    Layout more = l;
    more.pp *= 2;
    if (m.layers % more.pp != 0 || !is_possible(m, more)) continue;
    if (l.pp == 1 && l.zero == 2) continue;  // with stages its gradients are no longer sharded
    ++tried;
    INFO("seed " << jobs.seed << " case " << tried << told(m, l));
    CHECK(needed(m, more, s) <= needed(m, l, s) * rounding);
  }
}
