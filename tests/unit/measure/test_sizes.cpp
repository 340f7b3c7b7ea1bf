// Sizes: the grid, and where they gather.
#include "fake_device.hpp"

#include "measure/plan/sizes.hpp"

#include "catch.hpp"

using namespace fake;
using namespace fabricost::probes::measure;

namespace {

/// The sizes a curve ends up with.
template <class Time>
std::vector<CurvePoint> refined(Time time, double factor, const BendRules& rules) {
  std::vector<CurvePoint> curve;
  std::set<std::uint64_t> tried;
  const auto add = [&](std::uint64_t size) {
    tried.insert(size);
    curve.push_back({size, time(static_cast<double>(size)), 0});
    std::sort(curve.begin(), curve.end(), [](const CurvePoint& a, const CurvePoint& b) { return a.bytes < b.bytes; });
  };
  for (const std::uint64_t size : coarse_sizes(KiB, 1024 * MiB, factor, 16)) add(size);
  for (int i = 0; i < 200; ++i) {
    const auto size = next_size(curve, tried, rules, 16);
    if (!size) return curve;
    add(*size);
  }
  FAIL("sizes are asked for without end");
  return curve;
}

int between(const std::vector<CurvePoint>& curve, double low, double high) {
  return static_cast<int>(std::count_if(curve.begin(), curve.end(), [&](const CurvePoint& p) {
    return static_cast<double>(p.bytes) >= low && static_cast<double>(p.bytes) <= high;
  }));
}

}  // namespace

TEST_CASE("the grid runs from the smallest size to the largest in multiples of its unit") {
  const auto sizes = coarse_sizes(512, 512 * MiB, 8, 96);
  CHECK(sizes.front() == 480);
  CHECK(sizes.back() == 512 * MiB / 96 * 96);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    CHECK(sizes[i] % 96 == 0);
    if (i > 0) CHECK(static_cast<double>(sizes[i]) / static_cast<double>(sizes[i - 1]) < 8 * std::sqrt(8.0) + 1);
  }
  CHECK(coarse_sizes(16, 16, 8, 16) == std::vector<std::uint64_t>{16});
}

TEST_CASE("a power law needs no more sizes than the grid") {
  const auto straight = [](double bytes) { return 1e-9 * std::pow(bytes, 0.7); };
  CHECK(refined(straight, 8, {}).size() == coarse_sizes(KiB, 1024 * MiB, 8, 16).size());
}

TEST_CASE("sizes gather where latency turns into bandwidth") {
  const auto bend = [](double bytes) { return 10e-6 + bytes / 400e9; };  // at 4 MB
  const auto curve = refined(bend, 16, {});
  CHECK(between(curve, 0.5e6, 64e6) >= 5);
  CHECK(between(curve, 1e3, 100e3) <= 3);
}

TEST_CASE("a cliff is closed in on, to the finest ratio and no further") {
  const double edge = 3.1e6;
  const auto cliff = [&](double bytes) { return (bytes < edge ? 1 : 2) * (10e-6 + bytes / 400e9); };
  const BendRules rules{};
  const auto curve = refined(cliff, 16, rules);
  double below = 0, above = 1e18;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const auto bytes = static_cast<double>(curve[i].bytes);
    if (bytes < edge) below = std::max(below, bytes);
    if (bytes >= edge) above = std::min(above, bytes);
    if (i > 0) CHECK(bytes / static_cast<double>(curve[i - 1].bytes) > 1.25);
  }
  CHECK(above / below < 2.1);
}

TEST_CASE("between any two neighbours the refined curve is within the threshold of the truth") {
  const auto bend = [](double bytes) { return 10e-6 + bytes / 400e9; };
  const BendRules rules{};
  const auto curve = refined(bend, 8, rules);
  for (std::size_t i = 1; i < curve.size(); ++i) {
    const double middle = std::sqrt(static_cast<double>(curve[i - 1].bytes) * static_cast<double>(curve[i].bytes));
    const double line = std::sqrt(curve[i - 1].seconds * curve[i].seconds);
    CHECK(std::fabs(std::log(bend(middle) / line)) < 1.5 * rules.threshold);
  }
}

TEST_CASE("what lies within its own spread is no bend") {
  const std::vector<CurvePoint> curve{{KiB, 1e-6, 0.05}, {8 * KiB, 1.1e-6, 0.05}, {64 * KiB, 1e-6, 0.05}};
  CHECK_FALSE(next_size(curve, {}, {}, 16).has_value());
}
