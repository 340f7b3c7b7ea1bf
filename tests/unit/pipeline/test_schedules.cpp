// Orders of every schedule against an event-driven pipeline that shares no code with them, and closed forms against both.
#include "oracle.hpp"
#include "support/message_of.hpp"
#include "support/slow_build.hpp"

#include <fabricost/plan/pipeline/pipeline.hpp>
#include <fabricost/plan/pipeline/run.hpp>

#include <catch.hpp>

#include <chrono>
#include <random>

using namespace fabricost::plan;
using namespace support;
using S = PipelineSchedule;

namespace {

constexpr std::array<S, 12> all_schedules{S::gpipe, S::one_f_one_b, S::interleaved, S::zb_h1, S::zb_h2,    S::zb_1p,
                                          S::zb_2p, S::zb_v,        S::v_half,      S::v_min, S::dualpipe, S::dualpipe_v};

struct Case {
  S schedule = S::gpipe;
  int stages = 0, chunks = 1, microbatches = 0;
  StageTimes times;
  [[nodiscard]] PipelineRun run() const { return run_pipeline(schedule, stages, chunks, microbatches, times); }
  [[nodiscard]] PipelineCost cost() const { return pipeline_cost(schedule, stages, chunks, microbatches, times); }
  [[nodiscard]] std::string text() const {
    return std::string(name(schedule)) + " p " + std::to_string(stages) + " v " + std::to_string(chunks) + " m " +
           std::to_string(microbatches) + " B " + std::to_string(times.backward) + " W " + std::to_string(times.weight) + " C " +
           std::to_string(times.exchange) + " e " + std::to_string(times.last_extra) + " FB " + std::to_string(times.overlapped);
  }
};

class Cases {
 public:
  explicit Cases(unsigned seed) : random_(seed) {}
  double between(double a, double b) { return a + (b - a) * static_cast<double>(random_() % 100001) / 1e5; }
  int whole(int a, int b) { return a + static_cast<int>(random_() % static_cast<unsigned>(b - a + 1)); }
  /// \param extra largest extra of the last layers
  Case next(S schedule, double extra) {
    Case c{.schedule = schedule, .stages = whole(2, 12), .times = {}};
    if (schedule == S::dualpipe) c.stages += c.stages % 2;
    if (schedule == S::interleaved) c.chunks = whole(2, 4);
    if (schedule == S::gpipe) c.chunks = 1 + c.stages % 2;
    c.microbatches = c.stages * whole(2, 5);
    if (whole(0, 3) == 0 && !runs_both_ways(schedule)) c.microbatches = whole(1, 4 * c.stages);
    c.times = {.forward = 1, .backward = between(0.9, 1.1), .weight = between(0.5, 1.05), .exchange = between(0, 0.05)};
    if (whole(0, 2) == 0) c.times = {.forward = 1, .backward = 1, .weight = 1};
    c.times.last_extra = between(0, extra);
    if (runs_both_ways(schedule) && whole(0, 2) == 0) c.times.overlapped = 0.85 * c.times.work();
    c.times.held_for_weight = between(0, 1);
    return c;
  }

 private:
  std::mt19937 random_;
};

oracle::Outcome by_oracle(const Case& c, const PipelineOrders& orders) {
  std::vector<std::vector<oracle::Task>> todo;
  for (const auto& stage : orders) {
    todo.emplace_back();
    for (const Work& w : stage) todo.back().push_back({"FBWA"[static_cast<int>(w.kind)], w.chunk, w.microbatch, w.with_next});
  }
  const bool vee = c.schedule == S::zb_v || c.schedule == S::v_half || c.schedule == S::v_min || c.schedule == S::dualpipe_v;
  const auto shape = c.schedule == S::dualpipe ? oracle::Shape::crossing : vee ? oracle::Shape::vee : oracle::Shape::loop;
  const StageTimes& t = c.times;
  // what runs as one on the last layers carries the extra of whichever half is there; the oracle prices it for plain pairs only
  return oracle::Machine(shape, c.stages, vee || c.schedule == S::dualpipe ? 2 : c.chunks, c.microbatches,
                         {t.forward, t.backward, t.weight, t.exchange, t.last_extra, t.overlapped, t.held_for_weight}, std::move(todo))
      .run();
}

}  // namespace

