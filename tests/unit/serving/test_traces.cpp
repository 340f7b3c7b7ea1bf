/// Answers to traces, of any length: figures that were simulated, none from a rate of a few requests.

#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/serving/arrivals/loaded.hpp>

#include <catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>

using namespace fabricost::plan;

namespace {

/// A trace within so many seconds.
RequestTrace trace_of(int count, double seconds, std::mt19937_64& source) {
  std::vector<double> at;
  for (int i = 0; i < count; ++i) at.push_back(std::floor(1e3 * seconds * std::uniform_real_distribution<double>()(source)));
  std::sort(at.begin(), at.end());
  at.back() += 1;
  RequestLoad load;
  for (const double one : at)
    REQUIRE(add_request(load, one, 1 + static_cast<int>(source() % 3000), 1 + static_cast<int>(source() % 300)).empty());
  complete(load);
  return {.value = std::make_shared<const RequestLoad>(std::move(load))};
}

}  // namespace

TEST_CASE("random traces, also of two requests, are answered at the rate they were simulated with, and no limit holds beyond") {
  std::mt19937_64 source(5);
  int bounded = 0, unbounded = 0;
  for (int i = 0; i < 40; ++i) {
    const int count = 2 + static_cast<int>(std::pow(2.0, i % 9)) * static_cast<int>(source() % 2);
    ServeRequest r;
    r.model.name = "llama3-8b";
    r.system.name = "dgx-h100";
    r.gpus = 1 + i % 2;
    r.top = 4;
    r.requests = trace_of(count, std::pow(10.0, i % 5 - 2), source);
    ServeAnswer answered = answer(r);
    if (i % 3 > 0) {
      r.ttft = (i % 3 == 1 ? 1.02 : 4) * answered.layouts.front().arrivals->ttft.at_percentile;
      answered = answer(r);
    }
    for (const PlannedDeployment& one : answered.layouts) {
      const ServedArrivals& a = *one.arrivals;
      CHECK(a.rate > 0);
      CHECK(a.rate <= a.asked * count / (count - 1) * (1 + 1e-9));  // a trace is not answered before it has come
      CHECK(a.in_flight == Approx(a.rate * a.e2e.mean.value()).epsilon(1e-9));
      CHECK(a.rate * a.e2e.mean.value() <= count * (1 + 1e-9));
      CHECK(a.queue <= a.ttft.mean);
      CHECK_FALSE(a.saturation);
      if (!a.rate_within || !a.keeps) continue;
      CHECK(*a.rate_within >= a.asked * (1 - 1e-9));
    }
    if (r.ttft) ++(answered.layouts.front().arrivals->rate_within ? bounded : unbounded);
  }
  CHECK(bounded > 3);
  CHECK(unbounded > 3);
}

TEST_CASE("through a pipeline a second token comes a step after the first, and no sooner") {
  StepTimes times({.decode = [](double, double) { return 0.01; }, .rows = [](double rows) { return 1e-4 * rows; }, .stages = 4});
  RequestLoad load;
  load.requests = {{.at = 0, .prompt = 1000, .answer = 3}};
  const Served one = simulate(times, {}, 1, load).requests[0];
  CHECK(one.first == Approx(4 * 0.1));
  CHECK(one.last == Approx(one.first + 2 * 0.01));
}
