/// The search for deployments: limits are kept, nothing better is missed, the nearest one is named.

#include "support/message_of.hpp"
#include "rig.hpp"

#include <fabricost/plan/serving/plan.hpp>
#include <fabricost/plan/specs/serving.hpp>

#include <catch.hpp>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

ServingQuestion asked(const std::string& model, int gpus) {
  ServingQuestion q;
  q.model = load_model(model);
  q.gpus = gpus;
  q.format = {WeightFormat::fp8, 1};
  q.isl = 2048;
  q.osl = 256;
  return q;
}

}  // namespace

TEST_CASE("a slow machine whose TTFT is above the usual limit answers longer prompts no faster") {
  const System system = load_system("aws-g4dn");
  double before = 0;
  for (const double isl : {16384.0, 8192.0, 4096.0}) {
    ServingQuestion q = asked("kimi-linear-48b-a3b", 16);
    q.format = {WeightFormat::bf16, 2};
    q.isl = isl;
    q.usual_ttft = usual_ttft(isl);
    const ServingPlan plan = plan_serving(system, q);
    REQUIRE(!plan.layouts.empty());
    CHECK(plan.layouts.front().time.ttft <= plan.ttft);
    CHECK(plan.layouts.front().tokens_per_s_per_gpu >= before * 0.98);
    before = plan.layouts.front().tokens_per_s_per_gpu;
  }
}

TEST_CASE("limits that cannot be kept give the nearest; a model that does not fit what it lacks") {
  const System system = load_system("dgx-h100");
  ServingQuestion q = asked("llama3-405b", 8);
  q.tpot = 0.002;
  const ServingPlan slow = plan_serving(system, q);
  CHECK(slow.layouts.empty());
  REQUIRE(slow.nearest);
  CHECK(slow.nearest->batch == 1);
  CHECK(slow.missed == Approx(slow.nearest->time.tpot / 0.002));
  q = asked("llama3-405b", 2);
  const ServingPlan large = plan_serving(system, q);
  CHECK(large.layouts.empty());
  REQUIRE(large.nearest_fit);
  CHECK(large.lacking > 100e9);
}

TEST_CASE("workers apart serve a number of clients within the limits, on two GPUs as one each; limits that are too tight give the nearest") {
  const System system = load_system("dgx-h100");
  ServingQuestion q = asked("llama3-8b", 2);
  q.disaggregated = true;
  q.concurrency = 4;
  q.ttft = 1;
  const ServingPlan plan = plan_serving(system, q);
  REQUIRE_FALSE(plan.layouts.empty());
  for (const PricedServing& p : plan.layouts) CHECK(p.time.ttft <= q.ttft);
  for (const double concurrency : {0.0, 4.0}) {
    q.concurrency = concurrency;
    q.tpot = 1e-5;
    const ServingPlan slow = plan_serving(system, q);
    CHECK(slow.layouts.empty());
    REQUIRE(slow.nearest);
    CHECK(slow.missed > 1);
  }
}

TEST_CASE("experts are shared by as many ranks as there are experts, and beside two ranks of attention") {
  const System system = load_system("dgx-h100");
  ServingQuestion q = asked("mixtral-8x7b", 8);
  q.top = 1000;
  const auto shared = [&](int ep) {
    const std::vector<PricedServing> all = plan_serving(system, q).layouts;
    return std::any_of(all.begin(), all.end(), [&](const PricedServing& p) { return p.engine.ep == ep; });
  };
  CHECK(shared(8));
  q.attention_dp = 2;
  CHECK(shared(8));
}

TEST_CASE("405B with 126 layers on 8 H100 and on 4 B200: the smaller machine answers more, at the same limits") {
  const auto plan = [](const char* machine, int gpus) {
    const System system = load_system(machine);
    const ServingTable table = load_serving_table();
    ServingQuestion q = asked("llama3-405b", gpus);
    q.stack = table.stack("vllm", system.gpu.generation);
    q.constants = table.constants(system.gpu.generation);
    q.isl = 4096;
    q.osl = 512;
    q.ttft = 1;
    q.tpot = 0.030;
    return plan_serving(system, q);
  };
  const ServingPlan hopper = plan("dgx-h100", 8), blackwell = plan("dgx-b200", 4);
  REQUIRE(!hopper.layouts.empty());
  REQUIRE(!blackwell.layouts.empty());
  CHECK(hopper.layouts.front().engine.tp == 8);
  CHECK(blackwell.layouts.front().engine.tp == 4);
  CHECK(4 * blackwell.layouts.front().tokens_per_s_per_gpu > 8 * hopper.layouts.front().tokens_per_s_per_gpu);
  // two all-reduces a layer, 126 layers
  const ForwardTime& f = hopper.layouts.front().time.decode;
  const System h100 = load_system("dgx-h100");
  ServingMachine machine{h100, ServingConstants{}};
  // of a mean step: places that wait for prompts do not decode
  CHECK(f.tensor == Approx(252 * machine.all_reduce_seconds(8, 2 * 16384 * hopper.layouts.front().batch)).epsilon(0.02));
}

