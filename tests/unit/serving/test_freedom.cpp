/// More freedom never gives a worse best deployment: room in the host's memory, time, memory, GPUs of a machine. And no deployment needs
/// more than there is.

#include "rig.hpp"
#include "support/number_of.hpp"

#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/serving/plan.hpp>
#include <fabricost/plan/specs/serving.hpp>

#include <catch.hpp>

#include <cmath>
#include <initializer_list>
#include <random>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

constexpr double gib = 1073741824.0;

/// Questions over machines, models, lengths and stacks.
struct Asker {
  std::mt19937_64 random{20261122};
  ServingTable table = load_serving_table();

  template <class T>
  T one_of(const std::vector<T>& of) {
    return of[random() % of.size()];
  }
  double between(double low, double high) { return low * std::pow(high / low, std::uniform_real_distribution<>{0, 1}(random)); }

  ServingQuestion question(const System& system, int gpus) {
    ServingQuestion q;
    q.model = load_model(one_of<std::string>({"llama3-8b", "llama3-70b", "mixtral-8x7b", "mixtral-8x22b", "qwen3-30b-a3b"}));
    q.gpus = gpus;
    q.format = one_of<EngineFormat>({{WeightFormat::fp8, 1}, {WeightFormat::bf16, 2}, {WeightFormat::fp8, 2}});
    q.stack = table.stack(one_of<std::string>({"vllm", "sglang", "trtllm"}), system.gpu.generation);
    q.constants = table.constants(system.gpu.generation);
    q.isl = std::floor(between(16, 200000));
    q.osl = std::floor(between(2, 4000));
    return q;
  }
};

/// Tokens per second of all GPUs together; 0 where nothing fits or keeps the limits.
double best(const ServingQuestion& q, const System& system) {
  try {
    const ServingPlan plan = plan_serving(system, q);
    return plan.layouts.empty() ? 0 : plan.layouts.front().tokens_per_s_per_gpu * q.gpus;
  } catch (const RequestError&) {
    return 0;
  }
}

constexpr double as_much = 1 - 1e-9;

}  // namespace

TEST_CASE("no deployment needs more memory than a GPU and its host have, in whole sequences") {
  Asker asker;
  int seen = 0;
  for (int i = 0; i < 120; ++i) {
    const System system = load_system(asker.one_of<std::string>({"dgx-h100", "oci-a100", "dgx-b200", "gb200-nvl72", "mi300x-8"}));
    ServingQuestion q = asker.question(system, asker.one_of<int>({1, 3, 8, 16, 64}));
    if (system.tier(TierRole::nic) == nullptr) q.gpus = std::min(q.gpus, 8);
    q.disaggregated = q.gpus > 1 && i % 4 == 1;
    if (i % 3 == 0) q.attention_dp = asker.one_of<int>({1, 2, 8});
    if (i % 5 == 2) q.concurrency = std::floor(asker.between(1, 5000));
    if (i % 2 == 0) q.host = {asker.between(1, 200) * gib, asker.between(1, 400) * gib, 55e9};
    ServingPlan plan;
    try {
      plan = plan_serving(system, q);
    } catch (const RequestError&) {
      continue;
    }
    ServingMachine machine{system, q.constants, q.stack.kernels};
    for (const PricedServing& p : plan.layouts) {
      INFO(i << " " << q.model.name << " " << system.name << " tp " << p.engine.tp << " dp " << p.engine.attention_dp);
      ++seen;
      CHECK(p.batch == std::floor(p.batch));
      CHECK(p.time.running == std::floor(p.time.running));
      // counted a second time: the replica with most sequences, each of its whole length
      const double max = std::ceil(p.time.running / p.engine.attention_dp);
      const double cache = max * kv_bytes_per_rank(q.model, q.isl + q.osl, q.format.kv_width, p.engine.tp, p.engine.pp);
      const double weights = Engine{q.model, p.engine, q.format, machine}.weights();
      CHECK(p.memory + p.on_host == Approx(weights + cache));
      CHECK(p.memory <= q.stack.memory_share * system.memory().value() * (1 + 1e-9));
      CHECK(cache - std::min(cache, q.host.cache) <=
            q.stack.cache_share * (q.stack.memory_share * system.memory().value() - weights + q.host.weights) * (1 + 1e-9) + 1);
      CHECK(p.on_host <= (q.host.weights + q.host.cache) * (1 + 1e-9));
      CHECK(p.used() <= q.gpus);
    }
  }
  CHECK(seen > 300);
}

TEST_CASE("a million tokens over 16 replicas: as many sequences as each replica holds whole") {
  const System system = load_system("oci-a100");
  ServingQuestion q;
  q.model = load_model("mixtral-8x22b");
  q.gpus = 256;
  q.format = {WeightFormat::bf16, 2};
  q.isl = 1e6;
  q.tp = 8;
  q.attention_dp = 16;
  const ServingPlan plan = plan_serving(system, q);
  for (const PricedServing& p : plan.layouts) CHECK(p.memory <= 0.9 * 40960 * 1048576.0);
}

