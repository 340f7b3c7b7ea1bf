// Tokens, FLOP/s, MFU by both counts, and the interval of a step: counted again here from the model's shape.
#include "questions.hpp"
#include "support/random_cases.hpp"
#include "support/slow_build.hpp"

#include "catch.hpp"

#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/idle_gpus.hpp>

#include <algorithm>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

/// FLOPs of a token, forward and backward: six for every weight it is multiplied with, and scores with `earlier` tokens of either kind of
/// layer: twice over queries and values, forward and twice backward.
double per_token(const Model& m, double sequence, bool causal, double routed_rows = 1) {
  const auto earlier = [&](double max) {
    if (max <= 0 || max >= sequence) return causal ? sequence / 2 : sequence;
    return causal ? max - max * max / (2 * sequence) : max;
  };
  const ParameterCount n = parameters_of(m);
  const double routed = m.expert_layers() * m.top_k * n.expert;
  const double scores = m.full_layers() * (m.query_width() + m.value_width()) * earlier(0) +
                        m.window_layers * (m.query_width() + m.value_width()) * earlier(m.window);
  return 6 * (n.multiplied - (1 - routed_rows) * routed) + 6 * scores;
}

}  // namespace

TEST_CASE("MFU counts all scores, its causal sister the half the mask leaves, over the same step") {
  const System system = load_system("dgx-h100");
  const TrainingQuestion q = question("llama3-8b", 64, 128, 8192);
  const TrainingRates f = rates_of(system, q, 10);
  const double weights = 32 * (4096.0 * (4096 + 2 * 1024 + 4096) + 3 * 4096.0 * 14336) + 4096.0 * 128256;
  const double scores = 32 * 2 * 4096.0 * 8192, tokens = 128 * 8192.0 / (10 * 64);
  CHECK(f.tokens_per_gpu == Approx(tokens));
  CHECK(f.flops_per_gpu == Approx(tokens * 6 * (weights + scores)).epsilon(1e-9));
  CHECK(f.causal_flops_per_gpu == Approx(tokens * 6 * (weights + scores / 2)).epsilon(1e-9));
  CHECK(f.mfu == Approx(f.flops_per_gpu / 989.4e12).epsilon(1e-3));
  CHECK(f.causal_mfu == Approx(f.causal_flops_per_gpu / 989.4e12).epsilon(1e-3));
}

TEST_CASE("no step, and no fast end of its interval, beats its products and the scores that a mask leaves at the peak") {
  int long_ones = 0, refused = 0;
  for (int i = 0; i < support::draws(30); ++i) {
    support::Random random{support::seed * 613ULL + static_cast<std::uint64_t>(i)};
    const System system =
        load_system(random.of(std::vector<std::string>{"dgx-a100", "dgx-h100", "dgx-b200", "gb200-nvl72", "mi300x-8", "tpu-v5p-cube"}));
    const char* model = random.of(std::vector<const char*>{"llama3-8b", "mixtral-8x7b", "qwen3-30b-a3b", "gpt-oss-20b"});
    TrainingQuestion q = question(model, 64, 64, 4096 << (random.one_in(2) ? 8 : random.below(8)));
    q.stack = load_stack(random.of(std::vector<std::string>{"megatron-core", "pytorch-fsdp2", "nemo"}));
    if (random.one_in(2)) q.stack.scale = random.scaled(0.1, 1);
    q.stack.scale_given = q.stack.scale < 1 && random.one_in(2);
    if (random.one_in(3)) q.stack.capacity = random.scaled(0.1, 1);
    q.precision = random.one_in(3) && system.gpu.fp8.value.value() > 0 ? Precision::fp8 : Precision::bf16;
    q.max_tp = 8;
    q.top = 3;
    INFO(i << ": " << model << " on " << system.name << ", " << q.sequence << " tokens, scale " << q.stack.scale);
    TrainingPlan plan;
    try {
      plan = plan_training(system, q);
    } catch (const RequestError& error) {
      CHECK_THAT(error.what(), Catch::Contains("stack_scale") || Catch::Contains("divides"));
      ++refused;
      continue;
    }
    const double rows = q.stack.capacity > 0 ? std::min(1.0, q.stack.capacity) : 1;
    const double peak = Processor::of(system).peak(q.precision), tokens = static_cast<double>(q.global_batch) * q.sequence;
    for (const PricedLayout& p : plan.layouts) {
      const TrainingFigures f = figures_of(system, q, p);
      const double computed = tokens * per_token(q.model, q.sequence, true, rows),
                   all = tokens * per_token(q.model, q.sequence, false, rows);
      CHECK(computed / (q.gpus * f.low) <= peak * (1 + 1e-9));
      CHECK(f.mfu <= 1);
      CHECK(f.causal_mfu <= f.mfu);
      CHECK(f.mfu == Approx(std::min(1.0, all / (q.gpus * p.time.seconds * peak))).epsilon(1e-9));
      CHECK(f.causal_mfu == Approx(computed / (q.gpus * p.time.seconds * peak)).epsilon(1e-9));
      CHECK(f.low <= p.time.seconds);
      CHECK(f.high > p.time.seconds);
      CHECK(p.time.exposed() <= p.time.seconds);
      long_ones += q.sequence > 500000;
    }
  }
  CHECK(long_ones > support::draws(4));
  CHECK(refused < support::draws(15));
}

