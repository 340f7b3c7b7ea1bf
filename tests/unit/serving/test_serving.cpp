/// Batching, queueing and prefill apart: Little's law, a simulated queue, limits, quantities that only grow.

#include "rig.hpp"
#include "support/message_of.hpp"

#include <fabricost/plan/serving/offload.hpp>
#include <fabricost/plan/specs/serving.hpp>

#include <catch.hpp>

#include <functional>
#include <queue>
#include <vector>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

/// Mean wait for a place of `clients` that each ask again when answered, `places` of service `seconds`; after the first round.
double simulated_wait(int clients, int places, double seconds, int requests) {
  std::priority_queue<double, std::vector<double>, std::greater<>> places_free;  // when each place is next free
  for (int i = 0; i < places; ++i) places_free.push(0);
  std::priority_queue<double, std::vector<double>, std::greater<>> arrivals;
  for (int i = 0; i < clients; ++i) arrivals.push(1e-6 * i);
  double waited = 0;
  int counted = 0;
  for (int r = 0; r < requests; ++r) {
    const double arrived = arrivals.top();
    arrivals.pop();
    const double start = std::max(arrived, places_free.top());
    places_free.pop();
    places_free.push(start + seconds);
    arrivals.push(start + seconds);
    if (r < 4 * clients) continue;
    waited += start - arrived;
    ++counted;
  }
  return waited / counted;
}

}  // namespace

TEST_CASE("requests in flight are the rate times the time in the system") {
  Rig rig("dgx-b200");
  const ServingStack stack;
  for (const char* name : {"llama3-70b", "deepseek-v3"}) {
    const Model model = load_model(name);
    const Engine engine{model, {.tp = 8}, {WeightFormat::fp8, 1}, rig.machine};
    for (const double clients : {1.0, 17.0, 128.0, 4000.0}) {
      const ServingTime t = aggregated(engine, stack, {1024, 512, clients});
      CHECK(t.rate * (t.ttft + 512 * t.tpot) == Approx(clients));
      CHECK(t.running <= clients);
    }
  }
}

TEST_CASE("with more clients than the cache has room for, the wait is that of a simulated queue") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-70b");
  const ServingStack stack = bare();
  const Engine engine{model, {.tp = 2}, {WeightFormat::fp8, 1}, rig.machine};
  const double room = std::floor(engine.capacity(6000, stack.memory_share));
  REQUIRE(room > 20);
  for (const double more : {1.5, 3.0}) {
    const double clients = std::round(more * room);
    const ServingTime t = aggregated(engine, stack, {4000, 2000, clients});
    CHECK(t.running == room);
    const double service = t.ttft - t.queue + 2000 * t.tpot;
    CHECK(t.queue ==
          Approx(simulated_wait(static_cast<int>(clients), static_cast<int>(room), service, 60 * static_cast<int>(clients))).epsilon(0.02));
  }
}

TEST_CASE("TPOT and TTFT grow with clients; tokens per second do too") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-70b");
  const Engine engine{model, {.tp = 4}, {WeightFormat::fp8, 1}, rig.machine};
  ServingTime before{};
  for (double clients = 1; clients <= 256; clients *= 2) {
    const ServingTime t = aggregated(engine, ServingStack{}, {2048, 256, clients});
    CHECK(t.tpot > before.tpot);
    CHECK(t.ttft > before.ttft);
    CHECK(t.rate > before.rate);
    before = t;
  }
}

TEST_CASE("every answer sees the prompts of all the others once") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-8b");
  const ServingStack stack = bare();
  const Engine engine{model, {}, {WeightFormat::bf16, 2}, rig.machine};
  const ServingLoad load{1000, 100, 11};
  const Cycle cycle = cycle_of(engine, stack, load, 11, prefill_prompt(engine, stack, 1000));
  CHECK(aggregated(engine, stack, load).interference * 100 ==
        Approx(10 * cycle.own).epsilon(1e-4));  // but for the wait for tokens of a step
  CHECK(aggregated(engine, stack, {1000, 100, 1}).interference == Approx(0).margin(1e-12));
}

