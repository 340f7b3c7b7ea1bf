/// \file test_predictions.cpp
/// Modules of multi-token prediction: their parameters by place, their memory and their FLOPs, against formulas written out here.

#include <fabricost/plan/memory/memory.hpp>
#include <fabricost/plan/model/flops.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/training/figures.hpp>

#include <catch.hpp>

using namespace fabricost::plan;

namespace {

[[nodiscard]] Layout of_stages(int pp) {
  Layout l;
  l.pp = pp;
  l.global_batch = 64;
  l.sequence = 4096;
  return l;
}
[[nodiscard]] double all_stages(const Model& m, const Layout& l) {
  const ParameterCount n = parameters_of(m);
  double out = 0;
  for (int s = 0; s < l.pp; ++s) out += stage_parameters(n, m, stage_content(m, l, s)).total();
  return out;
}

}  // namespace

TEST_CASE("DeepSeek-V3's prediction module has the 11.5 billion parameters of its own that are published, and shares two tables") {
  // huggingface.co/deepseek-ai/DeepSeek-V3, README_WEIGHTS.md: 11.5 B unique, 0.9 B of embedding and of output head shared
  const Model m = load_model("deepseek-v3");
  REQUIRE(m.predict_layers == 1);
  const double total = parameters_of(m).total, table = double(m.hidden) * m.vocab;
  const double whole = all_stages(m, of_stages(1)) - total;
  CHECK(whole == Approx(11.5e9).epsilon(0.01));
  CHECK(table == Approx(0.9e9).epsilon(0.04));
  CHECK(all_stages(m, of_stages(8)) - total == Approx(whole + table));  // the last stage keeps a copy of the embedding
  const Model mimo = load_model("mimo-7b");
  const double h = mimo.hidden;
  const ParameterCount n = parameters_of(mimo);
  CHECK(all_stages(mimo, of_stages(1)) - n.total == Approx(n.attention + n.dense_ffn + n.norms + 2 * h * h + 3 * h));
}

TEST_CASE("the last stage holds a prediction module's states, activations and logits, the others nothing of it") {
  Model with = load_model("deepseek-v3"), without = with;
  without.predict_layers = 0;
  const MemoryStack stack;
  Layout l = of_stages(8);
  l.ep = 64;
  l.dp = 64;
  l.zero = 1;
  const auto content = [&](const Model& m, int stage) { return stage_content(split_layers(with, l), m, l, stage); };
  const auto use = [&](const Model& m, int stage) {
    return memory_of(m, parameters_of(m), layer_activations(m, l, stack), l, stack, HeavyStage{stage, content(m, stage), {}}, 1);
  };
  for (int s = 0; s < 7; ++s) CHECK(use(with, s).total() == Approx(use(without, s).total()));
  const MemoryUse more = use(with, 7), less = use(without, 7);
  const double h = with.hidden, table = h * with.vocab;
  const ParameterCount n = parameters_of(with);
  const double experts = with.experts * n.expert / l.ep, rest = n.attention + n.shared + n.router + n.norms + 2 * h * h + 3 * h + table;
  CHECK(more.weights - less.weights == Approx(stack.weight * (experts + rest)));
  CHECK(more.gradients - less.gradients == Approx(stack.gradient * (experts + rest)));
  CHECK(more.optimizer - less.optimizer == Approx(stack.optimizer * (experts + rest / 64)));
  CHECK(more.activations > less.activations);
  CHECK(more.vocabulary > 2 * less.vocabulary);  // logits again, and the inputs of the module
  CHECK(more.vocabulary < 2.5 * less.vocabulary);
}

TEST_CASE("with both directions the first GPUs have the embedding for the module, and hold few microbatches of its stage") {
  Model with = load_model("deepseek-v3"), without = with;
  without.predict_layers = 0;
  const MemoryStack stack;
  Layout l = of_stages(16);
  l.ep = 64;
  l.dp = 128;
  l.zero = 1;
  l.global_batch = 15360;
  l.schedule = PipelineSchedule::dualpipe;
  const auto use = [&](const Model& m) { return memory_of(m, l, stack, 0); };
  const double h = with.hidden;
  const ParameterCount n = parameters_of(with);
  const double module = with.experts * n.expert / l.ep + n.attention + n.shared + n.router + n.norms + 2 * h * h + 3 * h;
  // both have their layers where the module leaves room for itself
  const auto layers = [&](const Model& m) { return stage_content(m, l, 0).layers + stage_content(m, l, 15).layers; };
  if (layers(with) == layers(without)) CHECK(use(with).weights - use(without).weights == Approx(stack.weight * module));
  // 16 of 17 microbatches are of the first stage, one of the last
  const LayerActivations layer = layer_activations(with, l, stack);
  const auto kept = [&](int stage) {
    return kept_activations(layer, with_predictions(stage_content(with, l, stage), with), with, l, stack).kept;
  };
  CHECK(use(with).activations == Approx(l.tokens() * (16 * kept(0) + kept(15))));
}

TEST_CASE("FLOPs of prediction modules are those that Megatron-Core counts") {
  // megatron/training/training.py, num_floating_point_operations: 3 x 2 x (layer + 2 h h + h V) a module and token, scores beside
  for (const char* name : {"deepseek-v3", "mimo-7b", "glm-4.5"}) {
    CAPTURE(name);
    Model m = load_model(name);
    REQUIRE(m.predict_layers > 0);
    const double s = 4096, h = m.hidden;
    const ParameterCount n = parameters_of(m);
    const double feed = m.mixture() ? n.shared + n.router + m.top_k * n.expert : n.dense_ffn;
    const double scores = m.query_width() + m.value_width();  // all pairs: 2 s of each a token
    const double expected = m.predict_layers * 3 * s * (2 * (n.attention + feed + 2 * h * h + h * m.vocab) + 2 * scores * s);
    CHECK(3 * prediction_flops(m, s, Scores::full) == Approx(expected).epsilon(1e-9));
    const double with = step_work(m, s, 8, 0).all_scores;
    m.predict_layers = 0;
    CHECK(prediction_flops(m, s) == 0);
    CHECK(with - step_work(m, s, 8, 0).all_scores == Approx(8 * expected).epsilon(1e-9));
  }
}
