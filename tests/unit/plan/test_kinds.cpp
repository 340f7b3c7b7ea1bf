/// Models that are not decoders: encoders and diffusion transformers without a mask, with a text beside their tokens; recommendation models
/// with tables. Closed forms of their work, and published steps.

#include "questions.hpp"

#include "support/job.hpp"
#include "support/message_of.hpp"

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/recommender.hpp>
#include <fabricost/specs/load.hpp>

#include <catch.hpp>

#include <cmath>
#include <string>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

PlanRequest training(const char* model, const char* system, int gpus, int batch, int sequence) {
  auto r = support::job<PlanRequest>(system, model, gpus, batch);
  r.sequence = sequence;
  return r;
}

}  // namespace

TEST_CASE("without a mask fused attention reads the other half of the scores too, and no other kernel moves") {
  const System system = load_system("dgx-h100");
  TrainingQuestion q = question("bert-large", 1, 8, 512);
  Layout l;
  q.set_common(l);
  l.microbatch = 8;
  GroupCosts costs(system);
  const Processor gpu = Processor::of(system);
  Model masked = q.model;
  masked.kind = ModelKind::decoder;
  const auto kernels = [&](const Model& m) { return fabricost::plan::LayerModel{m, l, q.stack, gpu, costs}.kernels({}); };
  const auto open = kernels(q.model), causal = kernels(masked);
  CHECK(open.core - causal.core == Approx(2 * 8 * 16 * 512.0 * 512 * 64 / attention_rate(gpu)));
  CHECK(open.products == causal.products);
  CHECK(open.element == causal.element);
}

TEST_CASE("a diffusion transformer's work: its own tokens' matrices and scores, those of a text, and its modulation") {
  const Model wan = load_model("wan2.1-14b"), dit = load_model("dit-xl-2");
  const double h = 5120, f = 13824, s = 37440, text = 512;
  const double layer = s * (2 * 4 * h * h + 2 * 2 * h * f) + 4 * s * s * h             // self-attention and feed-forward
                       + s * 2 * 2 * h * h + text * 2 * 2 * h * h + 4 * s * text * h;  // queries and output, keys and values, scores
  CHECK(forward_flops(wan, s) == Approx(40 * layer + s * 2 * 64 * h).epsilon(1e-3));   // biases are counted as weights are
  CHECK(forward_flops(wan, s, Scores::full) == forward_flops(wan, s, Scores::causal));
  CHECK(parameters_of(dit).total == Approx(28 * (4 + 8 + 6) * 1152.0 * 1152).epsilon(5e-3));
  const double h2 = 1152.0 * 1152;
  CHECK(forward_flops(dit, 256) == Approx(28 * (256 * 24 * h2 + 2 * 6 * h2 + 4 * 256 * 256 * 1152.0)).epsilon(3e-3));
}

TEST_CASE("tensor ranks in sequence parallel share the element-wise work of attention to a text") {
  const System system = load_system("dgx-h100");
  const Processor gpu = Processor::of(system);
  GroupCosts costs(system);
  const Model with = load_model("wan2.1-14b");
  Model without = with;
  without.cross_tokens = 0;
  const auto of_text = [&](int tp) {
    const Layout l{.tp = tp, .global_batch = 1, .sequence = 4096, .sequence_parallel = tp > 1};
    const Stack stack;
    const auto kernels = [&](const Model& m) { return fabricost::plan::LayerModel{m, l, stack, gpu, costs}.kernels({}); };
    return (kernels(with).element - kernels(with).starts) - (kernels(without).element - kernels(without).starts);
  };
  for (const int tp : {2, 4, 8}) CHECK(of_text(tp) == Approx(of_text(1) / tp));
}

TEST_CASE("an image or a video is as many tokens as it has patches") {
  const System system = load_system("dgx-h100");
  const auto tokens = [&](const char* model, const char* image) {
    PlanRequest r = training(model, "dgx-h100", 8, 8, PlanRequest{}.sequence);
    r.image = image;
    return training_question(r, system).sequence;
  };
  CHECK(tokens("wan2.1-14b", "832x480x81") == 52 * 30 * 21);
  CHECK(tokens("wan2.1-14b", "1280x720x1") == 80 * 45);
  CHECK(tokens("dit-xl-2", "256x256") == 256);
  const auto refused = [&](const char* model, const char* image) { return support::message_of([&] { return tokens(model, image); }); };
  CHECK(support::contains(refused("wan2.1-14b", "832x480x82"), "take 832x480x81"));
  CHECK(support::contains(refused("wan2.1-14b", "832"), "write width x height"));
  CHECK(support::contains(refused("wan2.1-14b", "832x480x"), "write width x height"));
  CHECK(support::contains(refused("wan2.1-14b", "832x480x81x2"), "write width x height"));
  CHECK(support::contains(refused("llama3-8b", "256x256"), "no patches"));
}

