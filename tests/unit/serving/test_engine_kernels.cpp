/// The kernels that move data while serving, against `predict` for the same kernels one by one, and the effect of uneven choices.

#include "rig.hpp"

#include <catch.hpp>

#include <fabricost/plan/model/gate.hpp>
#include <fabricost/predict/predict.hpp>

#include <chrono>
#include <random>
#include <numeric>
#include <cmath>
#include <memory>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

/// A machine whose engine has these kernels.
struct EngineRig {
  System system;
  ServingMachine machine;
  EngineRig(const std::string& name, ServingKernels kernels)
      : system(load_system(name)), machine(system, ServingConstants{}, std::move(kernels)) {}
  EngineRig(const EngineRig&) = delete;
  EngineRig& operator=(const EngineRig&) = delete;
};

double predicted(const System& system, int ranks, double bytes, const Inference& engine) {
  return predict(system, AllReduce{.bytes = Bytes::from_value(bytes), .ranks = ranks}, {.inference = engine}).seconds;
}

/// Dispatch and combine of one layer as `predict` prices them, choices uniform.
double round_trip(const System& system, const Model& m, MoeKernel kernel, int ranks, double tokens, Precision sent) {
  double seconds = 0;
  for (const MoePhase phase : {MoePhase::dispatch, MoePhase::combine})
    seconds += predict(system, MoeQuestion{.phase = phase,
                                           .kernel = kernel,
                                           .gate = gate_of(m),
                                           .hidden = m.hidden,
                                           .tokens = tokens,
                                           .ranks = ranks,
                                           .precision = phase == MoePhase::dispatch ? sent : Precision::bf16})
                   .seconds;
  return seconds;
}

}  // namespace

TEST_CASE("all-reduces of a step are the engine's own kernels below its hand-over, NCCL's above") {
  for (const InferenceLibrary library : {InferenceLibrary::vllm, InferenceLibrary::sglang, InferenceLibrary::trtllm}) {
    const Inference engine{.library = library};
    EngineRig rig("dgx-h100", {.reduce = engine});
    GroupCosts nccl{rig.system};
    for (const int ranks : {2, 4, 8}) {
      for (const double bytes : {4096.0, 65536.0, 1048576.0, 8388608.0, 268435456.0})
        CHECK(rig.machine.all_reduce_seconds(ranks, bytes) == Approx(predicted(rig.system, ranks, bytes, engine)));
      CHECK(rig.machine.all_reduce_seconds(ranks, 16384) < nccl.seconds(Collective::all_reduce, {ranks, 1}, 16384));
      CHECK(rig.machine.all_reduce_seconds(ranks, 1 << 28) == nccl.seconds(Collective::all_reduce, {ranks, 1}, 1 << 28));
    }
    CHECK(rig.machine.all_reduce_seconds(16, 16384) == nccl.seconds(Collective::all_reduce, {8, 2}, 16384));
    CHECK(rig.machine.all_reduce_seconds(1, 16384) == 0);
  }
}

TEST_CASE("engines differ: where one has handed over another still runs its own") {
  EngineRig vllm("dgx-b200", {.reduce = {.library = InferenceLibrary::vllm, .version = 18000}}),
      sglang("dgx-b200", {.reduce = {.library = InferenceLibrary::sglang, .version = 5014}});
  CHECK(vllm.machine.all_reduce_seconds(8, 65536) != sglang.machine.all_reduce_seconds(8, 65536));
}

TEST_CASE("called from Python, an engine's all-reduce copies its buffer and waits for the host; NCCL's does not change") {
  const Inference engine{.library = InferenceLibrary::vllm};
  Inference called = engine;
  called.from_host = true;
  EngineRig rig("dgx-h100", {.reduce = engine});
  for (const double bytes : {4096.0, 65536.0, 131072.0})
    CHECK(rig.machine.all_reduce_seconds(8, bytes, Launch::eager) == Approx(predicted(rig.system, 8, bytes, called)));
  CHECK(rig.machine.all_reduce_seconds(8, 65536, Launch::eager) > rig.machine.all_reduce_seconds(8, 65536));
  CHECK(rig.machine.all_reduce_seconds(8, 1 << 28, Launch::eager) == rig.machine.all_reduce_seconds(8, 1 << 28));
}

