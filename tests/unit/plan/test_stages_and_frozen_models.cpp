/// Recipes: layers divided unevenly over stages, weights that stay gathered, frozen weights in 4 bit, second models, data and evaluation;
/// each against its closed form or a property, and refused where no program runs it.

#include "catch.hpp"
#include "support/gpt.hpp"
#include "support/job.hpp"
#include "support/message_of.hpp"
#include "unit/workload/jobs.hpp"

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/memory/memory.hpp>
#include <fabricost/plan/model/layout_check.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/step.hpp>

using namespace fabricost::plan;
using fabricost::test::gpt;

namespace {

/// A GPT with h 1024, 16 heads of 64, f 4096 and a head of less than a layer.
Model gpt_of(int layers, int vocab = 1280) { return gpt(layers, 1024, 16, vocab); }

Layout in_stages(int pp, int vp, PipelineSplit split) {
  Layout l;
  l.pp = pp;
  l.vp = vp;
  l.split = split;
  l.global_batch = 8 * pp;
  l.sequence = 2048;
  l.schedule = vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
  return l;
}
std::vector<int> layers_by_stage(const Model& m, const Layout& l) {
  std::vector<int> out;
  for (int s = 0; s < l.pp; ++s) out.push_back(stage_content(m, l, s).layers);
  return out;
}

StepTime priced_alone(const Model& m, const Layout& l, Stack stack = {}) {
  stack.accumulation_bytes = 0;
  GroupCosts costs(jobs::machine("dgx-h100"));
  return step_time(m, l, stack, jobs::plain_processor(1e15), costs);
}

PlanRequest dense_job() {
  auto r = support::job<PlanRequest>("dgx-h100", "llama3-8b", 16, 64);
  r.tp = 2;
  r.pp = 4;
  r.cp = 1;
  r.microbatch = 1;
  r.zero = 1;
  return r;
}
PlanRequest adapter_job() {
  PlanRequest r = dense_job();
  r.gpus = 8;
  r.tp = 1;
  r.pp = 1;
  r.zero = 0;
  r.lora_rank = 16;
  return r;
}
PlannedLayout fastest_of(const PlanRequest& r) { return answer(r).layouts.front(); }
double term_of_job(const PlanRequest& r, const std::string& name) {
  for (const StepTerm& one : fastest_of(r).terms)
    if (one.name == name) return one.time.value();
  return 0;
}
double part_of_memory(const PlanRequest& r, const std::string& name) {
  for (const MemoryPart& one : fastest_of(r).memory)
    if (one.name == name) return one.bytes.value();
  return 0;
}
std::string refused_with(const PlanRequest& r) {
  return support::message_of([&] { return answer(r); });
}
bool has_words(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("the first and the last stage have the layers given, those between share the rest") {
  CHECK(layers_by_stage(gpt_of(61), in_stages(8, 1, {.first = 4, .last = 3})) == std::vector<int>{4, 9, 9, 9, 9, 9, 9, 3});
  CHECK(layers_by_stage(gpt_of(48), in_stages(4, 2, {.first = 10, .last = 6})) == std::vector<int>{10, 16, 16, 6});
  CHECK(layers_by_stage(gpt_of(61), in_stages(4, 1, {.last = 13})) == std::vector<int>{16, 16, 16, 13});
  CHECK(layers_by_stage(gpt_of(7), in_stages(2, 1, {.first = 4, .last = 3})) == std::vector<int>{4, 3});
  CHECK(layers_by_stage(gpt_of(46), in_stages(4, 3, {.embedding = true, .loss = true})) == std::vector<int>{11, 12, 12, 11});
  CHECK(layers_by_stage(gpt_of(31), in_stages(4, 1, {.embedding = true})) == std::vector<int>{7, 8, 8, 8});
  const Layout l = in_stages(4, 2, {.first = 10, .last = 6});
  const LayerSplit split = split_layers(gpt_of(48), l);
  int before = 0;
  for (int chunk = 0; chunk < split.chunks; ++chunk) {
    CHECK(split.first(chunk) == before);
    before += split.layers(chunk);
  }
  CHECK((before == 48 && split.first(split.chunks) == 48));
}

TEST_CASE("a step with stages of unequal length takes its microbatches through the fullest one") {
  const Model m = gpt_of(10);  // 1, 4, 4, 1: the head is less than three layers
  const Layout l = in_stages(4, 1, {.first = 1, .last = 1});
  const double core = 2 * 2048.0 * 2048 * 1024, others = 2 * 2048.0 * (1024 * 3072.0 + 1024 * 1024.0 + 2 * 1024 * 4096.0);
  const double passes = 1 + jobs::plain_processor(1e15).constants.attention_backward;
  const double layer = (3 * others + passes * core) / 1e15;
  const StepTime t = priced_alone(m, l);
  CHECK(t.compute + t.bubble == Approx((l.microbatches() + 3) * 4 * layer).epsilon(1e-9));
}

TEST_CASE("layers moved from the last stage to the first are never slower while the first stays below those between") {
  for (const int vocab : {1280, 32000, 512000})  // heads of a tenth of a layer to forty of them
    for (const int pp : {3, 4, 8}) {
      const int between = 6, both = 8;
      const Model m = gpt_of((pp - 2) * between + both, vocab);
      double last = std::numeric_limits<double>::infinity();
      for (int front = 2; front <= between; ++front) {
        const StepTime t = priced_alone(m, in_stages(pp, 1, {.first = front, .last = both - front}));
        CHECK(t.seconds <= last * (1 + 1e-12));
        last = t.seconds;
      }
    }
}

TEST_CASE("fewer layers on the first stage, which holds most microbatches, need less memory there") {
  const Model m = gpt_of(32);
  const MemoryStack stack;
  const auto of_first = [&](PipelineSplit split) { return memory_of(m, in_stages(4, 1, split), stack, 0); };
  const MemoryUse even = of_first({}), fewer = of_first({.first = 5, .last = 7});
  CHECK(fewer.activations == Approx(5.0 / 8 * even.activations));
  CHECK(fewer.total() < even.total());
}

TEST_CASE("weights that stay gathered are gathered once a microbatch, and all of them are there") {
  const Model m = gpt_of(8, 32000);
  Layout l = in_stages(1, 1, {});
  l.dp = 8;
  l.zero = 3;
  l.global_batch = 32;
  Stack all_open;
  all_open.shard_exposed = 1;
  GroupCosts costs(jobs::machine("dgx-h100"));
  const double weights = parameters_of(m).total;
  const double gather = costs.seconds(Collective::all_gather, place(8, 1, 8), 2 * weights);
  const StepTime twice = priced_alone(m, l, all_open);
  l.reshards = false;
  const StepTime once = priced_alone(m, l, all_open);
  CHECK(twice.data - once.data == Approx(4 * gather).epsilon(1e-9));
  const MemoryUse kept = memory_of(m, l, {}, 0);
  l.reshards = true;
  const MemoryUse dropped = memory_of(m, l, {}, 0);
  const ParameterCount n = parameters_of(m);
  const double layers = 2 * (n.mixing + n.dense_ffn) + n.embedding + n.head;
  CHECK(kept.buffers - dropped.buffers == Approx(2 * (weights * 7 / 8 - layers)));
}

TEST_CASE("resharding never lowers a step's time and never raises its memory") {
  for (int i = 0; i < 400; ++i) {
    jobs::Job job = jobs::random_job(i);
    job.layout.zero = 3;
    INFO(i << ": " << job.text());
    const Model& m = jobs::model(job.model);
    const System& system = jobs::machine(job.system);
    GroupCosts costs(system);
    const auto seconds = [&] { return step_time(m, job.layout, job.stack, Processor::of(system), costs).seconds; };
    const auto bytes = [&] { return worst_stage(m, job.layout, job.stack.memory).total(); };
    const double again = seconds(), least = bytes();
    job.layout.reshards = false;
    CHECK(seconds() <= again * (1 + 1e-12));
    CHECK(bytes() >= least * (1 - 1e-12));
  }
}

TEST_CASE("layers gathered ahead take memory, and none ahead leaves the whole exchange open") {
  PlanRequest r = dense_job();
  r.tp = 1;
  r.pp = 1;
  r.zero = 3;
  const double usual = fastest_of(r).memory_size.value(), hidden = term_of_job(r, "data");
  r.prefetch_layers = 1;
  CHECK(fastest_of(r).memory_size.value() == Approx(usual));
  CHECK(term_of_job(r, "data") == Approx(hidden));
  r.prefetch_layers = 3;
  CHECK(fastest_of(r).memory_size.value() > usual);
  CHECK(term_of_job(r, "data") == Approx(hidden));
  r.prefetch_layers = 0;
  CHECK(fastest_of(r).memory_size.value() < usual);
  CHECK(term_of_job(r, "data") > hidden);
  r.zero = 1;
  CHECK(has_words(refused_with(r), "zero"));
}

TEST_CASE("frozen weights in 4 bit take 0.516 bytes a parameter of the layers, and are brought to 16 bit in every pass") {
  PlanRequest r = adapter_job();
  const double wide = part_of_memory(r, "weights"), before = term_of_job(r, "compute");
  r.load_in_4bit = true;
  const Model m = load_model("llama3-8b");
  const double tables = 2.0 * m.hidden * m.vocab, layers = parameters_of(m).total - tables;
  CHECK(wide - part_of_memory(r, "weights") == Approx((2 - 0.5 - 1.0 / 64 - 1.0 / 4096) * layers).epsilon(1e-9));
  const double rate = Processor::of(load_system("dgx-h100")).memory_rate;
  const double least = 8 * 2 * 2.516 * layers / rate;  // 8 microbatches, two directions, read in 4 bit and written in 16
  CHECK(term_of_job(r, "compute") > before + least);
  CHECK(term_of_job(r, "compute") < before + 3 * least);
  r.zero = 1;  // what is gathered then are adapters, in 16 bit
  const double gathered = term_of_job(r, "data");
  r.load_in_4bit = false;
  CHECK(gathered == Approx(term_of_job(r, "data")));
  r.load_in_4bit = true;
  r.precision = Precision::fp8;
  CHECK(has_words(refused_with(r), "precision"));
  r.precision = Precision::bf16;
  r.lora_rank.reset();
  CHECK(has_words(refused_with(r), "lora_rank"));
}

TEST_CASE("a second, frozen model takes its forward passes and its weights in 16 bit; adapters share them with their own reference") {
  const Model m = gpt_of(4, 32000);
  Model with = m;
  with.frozen = std::make_shared<const Model>(gpt_of(8, 32000));
  Layout l = in_stages(1, 1, {});
  const StepTime alone = priced_alone(m, l), both = priced_alone(with, l);
  const double layer = 2 * 2048.0 * (1024 * 3072.0 + 1024 * 1024.0 + 2 * 1024 * 4096.0) + 2 * 2048.0 * 2048 * 1024;
  const double passes = l.microbatches() * (8 * layer + 2 * 2048.0 * 1024 * 32000) / 1e15;
  CHECK(both.frozen == Approx(passes).epsilon(1e-9));
  CHECK(both.seconds - alone.seconds == Approx(passes).epsilon(1e-9));
  CHECK(memory_of(with, l, {}, 0).frozen == Approx(2 * parameters_of(*with.frozen).total));
  Layout sharded = l;  // over all replicas: two layers are gathered at a time, in room that as large layers of its own have left
  sharded.dp = 8;
  sharded.global_batch = 64;
  sharded.zero = 3;
  CHECK(memory_of(with, sharded, {}, 0).frozen == Approx(2 * parameters_of(*with.frozen).total / 8).epsilon(1e-3));
  Model wide = m;
  wide.ffn = 16384;
  Model beside = m;
  beside.frozen = std::make_shared<const Model>(wide);
  const double more = 2 * (wide.ffn - m.ffn) * 1024.0;  // parameters of a layer
  CHECK(memory_of(beside, sharded, {}, 0).frozen == Approx(2 * parameters_of(wide).total / 8 + 2 * 2 * more).epsilon(1e-3));
  l.pp = 4;
  CHECK(priced_alone(with, l).frozen > (l.microbatches() + 3) * 2 * layer / 1e15);

  PlanRequest r = adapter_job();
  const double trained = fastest_of(r).memory_size.value();
  r.frozen_model = {"llama3-8b"};
  CHECK(part_of_memory(r, "frozen model") == 0);
  CHECK(term_of_job(r, "frozen_model") > 0);
  CHECK(fastest_of(r).memory_size.value() >= trained);
  r.frozen_model = {"qwen3-4b"};
  CHECK(part_of_memory(r, "frozen model") == Approx(2 * parameters_of(load_model("qwen3-4b")).total));
}