TEST_CASE("published steps of diffusion, encoders and recommendation are near") {
  // Megatron-Bridge counts Wan's FLOPs as those of a language model (flop_utils.py): half of the scores, no text, a vocabulary of 202,112
  // that wan_provider.py sets and no layer has
  const double s = 37440, h = 5120, f = 13824;
  const double theirs = 40 * (8 * h * h + 4 * h * f + 2 * s * h) + 2 * h * 202112;
  const auto wan = [&](const char* system, int gpus, int batch, int tp, int cp, int zero) {
    PlanRequest r = training("wan2.1-14b", system, gpus, batch, 37440);
    r.tp = tp;
    r.pp = 1;
    r.cp = cp;
    r.dp = 16;
    r.zero = zero;
    r.top = 1;
    if (tp > 1) r.sequence_parallel = true;
    return 3e-12 * theirs * batch * s / answer(r).layouts.front().step.value() / gpus;
  };
  CHECK(wan("gb200-nvl72", 32, 64, 1, 2, 3) == Approx(899.62).epsilon(0.10));
  CHECK(wan("dgx-b200", 32, 64, 1, 2, 3) == Approx(804.02).epsilon(0.10));
  CHECK(wan("dgx-h100", 128, 128, 2, 4, 1) == Approx(325.77).epsilon(0.10));
  // NVIDIA/DeepLearningExamples, PaddlePaddle/LanguageModeling/BERT, 8 A100, phase 1: 256 sequences, 32 times
  PlanRequest bert = training("bert-large", "dgx-a100", 8, 65536, 128);
  bert.tp = 1;
  bert.pp = 1;
  bert.cp = 1;
  bert.zero = 0;
  bert.microbatch = 256;
  CHECK(65536 / answer(bert).layouts.front().step.value() == Approx(5541).epsilon(0.20));
}

TEST_CASE("tables are spread over all GPUs, their rows exchanged twice, dense layers copied") {
  const System system = load_system("dgx-h100");
  const Model m = load_model("dlrm-dcnv2");
  const double inputs = 27 * 128, dense = 14 * 512 + 513 * 256 + 257 * 128 + 3 * (2 * inputs * 512 + inputs) + (inputs + 1) * 1024 +
                                          1025 * 1024 + 1025 * 512 + 513 * 256 + 257;
  CHECK(parameters_of(m).multiplied == Approx(dense));
  CHECK(parameters_of(m).total == Approx(204184588.0 * 128 + dense));
  const PlanAnswer a = answer(training("dlrm-dcnv2", "dgx-h100", 8, 65536, PlanRequest{}.sequence));
  const PlannedLayout& l = a.layouts.front();
  const double tables = 204184588.0 * 128 * 8 / 8;  // values and states of 4 bytes
  CHECK(l.memory_size.value() > tables);
  CHECK(l.memory_size.value() < tables + 8e9);
  GroupCosts costs(system, {.ways = a.found->question.ways});
  const double one = costs.seconds(Collective::all_to_all, {8, 1}, 2.0 * 65536 / 8 * 26 * 128);
  double sum = 0, rows = 0, looked_up = 0;
  for (const StepTerm& t : l.terms) {
    sum += t.seconds();
    if (t.name == "rows") rows = t.seconds();
    if (t.name == "tables") looked_up = t.seconds();
  }
  CHECK(sum == Approx(l.step.value()));
  CHECK(rows == Approx(2 * one));
  const Processor gpu = Processor::of(system);
  CHECK(looked_up >
        65536.0 / 8 * 214 * 128 * 4 * 5 / gpu.memory_rate);  // no faster than the memory: read, then rows and states read and written
  const auto refused = [&](auto&& change) {
    PlanRequest r = training("dlrm-dcnv2", "dgx-h100", 8, 65536, PlanRequest{}.sequence);
    change(r);
    return support::message_of([&] { return answer(r); });
  };
  CHECK(support::contains(refused([](PlanRequest& r) { r.cp = 2; }), "recommendation model"));
  CHECK(support::contains(refused([](PlanRequest& r) { r.gpus = 2; }), "take about"));
  CHECK(support::contains(refused([](PlanRequest& r) { r.global_batch = 65537; }), "does not divide"));
}

TEST_CASE("more GPUs never make a step of a recommendation model longer, nor refuse one") {
  for (const char* const system : {"dgx-h100", "dgx-a100", "gb200-nvl72"})
    for (const int batch : {8192, 65536}) {
      double before = 1e300;
      for (const int gpus : {8, 12, 16, 20, 32, 64, 72, 128, 256}) {
        INFO(system << " " << gpus << " " << batch);
        const PlannedLayout l = answer(training("dlrm-dcnv2", system, gpus, batch, PlanRequest{}.sequence)).layouts.front();
        CHECK(l.used_gpus <= gpus);
        CHECK(batch % l.used_gpus == 0);
        CHECK(l.step.value() <= before * (1 + plainer_within));
        before = std::min(before, l.step.value());
      }
    }
}

TEST_CASE("the interval of a kind of model that no fit saw is as wide as published steps of such kinds miss") {
  const auto width = [](const char* model, const char* system, const char* image) {
    auto r = training(model, system, 8, 4096, PlanRequest{}.sequence);
    r.image = image;
    r.top = 1;
    const PlannedLayout first = answer(r).layouts.front();
    return std::log(first.interval.second / first.interval.first) / 2;
  };
  const double decoder = width("llama3-8b", "dgx-h100", "");
  for (const auto& [model, image] : {std::pair{"bert-large", ""}, {"dit-xl-2", "256x256"}, {"qwen3-vl-8b", "448x448"}, {"dlrm-dcnv2", ""}}) {
    CAPTURE(model);
    CHECK(width(model, "dgx-h100", image) > 2 * decoder);
  }
  CHECK(width("qwen3-vl-8b", "dgx-h100", "") == Approx(decoder).margin(0.05));  // texts alone
  // NVIDIA/DeepLearningExamples, TensorFlow2/Recommendation/DLRM_and_DCNv2: 13.8 M samples a second
  const PlannedLayout dlrm = answer(training("dlrm-22b", "dgx-a100", 8, 65536, PlanRequest{}.sequence)).layouts.front();
  CHECK(dlrm.interval.first.value() < 65536 / 13.8e6);
}
