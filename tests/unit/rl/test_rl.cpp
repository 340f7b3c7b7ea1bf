// Reinforcement learning: lengths of answers, generation that drains, iterations and the split of GPUs, against closed forms and limits.
#include "catch.hpp"

#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/rl/question.hpp>

#include "support/message_of.hpp"
#include "unit/serving/rig.hpp"

using namespace fabricost::plan;

namespace {

RlRequest small() {
  RlRequest r;
  r.system.name = "dgx-h100";
  r.model.name = "llama3-8b";
  r.gpus = 16;
  r.prompts = 32;
  r.osl = 1024;
  r.max_osl = 8192;
  return r;
}

double term(const PlannedRl& p, std::string_view name) {
  for (const StepTerm& t : p.terms)
    if (t.name == name) return t.time.value();
  return 0;
}

double sum(const PlannedRl& p) {
  double out = 0;
  for (const StepTerm& t : p.terms) out += t.time.value();
  return out;
}

/// Answers of these lengths on an engine with `places`, token by token: nothing of the model's own loop.
double token_by_token(std::vector<double> waiting, std::size_t places, double isl, const std::function<double(double, double)>& step) {
  std::vector<std::pair<double, double>> running;  // tokens made, tokens to make
  double seconds = 0;
  std::size_t next = 0;
  while (next < waiting.size() || !running.empty()) {
    while (next < waiting.size() && running.size() < places) running.emplace_back(0, waiting[next++]);
    double context = 0;
    for (const auto& [made, all] : running) context += isl + made + 0.5;
    const double n = static_cast<double>(running.size());
    seconds += step(n, context / n);
    for (auto& one : running) ++one.first;
    std::erase_if(running, [](const auto& one) { return one.first >= one.second; });
  }
  return seconds;
}

}  // namespace

TEST_CASE("Lengths have the mean asked for, none exceeds the limit, and their moments are those of a drawn sample") {
  std::mt19937_64 random(7);
  for (const double spread : {0.3, 0.8, 1.5})
    for (const double mean : {200.0, 2000.0, 7000.0}) {
      const AnswerLengths lengths{mean, 8192, spread};
      CHECK(lengths.moment(1) == Approx(mean).epsilon(1e-9));
      CHECK(lengths.quantile(0.1) < lengths.quantile(0.9));
      std::uniform_real_distribution<double> even(0, 1);
      double first = 0, second = 0;
      constexpr int draws = 20000;
      for (int i = 0; i < draws; ++i) {
        const double l = lengths.quantile((i + even(random)) / draws);
        REQUIRE(l <= 8192);
        first += l / draws;
        second += l * l / draws;
      }
      CHECK(first == Approx(mean).epsilon(0.01));
      CHECK(second == Approx(lengths.moment(2)).epsilon(0.02));
    }
  CHECK_THROWS_AS((AnswerLengths{2000, 1000, 1}), Refusal);
}

TEST_CASE("Answers of one length drain without a tail; their time is tokens x step") {
  const AnswerLengths lengths{500, 500, 0.8};
  const auto step = [](double n, double context) { return 1 + n + context; };
  const RolloutLoad load{.prompts = 4, .samples = 8, .isl = 100};
  CHECK(drained_seconds(load, lengths, 32, 32, 500, step) == Approx(500 * (1 + 32 + 100 + 250)));
  // two waves where half of them fit
  CHECK(drained_seconds(load, lengths, 32, 16, 500, step) == Approx(2 * 500 * (1 + 16 + 100 + 250)));
}

TEST_CASE("Draining is what decoding token by token gives") {
  const AnswerLengths lengths{300, 2000, 0.9};
  const auto step = [](double n, double context) { return 5 + 0.1 * n + 0.001 * n * context; };
  const RolloutLoad load{.prompts = 10, .samples = 20, .isl = 64};
  std::vector<double> whole = lengths.typical(200);
  for (double& l : whole) l = std::round(l);
  const double longest = *std::max_element(whole.begin(), whole.end());
  for (const std::size_t places : {200, 50, 7})
    CHECK(drained_seconds(load, lengths, 200, static_cast<double>(places), longest, step) ==
          Approx(token_by_token(whole, places, 64, step)).epsilon(0.005));
}