TEST_CASE("what may lie in the host's memory is a limit: more of it never answers less") {
  Asker asker;
  for (int i = 0; i < 60; ++i) {
    const System system = load_system(asker.one_of<std::string>({"dgx-h100", "gb200-nvl72", "dgx-a100"}));
    ServingQuestion q = asker.question(system, asker.one_of<int>({1, 2, 4}));
    if (i % 3 == 1) q.tpot = asker.between(0.01, 0.2);
    if (i % 3 == 2) q.ttft = asker.between(0.2, 20);
    const double rate = host_rate(system), without = best(q, system);
    double before = without;
    for (const double cache : {0.0, 1.0, 4.0, 10.0, 30.0, 100.0, 400.0}) {
      q.host = {0, cache * gib, rate};
      const double now = best(q, system);
      INFO(i << " " << q.model.name << " " << system.name << " cache " << cache << ": " << now << " after " << before);
      CHECK(now >= as_much * before);
      before = now;
    }
    before = without;
    for (const double weights : {0.0, 1.0, 8.0, 40.0, 160.0}) {
      q.host = {weights * gib, 0, rate};
      const double now = best(q, system);
      INFO(i << " " << q.model.name << " " << system.name << " weights " << weights << ": " << now << " after " << before);
      CHECK(now >= as_much * before);
      q.host.cache = 50 * gib;
      CHECK(best(q, system) >= as_much * now);
      before = now;
    }
  }
}

TEST_CASE("replicas that nothing joins are whole engines: a named number of them never answers more than the search, in random questions") {
  Asker asker;
  int kept = 0;
  for (int i = 0; i < 60; ++i) {
    const System system = load_system(asker.one_of<std::string>({"dgx-h100", "dgx-a100", "dgx-b200"}));
    ServingQuestion q = asker.question(system, asker.one_of<int>({8, 16}));
    q.model = load_model(asker.one_of<std::string>({"llama3-8b", "llama3-70b", "qwen3-32b"}));
    q.tpot = asker.between(0.006, 0.03);
    if (i % 2 == 0) q.concurrency = std::floor(asker.between(1, 40));
    const double free = best(q, system);
    for (const int replicas : {2, 4}) {
      q.attention_dp = replicas;
      const double named = best(q, system);
      INFO(i << " " << q.model.name << " " << system.name << " " << replicas << " replicas, TPOT " << q.tpot << ", clients " << q.concurrency);
      CHECK(named <= free * (1 + 1e-9));
      kept += named > 0 ? 1 : 0;
    }
  }
  CHECK(kept > 20);
}

TEST_CASE("under arrivals a named layout never keeps the limits for more requests than the search, nor a machine with less memory, in random questions") {
  Asker asker;
  for (int i = 0; i < 6; ++i) {
    ServeRequest r;
    r.system.name = asker.one_of<std::string>({"dgx-h100", "dgx-b200"});
    r.model.name = asker.one_of<std::string>({"gemma-3-27b", "llama3-8b", "qwen3-32b"});
    r.gpus = asker.one_of<int>({8, 16});
    r.isl = static_cast<int>(asker.between(100, 6000));
    r.osl = static_cast<int>(asker.between(20, 400));
    r.ttft = units::s(asker.between(0.5, 3));
    r.tpot = units::ms(asker.between(20, 80));
    r.request_rate = RequestRate{0.05};
    r.top = 1;
    const auto most = [&] { return *answer(r).layouts.front().arrivals->rate_within; };
    const double free = most(), as_near = 1.015;  // rates are told apart by 1.1 %
    INFO(i << " " << r.system.name << " " << r.model.name << " " << *r.gpus << " GPUs, " << r.isl << " and " << r.osl << " tokens");
    r.pp = asker.one_of<int>({1, 2, 4});
    CHECK(most() <= as_near * free);
    r.pp.reset();
    r.tp = asker.one_of<int>({1, 2});
    CHECK(most() <= as_near * free);
    r.tp.reset();
    r.overrides = {"design.hbm.size=60 GiB"};
    CHECK(most() <= as_near * free);
  }
}

// engines that hold 1,500 sequences each and more are full only after more requests than are drawn for all of them
TEST_CASE("engines with room for more sequences saturate at no lower rate") {
  ServeRequest r;
  r.system.name = "dgx-b300";
  r.model.name = "llama3-8b";
  r.gpus = 16;
  r.isl = 2048;
  r.osl = 512;
  r.tp = r.pp = 1;
  r.ttft = units::s(1);
  r.tpot = units::ms(30);
  r.request_rate = RequestRate{1};
  const double whole = *answer(r).layouts.front().arrivals->rate_within;
  r.overrides = {"design.hbm.size=179 GiB"};
  CHECK(whole >= 0.985 * *answer(r).layouts.front().arrivals->rate_within);
}

