// The search over layouts: pruning loses nothing, refusals name a possible request, answers are possible and consistent.
#include "questions.hpp"

#include "catch.hpp"
#include "support/slow_build.hpp"

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/economics/compare.hpp>
#include <fabricost/specs/load.hpp>

#include <cstddef>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

double sum(const StepTime& t) {
  return t.compute + t.floor + t.tensor + t.context + t.expert + t.pipeline + t.bubble + t.data + t.accumulation + t.optimizer +
         t.stragglers + t.offload;
}

/// Every layout of small integers, tried one by one: shares nothing with the search but is_possible, the price and the memory.
struct Tried {
  std::vector<double> seconds;  // of those that fit
  std::vector<double> listed;   // of those that no other differs from in placing and context alone
  long long fitting = 0, unfit = 0;
};
Tried try_all(const TrainingQuestion& q, const System& system) {
  Tried out;
  const Processor gpu = Processor::of(system);
  GroupCosts costs{system};
  const int max_tp = q.max_tp > 0 ? q.max_tp : system.domain;
  using enum RecomputeModule;
  struct Again {
    Recompute kind;
    std::vector<RecomputeModule> modules;
  };
  std::vector<Again> agains{{Recompute::none, {}}, {Recompute::full, {}}};
  if (q.model.latent()) agains.push_back({Recompute::selective, {}});  // elsewhere it drops nothing: attention is fused
  if (!q.model.mixture())
    agains.push_back({Recompute::selective, {mlp}});
  else
    for (std::vector<RecomputeModule> modules : {std::vector{moe_act}, {moe}, {layernorm}, {layernorm, moe_act}}) {
      if (q.model.latent()) modules.push_back(mla_up_proj);
      agains.push_back({Recompute::selective, modules});
    }
  const auto fitting = [&](const Layout& l) {  // stage by stage, none left out
    for (int stage = 0; stage < l.pp; ++stage) {
      const MemoryUse use = memory_of(q.model, l, q.stack.memory, stage);
      if (!fits(use, gpu.memory, headroom_of(q), host_room(system))) return false;
    }
    return true;
  };
  const auto saved = [&](Layout l) {  // the least that makes it fit, one layer a stage or a tenth of the states after the other
    if (l.recompute == Recompute::full) {
      for (l.recompute_layers = l.pp; !fitting(l) && l.recompute_layers > 0;)
        l.recompute_layers = l.recompute_layers + l.pp < q.model.layers ? l.recompute_layers + l.pp : 0;
      for (int each = 1; l.recompute_layers > 0; ++each)  // as many of each chunk, as Megatron-Core can
        if (const int all = recomputed_of_chunks(q.model, l, each); all >= l.recompute_layers) {
          l.recompute_layers = all < q.model.layers ? all : 0;
          break;
        }
    }
    for (int tenths = 1; !fitting(l) && tenths <= 10; ++tenths) l.offload_optimizer = tenths / 10.0;
    return l;
  };
  // the usual one, and others whose longest stage is shorter before any layer is repeated
  const auto divisions = [&](Layout l) {
    std::vector<PipelineSplit> kept{{}};
    if (l.pp == 1) return kept;
    l.split = {};
    if (l.recompute == Recompute::full) l.recompute = Recompute::none;
    const LayerTimes layers = layer_times(q.model, l, q.stack, gpu, costs);
    const double usual = longest_stage(q.model, layers, long_stages(q.model, l));
    for (const PipelineSplit& split : uneven_splits(q.model, l)) {
      l.split = split;
      if (longest_stage(q.model, layers, long_stages(q.model, l)) < usual) kept.push_back(split);
    }
    return kept;
  };
  for (int tp = 1; tp <= max_tp; ++tp)
    for (int pp = 1; pp <= q.model.layers + 2 && tp * pp <= q.gpus; ++pp)
      for (int cp = 1; cp <= 64 && tp * pp * cp <= q.gpus; ++cp) {
        if (q.gpus % (tp * pp * cp) != 0 || q.sequence % (2 * cp) != 0 || (cp > 1 && q.sequence / cp < 1024)) continue;
        for (int ep = 1; ep <= std::max(1, q.model.experts); ++ep)
          for (int expert_tp = 1; expert_tp <= tp; ++expert_tp) {
            if (expert_tp != 1 && (expert_tp != tp || ep == 1)) continue;
            // of those that differ in placing, context and chunks alone, the fastest is listed
            std::map<std::tuple<int, bool, int, int, std::size_t>, double> fastest;  // by idle GPUs, interleaved, microbatch, zero, again
            for (int vp = 1; vp * pp <= q.model.layers + 2; ++vp) {
              if (pp == 1 && vp > 1) continue;
              for (int microbatch = 1; microbatch <= q.global_batch; ++microbatch)
                for (int zero = 0; zero <= 3; ++zero)
                  for (std::size_t which = 0; which < agains.size(); ++which) {
                    const Again& again = agains[which];
                    Layout l;
                    l.tp = tp, l.pp = pp, l.cp = cp, l.ep = ep, l.expert_tp = expert_tp, l.vp = vp, l.microbatch = microbatch,
                    l.zero = zero;
                    l.dp = q.gpus / (tp * pp * cp);
                    l.global_batch = q.global_batch;
                    l.sequence = q.sequence;
                    l.precision = q.precision;
                    l.recompute = again.kind;
                    for (const RecomputeModule module : again.modules) l.recompute_modules.add(module);
                    l.sequence_parallel = tp > 1 && q.sequence % (tp * cp) == 0;
                    l.schedule = pp == 1 ? PipelineSchedule::none : vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
                    if ((zero > 0 && l.dp * l.cp == 1) || (zero == 2 && pp > 1)) continue;
                    if (!is_possible(q.model, l)) continue;
                    for (const auto& [placing, context] : {std::pair{Placing::data_inside, ContextParallel::ring},
                                                           {Placing::stages_inside, ContextParallel::ring},
                                                           {Placing::data_inside, ContextParallel::ulysses},
                                                           {Placing::stages_inside, ContextParallel::ulysses}}) {
                      l.placing = placing;
                      l.context = context;
                      if (placing == Placing::stages_inside && (pp == 1 || l.dp == 1 || system.domain < 2 * tp * cp)) continue;
                      if (context == ContextParallel::ulysses && std::gcd(cp, q.model.heads / tp) == 1) continue;
                      for (const PipelineSplit& split : divisions(l)) {
                        l.split = split;
                        Layout without = l;
                        without.recompute = Recompute::none;
                        if (l.recompute == Recompute::full && fitting(without)) continue;  // needs no recomputation
                        const Layout least = saved(l);
                        ++(fitting(least) ? out.fitting : out.unfit);
                        if (!fitting(least)) continue;
                        out.seconds.push_back(step_time(q.model, least, q.stack, gpu, costs).seconds);
                        const std::tuple key{idle_gpus(l, system.domain), vp > 1, microbatch, zero, which};
                        const auto [at, fresh] = fastest.try_emplace(key, out.seconds.back());
                        if (!fresh) at->second = std::min(at->second, out.seconds.back());
                      }
                    }
                  }
            }
            for (const auto& [key, seconds] : fastest) out.listed.push_back(seconds);
          }
      }
  std::sort(out.seconds.begin(), out.seconds.end());
  std::sort(out.listed.begin(), out.listed.end());
  return out;
}

}  // namespace