TEST_CASE("schedules go by the names people write", "[pipeline]") {
  for (const S s : all_schedules) CHECK(parse_pipeline_schedule(name(s)) == s);
  for (const auto& [text, wanted] : {std::pair{"1F1B", S::one_f_one_b},
                                     {"one_f_one_b", S::one_f_one_b},
                                     {"interleaved-1F1B", S::interleaved},
                                     {"1F1B-I", S::interleaved},
                                     {"ZB-H1", S::zb_h1},
                                     {"zb 2p", S::zb_2p},
                                     {"DualPipe", S::dualpipe},
                                     {"DualPipeV", S::dualpipe_v},
                                     {"V-Half", S::v_half},
                                     {"none", S::none},
                                     {"", S::none},
                                     {"GPipe", S::gpipe}})
    CHECK(parse_pipeline_schedule(text) == wanted);
  CHECK_FALSE(parse_pipeline_schedule("2F2B"));
}

TEST_CASE("an independent event simulation runs every order and takes as long", "[pipeline]") {
  Cases cases(20261120);
  for (const S s : all_schedules)
    for (int i = 0; i < support::draws(60); ++i) {
      Case c = cases.next(s, i % 2 == 0 ? 0 : 0.5);
      if (c.times.overlapped > 0) c.times.last_extra = 0;
      INFO(c.text());
      const PipelineRun run = c.run();
      const oracle::Outcome seen = by_oracle(c, pipeline_orders(c.schedule, c.stages, c.chunks, c.microbatches, c.times));
      CHECK(seen.longest() == Approx(run.longest_stage).epsilon(1e-9));
      for (std::size_t k = 0; k < seen.peak.size(); ++k) CHECK(seen.peak[k] <= run.peak_activations[k] + 1e-9);
      CHECK(seen.max() <= peak_activations(s, 0, c.stages, c.chunks, c.microbatches) + 1e-9);
    }
}

TEST_CASE("a schedule holds what it says when weight gradients hold everything", "[pipeline]") {
  for (const S s : all_schedules)
    for (const int p : {2, 4, 6, 8, 12}) {
      const Case c{.schedule = s,
                   .stages = p,
                   .chunks = takes_chunks(s) ? 3 : 1,
                   .microbatches = 6 * p,
                   .times = {.forward = 1, .backward = 1, .weight = 1, .held_for_weight = 1}};
      INFO(c.text());
      const PipelineRun run = c.run();
      double max = 0;
      for (const double peak : run.peak_activations) max = std::max(max, peak);
      CHECK(max <= c.cost().peak_activations + 1e-9);
      if (s != S::zb_2p) CHECK(max == Approx(c.cost().peak_activations));  // may stay below its limit
    }
}

TEST_CASE("closed forms that call themselves exact are", "[pipeline]") {
  Cases cases(7);
  int exact = 0;
  for (const S s : all_schedules)
    for (int i = 0; i < 300; ++i) {
      Case c = cases.next(s, i % 2 == 0 ? 0 : 0.5);
      if (i % 4 == 0) c.times = {.forward = 1, .backward = cases.between(0.5, 1.6), .weight = cases.between(0.2, 2)};
      const PipelineCost cost = c.cost();
      if (!cost.exact) continue;
      ++exact;
      INFO(c.text());
      CHECK(cost.step() == Approx(c.run().longest_stage).epsilon(1e-9));
    }
  CHECK(exact > 1000);
}

TEST_CASE("closed forms that call themselves estimates are within a few percent of the step", "[pipeline]") {
  Cases cases(11);
  struct Bound {
    S schedule;
    double mean, worst;
  };
  for (const Bound& bound : {Bound{S::interleaved, 0.003, 0.012},
                             {S::zb_h1, 0.001, 0.012},
                             {S::zb_h2, 0.002, 0.02},
                             {S::zb_1p, 0.015, 0.1},
                             {S::zb_2p, 0.004, 0.04},
                             {S::zb_v, 0.003, 0.06},
                             {S::v_half, 0.012, 0.12},
                             {S::v_min, 0.015, 0.12},
                             {S::dualpipe, 0.008, 0.06},  // the published order's; the one found waits less
                             {S::dualpipe_v, 0.01, 0.09},
                             {S::gpipe, 0.003, 0.02}}) {
    double sum = 0, worst = 0;
    std::string where;
    constexpr int n = 300;
    for (int i = 0; i < n; ++i) {
      const Case c = cases.next(bound.schedule, i % 2 == 0 ? 0 : 0.5);
      const double off = std::fabs(c.cost().step() / c.run().longest_stage - 1);
      sum += off;
      if (off > worst) where = c.text();
      worst = std::max(worst, off);
    }
    INFO("worst: " << where);
    CHECK(sum / n <= bound.mean);
    CHECK(worst <= bound.worst);
  }
}