TEST_CASE("a step takes one chunk of the others' prompts at most; the rest comes before the first token") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-70b");
  ServingStack stack;
  stack.bunching = 0;
  const Engine engine{model, {.tp = 2}, {WeightFormat::fp8, 1}, rig.machine};
  const Prefill prompt = prefill_prompt(engine, stack, 1024);
  for (const double osl : {1.0, 2.0, 20.0, 1000.0}) {
    const ServingLoad load{1024, osl, 200};
    const ServingTime t = aggregated(engine, stack, load);
    const Cycle cycle = cycle_of(engine, stack, load, 200, prompt);
    CHECK(t.running == 200);
    CHECK(cycle.begun * 1024 + cycle.sequences <= stack.chunk * (1 + 1e-12));
    CHECK(t.interference <= cycle.beside * (1 + 1e-12));
    CHECK(t.rate == Approx(200 / (t.ttft + osl * t.tpot)));
    CHECK((t.tpot == 0) == (osl == 1));
  }
}

TEST_CASE("the wait for prompts stays the same when attention replicas and requests grow together") {
  Rig rig("dgx-h100");
  const ServingTable table = load_serving_table();
  for (const ServingStack& described : table.stacks) {
    const ServingStack stack = table.stack(described.name, Generation::hopper);
    const Model dense = load_model("llama3-8b");
    const ServingTime one = aggregated(Engine{dense, {}, {WeightFormat::fp8, 1}, rig.machine}, stack, {1024, 1024, 16});
    for (const int dp : {2, 4, 8}) {
      const ServingLoad load{1024, 1024, 16.0 * dp};
      const ServingTime t = aggregated(Engine{dense, {.attention_dp = dp}, {WeightFormat::fp8, 1}, rig.machine}, stack, load);
      CHECK(t.tpot == Approx(one.tpot));
      CHECK(t.ttft == Approx(one.ttft));
      CHECK(t.rate == Approx(dp * one.rate));
    }
  }
}

TEST_CASE("steps read every prompt once, no more than fits, in graphs or not, and the fullest of more replicas reads more") {
  for (const double parts : {1e-9, 0.01, 0.5, 3.0, 40.0, 1000.0})
    for (const double more : {1.0, 1.02, 1.5, 100.0}) {
      double before = 0;
      for (const double replicas : {1.0, 8.0, 72.0}) {
        const double fit = std::max(1.0, more * parts), captured = 2;
        double share = 0, mean = 0, most = 0;
        INFO(parts << " of " << fit << ", " << replicas << " replicas");
        const ReadingSteps steps = reading_steps(parts, fit, replicas, captured);
        const auto over = [&](const auto& of) { return mean_over_steps(parts, steps.variance, replicas, of); };
        CHECK(over([](double x) { return x; }) == Approx(parts).epsilon(1e-4));
        if (more == 100) CHECK(over([](double x) { return x * x; }) == Approx(parts * parts + steps.variance / replicas).epsilon(1e-3));
        CHECK(steps.variance <= parts * (1 + 1e-9));
        for (const ReadingStep& one : steps.groups) {
          share += one.share, mean += one.share * one.mean, most += one.share * one.most;
          CHECK(one.most <= fit * (1 + 1e-12));
          CHECK((one.most <= captured || one.most >= std::min(fit, captured + 1) * (1 - 1e-12)));
        }
        CHECK(share <= 1 + 1e-12);
        CHECK(mean == Approx(parts).epsilon(1e-4));
        CHECK(most >= mean * (1 - 1e-6));
        CHECK(most >= before * (1 - 1e-6));
        before = most;
      }
    }
  // of one part or none: eight replicas of which each reads in a fifth of the steps
  const double none = mean_over_steps(0.2, reading_steps(0.2, 1, 8, 8).variance, 8, [](double x) { return x == 0 ? 1 : 0; });
  CHECK(none == Approx(std::pow(0.8, 8)).epsilon(1e-4));
  const std::vector<ReadingStep> rare = reading_steps(0.001, 8, 8, 0).groups;
  CHECK(rare.front().most == 1);  // each waits for one prompt of any
  CHECK(rare.front().share == Approx(8 * 0.001).epsilon(0.01));
}