TEST_CASE("The search finds what pricing every layout finds, dense and with experts") {
  for (const char* name : {"llama3-8b", "mixtral-8x7b"}) {
    CAPTURE(name);
    const System system = load_system("dgx-h100");
    TrainingQuestion q = question(name, 32, 96, 4096);
    const Tried all = try_all(q, system);
    const TrainingPlan plan = plan_training(system, q);
    REQUIRE(all.fitting > 100);
    REQUIRE(plan.layouts.size() == std::min<std::size_t>(10, all.listed.size()));
    for (std::size_t i = 0; i < plan.layouts.size(); ++i) CHECK(plan.layouts[i].time.seconds == Approx(all.listed[i]).epsilon(1e-12));
    CHECK(plan.evaluated < all.fitting);  // the bound did leave some out
    q.prune = false;
    CHECK(plan_training(system, q).evaluated == all.fitting);
  }
}

TEST_CASE("No number of chunks named by hand is faster than the search's best, where it divides the layers or not") {
  for (const auto& [name, gpus, batch] : {std::tuple{"deepseek-v3", 256, 1920}, {"llama3-8b", 24, 96}}) {
    const System system = load_system("gb200-nvl72");
    TrainingQuestion q = question(name, gpus, batch);
    q.precision = Precision::fp8;
    q.plain_within = 0;  // the fastest itself, not a plainer layout near to it
    q.headroom = headroom_of(q);  // which layouts that are named would not leave free
    const PricedLayout best = plan_training(system, q).layouts.front();
    const double found = best.time.seconds;
    q.tp = best.layout.tp;
    q.cp = best.layout.cp;
    int named = 0;
    for (const int pp : {2, 3, 4, 8})
      for (int vp = 2; vp * pp <= q.model.layers + 2; ++vp) {
        CAPTURE(name, pp, vp);
        q.pp = pp;
        q.vp = vp;
        q.schedule = PipelineSchedule::interleaved;
        try {
          const TrainingPlan plan = plan_training(system, q);
          if (plan.layouts.empty() || !plan.fits) continue;
          ++named;
          CHECK(plan.layouts.front().time.seconds >= found);
        } catch (const RequestError&) {  // microbatches do not divide into that many stages
        }
      }
    CHECK(named > 10);
  }
}

