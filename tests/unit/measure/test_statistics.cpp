// Median, spread and the rule for outliers, against planted values.
#include "measure/statistics.hpp"

#include "catch.hpp"

using namespace fabricost::probes::measure;

TEST_CASE("the median and the quartiles of a handful of batches are those of the definition") {
  const Statistics s = statistics_of({1.00, 1.01, 1.02, 1.03, 1.04});
  CHECK(s.median == Approx(1.02));
  CHECK(s.spread == Approx(0.02 / 1.02));
  CHECK(s.kept == 5);
  CHECK(s.outliers == 0);
}

TEST_CASE("planted outliers are counted, and move neither median nor spread") {
  std::mt19937_64 random{7};
  std::normal_distribution<double> noise(1, 0.01);
  std::vector<double> clean;
  for (int i = 0; i < 40; ++i) clean.push_back(noise(random));
  std::vector<double> dirty = clean;
  for (const double far : {2.0, 3.0, 0.5}) dirty.push_back(far);
  const Statistics without = statistics_of(clean), with = statistics_of(dirty);
  REQUIRE(without.outliers == 0);
  CHECK(with.outliers == 3);
  CHECK(with.kept == 40);
  CHECK(with.median == without.median);
  CHECK(with.spread == without.spread);
}

TEST_CASE("a clock that ticks coarsely makes no outliers") {
  const Statistics s = statistics_of({1, 1, 1, 1, 1, 1, 1.0009});
  CHECK(s.outliers == 0);
}

TEST_CASE("two humps of a bimodal time are spread, not outliers") {
  const Statistics s = statistics_of({1, 1.01, 1.02, 2, 2.01, 2.02});
  CHECK(s.outliers == 0);
  CHECK(s.spread > 0.5);
}

TEST_CASE("nothing measured says nothing") {
  const Statistics s = statistics_of({});
  CHECK(s.kept == 0);
  CHECK(s.median == 0);
  CHECK(s.relative_error() == 0);
}
