// An explained step: its kernels and exchanges are those that were priced, its sentences have no empty places, and the usual layout is one
// that the search has looked at.
#include "questions.hpp"

#include "catch.hpp"

#include <fabricost/plan/economics/terms.hpp>
#include <fabricost/plan/explain/step.hpp>
#include <fabricost/plan/training/parts.hpp>
#include <fabricost/specs/load.hpp>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

struct ExplainedJob {
  const char *model, *machine;
  int gpus, batch;
};
constexpr ExplainedJob explained_jobs[] = {{"llama3-8b", "dgx-h100", 16, 64},
                                           {"llama3-70b", "dgx-a100", 256, 512},
                                           {"llama3.1-405b", "dgx-h100", 1024, 512},
                                           {"mixtral-8x7b", "dgx-h100", 64, 256},
                                           {"deepseek-v3", "gb200-nvl72", 512, 2048},
                                           {"gpt3-175b", "superpod-h100", 512, 1536},
                                           {"qwen3-next-80b-a3b", "gb200-nvl72", 64, 512}};

/// Layouts of all kinds of recomputation, the fastest of each.
std::vector<std::pair<TrainingQuestion, PricedLayout>> priced(const ExplainedJob& job, const System& system) {
  std::vector<std::pair<TrainingQuestion, PricedLayout>> out;
  for (const Recompute again : {Recompute::none, Recompute::selective, Recompute::full})
    for (const int zero : {0, 1, 2, 3}) {
      TrainingQuestion q = question(job.model, job.gpus, job.batch);
      q.top = 3;
      q.recompute = again;
      q.zero = zero;
      for (const PricedLayout& one : plan_training(system, q).layouts) out.emplace_back(q, one);
    }
  return out;
}

StepParts parts_of(const TrainingQuestion& q, const System& system, const Layout& layout) {
  GroupCosts costs(system, {.ways = q.ways});
  Stack stack = q.stack;
  stack.memory = memory_on(stack.memory, system.gpu.generation);
  return parts_of_step(q.model, layout, stack, Processor::of(system), costs);
}

}  // namespace

TEST_CASE("Kernels and exchanges of an explained step sum to the terms that were priced") {
  int seen = 0;
  for (const ExplainedJob& job : explained_jobs) {
    const System system = load_system(job.machine);
    for (const auto& [q, one] : priced(job, system)) {
      ++seen;
      const StepParts parts = parts_of(q, system, one.layout);
      const StepKernels& k = parts.kernels;
      INFO(job.model << " tp " << one.layout.tp << " pp " << one.layout.pp << " ep " << one.layout.ep << " zero " << one.layout.zero);
      const auto close = Approx(one.time.compute).epsilon(1e-9);
      CHECK(k.products + k.attention + k.scan + k.element + k.adapters + k.repeated + k.head == close);
      std::map<StepGroup, double> total;
      for (const StepExchange& x : parts.exchanges) {
        CHECK(x.bytes > 0);
        CHECK(x.seconds > 0);
        CHECK(x.at.ranks() > 1);
        total[x.group] += x.total();
      }
      const double exposed = one.layout.tp > system.domain ? 1 : q.stack.tensor_exposed;
      CHECK(exposed * total[StepGroup::tensor] == Approx(one.time.tensor).epsilon(1e-9));
      CHECK(q.stack.expert_exposed * total[StepGroup::expert] == Approx(one.time.expert).epsilon(1e-9));
      CHECK(total[StepGroup::data] + total[StepGroup::expert_data] >= one.time.data * (1 - 1e-9));
      CHECK(total[StepGroup::context] >= one.time.context * (1 - 1e-9));
      CHECK((one.layout.pp > 1) == (total[StepGroup::stages] > 0));
    }
  }
  CHECK(seen > 50);
}

TEST_CASE("products hide no exchange of tensor ranks that leave their domain") {
  const System system = load_system("dgx-h100");
  TrainingQuestion q = question("llama3-70b", 64, 256, 8192);
  q.stack = load_stack("nemo");
  REQUIRE(q.stack.tensor_exposed < 1);
  q.pp = q.microbatch = q.zero = 1;
  for (const int tp : {8, 16}) {
    q.tp = tp;
    const PricedLayout one = plan_training(system, q).layouts.front();
    double all = 0;
    for (const StepExchange& x : parts_of(q, system, one.layout).exchanges)
      if (x.group == StepGroup::tensor) all += x.total();
    CHECK(one.time.tensor == Approx((tp > system.domain ? 1 : q.stack.tensor_exposed) * all).epsilon(1e-9));
  }
}

TEST_CASE("No explained exchange of experts inside a domain is faster than the domain's links") {
  std::mt19937_64 random(13);
  const System system = load_system("dgx-h100");
  const double link = system.tier(TierRole::scale_up)->bandwidth.value.value();
  int seen = 0;
  for (int i = 0; i < 12; ++i) {
    TrainingQuestion q = question(random() % 2 == 0 ? "mixtral-8x7b" : "qwen3-30b-a3b", 16, 32 << random() % 4);
    q.ep = 2 << random() % 3;
    q.tp = 1;
    q.top = 1;
    for (const PricedLayout& one : plan_training(system, q).layouts)
      for (const ExplainedTerm& term : explain_step(system, q, one).terms)
        for (const std::string& sentence : term.how) {
          const auto rate = sentence.find("ms each (");
          if (sentence.find("dispatch or combine") == std::string::npos || rate == std::string::npos) continue;
          ++seen;
          INFO(sentence);
          CHECK(1e9 * std::stod(sentence.substr(rate + 9)) <= link);
        }
  }
  CHECK(seen > 4);
}

TEST_CASE("The usual layout fits and is never faster than the search's") {
  for (const ExplainedJob& job : explained_jobs) {
    const System system = load_system(job.machine);
    TrainingQuestion q = question(job.model, job.gpus, job.batch);
    const PricedLayout best = plan_training(system, q).layouts.front();
    const auto usual = usual_layout(system, q);
    INFO(job.model);
    REQUIRE(usual);
    CHECK(fits(usual->memory, Processor::of(system).memory, headroom_of(q)));
    CHECK(usual->time.seconds >= best.time.seconds * (1 - 1e-12));
    CHECK(usual->layout.tp <= (q.model.mixture() ? 1 : 8));
    q.max_tp = 4;
    const auto narrow = usual_layout(system, q);
    REQUIRE(narrow);
    CHECK(narrow->layout.tp <= 4);
  }
}