TEST_CASE("The longest of few answers is short of a far limit") {
  RlRequest r = small();
  r.colocated = true;
  const auto generates = [&](int prompts, int longest) {
    r.prompts = prompts;
    r.max_osl = longest;
    const PlannedRl p = answer(r).layouts.front();
    return term(p, "generation") + term(p, "tail");
  };
  CHECK(generates(2, 65536) < 1.1 * generates(2, 16384));
}

TEST_CASE("A table of decoding steps is the engine at its ends and between their times elsewhere") {
  fabricost::test::Rig rig("dgx-h100");
  const Model model = load_model("llama3-8b");
  const Engine engine{model, {}, {WeightFormat::bf16, 2}, rig.machine};
  const ServingStack stack = fabricost::test::bare();
  const DecodeTable table{engine, stack, 64, 1000, 9000};
  for (const double running : {1.0, 64.0})
    for (const double context : {1000.0, 3000.0, 9000.0}) {
      CAPTURE(running, context);
      CHECK(table(running, context) == Approx(decode_step(engine, stack, running, context).per_token));
    }
  CHECK(table(64, 20000) == table(64, 9000));
  CHECK((table(50, 5000) > table(1, 5000) && table(50, 5000) < table(64, 5000)));
}

TEST_CASE("A token of an update finds as many tokens beside it as sampled answers have") {
  RlQuestion q;
  q.load = {.prompts = 64, .samples = 8, .isl = 700};
  for (const double mean : {300.0, 2000.0}) {
    q.lengths = AnswerLengths{mean, 8192, 0.9};
    double tokens = 0, beside = 0;
    constexpr int draws = 20000;
    for (int i = 0; i < draws; ++i) {
      const double all = 700 + q.lengths.quantile((i + 0.5) / draws);
      tokens += all;
      beside += all * all;
    }
    const TrainingQuestion update = update_on(q, 8);
    CHECK(update.document == Approx(beside / tokens).epsilon(0.01));
    CHECK(static_cast<double>(update.global_batch) * update.sequence == Approx(512 * tokens / draws).epsilon(0.05));
  }
}

TEST_CASE("The terms of an iteration sum to it, and its interval holds it") {
  for (const RlOverlap overlap : {RlOverlap::none, RlOverlap::one_step, RlOverlap::continuous}) {
    RlRequest r = small();
    r.overlap = overlap;
    r.reward = units::s(3);
    r.reference = true;
    for (const PlannedRl& p : answer(r).layouts) {
      CHECK(sum(p) == Approx(p.iteration.value()).epsilon(1e-12));
      CHECK(p.interval.first.value() <= p.iteration.value());
      CHECK(p.interval.second.value() >= p.iteration.value());
      CHECK((p.rollout_idle >= -1e-12 && p.rollout_idle < 1 && p.train_idle >= -1e-12 && p.train_idle < 1));
      CHECK(term(p, "tail") >= -0.02 * term(p, "generation"));
    }
  }
}

TEST_CASE("Apart, overlap takes the longer of generation and training; without it their sum") {
  RlRequest r = small();
  r.train_gpus = 8;
  const PlannedRl sum = answer(r).layouts.front();
  r.overlap = RlOverlap::one_step;
  const PlannedRl longer = answer(r).layouts.front();
  r.scale = 1;
  const PlannedRl plain = answer(r).layouts.front();
  const double generates = term(plain, "prompts") + term(plain, "generation") + term(plain, "tail");
  const double trains = term(plain, "log_probs") + term(plain, "training");
  CHECK(plain.iteration.value() == Approx(std::max(generates, trains) + term(plain, "sync")));
  CHECK(longer.iteration.value() < sum.iteration.value());
  CHECK(term(longer, "hidden") < 0);
  // generation that never drains has no tail
  r.overlap = RlOverlap::continuous;
  const PlannedRl never = answer(r).layouts.front();
  CHECK(term(never, "tail") == 0);
  CHECK(never.iteration.value() <= plain.iteration.value() * (1 + 1e-12));
}

