// A curve at many sizes is the curve at each: in any order, across thresholds, on threads; and sizes that are none are refused.
#include <fabricost/choice/candidates.hpp>
#include <fabricost/predict/curve_threads.hpp>

#include "support/random_cases.hpp"

#include "catch.hpp"

using namespace fabricost::core;

namespace {

/// Sizes over nine decades and around every threshold, in an order without order.
std::vector<double> mixed_sizes(const Curve& curve, int number, std::size_t count) {
  std::mt19937_64 random{static_cast<std::uint64_t>(number)};
  std::uniform_real_distribution<double> power{0, 36};
  std::vector<double> out{0, 1};
  for (int i = 0; i < curve.pieces(); ++i)
    for (const double step : {-1.0, 0.0, 1.0}) out.push_back(std::max(0.0, curve.threshold_bytes(i) + step));
  while (out.size() < count) out.push_back(std::exp2(power(random)));
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

/// Whether the curve at all sizes is the curve at each.
void expect_same(support::Report& report, const support::Case& c, const Curve& curve, const std::vector<double>& sizes, int threads) {
  std::vector<double> seconds(sizes.size(), -1);
  evaluate(curve, sizes, seconds, threads);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double alone = curve.seconds(sizes[i]);
    report.expect(std::fabs(seconds[i] / alone - 1) <= (curve.table().empty() ? 5e-14 : 1e-9), c, curve.ran_at(sizes[i]), sizes[i],
                  [&] { return std::to_string(seconds[i]) + " s among others, " + std::to_string(alone) + " s alone:"; });
  }
}

}  // namespace

TEST_CASE("a curve at many sizes is the curve at each", "[predict][property]") {
  support::Report report{"array differs"};
  std::set<int> shapes;
  for (int i = 0; i < 400; ++i) {
    const support::Case c = support::random_case(i);
    const Candidates pairs = support::pairs_of(c);
    if (pairs.count == 0) continue;
    std::vector<Choice> choices{{}, {.rule = Choice::Rule::fastest}};
    if (i % 4 == 0)
      for (const Candidate pair : pairs) choices.push_back(support::forced(pair));
    for (const Choice& choice : choices) {
      const Curve curve = compile(c.system, c.operation, choice);
      for (int line = 0; line < curve.pieces(); ++line)
        for (const Ramp& r : curve.line_at(curve.line_index(line)).ramps) shapes.insert(static_cast<int>(r.shape));
      std::vector<double> sizes = mixed_sizes(curve, i, i % 3 == 0 ? 1500 : 130);
      expect_same(report, c, curve, sizes, 1);
      std::sort(sizes.begin(), sizes.end());
      expect_same(report, c, curve, sizes, 1);
    }
  }
  INFO(report.text());
  CHECK(report.failed() == 0);
  CHECK(report.checked() > 100000);
  CHECK(shapes.size() >= 7);  // of the nine shapes a ramp can have
}

TEST_CASE("any number of sizes is answered, and nothing beyond it", "[predict]") {
  const Curve curve = compile(systems::ampere_box(), {.ranks = 8});
  for (std::size_t count = 0; count < 2200; count = count < 70 ? count + 1 : count + 61) {
    std::vector<double> sizes = mixed_sizes(curve, 7, 2300);
    sizes.resize(count);
    std::vector<double> seconds(count + 1, -1);
    evaluate(curve, sizes, {seconds.data(), count});
    for (std::size_t i = 0; i < count; ++i)
      if (!(std::fabs(seconds[i] / curve.seconds(sizes[i]) - 1) < 1e-9)) FAIL_CHECK(count << " sizes, the one at " << i << ": " << seconds[i]);
    if (seconds[count] != -1) FAIL_CHECK(count << " sizes: one more was written");
  }
}

TEST_CASE("threads share sizes and change nothing", "[predict]") {
  const Curve curve = compile(systems::ampere_box(), {.ranks = 8});
  const std::vector<double> sizes = mixed_sizes(curve, 11, 20000);
  std::vector<double> alone(sizes.size()), shared(sizes.size());
  evaluate(curve, sizes, alone);
  for (const int threads : {0, 1, 2, 3, 64}) {
    std::fill(shared.begin(), shared.end(), -1);
    evaluate(curve, sizes, shared, threads);
    CHECK(shared == alone);
  }
  CHECK_THROWS_WITH(evaluate(curve, sizes, shared, -1), Catch::Contains("take 1 to 1024"));
}

TEST_CASE("a size among many that is none is named", "[predict]") {
  const Curve curve = compile(systems::hopper_box(), {.ranks = 8});
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-1.0, -1e-300, 1e18, inf, -inf, nan})
    for (const std::size_t at : {std::size_t{0}, std::size_t{5}, std::size_t{1023}, std::size_t{1500}, std::size_t{2999}})
      for (const int threads : {1, 2}) {
        std::vector<double> sizes(3000, 1e6), seconds(3000);
        sizes[at] = bad;
        CHECK_THROWS_WITH(evaluate(curve, sizes, seconds, threads), Catch::Contains("size " + std::to_string(at) + ":"));
        CHECK_THROWS_WITH(evaluate(curve, std::vector<double>(3, bad), {seconds.data(), 3}), Catch::Contains("size 0:"));
      }
  std::vector<double> two(2), three(3);
  CHECK_THROWS_AS(evaluate(curve, two, three), RequestError);
}

TEST_CASE("threads are started only where there is work for them", "[predict]") {
  CHECK(fabricost::core::detail::threads_for(100, 0) == 1);
  CHECK(fabricost::core::detail::threads_for(2 * sizes_per_thread - 1, 0) == 1);
  CHECK(fabricost::core::detail::threads_for(100, 3) == 3);
  CHECK(fabricost::core::detail::threads_for(std::size_t{1} << 40U, 0) == std::max(1U, std::thread::hardware_concurrency()));
}