TEST_CASE("no rank holds a part of a block of fp8 weights, nor of a column") {
  const System system = load_system("dgx-h100");
  ServingQuestion q = asked("deepseek-v3", 96);
  q.disaggregated = true;
  q.isl = 2000;
  q.osl = 100;
  q.top = 100;
  for (const WeightFormat format : {WeightFormat::fp8, WeightFormat::bf16}) {
    q.format = {format, 2};
    for (const PricedServing& p : plan_serving(system, q).layouts)
      for (const EngineLayout& l : {p.engine, p.prefill}) CHECK(2048 % (l.ranks() / l.ep * (format == WeightFormat::fp8 ? 128 : 1)) == 0);
  }
  ServingQuestion whole = asked("qwen3-235b-a22b", 8);  // 1536 columns: 192 on each of eight ranks
  whole.tp = 8;
  const ServingPlan plan = plan_serving(system, whole);
  CHECK(plan.layouts.front().engine.ep == 8);
  whole.ep = 1;
  CHECK_THAT(support::message_of([&] { return plan_serving(system, whole); }), Catch::Contains("blocks of 128") && Catch::Contains("ep"));
  whole.format = {WeightFormat::fp4, 1};  // which have none of these
  CHECK(!plan_serving(load_system("dgx-b200"), whole).layouts.empty());
}

TEST_CASE("prefill and decode workers may be given apart") {
  const System system = load_system("dgx-h100");
  ServingQuestion q = asked("deepseek-v3", 104);
  q.disaggregated = true;
  q.isl = 2000;
  q.osl = 100;
  q.tp = 1;
  q.ep = q.attention_dp = 72;
  q.prefill.ep = q.prefill.attention_dp = 32;
  const ServingPlan plan = plan_serving(system, q);
  for (const PricedServing& p : plan.layouts) {
    CHECK(std::tuple{p.engine.tp, p.engine.ep, p.engine.attention_dp} == std::tuple{1, 72, 72});
    CHECK(std::tuple{p.prefill.ep, p.prefill.attention_dp} == std::tuple{32, 32});
  }
  q.disaggregated = false;
  CHECK_THAT(support::message_of([&] { return plan_serving(system, q); }), Catch::Contains("disaggregated"));
}

TEST_CASE("prompts are read on machines of another kind: more GPUs of either never answer less, and both together at least as much") {
  const System system = load_system("dgx-h200");
  const auto reads = std::make_shared<const System>(load_system("dgx-h100"));
  const auto best = [&](int gpus, const std::shared_ptr<const System>& other, int pool, bool by_layer = false) {
    ServingQuestion q = asked("llama3-70b", gpus);
    q.isl = 4096;
    q.osl = 256;
    q.ttft = 2;
    q.tpot = 0.05;
    q.disaggregated = true;
    q.by_layer = by_layer;
    if (pool > 0) q.pool = {other, pool, q.stack, q.constants};
    const ServingPlan plan = plan_serving(system, q);
    REQUIRE(!plan.layouts.empty());
    return std::pair{plan.layouts.front(), plan.layouts.front().tokens_per_s_per_gpu * q.all_gpus()};
  };
  const auto [both, rate] = best(16, reads, 16);
  CHECK(both.prefill_workers * both.prefill.gpus() <= 16);
  CHECK(both.replicas * both.engine.gpus() <= 16);
  // the slower machine limits: its NICs are as fast as the other's, its prompts read at its own rate
  CHECK(both.time.transfer == Approx(kv_link(*reads, both.prefill.cache_gpus(), system, both.engine.cache_gpus())
                                         .seconds(kv_bytes(load_model("llama3-70b"), 4096, 1))));
  CHECK(best(16, reads, 32).second >= rate * (1 - 1e-9));
  CHECK(best(32, reads, 16).second >= rate * (1 - 1e-9));
  const auto [layered, quick] = best(16, reads, 16, true);
  CHECK(quick >= rate * (1 - 1e-9));
  CHECK(layered.time.transfer < both.time.transfer);
  // on one machine any division of the GPUs may be taken
  const auto same = std::make_shared<const System>(system);
  CHECK(best(16, same, 16).second <= best(32, nullptr, 0).second * (1 + 1e-9));
  ServingQuestion q = asked("llama3-70b", 8);
  q.pool = {reads, 8, q.stack, q.constants};
  CHECK_THAT(support::message_of([&] { return plan_serving(system, q); }), Catch::Contains("disaggregated"));
}