TEST_CASE("Answers of equal length have no tail; the more unequal, the longer the iteration") {
  RlRequest r = small();
  r.colocated = true;
  double last = 0;
  for (const double spread : {0.0, 0.3, 0.8, 1.2}) {
    r.length_spread = spread;
    const PlannedRl p = answer(r).layouts.front();
    if (spread == 0) CHECK(std::fabs(term(p, "tail")) < 0.02 * term(p, "generation"));
    CHECK(p.iteration.value() > last);
    last = p.iteration.value();
  }
}

TEST_CASE("More training GPUs generate slower and train faster") {
  RlRequest r = small();
  r.gpus = 64;
  r.prompts = 256;
  double generation = 0, training = 1e9;
  for (const int gpus : {8, 16, 32, 48}) {
    r.train_gpus = gpus;
    const PlannedRl p = answer(r).layouts.front();
    const double generates = term(p, "prompts") + term(p, "generation") + term(p, "tail");
    CHECK(generates >= generation * (1 - 1e-9));
    CHECK(term(p, "training") <= training);
    generation = generates;
    training = term(p, "training");
  }
}

TEST_CASE("Some GPUs train and some generate") {
  RlRequest r = small();
  for (const int gpus : {16, 17}) {
    r.train_gpus = gpus;
    CHECK_THROWS_WITH(answer(r), Catch::Contains("fewer than all"));
  }
}

TEST_CASE("The split that is found is at least as fast as every one named") {
  RlRequest r = small();
  r.gpus = 32;
  r.overlap = RlOverlap::one_step;
  const double best = answer(r).layouts.front().iteration.value();
  for (const int gpus : {8, 16, 24}) {
    r.train_gpus = gpus;
    CHECK(answer(r).layouts.front().iteration.value() >= best * (1 - 1e-12));
  }
}

TEST_CASE("Every GPU trains, generates or is counted as idle") {
  std::mt19937_64 random(5);
  const auto one_of = [&](const auto& values) { return *(std::begin(values) + random() % std::size(values)); };
  int idle = 0;
  for (int i = 0; i < 24; ++i) {
    RlRequest r = small();
    r.system.name = one_of(std::array{"dgx-h100", "dgx-h200"});
    r.model.name = one_of(std::array{"qwen3-30b-a3b", "llama3-8b", "qwen3-32b"});
    r.gpus = one_of(std::array{7, 40, 136, 152});
    r.prompts = one_of(std::array{16, 64, 512});
    r.osl = one_of(std::array{512, 2048});
    r.overlap = one_of(std::array{RlOverlap::none, RlOverlap::one_step});
    r.colocated = r.overlap == RlOverlap::none && random() % 3 == 0;
    r.critic = random() % 2 == 0;
    r.rollout_tp = one_of(std::array{2, 8});
    if (random() % 2 == 0) r.rollout_dp = one_of(std::array{3, 5});  // engines that do not divide every number of GPUs
    RlAnswer found;
    try {
      found = answer(r);
    } catch (const RequestError&) {  // nothing fits
      continue;
    }
    for (const PlannedRl& p : found.layouts) {
      INFO(p.model << " on " << p.gpus << ": " << p.train_gpus << " train, " << p.rollout_gpus << " generate, " << p.idle_gpus << " idle");
      CHECK(p.train_gpus == p.tp * p.pp * p.cp * p.dp);
      CHECK(p.rollout_gpus == p.engines * p.rollout_tp * p.rollout_pp * p.rollout_dp);
      CHECK(p.idle_gpus == p.gpus - (p.colocated ? std::max(p.train_gpus, p.rollout_gpus) : p.train_gpus + p.rollout_gpus));
      idle += p.idle_gpus > 0;
    }
  }
  CHECK(idle > 10);
}