TEST_CASE("an engine that also decodes has time for every prompt, and no product beats the peak") {
  Rig rig("dgx-h100");
  const ServingTable table = load_serving_table();
  for (const ServingStack& described : table.stacks) {
    const ServingStack stack = table.stack(described.name, Generation::hopper);
    for (const char* name : {"llama3-70b", "qwen3-30b-a3b"}) {
      const Model model = load_model(name);
      for (const EngineLayout& l : {EngineLayout{8, 1, 1, 1}, EngineLayout{2, 4, 1, 1}, EngineLayout{2, 1, 4, 1}})
        for (const double isl : {100.0, 4096.0, 100000.0})
          for (const double osl : {1.0, 100.0}) {
            const Engine engine{model, l, {WeightFormat::fp8, 1}, rig.machine};
            const Prefill prompt = prefill_prompt(engine, stack, isl);
            CHECK(prompt.full <= prompt.shared);
            for (const double clients : {1.0, 8.0, 64.0, 512.0}) {
              const double servers = static_cast<double>(l.attention_dp) * l.pp;
              const double rate = aggregated(engine, stack, {isl, osl, clients}, prompt).rate;
              CHECK(rate * prompt.least <= servers * (1 + 1e-9));
            }
          }
    }
  }
}

TEST_CASE("drafts that are never kept slow a step, those always kept multiply its tokens") {
  ServingStack stack = bare();
  stack.drafts = 1;
  stack.acceptance = 0.8;
  CHECK(stack.tokens_per_step() == Approx(1.8));
  stack.drafts = 3;
  CHECK(stack.tokens_per_step() == Approx(1 + 0.8 + 0.64 + 0.512));
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-70b");
  const Engine engine{model, {.tp = 8}, {WeightFormat::fp8, 1}, rig.machine};
  const double plain = decode_step(engine, bare(), 1, 1000).per_token;
  stack.drafts = 1;
  stack.acceptance = 1;
  CHECK(decode_step(engine, stack, 1, 1000).per_token == Approx(plain / 2).epsilon(0.02));  // weights are read once for both
  stack.acceptance = 0;
  CHECK(decode_step(engine, stack, 1, 1000).per_token > plain);
}

TEST_CASE("a prompt alone is bound by its launches when short, by its work when long") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-8b");
  ServingStack stack = bare();
  stack.host_launch = 100e-6;
  const Engine engine{model, {}, {WeightFormat::bf16, 2}, rig.machine};
  const Prefill tiny = prefill_prompt(engine, stack, 16), huge = prefill_prompt(engine, stack, 65536);
  CHECK(tiny.alone == Approx(225 * 100e-6).epsilon(0.05));
  CHECK(tiny.shared < 0.6 * tiny.alone);  // others share its chunk
  CHECK(huge.alone == Approx(huge.forward.seconds()).epsilon(0.02));
}

TEST_CASE("a prompt in chunks is the sum of its chunks, and dearer than in one") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-70b");
  ServingStack stack = bare();
  const Engine engine{model, {.tp = 8}, {WeightFormat::fp8, 1}, rig.machine};
  double before = engine.prefill(65536).seconds();
  for (const int chunks : {2, 4, 8, 32}) {
    stack.chunk = 65536.0 / chunks;
    double sum = 0;
    for (int i = 0; i < chunks; ++i) sum += engine.prefill(stack.chunk, 1, i * stack.chunk).seconds();
    const double now = prefill_prompt(engine, stack, 65536).alone;
    CHECK(now == Approx(sum).epsilon(0.01));
    CHECK(now > before);
    before = now;
  }
}

TEST_CASE("prefill apart: TPOT is the step alone, and prompts bound the rate when their workers are few") {
  Rig rig("dgx-b200");
  const Model model = load_model("llama3-70b");
  const ServingStack stack;
  const EngineFormat format{WeightFormat::fp8, 1};
  const Engine engine{model, {.tp = 4}, format, rig.machine};
  const KvLink link = kv_link(rig.system, 4, true);
  const ServingTime few = disaggregated(engine, engine, {1, 8}, stack, {8192, 128, 512}, link);
  // 512 requests, of which those decode that have their first token
  const double decoding = few.rate * 128 * few.tpot / 8;
  CHECK(decoding < 0.2 * 64);
  CHECK(few.tpot == Approx(decode_step(engine, stack, std::max(1.0, decoding), 8256).per_token).epsilon(1e-4));
  CHECK(few.rate * (few.ttft + 128 * few.tpot) == Approx(512));
  CHECK(few.rate == Approx(1 / prefill_prompt(engine, stack, 8192).shared).epsilon(0.01));
  const ServingTime many = disaggregated(engine, engine, {64, 8}, stack, {8192, 128, 512}, link);
  CHECK(many.rate > 10 * few.rate);
  CHECK(many.transfer == few.transfer);
  CHECK(many.ttft < few.ttft);
  CHECK(many.rate * (many.ttft + 128 * many.tpot) == Approx(512));
  // a link that takes longer for a cache than its worker for the prompt
  const Prefill prompt = prefill_prompt(engine, stack, 8192);
  const KvTransfer slow{.waited = 0.1, .taken = 3 * prompt_of_many(prompt)};
  const ServingTime sent = disaggregated(engine, engine, {2, 8}, stack, {8192, 128, 512}, slow, prompt);
  CHECK(sent.rate <= 2 / slow.taken);  // a queue of those that come at random is never quite full
  CHECK(sent.rate == Approx(2 / slow.taken).epsilon(1e-4));
  CHECK(sent.link_use == Approx(1).epsilon(1e-4));
  CHECK(sent.prefill_use == Approx(1.0 / 3).epsilon(1e-4));
  // the links of few decode workers receive no faster than those of many prefill workers send
  const ServingTime received = disaggregated(engine, engine, {64, 2}, stack, {8192, 128, 512}, slow, prompt);
  CHECK(received.rate == Approx(2 / slow.taken));
  CHECK(received.link_use == Approx(1));
}

