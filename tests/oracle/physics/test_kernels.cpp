/// Random stacks and shapes on all machines: no update of an optimizer beats its bytes over the memory's rate, no attention its arithmetic
/// at the peak, no step of more tokens is shorter. FABRICOST_QUESTIONS sets how many (default 40,000), FABRICOST_SEED another start.
#include "dice.hpp"

#include <fabricost/plan/economics/terms.hpp>
#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/step.hpp>

#include <catch.hpp>

#include <cmath>
#include <map>

using namespace fabricost::plan;
using physics::dice;
using physics::number_of;
using physics::rounding;

namespace {

/// Machines whose GPU states a peak.
const std::vector<System>& machines_with_a_peak() {
  static const std::vector<System> all = [] {
    std::vector<System> out;
    for (const SystemName& one : system_names()) {
      System system = load_system(one.name);
      try {
        (void)Processor::of(system);
        out.push_back(std::move(system));
      } catch (const RequestError&) {}
    }
    return out;
  }();
  return all;
}
/// All stacks of data/.
const std::vector<Stack>& stacks() {
  static const std::vector<Stack> all = [] {
    std::vector<Stack> out;
    for (const std::string& one : stack_names()) out.push_back(load_stack(one));
    return out;
  }();
  return all;
}
const Model& small_model(support::Random& random) {
  static std::map<std::string, Model> loaded;
  const std::string name = random.of(std::vector<std::string>{"llama3-8b", "gpt-7.5b", "qwen3-30b-a3b", "deepseek-v2-lite", "gemma-2-9b"});
  const auto [at, fresh] = loaded.try_emplace(name);
  if (fresh) at->second = load_model(name);
  return at->second;
}
/// What Adam must move for a parameter whose states take these bytes: each read and written once, the weight written, the gradient read.
double least_bytes(const MemoryStack& m) { return m.gradient + m.weight + 2 * (m.optimizer - (m.master_remainders ? 2 : 0)); }

/// A stack of data/ with other formats, shares and a factor.
Stack random_stack(support::Random& random) {
  Stack stack = random.of(stacks());
  if (random.one_in(2)) {
    stack.memory.master = random.one_in(2) ? 4 : 0;
    stack.memory.optimizer = stack.memory.master + 1 + random.below(8);
    stack.memory.gradient = random.one_in(2) ? 2 : 4;
    stack.memory.master_remainders = stack.memory.master > 0 && random.one_in(3);
  }
  if (random.one_in(2)) stack.attention = static_cast<AttentionKernel>(random.below(static_cast<int>(attention_kernel_names.size())));
  if (random.one_in(2)) stack.scale = random.scaled(0.5, 2);
  return stack;
}

}  // namespace

TEST_CASE("no optimizer is faster than its bytes over the memory's rate, by itself or in a step of any factor", "[physics]") {
  for (long long i = 0, n = number_of("FABRICOST_QUESTIONS", 40'000); i < n; ++i) {
    support::Random random = dice(1, i);
    const System& system = random.of(machines_with_a_peak());
    const Processor gpu = Processor::of(system);
    const Stack stack = random_stack(random);
    const double parameters = random.scaled(1e3, 1e12), least = parameters * least_bytes(stack.memory) / gpu.memory_rate;
    const double seconds = update_seconds(gpu, stack, parameters);
    if (seconds * rounding >= least && std::isfinite(seconds)) continue;
    INFO(system.name << " " << stack.name << ": " << seconds << " s, least " << least);
    CHECK(seconds * rounding >= least);
    break;
  }
  for (long long i = 0, n = number_of("FABRICOST_QUESTIONS", 40'000) / 20; i < n; ++i) {
    support::Random random = dice(2, i);
    const System& system = random.of(machines_with_a_peak());
    const Model& model = small_model(random);
    Stack stack = random_stack(random);
    stack.scale_given = random.one_in(2);
    Layout l{.microbatch = 1, .global_batch = 1 + random.below(3), .sequence = 512 << random.below(4)};
    GroupCosts costs(system);
    const Processor gpu = Processor::of(system);
    const StepTime t = step_time(model, l, stack, gpu, costs);
    double in_step = 0;
    for (const StepTerm& term : terms_of(t))
      if (term.name == "optimizer") in_step = term.seconds();
    const double least = parameters_of(model).total * 0.99 * least_bytes(stack.memory) / gpu.memory_rate;
    INFO(system.name << " " << model.name << " " << stack.name << " factor " << stack.scale);
    REQUIRE(in_step >= least);
    REQUIRE((l.global_batch > 1 || t.accumulation == 0));
  }
}

TEST_CASE("no attention of any kind is faster than its causal scores at the peak", "[physics]") {
  for (long long i = 0, n = number_of("FABRICOST_QUESTIONS", 40'000); i < n; ++i) {
    support::Random random = dice(3, i);
    const System& system = random.of(machines_with_a_peak());
    const Stack stack = random_stack(random);
    const Processor full = Processor::of(system), gpu = driven_by(stack, {}, full);
    const double sequence = std::floor(random.scaled(1, 1e6)), heads = 1 + random.below(128), width = 2.0 * (16 << random.below(5));
    const auto precision = static_cast<Precision>(random.below(4));
    const auto seconds = [&](double tokens) {
      return attention_seconds(gpu, stack, {heads * tokens, tokens, {width / 2, width / 2}}, precision);
    };
    const double forward = seconds(sequence), backward = attention_backward(gpu, stack.attention) * forward;
    const double peak = stack.fp8_attention ? full.peak8 : full.peak16, work = heads * sequence * sequence * width;
    INFO(system.name << " " << stack.name << " " << attention_kernel_names[static_cast<std::size_t>(stack.attention)] << " " << sequence);
    // the backward has five products for the forward's two
    REQUIRE(forward * rounding >= work / peak);
    REQUIRE((stack.attention == AttentionKernel::math || backward * rounding >= 2.5 * work / peak));
    REQUIRE(seconds(sequence + 1) > forward);
  }
}

TEST_CASE("no step of more tokens is shorter", "[physics]") {
  for (long long i = 0, n = number_of("FABRICOST_QUESTIONS", 40'000) / 20; i < n; ++i) {
    support::Random random = dice(4, i);
    const System& system = random.of(machines_with_a_peak());
    const Model& model = small_model(random);
    const Stack stack = random_stack(random);
    GroupCosts costs(system);
    const Processor gpu = Processor::of(system);
    Layout l{.microbatch = 1 + random.below(2), .sequence = 256 * (1 + random.below(64))};
    l.global_batch = l.microbatch * (1 + random.below(4));
    l.recompute = static_cast<Recompute>(random.below(3));
    const double before = step_time(model, l, stack, gpu, costs).seconds;
    Layout longer = l, more = l, larger = l;
    longer.sequence += 256;
    more.global_batch += l.microbatch;
    larger.microbatch *= 2;
    larger.global_batch *= 2;
    INFO(system.name << " " << model.name << " " << stack.name << " " << l.sequence << " x " << l.microbatch << " of " << l.global_batch);
    REQUIRE(step_time(model, longer, stack, gpu, costs).seconds >= before);
    REQUIRE(step_time(model, more, stack, gpu, costs).seconds >= before);
    REQUIRE(step_time(model, larger, stack, gpu, costs).seconds >= before);
  }
}
