// Layouts that fit: published ones, those that the advice proposes, and what sharding and computing again never do.
#include "stacks.hpp"

#include "support/random_layouts.hpp"

#include <fabricost/plan/specs/load_model.hpp>

#include <catch.hpp>
#include <fmt/format.h>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

constexpr double gib = 1073741824.0;

Layout on_64() {
  Layout l;
  l.tp = 8;
  l.pp = 1;
  l.dp = 8;
  l.global_batch = 128;
  l.sequence = 8192;
  l.sequence_parallel = true;
  return l;
}

}  // namespace

TEST_CASE("a layout that fits is left as it is") {
  Layout l = on_64();
  l.pp = 4;
  l.dp = 2;
  l.zero = 1;
  l.schedule = PipelineSchedule::one_f_one_b;
  const MemoryAdvice a = smallest_change_that_fits(load_model("llama3-70b"), l, MemoryStack{}, 192 * gib);
  CHECK(a.found);
  CHECK(a.layout.pp == 4);
  CHECK(a.sentence.find("fits as it is") == 0);
}

TEST_CASE("the distributed optimizer is proposed where it is enough") {
  const Model m = load_model("llama3-70b");
  const Layout l = on_64();
  REQUIRE_FALSE(fits(worst_stage(m, l, MemoryStack{}), 140 * gib));
  const MemoryAdvice a = smallest_change_that_fits(m, l, MemoryStack{}, 140 * gib);
  CHECK(a.found);
  CHECK(a.layout.zero == 1);
  CHECK(a.layout.pp == 1);
  CHECK(a.sentence.find("fits with the distributed optimizer (zero 1):") == 0);
  CHECK(fits(a.use, 140 * gib));
}

TEST_CASE("what is proposed fits, is possible and keeps GPUs and batch; nothing cheaper of one change alone fits") {
  RandomJobs jobs(11);
  int found = 0, none = 0;
  for (int i = 0; i < 60; ++i) {
    const Model m = jobs.model();
    const Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    const double capacity = worst_stage(m, l, s).total() * 0.01 * jobs.between(20, 95);
    INFO("seed " << jobs.seed << " case " << i << told(m, l));
    const MemoryAdvice a = smallest_change_that_fits(m, l, s, capacity, 0.05);
    CHECK(a.layout.gpus() == l.gpus());
    CHECK(a.layout.global_batch == l.global_batch);
    CHECK(a.use.total() == Approx(worst_stage(m, a.layout, s).total()));
    CHECK_FALSE(a.sentence.empty());
    if (a.found) {
      ++found;
      CHECK(is_possible(m, a.layout));
      CHECK(fits(a.use, capacity, 0.05));
      Layout optimizer = l;
      optimizer.zero = std::max(1, l.zero);
      if (fits(worst_stage(m, optimizer, s), capacity, 0.05)) CHECK(a.layout.pp == l.pp);
      Layout zero = a.layout, again = a.layout, microbatch = a.layout;  // each with one change taken back
      zero.zero = l.zero;
      again.recompute = l.recompute;
      again.recompute_layers = l.recompute_layers;
      microbatch.microbatch = l.microbatch;
      if (a.layout.zero != l.zero && is_possible(m, zero)) CHECK_FALSE(fits(worst_stage(m, zero, s), capacity, 0.05));
      if (a.layout.recompute != l.recompute && is_possible(m, again)) CHECK_FALSE(fits(worst_stage(m, again, s), capacity, 0.05));
      if (a.layout.microbatch != l.microbatch && is_possible(m, microbatch)) CHECK_FALSE(fits(worst_stage(m, microbatch, s), capacity, 0.05));
    } else {
      ++none;
      CHECK_FALSE(fits(a.use, capacity, 0.05));
      Layout min = l;
      min.zero = 3;
      min.recompute = Recompute::full;
      min.microbatch = 1;
      CHECK_FALSE(fits(worst_stage(m, min, s), capacity, 0.05));
      if (is_possible(m, min)) CHECK(a.use.total() <= worst_stage(m, min, s).total() * (1 + 1e-12));
      CHECK(a.sentence.find("take more GPUs") != std::string::npos);
      CHECK(a.sentence.find(fmt::format(" of {:.1f} GiB", 0.95 * capacity / gib)) != std::string::npos);
    }
  }
  CHECK(found > 10);
  CHECK(none > 0);
}

TEST_CASE("no more layers are computed again than it takes") {
  const Model m = load_model("llama3-70b");
  Layout l = on_64();
  l.pp = 4;
  l.dp = 2;
  l.zero = 1;
  l.schedule = PipelineSchedule::one_f_one_b;
  l.microbatch = 1;
  const MemoryStack stack;
  Layout all = l;
  all.recompute = Recompute::full;
  const double none = worst_stage(m, l, stack).total(), full = worst_stage(m, all, stack).total();
  REQUIRE(full < none);
  for (const double share : {0.2, 0.5, 0.9}) {
    const double capacity = full + share * (none - full);
    const MemoryAdvice a = smallest_change_that_fits(m, l, stack, capacity);
    INFO(a.sentence);
    REQUIRE(a.found);
    if (a.layout.recompute != Recompute::full) continue;
    REQUIRE(a.layout.recompute_layers > 0);
    CHECK(a.sentence.find("full recompute of " + std::to_string(a.layout.recompute_layers) + " of 80 layers") != std::string::npos);
    Layout fewer = a.layout;
    fewer.recompute_layers -= l.pp;
    if (fewer.recompute_layers > 0) CHECK_FALSE(fits(worst_stage(m, fewer, stack), capacity));
  }
}

TEST_CASE("recompute of some layers lies between none and all") {
  const Model m = load_model("llama3-70b");
  Layout l = on_64();
  const MemoryStack stack;
  const double none = memory_of(m, l, stack, 0).activations;
  l.recompute = Recompute::full;
  const double full = memory_of(m, l, stack, 0).activations;
  l.recompute_layers = 20;
  CHECK(memory_of(m, l, stack, 0).activations == Approx(0.25 * full + 0.75 * none));
  l.recompute_layers = 80;
  CHECK(memory_of(m, l, stack, 0).activations == Approx(full));
}

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