TEST_CASE("Nodes that no engine takes train, where that makes an iteration shorter") {
  for (const auto& [model, gpus] : {std::pair{"qwen3-30b-a3b", 152}, {"llama3-8b", 168}, {"qwen3-32b", 136}}) {
    RlRequest r = small();
    r.model.name = model;
    r.gpus = gpus;
    r.prompts = 512;
    r.osl = 2048;
    r.critic = true;
    r.colocated = false;
    r.rollout_tp = 8;
    r.rollout_dp = 5;
    const PlannedRl best = answer(r).layouts.front();
    r.train_gpus = gpus - best.rollout_gpus;
    INFO(model << ": " << best.train_gpus << " of " << gpus << " GPUs train, " << best.rollout_gpus << " generate");
    CHECK(best.iteration.value() <= answer(r).layouts.front().iteration.value() * (1 + 1e-12));
  }
}

TEST_CASE("With overlap the iteration in turn on all GPUs is said, which may be shorter") {
  std::mt19937_64 random(3);
  const auto one_of = [&](const auto& values) { return *(std::begin(values) + random() % std::size(values)); };
  int shorter = 0;
  for (int i = 0; i < 8; ++i) {
    RlRequest r = small();
    r.model.name = one_of(std::array{"qwen3-30b-a3b", "llama3-8b"});
    r.gpus = one_of(std::array{8, 16, 24});
    r.prompts = one_of(std::array{16, 128});
    r.overlap = one_of(std::array{RlOverlap::one_step, RlOverlap::continuous});
    const RlAnswer a = answer(r);
    REQUIRE(a.in_turn);
    shorter += *a.in_turn < a.layouts.front().iteration;
    RlRequest divided = r;
    divided.train_gpus = *r.gpus / 2;
    CHECK(!answer(divided).in_turn);
    r.overlap = RlOverlap::none;
    CHECK(!answer(r).in_turn);
    r.colocated = true;
    CHECK(*a.in_turn == answer(r).layouts.front().iteration);
  }
  CHECK(shorter > 0);
}

TEST_CASE("No engine that is named generates faster than the one that is found, whatever is asked") {
  std::mt19937_64 random(11);
  const auto one_of = [&](const auto& values) { return *(std::begin(values) + random() % std::size(values)); };
  int named = 0;
  for (int i = 0; i < 12; ++i) {
    RlRequest r = small();
    r.system.name = one_of(std::array{"dgx-h100", "dgx-h200", "dgx-b200"});
    r.model.name = one_of(std::array{"qwen3-30b-a3b", "llama3-8b", "qwen3-32b"});
    r.gpus = one_of(std::array{8, 16});
    r.prompts = one_of(std::array{16, 64, 256});
    r.isl = 128;
    r.osl = one_of(std::array{512, 2048, 4096});
    r.max_osl = one_of(std::array{*r.osl, 32768});
    r.colocated = random() % 2 == 0;
    const RlAnswer found = answer(r);
    if (found.layouts.empty()) continue;
    for (const int tp : {1, 2, 4, 8}) {
      r.rollout_tp = tp;
      try {
        const RlAnswer other = answer(r);
        if (other.layouts.empty()) continue;
        CHECK(other.layouts.front().iteration.value() >= found.layouts.front().iteration.value() * (1 - 1e-12));
        ++named;
      } catch (const RequestError&) {  // such an engine does not fit
      }
    }
  }
  CHECK(named > 20);
}