TEST_CASE("no order of a small pipeline is shorter in the same memory", "[pipeline]") {
  const oracle::Times level{1, 1, 1, 0}, uneven{1, 0.9, 0.6, 0};
  for (const auto& t : {level, uneven})
    for (const auto& [p, m] : {std::pair{2, 2}, {2, 3}, {2, 4}, {3, 3}}) {
      const StageTimes times{.forward = t.f, .backward = t.b, .weight = t.w, .held_for_weight = 1};
      INFO("p " << p << " m " << m << " W " << t.w);
      const auto step = [&, stages = p, batches = m](S s) { return pipeline_cost(s, stages, 1, batches, times).step(); };
      CHECK(step(S::one_f_one_b) == Approx(oracle::shortest(p, m, "FA", t, p)));
      CHECK(step(S::gpipe) == Approx(oracle::shortest(p, m, "FA", t, m)));
      CHECK(step(S::zb_h2) == Approx(oracle::shortest(p, m, "FBW", t, 2 * p - 1)));
      CHECK(step(S::zb_h1) == Approx(oracle::shortest(p, m, "FBW", t, p)));
    }
}

TEST_CASE("the searched order of a small pipeline is the shortest there is in its memory", "[pipeline]") {
  for (const auto& t : {oracle::Times{1, 1, 1, 0}, {1, 0.9, 0.6, 0}, {1, 1.4, 0.5, 0}, {1, 1.2, 0.8, 0.1}})
    for (const auto& [p, m] : {std::pair{2, 2}, {2, 3}, {2, 4}, {3, 3}})
      for (const S s : {S::zb_1p, S::zb_2p}) {
        const StageTimes times{.forward = t.f, .backward = t.b, .weight = t.w, .exchange = t.hop, .held_for_weight = 1};
        INFO(name(s) << " p " << p << " m " << m << " B " << t.b << " W " << t.w << " C " << t.hop);
        CHECK(run_pipeline(s, p, 1, m, times).longest_stage ==
              Approx(oracle::shortest(p, m, "FBW", t, static_cast<int>(pipeline_room(s, p, m)))));
      }
}

TEST_CASE("DualPipe's order never waits longer than its published bubble", "[pipeline]") {
  for (const S s : {S::dualpipe, S::dualpipe_v})
    for (const int p : {2, 4, 8, 16})
      for (const int m : {2 * p, 3 * p, 6 * p})
        for (const double overlapped : {0.0, 2.55}) {
          const Case c{.schedule = s, .stages = p, .microbatches = m, .times = {.forward = 1, .backward = 1, .weight = 1}};
          Case with = c;
          with.times.overlapped = overlapped;
          INFO(with.text());
          CHECK(with.run().longest_stage <= with.cost().step() + 1e-9);
        }
}

TEST_CASE("bubbles without hand-overs are those of the papers", "[pipeline]") {
  const StageTimes t{.forward = 1.3, .backward = 1.3, .weight = 1.1};
  const double f = t.forward, b = t.backward, w = t.weight;
  for (const int p : {2, 4, 8, 16}) {
    const int m = 3 * p;
    const auto bubble = [&](S s, int v) { return pipeline_cost(s, p, v, m, t).bubble; };
    CHECK(bubble(S::gpipe, 1) == Approx((p - 1) * (f + b + w)));
    CHECK(bubble(S::one_f_one_b, 1) == Approx((p - 1) * (f + b + w)));
    CHECK(bubble(S::interleaved, 3) == Approx((p - 1) * (f + b + w) / 3));
    CHECK(bubble(S::zb_h1, 1) == Approx((p - 1) * (f + b - w)));
    CHECK(bubble(S::zb_h2, 1) == Approx((p - 1) * (f + b - 2 * w)));
    CHECK(bubble(S::dualpipe, 1) == Approx((p / 2.0 - 1) * ((f + b + w) + (b + w) - 3 * w)).margin(1e-12));
  }
  const StageTimes unit{.forward = 1, .backward = 1, .weight = 1};
  for (const S s : {S::zb_h2, S::zb_2p, S::zb_v}) CHECK(pipeline_cost(s, 8, 1, 32, unit).bubble == Approx(0).margin(1e-12));
  CHECK(pipeline_cost(S::v_half, 8, 1, 32, unit).bubble == Approx(0.5 * 7 * 3));
}