TEST_CASE("GPUs that no layout divides stay idle rather than the model unserved") {
  const System system = load_system("dgx-h100");
  ServingQuestion q;
  q.model = load_model("llama3-70b");
  q.format = {WeightFormat::bf16, 2};
  q.gpus = 5;
  const ServingPlan plan = plan_serving(system, q);
  REQUIRE_FALSE(plan.layouts.empty());
  CHECK(plan.layouts.front().used() <= 5);
  for (std::size_t i = 1; i < plan.layouts.size(); ++i) CHECK(plan.layouts[i].used() == 5);
}

TEST_CASE("with prompts on GPUs of their own, more GPUs never answer less, nor do drafts that are accepted more often") {
  Asker asker;
  const System system = load_system("dgx-h100");
  for (int i = 0; i < support::number_of("FABRICOST_SERVING_QUESTIONS", 40) / 20; ++i) {
    ServeRequest r;
    r.system.name = system.name;
    r.model.name = i % 4 == 1 ? "qwen3-30b-a3b" : "llama3-8b";
    r.disaggregated = true;
    r.isl = static_cast<int>(asker.between(200, 6000));
    r.osl = static_cast<int>(asker.between(20, 400));
    r.ttft = units::s(asker.between(0.3, 2));
    r.tpot = units::ms(asker.between(12, 40));
    r.top = 1;
    const bool arrive = i % 2 == 0;
    if (arrive) r.request_rate = RequestRate{0.05};
    const auto reached = [&] {
      try {
        const PlannedDeployment one = answer(r).layouts.front();
        return arrive ? *one.arrivals->rate_within : one.tokens_per_second;
      } catch (const RequestError&) {
        return 0.0;
      }
    };
    const double as_near = arrive ? 0.985 : 1 - 1e-9;  // rates are told apart by 1.1 %
    double before = 0;
    for (const int gpus : {4, 5, 6, 9, 12, 17, 18, 23}) {
      r.gpus = gpus;
      const double now = reached();
      INFO(i << " " << r.model.name << " " << gpus << " GPUs, " << r.isl << " and " << r.osl << " tokens: " << now << " after " << before);
      CHECK(now >= as_near * before);
      before = std::max(before, now);
    }
    r.draft_tokens = 2;
    before = 0;
    for (const double accepted : {0.0, 0.3, 0.6, 0.9, 1.0}) {
      r.draft_accept = accepted;
      const double now = reached();
      INFO(i << " " << r.model.name << " accepted " << accepted << ": " << now << " after " << before);
      CHECK(now >= as_near * before);
      before = std::max(before, now);
    }
  }
}

// prompts are read in time by workers that read fewer of them a second than others, and whose closed loop answers fewer
TEST_CASE("naming the workers that read prompts never keeps the limits for more requests than leaving them out") {
  ServeRequest r;
  r.disaggregated = true;
  r.request_rate = RequestRate{0.05};
  r.top = 1;
  const auto most = [&] { return *answer(r).layouts.front().arrivals->rate_within; };
  r.isl = 4096, r.osl = 512, r.ttft = units::s(1), r.tpot = units::ms(30);
  r.system.name = "dgx-h200", r.model.name = "qwen3-235b-a22b", r.gpus = 32;
  double free = most();
  for (const int tp : {1, 2, 4}) {
    r.prefill_tp = tp;
    INFO("tp " << tp);
    CHECK(free >= 0.985 * most());
  }
  r.isl = 4463, r.osl = 177, r.ttft = units::ms(600), r.tpot = units::ms(15);
  r.system.name = "dgx-b200", r.model.name = "qwen3-30b-a3b", r.prefill_tp.reset();
  free = most();
  r.prefill_tp = 1, r.prefill_dp = 2;
  CHECK(free >= 0.985 * most());
}

TEST_CASE("a rate up to which limits hold is one that is answered, however many requests are in flight") {
  ServeRequest r;
  r.system.name = "dgx-h100";
  r.model.name = "llama3-70b";
  r.disaggregated = true;
  r.gpus = 54, r.isl = 102, r.osl = 507;
  r.tp = 2, r.pp = 1, r.prefill_tp = 1, r.prefill_pp = 2, r.top = 1;
  r.ttft = units::s(2), r.tpot = units::ms(40);
  r.request_rate = RequestRate{1};
  const double most = *answer(r).layouts.front().arrivals->rate_within;
  r.request_rate = RequestRate{most};
  const ServedArrivals at_most = *answer(r).layouts.front().arrivals;
  CHECK(at_most.rate > 0.9 * most);
  CHECK(at_most.rate * at_most.e2e.mean.value() == Approx(at_most.in_flight).epsilon(0.1));
}
