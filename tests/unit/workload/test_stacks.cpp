// Software stacks: data/stacks, the fit's factors, and which stack a published row ran.
#include <fabricost/plan/specs/stacks.hpp>

#include "tables.hpp"

#include "support/message_of.hpp"

#include <catch.hpp>

#include <algorithm>

using namespace fabricost::plan;
using support::contains;

namespace {

std::string refused(const std::string& text) {
  try {
    (void)load_stack(tables::File(text, "stack.yaml").path().string());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("stacks fitted on a generation have published steps there") {
  const std::vector<std::string> hopper = stacks_fitted_on(Generation::hopper);
  const auto listed = [&](const char* name) { return std::find(hopper.begin(), hopper.end(), name) != hopper.end(); };
  CHECK(listed("nemo"));
  CHECK_FALSE(listed("nemo-lora-rocm"));
  CHECK_FALSE(listed("rocm-mlperf"));
  CHECK_FALSE(listed("nemo-mlperf-2025-09"));
}

TEST_CASE("every shipped stack loads, and the fitted ones say on what", "[stacks]") {
  int fitted = 0;
  for (const std::string& name : stack_names()) {
    const Stack s = load_stack(name);
    INFO(name);
    CHECK(s.name == name);
    CHECK(s.scale > 0.64);
    CHECK(s.scale < 1.4);
    CHECK(s.spread > 0.01);
    fitted += !s.seen.on.empty();
  }
  CHECK(stack_names().size() >= 16);
  CHECK(fitted >= 10);
}

TEST_CASE("keys and words that are not known are refused with the place", "[stacks]") {
  const std::string sound = "name: mine\ntitle: Mine\nextends: megatron-core\nsource: made here\nconfidence: assumed\n";
  CHECK(refused(sound).empty());
  CHECK(contains(refused(sound + "tensor_exposure: 0.5\n"), ".yaml:6:"));
  CHECK(contains(refused(sound + "tensor_exposure: 0.5\n"), "tensor_exposed"));
  CHECK(contains(refused(sound + "attention: flashy\n"), "cudnn"));
  CHECK(contains(refused(sound + "tensor_exposed: 2\n"), ":6:"));
  CHECK(contains(refused(sound + "scale: fast\n"), ":6:"));
  CHECK(support::contains(support::message_of([] { return load_stack("megatron-cor"); }), "megatron-core"));
}

TEST_CASE("a file's own scale stays, whatever was fitted", "[stacks]") {
  const tables::File own("name: own\ntitle: Own\nextends: nemo\nsource: made here\nconfidence: assumed\nscale: 1.5\n", "own.yaml");
  CHECK(load_stack(own.path().string()).scale == 1.5);
  CHECK(load_stack(own.path().string()).tensor_exposed == load_stack("nemo").tensor_exposed);
}

TEST_CASE("variants of one program have its factor, and a spread of their own", "[stacks]") {
  const Stack nemo = load_stack("nemo"), cloud = load_stack("nemo-dgx-cloud"), fsdp = load_stack("pytorch-fsdp2");
  CHECK(cloud.scale == nemo.scale);
  CHECK(cloud.spread != nemo.spread);
  CHECK(fsdp.scale == load_stack("torchtitan").scale);
}

TEST_CASE("a program without steps misses by what unseen programs do, on every generation alike; one with steps by more on another") {
  const Stack core = load_stack("megatron-core"), fsdp = load_stack("composer-fsdp");
  REQUIRE(core.seen.on.empty());
  for (const Generation on : {Generation::ampere, Generation::hopper, Generation::blackwell})
    CHECK(spread_of(core, {on, Precision::bf16}) == core.spread);
  CHECK(core.spread == Stack{}.spread);
  REQUIRE_FALSE(fsdp.seen.of(Generation::blackwell));
  CHECK(spread_of(fsdp, {Generation::blackwell, Precision::bf16}) == Approx(std::hypot(fsdp.spread, core.spread)));
}

TEST_CASE("what a program's variants ran counts as seen, as far off as they were", "[stacks]") {
  const Stack nemo = load_stack("nemo"), mlperf = load_stack("nemo-mlperf");
  REQUIRE(mlperf.seen.of(Generation::blackwell));
  REQUIRE(nemo.seen.of(Generation::blackwell));
  const double on_hopper = spread_of(nemo, {Generation::hopper, Precision::bf16}),
               on_blackwell = spread_of(nemo, {Generation::blackwell, Precision::bf16});
  CHECK(on_hopper == Approx(nemo.spread));
  CHECK(on_blackwell >= std::max(nemo.spread, mlperf.seen.find(Generation::blackwell)->spread));
  CHECK(on_blackwell < spread_of(nemo, {Generation::ampere, Precision::bf16}));
  CHECK(mlperf.seen.experts);  // NeMo's recipes have some
  CHECK(load_stack("nemo-mlperf-2023").seen.on.size() == 1);  // a program of its own
  const Stack later = load_stack("nemo-mlperf-2025-09");
  REQUIRE(later.release < 1);
  CHECK(later.scale == Approx(later.release * mlperf.scale));  // the same program, a later release
  const Stack unrun = load_stack("torchtitan-compiled-loss");
  CHECK(unrun.seen.of(Generation::hopper));
  CHECK(unrun.spread == Stack{}.spread);  // none of its own steps were fitted
}

TEST_CASE("the interval of steps like those that were fitted is no wider than a factor of two", "[stacks]") {
  int kinds = 0;
  for (const std::string& name : stack_names()) {
    const Stack stack = load_stack(name);
    for (const StepsSeen::On& on : stack.seen.on)
      for (const bool experts : {false, true}) {
        if (experts && !stack.seen.experts) continue;
        INFO(name << " on " << fabricost::core::name(on.generation));
        const auto [low, high] = interval_around(1, spread_of(stack, {on.generation, Precision::bf16, experts}));
        CHECK(high / low < 2);
        ++kinds;
      }
  }
  CHECK(kinds > 30);
}

TEST_CASE("an interval widens for experts where the stack was fitted on dense models alone", "[stacks]") {
  Stack stack = load_stack("meta-llama3");
  REQUIRE_FALSE(stack.seen.experts);
  const StepKind dense{Generation::hopper, Precision::bf16}, experts{Generation::hopper, Precision::bf16, true};
  CHECK(spread_of(stack, experts) > 1.5 * spread_of(stack, dense));
  stack.seen.experts = true;
  CHECK(spread_of(stack, experts) == spread_of(stack, dense));
}

TEST_CASE("an interval widens for a generation the stack was not measured on, and for fp4", "[stacks]") {
  const Stack titan = load_stack("torchtitan"), nemo = load_stack("nemo");
  REQUIRE(titan.seen.of(Generation::hopper));
  REQUIRE_FALSE(titan.seen.of(Generation::blackwell));
  const double known = spread_of(titan, {Generation::hopper, Precision::bf16}),
               other = spread_of(titan, {Generation::blackwell, Precision::bf16});
  CHECK(known == Approx(titan.spread));
  CHECK(other > known);
  CHECK(spread_of(titan, {Generation::blackwell, Precision::fp4}) > other);
  REQUIRE(nemo.seen.fp4);  // of NVIDIA's MLPerf code
  CHECK(spread_of(nemo, {Generation::blackwell, Precision::fp4}) == spread_of(nemo, {Generation::blackwell, Precision::bf16}));
}
