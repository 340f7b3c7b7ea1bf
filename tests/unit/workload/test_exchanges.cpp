// Exchanges of a step under any software: what predict says of them, whatever the stack's factor; and no step below their bytes.
#include "jobs.hpp"
#include "support/slow_build.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/parts.hpp>

#include <catch.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

using namespace fabricost::plan;
using jobs::random_job;

namespace {

StepParts parts_of(const jobs::Job& job, GroupCosts& costs) {
  return parts_of_step(jobs::model(job.model), job.layout, job.stack, Processor::of(costs.system()), costs);
}
StepTime time_of(const jobs::Job& job, GroupCosts& costs) {
  return step_time(jobs::model(job.model), job.layout, job.stack, Processor::of(costs.system()), costs);
}

/// Costs on a machine, compiled once.
GroupCosts& costs_on(const std::string& system) {
  static std::map<std::string, std::unique_ptr<GroupCosts>> known;
  std::unique_ptr<GroupCosts>& at = known[system];
  if (!at) at = std::make_unique<GroupCosts>(jobs::machine(system));
  return *at;
}

}  // namespace

TEST_CASE("no exchange of a step is shorter than what predict says of it", "[exchanges]") {
  int compared = 0;
  for (int i = 0; i < support::draws(1500); ++i) {
    jobs::Job job = random_job(i);
    job.stack.scale = support::Random{support::seed + static_cast<std::uint64_t>(i)}.scaled(0.3, 2);
    const System& system = jobs::machine(job.system);
    for (const StepExchange& x : parts_of(job, costs_on(job.system)).exchanges) {
      const bool trays = system.domain > system.gpus_per_node;  // a group of whole domains is no number of trays
      if (x.group == StepGroup::expert || (x.at.domains > 1 && trays)) continue;
      const Path path = x.group == StepGroup::stages && x.at.domains > 1 ? Path::nic : Path::gpu_gpu;
      const Operation op{.collective = x.collective,
                         .bytes = Bytes::from_value(x.bytes),
                         .ranks = x.at.ranks(),
                         .nodes = x.at.domains > 1 ? x.at.domains : 0,
                         .dtype = DataType::bfloat16,
                         .path = path};
      INFO(i << ": " << job.text() << ", " << step_group_names[static_cast<std::size_t>(x.group)] << " " << name(x.collective) << " of "
             << x.bytes << " bytes, " << x.at.local << " x " << x.at.domains);
      REQUIRE(x.seconds >= predict(system, op).seconds * (1 - 1e-6));
      ++compared;
    }
  }
  CHECK(compared > support::draws(3000));
}

TEST_CASE("a stack's factor changes no exchange, and where nothing hides them not their part of the step", "[exchanges]") {
  for (int i = 0; i < support::draws(500); ++i) {
    jobs::Job slow = random_job(i);
    slow.stack.tensor_exposed = slow.stack.data_exposed = slow.stack.context_exposed = slow.stack.expert_exposed = 1;
    slow.stack.shard_exposed = 1;
    slow.layout.pp = slow.layout.vp = 1;  // of several stages, which is the fullest depends on their kernels
    slow.layout.global_batch = slow.layout.dp * slow.layout.microbatch * 4;
    jobs::Job fast = slow;
    slow.stack.scale = 1.9;
    fast.stack.scale = 0.6;
    GroupCosts& costs = costs_on(slow.system);
    const std::vector<StepExchange> there = parts_of(slow, costs).exchanges, here = parts_of(fast, costs).exchanges;
    INFO(i << ": " << slow.text());
    REQUIRE(there.size() == here.size());
    for (std::size_t k = 0; k < here.size(); ++k) {
      CHECK(here[k].seconds == there[k].seconds);
      CHECK(here[k].count == there[k].count);
      CHECK(here[k].bytes == there[k].bytes);
    }
    const StepTime a = time_of(slow, costs), b = time_of(fast, costs);
    CHECK(a.tensor == b.tensor);
    CHECK(a.context == b.context);
    CHECK(a.expert == b.expert);
    CHECK(b.compute < a.compute);
    if (a.seconds > a.least * (1 + 1e-9) && b.seconds > b.least * (1 + 1e-9))
      CHECK(a.data == Approx(b.data).epsilon(1e-9));
  }
}

TEST_CASE("no step, and no fast end of its interval, is shorter than its exchanges allow", "[exchanges]") {
  int bound = 0;
  for (int i = 0; i < support::draws(3000); ++i) {
    jobs::Job job = random_job(i);
    support::Random random{support::seed * 17ULL + static_cast<std::uint64_t>(i)};
    job.stack.scale = random.scaled(0.05, 1.5);  // below what any software reaches: exchanges are left
    job.stack.expert_exposed = random.uniform(0, 1);
    job.stack.context_exposed = random.uniform(0, 1);
    job.stack.spread = random.scaled(0.05, 1);
    const Model& m = jobs::model(job.model);
    GroupCosts& costs = costs_on(job.system);
    const Processor gpu = Processor::of(costs.system());
    const StepTime t = time_of(job, costs);
    INFO(i << ": " << job.text() << " scale " << job.stack.scale);
    REQUIRE(t.seconds >= t.exposed() * (1 - 1e-12));
    REQUIRE(t.seconds >= t.least);
    const StepWork work = step_work(m, job.layout.sequence, job.layout.global_batch, 0);
    const auto [low, high] = step_interval(t, parts_of(job, costs), job.stack, costs, job.layout.precision, work, job.layout.gpus());
    REQUIRE(low >= t.least);
    REQUIRE(low >= std::min(t.seconds, work.min_seconds(job.layout.gpus(), gpu.peak(job.layout.precision))));
    REQUIRE(low <= t.seconds);
    REQUIRE(high >= t.seconds);
    double inside = 0, across = 0;  // every call, at its links' full rate
    for (const StepExchange& x : parts_of(job, costs).exchanges) {
      if (x.group == StepGroup::expert || x.group == StepGroup::stages) continue;
      (x.at.domains > 1 ? across : inside) += x.count * costs.curve(x.collective, x.at).min_seconds(x.bytes);
    }
    REQUIRE(t.least >= std::max(inside, across) * (1 - 1e-9));
    bound += low == t.least;
  }
  CHECK(bound > support::draws(100));
}
