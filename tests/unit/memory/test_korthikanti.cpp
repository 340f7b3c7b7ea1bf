#include "stacks.hpp"

#include <catch.hpp>

#include <cmath>
#include <cstdio>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

struct Case {
  Model model;
  Layout layout;
};

/// The models of Korthikanti 2022, table 3: t = 8, sequences of 2048.
Case korthikanti(int layers, int hidden, int heads, int pp, int vp, int microbatch) {
  Case c{gpt(layers, hidden, heads), {}};
  c.layout.tp = 8;
  c.layout.pp = pp;
  c.layout.vp = vp;
  c.layout.microbatch = microbatch;
  c.layout.sequence = 2048;
  c.layout.global_batch = microbatch * pp * 8;
  c.layout.schedule = pp == 1 ? PipelineSchedule::none : vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
  return c;
}

double activations_gib(Case c, bool sequence_parallel, Recompute recompute) {
  c.layout.sequence_parallel = sequence_parallel;
  c.layout.recompute = recompute;
  return memory_of(c.model, c.layout, megatron_2022(), 0).activations / 1073741824.0;
}

/// States as the paper draws them: 18 bytes for the matrices of the layers, spread evenly, embeddings and norms left out.
double states_gib(const Case& c) {
  const ParameterCount n = parameters_of(c.model);
  return 18 * c.model.layers * (n.attention + n.dense_ffn) / (c.layout.tp * c.layout.pp) / 1073741824.0;
}

}  // namespace

TEST_CASE("activations of the first stage and states are those of Korthikanti 2022 to all digits") {
  const Case m22 = korthikanti(48, 6144, 64, 1, 1, 4), m175 = korthikanti(96, 12288, 96, 8, 3, 1),
             m530 = korthikanti(105, 20480, 128, 35, 3, 1), m1t = korthikanti(128, 25600, 160, 64, 1, 1);
  CHECK(activations_gib(m22, false, Recompute::none) == Approx(59.25).epsilon(1e-14));
  CHECK(activations_gib(m22, true, Recompute::selective) == Approx(9.5625).epsilon(1e-14));
  CHECK(activations_gib(m175, false, Recompute::none) == Approx(66.84375).epsilon(1e-14));
  CHECK(activations_gib(m175, true, Recompute::selective) == Approx(12.3515625).epsilon(1e-14));
  CHECK(activations_gib(m530, false, Recompute::none) == Approx(114.0234375).epsilon(1e-14));
  CHECK(activations_gib(m530, true, Recompute::selective) == Approx(23.076171875).epsilon(1e-14));
  CHECK(activations_gib(m1t, false, Recompute::none) == Approx(131.25).epsilon(1e-14));
  CHECK(activations_gib(m1t, true, Recompute::selective) == Approx(26.5625).epsilon(1e-14));
  CHECK(states_gib(m22) == Approx(45.5625).epsilon(1e-14));
  CHECK(states_gib(m175) == Approx(45.5625).epsilon(1e-14));
  CHECK(states_gib(m530) == Approx(31.640625).epsilon(1e-14));
  CHECK(states_gib(m1t) == Approx(32.958984375).epsilon(1e-14));
}

TEST_CASE("the bytes of a layer are the paper's formulas") {
  const Case c = korthikanti(48, 6144, 64, 1, 1, 4);
  const double s = 2048, b = 4, h = 6144, a = 64, t = 8, l = 48, gib = 1073741824.0;
  CHECK(activations_gib(c, false, Recompute::none) * gib == Approx(l * s * b * h * (10 + 24 / t + 5 * a * s / (h * t))).epsilon(1e-14));
  CHECK(activations_gib(c, true, Recompute::none) * gib == Approx(l * s * b * h / t * (34 + 5 * a * s / h)).epsilon(1e-14));
  CHECK(activations_gib(c, false, Recompute::selective) * gib == Approx(l * s * b * h * (10 + 24 / t)).epsilon(1e-14));
  CHECK(activations_gib(c, true, Recompute::selective) * gib == Approx(l * 34 * s * b * h / t).epsilon(1e-14));
  CHECK(activations_gib(c, false, Recompute::full) * gib == Approx(l * 2 * s * b * h).epsilon(1e-14));
  // input and output, section 4.3: masks s b h p / t, and 4 s b h / t (1 + V / h) where the head is on the same stage
  Case shared = c;
  shared.layout.sequence_parallel = true;
  CHECK(memory_of(shared.model, shared.layout, megatron_2022(), 0).vocabulary ==
        Approx(s * b * h / t + 4 * s * b * h / t * (1 + 51200 / h)).epsilon(1e-14));
}