TEST_CASE("Where memory is short, leaving branches out by their states loses no layout that fits") {
  for (const auto& [name, gigabytes] : {std::pair{"llama3-8b", 24.0}, {"mixtral-8x7b", 40.0}}) {
    CAPTURE(name, gigabytes);
    System system = load_system("dgx-h100");
    system.gpu.memory.value = units::GB(gigabytes);
    TrainingQuestion q = question(name, 32, 64, 4096);
    q.headroom = 0.1;
    const Tried all = try_all(q, system);
    REQUIRE(all.fitting > 0);
    CHECK(all.unfit > 500);
    q.prune = false;
    q.top = 1000000;
    const TrainingPlan plan = plan_training(system, q);
    CHECK(plan.evaluated == all.fitting);
    CHECK(plan.unfit == all.unfit);
    REQUIRE(plan.layouts.size() == all.seconds.size());
    for (std::size_t i = 0; i < all.seconds.size(); ++i)
      if (plan.layouts[i].time.seconds != Approx(all.seconds[i]).epsilon(1e-12)) FAIL("layout " << i << " differs");
  }
}

TEST_CASE("A plan's layouts are possible, fit, sum to their time and waste no efficiency above one") {
  struct Case {
    const char *model, *system;
    int gpus, batch;
  };
  for (const Case c :
       {Case{"llama3-70b", "dgx-a100", 64, 128}, Case{"deepseek-v3", "gb200-nvl72", 576, 2304}, Case{"moe-1.8t", "gb200-nvl72", 1152, 2304},
        Case{"gpt3-175b", "dgx-b200", 256, 512}, Case{"llama3-405b", "mi300x-8", 512, 512}}) {
    CAPTURE(c.model, c.system);
    const System system = load_system(c.system);
    TrainingQuestion q = question(c.model, c.gpus, c.batch);
    const TrainingPlan plan = plan_training(system, q);
    REQUIRE_FALSE(plan.layouts.empty());
    double before = 0;
    for (const PricedLayout& p : plan.layouts) {
      CHECK(is_possible(q.model, p.layout));
      CHECK(p.layout.gpus() == c.gpus);
      CHECK(fits(p.memory, Processor::of(system).memory));
      CHECK(p.time.seconds >= before);
      before = p.time.seconds;
      CHECK(sum(p.time) == Approx(p.time.seconds).epsilon(1e-9));
      for (const double term :
           {p.time.compute, p.time.tensor, p.time.context, p.time.expert, p.time.pipeline, p.time.bubble, p.time.data, p.time.optimizer})
        CHECK(term >= 0);
      const double flops = 6 * parameters_of(q.model).multiplied * q.global_batch * static_cast<double>(q.sequence);
      CHECK(flops / (p.time.seconds * c.gpus) < Processor::of(system).peak16);
    }
  }
}

TEST_CASE("Layouts that take the same time have one order, the smaller first, however many are listed") {
  const System system = load_system("dgx-h100");
  TrainingQuestion q = question("llama3-8b", 16, 64);
  q.top = 3000;
  const std::vector<PricedLayout> all = plan_training(system, q).layouts;
  int ties = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].time.seconds != all[i - 1].time.seconds) continue;
    ++ties;
    CHECK(all[i].memory.total() >= all[i - 1].memory.total());
    q.top = static_cast<int>(i);  // the list ends between two that take the same time
    const PricedLayout last = plan_training(system, q).layouts.back();
    CHECK(last.memory.total() == all[i - 1].memory.total());
    CHECK(last.layout.zero == all[i - 1].layout.zero);
  }
  CHECK(ties > 1);
}

TEST_CASE("What is given is kept, the rest is searched") {
  const System system = load_system("dgx-h100");
  TrainingQuestion q = question("llama3-70b", 64, 128);
  q.tp = 4;
  q.pp = 4;
  q.zero = 1;
  q.recompute = Recompute::full;
  for (const PricedLayout& p : plan_training(system, q).layouts) {
    CHECK(p.layout.tp == 4);
    CHECK(p.layout.pp == 4);
    CHECK(p.layout.zero == 1);
    CHECK(p.layout.recompute == Recompute::full);
  }
  q.max_tp = 2;
  q.tp.reset();
  for (const PricedLayout& p : plan_training(system, q).layouts) CHECK(p.layout.tp <= 2);
}