TEST_CASE("What no division holds is said of all GPUs, and more of them hold it") {
  const auto refused = [](const RlRequest& r) { return support::message_of([&] { return answer(r); }); };
  RlRequest r = small();
  r.gpus = 8;
  r.model.name = "deepseek-v3";
  for (const std::optional<int> rollout_tp : {std::optional<int>{}, std::optional{2}})
    for (const RlOverlap overlap : {RlOverlap::none, RlOverlap::one_step}) {
      r.rollout_tp = rollout_tp;
      r.overlap = overlap;
      const std::string why = refused(r);
      INFO(why);
      CHECK(support::contains(why, "no layout of 8 GPUs has the memory to train it; take more gpus"));
    }
  r.rollout_tp.reset();
  r.overlap = RlOverlap::none;
  r.colocated = true;  // one division, which suffices
  r.gpus = 512;
  CHECK(refused(r).empty());
  r = small();
  r.reward_model.name = "deepseek-v3";
  CHECK(support::contains(refused(r), "no engine on 16 GPUs has the memory for the reward model; take more gpus"));
  r.colocated = true;
  r.gpus = 64;
  CHECK(refused(r).empty());
}

TEST_CASE("An update trains on the tokens of the answers, a critic on them twice") {
  RlRequest r = small();
  r.colocated = true;
  r.updates = 4;
  const RlAnswer a = answer(r);
  CHECK(static_cast<double>(a.global_batch) * a.sequence * 4 == Approx(32.0 * 8 * 2048).epsilon(0.02));
  CHECK(a.sequence >= 1024 + 8192);
  const double alone = term(a.layouts.front(), "training");
  r.critic = true;
  CHECK(term(answer(r).layouts.front(), "training") == Approx(2 * alone));
}

TEST_CASE("Published iterations of NeMo RL lie in their intervals") {
  // NVIDIA-NeMo/RL, docs/about/performance-summary.md, release 0.4: GRPO on DGX H100 in bf16; mean and longest of prompt and answer
  struct Row {
    const char* model;
    int gpus, mean, longest, answers, updates, rollout_tp, tp, cp, ep, pp;
    bool apart;
    double seconds;
  };
  const std::vector<Row> rows{{"llama3-8b", 16, 1060, 4096, 2048, 4, 1, 1, 1, 1, 2, false, 97.7},
                              {"llama3-8b", 16, 1129, 4096, 2048, 4, 1, 1, 1, 1, 2, true, 74.6},
                              {"qwen3-235b-a22b", 128, 5671, 8192, 512, 1, 16, 2, 2, 16, 8, false, 506},
                              {"qwen3-235b-a22b", 256, 5691, 8192, 512, 1, 8, 4, 1, 16, 8, true, 241},
                              {"qwen3-30b-a3b", 32, 3154, 4096, 2048, 4, 4, 2, 1, 8, 1, false, 225},
                              {"qwen3-32b", 32, 3206, 4096, 2048, 4, 4, 4, 1, 1, 4, false, 393},
                              {"qwen3-32b", 64, 3207, 4096, 2048, 4, 4, 4, 1, 1, 4, true, 215}};
  int inside = 0;
  for (const Row& row : rows) {
    RlRequest r;
    r.system.name = "superpod-h100";
    r.model.name = row.model;
    r.gpus = row.gpus;
    r.prompts = row.answers / 32;
    r.samples = 32;
    r.isl = 120;
    r.osl = row.mean - 120;
    r.max_osl = row.longest - 120;
    r.updates = row.updates;
    r.rollout_tp = row.rollout_tp;
    r.rollout_pp = 1;
    r.rollout_dp = 1;
    r.tp = row.tp;
    r.cp = row.cp;
    r.pp = row.pp;
    if (row.ep > 1) r.ep = row.ep;
    if (row.apart)
      r.overlap = RlOverlap::one_step, r.train_gpus = row.gpus / 2;
    else
      r.colocated = true;
    const PlannedRl p = answer(r).layouts.front();
    INFO(row.model << " on " << row.gpus << ": " << p.iteration.value() << " s, published " << row.seconds);
    CHECK(std::fabs(std::log(row.seconds / p.iteration.value())) < 0.55);
    inside += row.seconds >= p.interval.first.value() && row.seconds <= p.interval.second.value();
  }
  CHECK(inside >= 6);
}
