// Jobs that leave GPUs idle, batches near the one given, and plain layouts: more GPUs never make a step longer.
// FABRICOST_QUESTIONS sets how many random plans are asked (default 120; a release is asked 100,000), FABRICOST_FIRST where they start.
#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/specs/load.hpp>
#include "training/search_space.hpp"

#include "catch.hpp"
#include "questions.hpp"
#include "support/number_of.hpp"
#include "support/random_cases.hpp"

using namespace fabricost::observe;
using fabricost::test::question;

namespace {

/// As a user asks.
TrainingQuestion asked(const char* model, int gpus, int batch, int sequence = 4096) {
  TrainingQuestion q = question(model, gpus, batch, sequence);
  q.fewer = true;
  q.plain_within = plainer_within;
  q.top = 1;
  return q;
}
double step_of(const TrainingQuestion& q, const System& system) { return plan_training(system, q).layouts.front().time.seconds; }

long long questions() { return support::number_of("FABRICOST_QUESTIONS", 120); }
/// The first question, to ask one again that failed.
long long first_question() { return support::number_of("FABRICOST_FIRST", 0); }

PlanRequest request(const char* model, const char* system, int gpus, int batch, int sequence) {
  PlanRequest r;
  r.model = {model};
  r.system = {system};
  r.gpus = gpus;
  r.global_batch = batch;
  r.sequence = sequence;
  r.stack = "nemo";
  r.top = 1;
  return r;
}

}  // namespace

TEST_CASE("the search over fewer GPUs finds the best of searches on every smaller number") {
  for (const auto& [model, machine, most, batch] : {std::tuple{"llama3-8b", "dgx-h100", 23, 24},
                                                    {"gpt3-20b", "dgx-a100", 40, 96},
                                                    {"mixtral-8x7b", "dgx-h100", 29, 48},
                                                    {"llama3-70b", "gb200-nvl72", 76, 60}}) {
    const System system = load_system(machine);
    TrainingQuestion q = question(model, most, batch);
    q.top = 1;
    double best = std::numeric_limits<double>::infinity();
    for (q.gpus = 1; q.gpus <= most; ++q.gpus) {
      CAPTURE(model, q.gpus);
      q.fewer = false;
      try {
        if (const TrainingPlan plan = plan_training(system, q); !plan.layouts.empty())
          best = std::min(best, plan.layouts.front().time.seconds);
      } catch (const RequestError&) {  // so many GPUs divide nothing
      }
      if (std::isinf(best) || (q.gpus % 5 != 0 && q.gpus + 4 < most)) continue;
      q.fewer = true;
      CHECK(step_of(q, system) == Approx(best).epsilon(1e-12));
    }
  }
}

TEST_CASE("a layout that is named with its replicas runs on all GPUs or is refused, one without them takes as many as divide the batch") {
  const System system = load_system("dgx-h100");
  TrainingQuestion q = asked("llama3-70b", 576, 2048, 4096);
  q.tp = 8;
  q.pp = 8;
  q.cp = 1;
  const PricedLayout best = plan_training(system, q).layouts.front();
  CHECK(best.layout.dp == 8);
  CHECK(best.layout.gpus() == 512);
  q.dp = 8;
  CHECK_THROWS_WITH(plan_training(system, q), Catch::Contains("512") && Catch::Contains("does not divide 576 GPUs"));
  q.gpus = 512;
  CHECK(step_of(q, system) == best.time.seconds);
}