TEST_CASE("A layout given in full is priced even where it does not fit") {
  TrainingQuestion q = question("llama3-70b", 8, 8);
  q.tp = 8;
  q.pp = 1;
  q.cp = 1;
  q.vp = 1;
  q.microbatch = 1;
  q.zero = 0;
  q.recompute = Recompute::none;
  const TrainingPlan plan = plan_training(load_system("dgx-h100"), q);
  REQUIRE(plan.layouts.size() == 1);
  CHECK(plan.evaluated == 1);
  CHECK(plan.layouts.front().time.seconds > 0);
  CHECK_FALSE(fits(plan.layouts.front().memory, 80e9));
}

TEST_CASE("What names a layout are its tensor ranks, its stages and one size more; anything less is searched") {
  TrainingQuestion q = question("llama3-70b", 64, 64);
  CHECK_FALSE(names_one_layout(q));
  q.tp = 4;
  q.microbatch = 1;
  CHECK_FALSE(names_one_layout(q));
  q.pp = 2;
  CHECK(names_one_layout(q));
  q.microbatch.reset();
  CHECK_FALSE(names_one_layout(q));
  q.cp = 1;
  CHECK(names_one_layout(q));
  CHECK_FALSE(as_named(q).recompute.has_value());  // what saves memory is open
  q.zero = 1;
  CHECK(as_named(q).recompute == Recompute::none);
  q.zero.reset();
  q.recompute = Recompute::selective;
  CHECK(as_named(q).recompute == Recompute::selective);
  q.recompute.reset();
  q.cp.reset();
  CHECK_FALSE(as_named(q).recompute.has_value());
  q.microbatch = 4;
  q.pp.reset();
  const TrainingPlan searched = plan_training(load_system("dgx-h100"), q);  // may recompute
  CHECK(searched.fits);
}

TEST_CASE("groups of a job share the memory of nodes that stage their messages, as they share the NICs", "[training]") {
  for (const char* name : {"dgx-h100", "dgx-b200"})
    for (const int local : {1, 2, 8})
      for (const int nodes : {2, 16, 64}) {
        CAPTURE(name, local, nodes);
        const System staged = load_system(name, std::vector<std::string>{"nic.gdr=false"});
        const double bytes = 1e9, leaves = 2 * bytes * (nodes - 1) / nodes;  // of each group, a node
        const double memory = 4 * leaves * (8.0 / local) / staged.host_memory_rate.value.value();
        GroupCosts with{staged};
        CHECK(with.seconds(Collective::all_reduce, {local, nodes}, bytes) >= memory * (1 - 1e-9));
        const System direct = load_system(name);
        GroupCosts without{direct};
        CHECK(with.seconds(Collective::all_reduce, {local, nodes}, bytes) >= without.seconds(Collective::all_reduce, {local, nodes}, bytes));
        CHECK(with.send(true, bytes) >= without.send(true, bytes));
      }
}

TEST_CASE("Where frozen weights do not fit, the formats that fit are named, and each does") {
  PlanRequest r;
  r.model = {"llama3-405b"};
  r.system = {"dgx-h100"};
  r.gpus = 8;
  r.global_batch = 8;
  r.lora_rank = 16;
  CHECK_THROWS_WITH(answer(r), Catch::Contains("load_in_4bit (14.43 s") && Catch::Contains("precision = fp8") && !Catch::Contains("more GPUs"));
  PlanRequest narrow = r;
  narrow.load_in_4bit = true;
  CHECK(answer(narrow).fits);
  narrow = r;
  narrow.precision = Precision::fp8;
  CHECK(answer(narrow).fits);
  r.gpus = 2;
  CHECK_THROWS_WITH(answer(r), Catch::Contains("take more GPUs"));
}

TEST_CASE("Activations in host memory are proposed where a step with them is shorter than the search's") {
  PlanRequest r;
  r.model = {"llama3-8b"};
  r.system = {"dgx-h100"};
  r.gpus = 8;
  r.global_batch = 8;
  r.sequence = 131072;
  r.top = 1;
  const PlanAnswer without = answer(r);
  CHECK_THAT(without.advice, Catch::Contains("<cpu_offloading_num_layers=31>"));
  r.cpu_offloading_num_layers = 31;
  const PlanAnswer with = answer(r);
  CHECK(with.layouts.front().step < without.layouts.front().step);
  CHECK(with.advice.empty());
  r.cpu_offloading_num_layers.reset();
  r.sequence = 4096;
  CHECK(answer(r).advice.empty());
}
