/// Throughput against interactivity by brute force, and the order of deployments.

#include "rig.hpp"
#include "serving/batches.hpp"

#include <fabricost/plan/serving/plan.hpp>

#include <catch.hpp>

#include <algorithm>
#include <random>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

struct Point {
  double all = 0, user = 0;
};

/// Every whole batch of every engine on some of the GPUs.
std::vector<Point> every_batch(const ServingQuestion& q, const System& system) {
  std::vector<Point> out;
  ServingMachine machine{system, q.constants, q.stack.kernels};
  for (int tp = 1; tp <= q.gpus; ++tp)
    for (int pp = 1; tp * pp <= q.gpus; ++pp) {
      if (!why_impossible(q.model, EngineLayout{.tp = tp, .pp = pp}).empty()) continue;
      const Engine engine{q.model, {.tp = tp, .pp = pp}, q.format, machine};
      const int engines = q.gpus / (tp * pp);
      const Prefill prompt = prefill_prompt(engine, q.stack, q.isl);
      for (double batch = 1; batch <= std::min(8192.0, engine.capacity(q.isl + q.osl, q.stack.memory_share)); ++batch) {
        const ServingTime t = aggregated(engine, q.stack, {q.isl, q.osl, batch}, prompt);
        out.push_back({t.rate * q.osl * engines / q.gpus, 1 / t.tpot});
      }
    }
  return out;
}

ServingQuestion asked(double isl, double osl) {
  ServingQuestion q;
  q.model = load_model("llama3-70b");
  q.gpus = 8;
  q.format = {WeightFormat::fp8, 1};
  q.isl = isl;
  q.osl = osl;
  return q;
}

/// A front of more than three rows, the last best for all and the first for users.
std::vector<PricedServing> front_of(const ServingQuestion& q, const System& system) {
  std::vector<PricedServing> front = serving_pareto(system, q);
  REQUIRE(front.size() > 3);
  for (std::size_t i = 1; i < front.size(); ++i) {
    CHECK(front[i].tokens_per_s_per_user < front[i - 1].tokens_per_s_per_user);
    CHECK(front[i].tokens_per_s_per_gpu > front[i - 1].tokens_per_s_per_gpu);
  }
  return front;
}

/// The front holds: falling for users, rising for all, both ends, nothing that beats a row by more than `slack`, nothing far from all rows.
void check_front(const ServingQuestion& q, const System& system, double slack) {
  const std::vector<PricedServing> front = front_of(q, system);
  const std::vector<Point> all = every_batch(q, system);
  int beaten = 0, far = 0;
  double max_all = 0, max_user = 0;
  for (const Point& p : all) {
    max_all = std::max(max_all, p.all);
    max_user = std::max(max_user, p.user);
    bool near = false;
    for (const PricedServing& row : front) {
      const double more_all = p.all / row.tokens_per_s_per_gpu, more_user = p.user / row.tokens_per_s_per_user;
      beaten += more_all >= 1 + 1e-9 && more_user >= 1 + 1e-9 && std::max(more_all, more_user) >= 1 + slack;
      near = near || (more_all <= 1.11 && more_user <= 1.11);
    }
    far += !near;
  }
  CHECK(beaten == 0);
  CHECK(far == 0);
  CHECK(front.front().tokens_per_s_per_user == Approx(max_user));
  CHECK(front.back().tokens_per_s_per_gpu >= max_all * (1 - slack) * (1 - 1e-9));
  CHECK(front.back().tokens_per_s_per_gpu == Approx(plan_serving(system, q).layouts.front().tokens_per_s_per_gpu));
}

}  // namespace

TEST_CASE("no batch of any engine beats a row of the front; it has both ends and no gaps") {
  const System system = load_system("dgx-h100");
  check_front(asked(32768, 256), system, 0);      // few sequences fit: every batch is tried
  check_front(asked(1024, 1024), system, 0.005);  // batches of hundreds are tried 64 to a doubling
}