TEST_CASE("more GPUs never make a step longer: random jobs") {
  std::vector<System> machines;
  for (const SystemName& one : system_names())
    if (System system = load_system(one.name); system.pod == 0) machines.push_back(std::move(system));
  std::vector<Model> models;
  for (const char* one : {"llama3-8b", "llama3-70b", "gpt3-20b", "mixtral-8x7b", "llama3.1-405b", "deepseek-v2-lite"}) try {
      models.push_back(load_model(one));
    } catch (const RequestError&) {  // no such model
    }
  REQUIRE(models.size() >= 5);
  const Stack megatron = load_stack("megatron-core"), fsdp = load_stack("pytorch-fsdp2");
  long long plans = 0, compared_with = 0, idle = 0;
  for (long long i = first_question(); plans < questions(); ++i) {
    support::Random random{support::seed + 7919ULL * static_cast<std::uint64_t>(i)};
    const System& system = random.of(machines);
    TrainingQuestion q;
    q.model = random.of(models);
    q.stack = random.one_in(4) ? fsdp : megatron;
    q.sequence = 1024 << random.below(4);
    q.global_batch = random.one_in(2) ? 1 << random.below(11) : 1 + random.below(1500);
    if (random.one_in(4)) q.tp = 1 << random.below(4);
    if (random.one_in(6)) q.pp = 1 + random.below(9);
    if (random.one_in(6)) q.zero = q.pp ? 1 : random.below(4);
    if (random.one_in(6)) q.recompute = static_cast<Recompute>(random.below(3));
    if (random.one_in(8)) q.microbatch = 1 << random.below(3);
    if (names_one_layout(q)) q.microbatch.reset();
    const auto stated = stated_gpus(system);
    const bool joined = system.tier(TierRole::nic) != nullptr;
    const double most = std::min({stated ? double(*stated) : 700.0, joined ? 700.0 : double(system.domain), 700.0});
    std::vector<int> sizes;
    for (int k = 0; k < 5; ++k) sizes.push_back(static_cast<int>(random.scaled(1, most + 0.5)));
    std::sort(sizes.begin(), sizes.end());
    q.top = 1;
    double exact = std::numeric_limits<double>::infinity(), plain = exact;
    for (const int gpus : sizes) {
      q.gpus = gpus;
      INFO(system.name << " " << q.model.name << " " << gpus << " GPUs, batch " << q.global_batch << " of " << q.sequence
                       << " tokens, stack " << q.stack.name << ", tp " << q.tp.value_or(0) << " pp " << q.pp.value_or(0) << " zero "
                       << q.zero.value_or(-1) << " recompute " << (q.recompute ? static_cast<int>(*q.recompute) : -1) << " microbatch "
                       << q.microbatch.value_or(0) << ", question " << i);
      double step = std::numeric_limits<double>::infinity(), fastest = step;
      try {
        q.plain_within = plainer_within;
        if (const TrainingPlan plan = plan_training(system, q); plan.fits && !plan.layouts.empty()) {
          step = plan.layouts.front().time.seconds;
          idle += plan.layouts.front().layout.gpus() < gpus;
        }
        q.plain_within = 0;
        if (const TrainingPlan plan = plan_training(system, q); plan.fits && !plan.layouts.empty())
          fastest = plan.layouts.front().time.seconds;
      } catch (const RequestError&) {  // so many GPUs divide nothing
      }
      ++plans;
      compared_with += !std::isinf(exact);
      REQUIRE(fastest <= exact);
      REQUIRE(step <= plain * (1 + plainer_within) * (1 + 1e-12));
      exact = fastest;
      plain = std::min(plain, step);
    }
  }
  std::printf("  %lld plans, %lld of them beside a smaller number of GPUs, %lld leave GPUs idle\n", plans, compared_with, idle);
  CHECK(compared_with > plans / 4);
  CHECK(idle > 0);
}

TEST_CASE("what is given never makes the best faster: random jobs") {
  std::vector<System> machines, pods;
  for (const SystemName& one : system_names()) machines.push_back(load_system(one.name));
  for (const System& one : machines)
    if (one.pod > 0) pods.push_back(one);
  std::vector<Model> models;
  for (const char* one : {"llama3-8b", "llama3.1-405b", "mixtral-8x7b", "deepseek-v3"}) models.push_back(load_model(one));
  long long compared_with = 0;
  for (long long i = first_question(); compared_with < questions() / 4; ++i) {
    support::Random random{support::seed + 104729ULL * static_cast<std::uint64_t>(i)};
    const System& system = random.of(random.one_in(2) ? pods : machines);
    TrainingQuestion q;
    q.model = random.of(models);
    q.stack = load_stack(usual_stack(system.gpu.generation));
    q.sequence = 2048 << random.below(3);
    q.global_batch = 1 << (4 + random.below(8));
    q.gpus = 1 << random.below(11);
    q.headroom = default_headroom;
    q.top = 1;
    q.plain_within = 0;
    const auto best = [&]() -> std::optional<PricedLayout> {
      try {
        const TrainingPlan plan = plan_training(system, q);
        if (plan.fits && !plan.layouts.empty()) return plan.layouts.front();
      } catch (const RequestError&) {  // so many GPUs divide nothing
      }
      return std::nullopt;
    };
    const std::optional<PricedLayout> open = best();
    if (!open) continue;
    INFO(system.name << " " << q.model.name << " " << q.gpus << " GPUs, batch " << q.global_batch << " of " << q.sequence << " tokens, question "
                     << i);
    const TrainingQuestion all = q;
    const std::vector<std::pair<const char*, std::optional<int> TrainingQuestion::*>> fields{
        {"tp", &TrainingQuestion::tp}, {"pp", &TrainingQuestion::pp}, {"vp", &TrainingQuestion::vp},
        {"cp", &TrainingQuestion::cp}, {"zero", &TrainingQuestion::zero}, {"microbatch", &TrainingQuestion::microbatch}};
    if (open->layout.recompute == Recompute::full && q.stack.runs.recomputes != Recomputes::all) {
      for (const int layers : {open->layout.recompute_layers, 1 + random.below(q.model.layers)}) {
        if (layers == 0) continue;
        q.recompute = Recompute::full;
        q.recompute_layers = layers;
        INFO(layers << " layers recomputed");
        const std::optional<PricedLayout> given = best();
        if (layers == open->layout.recompute_layers) CHECK((given && given->time.seconds == Approx(open->time.seconds).epsilon(1e-12)));
        if (given) CHECK(given->time.seconds >= open->time.seconds * (1 - 1e-12));
      }
    }
    for (const auto& [name, field] : fields) {
      q = all;
      q.*field = field == &TrainingQuestion::zero ? random.below(4) : 1 << random.below(5);
      if (q.cp && q.sequence / *q.cp < 1024) continue;  // a search leaves out so short parts
      if (const std::optional<PricedLayout> given = best()) {
        INFO(name << " " << *(q.*field));
        ++compared_with;
        CHECK(given->time.seconds >= open->time.seconds * (1 - 1e-12));
      }
    }
  }
}

