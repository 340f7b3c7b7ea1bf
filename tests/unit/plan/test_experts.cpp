// Routing of tokens in training: the cap of a capacity, the memory of the fullest rank, and agreement of all answers about memory.
#include "questions.hpp"

#include "catch.hpp"

#include <fabricost/plan/explain/nearest_plan.hpp>
#include <fabricost/plan/model/gate.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

TrainingQuestion one_layout(const char* model, int ep, int pp) {
  TrainingQuestion q = question(model, 256, 512);
  q.tp = 1;
  q.pp = pp;
  q.vp = 1;
  q.cp = 1;
  q.ep = ep;
  q.zero = 1;
  q.microbatch = 1;
  q.recompute = Recompute::none;
  return q;
}
PricedLayout priced(const TrainingQuestion& q, const System& system) { return plan_training(system, q).layouts.front(); }

struct Choosing {
  RoutingKind kind;
  double exponent;
};
constexpr Choosing choices[]{{RoutingKind::uniform, 1}, {RoutingKind::zipf, 0.3}, {RoutingKind::zipf, 1}, {RoutingKind::zipf, 2}};

}  // namespace

TEST_CASE("A capacity of one computes, moves and keeps what balanced routing does, whatever is chosen") {
  for (const auto& [model, ep, pp] : {std::tuple{"deepseek-v3", 64, 4}, {"mixtral-8x7b", 8, 2}})
    for (const char* machine : {"dgx-h100", "gb200-nvl72"})
      for (const bool deduplicated : {false, true}) {
        const System system = load_system(machine);
        TrainingQuestion q = one_layout(model, ep, pp);
        q.stack.deduplicated = deduplicated;
        const PricedLayout balanced = priced(q, system);
        q.stack.capacity = 1;
        for (const Choosing& choice : choices) {
          CAPTURE(model, machine, deduplicated, choice.exponent);
          q.stack.routing = choice.kind;
          q.stack.zipf_exponent = choice.exponent;
          const PricedLayout capped = priced(q, system);
          CHECK(capped.time.expert == Approx(balanced.time.expert).epsilon(1e-12));
          CHECK(capped.time.seconds == Approx(balanced.time.seconds).epsilon(1e-12));
          CHECK(capped.memory.total() == Approx(balanced.memory.total()).epsilon(1e-12));
        }
      }
}

TEST_CASE("A lower capacity moves fewer tokens, and none costs more than keeping all of them") {
  const System system = load_system("dgx-h100");
  TrainingQuestion q = one_layout("deepseek-v3", 64, 4);
  q.stack.routing = RoutingKind::zipf;
  const StepTime all = priced(q, system).time;
  double before = 0;
  for (const double capacity : {0.25, 0.5, 1.0, 1.25, 2.0, 100.0}) {
    q.stack.capacity = capacity;
    const StepTime kept = priced(q, system).time;
    CHECK(kept.expert >= before);
    CHECK(kept.seconds <= all.seconds * (1 + 1e-9));
    before = kept.expert;
  }
}

TEST_CASE("The fullest rank keeps the rows it computes: memory follows the routing") {
  const System system = load_system("gb200-nvl72");
  TrainingQuestion q = one_layout("deepseek-v3", 64, 4);
  const PricedLayout even = priced(q, system);
  const Layout& l = even.layout;
  const LayerActivations a = layer_activations(q.model, l, q.stack.memory);
  double before = even.memory.total();
  for (const Choosing& choice : choices) {
    q.stack.routing = choice.kind;
    q.stack.zipf_exponent = choice.exponent;
    const PricedLayout skewed = priced(q, system);
    const int stage = skewed.memory.stage;  // with more layers of experts, perhaps another
    const double kept = memory_of(q.model, l, q.stack.memory, stage).activations;
    const double routed = l.tokens() * skewed.memory.in_flight * stage_content(q.model, l, stage).expert_layers * (a.experts - a.shared);
    const double load = load_imbalance(gate_of(q.model), {choice.kind, choice.exponent, {}}, l.ep, l.tokens() * l.ep);
    CHECK(skewed.memory.activations == Approx(kept + (load - 1) * routed).epsilon(0.01));
    CHECK(skewed.memory.total() > before);
    before = skewed.memory.total();
  }
}

TEST_CASE("The list, the parts and the advice say one memory, whatever the stack, the machine and the routing") {
  for (const char* stack : {"megatron-core", "nemo-mlperf", "nemo"})
    for (const char* machine : {"dgx-h100", "dgx-b200", "gb300-nvl72"})
      for (const auto& [model, ep] : {std::pair{"llama3-70b", 1}, {"mixtral-8x7b", 8}}) {
        CAPTURE(stack, machine, model);
        const System system = load_system(machine);
        TrainingQuestion q = one_layout(model, ep, 1);
        q.stack = load_stack(stack);
        q.stack.routing = RoutingKind::zipf;
        q.precision = Precision::fp8;
        q.gpus = 64;
        q.sequence = 8192;
        q.zero = 0;
        const TrainingPlan plan = plan_training(system, q);
        const PricedLayout& first = plan.layouts.front();
        const MemoryUse parts = worst_stage(q.model, first.layout, memory_stack(system, q, first.layout));
        CHECK(parts.total() == first.memory.total());
        if (plan.fits) continue;
        const std::string advice = does_not_fit(system, q, first), said = fmt::format("{:.1f} GiB a GPU", first.memory.total() / gibibyte);
        CHECK_THAT(advice, Catch::Contains(said));
        CHECK_THAT(advice, Catch::Contains(fmt::format("instead of {:.1f}", first.memory.total() / gibibyte)));
      }
}