TEST_CASE("a front within limits keeps them, and agrees with the best within each limit") {
  const System system = load_system("dgx-h100");
  const std::vector<PricedServing> front = serving_pareto(system, asked(1024, 1024));
  for (const double tpot : {0.010, 0.015, 0.020, 0.030, 0.050}) {
    ServingQuestion q = asked(1024, 1024);
    q.tpot = tpot;
    const PricedServing best = plan_serving(system, q).layouts.front();
    for (const PricedServing& row : front)
      CHECK_FALSE((best.tokens_per_s_per_gpu > row.tokens_per_s_per_gpu * (1 + 1e-9) &&
                   best.tokens_per_s_per_user > row.tokens_per_s_per_user * (1 + 1e-9)));
    for (const PricedServing& row : serving_pareto(system, q)) CHECK(row.time.tpot <= tpot);
    CHECK(serving_pareto(system, q).back().tokens_per_s_per_gpu == Approx(best.tokens_per_s_per_gpu));
  }
}

TEST_CASE("a front of workers apart falls for users as it rises for all") {
  const System system = load_system("gb200-nvl72");
  ServingQuestion q = asked(4096, 512);
  q.disaggregated = true;
  (void)front_of(q, system);
}

TEST_CASE("deployments have one order, whatever order they were found in, and none stands there twice") {
  const System system = load_system("gb200-nvl72");
  std::mt19937_64 random{7};
  for (const bool apart : {false, true}) {
    ServingQuestion q = asked(4096, 512);
    q.model = load_model("deepseek-v3");
    q.gpus = 32;
    q.disaggregated = apart;
    q.top = 1000;
    const ServingPlan plan = plan_serving(system, q);
    REQUIRE(plan.layouts.size() > 10);
    std::vector<PricedServing> shuffled = plan.layouts;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    std::sort(shuffled.begin(), shuffled.end(), fabricost::plan::detail::better);
    for (std::size_t i = 0; i < shuffled.size(); ++i) {
      CHECK(fabricost::plan::detail::figures_of(shuffled[i]) == fabricost::plan::detail::figures_of(plan.layouts[i]));
      if (i > 0) CHECK(fabricost::plan::detail::figures_of(shuffled[i]) != fabricost::plan::detail::figures_of(shuffled[i - 1]));
    }
  }
}

TEST_CASE("of two ways to cut experts that cost the same one is listed, the smaller") {
  PricedServing a, b;
  a.tokens_per_s_per_gpu = b.tokens_per_s_per_gpu = 100;
  a.tokens_per_s_per_user = b.tokens_per_s_per_user = 10;
  b.engine.ep = 16;
  CHECK(fabricost::plan::detail::better(a, b));
  CHECK_FALSE(fabricost::plan::detail::better(b, a));
  CHECK(fabricost::plan::detail::figures_of(a) == fabricost::plan::detail::figures_of(b));
  b.tokens_per_s_per_gpu *= 1 + 1e-14;  // a machine's rounding is no difference
  CHECK(fabricost::plan::detail::better(a, b));
  b.tokens_per_s_per_gpu *= 1 + 1e-6;
  CHECK(fabricost::plan::detail::better(b, a));
}

TEST_CASE("the batches that are tried: all to 128, then within a sixty-fourth") {
  double before = 0;
  for (int i = 0; i < 1500; ++i) {
    const double batch = fabricost::plan::detail::batch_at(i);
    CHECK(batch == std::floor(batch));
    CHECK(batch > before);
    CHECK(batch <= std::max(before + 1, before * (1 + 1.0 / 64)));
    CHECK(fabricost::plan::detail::batches_up_to(batch) == i + 1);
    CHECK(fabricost::plan::detail::batches_up_to(batch - 0.5) == i);
    before = batch;
  }
  CHECK(fabricost::plan::detail::batch_at(127) == 128);
  CHECK(fabricost::plan::detail::batch_at(191) == 256);
}