TEST_CASE("both ways of counting a bubble tell the same", "[pipeline]") {
  const PipelineCost c = pipeline_cost(S::one_f_one_b, 4, 1, 12, {.forward = 1, .backward = 1, .weight = 1});
  CHECK(bubble_over_ideal(c.bubble, c.work) == Approx(3.0 / 12));
  CHECK(bubble_over_total(c.bubble, c.work) == Approx(3.0 / 15));
}

TEST_CASE("a slow last stage sets the pace of 1F1B", "[pipeline]") {
  const StageTimes t{.forward = 1, .backward = 1, .weight = 1, .last_extra = 0.6};
  CHECK(pipeline_cost(S::one_f_one_b, 4, 1, 16, t).step() == Approx(15 * 3.6 + 4 * 3 + 0.6));
}

TEST_CASE("Megatron's interleaved order pays one more pass of hand-overs than the published table", "[pipeline]") {
  for (const int p : {4, 8})
    for (const int v : {2, 3}) {
      const Case c{.schedule = S::interleaved,
                   .stages = p,
                   .chunks = v,
                   .microbatches = 3 * p,
                   .times = {.forward = 1, .backward = 1, .weight = 0.5, .exchange = 0.01}};
      INFO(c.text());
      CHECK(c.run().bubble() - c.cost().bubble == Approx(p * c.times.exchange));
    }
}

TEST_CASE("more hand-over time never makes a step shorter", "[pipeline]") {
  Cases cases(5);
  for (const S s : {S::gpipe, S::one_f_one_b, S::interleaved, S::zb_h1, S::zb_h2, S::zb_v, S::dualpipe, S::dualpipe_v})
    for (int i = 0; i < 40; ++i) {
      Case c = cases.next(s, 0);
      const double before = c.cost().step(), ran = c.run().longest_stage;
      c.times.exchange += 0.02;
      INFO(c.text());
      CHECK(c.cost().step() >= before - 1e-9);
      CHECK(c.run().longest_stage >= ran - 1e-9);
      CHECK(c.cost().exposed_exchange >= -1e-9);
    }
}

TEST_CASE("no bubble and no waiting is below zero where the work fills the step, whatever the times round to", "[pipeline]") {
  for (const S s : {S::interleaved, S::zb_h2, S::zb_v})
    for (const double unit : {64e-9, 1e-6, 0.1, 3600.0})
      for (const int p : {1, 4}) {
        const Case c{.schedule = s, .stages = p, .chunks = s == S::interleaved ? 2 : 1, .microbatches = 12, .times = {unit, unit, unit}};
        INFO(c.text() << ", " << unit << " s");
        const PipelineRun run = c.run();
        if (p == 1 || s != S::interleaved) CHECK(run.bubble() == 0);
        CHECK(run.bubble() >= 0);
        for (const auto& stage : run.bars) {
          CHECK(waiting(stage) >= 0);
          CHECK(waiting(stage) == Approx(stage.back().end - stage.front().start - run.work).margin(1e-9 * run.work));
        }
      }
}

TEST_CASE("pairs that run as one leave a bubble of what the longest stage waits, never one below zero", "[pipeline]") {
  for (const S s : {S::dualpipe, S::dualpipe_v})
    for (const int p : {2, 4, 8})
      for (const double overlapped : {2.0, 2.55, 3.0}) {
        const Case c{.schedule = s, .stages = p, .microbatches = 6 * p, .times = {1, 1, 1, 0, 0, overlapped}};
        INFO(c.text());
        const PipelineRun run = c.run();
        double least = run.longest_stage;
        for (const auto& stage : run.bars)
          if (stage.back().end - stage.front().start > run.longest_stage * (1 - 1e-12)) least = std::min(least, waiting(stage));
        CHECK(run.bubble() == Approx(least).margin(1e-9));
        CHECK(run.work <= c.microbatches * c.times.work());
      }
}

TEST_CASE("one stage has no bubble and hands nothing over", "[pipeline]") {
  for (const S s : {S::none, S::gpipe, S::one_f_one_b, S::interleaved, S::zb_h1, S::zb_h2, S::zb_1p, S::zb_2p, S::zb_v, S::v_half, S::v_min,
                    S::dualpipe_v}) {
    const PipelineCost c = pipeline_cost(s, 1, 1, 5, {.forward = 1, .backward = 1, .weight = 1, .exchange = 0.1});
    CHECK(c.bubble == 0);
    CHECK(c.hops == 0);
    CHECK(run_pipeline(s, 1, 1, 5, {.forward = 1, .backward = 1, .weight = 1, .exchange = 0.1}).bubble() == Approx(0).margin(1e-12));
  }
}