TEST_CASE("tokens reach experts by the phase's kernel: DeepEP's normal one for prompts, low latency for answers") {
  const Model m = load_model("deepseek-v3");
  EngineRig rig("dgx-h100", {.gathers = false});
  for (const double tokens : {1.0, 64.0, 1024.0, 8192.0}) {
    CHECK(rig.machine.exchange_seconds(m, 8, 8, tokens, WeightFormat::fp8, ServingPhase::prefill) ==
          Approx(round_trip(rig.system, m, MoeKernel::deepep_normal, 8, tokens, Precision::fp8)));
    CHECK(rig.machine.exchange_seconds(m, 8, 8, tokens, WeightFormat::bf16, ServingPhase::decode) ==
          Approx(round_trip(rig.system, m, MoeKernel::deepep_low_latency, 8, tokens, Precision::bf16)));
    CHECK(rig.machine.exchange_seconds(m, 64, 64, tokens, WeightFormat::fp8, ServingPhase::decode) ==
          Approx(round_trip(rig.system, m, MoeKernel::deepep_low_latency, 64, tokens, Precision::fp8)));
  }
  // few tokens wait less with the kernel made for them, many with the one that sends a copy a rank
  const auto with = [&](double tokens, ServingPhase phase) {
    return rig.machine.exchange_seconds(m, 8, 8, tokens, WeightFormat::fp8, phase);
  };
  CHECK(with(8, ServingPhase::decode) < with(8, ServingPhase::prefill));
  CHECK(with(16384, ServingPhase::prefill) < with(16384, ServingPhase::decode));
}

TEST_CASE("TensorRT-LLM's kernels run inside a rack; on a box, or across racks, NCCL takes over") {
  const Model m = load_model("deepseek-v3");
  const ServingKernels trtllm{.reduce = {.library = InferenceLibrary::trtllm},
                              .experts_prefill = {MoeKernel::trtllm_one_sided},
                              .experts_decode = {MoeKernel::trtllm_one_sided},
                              .gathers = false};
  EngineRig rack("gb200-nvl72", trtllm), box("dgx-b200", trtllm);
  CHECK(rack.machine.exchange_seconds(m, 32, 32, 256, WeightFormat::fp8, ServingPhase::decode) ==
        Approx(round_trip(rack.system, m, MoeKernel::trtllm_one_sided, 32, 256, Precision::fp8)));
  CHECK(rack.machine.exchange_seconds(m, 32, 32, 256, WeightFormat::fp4, ServingPhase::decode) ==
        Approx(round_trip(rack.system, m, MoeKernel::trtllm_one_sided, 32, 256, Precision::fp4)));
  const ExpertCurve nccl{box.system,
                         {.gate = gate_of(m),
                          .routing = {.kind = RoutingKind::balanced},
                          .placement = {8, 8},
                          .copies = Copies::per_rank,
                          .bytes_per_token = token_bytes(m.hidden, Precision::bf16)}};
  CHECK(box.machine.exchange_seconds(m, 8, 8, 256, WeightFormat::bf16, ServingPhase::decode) == Approx(2 * nccl.seconds(256)));
  CHECK(rack.machine.exchange_seconds(m, 128, 128, 256, WeightFormat::fp8, ServingPhase::decode) >
        rack.machine.exchange_seconds(m, 64, 64, 256, WeightFormat::fp8, ServingPhase::decode));
}

TEST_CASE("an engine that can gather takes the cheaper way, never a dearer one") {
  const Model m = load_model("deepseek-v3");
  EngineRig both("dgx-b200", {}), kernels("dgx-b200", {.gathers = false});
  for (const ServingPhase phase : {ServingPhase::prefill, ServingPhase::decode})
    for (double tokens = 1; tokens < 1e5; tokens *= 8)
      CHECK(both.machine.exchange_seconds(m, 8, 8, tokens, WeightFormat::fp8, phase) <=
            kernels.machine.exchange_seconds(m, 8, 8, tokens, WeightFormat::fp8, phase));
}