TEST_CASE("a factor of a stack that would beat the peak is refused with the factor to give") {
  TrainingQuestion q = question("llama3-8b", 64, 64, 8192);
  q.stack.scale = 0.2;
  q.stack.scale_given = true;
  CHECK_THROWS_WITH(plan_training(load_system("dgx-h100"), q), Catch::Contains("stack_scale") && Catch::Contains("is shorter than"));
}

TEST_CASE("A long sequence is planned where kernels skip so many masked scores that all of them would be more than the peak") {
  const System system = load_system("hgx-h20");
  TrainingQuestion q = question("qwen3-30b-a3b", 64, 128, 65536);
  q.stack = load_stack("nemo");
  const PricedLayout best = plan_training(system, q).layouts.front();
  const double peak = Processor::of(system).peak(q.precision);
  CHECK(step_work(q).all_scores > 64 * peak * best.time.seconds);
  CHECK(step_work(q).causal < 64 * peak * best.time.seconds);
  CHECK(figures_of(system, q, best).mfu == 1);
}

TEST_CASE("rows that a capacity drops are no work") {
  const System system = load_system("dgx-h100");
  TrainingQuestion q = question("mixtral-8x7b", 64, 256);
  const double all = rates_of(system, q, 10).flops_per_gpu;
  q.stack.capacity = 2;  // padding is none either
  CHECK(rates_of(system, q, 10).flops_per_gpu == all);
  q.stack.capacity = 0.25;
  const double routed = 32 * 2 * 3 * 4096.0 * 14336;
  CHECK(all - rates_of(system, q, 10).flops_per_gpu == Approx(0.75 * 6 * routed * 256 * 4096 / (10 * 64)).epsilon(1e-6));
}

TEST_CASE("a search leaves a share of the memory free, a layout that is named may fill all of it") {
  const System system = load_system("dgx-h100");
  TrainingQuestion q = question("llama3-70b", 64, 128);
  q.top = 1000;
  const double memory = Processor::of(system).memory;
  CHECK(headroom_of(q) == 0.05);
  for (const PricedLayout& p : plan_training(system, q).layouts) CHECK(p.memory.total() <= 0.95 * memory);
  q.headroom = 0;
  double fullest = 0;
  PricedLayout full;
  for (const PricedLayout& p : plan_training(system, q).layouts)
    if (p.layout.placing == Placing::data_inside && p.memory.total() > fullest) full = p, fullest = p.memory.total();
  REQUIRE(fullest > 0.95 * memory);
  const Layout& l = full.layout;
  TrainingQuestion named = question("llama3-70b", 64, 128);
  named.tp = l.tp;
  named.pp = l.pp;
  named.vp = l.vp;
  named.cp = l.cp;
  named.microbatch = l.microbatch;
  named.zero = l.zero;
  named.recompute = l.recompute;
  named.recompute_modules = l.recompute_modules;
  if (l.recompute_layers > 0) named.recompute_layers = l.recompute_layers;
  named.offload_optimizer = l.offload_optimizer;
  if (l.pp > 1) named.schedule = l.schedule;
  CHECK(headroom_of(named) == 0);
  const TrainingPlan plan = plan_training(system, named);
  REQUIRE(plan.layouts.size() == 1);
  CHECK(plan.layouts.front().memory.total() == Approx(fullest));
  CHECK(fits(plan.layouts.front().memory, memory, headroom_of(named)));
}