TEST_CASE("a layout that takes more scale-up domains than the GPUs fill is no plainer one") {
  const System system = load_system("gb200-nvl72");
  TrainingQuestion q = asked("llama3.1-405b", 288, 288, 8192);
  q.stack = load_stack("nemo-2025-09");
  const TrainingPlan plan = plan_training(system, q);
  CHECK(idle_gpus(plan.layouts.front().layout, system) == 0);
  CHECK(plan.fastest->time.seconds <= plan.layouts.front().time.seconds);
  CHECK(plan.layouts.front().time.seconds <= plan.fastest->time.seconds * (1 + plainer_within));
}

TEST_CASE("a wider range of batches never trains fewer tokens a second: random jobs") {
  const std::vector<System> machines{load_system("dgx-h100"), load_system("dgx-b200"), load_system("gb200-nvl72"), load_system("dgx-a100")};
  const std::vector<Model> models{load_model("llama3-8b"), load_model("llama3-70b"), load_model("mixtral-8x7b"),
                                  load_model("qwen3-30b-a3b")};
  const Stack stack = load_stack("nemo");
  long long plans = 0, shorter = 0;
  for (long long i = first_question(); plans < questions() / 2; ++i) {
    support::Random random{support::seed + 15485863ULL * static_cast<std::uint64_t>(i)};
    const System& system = random.of(machines);
    TrainingQuestion q;
    q.model = random.of(models);
    q.stack = stack;
    q.fewer = true;
    q.top = 1;
    q.plain_within = 0;
    q.gpus = 1 + random.below(72);
    q.global_batch = 8 + random.below(300);
    if (random.one_in(3)) q.gpus = std::max(8, q.gpus / 8 * 8);
    double least = std::numeric_limits<double>::infinity();
    for (const double within : {0.0, 0.02, 0.05, 0.1, 0.2}) {
      q.batch_within = within;
      const TrainingPlan plan = plan_training(system, q);
      ++plans;
      if (!plan.fits || plan.layouts.empty()) continue;
      const double now = fabricost::plan::seconds_a_sequence(plan.layouts.front());
      INFO(system.name << " " << q.model.name << " " << q.gpus << " GPUs, batch " << q.global_batch << " within " << within << ", question "
                       << i);
      REQUIRE(now <= least * (1 + 1e-12));
      shorter += now < least && !std::isinf(least);
      least = now;
    }
  }
  std::printf("  %lld plans, %lld of them faster than with a narrower range\n", plans, shorter);
  CHECK(shorter > 0);
}

TEST_CASE("need finds no number of nodes that fails above one that is enough") {
  NeedRequest r;
  static_cast<PlanRequest&>(r) = request("llama3-8b", "dgx-h100", 0, 512, 8192);
  r.gpus.reset();
  const PlannedLayout at28 = answer(request("llama3-8b", "dgx-h100", 28 * 8, 512, 8192)).layouts.front();
  r.unknown = "nodes";
  r.over = "20,24,28,29,30,31,32,33,40";
  r.step = (1 + 2 * plainer_within) * at28.step;
  const NeedAnswer a = answer(r);
  REQUIRE(a.value);
  CHECK(*a.value <= 28);
  for (const NeedTried& one : a.tried) CHECK(one.holds == (one.value >= *a.value));
  const PlannedLayout at29 = answer(request("llama3-8b", "dgx-h100", 29 * 8, 512, 8192)).layouts.front();
  REQUIRE(at29.used_gpus < at29.gpus);  // 29 divides nothing
  const auto row = std::find_if(a.tried.begin(), a.tried.end(), [](const NeedTried& one) { return one.value == 29; });
  CHECK_THAT(row->binds, Catch::StartsWith(std::to_string(at29.gpus - at29.used_gpus) + " idle; "));
}