TEST_CASE("uneven choices: the fullest rank works and waits longer, fewer weights are read") {
  const Model m = load_model("deepseek-v3");
  const auto rig_of = [](const Routing& r) {
    return std::make_unique<EngineRig>("dgx-h200", ServingKernels{.gathers = false, .routing = r});
  };
  const auto even = rig_of({}), random = rig_of({.kind = RoutingKind::uniform}),
             skewed = rig_of({.kind = RoutingKind::zipf, .exponent = 1}), steep = rig_of({.kind = RoutingKind::zipf, .exponent = 1.5});
  const auto same = rig_of({.kind = RoutingKind::histogram, .histogram = std::vector<double>(256, 7.0)});
  for (const double tokens : {4.0, 32.0, 512.0}) {
    CHECK(even->machine.fullest(m, 8, tokens) == 1);
    CHECK(random->machine.fullest(m, 8, tokens) > 1);
    CHECK(skewed->machine.fullest(m, 8, tokens) > random->machine.fullest(m, 8, tokens));
    CHECK(steep->machine.fullest(m, 8, tokens) > skewed->machine.fullest(m, 8, tokens));
    CHECK(same->machine.fullest(m, 8, tokens) == Approx(random->machine.fullest(m, 8, tokens)).epsilon(0.01));
    CHECK(skewed->machine.touched_share(m, tokens) < random->machine.touched_share(m, tokens));
    CHECK(same->machine.touched_share(m, tokens) == Approx(random->machine.touched_share(m, tokens)).epsilon(1e-6));
    const auto exchange = [&](EngineRig& r) {
      return r.machine.exchange_seconds(m, 8, 8, tokens, WeightFormat::fp8, ServingPhase::prefill);
    };
    CHECK(exchange(*random) == exchange(*even));
    CHECK(exchange(*skewed) > exchange(*random));
  }
  CHECK(even->machine.fullest(m, 1, 64) == 1);
  CHECK(skewed->machine.fullest(m, 1, 64) == 1);  // every rank holds a part of every expert
  // one expert takes every token of a top-1 layer: nothing else is touched, and its rank of eight does all the work
  Model one = m;
  one.top_k = 1;
  one.expert_groups = one.group_limit = 0;
  Routing all{.kind = RoutingKind::histogram, .histogram = std::vector<double>(256, 0.0)};
  all.histogram[17] = 1;
  const auto single = rig_of(all);
  CHECK(single->machine.touched_share(one, 100) == Approx(1.0 / 256));
  CHECK(single->machine.fullest(one, 8, 100) == Approx(8).epsilon(0.01));
}

TEST_CASE("copies of the busiest experts make ranks even: all choices stay, more copies never load the fullest more") {
  const Model m = load_model("deepseek-v3");
  std::mt19937_64 source(5);
  for (const int ranks : {8, 32}) {
    for (int i = 0; i < 4; ++i) {
      std::vector<double> counts(256);
      for (double& one : counts) one = std::exp(std::normal_distribution<double>(0, 0.3 * (i + 1))(source));
      const Routing routing{.kind = RoutingKind::histogram, .histogram = counts};
      Popularity p;
      try {
        p = popularity_of(gate_of(m), routing, ranks);
      } catch (const RequestError&) {  // one expert has more than every token
        continue;
      }
      double before = 8;
      for (const int copies : {0, 32, 64, 256}) {
        const Popularity even = with_copies(p, copies, ranks);
        REQUIRE(even.shares.size() == 256 + static_cast<std::size_t>(copies));
        CHECK(std::accumulate(even.shares.begin(), even.shares.end(), 0.0) == Approx(8));
        double fullest = 0;
        for (int r = 0; r < ranks; ++r) {
          const auto first = even.shares.begin() + r * static_cast<std::ptrdiff_t>(even.shares.size()) / ranks;
          fullest = std::max(fullest, std::accumulate(first, first + static_cast<std::ptrdiff_t>(even.shares.size()) / ranks, 0.0));
        }
        CHECK(fullest >= 8.0 / ranks * (1 - 1e-9));
        CHECK(fullest <= before * 1.01);
        before = fullest;
        EngineRig rig("dgx-h200", ServingKernels{.gathers = false, .routing = routing, .copies = copies});
        EngineRig without("dgx-h200", ServingKernels{.gathers = false, .routing = routing});
        if (copies > 0) CHECK(rig.machine.fullest(m, ranks, 512) <= without.machine.fullest(m, ranks, 512) * 1.001);
        const Engine engine(m, {.tp = 1, .attention_dp = ranks, .ep = ranks}, {WeightFormat::fp8, 1}, rig.machine),
            fewer(m, {.tp = 1, .attention_dp = ranks, .ep = ranks}, {WeightFormat::fp8, 1}, without.machine);
        CHECK(engine.weights() - fewer.weights() == Approx(engine.expert_bytes() * copies / (256.0 + copies)).margin(1));
      }
      CHECK(before < 1.02 * 8 / ranks);
    }
  }
}

TEST_CASE("layers priced with an engine's kernels stay a few microseconds each") {
  const Model m = load_model("deepseek-v3");
  EngineRig rig("gb200-nvl72", {.routing = {.kind = RoutingKind::zipf, .exponent = 0.5}});
  double sum = rig.machine.exchange_seconds(m, 32, 32, 1, WeightFormat::fp8, ServingPhase::decode);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20000; ++i) {
    sum += rig.machine.exchange_seconds(m, 32, 32, 1 + i % 256, WeightFormat::fp8, ServingPhase::decode);
    sum += rig.machine.all_reduce_seconds(8, 1000 + i);
  }
  CHECK(sum > 0);
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 20000 < 20e-6);
}
