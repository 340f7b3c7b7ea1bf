#include "stacks.hpp"
#include "support/random_layouts.hpp"

#include <catch.hpp>

using namespace fabricost::plan;
using namespace fabricost::test;

TEST_CASE("bytes per parameter of ZeRO are those of its paper") {
  // Rajbhandari 2020, figure 1: 7.5e9 parameters, 64 ranks, 16-bit gradients: 120, 31.4, 16.6, 1.9 GB
  MemoryStack stack = as_allocated();
  stack.gradient = 2;
  const Model m = gpt(32, 4096, 32);
  Layout l;
  l.dp = l.global_batch = 64;
  const double count = parameters_of(m).total, printed[] = {120, 31.4, 16.6, 1.9};
  for (int zero = 0; zero < 4; ++zero) {
    l.zero = zero;
    CHECK(memory_of(m, l, stack, 0).states() / count * 7.5 == Approx(printed[zero]).margin(0.05));
  }
}

TEST_CASE("states follow the formulas of each stage of ZeRO exactly") {
  const Model m = gpt(24, 2048, 16);
  const double n = parameters_of(m).total, d = 16;
  MemoryStack stack;
  Layout l;
  l.dp = 8;
  l.cp = 2;
  l.global_batch = 8;
  const double expected[] = {(2 + 4 + 12) * n, 6 * n + 12 * n / d, 2 * n + 16 * n / d, 18 * n / d};
  for (l.zero = 0; l.zero < 4; ++l.zero) CHECK(memory_of(m, l, stack, 0).states() == Approx(expected[l.zero]).epsilon(1e-12));
  l.zero = 3;
  l.shard = 4;  // HSDP: four ranks hold one copy
  CHECK(memory_of(m, l, stack, 0).states() == Approx(18 * n / 4).epsilon(1e-12));
}

TEST_CASE("experts are sharded over their own data ranks") {
  Model m = gpt(8, 1024, 16);
  m.experts = 16;
  m.top_k = 2;
  m.expert_ffn = 2048;
  m.ffn = 0;
  Layout l;
  l.tp = 2;
  l.dp = 8;
  l.ep = 4;
  l.zero = 1;
  l.global_batch = 8;
  const MemoryStack stack;
  const ParameterCount c = parameters_of(m);
  const double experts = 8 * 16 * c.expert / 4;
  // 16 ranks of the stage, 4 of them hold an expert group: 4 replicas
  CHECK(expert_shard_ranks(l) == 4);
  const double rest = 8 * c.attention / 2 + 8 * (c.norms + c.router) + 1024 + (c.embedding + c.head) / 2;
  CHECK(memory_of(m, l, stack, 0).optimizer == Approx(12 * (experts / 4 + rest / 8)).epsilon(1e-12));
  l.expert_tp = 2;
  CHECK(expert_shard_ranks(l) == 2);
  CHECK(memory_of(m, l, stack, 0).optimizer == Approx(12 * (experts / 2 / 2 + rest / 8)).epsilon(1e-12));
}

TEST_CASE("low precision keeps copies of the weights with their scales") {
  const Model m = gpt(8, 1024, 16);
  MemoryStack stack;
  Layout l;
  const double base = memory_of(m, l, stack, 0).weights, matrices = 8 * (parameters_of(m).attention + parameters_of(m).dense_ffn);
  l.precision = Precision::fp8;
  const double norms = 8 * parameters_of(m).norms + 1024;
  CHECK(memory_of(m, l, stack, 0).weights - base == Approx(2 * (33.0 / 32) * (matrices + norms)).epsilon(1e-3));
  l.precision = Precision::fp4;
  CHECK(memory_of(m, l, stack, 0).weights - base == Approx(2 * (9.0 / 16) * (matrices + norms)).epsilon(1e-3));
  l.precision = Precision::fp8;
  CHECK(memory_of(m, l, stack, 0).activations < memory_of(m, Layout{}, stack, 0).activations);
}

TEST_CASE("fp8 parameters are the layers' only weights, and no others") {
  const Model m = gpt(8, 1024, 16);
  MemoryStack stack;
  Layout l;
  l.precision = Precision::fp8;
  l.tp = 2;
  const double both = memory_of(m, l, stack, 0).weights;
  stack.fp8_parameters = true;
  const ParameterCount c = parameters_of(m);
  const double layers = 8 * ((c.attention + c.dense_ffn) / 2 + c.norms) + 1024;
  CHECK(both - memory_of(m, l, stack, 0).weights == Approx(2 * layers).epsilon(1e-12));  // the 16-bit ones
  CHECK(memory_of(m, l, stack, 0).weights == Approx(2 * (33.0 / 32) * layers + 2 * (c.embedding + c.head) / 2).epsilon(1e-12));
  for (const Precision other : {Precision::bf16, Precision::fp4}) {  // no parameters in fp8 there
    l.precision = other;
    stack.fp8_parameters = false;
    const double without = memory_of(m, l, stack, 0).weights;
    stack.fp8_parameters = true;
    CHECK(memory_of(m, l, stack, 0).weights == without);
  }
}

TEST_CASE("a master kept as the remainder of a 16-bit weight takes two bytes less, where the weight is in 16 bit") {
  const Model m = gpt(8, 1024, 16);
  MemoryStack stack;
  stack.fp8_parameters = true;
  Layout l;
  l.dp = 8;
  l.global_batch = 8;
  l.zero = 1;
  const auto saved = [&] {
    stack.master_remainders = false;
    const double whole = memory_of(m, l, stack, 0).optimizer;
    stack.master_remainders = true;
    return whole - memory_of(m, l, stack, 0).optimizer;
  };
  const ParameterCount c = parameters_of(m);
  CHECK(saved() == Approx(2 * c.total / 8).epsilon(1e-12));
  l.precision = Precision::fp8;
  CHECK(saved() == Approx(2 * (c.embedding + c.head) / 8).epsilon(1e-12));
}