TEST_CASE("a projected run never takes longer on more GPUs, pays for idle ones and takes its spares from them first") {
  ProjectRequest r;
  static_cast<PlanRequest&>(r) = request("llama3-8b", "dgx-h100", 0, 512, 8192);
  r.systems.all = {Machine{"dgx-h100"}};
  r.tokens = 1e12;
  double before = std::numeric_limits<double>::infinity();
  for (const int nodes : {28, 29, 31, 32, 33, 40}) {
    r.gpus = 8 * nodes;
    const ProjectedRun run = answer(r).rows.front();
    REQUIRE(run.trouble.empty());
    CHECK(run.gpus == 8 * nodes);
    CHECK(run.time.value() <= before * (1 + plainer_within));
    CHECK(run.failures->nodes == std::ceil(run.used_gpus / 8.0));
    const int idle = nodes - run.used_gpus / 8;
    CHECK(run.paid_gpus == 8 * (nodes + std::max(0, run.spares - idle)));
    before = run.time.value();
  }
}

TEST_CASE("no microbatch that is named beats the search by more than a plainer layout may take longer: random jobs") {
  long long compared = 0, above_16 = 0;
  for (long long i = first_question(); i < first_question() + questions() / 4; ++i) {
    support::Random random{support::seed + 104729ULL * static_cast<std::uint64_t>(i)};
    const System system = load_system(random.of(std::vector<std::string>{"dgx-h100", "dgx-a100", "dgx-b200", "l40s-pcie", "gb200-nvl72"}));
    const int gpus = 1 << random.below(system.domain > 8 ? 7 : 4), sequence = 64 << random.below(6);
    const int batch = random.one_in(2) ? gpus << random.below(10) : gpus * (1 + random.below(300));
    TrainingQuestion q = asked(random.of(std::vector<const char*>{"bert-base", "bert-large", "qwen3-0.6b", "gemma-3-1b", "deepseek-v2-lite"}),
                               gpus, batch, sequence);
    q.stack = load_stack(random.of(std::vector<const char*>{"nemo", "torchtitan", "megatron-core"}));
    INFO(system.name << " " << q.model.name << " " << gpus << " GPUs, batch " << batch << " of " << sequence << " tokens, stack "
                     << q.stack.name << ", question " << i);
    const TrainingPlan plan = plan_training(system, q);
    if (!plan.fits || plan.layouts.empty()) continue;
    above_16 += plan.layouts.front().layout.microbatch > 16;
    for (const int microbatch : divisors(batch, batch)) {
      q.microbatch = microbatch;
      try {
        const TrainingPlan named = plan_training(system, q);
        if (!named.fits || named.layouts.empty()) continue;
        CAPTURE(microbatch);
        ++compared;
        CHECK(plan.fastest->time.seconds <= named.fastest->time.seconds * (1 + 1e-9));
        CHECK(plan.layouts.front().time.seconds <= named.fastest->time.seconds * (1 + plainer_within));
      } catch (const RequestError&) {  // so many sequences divide nothing
      }
    }
  }
  CHECK(compared > questions());
  CHECK(above_16 > 0);
}

TEST_CASE("leaving layouts out by their bounds loses no faster one: random jobs of every program") {
  const std::vector<std::string> stacks = stack_names();
  long long compared = 0, pruned = 0;
  for (long long i = first_question(); i < first_question() + questions() / 2; ++i) {
    support::Random random{support::seed + 15485863ULL * static_cast<std::uint64_t>(i)};
    const System system = load_system(random.of(std::vector<std::string>{"dgx-h100", "dgx-b200", "l40s-pcie", "tpu-v5p-cube", "mi300x-8"}));
    const int gpus = 4 << random.below(3);
    TrainingQuestion q = question(random.of(std::vector<const char*>{"llama3-8b", "qwen3-0.6b", "bert-large", "gemma-3-1b", "deepseek-v2-lite"}), gpus,
                                  gpus << random.below(4), 256 << random.below(4));
    q.stack = load_stack(random.of(stacks));
    q.top = 1;
    INFO(system.name << " " << q.model.name << " " << gpus << " GPUs, batch " << q.global_batch << " of " << q.sequence << " tokens, stack "
                     << q.stack.name << ", question " << i);
    try {
      const TrainingPlan plan = plan_training(system, q);
      q.prune = false;
      const TrainingPlan all = plan_training(system, q);
      if (!all.fits || all.layouts.empty()) continue;
      ++compared;
      pruned += plan.evaluated < all.evaluated;
      REQUIRE(!plan.layouts.empty());
      CHECK(plan.layouts.front().time.seconds == Approx(all.layouts.front().time.seconds).epsilon(1e-12));
    } catch (const RequestError&) {  // the machine does not run it
    }
  }
  CHECK(compared > questions() / 8);
  CHECK(pruned > compared / 2);
}