TEST_CASE("a batch that starts together is its prompts and its steps") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-8b");
  const Engine engine{model, {}, {WeightFormat::bf16, 2}, rig.machine};
  const ServingStack stack;
  double steps = 0;
  for (int i = 0; i < 63; ++i) steps += decode_step(engine, stack, 16, 512 + (i + 0.5) * 64.0 / 63).per_token;
  CHECK(static_batch_seconds(engine, stack, 16, 512, 64) == Approx(16 * prefill_prompt(engine, stack, 512).shared + steps).epsilon(0.002));
  CHECK(static_batch_seconds(engine, stack, 1, 512, 1) == Approx(prefill_prompt(engine, stack, 512).alone));
}

TEST_CASE("without CUDA graphs a small step takes as long as the host needs to launch it, a large one as long as its work") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-8b");
  const Engine engine{model, {}, {WeightFormat::bf16, 2}, rig.machine};
  ServingStack stack = bare();
  stack.host_launch = 80e-6;
  const double replayed = decode_step(engine, stack, 1, 1000).seconds;
  stack.decode_launch = Launch::eager;
  CHECK(decode_step(engine, stack, 1, 1000).seconds == Approx((32 * 7 + 1) * 80e-6).epsilon(0.03));
  CHECK(decode_step(engine, stack, 1, 1000).seconds > 2 * replayed);
  stack.host_launch = 1e-6;
  CHECK(decode_step(engine, stack, 1, 1000).seconds == Approx(replayed).epsilon(0.01));
  // and prompts in graphs take none of the host's time
  stack.host_launch = 100e-6;
  stack.prefill_launch = Launch::graph;
  CHECK(prefill_prompt(engine, stack, 16).alone == Approx(engine.prefill(16, 1, 0, Launch::graph).seconds()));
}

TEST_CASE("prompts wait for the scheduler's next look as arrivals of a simulated clock do") {
  ServingStack stack = bare();
  stack.poll = 30;
  const double step = 0.011;
  // arrivals anywhere in an interval, seen at the step boundary at its end; a step's own end is seen at once with an interval of one
  double waited = 0;
  const int arrivals = 30000;
  for (int i = 0; i < arrivals; ++i) {
    const double at = (i + 0.5) / arrivals * stack.poll * step, boundary = std::ceil(at / step) * step;
    waited += stack.poll * step - boundary;
  }
  CHECK(held_seconds(stack, 1000, step, 5) == Approx(waited / arrivals).epsilon(0.01));
  stack.poll = 1;
  CHECK(held_seconds(stack, 1000, step, 5) == 0);
}

TEST_CASE("prompts held for company wait at most so many steps, and less the sooner company comes") {
  ServingStack stack = bare();
  stack.hold_steps = 20;
  stack.hold_tokens = 14746;
  const double step = 0.01;
  CHECK(held_seconds(stack, 921, step, 1e-6) == Approx(0.2));  // nobody comes
  double before = 1;
  for (const double rate : {1.0, 10.0, 100.0, 1000.0, 1e5}) {
    const double now = held_seconds(stack, 921, step, rate);
    CHECK(now < before);
    before = now;
  }
  CHECK(before < 0.001);
  stack.hold_tokens = 900;  // one prompt is enough
  CHECK(held_seconds(stack, 921, step, 1) == 0);
}