TEST_CASE("groups that do not fill a scale-up domain leave the rest of its GPUs idle") {
  const auto idle = [](Layout l, int domain) { return idle_gpus(l, domain); };
  CHECK(idle({.tp = 8, .dp = 8}, 8) == 0);
  CHECK(idle({.tp = 8, .dp = 9}, 72) == 0);
  CHECK(idle({.tp = 4, .dp = 1}, 8) == 4);
  CHECK(idle({.ep = 64, .dp = 64}, 72) == 8);
  CHECK(idle({.ep = 64, .dp = 2048}, 72) == 32 * 8);        // 64 of the 72 of each of 32 racks
  CHECK(idle({.tp = 8, .dp = 256}, 72) == 29 * 72 - 2048);  // replicas of all racks: whole tensor groups, nine a rack
  CHECK(idle({.tp = 8, .ep = 72, .dp = 72}, 72) == 0);      // whole racks
  CHECK(idle({.tp = 8, .pp = 9, .dp = 16, .placing = Placing::stages_inside}, 72) == 0);
  for (int i = 0; i < 2000; ++i) {
    support::Random random{support::seed + static_cast<std::uint64_t>(i)};
    Layout l;
    l.tp = 1 << random.below(4);
    l.pp = 1 + random.below(9);
    l.cp = 1 << random.below(3);
    l.dp = 1 + random.below(64);
    l.ep = random.one_in(2) ? 1 : l.cp * l.tp;
    l.placing = random.one_in(2) ? Placing::data_inside : Placing::stages_inside;
    const int domain = random.of(std::vector<int>{4, 8, 36, 64, 72});
    const int used = used_of_domain(l, domain), none = idle_gpus(l, domain);
    INFO("tp " << l.tp << " pp " << l.pp << " cp " << l.cp << " ep " << l.ep << " dp " << l.dp << " on " << domain);
    REQUIRE(used >= 1);
    REQUIRE(used <= domain);
    REQUIRE(none >= 0);
    REQUIRE((l.gpus() + none) % domain == 0);
    const int needed = needed_gpus(l, domain);
    REQUIRE(needed >= l.gpus());
    REQUIRE((needed + domain - 1) / domain * domain == l.gpus() + none);  // the same domains, the last in part
    REQUIRE(needed / domain * used + std::min(used, needed % domain) >= l.gpus());
    REQUIRE((needed - 1) / domain * used + std::min(used, (needed - 1) % domain) < l.gpus());  // one less holds too few
  }
}

TEST_CASE("A step waits for the slowest of the whole domains that its job takes, idle GPUs included") {
  const System system = load_system("gb200-nvl72");
  const double straggle = Processor::of(system).constants.straggle;
  for (const auto& [model, gpus] : {std::pair{"llama3-70b", 2048}, {"llama3-70b", 128}, {"deepseek-v3", 2048}, {"llama3-8b", 64}}) {
    CAPTURE(model, gpus);
    const TrainingQuestion q = question(model, gpus, 2048);
    for (const PricedLayout& p : plan_training(system, q).layouts) {
      const int domains = (gpus + idle_gpus(p.layout, system.domain)) / system.domain;
      CHECK(domains * system.domain == gpus + idle_gpus(p.layout, system.domain));
      const double before = p.time.seconds - p.time.stragglers;
      CHECK(p.time.stragglers == Approx(straggle * std::sqrt(2 * std::log(domains)) * before).epsilon(1e-9).margin(1e-12));
    }
  }
}