TEST_CASE("weights and cache in the host's memory make room, and no step is shorter than their way") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-70b");
  const ServingStack stack;
  const double gib = 1073741824.0, rate = host_rate(rig.system);
  const EngineFormat format{WeightFormat::fp8, 1};
  const Engine plain{model, {.tp = 4}, format, rig.machine}, weights{model, {.tp = 4}, format, rig.machine, {8 * gib, 0, rate}},
      cache{model, {.tp = 4}, format, rig.machine, {0, 30 * gib, rate}}, all{model, {.tp = 4}, format, rig.machine, {1e15, 0, rate}};
  const double each = plain.kv(2304);
  CHECK(weights.capacity(2304, 0.93) - plain.capacity(2304, 0.93) == Approx(8 * gib / each).margin(1));  // whole sequences
  CHECK(cache.capacity(2304, 0.93) - plain.capacity(2304, 0.93) == Approx(30 * gib / each).margin(1));
  CHECK(decode_step(weights, stack, 1, 2304).seconds == Approx(8 * gib / rate));
  CHECK(decode_step(weights, stack, 1, 2304).host > 0);
  CHECK(decode_step(all, stack, 1, 2304).seconds == Approx(plain.weights() / rate));  // no more than there are
  // cache goes there once the GPU is full, not before
  const double fits = std::floor(plain.capacity(2304, stack.memory_share));
  CHECK(decode_step(cache, stack, fits, 2304).seconds == decode_step(plain, stack, fits, 2304).seconds);
  CHECK(decode_step(cache, stack, fits + 200, 2304).seconds == Approx(200 * each / rate).epsilon(0.01));
  CHECK(prefill_prompt(weights, stack, 16).alone == Approx(8 * gib / rate));
  // every chunk of a prompt loads them again; of prompts that fill chunks, each bears its part of a load
  const Engine slow{model, {.tp = 4}, format, rig.machine, {8 * gib, 0, rate / 1000}};
  const Prefill chunks = prefill_prompt(slow, stack, 2.5 * stack.chunk);
  CHECK(chunks.alone == Approx(3 * 8 * gib / rate * 1000));
  CHECK(chunks.shared == Approx(2.5 * 8 * gib / rate * 1000));
  CHECK(chunks.full == Approx(chunks.shared));
  // with prompts of a chunk each block shares one load: FlexGen's own way of many sequences a load is cheaper still
  CHECK(prefill_prompt(weights, stack, 16).shared <
        0.01 * prefill_prompt(weights, stack, 16).alone + prefill_prompt(plain, stack, 16).shared);
}

TEST_CASE("what does not fit says so") {
  Rig rig("dgx-h100");
  const Model model = load_model("llama3-405b");
  const Engine engine{model, {.tp = 4}, {WeightFormat::fp8, 1}, rig.machine};
  CHECK(support::contains(support::message_of([&] { return aggregated(engine, ServingStack{}, {100, 100, 1}); }), "do not fit"));
}

TEST_CASE("weights on the host come over its link every step, shared by the whole block") {
  Rig rig("aws-g4dn");
  const Model model = load_model("opt-30b");
  const Engine engine{model, {}, {WeightFormat::bf16, 2}, rig.machine};
  const ServingStack stack = bare();
  const double rate = host_rate(rig.system);
  const Offload one = min_offload(engine, 1, 544, 0.9), block = min_offload(engine, 144, 544, 0.9);
  CHECK(one.weights == Approx(1 - 0.9 * rig.system.memory().value() / engine.weights()).epsilon(0.001));
  CHECK(one.cache == 1);
  CHECK(offloaded_step(engine, stack, 1, 544, one, rate) == Approx((one.weights * engine.weights() + engine.kv(544)) / rate));
  // 144 sequences share the load: far more than 20 times the tokens per second of one
  CHECK(144 / offloaded_step(engine, stack, 144, 544, block, rate) > 20 / offloaded_step(engine, stack, 1, 544, one, rate));
  // the part that fits stays on the GPU
  const Model small = load_model("opt-6.7b");
  const Offload none = min_offload(Engine{small, {}, {WeightFormat::bf16, 2}, rig.machine}, 1, 100, 0.95);
  CHECK(none.weights == 0);
  CHECK(none.cache == 0);
  // chip to chip is quicker than PCIe
  CHECK(host_rate(load_system("gb200-nvl72")) > 3 * host_rate(load_system("dgx-b200")));
}
